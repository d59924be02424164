//! Dates from an iCalendar file (RFC 5545): its all-day events, once or each year. What is not understood is told of, one by one, and never
//! guessed: a holiday that silently fell out would be found out on that day.

use chrono::{Datelike as _, NaiveDate};
use thiserror::Error;

use super::{Date, ExcludedDate, dates_up_to};
use crate::limits::{CALENDAR_DATES, ICS_BYTES, REASON_CHARS};

/// How deep components lie in each other: a calendar, an event, an alarm.
const DEPTH: usize = 8;
/// What is not understood is told of up to here.
const PASSED_OVER: usize = 100;
/// An event of more days is a mistake.
const DAYS: usize = 366;

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub dates: Vec<ExcludedDate>,
    /// Events that are none of ours, or that are not understood.
    pub passed_over: Vec<PassedOver>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// The event's summary.
    pub event: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAnIcs {
    #[error("at most {ICS_BYTES} bytes")]
    TooLong,
    #[error("this does not begin with BEGIN:VCALENDAR")]
    NoCalendar,
    #[error("line {line}: {what}")]
    Broken { line: usize, what: &'static str },
    #[error("more than {CALENDAR_DATES} dates")]
    TooManyDates,
}

/// An event as it is read, a line of it after the other.
#[derive(Default)]
struct Event {
    summary: Option<String>,
    start: Option<Result<NaiveDate, String>>,
    end: Option<Result<NaiveDate, String>>,
    rule: Option<String>,
    is_cancelled: bool,
    /// A property that would change what the event means.
    not_understood: Option<&'static str>,
}

/// A line, in its parts.
struct Line<'a> {
    name: String,
    params: &'a str,
    value: &'a str,
}

pub fn parse(text: &str) -> Result<Imported, NotAnIcs> {
    if text.len() > ICS_BYTES {
        return Err(NotAnIcs::TooLong);
    }
    let lines = unfolded(text);
    if lines.is_empty() {
        return Err(NotAnIcs::NoCalendar);
    }
    let mut imported = Imported::default();
    let (mut open, mut event): (Vec<String>, Option<Event>) = (Vec::new(), None);
    for (line, text) in lines {
        let broken = |what| NotAnIcs::Broken { line, what };
        let read = Line::of(&text).ok_or_else(|| broken("this has no colon"))?;
        match (read.name.as_str(), open.len()) {
            ("BEGIN", 0) if !read.value.eq_ignore_ascii_case("VCALENDAR") => return Err(NotAnIcs::NoCalendar),
            ("BEGIN", DEPTH) => return Err(broken("components lie too deep in each other")),
            ("BEGIN", depth) => {
                open.push(read.value.to_ascii_uppercase());
                if depth == 1 && open[1] == "VEVENT" {
                    event = Some(Event::default());
                }
            }
            (_, 0) => return Err(NotAnIcs::NoCalendar),
            ("END", depth) => {
                if open.pop().is_none_or(|opened| !read.value.eq_ignore_ascii_case(&opened)) {
                    return Err(broken("this ends what did not begin"));
                }
                if depth == 2
                    && let Some(event) = event.take()
                {
                    imported.take_in(event)?;
                }
            }
            (_, 2) => event.iter_mut().for_each(|event| event.take_in(&read)),
            _of_another_component => {}
        }
    }
    if open.is_empty() {
        Ok(imported)
    } else {
        Err(NotAnIcs::Broken { line: text.lines().count(), what: "it ends in the middle" })
    }
}

/// The lines, where one that begins with a blank goes on with the one before; each with the number that it begins at.
fn unfolded(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some((_, before))) => before.push_str(rest),
            _ if line.trim().is_empty() => {}
            _ => lines.push((number + 1, line.to_owned())),
        }
    }
    lines
}

