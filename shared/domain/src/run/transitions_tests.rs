//! The table of [`Run::after`], case by case and by properties.

use std::borrow::Borrow;
use std::time::Duration;

use proptest::prelude::*;

use super::super::{ErrorCode, Look};
use super::*;
use crate::access::SecretHash;
use crate::body::Json;
use crate::id::{JobId, RunKey, Tenant, Worker};
use crate::order::Delivery;
use crate::priority::Priority;
use crate::retry::{Jitter, RetryPolicy};

const DUE: Moment = Moment::from_secs(1_800_000_000);
const ANN: Claimant = Claimant { worker: Worker(1), exclusive_store: false };
const BOB: Claimant = Claimant { worker: Worker(2), exclusive_store: false };

/// A worker elsewhere.
const CLEO: Taker = Taker { worker: Worker(3), token: SecretHash::from_bytes([3; 32]), lease: Duration::from_secs(20) };

fn at(seconds: u64) -> Moment {
    DUE + Duration::from_secs(seconds)
}

fn terms() -> Terms {
    let retry = RetryPolicy { jitter: Jitter::None, initial_delay: Duration::from_secs(10), ..RetryPolicy::default() };
    Terms { timeout: Duration::from_secs(60), retry, ..Terms::default() }
}

fn at_most_once() -> Terms {
    Terms { delivery: Delivery::AtMostOnce, ..terms() }
}

fn queued() -> Run {
    Run::new(Tenant::new("t").unwrap(), RunKey::occurrence(JobId::from_bytes([1; 16]), DUE), Priority::Normal)
}

fn running() -> Run {
    claim(&queued(), ANN, &terms(), DUE).unwrap()
}

fn claim(run: &Run, by: Claimant, terms: &Terms, now: Moment) -> Result<Run, Refusal> {
    run.after(&Event::Claim { by, terms }, now)
}

fn finish(run: &Run, outcome: impl Borrow<Outcome>, terms: &Terms, now: Moment) -> Run {
    run.after(&Event::Finish { fence: run.fence, outcome: outcome.borrow(), terms }, now).unwrap()
}

fn success() -> Outcome {
    Outcome::Succeeded { result: Body::Inside(Json::null()) }
}

fn failure() -> Outcome {
    Outcome::Failed { error: ErrorCode::Http5xx.error("the target answered 500"), retry_after: None }
}

fn permanent_failure() -> Outcome {
    Outcome::Failed { error: ErrorCode::Http4xx.error("the target answered 404"), retry_after: None }
}

fn unreached() -> Outcome {
    Outcome::Failed { error: ErrorCode::Connect.error("connection refused"), retry_after: None }
}

#[test]
fn a_queued_run_is_claimed_once_its_time_has_come() {
    assert_eq!(claim(&queued(), ANN, &terms(), DUE.just_before()), Err(Refusal::TooEarly { due: DUE }));

    let run = claim(&queued(), ANN, &terms(), at(3)).unwrap();

    assert_eq!(run.fence, 1);
    assert_eq!(run.started_at, Some(at(3)));
    assert_eq!(run.lease().unwrap().until, at(3 + 60 + 30));
    assert_eq!(run.attempts.last().unwrap().number, 1);
}

#[test]
fn a_run_is_held_until_its_lease_ends() {
    assert_eq!(claim(&running(), BOB, &terms(), at(89)), Err(Refusal::Held { until: at(90) }));
    assert_eq!(
        claim(&running(), ANN, &terms(), at(89)),
        Err(Refusal::Held { until: at(90) }),
        "not even its holder twice"
    );

    let run = claim(&running(), BOB, &terms(), at(90)).unwrap();

    assert_eq!(run.fence, 2);
    assert_eq!(run.attempts[0].outcome(), Some("lost"));
}

#[test]
fn a_lease_of_a_process_that_cannot_be_alive_is_over_at_once() {
    let alone = Claimant { exclusive_store: true, ..BOB };

    let run = claim(&running(), alone, &terms(), at(1)).unwrap();

    assert_eq!((run.fence, run.lease().unwrap().holder), (2, Holder::Process(BOB.worker)));
    assert!(claim(&run, alone, &terms(), at(2)).is_err(), "its own lease is not a dead one");
}

fn held_by(holder: Holder) -> Run {
    let lease = Lease { holder, ..*running().lease().unwrap() };
    Run { state: State::Running(lease), ..running() }
}

