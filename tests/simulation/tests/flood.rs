//! Four hours in which nobody swept, and schedules of every policy: what is made up for comes at its pace, and what is due meanwhile is on
//! time. A few hundred schedules with every test run, ten thousand by `FLOOD=10000 cargo test --release -p minutehand-simulation --test flood
//! -- --nocapture`.

#![expect(clippy::print_stdout, reason = "it tells what it measured")]

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::priority::Priority;
use minutehand_simulation::stage::{Stage, Wish};

const HOUR: i64 = 3600;
const MINUTE: i64 = 60;
/// Each fires every so many seconds.
const EVERY: u64 = 600;
/// From when until when nobody sweeps.
const DOWN: std::ops::Range<i64> = 1200..1200 + 4 * HOUR;
/// What begins later than this is made up for.
const LATE: i64 = 120;

fn policies() -> [CatchUp; 4] {
    let all = |per_minute| CatchUp::All { window: Duration::from_secs(86_400), max_runs: 5, per_minute };
    [CatchUp::default(), CatchUp::None, all(None), all(Some(1))]
}

fn wish(number: usize) -> Wish {
    let second = i64::try_from(number).expect("it is small") % 600;
    let priority = Priority::ALL[number / 4 % 4];
    Wish { catch_up: policies()[number % 4], priority, ..Wish::every(EVERY, 300 + second) }
}

/// What of all jobs began, as the instant it was due at and the second at which it began, with its job's number.
fn begun(stages: &[Stage]) -> Vec<(i64, i64, usize)> {
    let of = |(number, stage): (usize, &Stage)| stage.starts().into_iter().map(move |(due, at)| (due, at, number));
    stages.iter().enumerate().flat_map(of).collect()
}

fn a_minute<'a>(starts: impl Iterator<Item = &'a (i64, i64, usize)>) -> BTreeMap<i64, usize> {
    let mut minutes = BTreeMap::new();
    for (_, at, _) in starts {
        *minutes.entry(at / MINUTE).or_default() += 1;
    }
    minutes
}

fn most(minutes: &BTreeMap<i64, usize>) -> usize {
    minutes.values().copied().max().unwrap_or_default()
}

#[test]
fn after_four_hours_nothing_floods_and_what_is_due_is_on_time() {
    let schedules: usize = env::var("FLOOD").map_or(240, |count| count.parse().expect("a number"));
    let limit = (schedules * 6).div_ceil(100);
    let first = Stage::new(wish(0), []);
    let mut stages = vec![first.clone()];
    for number in 1..schedules {
        let stage = stages[number - 1].beside(wish(number));
        stages.push(stage);
    }
    for (number, stage) in stages.iter().enumerate() {
        stage.create(i64::try_from(number).expect("small") % 60, "creator");
    }
    first.limit_catch_up(0, u32::try_from(limit).expect("it is small"));
    first.sweep_each_minute(60..DOWN.start);
    let end = DOWN.end + 90 * MINUTE;
    first.sweep_each_minute(DOWN.end..end);

    first.play_to(end);

    let all = begun(&stages);
    let (late, on_time): (Vec<_>, Vec<_>) = all.iter().copied().partition(|(due, at, _)| at - due > LATE);
    let normal = most(&a_minute(on_time.iter().filter(|(_, at, _)| *at < DOWN.start)));
    let made_up = most(&a_minute(late.iter()));
    let after = |second: i64| most(&a_minute(all.iter().filter(|(_, at, _)| *at >= second)));
    let (first_minute, peak) = (after(DOWN.end), after(DOWN.end + MINUTE));
    let last = late.iter().map(|(_, at, _)| (at - DOWN.end) / MINUTE).max().unwrap_or_default();
    let lateness_from = |second: i64| {
        let due_since = on_time.iter().filter(|(due, ..)| *due > second);
        due_since.map(|(due, at, _)| at - due).max().unwrap_or(i64::MAX)
    };
    let (at_first, slowest) = (lateness_from(DOWN.end + MINUTE), lateness_from(DOWN.end + 5 * MINUTE));
    println!(
        "{schedules} schedules: {normal} a minute before, {} made up for, at most {made_up} of them a minute ({limit} allowed), \
         {first_minute} in all in the first minute, then {peak}; the last {last} minutes after the outage; what was due from the second minute on at \
         most {at_first} s late, from the sixth {slowest}",
        late.len(),
    );

    let of_the_tenant_alone = most(&a_minute(late.iter().filter(|(.., job)| job % 4 != 3)));
    println!("of jobs without a pace of their own at most {of_the_tenant_alone} a minute");

    // In the minute in which something urgent is found two priorities may begin at once; and jobs with a pace of their own may use a turn of
    // their tenant's later than it was given.
    assert!(of_the_tenant_alone <= limit + limit / 2, "{of_the_tenant_alone} a minute, and {limit} are allowed");
    assert!(made_up <= 2 * limit, "{made_up} a minute, and {limit} are allowed");
    assert!(peak <= normal + 2 * limit, "{peak} a minute, and {normal} before");
    // What is less than two minutes late begins at once.
    assert!(first_minute <= 3 * normal + 2 * limit, "{first_minute} in the first minute, and {normal} before");
    // The first pass of many schedules takes more than a minute.
    assert!(slowest <= 1 && (at_first <= 1 || schedules > 1000), "{at_first}, {slowest}");
    each_policy_is_kept(&late, schedules);
    what_is_urgent_comes_first(&late);
}

/// The last of those that make up for one, five of those that make up for all, and no more than one a minute where the job says so.
fn each_policy_is_kept(late: &[(i64, i64, usize)], schedules: usize) {
    for number in 0..schedules {
        let mut own: Vec<i64> = late.iter().filter(|(_, _, job)| *job == number).map(|(_, at, _)| *at).collect();
        own.sort_unstable();
        let second = i64::try_from(number).expect("it is small") % 600;
        let before_it_ended = (DOWN.end - 300 - second).rem_euclid(i64::try_from(EVERY).expect("it is small"));
        // What is hardly late begins at once, and is none of those that are made up for.
        let at_once = usize::from(before_it_ended <= LATE + MINUTE);
        let wanted = [1 - at_once..=1, 0..=1, 4 - at_once..=5, 4 - at_once..=5][number % 4].clone();
        assert!(wanted.contains(&own.len()), "{number}, {:?}: {own:?}", policies()[number % 4]);
        let is_even = own.windows(2).all(|two| number % 4 != 3 || two[1] - two[0] >= 59);
        assert!(is_even, "{number}: {own:?}");
    }
}

/// Of what has no pace of its own, what is critical is done before half of what is low has begun.
fn what_is_urgent_comes_first(late: &[(i64, i64, usize)]) {
    let of = |priority: usize| {
        let its = late.iter().filter(|(_, _, job)| job / 4 % 4 == priority && job % 4 != 3);
        let mut at: Vec<i64> = its.map(|(_, at, _)| *at).collect();
        at.sort_unstable();
        at
    };
    let (critical, low) = (of(0), of(3));
    let done = critical.last().expect("some are critical");
    assert!(*done <= low[low.len() / 2], "the last critical one at {done}, low ones at {low:?}");
}
