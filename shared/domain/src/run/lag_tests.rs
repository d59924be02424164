//! Lag: a table of histories, and what is true of all of them.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::body::Body;
use crate::id::{JobId, RunKey, Tenant, Worker};
use crate::order::Terms;
use crate::priority::Priority;
use crate::run::{Claimant, ErrorCode, Event, Outcome, Skip};
use crate::slot::{Admission, Bound, SlotName};

const DUE: Moment = Moment::from_secs(1_800_000_000);
const BY: Claimant = Claimant { worker: Worker(1), exclusive_store: false };

fn at(millis: u64) -> Moment {
    DUE + Duration::from_millis(millis)
}

fn due() -> Run {
    let key = RunKey::occurrence(JobId::from_bytes([1; 16]), DUE);
    Run::new(Tenant::deployment(), key, Priority::Normal)
}

fn claimed(run: &Run, millis: u64) -> Run {
    run.after(&Event::Claim { by: BY, terms: &Terms::default() }, at(millis)).unwrap()
}

fn finished(run: &Run, millis: u64, outcome: &Outcome) -> Run {
    run.after(&Event::Finish { fence: run.fence, outcome, terms: &Terms::default() }, at(millis)).unwrap()
}

fn succeeded(run: &Run, millis: u64) -> Run {
    finished(run, millis, &Outcome::Succeeded { result: Body::Empty })
}

fn failed(run: &Run, millis: u64) -> Run {
    let error = ErrorCode::Connect.error("nobody listens");
    finished(run, millis, &Outcome::Failed { error, retry_after: Some(Duration::from_secs(60)) })
}

/// Kinds, with the milliseconds that each took.
fn stages(run: &Run, now: u64) -> Vec<(&'static str, u128)> {
    let lag = run.lag(&run.attempts, at(now));
    lag.stages.iter().map(|stage| (stage.kind.as_str(), stage.took().as_millis())).collect()
}

/// What it is, the run, when it is looked at, and the stages that it then has.
type Row<'a> = (&'a str, Run, u64, &'a [(&'a str, u128)]);

#[test]
fn the_time_of_a_run_goes_where_its_record_says() {
    let wait = |run: &Run, millis| run.after(&Event::AwaitSlot, at(millis)).unwrap();
    let postponed = due().after(&Event::Postpone { until: at(900) }, at(100)).unwrap();
    let lost = claimed(&claimed(&due(), 40), 200_000);
    let told_late = due().hinted(Some(at(1500)), at(2000));
    let told_in_time = due().hinted(Some(at(0) - Duration::from_secs(60)), at(2000));
    let tried = |run: &Run| claimed(&run.clone().hinted(Some(at(68_000)), at(70_090)), 70_090);
    let rows: Vec<Row<'_>> = vec![
        ("due later", Run { key: RunKey { at: at(5000), ..due().key }, ..due() }, 0, &[]),
        ("due, and nobody has claimed it", due(), 3200, &[("queued", 3200)]),
        ("in line", wait(&due(), 200), 3200, &[("queued", 200), ("place", 3000)]),
        ("before its turn", postponed.clone(), 500, &[("rate", 500)]),
        ("behind its turn", postponed, 1000, &[("rate", 900), ("queued", 100)]),
        ("under way", claimed(&due(), 40), 100, &[("queued", 40), ("attempt", 60)]),
        ("over", succeeded(&claimed(&due(), 40), 90), 9999, &[("queued", 40), ("attempt", 50)]),
        (
            "waits for another try",
            failed(&claimed(&due(), 40), 90),
            1090,
            &[("queued", 40), ("attempt", 50), ("backoff", 1000)],
        ),
        (
            "could be tried again",
            failed(&claimed(&due(), 40), 90),
            61_090,
            &[("queued", 40), ("attempt", 50), ("backoff", 60_000), ("queued", 1000)],
        ),
        (
            "was tried again",
            succeeded(&claimed(&failed(&claimed(&due(), 40), 90), 70_090), 70_100),
            99_999,
            &[("queued", 40), ("attempt", 50), ("backoff", 70_000), ("attempt", 10)],
        ),
        (
            "was taken over",
            lost,
            200_500,
            &[("queued", 40), ("attempt", 90_000), ("recovery", 109_960), ("attempt", 500)],
        ),
        ("told of late", claimed(&told_late, 2000), 2100, &[("dispatch", 1500), ("queued", 500), ("attempt", 100)]),
        (
            "told of in time, and claimed late",
            claimed(&told_in_time, 2000),
            2100,
            &[("queued", 2000), ("attempt", 100)],
        ),
        (
            "told of late that it may be tried again",
            tried(&failed(&claimed(&due(), 40), 90)),
            70_100,
            &[("queued", 40), ("attempt", 50), ("backoff", 67_910), ("queued", 2090), ("attempt", 10)],
        ),
        (
            "told of late both times: only the last is kept",
            tried(&failed(&claimed(&told_late, 2000), 2090)),
            70_100,
            &[("queued", 2000), ("attempt", 90), ("backoff", 65_910), ("queued", 2090), ("attempt", 10)],
        ),
        ("skipped", due().skipped(Skip::Paused, None, at(930_000)), 999_999, &[("undecided", 930_000)]),
        (
            "began by a clock that was ahead",
            succeeded(&Run { started_at: None, ..claimed(&due(), 0) }, 70),
            99,
            &[("attempt", 70)],
        ),
    ];
    for (what, run, now, wanted) in rows {
        assert_eq!(stages(&run, now), wanted, "{what}");
    }
}

