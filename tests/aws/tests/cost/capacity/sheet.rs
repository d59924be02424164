//! What is reckoned, as the tables of a page.

use std::fmt::Write as _;

use super::load::{BATCH, Bill, COLD_READS, COLD_WRITES, FIRST_BATCHES, SWEPT, Sizing, TABLE_QUOTA};
use super::scale::Scales;

/// A line of the table: what it is, for each rate, and why.
type Line = (&'static str, fn(&Sizing) -> String, &'static str);

const PARAMETERS: [Line; 8] = [
    (
        "`Scale`",
        |size| size.scale.name.to_owned(),
        "the smallest whose queues have the hands of a line below, each for its share",
    ),
    (
        "`BatchWindowSeconds`",
        |size| count(size.load.window),
        "1 from where batches fill in a second: else a hint that comes alone gets an invocation of its own",
    ),
    ("`EarlySeconds`", |size| count(size.load.early_seconds()), "the window, and the second that an executor holds"),
    (
        "`Pollers`",
        |size| if size.load.provisioned { "provisioned" } else { "on-demand" }.to_owned(),
        "provisioned from where the ramp of a line below is longer than a run may be late",
    ),
    (
        "`WarmWrites`",
        |size| count(size.load.warm_writes()),
        "the timers' 2 writes a run in the fullest second; a new table takes 4,000",
    ),
    (
        "`WarmReads`",
        |size| commas(size.reads().max(f64::from(COLD_READS))),
        "the 4 reads of a run, as if all were of one table; a new table takes 12,000",
    ),
    ("`ShardsPerSweep`", |size| count(size.load.shards_per_sweep()), "64 by the sweeps of a line below"),
    (
        "`ReserveConcurrency`",
        |size| if size.load.per_second >= 100 { "on" } else { "off" }.to_owned(),
        "where others share the account; a new account has not enough to reserve any",
    ),
];

const NEEDS: [Line; 11] = [
    (
        "hints a batch",
        |_| count(BATCH),
        "of long calls 1: a batch ends with its slowest call; SQS sends, takes and hides tens, so more would save nothing but invocations",
    ),
    (
        "executors at once, full batches",
        |size| count(size.load.hands()),
        "runs a second by 10 a batch by 1.5 s, each priority rounded up",
    ),
    (
        "executors at once, at most",
        |size| count(size.scale.concurrency("Executor")),
        "what the eight queues of `Scale` may have together; what is reserved",
    ),
    (
        "seconds to ramp up, on demand",
        |size| count(size.load.ramp()),
        "Lambda begins with 5 batches of a queue, and adds 5 each second",
    ),
    (
        "pollers, at least",
        |size| count(size.pollers()),
        "one for 10 executors of a queue, at least 2; each queue has its own",
    ),
    ("sweeps at once", |size| count(size.load.sweeps()), "the timers of a minute by 4,464 a second and 15 s"),
    (
        "concurrent executions of the account",
        |size| count(size.scale.account()),
        "all of `Scale`, and a tenth for the rest: **ask for more** than the account has, 1,000 or, where it is new, 10",
    ),
    (
        "of those with `Archive=on`, at most",
        |size| commas(size.archivers()),
        "two for each partition of the state: 1,000 writes a second, or 10 GB kept; out of that tenth, unless `ArchiverConcurrency` bounds them",
    ),
    (
        "writes a second of the state, with its index",
        |size| count(size.load.state_writes()),
        "2 a run, and 1 of the index; **ask for more** from two thirds of 40,000 on",
    ),
    ("reads a second", |size| commas(size.reads()), "the same"),
    (
        "requests a second to the bus",
        |size| commas(size.invocations()),
        "one for the ends of a batch; **ask for more** than `PutEvents` has in the region (10,000 in us-east-1, 600 in small ones)",
    ),
];

/// A line of the bill: of what, how much, and why.
type Dollars = (&'static str, fn(&Bill) -> f64, &'static str);

const DOLLARS: [Dollars; 8] = [
    ("read and write units", |bill| bill.units, "what a run costs"),
    (
        "runs kept",
        |bill| bill.kept,
        "30 days (`retention_days`), a kilobyte at most, as much for the index, point-in-time recovery",
    ),
    ("hints", |bill| bill.hints, "a tenth of a request to send one, three to take a batch"),
    ("executor", |bill| bill.executor, "an invocation of 1.5 s with 256 MB for each batch"),
    ("sweeper", |bill| bill.sweeper, "idle ticks, and 512 MB for as long as it hints"),
    ("events", |bill| bill.events, "the end of each run"),
    ("logs and metrics", |bill| bill.logs, "1.5 KB an invocation, 60 metrics"),
    ("pollers", |bill| bill.pollers, "what is provisioned, each hour"),
];

