//! The walk, case by case, in zones with unusual clock changes.

use super::*;
use chrono_tz::{TZ_VARIANTS, Tz};

use crate::schedule::spread::Spread;

fn cron(text: &str, zone: Tz) -> Cron {
    Cron::usual(text, zone).unwrap()
}

fn at(text: &str) -> Moment {
    Moment::parse(text).unwrap_or_else(|| panic!("{text}"))
}

/// The local times of the occurrences after `from`, up to and with the day of `until`.
fn fires(text: &str, zone: Tz, from: &str, until: &str) -> Vec<String> {
    let cron = cron(text, zone);
    let occurrences = std::iter::successors(cron.next_after(at(from)), |t| cron.next_after(*t));
    occurrences.map(|t| cron.local(t)).take_while(|local| local.as_str() < until).collect()
}

fn next(text: &str, zone: Tz, from: &str) -> String {
    let cron = cron(text, zone);
    cron.local(cron.next_after(at(from)).unwrap())
}

#[test]
fn the_next_occurrence_is_strictly_after() {
    let noon = "2026-11-20T12:00:00Z";
    assert_eq!(next("0 12 * * *", Tz::UTC, "2026-11-20T11:59:59.999Z"), "2026-11-20T12:00:00+00:00");
    assert_eq!(next("0 12 * * *", Tz::UTC, noon), "2026-11-21T12:00:00+00:00");
    assert_eq!(next("0 12 * * *", Tz::UTC, "2026-11-20T12:00:00.001Z"), "2026-11-21T12:00:00+00:00");
}

#[test]
fn both_day_fields_restricted_mean_either() {
    let fridays_and_the_13th = fires("0 0 13 * FRI", Tz::UTC, "2026-12-01T00:00:00Z", "2026-12-20");
    let days: Vec<_> = fridays_and_the_13th.iter().map(|local| &local[8..10]).collect();
    assert_eq!(days, ["04", "11", "13", "18"]);
}

#[test]
fn a_time_in_a_gap_fires_once_at_the_first_instant_after_it() {
    let gap = |text| fires(text, Tz::America__New_York, "2016-03-13T05:00:00Z", "2016-03-13T04:01");
    assert_eq!(gap("30 2 * * *"), ["2016-03-13T03:00:00-04:00"]);
    assert_eq!(gap("0,30 2,3 * * *"), ["2016-03-13T03:00:00-04:00", "2016-03-13T03:30:00-04:00"]);
    assert_eq!(
        gap("30 1-3 * * *"),
        ["2016-03-13T01:30:00-05:00", "2016-03-13T03:00:00-04:00", "2016-03-13T03:30:00-04:00"]
    );
}

#[test]
fn a_fixed_time_in_an_overlap_fires_in_the_first_pass_only() {
    let overlap = |from| fires("0,30 1 * * *", Tz::America__New_York, from, "2016-11-07T01:10");
    let next_day = "2016-11-07T01:00:00-05:00";
    let first_pass = ["2016-11-06T01:00:00-04:00", "2016-11-06T01:30:00-04:00", next_day];
    assert_eq!(overlap("2016-11-06T04:00:00Z"), first_pass);
    assert_eq!(overlap("2016-11-06T05:59:59Z"), [next_day]);
    assert_eq!(overlap("2016-11-06T06:15:00Z"), [next_day]);
}

#[test]
fn an_interval_in_an_overlap_fires_in_both_passes() {
    let passes = fires("*/30 1 * * *", Tz::America__New_York, "2016-11-06T04:00:00Z", "2016-11-06T23");
    let both = ["01:00:00-04:00", "01:30:00-04:00", "01:00:00-05:00", "01:30:00-05:00"];
    assert_eq!(passes, both.map(|time| format!("2016-11-06T{time}")));
}

#[test]
fn a_time_just_before_the_overlaps_end_is_met_again_even_when_its_hour_is_not_the_first() {
    let lord_howe = fires("45 * * * *", Tz::Australia__Lord_Howe, "2017-04-01T14:00:00Z", "2017-04-02T03");
    let times = ["01:45:00+11:00", "01:45:00+10:30", "02:45:00+10:30"];
    assert_eq!(lord_howe, times.map(|time| format!("2017-04-02T{time}")));
}

