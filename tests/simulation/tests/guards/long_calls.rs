//! Long calls travel apart: an invocation lasts as long as its slowest call, so that nobody's short call may wait for one.

use minutehand_domain::lane::Lane;
use minutehand_domain::priority::Priority;
use minutehand_executor::Executed;
use minutehand_protocol::run::claim::Dropped;
use minutehand_simulation::setting::{Host, Lambda, Setting};
use minutehand_simulation::stage::{Stage, Wish};

/// Runs of the one tenant, due at one instant, whose target does not answer.
const HANGING: usize = 1_000;
/// Jobs of the other, each with an occurrence a minute.
const CALM: usize = 10;
const MINUTES: i64 = 30;

/// Whoever hinted a run without knowing its terms, or before they changed, hinted it as of a short call.
///
/// Removed: whatever comes is carried out where it came. The call that may take 14 minutes held nine others.
#[test]
fn a_long_call_that_came_among_short_ones_travels_on() {
    travels_on(Wish { timeout: 840, takes: 600, ..Wish::once(60) }, Lane::short(Priority::Normal), 700);
}

/// What came on this lane is given another, and has begun on time and ended well by then.
fn travels_on(wish: Wish, came_on: Lane, by: i64) {
    let stage = Stage::on(hosted(2), wish, []);
    stage.lose_hints(0..30);
    stage.create(0, "creator");
    stage.play_to(40);

    let met = stage.execute_from(came_on, 59, "executor", &stage.hint(60));
    stage.play_to(by);

    assert_eq!(met.given(), Executed::Dropped(Dropped::SentOn));
    assert_eq!(stage.starts(), [(60, 60)]);
    assert_eq!(stage.state(60), "succeeded");
}

/// The target of a job was a worker when it was hinted, and is called by now.
///
/// Removed: what came as a look is counted. It was carried out where it came, and by no limit of calls.
#[test]
fn what_came_as_a_look_and_is_a_call_travels_on() {
    travels_on(Wish::once(60), Lane::look(Priority::Normal), 200);
}

/// At the least size: two invocations for each queue. Before, two hints of the first tenant held everybody's queue for 14 minutes.
///
/// Removed: no call is long. The calm tenant's occurrences were coalesced, and those that ran were minutes late.
#[test]
fn calls_of_one_tenant_that_hang_for_14_minutes_do_not_delay_anothers() {
    let calm = beside_hanging_calls(840, 2);

    eprintln!("beside {HANGING} calls that hang 840 s: {calm}");
    assert_eq!((calm.ran, calm.wanted), (calm.wanted, CALM * usize::try_from(MINUTES).unwrap()));
    assert!(calm.p99 < 60_000, "{calm}");
}

/// Calls of a minute are short and share their invocations. A thousand of them are an hour of all that `small` has, and a
/// few minutes of what `medium` has: until they are through, the queue's fairness gives the calm tenant as many hands as the
/// other has, and no more. So at `small` most of its occurrences coalesce, which is what their policy says; at `medium` the
/// flood is over before it matters.
#[test]
fn calls_that_hang_for_a_minute_delay_another_tenant_for_as_long_as_there_are_too_few_hands() {
    let (small, medium) = (beside_hanging_calls(60, 2), beside_hanging_calls(60, 40));

    eprintln!("beside {HANGING} calls that hang 60 s: at small {small}; at medium {medium}");
    assert!(small.ran < small.wanted, "{small}");
    assert_eq!(medium.ran, medium.wanted, "{medium}");
    assert!(medium.p99 < 60_000, "{medium}");
}

fn hosted(concurrency: u32) -> Setting {
    Setting { host: Host::Lambda(Lambda { concurrency, ..Lambda::SMALL }), ..Setting::plain() }
}

/// How the calm tenant fared.
struct Fared {
    ran: usize,
    wanted: usize,
    p50: i64,
    p99: i64,
    max: i64,
}

impl std::fmt::Display for Fared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ran, wanted, p50, p99, max } = self;
        write!(f, "{ran} of {wanted} occurrences ran, late by {p50} ms p50, {p99} ms p99, {max} ms at most")
    }
}

fn beside_hanging_calls(seconds: u64, concurrency: u32) -> Fared {
    let takes = i64::try_from(seconds).unwrap();
    let first = Stage::on(hosted(concurrency), Wish { takes, timeout: seconds, ..Wish::once(70) }, []);
    let mut last = first.clone();
    for _ in 1..HANGING {
        last.create(0, "noisy");
        last = last.beside_of("noisy", Wish { takes, timeout: seconds, ..Wish::once(70) });
    }
    last.create(0, "noisy");
    let mut calm = Vec::new();
    for number in 0..CALM {
        let from = 60 + 6 * i64::try_from(number).unwrap();
        last = last.beside_of("calm", Wish::every(60, from));
        last.create(1, "creator");
        calm.push(last.clone());
    }
    first.sweep_each_minute(60..60 * (MINUTES + 3));
    first.play_to(60 * (MINUTES + 3));

    let due = |stage: &Stage| {
        let mut called = stage.called();
        called.dedup();
        called.into_iter().filter(|instant| *instant < 60 * (MINUTES + 1)).count()
    };
    let mut lags: Vec<i64> = calm.iter().flat_map(Stage::lags).collect();
    lags.sort_unstable();
    let at = |percent: usize| lags[(lags.len() - 1) * percent / 100];
    let wanted = CALM * usize::try_from(MINUTES).unwrap();
    Fared { ran: calm.iter().map(due).sum(), wanted, p50: at(50), p99: at(99), max: at(100) }
}
