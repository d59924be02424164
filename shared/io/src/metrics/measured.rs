//! What events come to in metrics: one rule for every host, and the adapter that goes by it.

use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::id::Origin;
use minutehand_domain::run::{Attempt, Ending, ErrorCode, Holder, Lease, Run, State};

use super::{
    ARCHIVED, ATTEMPTS, ATTEMPTS_HELD, CALLS_MADE, DEAD_LETTERS, EFFECTS_PREVENTED, GIVEN_BACK, HEARTBEATS_LOST,
    JOB_CHANGES, LEASES_RESCUED, Measure, Metric, NOTIFICATIONS, PREVENTED, QUOTA_REFUSALS, RETRIES, RUNS, SKIPPED,
    SLA_MISSED, STALLS, START_LAG, START_LAG_STAGES, SWEEP_AGE, SWEEPS_FAILED, UNATTENDED, UNREADABLE, WORKER_WAITS,
};
use crate::events::{Event, Events, Layer, SPOKEN_FOR};

/// Attempts from this one on are counted as one.
const MANY: usize = 4;
const ORDINALS: [&str; MANY] = ["1", "2", "3", "4"];

/// Measures events, and passes each to the next adapter.
#[derive(Clone)]
pub struct Measured<E> {
    next: E,
    into: Arc<dyn Measure>,
}

impl<E> Measured<E> {
    pub fn new(next: E, into: Arc<dyn Measure>) -> Self {
        Self { next, into }
    }

    pub fn next(&self) -> &E {
        &self.next
    }

    /// For what is measured beside events.
    pub fn sink(&self) -> &dyn Measure {
        &*self.into
    }

    /// The same, measured into something else.
    #[must_use]
    pub fn into(self, into: Arc<dyn Measure>) -> Self {
        Self { into, ..self }
    }
}

impl<E: Events> Events for Measured<E> {
    fn emit(&self, event: &Event<'_>) {
        measure(event, &mut |metric, words, value| self.into.add(metric, words, value));
        self.next.emit(event);
    }
}

