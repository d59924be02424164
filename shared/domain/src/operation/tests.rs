use std::time::Duration;

use super::*;
use crate::id::Origin;
use crate::job::Definition;
use crate::job::Job;
use crate::priority::Priority;
use crate::run::{Made, Run};
use crate::schedule::{Plan, Schedule};

const NOW: Moment = Moment::from_secs(1_800_000_000);
const ID: OperationId = OperationId::from_bytes([7; 16]);
const JOB: JobId = JobId::from_bytes([1; 16]);

fn tenant() -> Tenant {
    Tenant::new("acme").unwrap()
}

fn after(seconds: u64) -> Moment {
    NOW + Duration::from_secs(seconds)
}

fn bulk() -> Operation {
    let work = Work::Jobs { act: JobAct::Pause, filter: JobFilter::default() };
    Operation::new(tenant(), ID, work, By::overlap(), NOW)
}

fn every(seconds: u64) -> Schedule {
    Schedule::new(
        &Plan { every_seconds: Some(seconds), start_at: Some(Moment::EPOCH), ..Plan::default() },
        Moment::EPOCH,
    )
    .unwrap()
}

fn job(schedule: Schedule) -> Job {
    Job::new(tenant(), JOB, schedule, Definition::default(), 0, NOW)
}

fn backfill() -> Operation {
    let (from, until) = (NOW - Duration::from_secs(3600), NOW);
    let (backfill, _) = Backfill::of(&job(every(1)), (from, until), 1000, Priority::Low).unwrap();
    Operation::new(tenant(), ID, Work::Backfill(backfill), By::overlap(), NOW)
}

#[test]
fn an_id_reads_back_and_names_no_run_that_there_can_be() {
    let id = OperationId::new(NOW, [9; 16]);

    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!(OperationId::of_no_run(id.no_run()), id);
    for wrong in ["op_", "op_x", "job_06gzmvcpq5xc3xgyx14fxfeyh0"] {
        assert!(wrong.parse::<OperationId>().is_err(), "{wrong}");
    }
}

/// Each state, each word.
#[test]
fn what_may_be_said_to_an_operation() {
    use OperationRefusal as No;
    let rows: [(State, Order, Result<Option<State>, No>); 15] = [
        (State::Running, Order::Pause, Ok(Some(State::Paused))),
        (State::Running, Order::Resume, Ok(None)),
        (State::Running, Order::Cancel, Ok(Some(State::Cancelled))),
        (State::Paused, Order::Pause, Ok(None)),
        (State::Paused, Order::Resume, Ok(Some(State::Running))),
        (State::Paused, Order::Cancel, Ok(Some(State::Cancelled))),
        (State::Cancelling, Order::Pause, Err(No::Cancelled)),
        (State::Cancelling, Order::Resume, Err(No::Cancelled)),
        (State::Cancelling, Order::Cancel, Ok(None)),
        (State::Cancelled, Order::Pause, Err(No::Cancelled)),
        (State::Cancelled, Order::Resume, Err(No::Cancelled)),
        (State::Cancelled, Order::Cancel, Ok(None)),
        (State::Done, Order::Pause, Err(No::Done)),
        (State::Done, Order::Resume, Err(No::Done)),
        (State::Done, Order::Cancel, Err(No::Done)),
    ];
    for (state, order, expected) in rows {
        let became = Operation { state, ..bulk() }.ordered(order, after(1));
        assert_eq!(became.map(|next| next.map(|next| next.state)), expected, "{state:?}, {order:?}");
    }
    let withdrawn = Operation { state: State::Done, ..backfill() }.ordered(Order::Cancel, after(1)).unwrap().unwrap();
    assert_eq!((withdrawn.state, withdrawn.position), (State::Cancelling, Position::Made { before: None }));
    assert!(!withdrawn.wants_its_runs() && withdrawn.goes_on());
}

#[test]
fn a_step_counts_what_came_of_its_batch_and_pins_the_next() {
    let one = Subject::Job(JOB, 3);
    let refused = Acted::Refused("no".to_owned());
    let found = Found { subjects: vec![one], position: Position::Jobs { past: Some(JOB) } };

    let next = bulk().stepped(&[(one, Acted::Done), (one, Acted::Already), (one, refused)], found, after(1));

    let Progress { seen, done, already, refused, reasons, .. } = next.progress.clone();
    assert_eq!((seen, done, already, refused), (3, 1, 1, 1));
    assert_eq!(reasons, [Reason { subject: JOB.to_string(), why: "no".to_owned() }]);
    assert_eq!((next.state, next.batch.len(), next.changed_at), (State::Running, 1, after(1)));
    let last = next.stepped(&[(one, Acted::Done)], Found { subjects: vec![], position: Position::End }, after(2));
    assert_eq!((last.state, last.finished_at, last.progress.seen), (State::Done, Some(after(2)), 4));
}

#[test]
fn no_more_reasons_are_kept_than_there_is_room_for() {
    let acted: Vec<_> = (0..50).map(|n| (Subject::Job(JOB, n), Acted::Refused("no".to_owned()))).collect();

    let next = bulk().stepped(&acted, Found { subjects: vec![], position: Position::End }, NOW);

    assert_eq!((next.progress.refused, next.progress.reasons.len()), (50, OPERATION_REASONS));
}

