//! Accepted texts, refused texts with their messages, and the errors of the `cron` crate without the checks.

use chrono::{DateTime, Datelike, TimeZone};
use chrono_tz::Tz;
use proptest::prelude::*;

use super::*;
use crate::id::JobId;

fn read(text: &str) -> Result<Meaning, CronError> {
    expression(text, DayRule::Either, Spread::default())
}

fn fields(text: &str) -> Fields {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}")).fields
}

fn kind_of(text: &str) -> Kind {
    read(text).unwrap().kind
}

fn refusal(text: &str) -> (Field, String, String) {
    match read(text) {
        Err(CronError::Field { field, token, why, .. }) => (field, token, why),
        other => panic!("{text}: {other:?}"),
    }
}

fn bits(members: impl IntoIterator<Item = u32>) -> u64 {
    members.into_iter().fold(0, |mask, member| mask | 1 << member)
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn stars_and_question_marks_are_every_value() {
    let every = Fields { seconds: 1, ..Fields::EVERY_SECOND };
    for text in
        ["* * * * *", "* * ? * *", "* * * * ?", "* * ? * ?", "0-59 0-23 ?/1 1-12 */1", "0 * * * * *", "0 * * ? * ? *"]
    {
        assert_eq!(fields(text), every, "{text}");
    }
    assert_eq!(fields("* * * * * *"), Fields::EVERY_SECOND);
}

#[test]
fn lists_ranges_and_steps_become_sets() {
    let minutes: [(&str, Vec<u32>); 10] = [
        ("7", vec![7]),
        ("05", vec![5]),
        ("5,3,5", vec![3, 5]),
        ("10-13", vec![10, 11, 12, 13]),
        ("*/20", vec![0, 20, 40]),
        ("1-30/10", vec![1, 11, 21]),
        ("5/15", vec![5, 20, 35, 50]),
        ("57,20/20,32-34/2", vec![20, 32, 34, 40, 57]),
        ("58-1", vec![0, 1, 58, 59]),
        ("57-5/3", vec![0, 3, 57]),
    ];
    for (minute, members) in minutes {
        assert_eq!(fields(&format!("{minute} * * * *")).minutes, bits(members), "{minute}");
    }
}

#[test]
fn months_and_weekdays_have_names_in_any_case() {
    assert_eq!(u64::from(fields("* * * mar-DEC/3,Jan *").months), bits([1, 3, 6, 9, 12]));
    assert_eq!(u64::from(fields("* * * * mOn,WED").weekdays.weekly), bits([1, 3]));
    assert_eq!(u64::from(fields("* * * * tue/2").weekdays.weekly), bits([2, 4, 6]));
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
        ("FRI-MON", vec![0, 1, 5, 6]),
        ("7-2", vec![0, 1, 2]),
        ("sat-tue/2", vec![1, 6]),
        ("6-5", (0..7).collect()),
    ];
    for (weekday, members) in weekdays {
        assert_eq!(u64::from(fields(&format!("* * * * {weekday}")).weekdays.weekly), bits(members), "{weekday}");
    }
}