/// Signs of life lengthen nobody's lease but a worker's. Tried: by the time of the attempt, a call that its target keeps alive was its
/// process's for days, and a process that had died was not missed for as long.
#[test]
fn only_a_worker_may_have_a_run_for_as_long_as_its_attempt_may_take() {
    let (week, until) = (Terms { timeout: Duration::from_secs(604_800), ..terms() }, running().lease().unwrap().until);
    let deadline = running().attempts[0].started_at + week.timeout;

    for (holder, longest) in
        [(Holder::Process(Worker(1)), until), (Holder::Target(Worker(1)), until), (Holder::Remote(Worker(1)), deadline)]
    {
        assert_eq!(held_by(holder).may_be_held_until(&week), Some(longest), "{holder:?}");
    }
}

/// Guard **a remote holder lives on**. Removed: `cannot_be_alive` says of a remote worker what it says of a process. Bob,
/// started anew, claimed a run that a worker elsewhere was at work on.
#[test]
fn only_a_dead_process_is_taken_over_before_its_lease_ends() {
    let (ann, bob) = (Worker(1), Worker(2));
    let alone = |worker| Claimant { worker, exclusive_store: true };
    let one_of_many = |worker| Claimant { worker, exclusive_store: false };

    for (holder, by, over_at_once) in [
        (Holder::Process(ann), alone(bob), true),
        (Holder::Process(bob), alone(bob), false),
        (Holder::Process(ann), one_of_many(bob), false),
        (Holder::Remote(ann), alone(bob), false),
        (Holder::Remote(bob), alone(bob), false),
        (Holder::Remote(ann), one_of_many(bob), false),
    ] {
        let run = held_by(holder);
        let told = format!("{holder:?} seen by {by:?}");

        assert_eq!(claim(&run, by, &terms(), at(1)).is_ok(), over_at_once, "{told}");
        assert_eq!(run.inspect_overdue(at(1), by) == Look::Later(at(90)), !over_at_once, "{told}");
        assert!(claim(&run, by, &terms(), at(90)).is_ok(), "{told}, at the lease's end");
    }
}

fn take(run: &Run, terms: &Terms, now: Moment) -> Result<Run, Refusal> {
    run.after(&Event::Take { by: ANN, taker: &CLEO, terms }, now)
}

fn offer(run: &Run, terms: &Terms, now: Moment) -> Result<Run, Refusal> {
    run.after(&Event::Offer { by: ANN, terms }, now)
}

#[test]
fn a_worker_elsewhere_has_a_run_from_one_sign_of_life_to_the_next() {
    let taken = take(&queued(), &terms(), at(0)).unwrap();
    let lease = *taken.lease().unwrap();
    let kept = heartbeat(&taken, 1, at(35), at(15)).unwrap();

    assert_eq!((lease.holder, lease.until, lease.token), (Holder::Remote(CLEO.worker), at(20), Some(CLEO.token)));
    assert_eq!((taken.attempts[0].worker, taken.deadline(&terms())), (CLEO.worker, Some(at(60))));
    assert_eq!(take(&kept, &terms(), at(34)), Err(Refusal::Held { until: at(35) }));
    let again = take(&kept, &terms(), at(35)).unwrap();
    assert_eq!((again.fence, again.attempts[0].outcome()), (2, Some("lost")));
}

/// Removed, one after the other: a lease keeps its end, for two hours; its attempt does not count from then as well, so that who calls it back twice
/// ended it at once; what ended by a clock that is right is tried again too soon.
#[test]
fn what_a_clock_that_was_ahead_said_of_a_run_is_called_back_once() {
    let taken = take(&queued(), &terms(), at(7_210)).unwrap();
    let given = taken.lease().unwrap().until.since(at(7_210));

    let recalled = taken.recalled(at(11)).unwrap();
    assert_eq!((recalled.lease().unwrap().until, recalled.attempts[0].started_at), (at(11) + given, at(11)));
    assert_eq!((recalled.recalled(at(11)), recalled.recalled(at(12))), (None, None));
    let asked_by_a_right_clock = taken.after(&Event::Cancel { by: None }, at(11)).unwrap();
    assert_eq!(asked_by_a_right_clock.recalled(at(12)), None, "its grace stands");

    let tried = |from: u64| {
        let begun = claim(&queued(), ANN, &terms(), at(from)).unwrap();
        finish(&begun, failure(), &terms(), at(from + 1)).recalled(at(11))
    };
    assert_eq!(tried(0), None);
    assert_eq!(tried(7_200).map(|run| run.state), Some(State::Scheduled { due: at(11) }));
}

#[test]
fn a_lease_is_never_longer_than_an_attempt_may_take() {
    let short = Terms { timeout: Duration::from_secs(7), ..terms() };

    assert_eq!(take(&queued(), &short, at(0)).unwrap().lease().unwrap().until, at(7));
}