/// The local times of a day in New York, from the hour after midnight.
fn in_the_manner(text: &str, manner: Manner, day: &str) -> Vec<String> {
    let cron = Cron::parse(text, manner, Spread::default()).unwrap();
    let begin = at(&format!("{day}T04:30:00Z"));
    let fires = std::iter::successors(cron.next_after(begin), |t| cron.next_after(*t));
    fires
        .map(|t| cron.local(t))
        .take_while(|local| local.starts_with(day))
        .map(|local| local[11..].to_owned())
        .collect()
}

#[test]
fn a_time_in_a_gap_can_be_skipped() {
    let skip = Manner { gap: DstGap::Skip, ..Manner::usual(Tz::America__New_York) };
    let spring = |text| in_the_manner(text, skip, "2016-03-13");
    assert!(spring("30 2 * * *").is_empty());
    assert_eq!(spring("30 1-3 * * *"), ["01:30:00-05:00", "03:30:00-04:00"]);
    assert_eq!(spring("0 2,3 * * *"), ["03:00:00-04:00"], "what is meant for the instant after the gap stays");
    let each_second = Cron::parse("* * 2 * * *", skip, Spread::default()).unwrap();
    assert_eq!(each_second.next_after(at("2016-03-13T06:59:59Z")), Some(at("2016-03-14T06:00:00Z")));
}

#[test]
fn a_day_that_a_zone_skipped_can_be_skipped() {
    let skip = Manner { gap: DstGap::Skip, ..Manner::usual(Tz::Pacific__Apia) };
    let daily = Cron::parse("0 12 * * *", skip, Spread::default()).unwrap();
    let next = daily.next_after(at("2011-12-29T22:00:00Z")).unwrap();
    assert_eq!(daily.local(next), "2011-12-31T12:00:00+14:00");
}

#[test]
fn a_time_that_is_always_in_the_gap_fires_once_the_zone_has_none() {
    let skip = Manner { gap: DstGap::Skip, ..Manner::usual(Tz::America__New_York) };
    let always = Cron::parse("30 2 * 3 SUN#2", skip, Spread::default()).unwrap();
    let next = always.next_after(at("2026-01-01T00:00:00Z"));
    assert!(next.is_none_or(|next| next > at("2037-01-01T00:00:00Z")), "{next:?}");
}

#[test]
fn each_pass_of_an_overlap_can_be_chosen() {
    let autumn = |text, overlap| {
        let manner = Manner { overlap, ..Manner::usual(Tz::America__New_York) };
        in_the_manner(text, manner, "2016-11-06")
    };
    let (first, second) = ("01:30:00-04:00", "01:30:00-05:00");
    for text in ["30 1 * * *", "30/30 1 * * *"] {
        assert_eq!(autumn(text, DstOverlap::First), [first], "{text}");
        assert_eq!(autumn(text, DstOverlap::Second), [second], "{text}");
        assert_eq!(autumn(text, DstOverlap::Both), [first, second], "{text}");
    }
    assert_eq!(autumn("30 1 * * *", DstOverlap::ByKind), [first]);
    assert_eq!(autumn("30/30 1 * * *", DstOverlap::ByKind), [first, second]);
    assert_eq!(autumn("0 1,2 * * *", DstOverlap::Second), ["01:00:00-05:00", "02:00:00-05:00"]);
    assert_eq!(
        autumn("0,30 0-2 * * *", DstOverlap::Second)[..4],
        ["01:00:00-05:00", second, "02:00:00-05:00", "02:30:00-05:00"]
    );
}

#[test]
fn seconds_are_walked_through_an_overlap_like_minutes() {
    let cron = Cron::usual("*/30 0 1 * * *", Tz::America__New_York).unwrap();
    let times: Vec<String> =
        std::iter::successors(cron.next_after(at("2016-11-06T05:00:00Z")), |t| cron.next_after(*t))
            .take(4)
            .map(|t| cron.local(t))
            .collect();
    let expected = ["06T01:00:30-04:00", "06T01:00:00-05:00", "06T01:00:30-05:00", "07T01:00:00-05:00"];
    assert_eq!(times, expected.map(|time| format!("2016-11-{time}")));
}