/// Where a rule puts what it finds.
type Add<'a> = &'a mut dyn FnMut(&'static Metric, &[&str], f64);

/// What an event comes to.
pub fn measure(event: &Event<'_>, add: Add<'_>) {
    match *event {
        Event::Job { what, .. } => add(&JOB_CHANGES, &[what], 1.0),
        Event::Run { run, from, was, now } => measure_run(run, from, was, now, add),
        Event::Reached { priority, since, now, .. } => {
            add(&START_LAG, &[priority.as_str()], now.since(since).as_secs_f64());
        }
        Event::Called { run, ready: Some(ready), sent, now } => measure_stages(run, ready, sent, now, add),
        Event::Called { ready: None, .. } => {}
        Event::Answered { target, outcome, took } => add(&CALLS_MADE, &[target, outcome], took.as_secs_f64()),
        Event::Stalled { .. } => add(&STALLS, &[], 1.0),
        Event::SlaMissed { .. } => add(&SLA_MISSED, &[], 1.0),
        Event::EffectPrevented { .. } => {
            add(&EFFECTS_PREVENTED, &[], 1.0);
            add(&PREVENTED, &[Layer::Effect.as_str()], 1.0);
        }
        Event::Sweeping { behind } => add(&SWEEP_AGE, &[], behind.as_secs_f64()),
        Event::SweepFailed => add(&SWEEPS_FAILED, &[], 1.0),
        Event::Unreadable { later, corrupt } => {
            add_each(&UNREADABLE, [("later", later), ("corrupt", corrupt)], add);
        }
        Event::Archived { archived, refused } => {
            add_each(&ARCHIVED, [("archived", archived), ("refused", refused)], add);
        }
        Event::Prevented { by } => add(&PREVENTED, &[by.as_str()], 1.0),
        Event::Refused { over } => add(&QUOTA_REFUSALS, &[over.as_str()], 1.0),
        Event::AwaitsWorker { run, waited, .. } => add(&WORKER_WAITS, &[run.priority.as_str()], waited.as_secs_f64()),
        Event::Unattended { run, silent, .. } => add(&UNATTENDED, &[run.priority.as_str()], silent.as_secs_f64()),
        Event::GivenBack => add(&GIVEN_BACK, &[], 1.0),
    }
}

/// Under each word as many, where there are any.
fn add_each(metric: &'static Metric, counts: [(&str, u64); 2], add: Add<'_>) {
    for (word, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        add(metric, &[word], as_many(count));
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are not so many")]
fn as_many(items: u64) -> f64 {
    items as f64
}

fn measure_run(run: &Run, from: &str, was: Option<&Run>, now: Moment, add: Add<'_>) {
    let has_just_ended = run.is_finished() && !was.is_some_and(Run::is_finished);
    if run.key.origin == Origin::Notification {
        if has_just_ended {
            add(&NOTIFICATIONS, &[run.status(now)], 1.0); // nobody's run: it is among no others
        }
        return;
    }
    if has_just_ended {
        add(&RUNS, &[run.status(now)], 1.0);
        measure_end(run, from, add);
    }
    if let Some(was) = was {
        if has_lost_its_holder(run, was, now) {
            add(&HEARTBEATS_LOST, &[], 1.0);
        }
        measure_hold(run, was, add);
        if !run.is_finished() {
            measure_retry(run, was, add);
        }
    }
    if begins_attempt(run, was) {
        measure_start(run, was, add);
    }
}

/// What another record speaks for is among those that that one stands for.
fn measure_end(run: &Run, from: &str, add: Add<'_>) {
    if let State::Skipped { why, .. } = run.state
        && from != SPOKEN_FOR
    {
        let fires = run.skipped_span().and_then(|span| span.count).unwrap_or(1);
        add(&SKIPPED, &[why.as_str()], as_many(fires));
    }
    if run.is_dead_letter() {
        add(&DEAD_LETTERS, &[], 1.0);
    }
}

fn measure_start(run: &Run, was: Option<&Run>, add: Add<'_>) {
    add(&ATTEMPTS, &[], 1.0);
    let is_taken = run.lease().is_some_and(|lease| matches!(lease.holder, Holder::Remote(_)));
    if let (true, Some(ready), Some(started)) = (is_taken, was.and_then(Run::ready_since), run.started_at) {
        add(&START_LAG_STAGES, &["take"], started.since(ready).as_secs_f64());
    }
    if lost_the_one_before(run) {
        add(&LEASES_RESCUED, &[], 1.0);
    }
}

/// A run that a target has taken on is written anew under the same fence: no attempt begins.
pub(crate) fn begins_attempt(run: &Run, was: Option<&Run>) -> bool {
    run.fence > was.map_or(0, |was| was.fence) && run.lease().is_some_and(|lease| !lease.cancelled)
}

/// Whether the attempt before the last one was lost.
pub(crate) fn lost_the_one_before(run: &Run) -> bool {
    let before = run.attempts.iter().rev().nth(1).and_then(|attempt| attempt.ended.as_ref());
    before.is_some_and(|ended| ended.how == Ending::Lost)
}

/// Whether a holder that lives elsewhere let its lease run out: one that handed it back ended its attempt in time.
pub(crate) fn has_lost_its_holder(run: &Run, was: &Run, now: Moment) -> bool {
    let lives_elsewhere = |lease: &Lease| matches!(lease.holder, Holder::Remote(_) | Holder::Target(_));
    let has_run_out = was.lease().is_some_and(|lease| lives_elsewhere(lease) && lease.until <= now);
    let ended = just_ended(run, was).and_then(|attempt| attempt.ended.as_ref());
    has_run_out && ended.is_some_and(|ended| ended.how == Ending::Lost)
}

/// How long it was held by whom nobody here waited for.
fn measure_hold(run: &Run, was: &Run, add: Add<'_>) {
    let holder = match was.lease().map(|lease| lease.holder) {
        Some(Holder::Remote(_)) => "worker",
        Some(Holder::Target(_)) => "taken_on",
        Some(Holder::Process(_)) | None => return,
    };
    let Some(attempt) = just_ended(run, was) else { return };
    let Some(ended) = &attempt.ended else { return };
    let outcome = match ended.how {
        Ending::Succeeded => "succeeded",
        Ending::Failed(_) => "failed",
        Ending::TimedOut(_) => "timed_out",
        Ending::Lost => "lost",
    };
    add(&ATTEMPTS_HELD, &[holder, outcome], ended.at.since(attempt.started_at).as_secs_f64());
}

/// The attempt that this has ended.
fn just_ended<'a>(run: &'a Run, was: &Run) -> Option<&'a Attempt> {
    let had_ended = |number| was.attempts.iter().any(|attempt| attempt.number == number && attempt.ended.is_some());
    run.attempts.iter().rev().find(|attempt| attempt.ended.is_some() && !had_ended(attempt.number))
}

/// An attempt that this has ended, where the run goes on: in another one that is due, or that begins at once where its lease ran out.
fn measure_retry(run: &Run, was: &Run, add: Add<'_>) {
    let Some(attempt) = just_ended(run, was) else { return };
    let error = match attempt.ended.as_ref().map(|ended| &ended.how) {
        Some(Ending::Failed(error) | Ending::TimedOut(error)) => word_of(&error.code),
        Some(Ending::Lost) => ErrorCode::Lost.as_str(),
        Some(Ending::Succeeded) | None => return,
    };
    let nth = ORDINALS[(attempt.number.max(1) as usize).min(MANY) - 1];
    add(&RETRIES, &[error, nth], 1.0);
}

/// Workers and targets may say what they like; we have as many words as are ours.
fn word_of(code: &str) -> &'static str {
    ErrorCode::ALL.into_iter().map(ErrorCode::as_str).find(|word| *word == code).unwrap_or("other")
}