pub(super) fn sizes(sizings: &[Sizing]) -> String {
    let mut table = head("runs a second", sizings);
    for (what, figure, why) in PARAMETERS.iter().chain(&NEEDS) {
        line(&mut table, what, sizings.iter().map(figure), why);
    }
    for (what, figure, why) in DOLLARS {
        line(&mut table, &format!("$ a month: {what}"), sizings.iter().map(|size| commas(figure(&size.bill()))), why);
    }
    line(
        &mut table,
        "**$ a month**",
        sizings.iter().map(|size| format!("**{}**", commas(size.bill().total()))),
        "at this rate in each second of it",
    );
    let each = sizings.iter().map(|size| format!("{:.2}", size.bill().total() / size.millions()));
    line(&mut table, "$ a million runs", each, "");
    let saved = sizings.iter().map(|size| commas(size.bill().units - size.provisioned()));
    line(
        &mut table,
        "$ a month that provisioned tables would save",
        saved,
        "of the units, were this rate there in each second",
    );
    table
}

fn head(what: &str, sizings: &[Sizing]) -> String {
    let rates: Vec<String> = sizings.iter().map(|size| count(size.load.per_second)).collect();
    format!("| {what} | {} | why |\n|---|{}---|\n", rates.join(" | "), "---|".repeat(rates.len()))
}

fn line(table: &mut String, what: &str, figures: impl Iterator<Item = String>, why: &str) {
    let figures: Vec<String> = figures.collect();
    writeln!(table, "| {what} | {} | {why} |", figures.join(" | ")).expect("a text takes any line");
}

/// What a partition takes in a second.
const PARTITION_WRITES: u32 = 1_000;
const PARTITION_READS: u32 = 3_000;
/// Partitions of an hour of a tenant in the index, of a minute of timers, of a tenant's jobs.
const OF_AN_HOUR: u32 = 16;
const OF_A_MINUTE: u32 = 64;
const OF_A_TENANT: u32 = 64;

/// Runs a second at which a number is full, the lowest first.
pub(super) fn bounds(scales: &Scales) -> String {
    let huge = scales.named("huge");
    let hands = |invocations: u32| invocations * BATCH * 10 / 15;
    let mut bounds = vec![
        (
            hands(FIRST_BATCHES),
            "the first batches of a queue that was silent",
            "`Pollers=provisioned`; a longer `EarlySeconds`",
        ),
        (PARTITION_WRITES / 2, "**one job's** runs: 1 partition, written twice a run", "several jobs"),
        (
            PARTITION_WRITES / 2,
            "**one pool's** offers: 1 partition, put and taken out; fewer where hundreds of workers ask",
            "several pools",
        ),
        (COLD_WRITES / 2, "a new table's timers", "`WarmWrites`, before the first such second"),
        (
            hands(huge.concurrency("Normal")),
            "the hands of one priority at `huge`",
            "more of them in the template's mapping, and at the account; beyond 1,000 a queue `Pollers=provisioned`",
        ),
        (TABLE_QUOTA / 3, "the quota of the state, with its index", "ask AWS for more; `RunsIndex=off`"),
        (
            OF_AN_HOUR * PARTITION_WRITES,
            "**one tenant's** hour in the index: 16 partitions",
            "`RunsIndex=off`, or several tenants",
        ),
        (SWEPT * huge.concurrency("Sweeps"), "the sweeps of `huge`", "more of them in the mapping"),
        (
            OF_A_MINUTE * PARTITION_WRITES,
            "a minute of timers: 64 partitions, put and erased",
            "no parameter: several stacks, tenants divided among them",
        ),
        (OF_A_TENANT * PARTITION_READS, "**one tenant's** jobs, read at each claim: 64 partitions", "several tenants"),
    ];
    bounds.sort_unstable();
    let mut table = String::from("| runs a second | are the bound of | then |\n|---|---|---|\n");
    for (bound, what, then) in bounds {
        writeln!(table, "| {} | {what} | {then} |", count(bound)).expect("a text takes any line");
    }
    table
}

fn count(number: u32) -> String {
    commas(f64::from(number))
}

/// Rounded, with a comma for each three digits.
fn commas(number: f64) -> String {
    let digits = format!("{number:.0}");
    let from_the_end = |at: usize| digits.len() - at;
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && from_the_end(at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