#[test]
fn what_is_not_decided_is_looked_at_again_and_not_for_ever() {
    let one = Subject::Occurrence(NOW);
    let end = || Found { subjects: vec![], position: Position::End };

    let held = |operation: &Operation, seconds: u64| operation.stepped(&[(one, Acted::Held)], end(), after(seconds));
    let mut waits = held(&backfill(), 0);
    for minute in 1..=10 {
        assert!(!waits.waits_no_more(after(60 * minute - 1)), "{minute}");
        waits = held(&waits, 60 * minute);
    }

    assert_eq!((waits.state, waits.batch.as_slice(), waits.progress.seen), (State::Running, &[one][..], 0));
    assert!(waits.waits_no_more(after(600)));
    assert!(!waits.waits_no_more(after(3600)), "nobody looked for an hour");
    assert_eq!(held(&waits, 3600).held_since, Some(after(3600)));
    let decided = waits.stepped(&[(one, Acted::Done)], end(), after(601));
    assert_eq!((decided.held_since, decided.state), (None, State::Done));
}

/// Fifty at once, then ten a second, and what was not used for longer than a minute is gone.
#[test]
fn a_backfill_keeps_its_pace() {
    let take = |operation: &Operation, now: Moment| {
        let count = operation.may_find(0, now);
        let subjects = vec![Subject::Occurrence(NOW); count];
        let next = operation.stepped(&[], Found { subjects, position: Position::Instants { past: NOW } }, now);
        (count, Operation { batch: Vec::new(), ..next })
    };
    let (at_once, one) = take(&backfill(), NOW);
    let (nothing, one) = take(&one, NOW);
    let (a_second, one) = take(&one, after(1));
    let (three, one) = take(&one, after(4));

    assert_eq!((at_once, nothing, a_second, three), (50, 0, 10, 30));
    let (mut after_an_hour, mut one) = (0, one);
    loop {
        let (count, next) = take(&one, after(3600));
        if count == 0 {
            break;
        }
        (after_an_hour, one) = (after_an_hour + count, next);
    }
    assert_eq!(after_an_hour, 600);
    assert_eq!(bulk().may_find(0, NOW), OPERATION_BATCH);
    assert_eq!(bulk().may_find(20, NOW), OPERATION_BATCH - 20);
}

#[test]
fn another_try_of_one_run_by_one_operation_is_one() {
    let run = RunKey::manual(JOB, NOW, 1);
    let other = Operation { id: OperationId::from_bytes([8; 16]), ..bulk() };

    for made in [bulk().retry_of(run, NOW), bulk().retry_of(run, NOW + Duration::from_secs(900))] {
        assert!(bulk().has_tried(run, made), "whenever it was made");
    }
    for different in [bulk().retry_of(RunKey::manual(JOB, NOW, 2), NOW), other.retry_of(run, NOW), run] {
        assert!(!bulk().has_tried(run, different), "{different}");
    }
}

#[test]
fn a_span_is_counted_to_its_cap_and_says_where_it_goes_on() {
    let at = |second: u64| Moment::EPOCH + Duration::from_secs(second);
    for (from, until, most, count, next) in [
        (10, 15, 100, 5, None),
        (10, 15, 5, 5, None),
        (10, 15, 4, 4, Some(14)),
        (10, 11, 100, 1, None),
        (10, 31_536_000, 10_000, 10_000, Some(10_010)),
    ] {
        let fires = Fires::of(&every(1), at(from), at(until), most);
        assert_eq!((fires.count, fires.next), (count, next.map(at)), "{from}..{until}, {most}");
        assert_eq!(fires.first.len(), usize::try_from(count).unwrap().min(20));
        assert_eq!(fires.first.first(), Some(&at(from)));
    }
}

#[test]
fn a_backfill_goes_through_its_instants_once() {
    let Work::Backfill(backfill) = backfill().work else { panic!("it is one") };
    let (mut past, mut all) = (backfill.from.just_before(), Vec::new());
    loop {
        let (instants, is_last) = backfill.next(past, 7);
        past = instants.last().copied().unwrap_or(past);
        all.extend(instants);
        if is_last {
            break;
        }
    }

    assert_eq!(all.len(), 1000);
    assert!(all.windows(2).all(|two| two[0] < two[1]) && all[0] == backfill.from);
}

#[test]
fn what_cannot_be_made_up_for_is_refused() {
    let on_demand = Schedule::new(&Plan { on_demand: true, ..Plan::default() }, NOW).unwrap();
    let span = (NOW - Duration::from_secs(10), NOW);
    let of = |job: &Job| Backfill::of(job, span, 10, Priority::Low).err();

    assert_eq!(of(&job(every(1))), None);
    assert_eq!(of(&Job { status: crate::job::Status::Paused, ..job(every(1)) }), None, "as one that is asked for");
    assert_eq!(of(&Job { status: crate::job::Status::Cancelled, ..job(every(1)) }), Some(NoBackfill::Deleted));
    assert_eq!(of(&job(on_demand)), Some(NoBackfill::OnDemand));
    assert_eq!(of(&job(every(86_400 * 30))), Some(NoBackfill::Nothing));
}

#[test]
fn the_run_of_a_backfill_is_due_when_it_is_made() {
    let key = RunKey::backfill(JOB, NOW - Duration::from_secs(86_400), 0);
    let of_job =
        Job { definition: Definition { sla: Some(Duration::from_secs(60)), ..Definition::default() }, ..job(every(1)) };

    let run: Run = of_job.run(key).backfilled(Priority::Low, Made { by: ID, at: NOW });

    assert_eq!(key.origin, Origin::Backfill);
    assert_eq!((run.could_begin_at(), run.priority), (NOW, Priority::Low));
    assert_eq!(run.sla.unwrap().until, after(60));
    assert_eq!(run.lag(&[], after(2)).whole(), Duration::from_secs(2));
    assert_eq!(run.status(NOW), "queued");
}