impl<'a> Line<'a> {
    /// `NAME;PARAM=VALUE:value`, where a value of a parameter may be quoted and hold a colon.
    fn of(text: &'a str) -> Option<Self> {
        let mut is_quoted = false;
        let colon = text.char_indices().find_map(|(at, c)| {
            is_quoted ^= c == '"';
            (c == ':' && !is_quoted).then_some(at)
        })?;
        let (before, value) = (&text[..colon], text[colon + 1..].trim());
        let (name, params) = before.split_once(';').unwrap_or((before, ""));
        Some(Self { name: name.trim().to_ascii_uppercase(), params, value })
    }

    /// An all-day date; or why it is none.
    fn date(&self) -> Result<NaiveDate, String> {
        let is_a_time = self.params.to_ascii_uppercase().contains("VALUE=DATE-TIME") || self.value.contains('T');
        if is_a_time {
            return Err("it is not of whole days".to_owned());
        }
        date_of(self.value).ok_or_else(|| format!("its {} is no date", self.name))
    }
}

fn date_of(text: &str) -> Option<NaiveDate> {
    let is_a_date = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_a_date.then(|| NaiveDate::parse_from_str(text, "%Y%m%d").ok()).flatten()
}

impl Event {
    fn take_in(&mut self, line: &Line<'_>) {
        match line.name.as_str() {
            "SUMMARY" => self.summary = Some(said(line.value)),
            "DTSTART" => self.start = Some(line.date()),
            "DTEND" => self.end = Some(line.date()),
            "RRULE" if self.rule.is_some() => self.not_understood = Some("a second RRULE"),
            "RRULE" => self.rule = Some(line.value.to_ascii_uppercase()),
            "STATUS" => self.is_cancelled = line.value.eq_ignore_ascii_case("CANCELLED"),
            "DURATION" => self.not_understood = Some("DURATION"),
            "EXDATE" => self.not_understood = Some("EXDATE"),
            "EXRULE" => self.not_understood = Some("EXRULE"),
            "RDATE" => self.not_understood = Some("RDATE"),
            "RECURRENCE-ID" => self.not_understood = Some("RECURRENCE-ID"),
            _says_nothing_of_when => {}
        }
    }

    /// Its dates; or why it is passed over.
    fn dates(&self) -> Result<Vec<Date>, String> {
        if self.is_cancelled {
            return Err("it is cancelled".to_owned());
        }
        if let Some(property) = self.not_understood {
            return Err(format!("{property} is not understood"));
        }
        let start = self.start.clone().ok_or("it has no DTSTART")??;
        // DTEND is the first day that is none of it.
        let last = match self.end.clone() {
            Some(end) => end?.pred_opt().filter(|last| *last >= start).ok_or("its DTEND is not after its DTSTART")?,
            None => start,
        };
        let days = dates_up_to(start, last, DAYS + 1);
        if days.len() > DAYS {
            return Err(format!("it has more than {DAYS} days"));
        }
        match &self.rule {
            Some(rule) => each_year(rule, start, &days),
            None => Ok(days.into_iter().map(Date::Once).collect()),
        }
    }
}

/// The days of an event that comes each year, for ever or so often.
fn each_year(rule: &str, start: NaiveDate, days: &[NaiveDate]) -> Result<Vec<Date>, String> {
    let not_understood = || format!("RRULE {} is not understood", rule.chars().take(60).collect::<String>());
    let (mut is_yearly, mut count, mut until) = (false, None, None);
    for part in rule.split(';').filter(|part| !part.is_empty()) {
        match part.split_once('=').ok_or_else(not_understood)? {
            ("FREQ", "YEARLY") => is_yearly = true,
            ("INTERVAL", "1") | ("WKST", _) => {}
            ("BYMONTH", month) if month.parse() == Ok(start.month()) => {}
            ("BYMONTHDAY", day) if day.parse() == Ok(start.day()) => {}
            ("COUNT", number) => count = Some(number.parse::<u16>().map_err(|_| not_understood())?),
            ("UNTIL", date) => until = Some(date.get(..8).and_then(date_of).ok_or_else(not_understood)?),
            _ => return Err(not_understood()),
        }
    }
    match (is_yearly, count, until) {
        (false, _, _) => Err(not_understood()),
        (true, None, None) => Ok(days.iter().copied().map(Date::yearly).collect()),
        (true, count, until) => Ok(so_often(start, days, count, until)),
    }
}