/// Removed: a lease that ran out is a lost one, whenever it was to end. Three attempts of a minute each, kept to the last by a worker
/// that was alive, were poison.
#[test]
fn an_attempt_that_was_kept_to_its_deadline_has_timed_out() {
    let kept = heartbeat(&take(&queued(), &terms(), at(0)).unwrap(), 1, at(60), at(50)).unwrap();

    for next in [offer(&kept, &terms(), at(61)).unwrap(), take(&kept, &terms(), at(61)).unwrap()] {
        assert_eq!((next.attempts[0].outcome(), &next.state), (Some("timed_out"), &State::Scheduled { due: at(71) }));
        assert_eq!((next.tally.failures, next.tally.lost_in_a_row), (1, 0));
    }
    let call = claim(&queued(), ANN, &terms(), at(0)).unwrap();
    assert_eq!(
        claim(&call, BOB, &terms(), at(90)).unwrap().attempts[0].outcome(),
        Some("lost"),
        "a process says so itself"
    );
}

#[test]
fn an_offer_changes_nothing_but_a_lease_that_ran_out() {
    let taken = take(&queued(), &terms(), at(0)).unwrap();

    assert_eq!(offer(&queued(), &terms(), DUE.just_before()), Err(Refusal::TooEarly { due: DUE }));
    assert_eq!(offer(&queued(), &terms(), at(0)).unwrap(), queued());
    assert_eq!(offer(&taken, &terms(), at(19)), Err(Refusal::Held { until: at(20) }));
    let lost = offer(&taken, &terms(), at(21)).unwrap();
    assert_eq!((lost.state.clone(), lost.fence), (State::Scheduled { due: at(21) }, 1));
    let once = offer(&taken, &at_most_once(), at(21)).unwrap();
    assert_eq!(once.state, State::Failed { at: at(21), why: Failure::Lost });
}

/// Tried: by the shorter of the two. A worker with a lease of six seconds had those, and its heartbeats were told of an end that had passed.
#[test]
fn the_grace_is_as_long_for_a_worker_whose_lease_is_short() {
    let short = Taker { lease: Duration::from_secs(6), ..CLEO };
    let taken = queued().after(&Event::Take { by: ANN, taker: &short, terms: &terms() }, at(0)).unwrap();

    let asked = taken.after(&Event::Cancel { by: None }, at(2)).unwrap();
    let too_late = taken.after(&Event::Cancel { by: None }, at(7)).unwrap();

    assert_eq!(asked.lease().unwrap().until, at(32));
    assert_eq!(too_late.lease().unwrap().until, at(6), "nobody is there to stop");
}

#[test]
fn a_worker_elsewhere_has_a_grace_to_stop_in() {
    let long = Taker { lease: Duration::from_secs(3600), ..CLEO };
    let terms = Terms { timeout: Duration::from_secs(7200), ..terms() };
    let taken = queued().after(&Event::Take { by: ANN, taker: &long, terms: &terms }, at(0)).unwrap();

    let asked = taken.after(&Event::Cancel { by: None }, at(10)).unwrap();
    let beaten = heartbeat(&asked, 1, at(4000), at(20)).unwrap();
    let again = asked.after(&Event::Cancel { by: None }, at(35)).unwrap();

    assert_eq!((asked.lease().unwrap().until, asked.lease().unwrap().cancelled), (at(40), true));
    assert_eq!(beaten.lease(), asked.lease(), "it is not kept for longer");
    assert_eq!(again.lease(), asked.lease(), "nor is the grace by whoever asks again");
    assert_eq!(offer(&asked, &terms, at(40)).unwrap().state, State::Cancelled { at: at(40) });
}

#[test]
fn a_heartbeat_extends_the_lease_of_the_fence_that_holds_it() {
    let run = heartbeat(&running(), 1, at(200), at(60)).unwrap();

    let lease = *run.lease().unwrap();
    assert_eq!(lease, Lease { until: at(200), ..*running().lease().unwrap() });
    assert_eq!(run, Run { state: State::Running(lease), ..running() }, "and nothing else");
    assert_eq!(claim(&run, BOB, &terms(), at(199)), Err(Refusal::Held { until: at(200) }));
}

#[test]
fn a_late_heartbeat_counts_while_nobody_else_has_claimed() {
    assert_eq!(heartbeat(&running(), 1, at(200), at(95)).unwrap().lease().unwrap().until, at(200));
}

