use super::*;

fn every_minute() -> Fields {
    Fields { seconds: 1, ..Fields::EVERY_SECOND }
}

fn midnight() -> Fields {
    Fields { minutes: 1, hours: 1, ..every_minute() }
}

fn on_dates(dates: u32) -> DaysOfMonth {
    DaysOfMonth { dates, ..DaysOfMonth::default() }
}

fn on_weekdays(weekly: u8) -> DaysOfWeek {
    DaysOfWeek { weekly, ..DaysOfWeek::default() }
}

fn at(text: &str) -> NaiveDateTime {
    text.parse().unwrap()
}

#[test]
fn a_whole_minute_matches_itself_and_the_next_one_comes_after_it() {
    let noon = at("2026-11-20T12:00:00");
    assert_eq!(every_minute().at_or_after(noon), Some(noon));
    assert_eq!(every_minute().after(noon), Some(at("2026-11-20T12:01:00")));
    assert_eq!(every_minute().at_or_after(at("2026-11-20T12:00:00.001")), Some(at("2026-11-20T12:01:00")));
    assert_eq!(Fields::EVERY_SECOND.after(noon), Some(at("2026-11-20T12:00:01")));
    assert_eq!(Fields::EVERY_SECOND.at_or_after(at("2026-12-31T23:59:59.5")), Some(at("2027-01-01T00:00:00")));
}

#[test]
fn a_second_is_looked_for_in_its_minute_then_in_its_hour_then_in_its_day() {
    let fields = Fields { seconds: 1 << 5 | 1 << 50, minutes: 1 << 10, hours: 1 << 3 | 1 << 4, ..Fields::EVERY_SECOND };
    let steps = ["03:10:05", "03:10:50", "04:10:05", "04:10:50"].map(|time| at(&format!("2026-11-20T{time}")));
    let mut t = at("2026-11-20T00:00:00");
    for step in steps {
        t = fields.after(t).unwrap();
        assert_eq!(t, step);
    }
    assert_eq!(fields.after(t), Some(at("2026-11-21T03:10:05")));
}

#[test]
fn a_span_of_times_may_go_over_midnight() {
    let quarter_past = Fields { minutes: 1 << 15, hours: 1, ..every_minute() };
    let time = |text: &str| text.parse::<NaiveTime>().unwrap();
    assert!(quarter_past.any_time_in(time("00:00:00"), time("01:00:00")));
    assert!(quarter_past.any_time_in(time("23:30:00"), time("00:30:00")));
    assert!(!quarter_past.any_time_in(time("23:00:00"), time("00:15:00")));
    assert!(!quarter_past.any_time_in(time("00:16:00"), time("12:00:00")));
}

#[test]
fn both_means_in_both_sets_and_either_means_in_one() {
    let both = Fields { days: on_dates(1 << 13), weekdays: on_weekdays(1 << 5), ..midnight() };
    let either = Fields { days_match: DaysMatch::Either, ..both };
    let from = at("2026-11-01T00:00:00");
    assert_eq!(both.at_or_after(from), Some(at("2026-11-13T00:00:00")));
    assert_eq!(both.after(at("2026-11-13T00:00:00")), Some(at("2027-08-13T00:00:00")));
    assert_eq!(either.at_or_after(from), Some(at("2026-11-06T00:00:00")));
}

#[test]
fn a_leap_day_waits_for_its_year_even_over_the_century() {
    let leap_day = Fields { days: on_dates(1 << 29), months: 1 << 2, ..midnight() };
    assert_eq!(leap_day.at_or_after(at("2026-01-01T00:00:00")), Some(at("2028-02-29T00:00:00")));
    assert_eq!(leap_day.after(at("2096-02-29T00:00:00")), Some(at("2104-02-29T00:00:00")));
}

#[test]
fn listed_years_are_the_only_ones() {
    let twice = Fields { years: Years::of([2027, 2030]), days: on_dates(1 << 1), months: 1 << 1, ..midnight() };
    assert_eq!(twice.at_or_after(at("2026-05-05T05:05:05")), Some(at("2027-01-01T00:00:00")));
    assert_eq!(twice.after(at("2027-01-01T00:00:00")), Some(at("2030-01-01T00:00:00")));
    assert_eq!(twice.after(at("2030-01-01T00:00:00")), None);
}

#[test]
fn an_expression_that_never_fires_is_recognized() {
    let thirtieth_of_february = Fields { days: on_dates(1 << 30), months: 1 << 2, ..midnight() };
    let leap_day_of_a_common_year =
        Fields { days: on_dates(1 << 29), months: 1 << 2, years: Years::of([2026, 2100]), ..midnight() };
    let seventh_as_a_second_sunday = Fields {
        days: on_dates(1 << 7),
        weekdays: DaysOfWeek { nth: [0, 1, 0, 0, 0], ..DaysOfWeek::default() },
        ..midnight()
    };
    for never in [thirtieth_of_february, leap_day_of_a_common_year, seventh_as_a_second_sunday] {
        assert!(!never.ever(), "{never:?}");
        assert_eq!(never.at_or_after(at("2026-01-01T00:00:00")), None);
    }
    let leap_sunday = Fields { days: on_dates(1 << 29), months: 1 << 2, weekdays: on_weekdays(1), ..midnight() };
    assert!(leap_sunday.ever());
    assert_eq!(leap_sunday.after(at("2088-02-29T00:00:00")), Some(at("2128-02-29T00:00:00")), "over the century");
}

#[test]
fn the_walk_ends_where_moments_end() {
    let leap_day = Fields { days: on_dates(1 << 29), months: 1 << 2, ..midnight() };
    assert_eq!(leap_day.after(at("9996-02-29T00:00:00")), Some(NaiveDate::from_ymd_opt(10_000, 2, 29).unwrap().into()));
    assert_eq!(leap_day.after(NaiveDate::from_ymd_opt(10_000, 2, 29).unwrap().into()), None);
}

#[test]
fn masks_that_no_parser_makes_never_fire_and_never_panic() {
    let nothing = Fields { minutes: 0, ..every_minute() };
    let too_much = Fields { minutes: 1 << 63, hours: 1 << 31, ..every_minute() };
    assert_eq!(nothing.at_or_after(at("2026-01-01T00:00:00")), None);
    assert_eq!(too_much.at_or_after(at("2026-01-01T00:00:00")), None);
}