#[test]
fn what_begins_in_time_does_not_say_when_it_was_dispatched() {
    let sent = Some(at(900));
    for (now, kept) in [(950, None), (999, None), (1000, sent), (90_000, sent)] {
        assert_eq!(due().hinted(sent, at(now)).dispatched, kept, "{now}");
    }
    let waits = due().after(&Event::AwaitSlot, at(100)).unwrap();
    assert_eq!(waits.hinted(sent, at(90_000)).dispatched, None, "it stood in a line: that says more");
}

#[test]
fn what_was_waited_for_and_is_not_kept_is_said_not_to_be() {
    let bound = Bound { slot: SlotName::Key("billing".parse().unwrap()), width: 1 };
    let run = Run { admission: Admission { places: vec![bound], turn: None }, ..claimed(&due(), 40) };

    let lag = run.lag(&run.attempts, at(100));

    let wanted = "until it was claimed; how much of it was a wait for a place of key \"billing\" is not kept";
    assert_eq!(lag.stages[0].detail, wanted);
    assert_eq!(lag.before_it_began(), Duration::from_millis(40));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Claim,
    Succeed,
    Fail,
    Wait,
    Postpone,
    HandBack,
    NotCalled,
    Cancel,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        4 => Just(Step::Claim),
        1 => Just(Step::Succeed),
        4 => Just(Step::Fail),
        1 => Just(Step::Wait),
        1 => Just(Step::Postpone),
        1 => Just(Step::HandBack),
        1 => Just(Step::NotCalled),
        1 => Just(Step::Cancel),
    ];
    prop::collection::vec((0..120_000_u64, step), 0..20)
}

fn lived(steps: &[(u64, Step)]) -> (Run, Vec<Attempt>, Moment) {
    let (mut run, mut older, mut now) = (due(), Vec::new(), DUE - Duration::from_secs(2));
    for (pause, step) in steps {
        now = now + Duration::from_millis(*pause);
        let (terms, fence) = (Terms::default(), run.fence);
        let error = ErrorCode::Connect.error("nobody listens");
        let outcome = match step {
            Step::Succeed => Outcome::Succeeded { result: Body::Empty },
            _ => Outcome::Failed { error, retry_after: None },
        };
        let event = match step {
            Step::Claim => Event::Claim { by: BY, terms: &terms },
            Step::Succeed | Step::Fail => Event::Finish { fence, outcome: &outcome, terms: &terms },
            Step::Wait => Event::AwaitSlot,
            Step::Postpone => Event::Postpone { until: now + Duration::from_secs(20) },
            Step::HandBack => Event::HandBack { fence, terms: &terms },
            Step::NotCalled => Event::NotCalled { fence },
            Step::Cancel => Event::Cancel { by: None },
        };
        if let Ok(next) = run.after(&event, now) {
            if next.fence > run.fence {
                older.extend(run.displaced_by_next_claim().cloned());
            }
            run = next;
        }
    }
    let attempts = run.with_older_attempts(older);
    (run, attempts, now)
}

proptest! {
    #[test]
    fn stages_lie_end_to_end_from_due_to_the_end(steps in steps()) {
        let (run, attempts, now) = lived(&steps);

        let lag = run.lag(&attempts, now);

        let mut end = DUE;
        for stage in &lag.stages {
            prop_assert_eq!(stage.from, end);
            prop_assert!(stage.until >= stage.from);
            end = stage.until;
        }
        let over = run.finished_at().unwrap_or(now).max(DUE);
        prop_assert_eq!(lag.whole(), over.since(DUE));
        prop_assert_eq!(lag.before_it_began(), run.started_at.unwrap_or(over).since(DUE));
    }
}
