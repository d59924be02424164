//! What is understood, what is refused and how it is said, and what the `cron` crate gets wrong without our checks.

use chrono::{DateTime, Datelike, TimeZone};
use chrono_tz::Tz;
use proptest::prelude::*;

use super::super::fields::{EVERY_DAY, EVERY_HOUR, EVERY_MINUTE, EVERY_MONTH, EVERY_WEEKDAY};
use super::*;

fn fields(text: &str) -> Fields {
    expression(text).unwrap_or_else(|error| panic!("{text}: {error}")).0
}

fn kind_of(text: &str) -> Kind {
    expression(text).unwrap().1
}

fn refusal(text: &str) -> (Field, String, String) {
    match expression(text) {
        Err(CronError::Field { field, token, why }) => (field, token, why),
        other => panic!("{text}: {other:?}"),
    }
}

fn bits(members: impl IntoIterator<Item = u32>) -> u64 {
    members.into_iter().fold(0, |mask, member| mask | 1 << member)
}

#[test]
fn stars_and_question_marks_are_every_value() {
    let every = Fields {
        minutes: EVERY_MINUTE,
        hours: EVERY_HOUR,
        days: EVERY_DAY,
        months: EVERY_MONTH,
        weekdays: EVERY_WEEKDAY,
        days_match: DaysMatch::Both,
    };
    for text in ["* * * * *", "* * ? * *", "* * * * ?", "* * ? * ?", "0-59 0-23 ?/1 1-12 */1"] {
        assert_eq!(fields(text), every, "{text}");
    }
}

#[test]
fn lists_ranges_and_steps_are_the_sets_they_say() {
    let minutes: [(&str, Vec<u32>); 8] = [
        ("7", vec![7]),
        ("05", vec![5]),
        ("5,3,5", vec![3, 5]),
        ("10-13", vec![10, 11, 12, 13]),
        ("*/20", vec![0, 20, 40]),
        ("1-30/10", vec![1, 11, 21]),
        ("5/15", vec![5, 20, 35, 50]),
        ("57,20/20,32-34/2", vec![20, 32, 34, 40, 57]),
    ];
    for (minute, members) in minutes {
        assert_eq!(fields(&format!("{minute} * * * *")).minutes, bits(members), "{minute}");
    }
}

#[test]
fn months_and_weekdays_have_names_in_any_case() {
    assert_eq!(u64::from(fields("* * * mar-DEC/3,Jan *").months), bits([1, 3, 6, 9, 12]));
    assert_eq!(u64::from(fields("* * * * mOn,WED").weekdays), bits([1, 3]));
    assert_eq!(u64::from(fields("* * * * tue/2").weekdays), bits([2, 4, 6]));
}

#[test]
fn sunday_is_the_weeks_first_day_and_its_last() {
    let weekdays = [
        ("0", vec![0]),
        ("7", vec![0]),
        ("SUN", vec![0]),
        ("0-7", (0..7).collect()),
        ("4-7", vec![0, 4, 5, 6]),
        ("FRI-SUN", vec![0, 5, 6]),
        ("SUN-TUE", vec![0, 1, 2]),
        ("*/7", vec![0]),
        ("*/5", vec![0, 5]),
        ("1/2", vec![0, 1, 3, 5]),
        ("7/3", vec![0]),
    ];
    for (weekday, members) in weekdays {
        assert_eq!(u64::from(fields(&format!("* * * * {weekday}")).weekdays), bits(members), "{weekday}");
    }
}

#[test]
fn a_shorthand_is_the_expression_it_stands_for() {
    for (shorthand, fields) in SHORTHANDS {
        assert_eq!(expression(shorthand), expression(fields), "{shorthand}");
        assert_eq!(expression(&format!(" {} ", shorthand.to_uppercase())), expression(fields), "{shorthand}");
    }
}