fn so_often(start: NaiveDate, days: &[NaiveDate], count: Option<u16>, until: Option<NaiveDate>) -> Vec<Date> {
    // In another year that has the day.
    let begins = (0_i32..400).filter_map(|years| start.with_year(start.year() + years));
    let begins = begins.take_while(|begin| until.is_none_or(|until| *begin <= until));
    let most = count.map_or(CALENDAR_DATES + 1, usize::from).min(CALENDAR_DATES + 1);
    let of = |begin: NaiveDate| days.iter().filter_map(move |day| begin.checked_add_signed(*day - start));
    begins.take(most).flat_map(of).map(Date::Once).take(CALENDAR_DATES + 1).collect()
}

impl Imported {
    fn take_in(&mut self, event: Event) -> Result<(), NotAnIcs> {
        match event.dates() {
            Ok(dates) => {
                let reason = event.summary.filter(|summary| !summary.is_empty());
                let excluded = |date| ExcludedDate { date, reason: reason.clone() };
                let known = |date: &Date| !self.dates.iter().any(|known| known.date == *date);
                let new: Vec<_> = dates.into_iter().filter(known).map(excluded).collect();
                self.dates.extend(new);
            }
            Err(why) if self.passed_over.len() < PASSED_OVER => {
                self.passed_over.push(PassedOver { event: event.summary.unwrap_or_default(), why });
            }
            Err(_told_of_enough) => {}
        }
        if self.dates.len() > CALENDAR_DATES { Err(NotAnIcs::TooManyDates) } else { Ok(()) }
    }
}

