use proptest::prelude::*;

use super::*;

#[test]
fn the_rate_of_a_schedule_counts_only_while_it_fires() {
    let pace = |plan: Plan| Schedule::new(&plan, NOW).unwrap().fires_per_minute(NOW);
    let cron = |text: &str| pace(Plan { cron: Some(text.to_owned()), ..Plan::default() });
    let every = |seconds| pace(Plan { every_seconds: Some(seconds), ..Plan::default() });

    assert!((every(1) - 60.0).abs() < 0.1 && (every(60) - 1.0).abs() < 0.01 && every(86_400) < 0.001);
    assert!((cron("* * * * *") - 1.0).abs() < 0.01, "each minute");
    assert!(cron("0 2 * * *") < 0.001, "once a day");
    assert!(pace(Plan { after_seconds: Some(5), ..Plan::default() }).abs() < f64::EPSILON, "once");
}

const NOW: Moment = Moment::from_secs(1_800_000_000);

fn at(seconds: i64) -> Moment {
    Moment::from_secs(1_800_000_000 + seconds)
}

fn fires(plan: &Plan, count: usize) -> Vec<i64> {
    let schedule = Schedule::new(plan, NOW).unwrap();
    let mut t = NOW.just_before();
    std::iter::from_fn(|| {
        t = schedule.next_after(t)?;
        Some(t.millis() / 1000 - 1_800_000_000)
    })
    .take(count)
    .collect()
}

fn refused(plan: &Plan) -> ScheduleRefusal {
    Schedule::new(plan, NOW).unwrap_err()
}

#[test]
fn each_kind_fires_at_its_instants() {
    let table: [(Plan, &[i64]); 12] = [
        (Plan::default(), &[0]),
        (Plan { at: Some(at(30)), ..Plan::default() }, &[30]),
        (Plan { at: Some(at(-60)), ..Plan::default() }, &[0]),
        (Plan { after_seconds: Some(5), ..Plan::default() }, &[5]),
        (Plan { after_seconds: Some(0), ..Plan::default() }, &[0]),
        (Plan { every_seconds: Some(60), ..Plan::default() }, &[60, 120, 180]),
        (Plan { every_seconds: Some(60), start_at: Some(at(-90)), ..Plan::default() }, &[30, 90, 150]),
        (Plan { every_seconds: Some(60), start_at: Some(at(10)), end_at: Some(at(130)), ..Plan::default() }, &[10, 70]),
        (Plan { every_seconds: Some(7), max_fires: Some(2), ..Plan::default() }, &[7, 14]),
        (Plan { every_seconds: Some(60), since: Some(at(-70)), ..Plan::default() }, &[50, 110, 170]),
        (Plan { cron: Some("@every 60s".to_owned()), since: Some(at(-70)), ..Plan::default() }, &[50, 110, 170]),
        (Plan { after_seconds: Some(60), since: Some(at(-50)), ..Plan::default() }, &[10]),
    ];
    for (plan, expected) in table {
        assert_eq!(fires(&plan, 3), expected, "{plan:?}");
    }
    assert_eq!(fires(&Plan { on_demand: true, ..Plan::default() }, 3), [0_i64; 0]);
}

#[test]
fn what_counts_from_its_creation_says_since_when() {
    let since = Some(at(-50));
    let table = [
        (Plan { every_seconds: Some(60), ..Plan::default() }, since),
        (Plan { cron: Some("@every 60s".to_owned()), ..Plan::default() }, since),
        (Plan { after_seconds: Some(60), ..Plan::default() }, since),
        (Plan { every_seconds: Some(60), start_at: Some(at(10)), ..Plan::default() }, None),
        (Plan { at: Some(at(10)), ..Plan::default() }, None),
        (Plan { cron: Some("0 9 * * *".to_owned()), ..Plan::default() }, None),
        (Plan { on_demand: true, ..Plan::default() }, None),
    ];
    for (plan, expected) in table {
        let schedule = Schedule::new(&Plan { since, ..plan.clone() }, NOW).unwrap();
        assert_eq!(schedule.counts_since(), expected, "{plan:?}");
    }
    assert_eq!(Schedule::new(&Plan::default(), NOW).unwrap().counts_since(), Some(NOW));
}

