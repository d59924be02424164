//! The witness: tells the judge what happened, in the judge's own words. It reads what was asked for and what stands in
//! the table; it works nothing out.

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::head::Head;
use minutehand_domain::health::Extent;
use minutehand_domain::health::day::{Day, End, EndKey, Ends, How};
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::{Job, Status};
use minutehand_domain::run::{Attempt, Run};
use minutehand_domain::schedule::{Heeded, OnExcluded, Schedule, Silence, When};
use minutehand_domain::timer::{Obligation, Timer};
use minutehand_io::calendars::Calendars;
use minutehand_io::store::{Bucket, Cursor, EndsOf, RunsOf, Store as _};
use minutehand_judge as judge;

use crate::history::BYSTANDER;
use crate::world::{Counting, SKEW, Seen, Spent, Told, World};

/// How a job stands, in the judge's words.
pub fn head(world: &World, job: &Job, counted_from: i64, now: i64) -> judge::Head {
    let status = status(job);
    let (schedule, catch_up) = (in_force(world, job, counted_from), catch_up(&job.definition.catch_up));
    // A schedule that a clock has brought into force that was ahead counts from there, whatever is changed beside it until then.
    let (changed, since) = (job.changed_at.millis(), job.since.millis());
    let decided = if since > now + SKEW { changed.max(since) } else { changed };
    judge::Head { since: now, decided, status, schedule, catch_up }
}

/// From when on a job's fires are counted: from its creation; or, where a clock that was ahead made it, from the `since` that a repair wrote. Only such a repair
/// moves the last fire to an earlier time.
pub fn counting(told: &Told, job: &Job) -> Counting {
    let last = last_of(&job.schedule);
    match told.counting {
        Some(Counting { last: before, from }) if before > last && last.is_some() && job.since.millis() < from => {
            Counting { from: job.since.millis(), last }
        }
        Some(known) => Counting { last, ..known },
        None => Counting { from: job.created_at.millis(), last },
    }
}

fn last_of(schedule: &Schedule) -> Option<Moment> {
    match schedule.silence_at(schedule.end_at.map_or(Moment::END, Moment::just_before)) {
        Silence::UsedUp { last, .. } => Some(last),
        _another_reason => None,
    }
}

/// What a client can see of how a job stands.
pub fn stands(job: &Job) -> judge::Stands {
    let (schedule, tags) =
        (nominal(&job.schedule, job.created_at.millis()), job.definition.tags.iter().cloned().collect());
    judge::Stands { generation: job.generation, status: status(job), schedule, tags }
}

fn status(job: &Job) -> judge::Status {
    match job.status {
        Status::Active => judge::Status::Active,
        Status::Paused => judge::Status::Paused,
        Status::Cancelled => judge::Status::Cancelled,
    }
}

fn catch_up(catch_up: &CatchUp) -> judge::CatchUp {
    let millis = |window: &Duration| i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
    match catch_up {
        CatchUp::Last { window } => judge::CatchUp::Last { window: millis(window) },
        CatchUp::None => judge::CatchUp::None,
        CatchUp::All { window, max_runs, per_minute } => judge::CatchUp::All {
            window: millis(window),
            most: usize::try_from(*max_runs).unwrap_or(usize::MAX),
            a_minute: per_minute.map(i64::from),
        },
    }
}

/// Its schedule: what that names, what calendars leave of it, how much later it fires, and what a change has carried into it.
fn in_force(world: &World, job: &Job, counted_from: i64) -> judge::Schedule {
    let mut schedule = nominal(&job.schedule, counted_from);
    let by = job.schedule.jitter.map_or(0, |jitter| i64::try_from(jitter.by.as_millis()).unwrap_or(i64::MAX));
    if let Some(observance) = &job.schedule.observance {
        let taken = observance.calendars.iter().flat_map(|heeded| taken(world, &job.tenant, heeded)).collect();
        // What is spread so far that it is yet to fire when the schedule is in force was named before that, but not before there was a job.
        let first = job.schedule.jitter.map_or(i64::MIN, |jitter| jitter.from.millis());
        let moves = (observance.on_excluded == OnExcluded::Move).then(|| (observance.from.millis() - by).max(first));
        schedule = judge::Schedule::Heeding { taken: joined(taken), moves, named: Box::new(schedule) };
    }
    if let Some(jitter) = job.schedule.jitter {
        schedule = judge::Schedule::Later { by, from: jitter.from.millis(), than: Box::new(schedule) };
    }
    match job.carried {
        Some(carried) => judge::Schedule::Also { at: carried.at.millis(), than: Box::new(schedule) },
        None => schedule,
    }
}

/// What the version of a calendar says that a job is pinned to. Calendars in the simulation have windows of maintenance and nothing else.
fn taken(world: &World, tenant: &Tenant, heeded: &Heeded) -> Vec<Range<i64>> {
    let Some(version) = heeded.version else { return Vec::new() };
    let known = Calendars::default();
    let calendar = at_once(known.of(world.whole_store().as_ref(), tenant, &heeded.name, version));
    let calendar = calendar.expect("the memory store answers").expect("what a job is pinned to was written before it");
    let windows = calendar.rules().maintenance.iter();
    windows.map(|window| window.from.millis()..window.until.millis()).collect()
}