/// A text without its escapes, cut to what a reason may have; a line break is a blank.
fn said(value: &str) -> String {
    let mut said = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some('n' | 'N') | None => ' ',
                Some(other) => other,
            },
            c if c.is_control() => ' ',
            c => c,
        };
        said.push(c);
    }
    said.trim().chars().take(REASON_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(events: &[&str]) -> String {
        let events: Vec<_> = events.iter().map(|event| format!("BEGIN:VEVENT\r\n{event}\r\nEND:VEVENT\r\n")).collect();
        let events = events.concat();
        format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n")
    }

    fn told(imported: &Imported) -> Vec<String> {
        let reason = |excluded: &ExcludedDate| excluded.reason.clone().unwrap_or_default();
        imported.dates.iter().map(|excluded| format!("{} {}", excluded.date, reason(excluded))).collect()
    }

    #[test]
    fn all_day_events_are_dates() {
        let rows: [(&str, &[&str]); 8] = [
            ("DTSTART;VALUE=DATE:20270704\nSUMMARY:Independence Day", &["2027-07-04 Independence Day"]),
            ("DTSTART;VALUE=DATE:20271224\nDTEND;VALUE=DATE:20271227", &["2027-12-24 ", "2027-12-25 ", "2027-12-26 "]),
            ("DTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY\nSUMMARY:Christmas", &["--12-25 Christmas"]),
            ("DTSTART:20201225\nRRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=12;BYMONTHDAY=25", &["--12-25 "]),
            ("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;COUNT=2", &["2026-01-01 ", "2027-01-01 "]),
            ("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;UNTIL=20270101T000000Z", &["2026-01-01 ", "2027-01-01 "]),
            ("DTSTART;VALUE=DATE:20240229\nRRULE:FREQ=YEARLY;COUNT=2", &["2024-02-29 ", "2028-02-29 "]),
            ("DTSTART;VALUE=DATE:20270704\nSUMMARY;X=\"a:b\":Tag\n der\\, \\nArbeit", &["2027-07-04 Tagder,  Arbeit"]),
        ];
        for (event, dates) in rows {
            let imported = parse(&file(&[event])).unwrap();
            assert_eq!(told(&imported), dates, "{event}");
            assert_eq!(imported.passed_over, [], "{event}");
        }
    }

    #[test]
    fn what_is_not_understood_is_told_of_and_not_guessed() {
        let rows = [
            ("DTSTART:20270704T120000Z\nSUMMARY:Lunch", "it is not of whole days"),
            ("DTSTART;VALUE=DATE:20270704\nDTEND;VALUE=DATE:20270704", "its DTEND is not after its DTSTART"),
            (
                "DTSTART;VALUE=DATE:20271125\nRRULE:FREQ=YEARLY;BYDAY=4TH",
                "RRULE FREQ=YEARLY;BYDAY=4TH is not understood",
            ),
            ("DTSTART;VALUE=DATE:20271125\nRRULE:FREQ=WEEKLY", "RRULE FREQ=WEEKLY is not understood"),
            ("DTSTART;VALUE=DATE:20271125\nRRULE:COUNT=3", "RRULE COUNT=3 is not understood"),
            ("DTSTART;VALUE=DATE:20271125\nEXDATE;VALUE=DATE:20281125", "EXDATE is not understood"),
            ("DTSTART;VALUE=DATE:20271325", "its DTSTART is no date"),
            ("DTSTART;VALUE=DATE:20270101\nDTEND;VALUE=DATE:20290101", "it has more than 366 days"),
            ("SUMMARY:When?", "it has no DTSTART"),
            ("DTSTART;VALUE=DATE:20270704\nSTATUS:CANCELLED", "it is cancelled"),
        ];
        for (event, why) in rows {
            let imported = parse(&file(&[event])).unwrap();
            let whys: Vec<_> = imported.passed_over.iter().map(|passed| passed.why.as_str()).collect();
            assert_eq!((imported.dates.len(), whys), (0, vec![why]), "{event}");
        }
    }

    #[test]
    fn what_is_no_calendar_is_refused() {
        let broken = |line, what| Err(NotAnIcs::Broken { line, what });
        assert_eq!(parse("<html>:"), Err(NotAnIcs::NoCalendar));
        assert_eq!(parse(""), Err(NotAnIcs::NoCalendar), "an empty file is no calendar without dates");
        assert_eq!(parse(" \r\n"), Err(NotAnIcs::NoCalendar));
        assert_eq!(parse("BEGIN:VCARD\nEND:VCARD"), Err(NotAnIcs::NoCalendar));
        assert_eq!(parse("BEGIN:VCALENDAR\nhello\nEND:VCALENDAR"), broken(2, "this has no colon"));
        assert_eq!(parse("BEGIN:VCALENDAR\nBEGIN:VEVENT"), broken(2, "it ends in the middle"));
        assert_eq!(parse("BEGIN:VCALENDAR\nEND:VEVENT"), broken(2, "this ends what did not begin"));
        assert_eq!(parse(&"BEGIN:VCALENDAR\n".repeat(9)), broken(9, "components lie too deep in each other"));
        assert_eq!(parse(&" ".repeat(ICS_BYTES + 1)), Err(NotAnIcs::TooLong));
    }

    #[test]
    fn more_dates_than_a_calendar_may_have_are_refused() {
        let year = |year: i32| format!("DTSTART;VALUE=DATE:{year}0101\nDTEND;VALUE=DATE:{year}1231");
        assert_eq!(parse(&file(&[&year(2026), &year(2027)])), Err(NotAnIcs::TooManyDates));
        let often = parse(&file(&["DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;COUNT=65535"])).unwrap();
        assert_eq!(often.dates.len(), 400, "four hundred years and no more");
    }

    proptest! {
        #[test]
        fn whatever_it_is_reading_it_ends(text in ".*", lines in proptest::collection::vec("[A-Z;:=\"\\\\ ]{0,12}|DTSTART:[0-9]{8}|RRULE:FREQ=YEARLY;(COUNT|UNTIL)=[0-9]{1,9}|(BEGIN|END):(VEVENT|VCALENDAR)", 0..40)) {
            let _whatever = parse(&text);
            let _whatever = parse(&format!("BEGIN:VCALENDAR\n{}", lines.join("\n")));
            let _whatever = parse(&file(&[&lines.join("\n")]));
        }
    }
}