#[test]
fn each_impossible_plan_is_refused_by_name() {
    use ScheduleRefusal as R;
    let every = Plan { every_seconds: Some(60), ..Plan::default() };
    let table = [
        (Plan { at: Some(NOW), after_seconds: Some(1), ..Plan::default() }, R::Several("at", "after_seconds")),
        (Plan { on_demand: true, ..every.clone() }, R::Several("every_seconds", "on_demand")),
        (Plan { at: Some(at(-61)), ..Plan::default() }, R::Past { field: "at", at: at(-61) }),
        (
            Plan { every_seconds: Some(0), ..Plan::default() },
            R::OutOfRange { field: "every_seconds", least: 1, most: SPAN_SECONDS },
        ),
        (
            Plan { after_seconds: Some(u64::MAX), ..Plan::default() },
            R::OutOfRange { field: "after_seconds", least: 0, most: SPAN_SECONDS },
        ),
        (Plan { max_fires: Some(0), ..every.clone() }, R::OutOfRange { field: "max_fires", least: 1, most: 10_000 }),
        (Plan { max_fires: Some(1), ..Plan::default() }, R::NotRecurring { field: "max_fires" }),
        (Plan { start_at: Some(NOW), ..Plan::default() }, R::NotRecurring { field: "start_at" }),
        (Plan { timezone: Some("UTC".into()), ..every.clone() }, R::WithoutCron { field: "timezone" }),
        (Plan { end_at: Some(NOW), ..every.clone() }, R::EndsBeforeItStarts(NOW)),
        (Plan { end_at: Some(at(60)), ..every }, R::NeverFires),
    ];
    for (plan, expected) in table {
        assert_eq!(refused(&plan), expected, "{plan:?}");
    }
}

fn cron(text: &str) -> Plan {
    Plan { cron: Some(text.to_owned()), ..Plan::default() }
}

#[test]
fn a_short_form_is_an_interval_or_an_instant() {
    let table: [(Plan, &[i64]); 5] = [
        (cron("@every 90s"), &[90, 180, 270]),
        (Plan { start_at: Some(at(10)), end_at: Some(at(130)), ..cron("rate(1 minute)") }, &[10, 70]),
        (Plan { max_fires: Some(2), ..cron("@every 1m30s") }, &[90, 180]),
        // 2027-01-15T08:00:00Z is 03:00 in New York.
        (Plan { timezone: Some("America/New_York".into()), ..cron("at(2027-01-15T03:00:10)") }, &[10]),
        (cron("at(2027-01-15T07:59:30)"), &[0]),
    ];
    for (plan, expected) in table {
        assert_eq!(fires(&plan, 3), expected, "{plan:?}");
    }
    let refusals = [
        (cron("at(2027-01-15T07:58:00)"), ScheduleRefusal::Past { field: "cron", at: at(-120) }),
        (
            Plan { max_fires: Some(1), ..cron("at(2027-01-16T00:00:00)") },
            ScheduleRefusal::NotRecurring { field: "max_fires" },
        ),
    ];
    for (plan, expected) in refusals {
        assert_eq!(refused(&plan), expected, "{plan:?}");
    }
}

#[test]
fn a_short_form_keeps_its_text_and_its_zone() {
    let plan = Plan { timezone: Some("Asia/Tokyo".into()), ..cron("@every 90s") };
    let schedule = Schedule::new(&plan, NOW).unwrap();
    assert_eq!(
        schedule.short_form,
        Some(ShortForm { text: "@every 90s".to_owned(), manner: Manner::usual(Tz::Asia__Tokyo) })
    );
    assert_eq!(schedule.zone(), Tz::Asia__Tokyo);
}

