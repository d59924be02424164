//! The setting of a history: one machine, or AWS with its shards, its invocations and its throttles.

use std::fmt;
use std::ops::Range;

use crate::dice::Dice;
use crate::throttle::Throttle;
use crate::world::SKEW;

#[derive(Clone, Debug)]
pub struct Setting {
    /// Clocks of processes are apart by at most this from the true one.
    pub skew: i64,
    pub shards: u16,
    pub shards_per_sweep: u16,
    pub host: Host,
    /// Whether each process believes that no other is alive, as one with an embedded store does.
    pub exclusive_store: bool,
    pub throttles: Vec<Throttle>,
    /// Milliseconds that an invocation of the sweeper may take.
    pub sweep_timeout: i64,
    /// How many hints one machine carries out at once, if it is to stop somewhere.
    pub concurrency: Option<u32>,
    /// Most timers that a page of a bucket holds, however many are asked for.
    pub page: usize,
}

/// Who takes what becomes visible on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// A process with a hand for each hint.
    Process,
    /// One process that is everything, with the queues of one machine inside it.
    Machine,
    Lambda(Lambda),
}

/// Invocations take batches, as many at once as the platform has got used to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lambda {
    /// Most hints in a batch.
    pub batch: usize,
    /// Milliseconds an invocation may take; also how long a queue hides what it delivered.
    pub timeout: i64,
    /// Whether what waits is taken from the tenant first that has the fewest hints in flight, as SQS does it for message groups.
    pub fair: bool,
    /// Invocations at once when a burst begins, and how many more each [`RAMP_UP`] while it waits.
    pub concurrency: u32,
    pub more: u32,
}

/// Milliseconds until the platform sends more invocations after what waits.
pub const RAMP_UP: i64 = 20_000;
/// A platform does not go on adding for ever.
pub const MOST_AT_ONCE: u32 = 100;

impl Setting {
    /// Right clocks, one shard, one process, and nothing throttled.
    pub fn plain() -> Self {
        Self {
            skew: 0,
            shards: 1,
            shards_per_sweep: 1,
            host: Host::Process,
            exclusive_store: false,
            throttles: Vec::new(),
            sweep_timeout: 300_000,
            concurrency: None,
            page: usize::MAX,
        }
    }

    /// The same in one process, which carries out so many hints at once.
    pub fn one_machine(concurrency: u32) -> Self {
        Self { host: Host::Machine, exclusive_store: true, concurrency: Some(concurrency), ..Self::plain() }
    }

    /// Throttles fall into `rough` and end with it.
    pub fn drawn(dice: &mut Dice, rough: &Range<i64>, throttles: Range<i64>) -> Self {
        let shards = dice.pick(&[1, 1, 1, 2, 2, 5]); // each costs a sweep of its own, each minute
        let host = if dice.chance(0.5) { Host::Process } else { Host::Lambda(Lambda::drawn(dice)) };
        let throttles = (0..dice.within(throttles)).map(|_| Throttle::drawn(dice, rough, shards)).collect();
        let shards_per_sweep = dice.pick(&[1, 2, 64]);
        // A look follows up to 720 records, some 19 s of a history, and nothing is begun in the second half of a sweep: with less it would be
        // begun anew by each sweep and ended by none. AWS has 300 s, and answers sooner. Stalls and throttles take the rest.
        let sweep_timeout = dice.pick(&[40_000, 40_000, 60_000, 300_000, 300_000]);
        Self { skew: SKEW, shards, shards_per_sweep, host, throttles, sweep_timeout, ..Self::plain() }
    }
}

impl Lambda {
    /// As the template makes it at the scale `small`: the least of everything.
    pub const SMALL: Self = Self { batch: 10, timeout: 900_000, fair: true, concurrency: 2, more: 0 };

    /// Nothing waits for an invocation, however much is made up for after an outage.
    pub fn plenty() -> Self {
        Self { concurrency: u32::MAX, fair: false, ..Self::SMALL }
    }

    /// How many may be busy once there are so many more than at first.
    pub fn at_once(&self, more: u32) -> u32 {
        self.concurrency.saturating_add(more).min(MOST_AT_ONCE.max(self.concurrency))
    }

    fn drawn(dice: &mut Dice) -> Self {
        Self {
            batch: dice.pick(&[1, 2, 5, 10]),
            timeout: dice.pick(&[100_000, 200_000, 900_000]),
            fair: false,
            concurrency: dice.pick(&[1, 2, 5]),
            more: dice.pick(&[1, 5]),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "processes",
            Self::Machine => "one machine",
            Self::Lambda(_) => "invocations",
        })
    }
}
