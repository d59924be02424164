//! What a calendar says of instants, as facts.

use chrono::Weekday::{Fri, Mon, Sat, Sun, Thu, Tue, Wed};
use proptest::prelude::*;

use super::*;

fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

fn date(text: &str, reason: &str) -> ExcludedDate {
    ExcludedDate { date: Date::parse(text).unwrap(), reason: (!reason.is_empty()).then(|| reason.to_owned()) }
}

fn time(days: impl IntoIterator<Item = Weekday>, from: u16, until: u16) -> Time {
    Time { days: days.into_iter().collect(), from: from * 60, until: until * 60, reason: None }
}

fn new_york() -> Rules {
    Rules::none(Tz::America__New_York)
}

fn calendar(rules: Rules) -> Calendar {
    Calendar::new(rules).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with what there may be none of")]
fn stretch(from: &str, until: &str) -> Option<Exclusion> {
    Some(Exclusion { from: at(from), until: at(until) })
}

/// Removed: the place was of the name alone. Walks of two tenants that lay at one instant were one timer, and one of them was never gone on
/// with.
#[test]
fn calendars_of_two_tenants_lie_in_two_places_though_they_are_called_the_same() {
    let name: CalendarName = "us-holidays".parse().unwrap();
    let place = |tenant| name.place(&Tenant::new(tenant).unwrap());

    assert_eq!(place("acme"), place("acme"));
    assert_ne!(place("acme"), place("other"));
    assert_ne!(place("acme"), "us-holidays2".parse::<CalendarName>().unwrap().place(&Tenant::new("acme").unwrap()));
}

/// Removed: there was no `Absent`, and nothing seen was no condition. Of two who made one calendar at once, the later wrote over the other.
/// Removed: a writing said no more than its generation. The first writing of a calendar that was made anew was the first of the one before.
#[test]
fn a_calendar_is_written_over_what_its_writer_has_seen_and_nothing_else() {
    let version = CalendarVersion::of(b"{}");
    let made = |at| Shared::new(Tenant::new("acme").unwrap(), "us-holidays".parse().unwrap(), version, at);
    let first = made(Moment::from_secs(1));
    let changed = first.changed(version, Moment::from_secs(2));
    let anew = made(Moment::from_secs(3)); // once the first was deleted
    let [first, changed, anew] = [first, changed, anew].map(|shared| shared.writing());
    let rows = [
        (AsSeen::Any, [true, true, true, true]),
        (AsSeen::Absent, [true, false, false, false]),
        (AsSeen::As(first), [false, true, false, false]),
        (AsSeen::As(changed), [false, false, true, false]),
        (AsSeen::As(anew), [false, false, false, true]),
    ];
    for (seen, admits) in rows {
        let writings = [None, Some(first), Some(changed), Some(anew)];
        assert_eq!(writings.map(|writing| seen.admits(writing)), admits, "{seen:?}");
    }
    assert_eq!([None, Some(changed)].map(AsSeen::just), [AsSeen::Absent, AsSeen::As(changed)]);
}

#[test]
fn a_date_is_a_day_of_the_calendars_own_zone() {
    let calendar =
        calendar(Rules { dates: vec![date("2027-07-04", "Independence Day"), date("--12-25", "")], ..new_york() });
    let fourth = stretch("2027-07-04T04:00:00Z", "2027-07-05T04:00:00Z");

    assert_eq!(calendar.exclusion_at(at("2027-07-04T03:59:59.999Z")), None);
    assert_eq!(calendar.exclusion_at(at("2027-07-04T04:00:00Z")), fourth);
    assert_eq!(calendar.exclusion_at(at("2027-07-05T03:59:59.999Z")), fourth);
    assert_eq!(calendar.exclusion_at(at("2027-07-05T04:00:00Z")), None);
    assert_eq!(calendar.exclusion_at(at("2028-07-04T12:00:00Z")), None, "it was of one year");
    assert!(calendar.exclusion_at(at("2028-12-25T12:00:00Z")).is_some(), "and this of each");
    assert_eq!(calendar.reason_at(at("2027-07-04T12:00:00Z")), "Independence Day");
    assert_eq!(calendar.reason_at(at("2028-12-25T12:00:00Z")), "2028-12-25");
}

#[test]
fn dates_in_a_row_are_one_stretch() {
    let calendar =
        calendar(Rules { dates: vec![date("2027-12-24", ""), date("--12-25", ""), date("--12-26", "")], ..new_york() });

    let stretch = stretch("2027-12-24T05:00:00Z", "2027-12-27T05:00:00Z");

    for t in ["2027-12-24T05:00:00Z", "2027-12-25T12:00:00Z", "2027-12-27T04:59:59Z"] {
        assert_eq!(calendar.exclusion_at(at(t)), stretch, "{t}");
    }
}

#[test]
fn a_day_on_which_midnight_does_not_exist_begins_where_the_clock_resumes() {
    let rules = Rules { dates: vec![date("2018-11-04", "")], ..Rules::none(Tz::America__Sao_Paulo) };
    assert_eq!(
        calendar(rules).exclusion_at(at("2018-11-04T03:00:00Z")),
        stretch("2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z")
    );
}

#[test]
fn a_leap_day_of_each_year_is_one_of_leap_years() {
    let calendar = calendar(Rules { dates: vec![date("--02-29", "")], ..Rules::none(Tz::UTC) });
    assert!(calendar.exclusion_at(at("2028-02-29T12:00:00Z")).is_some());
    assert!(calendar.exclusion_at(at("2027-03-01T00:00:00Z")).is_none());
}

#[test]
fn a_time_of_the_week_may_go_on_past_midnight_and_past_sunday() {
    let calendar = calendar(Rules { excluded: vec![time([Sun], 22, 6)], ..Rules::none(Tz::UTC) });
    for (t, is_excluded) in [
        ("2027-01-03T21:59:59Z", false),
        ("2027-01-03T22:00:00Z", true),
        ("2027-01-04T05:59:59Z", true),
        ("2027-01-04T06:00:00Z", false),
    ] {
        assert_eq!(calendar.exclusion_at(at(t)).is_some(), is_excluded, "{t}");
    }
    assert_eq!(calendar.reason_at(at("2027-01-04T05:00:00Z")), "a time of the week that it excludes");
}

#[test]
fn times_that_are_allowed_exclude_all_others() {
    let office = vec![time([Mon, Tue, Wed, Thu, Fri], 9, 17)];
    let calendar = calendar(Rules { allowed: office, ..new_york() });

    let night = calendar.exclusion_at(at("2027-01-05T22:00:00Z"));
    let weekend = calendar.exclusion_at(at("2027-01-09T12:00:00Z"));

    assert_eq!(night, stretch("2027-01-05T22:00:00Z", "2027-01-06T14:00:00Z"));
    let monday = at("2027-01-11T14:00:00Z");
    assert!(weekend.is_some_and(|weekend| weekend.from == at("2027-01-08T22:00:00Z")), "{weekend:?}");
    let rest = calendar.exclusion_at(weekend.unwrap().until);
    assert_eq!(rest.map_or(weekend.unwrap().until, |rest| rest.until), monday);
    assert_eq!(calendar.exclusion_at(at("2027-01-05T14:00:00Z")), None);
    assert_eq!(calendar.reason_at(at("2027-01-05T23:00:00Z")), "outside the times of the week that it allows");
}

#[test]
fn on_other_days_than_business_days_nothing_fires() {
    let business_days = Some([Mon, Tue, Wed, Thu, Fri].into_iter().collect());
    let calendar = calendar(Rules { business_days, ..new_york() });
    assert_eq!(
        calendar.exclusion_at(at("2027-01-09T12:00:00Z")),
        stretch("2027-01-09T05:00:00Z", "2027-01-11T05:00:00Z")
    );
    assert_eq!(calendar.reason_at(at("2027-01-09T12:00:00Z")), "SAT is no business day");
    assert!(business_days.is_some_and(|days| !days.has(Sat)));
}

#[test]
fn maintenance_is_from_one_instant_to_another() {
    let window = Maintenance {
        from: at("2027-01-05T22:00:00Z"),
        until: at("2027-01-06T02:00:00Z"),
        reason: Some("upgrade".to_owned()),
    };
    let calendar = calendar(Rules { maintenance: vec![window], ..new_york() });
    assert_eq!(
        calendar.exclusion_at(at("2027-01-06T01:59:59.999Z")),
        stretch("2027-01-05T22:00:00Z", "2027-01-06T02:00:00Z")
    );
    assert_eq!(calendar.exclusion_at(at("2027-01-06T02:00:00Z")), None);
    assert_eq!(calendar.reason_at(at("2027-01-06T01:00:00Z")), "upgrade");
}

#[test]
fn a_calendar_that_leaves_nothing_of_the_week_is_refused() {
    let halves =
        vec![time([Mon, Tue, Wed, Thu, Fri, Sat, Sun], 0, 12), time([Mon, Tue, Wed, Thu, Fri, Sat, Sun], 12, 24)];
    assert_eq!(Calendar::new(Rules { excluded: halves, ..new_york() }), Err(CalendarRefusal::AllTheTime));
    assert_eq!(
        Calendar::new(Rules { business_days: Some(WeekDays::default()), ..new_york() }),
        Err(CalendarRefusal::AllTheTime)
    );
}

#[test]
fn a_date_is_read_as_it_is_written() {
    for text in ["2027-07-04", "--12-25", "--02-29"] {
        assert_eq!(Date::parse(text).unwrap().to_string(), text);
    }
    for text in [
        "",
        "--",
        "2027-7-4",
        "2027-02-29",
        "--02-30",
        "--2-3",
        "12-25",
        "2027-07-04T00:00:00Z",
        "+027-07-04",
        "--٠٢-٠٣",
    ] {
        assert_eq!(Date::parse(text), None, "{text}");
    }
}

fn any_time() -> impl Strategy<Value = Time> {
    (1_u8..128, 0_u16..48, 1_u16..=48).prop_map(|(days, from, until)| Time {
        days: WeekDays::from_bits(days),
        from: from * 30,
        until: until * 30,
        reason: None,
    })
}

proptest! {
    /// Whoever walks from the end of a stretch to the next sees the same as who asks instant by instant.
    #[test]
    fn a_stretch_is_excluded_from_its_begin_to_its_end(
        zone in prop_oneof![Just(Tz::UTC), Just(Tz::America__New_York), Just(Tz::Australia__Lord_Howe), Just(Tz::America__Sao_Paulo), Just(Tz::Pacific__Apia)],
        excluded in proptest::collection::vec(any_time(), 1..4),
        minutes in proptest::collection::vec(0_i64..(20 * 365 * 1440), 8),
        within in 0_i64..1_000,
    ) {
        let rules = Rules { excluded, dates: vec![date("--12-31", ""), date("--03-14", "")], ..Rules::none(zone) };
        let Ok(calendar) = Calendar::new(rules) else { return Ok(()) };
        for minute in minutes {
            let t = Moment::from_secs(1_262_304_000 + minute * 60);
            let Some(stretch) = calendar.exclusion_at(t) else { continue };
            prop_assert!(stretch.from <= t && t < stretch.until, "{t} {stretch:?}");
            let length = stretch.until.millis() - stretch.from.millis();
            let inside = Moment::from_millis(stretch.from.millis() + (length - 1) * within / 1_000);
            prop_assert!(calendar.exclusion_at(inside).is_some(), "{inside} of {stretch:?} around {t}");
        }
    }
}
