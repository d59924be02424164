//! Dice: chance that is the same each time it is asked with the same seed.

use std::ops::Range;

/// `SplitMix64`: eight bytes of state, and good enough to gamble with.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In `0.0..1.0`.
    pub fn fraction(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let fraction = (self.number() >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    pub fn within(&mut self, range: Range<i64>) -> i64 {
        let width = range.end.abs_diff(range.start).max(1);
        range.start.wrapping_add_unsigned(self.number() % width)
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let index = usize::try_from(self.number() % from.len() as u64).unwrap_or_default();
        from[index].clone()
    }

    /// Milliseconds between 10^`low` and 10^`high`, each order of magnitude as likely as the next.
    pub fn magnitude(&mut self, low: f64, high: f64) -> i64 {
        let exponent = low + (high - low) * self.fraction();
        #[expect(clippy::cast_possible_truncation, reason = "a few minutes of milliseconds")]
        let millis = 10_f64.powf(exponent) as i64;
        millis
    }
}