#[test]
fn a_heartbeat_answers_whether_cancel_was_asked() {
    let asked = running().after(&Event::Cancel { by: None }, at(1)).unwrap();

    assert!(!heartbeat(&running(), 1, at(200), at(60)).unwrap().lease().unwrap().cancelled);
    assert!(heartbeat(&asked, 1, at(200), at(60)).unwrap().lease().unwrap().cancelled);
}

#[test]
fn a_heartbeat_of_who_does_not_hold_the_run_is_refused() {
    let taken = claim(&running(), BOB, &terms(), at(90)).unwrap();
    let waiting = finish(&running(), failure(), &terms(), at(1));
    let done = finish(&running(), success(), &terms(), at(1));

    assert_eq!(heartbeat(&taken, 1, at(200), at(91)), Err(Refusal::Fenced { offered: 1, current: 2 }));
    assert_eq!(heartbeat(&running(), 2, at(200), at(1)), Err(Refusal::Fenced { offered: 2, current: 1 }));
    assert_eq!(heartbeat(&queued(), 0, at(200), at(1)), Err(Refusal::NotHeld));
    assert_eq!(heartbeat(&waiting, 1, at(200), at(2)), Err(Refusal::NotHeld));
    assert_eq!(heartbeat(&done, 1, at(200), at(2)), Err(Refusal::Finished));
}

fn heartbeat(run: &Run, fence: u32, until: Moment, now: Moment) -> Result<Run, Refusal> {
    run.after(&Event::Heartbeat { fence, until }, now)
}

#[test]
fn a_success_ends_the_run() {
    let run = finish(&running(), success(), &terms(), at(1));

    assert_eq!(run.state, State::Succeeded { at: at(1), result: Body::Inside(Json::null()) });
    assert_eq!(run.attempts[0].outcome(), Some("succeeded"));
}

#[test]
fn a_late_success_counts_while_nobody_else_has_claimed() {
    let run = finish(&running(), success(), &terms(), at(500));
    assert_eq!(run.status(at(500)), "succeeded");
}

#[test]
fn a_late_success_from_an_expired_lease_is_fenced() {
    let taken = claim(&running(), BOB, &terms(), at(90)).unwrap();

    let late = taken.after(&Event::Finish { fence: 1, outcome: &success(), terms: &terms() }, at(91));

    assert_eq!(late, Err(Refusal::Fenced { offered: 1, current: 2 }));
}

#[test]
fn a_failure_waits_out_its_backoff_and_is_claimed_again() {
    let waiting = finish(&running(), failure(), &terms(), at(1));
    assert_eq!(waiting.state, State::Scheduled { due: at(11) });
    assert_eq!(claim(&waiting, BOB, &terms(), at(10)), Err(Refusal::TooEarly { due: at(11) }));

    let again = claim(&waiting, BOB, &terms(), at(11)).unwrap();

    assert_eq!((again.fence, again.attempts.len()), (2, 2));
    assert_eq!(again.started_at, Some(DUE), "the run started with its first attempt");
}

#[test]
fn a_targets_own_wish_to_wait_is_honoured() {
    let wish = |seconds| Outcome::Failed {
        error: ErrorCode::Http4xx.error("slow down").passing(),
        retry_after: Some(Duration::from_secs(seconds)),
    };

    assert_eq!(finish(&running(), wish(120), &terms(), at(0)).state, State::Scheduled { due: at(120) });
    assert_eq!(
        finish(&running(), wish(3), &terms(), at(0)).state,
        State::Scheduled { due: at(10) },
        "not below the backoff"
    );
    assert_eq!(finish(&running(), wish(u64::MAX), &terms(), at(0)).state, State::Scheduled { due: at(86_400) });
}

#[test]
fn after_the_last_retry_the_run_has_failed() {
    let terms = Terms { retry: RetryPolicy { max_retries: 1, ..terms().retry }, ..terms() };
    let once = finish(&running(), failure(), &terms, at(1));
    let again = claim(&once, ANN, &terms, at(11)).unwrap();

    let run = finish(&again, failure(), &terms, at(12));

    assert_eq!(run.state, State::Failed { at: at(12), why: Failure::Error });
}

#[test]
fn what_cannot_be_retried_fails_at_once() {
    assert_eq!(finish(&running(), permanent_failure(), &terms(), at(1)).status(at(1)), "failed");
}

#[test]
fn a_timeout_is_retried_and_is_the_end_when_it_was_the_last() {
    let terms = Terms { retry: RetryPolicy { max_retries: 0, ..terms().retry }, ..terms() };
    assert_eq!(finish(&running(), Outcome::TimedOut, &terms, at(60)).state, State::TimedOut { at: at(60) });
    assert_eq!(finish(&running(), Outcome::TimedOut, &self::terms(), at(60)).state, State::Scheduled { due: at(70) });
}