#[test]
fn either_day_field_is_enough_only_where_both_are_restricted() {
    for (text, days_match) in [
        ("0 0 1 * MON", DaysMatch::Either),
        ("0 0 1-31 * MON", DaysMatch::Either),
        ("0 0 1 * *", DaysMatch::Both),
        ("0 0 ? * MON", DaysMatch::Both),
        ("0 0 */2 * MON", DaysMatch::Both),
        ("0 0 1 * */2", DaysMatch::Both),
    ] {
        assert_eq!(fields(text).days_match, days_match, "{text}");
    }
}

#[test]
fn a_rhythm_in_minute_or_hour_makes_an_interval() {
    for fixed in ["0 2 * * *", "0,30 1,2 */2 1-6 MON-FRI", "@daily"] {
        assert_eq!(kind_of(fixed), Kind::Fixed, "{fixed}");
    }
    for interval in ["30 * * * *", "* 2 1 1 *", "0-5 2 * * *", "0 0-23/2 * * *", "5/15 2 * * *", "@hourly"] {
        assert_eq!(kind_of(interval), Kind::Interval, "{interval}");
    }
}

#[test]
fn a_refusal_names_the_field_quotes_the_item_and_says_why() {
    let refused = [
        ("60 * * * *", Field::Minute, "60", "the field takes numbers from 0 to 59"),
        ("1/60 * * * *", Field::Minute, "1/60", "needs a step from 1 to 59"),
        ("1,*/0 * * * *", Field::Minute, "*/0", "needs a step from 1 to 59"),
        ("? * * * *", Field::Minute, "?", "the field takes numbers from 0 to 59"),
        ("* +5 * * *", Field::Hour, "+5", "the field takes numbers from 0 to 23"),
        ("* 0- * * *", Field::Hour, "0-", "is not complete"),
        ("* * ,1 * *", Field::DayOfMonth, ",1", "has nothing before or after a comma"),
        ("* * 1-2-3 * *", Field::DayOfMonth, "1-2-3", "the field takes numbers from 1 to 31"),
        ("* * * 13 *", Field::Month, "13", "the field takes numbers from 1 to 12 and names from JAN to DEC"),
        ("* * * * SUNDAY", Field::DayOfWeek, "SUNDAY", "the field takes numbers from 0 to 7 and names from SUN to SAT"),
    ];
    for (text, field, token, why) in refused {
        assert_eq!(refusal(text), (field, token.to_owned(), why.to_owned()), "{text}");
    }
    let sentence = expression("1/60 * * * *").unwrap_err().to_string();
    assert_eq!(sentence, r#"minute: "1/60" needs a step from 1 to 59"#);
}

#[test]
fn what_belongs_to_the_later_dialect_is_refused_as_such() {
    for text in [
        "* * L * *",
        "* * 15W * *",
        "* * lw * *",
        "* * * * 5L",
        "* * * * friL",
        "* * * * MON#2",
        "H * * * *",
        "H(0-9) * * * *",
    ] {
        assert!(refusal(text).2.contains("L, W, # and H are not understood yet"), "{text}");
    }
    for text in ["50-10 * * * *", "* 22-4 * * *", "* * * NOV-FEB *", "* * * * SAT-TUE", "* * * * 7-2"] {
        assert!(refusal(text).2.contains("wrap around"), "{text}");
    }
    for (text, found) in [("0 0 2 * * *", 6), ("0 0 2 * * * 2027", 7)] {
        let refused = expression(text).unwrap_err();
        assert_eq!(refused, CronError::FieldCount { found });
        assert!(refused.to_string().ends_with("seconds and years are not understood yet"), "{refused}");
    }
}

#[test]
fn a_text_that_is_too_long_is_not_read() {
    let longest = format!("{} * * * *", vec!["1"; 124].join(","));
    assert_eq!(longest.len(), MAX_BYTES - 1);
    assert!(expression(&longest).is_ok());
    assert_eq!(expression(&format!("{longest}  ")), Err(CronError::TooLong { bytes: MAX_BYTES + 1 }));
}

// What the crate does on its own: the reasons for the checks above, and for a walk of our own.

fn crate_reads(text: &str) -> Result<Schedule, cron::error::Error> {
    Schedule::from_str(text)
}

fn crate_next(text: &str, from: &str, zone: Tz) -> DateTime<Tz> {
    let from = DateTime::parse_from_rfc3339(from).unwrap().with_timezone(&zone);
    crate_reads(text).unwrap().after(&from).next().unwrap()
}

#[test]
fn the_crate_counts_weekdays_from_sunday_as_one() {
    let next = crate_next("0 0 0 * * 1", "2026-11-20T00:00:00Z", Tz::UTC);
    assert_eq!(next.weekday(), chrono::Weekday::Sun);
    assert!(crate_reads("0 0 0 * * 0").is_err());
}

#[test]
fn the_crate_wants_a_day_to_be_in_both_day_fields() {
    let next = crate_next("0 0 0 13 * FRI", "2026-11-14T00:00:00Z", Tz::UTC);
    assert_eq!(next, Tz::UTC.with_ymd_and_hms(2027, 8, 13, 0, 0, 0).unwrap());
}

#[test]
fn the_crate_skips_what_falls_into_a_gap() {
    let next = crate_next("0 30 2 * * *", "2016-03-13T00:00:00-05:00", Tz::America__New_York);
    assert_eq!(next.to_rfc3339(), "2016-03-14T02:30:00-04:00");
}

#[test]
fn the_crate_walks_backwards_in_an_overlap() {
    let from = DateTime::parse_from_rfc3339("2016-11-06T01:30:00-05:00").unwrap().with_timezone(&Tz::America__New_York);
    let every_20_minutes = crate_reads("0 */20 * * * *").unwrap();
    let next = every_20_minutes.after(&from).next().unwrap();
    assert!(next <= from, "the crate has learned to go forward: {next}");
}

#[test]
fn the_crate_accepts_what_no_cron_does() {
    for lenient in ["******", "0 0 0 * * SUNDAY", "0 0 0 * * thurs", "0 1 , 2 0 * * *", "0 0 0 30 2 *", "0\n0\r0 * * *"]
    {
        assert!(crate_reads(lenient).is_ok(), "{lenient}");
    }
    for lenient in ["*****", "0 0 * * SUNDAY", "0 0 * * thurs", "1 , 2 0 * * *", "0\n0\r* * *"] {
        assert!(expression(lenient).is_err(), "{lenient}");
    }
}

#[test]
fn the_crate_does_not_know_what_we_translate() {
    for unknown in ["0 0 0 * * TUE/2", "0 0 0 * JAN/3 *", "0 0 0 * * FRI-SUN", "@midnight", "@annually", "@DAILY"] {
        assert!(crate_reads(unknown).is_err(), "{unknown}");
    }
}

proptest! {
    #[test]
    fn hostile_text_is_refused_or_read_but_never_a_panic(text in "\\PC{0,300}") {
        let _ = expression(&text);
    }

    #[test]
    fn text_made_of_crons_own_letters_never_reaches_the_crate_unchecked(
        text in "([0-9*/,?LWH#@-]|JAN|mon|SUN| |\t){0,60}",
    ) {
        let refused_by_the_crate = matches!(expression(&text), Err(CronError::Parser { .. }));
        prop_assert!(!refused_by_the_crate);
    }

    #[test]
    fn five_tokens_of_crons_own_letters_never_reach_the_crate_unchecked(
        tokens in prop::collection::vec("([0-9]{1,3}|[*?])(-[0-9]{1,2})?(/[0-9]{1,2})?(,[0-9]{1,2})?", 5),
    ) {
        let refused_by_the_crate = matches!(expression(&tokens.join(" ")), Err(CronError::Parser { .. }));
        prop_assert!(!refused_by_the_crate);
    }
}
