//! So many runs a second: what they ask of each part.

use super::scale::{QUEUES, Scale};
use crate::prices::{
    EVENT, GB_SECONDS, INVOCATION, KEPT, LOGGED, METRIC, POLLER_HOUR, READ, READ_HOUR, RECOVERABLE, SQS, WRITE,
    WRITE_HOUR,
};

const HOURS: u32 = 730;
const SECONDS: f64 = 3600.0 * 730.0;

/// Of ten runs: one critical, two of high priority, six normal, one low. Long calls are not among them.
const TENTHS: [(&str, u32); 4] = [("Critical", 1), ("High", 2), ("Normal", 6), ("Low", 1)];

/// What the template says: hints to an invocation.
pub(super) const BATCH: u32 = 10;
/// Tenths of a second that an invocation lasts: it holds its hints for one, and the slowest of its ten calls takes half of one.
const OCCUPIED: u32 = 15;
/// Batches that Lambda takes at once from a queue that was silent, and by how many more it can after each second.
pub(super) const FIRST_BATCHES: u32 = 5;
const MORE_BATCHES: u32 = 5;
/// Invocations at once of one poller that is provisioned, and how few of them AWS takes.
const OF_A_POLLER: u32 = 10;
const LEAST_POLLERS: u32 = 2;

/// Timers of a second that one invocation of the sweeper hints: a million in 14 s by sixteen (simulated, 5 ms a call).
pub(super) const SWEPT: u32 = 1_000_000 / 14 / 16;
/// Of a minute: a sweep is to be through before a quarter of it is over, so that an outage of an hour is made up for in twenty minutes.
const SWEEP_SECONDS: u32 = 15;
const SHARDS: u32 = 64;

/// What a new table and a new index on demand take at once, and how much a table may take unless AWS is asked.
pub(super) const COLD_WRITES: u32 = 4_000;
pub(super) const COLD_READS: u32 = 12_000;
pub(super) const TABLE_QUOTA: u32 = 40_000;

/// How long a run is kept, and how large it is at most: its write is one unit. An entry of an index is as large at most.
const KEPT_DAYS: f64 = 30.0;
const RECORD_KB: f64 = 1.0;
/// What an invocation logs: a line of metrics of about a kilobyte, and Lambda's own two.
const LOGGED_KB: f64 = 1.5;
const METRICS: f64 = 60.0;
const EXECUTOR_GB: f64 = 0.25;
const SWEEPER_GB: f64 = 0.5;

/// What a run takes: one of a cron, with a payload of 1 KB and the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) writes: f64,
    pub(super) reads: f64,
    /// What a month of ticks costs that find nothing.
    pub(super) idle: f64,
}

impl Unit {
    /// From the rows that the tests of costs hold to what they measure.
    pub(super) fn of_the_costs(page: &str) -> Self {
        let row = page.lines().find(|line| line.starts_with("| cron, each minute | 1 KB |")).expect("a row of a cron");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let number = |cell: usize| cells[cell].parse().unwrap_or_else(|why| panic!("{row}: {why}"));
        let idle =
            page.lines().find(|line| line.starts_with("A tick of all 64 shards that finds nothing:")).expect("idle");
        let (_, idle) = idle.split_once("which is ").expect("what it is");
        let (idle, _) = idle.split_once(" $ a month").expect("a month");
        Self { writes: number(7), reads: number(4), idle: idle.parse().expect("dollars") }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) per_second: u32,
    /// Seconds that Lambda gathers a batch for.
    pub(super) window: u32,
    pub(super) provisioned: bool,
}

impl Load {
    /// From a hundred on batches fill in a second; from a thousand on the ramp of Lambda's pollers is what is late.
    pub(super) fn of(per_second: u32) -> Self {
        Self { per_second, window: u32::from(per_second >= 100), provisioned: per_second >= 1_000 }
    }

    pub(super) fn lanes(self) -> impl Iterator<Item = Lane> {
        TENTHS.iter().map(move |(queue, tenths)| Lane {
            queue,
            load: self,
            tenths_per_second: self.per_second * tenths,
        })
    }

    pub(super) fn early_seconds(self) -> u32 {
        self.window + 1
    }

    pub(super) fn hands(self) -> u32 {
        self.lanes().map(Lane::hands).sum()
    }

    /// Seconds until Lambda takes so many batches at once as are needed, after a silence.
    pub(super) fn ramp(self) -> u32 {
        let most = self.lanes().map(Lane::hands).max().unwrap_or_default();
        most.saturating_sub(FIRST_BATCHES).div_ceil(MORE_BATCHES)
    }

    pub(super) fn sweeps(self) -> u32 {
        (60 * self.per_second).div_ceil(SWEPT * SWEEP_SECONDS)
    }

    pub(super) fn shards_per_sweep(self) -> u32 {
        (SHARDS / self.sweeps().next_power_of_two()).max(1)
    }

    /// Its timer put and erased.
    pub(super) fn timer_writes(self) -> u32 {
        2 * self.per_second
    }