#[test]
fn a_shorthand_is_the_expression_it_stands_for() {
    for (shorthand, fields) in SHORTHANDS {
        assert_eq!(read(shorthand), read(fields), "{shorthand}");
        assert_eq!(read(&format!(" {} ", shorthand.to_uppercase())), read(fields), "{shorthand}");
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
fn a_range_or_step_in_minute_or_hour_makes_an_interval() {
    for fixed in ["0 2 * * *", "0,30 1,2 */2 1-6 MON-FRI", "@daily", "15 0,30 1 L * *", "H H(1-5) * * *"] {
        assert_eq!(kind_of(fixed), Kind::Fixed, "{fixed}");
    }
    for interval in [
        "30 * * * *",
        "* 2 1 1 *",
        "0-5 2 * * *",
        "0 0-23/2 * * *",
        "5/15 2 * * *",
        "@hourly",
        "* 0 2 * * *",
        "0/30 0 2 * * *",
        "H/15 2 * * *",
    ] {
        assert_eq!(kind_of(interval), Kind::Interval, "{interval}");
    }
}

#[test]
fn a_refusal_names_the_field_quotes_the_item_and_says_why() {
    let refused = [
        ("60 * * * *", Field::Minute, "60", "takes numbers from 0 to 59"),
        ("1/60 * * * *", Field::Minute, "1/60", "needs a step from 1 to 59"),
        ("1,*/0 * * * *", Field::Minute, "*/0", "needs a step from 1 to 59"),
        ("? * * * *", Field::Minute, "?", "takes numbers from 0 to 59"),
        ("61 * * * * *", Field::Second, "61", "takes numbers from 0 to 59"),
        ("* +5 * * *", Field::Hour, "+5", "takes numbers from 0 to 23"),
        ("* 0- * * *", Field::Hour, "0-", "is not complete"),
        ("* L * * *", Field::Hour, "L", "takes numbers from 0 to 23"),
        ("* * ,1 * *", Field::DayOfMonth, ",1", "has nothing before or after a comma"),
        ("* * 1-2-3 * *", Field::DayOfMonth, "1-2-3", "takes numbers from 1 to 31"),
        ("* * 1,2W * *", Field::DayOfMonth, "2W", "stands in a list"),
        ("* * 1-2W * *", Field::DayOfMonth, "1-2W", "W goes with one day alone"),
        ("* * W * *", Field::DayOfMonth, "W", "W goes with one day alone"),
        ("* * 1LW * *", Field::DayOfMonth, "1LW", "W goes with one day alone"),
        ("* * L-31 * *", Field::DayOfMonth, "L-31", "L-1 to L-30"),
        ("* * L3 * *", Field::DayOfMonth, "L3", "L-1 to L-30"),
        ("* * * 13 *", Field::Month, "13", "takes numbers from 1 to 12 and names from JAN to DEC"),
        ("* * * * SUNDAY", Field::DayOfWeek, "SUNDAY", "takes numbers from 0 to 7 and names from SUN to SAT"),
        ("* * * * L", Field::DayOfWeek, "L", "needs its weekday"),
        ("* * * * MON#6", Field::DayOfWeek, "MON#6", "# goes from 1 to 5"),
        ("* * * * MON#03", Field::DayOfWeek, "MON#03", "# goes from 1 to 5"),
        ("* * * * #2", Field::DayOfWeek, "#2", "is not complete"),
        ("* * * * 8L", Field::DayOfWeek, "8L", "takes numbers from 0 to 7"),
        ("0 0 0 1 1 * 1969", Field::Year, "1969", "takes numbers from 1970 to 2199"),
        ("0 0 0 1 1 * 2030-2027", Field::Year, "2030-2027", "runs backwards"),
        ("0 0 0 1 1 * H", Field::Year, "H", "would put the year anywhere"),
        ("H(0-29 * * * *", Field::Minute, "H(0-29", "is not complete"),
        ("H(30-9) * * * *", Field::Minute, "H(30-9)", "runs forward"),
        ("H(5) * * * *", Field::Minute, "H(5)", "runs forward"),
        ("H(0-9)/11 * * * *", Field::Minute, "H(0-9)/11", "needs a step from 1 to 10"),
        ("H/60 * * * *", Field::Minute, "H/60", "needs a step from 1 to 59"),
        ("0 H/24 * * *", Field::Hour, "H/24", "needs a step from 1 to 23"),
        ("* * * * H(1-7)", Field::DayOfWeek, "H(1-7)", "runs forward"),
    ];
    for (text, field, token, why) in refused {
        let (at, quoted, message) = refusal(text);
        assert_eq!((at, quoted.as_str()), (field, token), "{text}");
        assert!(message.contains(why), "{text}: {message}");
    }
    assert_eq!(message("1/60 * * * *"), r#"minute: "1/60" needs a step from 1 to 59"#);
}

#[test]
fn a_refusal_suggests_a_correction() {
    let meant = [
        ("60 * * * *", "did you mean 0?"),
        ("0 24 * * *", "did you mean 0?"),
        ("0 22-24 * * *", "did you mean 22-23?"),
        ("0-60/5 * * * *", "did you mean 0-59/5?"),
        ("? * * * *", "did you mean *?"),
        ("*/90 * * * *", "did you mean @every 90m?"),
        ("0 */36 * * *", "did you mean @every 36h?"),
        ("0 0 * * SUNDAY", "did you mean SUN?"),
        ("0 0 * * thurs", "did you mean THU?"),
        ("0 0 * january-MAR *", "did you mean JAN-MAR?"),
        ("0 0 * * MONDAY#2", "did you mean MON#2?"),
        ("0 0 * * L", "did you mean SATL?"),
        ("0 0 1 1 * 2027", r#"did you mean "0 0 0 1 1 * 2027"?"#),
        ("@dayly", "did you mean @daily?"),
        ("@weekl", "did you mean @weekly?"),
    ];
    for (text, suggestion) in meant {
        let message = message(text);
        assert!(message.ends_with(suggestion), "{text}: {message}");
    }
    for text in ["61 * * * *", "* * 32 * *", "@fortnightly", "* * * * XYZ", "@reboot"] {
        assert!(!message(text).contains("did you mean"), "{}", message(text));
    }
}

#[test]
fn days_counted_back_and_weekdays_near_a_date_are_kept_apart_from_dates() {
    let none = DaysOfMonth::default();
    let days = [
        ("L", DaysOfMonth { from_last: 1, ..none }),
        ("l-3", DaysOfMonth { from_last: 1 << 3, ..none }),
        ("1,15,L,L-1", DaysOfMonth { dates: 1 << 1 | 1 << 15, from_last: 0b11, ..none }),
        ("LW", DaysOfMonth { near_from_last: 1, ..none }),
        ("L-3w", DaysOfMonth { near_from_last: 1 << 3, ..none }),
        ("15W", DaysOfMonth { near: 1 << 15, ..none }),
        ("20-5/5", DaysOfMonth { dates: 1 << 4 | 1 << 20 | 1 << 25 | 1 << 30, ..none }),
    ];
    for (text, expected) in days {
        assert_eq!(fields(&format!("* * {text} * *")).days, expected, "{text}");
    }
}

#[test]
fn weekdays_of_a_month_are_kept_apart_from_those_of_each_week() {
    let none = DaysOfWeek::default();
    let weekdays = [
        ("5L", DaysOfWeek { last: 1 << 5, ..none }),
        ("friL,SUNL", DaysOfWeek { last: 1 << 5 | 1, ..none }),
        ("7L", DaysOfWeek { last: 1, ..none }),
        ("MON#2", DaysOfWeek { nth: [0, 1 << 1, 0, 0, 0], ..none }),
        ("7#1", DaysOfWeek { nth: [1, 0, 0, 0, 0], ..none }),
        ("1#1,1#3,WED", DaysOfWeek { weekly: 1 << 3, nth: [1 << 1, 0, 1 << 1, 0, 0], ..none }),
    ];
    for (text, expected) in weekdays {
        assert_eq!(fields(&format!("* * * * {text}")).weekdays, expected, "{text}");
    }
}

#[test]
fn months_and_hours_wrap_around() {
    assert_eq!(u64::from(fields("* * * NOV-FEB *").months), bits([1, 2, 11, 12]));
    assert_eq!(u64::from(fields("* 22-4/2 * * *").hours), bits([0, 2, 4, 22]));
}

#[test]
fn the_seventh_field_lists_years() {
    let years = |text: &str| fields(&format!("0 0 0 1 1 * {text}")).years;
    assert_eq!(years("2027"), Years::of([2027]));
    assert_eq!(years("2027-2031/2,2199"), Years::of([2027, 2029, 2031, 2199]));
    assert_eq!(years("2190/5"), Years::of([2190, 2195]));
    assert_eq!(years("*"), Years::EVERY);
}

fn spread(text: &str, n: u8) -> Meaning {
    expression(text, DayRule::Either, Spread::of(JobId::from_bytes([n; 16]))).unwrap()
}

#[test]
fn h_is_one_value_of_its_range_for_each_job() {
    let mut minutes = 0;
    for n in 0..=255 {
        let Meaning { fields, is_spread, .. } = spread("H H(1-5) H * H", n);
        assert!(is_spread && fields == spread("H H(1-5) H * H", n).fields);
        let places = [fields.minutes, fields.hours.into(), fields.days.dates.into(), fields.weekdays.weekly.into()];
        assert_eq!(places.map(u64::count_ones), [1; 4]);
        assert!(u64::from(fields.hours) & bits(1..=5) != 0 && u64::from(fields.days.dates) & bits(1..=28) != 0);
        minutes |= fields.minutes;
    }
    assert!(minutes.count_ones() > 50, "{minutes:b}");
    assert!(!spread("0 0 * MAR THU", 1).is_spread);
}

#[test]
fn h_with_a_step_begins_anywhere_in_the_first_step() {
    for n in 0..=255 {
        let minutes = spread("H(0-29)/10 * * * *", n).fields.minutes;
        let first = minutes.trailing_zeros();
        assert!(first < 10 && minutes == bits([first, first + 10, first + 20]), "{minutes:b}");
        assert_eq!(spread("H/15 * * * *", n).fields.minutes.count_ones(), 4);
        assert_eq!(spread("H,30 * * * *", n).fields.minutes | 1 << 30, spread("H,30 * * * *", n).fields.minutes);
    }
}

#[test]
fn event_bridge_counts_weekdays_from_one_and_has_the_year_last() {
    let same = [
        ("cron(0 10 * * ? *)", "0 10 * * *"),
        ("cron(15 12 * * ? *)", "15 12 * * *"),
        ("cron(0 18 ? * MON-FRI *)", "0 18 * * 1-5"),
        ("CRON(0 8 1 * ? *)", "0 8 1 * *"),
        ("cron(0/15 * * * ? *)", "0/15 * * * *"),
        ("cron(0/5 8-17 ? * 2-6 *)", "0/5 8-17 * * MON-FRI"),
        ("cron(0 9 ? * 2#1 *)", "0 9 * * MON#1"),
        ("cron(0 9 ? * 2/2 *)", "0 9 * * MON,WED,FRI"),
        ("cron(0 9 ? * MON/3 *)", "0 9 * * MON,THU"),
        ("cron(0 9 ? * */2 *)", "0 9 * * SUN,TUE,THU,SAT"),
        ("cron(0 0 ? * 6L *)", "0 0 * * FRIL"),
        ("cron(0 0 ? * L *)", "0 0 * * SAT"),
        ("cron(0 0 LW * ? 2027-2028)", "0 0 0 LW * * 2027-2028"),
        (" cron( 0 0 ? * 1 * ) ", "0 0 * * SUN"),
    ];
    for (theirs, ours) in same {
        assert_eq!(read(theirs), read(ours), "{theirs}");
    }
    let refused = [
        ("cron(0 10 * * ?)", "has 6 fields"),
        ("cron(0 0 0 10 * * ?)", "has 6 fields"),
        ("cron(0 0 1 * MON *)", "wants a ? in one of the two"),
        ("cron(0 0 ? * 0 *)", "numbers from 1 to 7"),
        ("cron(0 0 ? * 8 *)", "numbers from 1 to 7"),
        ("cron(0 10 * * ? *", "from 0 to 59"),
    ];
    for (text, why) in refused {
        assert!(message(text).contains(why), "{text}: {}", message(text));
    }
}

#[test]
fn the_number_of_fields_says_which_they_are() {
    for (text, found) in [("", 0), ("* * * *", 4), ("* * * * * * * *", 8)] {
        assert_eq!(read(text), Err(CronError::FieldCount { found }), "{text}");
    }
}

#[test]
fn a_text_that_is_too_long_is_not_read() {
    let longest = format!("{} * * * *", vec!["1"; 124].join(","));
    assert_eq!(longest.len(), MAX_BYTES - 1);
    assert!(read(&longest).is_ok());
    assert_eq!(read(&format!("{longest}  ")), Err(CronError::TooLong { bytes: MAX_BYTES + 1 }));
}

// The crate's own behaviour: the reasons for the checks above, and for a walk of our own.

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
        assert!(read(lenient).is_err(), "{lenient}");
    }
}

#[test]
fn the_crate_does_not_know_what_we_translate() {
    for unknown in [
        "0 0 0 * * TUE/2",
        "0 0 0 * JAN/3 *",
        "0 0 0 * * FRI-SUN",
        "0 58-1 * * * *",
        "0 0 0 L * *",
        "0 0 0 15W * *",
        "0 0 0 * * FRIL",
        "0 0 0 * * MON#2",
        "0 H * * * *",
        "@midnight",
        "@annually",
        "@DAILY",
    ] {
        assert!(crate_reads(unknown).is_err(), "{unknown}");
    }
}

/// Texts that once broke the parser: a cut inside a letter of two bytes, a month that was over, a step past the field's end.
#[test]
fn texts_that_once_broke_the_parser_are_refused() {
    for text in
        ["0 0 1 1 * 202é", "é é é é é é", "0 0 * * MOé", "@éé", "cron(é)", "Hé * * * *", "é/2 * * * *", "0 0 éW * *"]
    {
        assert!(read(text).is_err(), "{text}");
    }
    for text in ["0 0 29 2 *", "0 0 0 1 1 * 2027,2030", "59/59 * * * *", "* * * * 7/7", "0 0 31/31 12/12 *"] {
        assert!(read(text).is_ok_and(|meaning| meaning.fields.ever()), "{text}");
    }
}

proptest! {
    #[test]
    fn hostile_text_is_refused_or_read_but_never_a_panic(text in "\\PC{0,300}") {
        let _ = read(&text);
    }

    #[test]
    fn hostile_fields_are_refused_or_read_but_never_a_panic(tokens in prop::collection::vec("[0-9HLW#/(),*?-]{0,3}\\PC{0,3}", 4..9)) {
        let _ = read(&tokens.join(" "));
        let _ = read(&format!("cron({})", tokens.join(" ")));
    }

    #[test]
    fn text_made_of_crons_own_letters_never_reaches_the_crate_unchecked(
        text in "(cron\\(|)([0-9*/,?LWH#()@-]|JAN|mon|SUN|L-|W| |\t){0,60}\\)?",
    ) {
        let refused_by_the_crate = matches!(read(&text), Err(CronError::Parser { .. }));
        prop_assert!(!refused_by_the_crate);
    }

    #[test]
    fn tokens_of_crons_own_letters_never_reach_the_crate_unchecked(
        tokens in prop::collection::vec(
            "([0-9]{1,4}|[*?LH]|H\\([0-9]-[0-9]{1,2}\\))(-[0-9]{1,4})?([LW]|#[0-9])?(/[0-9]{1,2})?(,[0-9]{1,2})?", 5..8,
        ),
    ) {
        let refused_by_the_crate = matches!(read(&tokens.join(" ")), Err(CronError::Parser { .. }));
        prop_assert!(!refused_by_the_crate);
    }
}
