//! Chance with a seed (`SplitMix64`): the same seed is the same history, on every machine.

pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to just under `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.number() % u64::try_from(n.max(1)).expect("small")).expect("small")
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