#[test]
fn an_instant_of_the_wall_is_found_in_the_same_manner() {
    let new_york = Manner::usual(Tz::America__New_York);
    let skip = Manner { gap: DstGap::Skip, ..new_york };
    let second = Manner { overlap: DstOverlap::Second, ..new_york };
    let instant = |manner: Manner, local: &str| manner.instant_of(local.parse().unwrap());
    assert_eq!(instant(new_york, "2026-12-24T18:00:00"), Some(at("2026-12-24T23:00:00Z")));
    assert_eq!(instant(new_york, "2016-03-13T02:30:00"), Some(at("2016-03-13T07:00:00Z")));
    assert_eq!(instant(skip, "2016-03-13T02:30:00"), None);
    assert_eq!(instant(new_york, "2016-11-06T01:30:00"), Some(at("2016-11-06T05:30:00Z")));
    assert_eq!(instant(second, "2016-11-06T01:30:00"), Some(at("2016-11-06T06:30:00Z")));
    assert_eq!(instant(new_york, "1900-01-01T00:00:00"), None, "before moments begin");
}

#[test]
fn midnight_in_sao_paulo_waits_for_the_clock_to_go_on() {
    assert_eq!(next("@daily", Tz::America__Sao_Paulo, "2018-11-03T12:00:00Z"), "2018-11-04T01:00:00-02:00");
}

#[test]
fn the_day_that_apia_skipped_fires_at_its_end() {
    let days = fires("0 12 * * *", Tz::Pacific__Apia, "2011-12-29T12:00:00Z", "2012-01-01");
    let skipped_day = ["2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00", "2011-12-31T12:00:00+14:00"];
    assert_eq!(days, skipped_day);
}

#[test]
fn a_gap_of_odd_seconds_ends_at_its_odd_second() {
    let monrovia = next("30 0 * * *", Tz::Africa__Monrovia, "1972-01-07T00:00:00Z");
    assert_eq!(monrovia, "1972-01-07T00:44:30+00:00");
}

#[test]
fn ramadan_in_casablanca_turns_the_clock_back_and_forth() {
    let zone = Tz::Africa__Casablanca;
    let back = fires("30 2 * * *", zone, "2024-03-09T12:00:00Z", "2024-03-12");
    assert_eq!(back, ["2024-03-10T02:30:00+01:00", "2024-03-11T02:30:00+00:00"]);
    let forth = fires("30 2 * * *", zone, "2024-04-13T12:00:00Z", "2024-04-16");
    assert_eq!(forth, ["2024-04-14T03:00:00+01:00", "2024-04-15T02:30:00+01:00"]);
}

#[test]
fn a_note_shows_the_effect_of_daylight_saving() {
    let zone = Tz::America__New_York;
    let notes = [
        ("30 2 * * *", "2016-03-13T07:00:00Z", Some(Note::Shifted)),
        ("30 2 * * *", "2016-03-14T06:30:00Z", None),
        ("0 3 * * *", "2016-03-13T07:00:00Z", None),
        ("*/30 * * * *", "2016-03-13T07:00:00Z", None),
        ("30 * * * *", "2016-11-06T05:30:00Z", None),
        ("30 * * * *", "2016-11-06T06:30:00Z", Some(Note::Repeated)),
        ("0 * * * *", "2016-11-06T06:00:00Z", Some(Note::Repeated)),
        ("30 * * * *", "2016-11-06T07:30:00Z", None),
        ("30 1 * * *", "2016-11-06T06:30:00Z", None),
        ("30 * * * *", "2016-11-06T06:31:00Z", None),
    ];
    for (text, t, note) in notes {
        assert_eq!(cron(text, zone).note_at(at(t)), note, "{text} at {t}");
    }
}

#[test]
fn nothing_fires_after_the_last_moment_and_the_last_hours_still_do() {
    let yearly = cron("@yearly", Tz::Pacific__Kiritimati);
    let last = at("9999-12-31T10:00:00Z");
    assert_eq!(yearly.next_after(at("9999-06-01T00:00:00Z")), Some(last));
    assert_eq!(yearly.next_after(last), None);
    assert_eq!(cron("* * * * *", Tz::UTC).next_after(Moment::END), None);
    assert_eq!(cron("0 0 29 2 *", Tz::UTC).next_after(at("9996-02-29T00:00:00Z")), None);
}

#[test]
fn every_zone_walks_forward_from_the_first_moment_and_through_a_year() {
    for zone in TZ_VARIANTS {
        for text in ["30 0,1,2,23 * * SUN", "*/45 0-3 * * 0,5"] {
            let cron = cron(text, zone);
            for start in [Moment::EPOCH, at("2011-09-01T00:00:00Z")] {
                let mut t = start;
                for _ in 0..100 {
                    let next = cron.next_after(t).unwrap();
                    assert!(next > t && cron.next_after(next.just_before()) == Some(next), "{zone} {text} {t} {next}");
                    t = next;
                }
            }
        }
    }
}