#[test]
fn an_attempt_that_ended_badly_says_how() {
    let last_error = |run: &Run| {
        run.attempts.last().and_then(Attempt::error).map(|error| (error.code.to_string(), error.message.clone()))
    };
    let told = |code: &str, message: &str| Some((code.to_owned(), message.to_owned()));
    let lost = "the lease ran out or was handed back: nobody knows how far the attempt came";
    let back = running().after(&Event::HandBack { fence: 1, terms: &terms() }, at(5)).unwrap();

    assert_eq!(last_error(&running()), None);
    assert_eq!(last_error(&finish(&running(), success(), &terms(), at(1))), None);
    assert_eq!(last_error(&finish(&running(), unreached(), &terms(), at(1))), told("connect", "connection refused"));
    assert_eq!(
        last_error(&finish(&running(), Outcome::TimedOut, &terms(), at(61))),
        told("timeout_total", "no whole answer came within 60 s")
    );
    assert_eq!(last_error(&back), told("lost", lost));
}

#[test]
fn no_attempt_starts_after_the_time_to_give_up() {
    let retry = RetryPolicy { give_up_after: Some(Duration::from_secs(20)), ..terms().retry };
    let terms = Terms { retry, ..terms() };

    assert_eq!(finish(&running(), failure(), &terms, at(10)).state, State::Scheduled { due: at(20) });
    assert_eq!(finish(&running(), failure(), &terms, at(11)).status(at(11)), "failed");
}

#[test]
fn instant_failures_in_a_row_end_the_run_where_the_policy_says_so() {
    let retry = RetryPolicy { break_after_instant_failures: Some(2), ..terms().retry };
    let terms = Terms { retry, ..terms() };
    let once = finish(&running(), failure(), &terms, DUE);
    let again = claim(&once, ANN, &terms, at(10)).unwrap();

    assert_eq!(finish(&again, failure(), &terms, at(10)).state, State::Failed { at: at(10), why: Failure::Instant });
    assert_eq!(finish(&again, failure(), &terms, at(12)).status(at(12)), "scheduled", "a slow failure breaks the row");
}

#[test]
fn three_leases_lost_in_a_row_are_poison() {
    let twice = claim(&claim(&running(), BOB, &terms(), at(90)).unwrap(), ANN, &terms(), at(180)).unwrap();
    assert_eq!(twice.status(at(180)), "running");

    let run = claim(&twice, BOB, &terms(), at(270)).unwrap();

    assert_eq!(run.state, State::Failed { at: at(270), why: Failure::Poison });
    assert_eq!(run.fence, 3, "the last claim only wrote the end down");
}

#[test]
fn a_failure_between_lost_leases_is_a_sign_of_life() {
    let twice = claim(&claim(&running(), BOB, &terms(), at(90)).unwrap(), ANN, &terms(), at(180)).unwrap();
    let waiting = finish(&twice, failure(), &terms(), at(181));
    assert_eq!(waiting.tally.lost_in_a_row, 0);
    assert_eq!(waiting.tally.failures, 1, "lost leases are not the target's failures");
}

#[test]
fn at_most_once_is_never_tried_again_once_the_target_may_have_been_reached() {
    let terms = at_most_once();
    assert_eq!(finish(&running(), failure(), &terms, at(1)).status(at(1)), "failed");
    assert_eq!(finish(&running(), Outcome::TimedOut, &terms, at(1)).status(at(1)), "timed_out");
    assert_eq!(finish(&running(), unreached(), &terms, at(1)).status(at(1)), "scheduled");
    assert_eq!(claim(&running(), BOB, &terms, at(90)).unwrap().state, State::Failed { at: at(90), why: Failure::Lost });
}

#[test]
fn a_run_handed_back_is_free_at_once_and_not_one_step_closer_to_poison() {
    let back = running().after(&Event::HandBack { fence: 1, terms: &terms() }, at(5)).unwrap();
    assert_eq!(back.state, State::Scheduled { due: at(5) });
    assert_eq!((back.tally.lost_in_a_row, back.attempts[0].outcome()), (0, Some("lost")));

    let amo = running().after(&Event::HandBack { fence: 1, terms: &at_most_once() }, at(5)).unwrap();
    assert_eq!(amo.state, State::Failed { at: at(5), why: Failure::Lost });
}