/// Stretches that meet are one.
fn joined(mut stretches: Vec<Range<i64>>) -> Vec<Range<i64>> {
    stretches.sort_unstable_by_key(|stretch| (stretch.start, stretch.end));
    let mut joined: Vec<Range<i64>> = Vec::new();
    for stretch in stretches {
        match joined.last_mut() {
            Some(last) if stretch.start <= last.end => last.end = last.end.max(stretch.end),
            _ => joined.push(stretch),
        }
    }
    joined
}

/// A schedule as it was asked for. Crons in the simulation are `*/n * * * *` in UTC: every n minutes of the hour. Only a
/// schedule that its job was created with has `max_fires` there, so that it is known from when on they are counted.
fn nominal(schedule: &Schedule, counted_from: i64) -> judge::Schedule {
    let end = schedule.end_at.map_or(i64::MAX, Moment::millis);
    let start = schedule.start_at.map_or(0, Moment::millis);
    let at_most = schedule.max_fires.map(|fires| judge::AtMost { fires: fires.into(), from: counted_from });
    match &schedule.when {
        When::Now { at } | When::At { at } | When::After { at, .. } => judge::Schedule::Once(at.millis()),
        When::Every { seconds, from } => {
            let period = i64::try_from(*seconds).unwrap_or(i64::MAX) * 1000;
            judge::Schedule::Every { first: from.millis(), period, end, at_most }
        }
        When::Cron(cron) => {
            let minutes =
                cron.text().strip_prefix("*/").and_then(|rest| rest.split(' ').next()).and_then(|n| n.parse().ok());
            let period = minutes.unwrap_or(1_i64) * 60_000;
            judge::Schedule::Every { first: (start + period - 1) / period * period, period, end, at_most }
        }
        When::OnDemand | When::Follows { .. } => judge::Schedule::Never,
    }
}

/// What one driver of the history knows of a job beyond the table.
#[derive(Clone, Debug, Default)]
pub struct Driven {
    pub acknowledged: bool,
    pub at_most_once: bool,
    pub asked: Vec<judge::Asked>,
    /// The runs that idempotency keys were answered with.
    pub told: BTreeMap<String, RunKey>,
    pub cancels: Vec<(i64, i64)>,
    pub deletes: Vec<i64>,
    pub creations: u32,
    pub answers: Vec<judge::Answer>,
    pub explanations: Vec<judge::Explanation>,
}

impl Driven {
    /// Somebody was told of a run that they had asked for.
    pub fn tell_of(&mut self, run: RunKey, key: Option<String>) {
        let before = key.and_then(|key| self.told.insert(key, run));
        assert!(
            before.is_none_or(|before| before == run),
            "one key was answered with two runs: {before:?} and {run:?}"
        );
        if before.is_none() {
            self.asked.push(judge::Asked { at: run.at.millis(), number: run.discriminator });
        }
    }
}

/// Everything the judge is told of a history.
pub fn account(world: &World, driven: &BTreeMap<JobId, Driven>, end: i64) -> judge::Account {
    let seen = world.seen().clone();
    let mut account = judge::Account {
        calls: seen.calls.clone(),
        timers: timers(world, &seen.jobs.iter().map(|(id, told)| (*id, told.number)).collect(), end),
        end,
        widest_sweep: seen.widest_sweep,
        ..judge::Account::default()
    };
    for (id, told) in &seen.jobs {
        let known = driven.get(id).cloned().unwrap_or_default();
        account.jobs.push(judge::Job {
            job: told.number,
            heads: told.heads.clone(),
            acknowledged: known.acknowledged,
            creations: known.creations,
            at_most_once: known.at_most_once,
            asked: known.asked,
            cancels: known.cancels,
            deletes: known.deletes,
            versions: told.versions.clone(),
            answers: known.answers,
            explanations: known.explanations,
        });
        account.records.extend(records(world, &seen, &told.tenant, (*id, told.number), end));
        account.counted.extend(counted(world, &told.tenant, *id, told.number));
    }
    account.costs = costs(&seen);
    account
}

fn costs(seen: &Seen) -> Vec<judge::Cost> {
    let of = |(run, spent): (&RunKey, &Spent)| {
        let told = seen.jobs.get(&run.job)?;
        let Spent { hints, lost_hints, writes } = *spent;
        let (instant, number) = (run.at.millis(), run.discriminator);
        Some(judge::Cost { job: told.number, instant, number, hints, lost_hints, writes })
    };
    seen.spent.iter().filter_map(of).collect()
}