fn spread_by(most: u32, n: u8) -> Plan {
    let spread = Spread::of(JobId::from_bytes([n; 16]));
    Plan { jitter_seconds: Some(most), spread, ..cron("0 * * * *") }
}

#[test]
fn jitter_moves_all_occurrences_of_a_job_by_the_same_span_and_its_nominal_instants_stay() {
    let mut spans = std::collections::BTreeSet::new();
    for n in 0..=255 {
        let schedule = Schedule::new(&spread_by(600, n), NOW).unwrap();
        let by = schedule.jitter.unwrap().by;
        let mut t = NOW.just_before();
        for hour in 0..3 {
            t = schedule.next_after(t).unwrap();
            assert_eq!((t, schedule.nominal(t)), (at(hour * 3600) + by, at(hour * 3600)));
            assert!(schedule.fires_at(t) && schedule.note_at(t) == Some(Note::Jittered));
        }
        assert!(by <= Duration::from_secs(600));
        spans.insert(by);
    }
    assert!(spans.len() > 250 && spans.first().unwrap().as_secs() < 30 && spans.last().unwrap().as_secs() > 570);
}

#[test]
fn jitter_revives_no_occurrence_from_before_the_schedule() {
    // Half past eight: an hour's jitter would let the occurrence of eight o'clock fire yet.
    let schedule = Schedule::new(&spread_by(3600, 2), at(1800)).unwrap();
    assert!(schedule.jitter.unwrap().by > Duration::from_secs(1800));
    assert_eq!(schedule.next_after(at(1800)).map(|t| schedule.nominal(t)), Some(at(3600)));
}

#[test]
fn jitter_applies_to_every_recurring_kind_and_inside_its_bounds() {
    let spread = Plan { max_fires: Some(2), end_at: Some(at(3 * 3600)), ..spread_by(3600, 2) };
    assert_eq!(fires(&spread, 9).len(), 2);
    let once = Plan { cron: None, at: Some(at(60)), ..spread_by(60, 2) };
    let by = Schedule::new(&once, NOW).unwrap().jitter.unwrap().by;
    assert_eq!(Schedule::new(&once, NOW).unwrap().next_after(NOW), Some(at(60) + by));
    assert_eq!(Schedule::new(&spread_by(0, 2), NOW).unwrap().jitter, None);
    assert_eq!(refused(&Plan { cron: None, on_demand: true, ..spread_by(1, 2) }), ScheduleRefusal::JitterOnDemand);
    let too_wide = ScheduleRefusal::OutOfRange { field: "jitter_seconds", least: 0, most: 86_400 };
    assert_eq!(refused(&spread_by(86_401, 2)), too_wide);
}

#[test]
fn jitter_at_the_end_of_time_ends_the_schedule_rather_than_standing_still() {
    let schedule = Schedule::new(&spread_by(3600, 2), NOW).unwrap();
    let mut t = Moment::END - Duration::from_secs(7200);
    for _ in 0..3 {
        let Some(next) = schedule.next_after(t) else { return };
        assert!(next > t);
        t = next;
    }
    panic!("an hour's schedule fires at most twice in the last two hours");
}

#[test]
fn a_century_of_every_second_does_not_drift() {
    let schedule = Schedule::new(&Plan { every_seconds: Some(1), ..Plan::default() }, NOW).unwrap();

    let later = NOW + Duration::from_secs(SPAN_SECONDS);

    assert_eq!(schedule.next_after(later), Some(later + Duration::from_secs(1)));
}