/// Removed: it is free at once each time. A worker that can do nothing with it took it and gave it back as fast as it could ask.
#[test]
fn a_run_handed_back_three_times_in_a_row_rests_for_half_a_minute() {
    let handed_back = |run: &Run, now| {
        let back = run.after(&Event::HandBack { fence: run.fence, terms: &terms() }, now).unwrap();
        let State::Scheduled { due } = back.state else { panic!("{:?}", back.state) };
        (back, due)
    };
    let (first, once) = handed_back(&running(), at(1));
    let (second, twice) = handed_back(&claim(&first, BOB, &terms(), at(2)).unwrap(), at(3));
    let (third, thrice) = handed_back(&claim(&second, BOB, &terms(), at(4)).unwrap(), at(5));
    assert_eq!([once, twice, thrice], [at(1), at(3), at(5) + HANDED_AROUND]);

    let tried = finish(&claim(&third, BOB, &terms(), at(40)).unwrap(), failure(), &terms(), at(41));
    let (_, again) = handed_back(&claim(&tried, BOB, &terms(), at(4000)).unwrap(), at(4001));
    assert_eq!(again, at(4001), "one of them had an end of its own");
}

#[test]
fn a_run_that_was_not_called_is_free_at_once_also_where_it_may_run_once_at_the_most() {
    let not_called = |run: &Run| run.after(&Event::NotCalled { fence: 1 }, at(5)).unwrap();
    let back = not_called(&running());
    assert_eq!(back.state, State::Scheduled { due: at(5) });
    assert_eq!(
        (back.tally, back.attempts[0].error().map(|error| &*error.code)),
        (running().tally, Some("unavailable"))
    );

    let cancelled = running().after(&Event::Cancel { by: None }, at(1)).unwrap();
    assert_eq!(not_called(&cancelled).state, State::Cancelled { at: at(5) });
    let taken = claim(&running(), BOB, &terms(), at(90)).unwrap();
    let late = taken.after(&Event::NotCalled { fence: 1 }, at(91));
    assert_eq!(late, Err(Refusal::Fenced { offered: 1, current: 2 }));
}

#[test]
fn a_run_handed_back_by_an_old_holder_is_fenced() {
    let taken = claim(&running(), BOB, &terms(), at(90)).unwrap();
    let late = taken.after(&Event::HandBack { fence: 1, terms: &terms() }, at(91));
    assert_eq!(late, Err(Refusal::Fenced { offered: 1, current: 2 }));
}

#[test]
fn a_cancel_ends_what_waits_and_stops_what_runs_from_being_tried_again() {
    assert_eq!(queued().after(&Event::Cancel { by: None }, at(1)).unwrap().state, State::Cancelled { at: at(1) });

    let asked = running().after(&Event::Cancel { by: None }, at(1)).unwrap();

    assert_eq!(asked.status(at(1)), "running");
    assert_eq!(finish(&asked, success(), &terms(), at(2)).status(at(2)), "succeeded", "what happened, happened");
    assert_eq!(finish(&asked, failure(), &terms(), at(2)).state, State::Cancelled { at: at(2) });
    assert_eq!(claim(&asked, BOB, &terms(), at(90)).unwrap().state, State::Cancelled { at: at(90) });
}

#[test]
fn what_nobody_holds_cannot_be_finished_or_handed_back() {
    let finished = queued().after(&Event::Finish { fence: 0, outcome: &success(), terms: &terms() }, at(1));
    let back = queued().after(&Event::HandBack { fence: 0, terms: &terms() }, at(1));
    assert_eq!((finished, back), (Err(Refusal::NotHeld), Err(Refusal::NotHeld)));
}

#[test]
fn an_overdue_timer_is_erased_moved_or_hinted() {
    let done = finish(&running(), success(), &terms(), at(1));
    let waiting = finish(&running(), failure(), &terms(), at(1));

    assert_eq!(done.inspect_overdue(at(40), BOB), Look::Erase);
    assert_eq!(running().inspect_overdue(at(40), BOB), Look::Later(at(90)));
    assert_eq!(running().inspect_overdue(at(95), BOB), Look::Claimable { since: at(90) });
    assert_eq!(
        running().inspect_overdue(at(40), Claimant { exclusive_store: true, ..BOB }),
        Look::Claimable { since: at(40) }
    );
    assert_eq!(waiting.inspect_overdue(at(5), BOB), Look::Later(at(11)));
    assert_eq!(waiting.inspect_overdue(at(40), BOB), Look::Claimable { since: at(11) });
}

#[test]
fn the_fourth_attempt_displaces_the_first() {
    let mut run = running();
    for n in 1..=3 {
        run = finish(&run, failure(), &terms(), at(n * 1000));
        let displaced = run.displaced_by_next_claim().map(|attempt| attempt.number);
        run = claim(&run, ANN, &terms(), at(n * 1000 + 500)).unwrap();
        assert_eq!(displaced, (n == 3).then_some(1));
    }
    assert_eq!(run.attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [2, 3, 4]);
}