    /// Its claim and its end, and its entry in the index.
    pub(super) fn state_writes(self) -> u32 {
        3 * self.per_second
    }

    pub(super) fn warm_writes(self) -> u32 {
        self.timer_writes().max(COLD_WRITES)
    }
}

/// A queue of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) queue: &'static str,
    load: Load,
    tenths_per_second: u32,
}

impl Lane {
    /// Invocations at once, where each holds ten.
    pub(super) fn hands(self) -> u32 {
        (self.tenths_per_second * OCCUPIED).div_ceil(100 * BATCH)
    }

    /// So many that what is due at once after a silence needs no more.
    pub(super) fn pollers(self) -> u32 {
        self.hands().div_ceil(OF_A_POLLER).max(LEAST_POLLERS)
    }

    /// Invocations a second where hints come evenly. Without a window each hint gets one of its own, for as long as a hand is free; with
    /// it, as many as pollers gather in that time.
    fn invocations(self, scale: &Scale) -> f64 {
        let (hints, full) = (f64::from(self.tenths_per_second) / 10.0, f64::from(BATCH));
        let most = if self.load.window == 0 {
            f64::from(scale.concurrency(self.queue) * 10) / f64::from(OCCUPIED)
        } else {
            f64::from(FIRST_BATCHES) / f64::from(self.load.window)
        };
        (hints / full).max(hints.min(most))
    }
}

/// What a load takes, at a scale.
#[derive(Clone, Debug)]
pub(super) struct Sizing {
    pub(super) load: Load,
    pub(super) unit: Unit,
    pub(super) scale: Scale,
}

/// Dollars of a month.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bill {
    pub(super) units: f64,
    pub(super) kept: f64,
    pub(super) hints: f64,
    pub(super) executor: f64,
    pub(super) sweeper: f64,
    pub(super) events: f64,
    pub(super) logs: f64,
    pub(super) pollers: f64,
}

impl Bill {
    pub(super) fn total(self) -> f64 {
        self.units + self.kept + self.hints + self.executor + self.sweeper + self.events + self.logs + self.pollers
    }
}

impl Sizing {
    pub(super) fn new(load: Load, unit: Unit, scale: Scale) -> Self {
        Self { load, unit, scale }
    }

    /// Millions of runs in a month.
    pub(super) fn millions(&self) -> f64 {
        f64::from(self.load.per_second) * SECONDS / 1e6
    }

    pub(super) fn reads(&self) -> f64 {
        self.unit.reads * f64::from(self.load.per_second)
    }

    pub(super) fn invocations(&self) -> f64 {
        self.load.lanes().map(|lane| lane.invocations(&self.scale)).sum()
    }

    /// Of the least that there are, with those of the long calls.
    pub(super) fn pollers(&self) -> u32 {
        if self.load.provisioned { QUEUES.iter().map(|queue| self.scale.least_pollers(queue)).sum() } else { 0 }
    }

    /// The same units, each hour of the month at this rate, on a table with so many provisioned.
    pub(super) fn provisioned(&self) -> f64 {
        let a_second = f64::from(self.load.per_second);
        f64::from(HOURS) * a_second * (self.unit.writes * WRITE_HOUR + self.unit.reads * READ_HOUR)
    }

    /// Runs that are kept, without the index.
    fn gigabytes(&self) -> f64 {
        self.millions() * KEPT_DAYS / (SECONDS / 86_400.0) * RECORD_KB
    }

    /// Of the archive, at most: two for each partition of the state, which is full of 1,000 writes a second or of 10 GB.
    pub(super) fn archivers(&self) -> f64 {
        let by_writes = f64::from(2 * self.load.per_second).max(f64::from(COLD_WRITES)) / 1_000.0;
        2.0 * by_writes.max(self.gigabytes() / 10.0).ceil()
    }

    pub(super) fn bill(&self) -> Bill {
        let (runs, invocations) = (self.millions(), self.invocations() * SECONDS / 1e6);
        // Each tenth of the hints is a request; each batch is received, hidden and deleted by one.
        let requests = runs / f64::from(BATCH) + 3.0 * invocations;
        let held = invocations * f64::from(OCCUPIED) / 10.0;
        let swept = f64::from(self.load.per_second) / f64::from(SWEPT) * SECONDS / 1e6;
        let gigabytes = self.gigabytes();
        Bill {
            units: runs * (self.unit.writes * WRITE + self.unit.reads * READ),
            // Recoverable is the table, and not its index.
            kept: gigabytes * (2.0 * KEPT + RECOVERABLE),
            hints: requests * SQS,
            executor: invocations * INVOCATION + held * EXECUTOR_GB * GB_SECONDS,
            sweeper: self.unit.idle + swept * SWEEPER_GB * GB_SECONDS,
            events: runs * EVENT,
            logs: invocations * LOGGED_KB * LOGGED + METRICS * METRIC,
            pollers: f64::from(self.pollers() * HOURS) * POLLER_HOUR,
        }
    }
}