#[test]
fn max_fires_beyond_the_schedules_own_end_changes_nothing() {
    let plan = Plan { every_seconds: Some(60), end_at: Some(at(130)), max_fires: Some(10_000), ..Plan::default() };
    assert_eq!(fires(&plan, 9), [60, 120]);
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let crons =
        ["* * * * *", "*/7 3 * * *", "30 2 * * *", "0 0 29 2 *", "15 10 1,15 * MON", "7 H LW * *", "* * * * * *"];
    let zones = ["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"];
    let bounds =
        (prop::option::of(-1000..100_000_i64), prop::option::of(200_000..90_000_000_i64), prop::option::of(1..50_u32));
    let every = (1..1_000_000_u64).prop_map(|n| Plan { every_seconds: Some(n), ..Plan::default() });
    let cron = (0..crons.len(), 0..zones.len()).prop_map(move |(c, z)| Plan {
        cron: Some(crons[c].into()),
        timezone: Some(zones[z].into()),
        ..Plan::default()
    });
    let jitter = (prop::option::of(0..4000_u32), any::<[u8; 16]>());
    (prop_oneof![every, cron], bounds, jitter).prop_map(|(plan, (start, end, max), (jitter, id))| Plan {
        start_at: start.map(at),
        end_at: end.map(at),
        max_fires: max,
        jitter_seconds: jitter,
        spread: Spread::of(JobId::from_bytes(id)),
        ..plan
    })
}

proptest! {
    #[test]
    fn schedules_go_strictly_forward_and_stay_inside_their_bounds(plan in any_plan(), from in -100_000..90_000_000_i64) {
        let Ok(schedule) = Schedule::new(&plan, NOW) else { return Ok(()) };
        let mut t = at(from);
        for _ in 0..20 {
            let Some(next) = schedule.next_after(t) else { break };
            prop_assert!(next > t);
            prop_assert!(schedule.fires_at(next));
            let nominal = schedule.nominal(next);
            prop_assert!(plan.start_at.is_none_or(|start| nominal >= start));
            prop_assert!(plan.end_at.is_none_or(|end| nominal < end));
            t = next;
        }
    }

    #[test]
    fn max_fires_is_the_number_of_fires(n in 1..200_u32, seconds in 1..10_000_u64) {
        let plan = Plan { every_seconds: Some(seconds), max_fires: Some(n), ..Plan::default() };
        prop_assert_eq!(fires(&plan, 1000).len(), n as usize);
    }
}

/// Removed: an interval begins anew where its first instant is of a clock that was ahead. A repair said that it was mended, and nothing fired before then.
#[test]
fn what_a_clock_that_was_ahead_made_begins_as_if_it_was_made_now() {
    let made_ahead = |plan: Plan| Schedule::new(&plan, at(7200)).unwrap();
    let next = |schedule: Schedule| schedule.next_after(NOW).map(|t| t.since(NOW).as_secs());
    let every = Plan { every_seconds: Some(20), ..Plan::default() };
    let begun = Plan { start_at: Some(at(7300)), ..every.clone() };

    assert_eq!(next(made_ahead(every.clone())), Some(7220));
    assert_eq!(next(made_ahead(every.clone()).not_ahead_of(NOW)), Some(20));
    assert_eq!(next(made_ahead(begun).not_ahead_of(NOW)), Some(7300), "as was wished");
    let right = Schedule::new(&every, at(-5)).unwrap();
    assert_eq!((right.ahead_of(NOW), made_ahead(every.clone()).ahead_of(NOW)), (None, Some(at(7200))));
    assert_eq!(next(right.not_ahead_of(NOW)), Some(15), "no instant of one that is right moves");

    let three = Plan { max_fires: Some(3), ..every };
    let thrice = made_ahead(three.clone()).not_ahead_of(NOW);
    assert_eq!((thrice.next_after(at(40)), thrice.next_after(at(60))), (Some(at(60)), None));
    let two_left = Schedule::new(&three, at(-25)).unwrap().not_ahead_of(NOW);
    assert_eq!((two_left.next_after(at(20)), two_left.next_after(at(35))), (Some(at(35)), None));
}