fn entrust(run: &Run, fence: u32, terms: &Terms, now: Moment) -> Result<Run, Refusal> {
    run.after(&Event::Entrust { fence, token: CLEO.token, terms }, now)
}

/// Whom a process called has it from then on, until the attempt's time is up: longer than a process has it, or shorter.
#[test]
fn what_is_entrusted_is_its_callees_until_the_attempts_time_is_up() {
    let entrusted = entrust(&running(), 1, &terms(), at(5)).unwrap();
    let lease = *entrusted.lease().unwrap();

    assert_eq!((lease.until, lease.token), (entrusted.deadline(&terms()).unwrap(), Some(CLEO.token)));
    assert!(!lease.holder.cannot_be_alive(Claimant { exclusive_store: true, ..BOB }), "a restart does not end it");
    let over = entrusted.after(&Event::Claim { by: BOB, terms: &terms() }, lease.until).unwrap();
    assert!(matches!(over.attempts[0].ended.as_ref().map(|ended| &ended.how), Some(Ending::TimedOut(_))), "{over:?}");
    assert_eq!(entrust(&running(), 2, &terms(), at(5)), Err(Refusal::Fenced { offered: 2, current: 1 }));
    assert_eq!(entrust(&queued(), 0, &terms(), at(1)), Err(Refusal::NotHeld));
}

/// A target knows how long it was given. Its job may say something else since: longer or shorter, its time is up when it was to be.
#[test]
fn what_is_entrusted_has_the_time_that_it_was_given_whatever_its_job_says_since() {
    let entrusted = entrust(&running(), 1, &terms(), at(5)).unwrap();
    for seconds in [10, 60, 600] {
        let today = Terms { timeout: Duration::from_secs(seconds), ..terms() };
        let over = entrusted.after(&Event::Claim { by: BOB, terms: &today }, at(60)).unwrap();

        let ending = over.attempts[0].ended.as_ref().map(|ended| ended.how.clone());
        assert_eq!(ending, Some(Ending::TimedOut(AttemptError::timed_out(Duration::from_secs(60)))), "{seconds}");
    }
}

#[test]
fn what_was_to_be_cancelled_when_it_is_entrusted_has_a_grace() {
    let asked = running().after(&Event::Cancel { by: None }, at(4)).unwrap();

    let entrusted = entrust(&asked, 1, &terms(), at(5)).unwrap();

    let lease = entrusted.lease().unwrap();
    assert_eq!((lease.cancelled, lease.until), (true, at(5) + pace::CANCEL_GRACE));
    assert_eq!(entrusted.grace_ends(&asked), Some(lease.until));
    assert_eq!(entrust(&running(), 1, &terms(), at(5)).unwrap().grace_ends(&running()), None, "a look finds its end");
}

#[derive(Clone, Debug)]
enum Act {
    Claim(Claimant),
    Offer(Claimant),
    Take(Claimant),
    Finish(u32, Outcome),
    HandBack(u32),
    NotCalled(u32),
    Heartbeat(u32),
    Entrust(u32),
    Cancel,
}

fn any_act() -> impl Strategy<Value = Act> {
    let who = prop::sample::select(vec![ANN, BOB, Claimant { exclusive_store: true, ..ANN }]);
    let outcome = prop::sample::select(vec![success(), failure(), permanent_failure(), unreached(), Outcome::TimedOut]);
    prop_oneof![
        4 => who.clone().prop_map(Act::Claim),
        2 => who.clone().prop_map(Act::Offer),
        4 => who.prop_map(Act::Take),
        3 => (0..4_u32, outcome).prop_map(|(behind, outcome)| Act::Finish(behind, outcome)),
        1 => (0..3_u32).prop_map(Act::HandBack),
        1 => (0..3_u32).prop_map(Act::NotCalled),
        1 => (0..3_u32).prop_map(Act::Heartbeat),
        1 => (0..3_u32).prop_map(Act::Entrust),
        1 => Just(Act::Cancel),
    ]
}

