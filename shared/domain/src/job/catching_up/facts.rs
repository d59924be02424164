//! Catch-up plans: a table of cases, and an oracle that lists every occurrence.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::catch_up::CatchUp;
use crate::id::{JobId, Tenant};
use crate::job::{Change, Definition};
use crate::limits::COALESCE_COUNT;
use crate::schedule::{Plan, Schedule};

const START: Moment = Moment::from_secs(1_800_000_000);

fn at(seconds: i64) -> Moment {
    Moment::from_secs(1_800_000_000 + seconds)
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn last(window: u64) -> CatchUp {
    CatchUp::Last { window: seconds(window) }
}

fn all(window: u64, max_runs: u32) -> CatchUp {
    CatchUp::All { window: seconds(window), max_runs, per_minute: None }
}

fn from(second: i64, passed_over: u64) -> CatchUpPlan {
    CatchUpPlan::FireFrom { at: at(second), passed_over }
}

fn nothing(last: i64, count: u64) -> CatchUpPlan {
    CatchUpPlan::SkipAll { last: at(last), count }
}

fn every(seconds: u64) -> Schedule {
    let plan = Plan { every_seconds: Some(seconds), start_at: Some(START), ..Plan::default() };
    Schedule::new(&plan, START).unwrap()
}

fn job(schedule: Schedule, catch_up: CatchUp) -> Job {
    let definition = Definition { catch_up, ..Definition::default() };
    Job::new(Tenant::new("t").unwrap(), JobId::from_bytes([1; 16]), schedule, definition, 0, START)
}

fn paced(window: u64, per_minute: u32) -> CatchUp {
    CatchUp::All { window: seconds(window), max_runs: 100, per_minute: Some(per_minute) }
}

/// With a rate the newest are made up for that can all begin, one at a time, before the last of them is too late.
#[test]
fn no_more_is_made_up_for_than_can_begin_in_time_at_its_rate() {
    for (catch_up, expected) in [
        (paced(600, 1), CatchUpPlan::FireAll),
        (paced(300, 1), from(360, 5)),
        (paced(299, 1), from(420, 6)),
        (paced(300, 60), from(360, 5)),
        (paced(86_400, 1), CatchUpPlan::FireAll),
    ] {
        assert_eq!(job(every(60), catch_up).catch_up_plan(at(60), at(659)), expected, "{catch_up:?}");
    }
    let fast = job(every(10), paced(300, 1)).catch_up_plan(at(10), at(605));
    assert_eq!(fast, from(560, 55), "five, of which the last begins after four minutes");
}

#[test]
fn what_the_next_turn_comes_too_late_for_is_told_as_one() {
    let job = job(every(60), paced(300, 60));

    let [in_time, first, all] = [360, 500, 9_000].map(|turn| job.too_late_for(at(60), at(turn), at(630)));

    assert_eq!(in_time, None);
    assert_eq!(first, Some(Missed { last: at(180), count: 3 }));
    assert_eq!(all, Some(Missed { last: at(600), count: 10 }), "none of what has not come yet");
}

/// An occurrence each minute; nobody has claimed the one at 60. Until the one at 120 is overdue it may be waiting for a hand.
#[test]
fn the_window_bounds_the_catch_up_and_the_policy_decides_inside_it() {
    for (catch_up, now, expected) in [
        (last(600), 119, CatchUpPlan::FireAll),
        (last(600), 120, CatchUpPlan::FireAll),
        (last(600), 149, CatchUpPlan::FireAll),
        (last(600), 150, from(120, 1)),
        (last(600), 630, from(600, 9)),
        (last(60), 120, CatchUpPlan::FireAll),
        (last(60), 121, from(120, 1)),
        (CatchUp::None, 149, CatchUpPlan::FireAll),
        (CatchUp::None, 150, from(120, 1)),
        (all(600, 1), 149, CatchUpPlan::FireAll),
        (all(600, 1), 150, from(120, 1)),
        (last(60), 659, from(600, 9)),
        (CatchUp::None, 119, CatchUpPlan::FireAll),
        (CatchUp::None, 3_630, from(3_600, 59)),
        (all(600, 100), 119, CatchUpPlan::FireAll),
        (all(600, 100), 630, CatchUpPlan::FireAll),
        (all(600, 100), 660, CatchUpPlan::FireAll),
        (all(600, 100), 661, from(120, 1)),
        (all(600, 10), 630, CatchUpPlan::FireAll),
        (all(600, 9), 630, from(120, 1)),
        (all(600, 1), 630, from(600, 9)),
        (all(300, 100), 3_630, from(3_360, 55)),
        (all(300, 2), 3_630, from(3_540, 58)),
    ] {
        assert_eq!(job(every(60), catch_up).catch_up_plan(at(60), at(now)), expected, "{catch_up:?} at {now}");
    }
}

/// An occurrence each hour; nobody has claimed the one at 3,600.
#[test]
fn where_all_occurrences_are_too_late_none_fires() {
    for (catch_up, now, expected) in [
        (last(600), 4_200, CatchUpPlan::FireAll),
        (last(600), 4_201, nothing(3_600, 1)),
        (last(600), 11_500, nothing(10_800, 3)),
        (last(600), 11_400, from(10_800, 2)),
        (CatchUp::None, 3_900, CatchUpPlan::FireAll),
        (CatchUp::None, 3_901, nothing(3_600, 1)),
        (all(600, 5), 11_500, nothing(10_800, 3)),
        (CatchUp::default(), 3_600 + 86_400, CatchUpPlan::FireFrom { at: at(90_000), passed_over: 24 }),
    ] {
        assert_eq!(job(every(3_600), catch_up).catch_up_plan(at(3_600), at(now)), expected, "{catch_up:?} at {now}");
    }
}

#[test]
fn the_last_occurrences_of_an_ended_schedule_are_caught_up() {
    let plan = Plan { every_seconds: Some(60), start_at: Some(START), max_fires: Some(4), ..Plan::default() };
    let schedule = Schedule::new(&plan, START).unwrap();

    assert_eq!(job(schedule.clone(), all(3_600, 2)).catch_up_plan(at(60), at(600)), from(120, 1));
    assert_eq!(job(schedule.clone(), last(3_600)).catch_up_plan(at(60), at(600)), from(180, 2));
    assert_eq!(job(schedule, last(60)).catch_up_plan(at(60), at(600)), nothing(180, 3));
}

#[test]
fn months_of_seconds_and_a_burst_at_their_end_are_not_walked() {
    let burst = Plan { cron: Some("0-9 0 1 * *".into()), ..Plan::default() };
    let monthly = job(Schedule::new(&burst, START).unwrap(), all(30 * 86_400, 1000));
    let each_second = job(every(1), all(30 * 86_400, 1000));

    let passed_over = COALESCE_COUNT;
    assert_eq!(
        each_second.catch_up_plan(at(0), at(300_000_000)),
        CatchUpPlan::FireFrom { at: at(300_000_000 - 999), passed_over }
    );
    assert_eq!(
        job(every(1), last(60)).catch_up_plan(at(0), at(300_000_000)),
        CatchUpPlan::FireFrom { at: at(300_000_000), passed_over }
    );
    let first = monthly.next_after(START).unwrap();
    assert_eq!(monthly.catch_up_plan(first, first + seconds(86_400)), CatchUpPlan::FireAll);
}

/// Lists every occurrence from `t` to `now`, drops those that are too late, and takes the newest.
fn oracle(job: &Job, t: Moment, now: Moment) -> CatchUpPlan {
    let mut past = vec![t];
    while let Some(next) = job.next_after(past[past.len() - 1]).filter(|next| *next <= now) {
        past.push(next);
    }
    let (window, most) = match job.definition.catch_up {
        CatchUp::Last { window } => (window, 1),
        CatchUp::None => (seconds(300), 1),
        CatchUp::All { window, max_runs, .. } => (window, max_runs as usize),
    };
    if past.get(1).is_some_and(|next| now.since(*next) < seconds(30)) && now.since(t) <= window {
        return CatchUpPlan::FireAll;
    }
    let too_late = past.iter().filter(|at| now.since(**at) > window).count();
    let passed_over = too_late.max(past.len().saturating_sub(most));
    match past.get(passed_over) {
        Some(_) if passed_over == 0 => CatchUpPlan::FireAll,
        Some(at) => CatchUpPlan::FireFrom { at: *at, passed_over: passed_over as u64 },
        None => CatchUpPlan::SkipAll { last: past[past.len() - 1], count: past.len() as u64 },
    }
}

fn any_catch_up() -> impl Strategy<Value = CatchUp> {
    prop_oneof![
        (60..5_000_u64).prop_map(last),
        Just(CatchUp::None),
        (60..5_000_u64, 1..30_u32).prop_map(|(window, most)| all(window, most)),
    ]
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let cron = |text: &str| Plan { cron: Some(text.to_owned()), ..Plan::default() };
    let plan = prop_oneof![
        (1..2_000_u64).prop_map(|n| Plan { every_seconds: Some(n), ..Plan::default() }),
        (1..2_000_u64, 1..40_u32).prop_map(|(n, max)| Plan {
            every_seconds: Some(n),
            max_fires: Some(max),
            ..Plan::default()
        }),
        Just(cron("* * * * *")),
        Just(cron("0-4 * * * *")),
        Just(cron("7,9,40 * * * *")),
    ];
    plan.prop_map(|plan| Schedule::new(&plan, START).unwrap())
}

proptest! {
    #[test]
    fn the_plan_agrees_with_a_list_of_all_occurrences(
        schedule in any_schedule(),
        other in any_schedule(),
        changed in prop::option::of(1..8_000_i64),
        catch_up in any_catch_up(),
        after in 0..6_000_i64,
        late in 0..10_000_u64,
    ) {
        let mut job = job(schedule, catch_up);
        if let Some(second) = changed {
            job = job.after(&Change::reschedule(other), at(second)).unwrap();
        }
        let Some(t) = job.next_after(at(after)) else { return Ok(()) };
        let now = t + seconds(late);

        prop_assert_eq!(job.catch_up_plan(t, now), oracle(&job, t, now));
    }
}
