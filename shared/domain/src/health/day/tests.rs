use super::*;
use crate::id::{JobId, Tenant};
use crate::priority::Priority;
use crate::run::Failure;

const NOW: Moment = Moment::from_secs(100 * 3600 + 1_800);

fn hours(hours: u64) -> Duration {
    HOUR * u32::try_from(hours).unwrap()
}

fn end(at: Moment, how: How) -> End {
    End { key: EndKey { at, run: RunKey::occurrence(JobId::from_bytes([7; 16]), at) }, how }
}

fn run(state: State) -> Run {
    let key = RunKey::occurrence(JobId::from_bytes([7; 16]), NOW);
    Run { state, is_counted: true, ..Run::new(Tenant::deployment(), key, Priority::default()) }
}

#[test]
fn ends_that_are_judged_are_counted_where_the_job_asks_for_it() {
    let failed = run(State::Failed { at: NOW, why: Failure::Lost });
    let cases = [
        (run(State::Failed { at: NOW, why: Failure::Lost }), Some(How::Failed)),
        (run(State::TimedOut { at: NOW }), Some(How::TimedOut)),
        (run(State::Cancelled { at: NOW }), None),
        (run(State::Scheduled { due: NOW }), None),
        (Run { is_counted: false, ..failed }, None),
    ];
    for (run, how) in cases {
        assert_eq!(run.counted_end().map(|end| (end.key.at, end.how)), how.map(|how| (NOW, how)), "{run:?}");
    }
}

#[test]
fn a_day_is_the_hour_under_way_and_those_before_it() {
    let ends = [end(NOW - hours(24), How::Failed), end(NOW - hours(23), How::Failed), end(NOW, How::Succeeded)];

    let day = Day::NOTHING.with(&ends, NOW).at(NOW);

    assert_eq!((day.total().succeeded, day.total().failed), (1, 1), "an hour that has gone is forgotten");
    assert_eq!(day.hours().map(|(at, _)| at).collect::<Vec<_>>(), [Day::begins(NOW), Moment::from_secs(100 * 3600)]);
    assert_eq!(day.total().success_rate(), Some(0.5));
    assert_eq!(Day::NOTHING.at(NOW).until, Day::begins(NOW), "nothing before it is read");
    assert_eq!(Ends::default().success_rate(), None);
}

#[test]
fn what_was_not_expected_any_more_sets_the_day_back_to_its_hour() {
    let late = end(NOW - hours(2), How::TimedOut);
    let ends = [end(NOW - hours(3), How::Failed), end(NOW - hours(1), How::Succeeded)];
    let day = Day::NOTHING.with(&ends, Day::kept_until(NOW));

    let back = day.set_back_to(late.key.at);

    assert_eq!((back.total().failed, back.total().succeeded), (1, 0));
    assert_eq!(back.until, Moment::from_secs(98 * 3600));
    assert!(late.is_late(NOW) && !end(NOW, How::Failed).is_late(NOW));
    assert!(late.expires_at() > NOW - hours(2) + hours(24));
}

/// A clock that is ahead by an hour has counted up to its own time.
#[test]
fn a_day_that_knows_of_what_is_to_come_is_not_believed() {
    let ahead = NOW + hours(1);
    let ends = [end(NOW - hours(3), How::Failed), end(NOW, How::Succeeded)];
    let day = Day::NOTHING.with(&ends, Day::kept_until(ahead));

    let shown = day.clone().at(NOW);

    assert_eq!((shown.total().failed, shown.total().succeeded), (1, 0), "what came since then is read again");
    assert_eq!(shown.until, Moment::from_secs(99 * 3600));
    assert_eq!(day.at(ahead).total().judged(), 2, "whose clock says so believes it");
}

#[test]
fn a_day_of_which_nothing_was_counted_outlasts_who_counts_it() {
    let late = end(NOW - hours(20), How::Failed);
    assert!(Day::NOTHING.at(NOW).set_back_to(late.key.at).expires_at() > NOW);
    assert!(late.is_of_the_day_at(NOW) && !end(NOW - hours(25), How::Failed).is_of_the_day_at(NOW));
}