fn act(run: &Run, act: &Act, terms: &Terms, now: Moment) -> Result<Run, Refusal> {
    match act {
        Act::Claim(by) => claim(run, *by, terms, now),
        Act::Offer(by) => run.after(&Event::Offer { by: *by, terms }, now),
        Act::Take(by) => run.after(&Event::Take { by: *by, taker: &CLEO, terms }, now),
        Act::Finish(behind, outcome) => {
            let fence = run.fence.saturating_sub(*behind);
            run.after(&Event::Finish { fence, outcome, terms }, now)
        }
        Act::HandBack(behind) => run.after(&Event::HandBack { fence: run.fence.saturating_sub(*behind), terms }, now),
        Act::NotCalled(behind) => run.after(&Event::NotCalled { fence: run.fence.saturating_sub(*behind) }, now),
        Act::Heartbeat(behind) => heartbeat(run, run.fence.saturating_sub(*behind), now + terms.lease(), now),
        Act::Entrust(behind) => entrust(run, run.fence.saturating_sub(*behind), terms, now),
        Act::Cancel => run.after(&Event::Cancel { by: None }, now),
    }
}

proptest! {
    #[test]
    fn whatever_happens_finished_is_final_and_fences_only_grow(
        acts in prop::collection::vec((0..200_u64, any_act()), 1..60), amo in any::<bool>(),
    ) {
        let terms = if amo { at_most_once() } else { terms() };
        let (mut run, mut now) = (queued(), DUE - Duration::from_secs(50));
        for (pause, what) in acts {
            now = now + Duration::from_secs(pause);
            let Ok(next) = act(&run, &what, &terms, now) else { continue };
            prop_assert!(!run.is_finished(), "finished is final");
            prop_assert!(next.fence >= run.fence && next.fence <= run.fence + 1);
            prop_assert!(next.tally.failures <= terms.retry.max_retries + 1);
            prop_assert!(next.attempts.len() <= ATTEMPTS_INSIDE);
            prop_assert_eq!(next.key, run.key);
            if let State::Running(lease) = &next.state {
                let is_up = next.deadline(&terms).is_some_and(|deadline| deadline <= now);
                prop_assert!(lease.until > now || lease.cancelled || is_up, "a lease that is not to end lasts");
                prop_assert_eq!(next.attempts.last().unwrap().number, next.fence);
            }
            if let State::Scheduled { due } = &next.state {
                prop_assert!(*due <= now + Duration::from_secs(BACKOFF_SECONDS), "backoff is bounded");
            }
            run = next;
        }
    }

    #[test]
    fn at_most_once_never_starts_twice_after_the_target_may_have_been_reached(
        acts in prop::collection::vec((0..200_u64, any_act()), 1..60),
    ) {
        let terms = at_most_once();
        let (mut run, mut now, mut reached) = (queued(), DUE, false);
        for (pause, what) in acts {
            now = now + Duration::from_secs(pause);
            let Ok(next) = act(&run, &what, &terms, now) else { continue };
            if next.fence > run.fence {
                prop_assert!(!reached);
            }
            reached = reached || next.attempts.iter().any(|attempt| {
                attempt.ended.is_some() && attempt.error().is_none_or(|error| error.reached)
            });
            run = next;
        }
    }
}

/// The hook has a time of its own in the lease, and what it says ends or fails the attempt before the target was called.
#[test]
fn a_hook_has_its_time_and_its_say() {
    let terms = Terms { before: Duration::from_secs(30), delivery: Delivery::AtMostOnce, ..terms() };
    let claimed = queued().after(&Event::Claim { by: ANN, terms: &terms }, DUE).unwrap();
    let fence = claimed.fence;
    let failed = Outcome::Failed { error: ErrorCode::Hook.error("it answered 500"), retry_after: None };

    let again = claimed.after(&Event::Finish { fence, outcome: &failed, terms: &terms }, DUE).unwrap();
    let vetoed = claimed.after(&Event::Veto { fence, told: "not today" }, DUE).unwrap();
    let cancelled = claimed.after(&Event::Cancel { by: None }, DUE).unwrap();
    let late = claimed.after(&Event::Veto { fence: fence + 1, told: "no" }, DUE);

    assert_eq!(claimed.lease().map(|lease| lease.until), Some(DUE + terms.timeout + Duration::from_secs(30 + 30)));
    assert!(matches!(again.state, State::Scheduled { .. }), "the target was not reached: {:?}", again.state);
    assert_eq!(
        (vetoed.reason(), vetoed.told.as_deref(), vetoed.tally),
        (Some("vetoed"), Some("not today"), claimed.tally)
    );
    assert_eq!(vetoed.attempts[0].error().map(|error| &*error.code), Some("vetoed"));
    let vetoed = cancelled.after(&Event::Veto { fence, told: "not today" }, DUE).unwrap();
    assert_eq!(vetoed.status(DUE), "cancelled");
    assert_eq!(late, Err(Refusal::Fenced { offered: fence + 1, current: fence }));
}