fn records(world: &World, seen: &Seen, tenant: &Tenant, (job, number): (JobId, u32), end: i64) -> Vec<judge::Record> {
    let store = world.whole_store();
    let mut records = Vec::new();
    let mut before = None;
    loop {
        let all = RunsOf { job, window: Moment::EPOCH..Moment::END };
        let page = at_once(store.list::<Run>(tenant, all, before, 500)).unwrap_or_default().items;
        before = page.last().map(|run| run.key);
        let full = page.len() == 500;
        records.extend(page.iter().map(|run| judge::Record {
            written_at: seen.ended.get(&run.key).copied(),
            ..record(world, tenant, run, number, end)
        }));
        if !full {
            return records;
        }
    }
}

/// None where the job asks for none.
fn counted(world: &World, tenant: &Tenant, job: JobId, number: u32) -> Option<judge::Counted> {
    let store = world.whole_store();
    let head = at_once(store.get::<Head>(tenant, job)).ok().flatten()?;
    if head.item.into_job()?.definition.health != Extent::Full {
        return None;
    }
    let within = EndsOf { job, window: Moment::EPOCH..Moment::END };
    let ends = at_once(store.list::<End>(tenant, within, None, usize::MAX)).unwrap_or_default().items;
    let day = at_once(store.get::<Day>(tenant, job)).ok().flatten().map(|seen| day(&seen.item));
    Some(judge::Counted { job: number, ends: ends.iter().map(counted_end).collect(), day })
}

fn counted_end(end: &End) -> judge::CountedEnd {
    let how = match end.how {
        How::Succeeded => "succeeded",
        How::Failed => "failed",
        How::TimedOut => "timed_out",
    };
    let EndKey { at, run } = end.key;
    judge::CountedEnd { instant: run.at.millis(), number: run.discriminator, at: at.millis(), how: how.to_owned() }
}

fn day(day: &Day) -> judge::Day {
    let number = |count| usize::try_from(count).unwrap_or(usize::MAX);
    let counts = |ends: Ends| [ends.succeeded, ends.failed, ends.timed_out].map(number);
    let hours = day.hours().map(|(hour, ends)| (hour.millis(), counts(ends)));
    judge::Day { until: day.until.millis(), hours: hours.collect() }
}

fn record(world: &World, tenant: &Tenant, run: &Run, number: u32, end: i64) -> judge::Record {
    let outside = if run.fence > 3 {
        at_once(world.whole_store().list::<Attempt>(tenant, run.key, None, usize::MAX)).unwrap_or_default().items
    } else {
        vec![]
    };
    let attempts = run.with_older_attempts(outside);
    judge::Record {
        job: number,
        instant: run.key.at.millis(),
        number: run.key.discriminator,
        status: run.status(Moment::from_millis(end)).to_owned(),
        reason: run.reason().map(str::to_owned),
        at: run.finished_at().map(Moment::millis),
        written_at: None,
        covers_until: run.skipped_span().map(|span| span.until.millis()),
        fence: run.fence,
        sla: run.sla.map(|sla| (sla.until.millis(), sla.missed.map(Moment::millis))),
        unended_attempts: u32::try_from(attempts.iter().filter(|a| a.ended.is_none()).count()).unwrap_or(u32::MAX),
        attempts: attempts.iter().map(|attempt| attempt.number).collect(),
        turn: run.made_up.filter(|_| run.is_put_off()).map(|made_up| made_up.turn.millis()),
    }
}

fn timers(world: &World, numbers: &BTreeMap<JobId, u32>, end: i64) -> Vec<judge::Timer> {
    (0..world.setting().shards).flat_map(|shard| timers_of(world, shard, numbers, end)).collect()
}

fn timers_of(world: &World, shard: u16, numbers: &BTreeMap<JobId, u32>, end: i64) -> Vec<judge::Timer> {
    let store = world.whole_store();
    let oldest =
        at_once(store.get::<Cursor>(&Tenant::deployment(), shard)).ok().flatten().map_or(0, |seen| seen.item.oldest);
    let last = end / 60_000 + 25 * 60;
    let first = store.first_timer().ok().flatten().map_or(last, |first| first.millis() / 60_000);
    let minutes = first..last;
    let all = minutes.flat_map(|minute| {
        at_once(store.timers(Bucket { minute, shard }, None, Moment::END, 10_000)).unwrap_or_default().items
    });
    let judged = all.filter(|timer| timer.tenant.as_str() != BYSTANDER);
    judged.map(|timer| told(&timer, numbers, oldest)).collect()
}

fn told(timer: &Timer, numbers: &BTreeMap<JobId, u32>, oldest: i64) -> judge::Timer {
    let key = timer.key.run_key();
    judge::Timer {
        job: numbers.get(&key.job).copied().unwrap_or(u32::MAX),
        instant: key.at.millis(),
        due: timer.key.due.millis(),
        link: matches!(timer.key.obligation, Obligation::Occurrence(_)),
        reachable: timer.key.minute() >= oldest,
    }
}

/// The memory store answers at once; whoever asks outside the simulation need not wait.
pub fn at_once<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the memory store made somebody wait"),
    }
}