/// A hint that was sent ahead had its run dispatched in time.
fn measure_stages(run: &Run, ready: Moment, sent: Option<Moment>, now: Moment, add: Add<'_>) {
    let Some(claimed) = run.started_at else { return };
    let dispatched = sent.unwrap_or(ready).max(ready).min(claimed);
    let stages =
        [("dispatch", dispatched.since(ready)), ("claim", claimed.since(dispatched)), ("call", now.since(claimed))];
    for (stage, took) in stages {
        add(&START_LAG_STAGES, &[stage], took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use minutehand_domain::access::SecretHash;
    use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
    use minutehand_domain::order::Terms;
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::effect::{Claimed, Effect};
    use minutehand_domain::run::{Claimant, Event as RunEvent, Outcome, Skip, SkippedSpan, Taker};

    use super::*;
    use crate::events::Over;

    const DUE: Moment = Moment::from_secs(1_800_000_000);
    const BY: Claimant = Claimant { worker: Worker(1), exclusive_store: false };

    fn run() -> Run {
        Run::new(Tenant::new("acme").unwrap(), RunKey::occurrence(JobId::from_bytes([7; 16]), DUE), Priority::High)
    }

    fn at(millis: u64) -> Moment {
        DUE + Duration::from_millis(millis)
    }

    fn claimed(run: &Run, now: Moment) -> Run {
        run.after(&RunEvent::Claim { by: BY, terms: &Terms::default() }, now).unwrap()
    }

    fn failed(run: &Run, code: &'static str, now: Moment) -> Run {
        let error = minutehand_domain::run::AttemptError::new(code, "no");
        let outcome = Outcome::Failed { error, retry_after: None };
        run.after(&RunEvent::Finish { fence: run.fence, outcome: &outcome, terms: &Terms::default() }, now).unwrap()
    }

    fn of(event: &Event<'_>) -> Vec<String> {
        let mut all = Vec::new();
        measure(event, &mut |metric, words, value| {
            assert_eq!(words.len(), metric.labels.len(), "{}", metric.name);
            let name = metric.name.trim_start_matches("minutehand_");
            all.push(format!("{name} {} {value}", words.join(" ")).replace("  ", " "));
        });
        all
    }

    #[test]
    fn events_come_to_these_measurements() {
        let (unborn, first) = (run(), claimed(&run(), at(250)));
        let again = failed(&first, "http_5xx", at(400));
        let own = failed(&first, "disk_full", at(400));
        let dead = (2..=4).fold(again.clone(), |run, _| {
            let State::Scheduled { due } = run.state else { panic!("{run:?}") };
            failed(&claimed(&run, due), "http_5xx", due)
        });
        let span = SkippedSpan { until: at(60_000), count: Some(3) };
        let missed = run().skipped(Skip::Missed, Some(span), at(90_000));
        let effect = Effect {
            tenant: run().tenant,
            run: run().key,
            name: "charge".parse().unwrap(),
            claimed: Claimed { at: DUE, fence: 1, request: None },
            outcome: None,
            prevented: 1,
        };
        let of_a_rule = Run { key: RunKey { origin: Origin::Notification, ..run().key }, ..run() };
        let untold = (0..4).fold(of_a_rule, |run, _| {
            let due = if let State::Scheduled { due } = run.state { due } else { DUE };
            failed(&claimed(&run, due), "http_5xx", due)
        });
        let now = at(100_000_000);
        let changed = |run, was| Event::Run { run, from: "", was, now };

        let pool = "web1".parse().unwrap();
        let rows: [(&str, Event<'_>, &[&str]); 25] = [
            ("born", changed(&unborn, None), &[]),
            ("begun", changed(&first, Some(&unborn)), &["attempts_total 1"]),
            ("to be tried again", changed(&again, Some(&first)), &["retries_total http_5xx 1 1"]),
            ("of a worker's own word", changed(&own, Some(&first)), &["retries_total other 1 1"]),
            ("dead", changed(&dead, Some(&again)), &["runs_total failed 1", "dead_letters_total 1"]),
            ("written once more when it was over", changed(&dead, Some(&dead)), &[]),
            ("written once more while it runs", changed(&first, Some(&first)), &[]),
            ("missed", changed(&missed, None), &["runs_total skipped 1", "skipped_total missed 3"]),
            (
                "what another record stands for",
                Event::Run { run: &missed, from: SPOKEN_FOR, was: None, now },
                &["runs_total skipped 1"],
            ),
            (
                "reached",
                Event::Reached {
                    tenant: &unborn.tenant,
                    run: unborn.key,
                    priority: Priority::High,
                    since: DUE,
                    now: at(250),
                },
                &["run_lag_seconds high 0.25"],
            ),
            (
                "called",
                Event::Called { run: &first, ready: Some(DUE), sent: Some(at(100)), now: at(300) },
                &[
                    "run_lag_stage_seconds dispatch 0.1",
                    "run_lag_stage_seconds claim 0.15",
                    "run_lag_stage_seconds call 0.05",
                ],
            ),
            (
                "answered",
                Event::Answered { target: "http", outcome: "succeeded", took: Duration::from_millis(1500) },
                &["call_seconds http succeeded 1.5"],
            ),
            ("swept", Event::Sweeping { behind: Duration::from_secs(61) }, &["sweep_age_seconds 61"]),
            ("left undone", Event::SweepFailed, &["sweeps_failed_total 1"]),
            ("unreadable", Event::Unreadable { later: 2, corrupt: 0 }, &["unreadable_items_total later 2"]),
            ("not archived", Event::Archived { archived: 0, refused: 3 }, &["archived_runs_total refused 3"]),
            (
                "stalled",
                Event::Stalled { run: &first, since: DUE, edge: "`join` has not begun" },
                &["workflow_stalls_total 1"],
            ),
            ("late for its SLA", Event::SlaMissed { run: &first }, &["sla_missed_total 1"]),
            (
                "made before",
                Event::EffectPrevented { effect: &effect },
                &["effects_prevented_total 1", "duplicates_prevented_total effect 1"],
            ),
            ("nobody is told", changed(&untold, None), &["notifications_total failed 1"]),
            ("fenced", Event::Prevented { by: Layer::Fence }, &["duplicates_prevented_total fence 1"]),
            ("refused", Event::Refused { over: Over::Jobs }, &["quota_refusals_total jobs 1"]),
            (
                "waits for a worker",
                Event::AwaitsWorker { run: &unborn, pool: &pool, waited: Duration::from_secs(31), now },
                &["worker_wait_seconds high 31"],
            ),
            (
                "without workers",
                Event::Unattended { run: &unborn, pool: &pool, silent: Duration::from_secs(61) },
                &["unattended_seconds high 61"],
            ),
            ("given back", Event::GivenBack, &["hints_given_back_total 1"]),
        ];
        for (what, event, wanted) in rows {
            assert_eq!(of(&event), wanted, "{what}");
        }
    }

    #[test]
    fn what_a_worker_held_says_for_how_long() {
        let taker = Taker { worker: Worker(2), token: SecretHash::of("mt_1"), lease: Duration::from_secs(30) };
        let held = run().after(&RunEvent::Take { by: BY, taker: &taker, terms: &Terms::default() }, at(250)).unwrap();
        let (worked, silent) = (failed(&held, "disk_full", at(1250)), claimed(&held, at(90_000)));
        let measured = |run| of(&Event::Run { run, from: "", was: Some(&held), now: at(100_000_000) });

        assert_eq!(measured(&worked), ["attempt_seconds worker failed 1", "retries_total other 1 1"]);
        let lost = ["heartbeats_lost_total 1", "attempt_seconds worker lost 30", "retries_total lost 1 1"];
        assert_eq!(measured(&silent), [&lost[..], &["attempts_total 1", "leases_rescued_total 1"]].concat());
    }

    /// A series is there from the start for each quota there is, and for each priority.
    #[test]
    fn each_quota_and_each_priority_is_a_word_of_its_metric() {
        assert_eq!(Over::ALL.map(Over::as_str), QUOTA_REFUSALS.from_start);
        assert_eq!(Priority::ALL.map(Priority::as_str), START_LAG.from_start);
        assert_eq!(Priority::ALL.map(Priority::as_str), WORKER_WAITS.from_start);
        assert_eq!(Priority::ALL.map(Priority::as_str), UNATTENDED.from_start);
    }

    #[test]
    fn what_was_hinted_ahead_was_dispatched_in_time() {
        let first = claimed(&run(), at(250));
        let ahead = Some(DUE - Duration::from_secs(300));
        for sent in [ahead, None] {
            let stages = of(&Event::Called { run: &first, ready: Some(DUE), sent, now: at(250) });
            assert_eq!(stages[..2], ["run_lag_stage_seconds dispatch 0", "run_lag_stage_seconds claim 0.25"]);
        }
    }

    /// The executor that offers a run measures its lag; the worker that takes it, the stage `take` alone.
    #[test]
    fn what_a_worker_takes_says_how_long_it_waited() {
        let taker = Taker { worker: Worker(2), token: SecretHash::of("mt_1"), lease: Duration::from_secs(30) };
        let now = at(3_600_000);
        let in_line = run().after(&RunEvent::AwaitSlot, DUE).unwrap();
        let task = Run { key: RunKey { origin: Origin::Task, ..run().key }, ..run() };
        for (was, wanted) in [(run(), &["run_lag_stage_seconds take 3600"][..]), (in_line, &[]), (task, &[])] {
            let begun = was.after(&RunEvent::Take { by: BY, taker: &taker, terms: &Terms::default() }, now).unwrap();

            let measured = of(&Event::Run { run: &begun, from: "queued", was: Some(&was), now });

            assert_eq!(measured, [&["attempts_total 1"], wanted].concat());
        }
    }

    #[test]
    fn another_attempt_after_a_lost_lease_is_a_rescue() {
        let first = claimed(&run(), DUE);
        let lost_at = first.lease().unwrap().until + Duration::from_secs(60);
        let rescued = claimed(&first, lost_at);

        let measured = of(&Event::Run { run: &rescued, from: "running", was: Some(&first), now: lost_at });

        assert_eq!(measured, ["retries_total lost 1 1", "attempts_total 1", "leases_rescued_total 1"]);
    }
}
