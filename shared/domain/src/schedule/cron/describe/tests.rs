use chrono_tz::Tz;

use super::super::{DayRule, DstGap, DstOverlap, Manner};
use super::*;
use crate::schedule::Spread;

fn described(text: &str, manner: Manner) -> String {
    let now = Moment::parse("2026-11-20T12:00:00Z").unwrap();
    Cron::parse(text, manner, Spread::default()).unwrap().describe(now)
}

#[test]
fn an_expression_is_described_in_plain_words() {
    let expected = [
        ("0 2 1 * *", "at 02:00 on the 1st of every month"),
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("@hourly", "at minute 0 of every hour"),
        ("5,35 * * * *", "at minutes 5 and 35 of every hour"),
        ("@daily", "at 00:00 every day"),
        ("@weekly", "at 00:00 on every Sunday"),
        ("@yearly", "at 00:00 on the 1st of January"),
        ("30 8,14 * * MON-FRI", "at 08:30 and 14:30 on every Monday to Friday"),
        ("*/10 9-17 * * *", "every 10 minutes in hours 9 to 17 every day"),
        ("* 3 * * *", "every minute in hour 3 every day"),
        ("1-10 */6 * JUN *", "at minutes 1 to 10 in hours 0, 6, 12 and 18 every day in June"),
        ("* * * 6-8 *", "every minute in June, July and August"),
        ("0 0 2,3,11-13,22,31 * *", "at 00:00 on the 2nd, 3rd, 11th to 13th, 22nd and 31st of every month"),
        ("0 12 13 * FRI", "at 12:00 on the 13th or any Friday of every month"),
        ("0 12 13 1,7 5,6", "at 12:00 on the 13th or any Friday or Saturday of January and July"),
        ("0 0 */15 * 1", "at 00:00 on the 1st, 16th and 31st of every month, only where that is a Monday"),
        ("0 0 1-31 * MON", "at 00:00 every day"),
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("15 30 4 * * *", "at 04:30:15 every day"),
        ("*/10 0-5 4 * * *", "every 10 seconds in minutes 0 to 5 of hour 4 every day"),
        ("7 * 4 * * *", "at second 7 in hour 4 every day"),
        ("0 2 LW * *", "at 02:00 on the last weekday of every month"),
        ("0 2 L * *", "at 02:00 on the last day of every month"),
        (
            "0 2 L-1,L-3,1 * *",
            "at 02:00 on the 1st, the day before the last and the day 3 days before the last of every month",
        ),
        ("0 2 15W JAN *", "at 02:00 on the weekday nearest the 15th of January"),
        ("0 2 * * FRIL", "at 02:00 on the last Friday of every month"),
        ("0 2 * * MON#1,MON#3", "at 02:00 on the first Monday and the third Monday of every month"),
        ("0 2 * * WED,FRIL", "at 02:00 on any Wednesday and the last Friday of every month"),
        ("0 2 13 * FRI#2", "at 02:00 on the 13th or the second Friday of every month"),
        ("0 0 2 1 JAN ? 2027,2030-2032", "at 02:00 on the 1st of January in 2027 and 2030 to 2032"),
    ];
    for (text, words) in expected {
        assert_eq!(described(text, Manner::usual(Tz::Asia__Tokyo)), format!("{words}, Tokyo time"), "{text}");
    }
}

#[test]
fn a_zone_is_described_by_its_city() {
    let zones = [
        (Tz::UTC, "UTC time"),
        (Tz::America__Argentina__Buenos_Aires, "Buenos Aires time"),
        (Tz::Etc__GMTPlus5, "Etc/GMT+5 time"),
    ];
    for (zone, words) in zones {
        assert_eq!(described("@daily", Manner::usual(zone)), format!("at 00:00 every day, {words}"));
    }
}

#[test]
fn clock_changes_that_affect_a_time_of_day_are_described() {
    let new_york = Manner::usual(Tz::America__New_York);
    let told_of = |text, manner| {
        let words = described(text, manner);
        words.split_once("time").unwrap().1.to_owned()
    };
    let cases = [
        ("0 2 LW * *", new_york, "; in the spring gap at 03:00"),
        ("0 2 * * *", Manner { gap: DstGap::Skip, ..new_york }, "; not in the spring gap"),
        ("30 1 * * *", new_york, "; in the autumn overlap the first time"),
        ("30 1 * * *", Manner { overlap: DstOverlap::Second, ..new_york }, "; in the autumn overlap the second time"),
        ("30 1 * * *", Manner { overlap: DstOverlap::Both, ..new_york }, "; in the autumn overlap both times"),
        ("30 1,2 * * *", new_york, "; in the spring gap at 03:00; in the autumn overlap the first time"),
        ("0 3 * * *", new_york, ""),
        ("*/5 * * * *", new_york, ""),
        ("0 2 * * *", Manner::usual(Tz::Australia__Lord_Howe), "; in the spring gap at 02:30"),
        ("30 23 * * *", Manner::usual(Tz::Africa__Cairo), "; in the autumn overlap the first time"),
        ("0 0 * * *", Manner::usual(Tz::Africa__Cairo), "; in the spring gap at 01:00"),
        (
            "30 2 * * *",
            Manner::usual(Tz::Africa__Casablanca),
            "; in the spring gap at 03:00; in the February overlap the first time",
        ),
        ("30 2 * * *", Manner::usual(Tz::Asia__Tokyo), ""),
    ];
    for (text, manner, words) in cases {
        assert_eq!(told_of(text, manner), words, "{text} {manner:?}");
    }
}

#[test]
fn both_day_fields_together_are_described_as_a_condition() {
    let manner = Manner { days: DayRule::Both, ..Manner::usual(Tz::UTC) };
    assert_eq!(
        described("0 0 13 * FRI", manner),
        "at 00:00 on the 13th of every month, only where that is a Friday, UTC time"
    );
    assert_eq!(
        described("0 0 1-7 * MON#1,TUEL", manner),
        "at 00:00 on the 1st to 7th of every month, only where that is the first Monday or the last Tuesday, UTC time"
    );
}
