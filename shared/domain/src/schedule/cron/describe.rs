//! An expression in plain words, for previews: correctness before style.

mod turns;

use super::fields::{DaysMatch, DaysOfMonth, DaysOfWeek, EVERY_HOUR, EVERY_MINUTE, EVERY_MONTH, EVERY_SECOND, Fields};
use super::{Cron, Kind};
use crate::Moment;

/// The number of times of day that a sentence can list; more are described as minutes of hours.
const LISTED_TIMES: u32 = 6;

const MONTHS: [&str; 13] = [
    "",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const WEEKS: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];

impl Cron {
    /// For example: "at 02:00 on the last weekday of every month, New York time; in the spring gap at 03:00".
    pub fn describe(&self, now: Moment) -> String {
        let words = [self.fields.times(), self.fields.dates(), self.fields.years_named()];
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
        let turns = match self.kind {
            Kind::Fixed => self.turns_in_words(now),
            Kind::Interval => String::new(),
        };
        format!("{}, {}{turns}", words.join(" "), self.zone_in_words())
    }

    /// The zone's city, where it has one.
    fn zone_in_words(&self) -> String {
        let name = self.zone().name();
        match name.rsplit_once('/') {
            Some(("Etc", _)) | None => format!("{name} time"),
            Some((_, city)) => format!("{} time", city.replace('_', " ")),
        }
    }
}

impl Fields {
    fn times(&self) -> String {
        let times = self.seconds.count_ones() * self.minutes.count_ones() * self.hours.count_ones();
        match (self.seconds, self.hours) {
            (1, EVERY_HOUR) if self.beats_evenly() => self.beat(),
            (1, EVERY_HOUR) => format!("{} of every hour", self.beat()),
            _ if times <= LISTED_TIMES => format!("at {}", listed_in_words(&self.times_of_day())),
            (1, hours) => format!("{} in {}", self.beat(), hours_in_words(hours)),
            (_, EVERY_HOUR) if self.minutes == EVERY_MINUTE => self.second_beat(),
            (_, EVERY_HOUR) => format!("{} in {} of every hour", self.second_beat(), self.minutes_in_words()),
            (_, hours) if self.minutes == EVERY_MINUTE => {
                format!("{} in {}", self.second_beat(), hours_in_words(hours))
            }
            (_, hours) => {
                format!("{} in {} of {}", self.second_beat(), self.minutes_in_words(), hours_in_words(hours))
            }
        }
    }

    fn beats_evenly(&self) -> bool {
        self.minutes == EVERY_MINUTE || even_step(self.minutes).is_some()
    }

    fn beat(&self) -> String {
        match (self.minutes, even_step(self.minutes)) {
            (EVERY_MINUTE, _) => "every minute".to_owned(),
            (_, Some(step)) => format!("every {step} minutes"),
            (_, None) => format!("at {}", self.minutes_in_words()),
        }
    }

    fn second_beat(&self) -> String {
        match (self.seconds, even_step(self.seconds)) {
            (EVERY_SECOND, _) => "every second".to_owned(),
            (_, Some(step)) => format!("every {step} seconds"),
            (seconds, None) => format!("at {} {}", plural("second", seconds), numbers(seconds)),
        }
    }

    fn minutes_in_words(&self) -> String {
        format!("{} {}", plural("minute", self.minutes), numbers(self.minutes))
    }

    fn times_of_day(&self) -> Vec<String> {
        let mut times = Vec::new();
        for hour in bits(self.hours.into()) {
            for minute in bits(self.minutes) {
                times.extend(bits(self.seconds).map(|second| match self.seconds {
                    1 => format!("{hour:02}:{minute:02}"),
                    _ => format!("{hour:02}:{minute:02}:{second:02}"),
                }));
            }
        }
        times
    }

    fn dates(&self) -> String {
        let restricted = (self.days != DaysOfMonth::EVERY, self.weekdays != DaysOfWeek::EVERY);
        match (self.days_match, restricted) {
            (DaysMatch::Both, (true, true)) => {
                let weekday = self.weekdays.in_words("a", "or");
                format!("on {} {}, only where that is {weekday}", self.days.in_words(), self.of_months())
            }
            (DaysMatch::Either, (true, true)) => {
                format!("on {} or {} {}", self.days.in_words(), self.weekdays.in_words("any", "or"), self.of_months())
            }
            (DaysMatch::Both, (true, false)) => format!("on {} {}", self.days.in_words(), self.of_months()),
            (DaysMatch::Both, (false, true)) if self.weekdays.is_monthly() => {
                format!("on {} {}", self.weekdays.in_words("any", "and"), self.of_months())
            }
            (DaysMatch::Both, (false, true)) => {
                format!("on {}{}", self.weekdays.in_words("every", "and"), self.in_months())
            }
            (DaysMatch::Both | DaysMatch::Either, _) => self.every_day(),
        }
    }

    /// Empty where the times already include that they recur every hour.
    fn every_day(&self) -> String {
        match (self.hours, self.months) {
            (EVERY_HOUR, _) => self.in_months().trim_start().to_owned(),
            _ => format!("every day{}", self.in_months()),
        }
    }

    fn years_named(&self) -> String {
        let years = self.years.listed().map(|years| years.filter_map(|year| usize::try_from(year).ok()).collect());
        let years = years.map(|years: Vec<usize>| listed_in_words(&runs(years, |year| year.to_string())));
        years.map_or_else(String::new, |years| format!("in {years}"))
    }

    fn of_months(&self) -> String {
        if self.months == EVERY_MONTH { "of every month".to_owned() } else { format!("of {}", self.month_names()) }
    }

    fn in_months(&self) -> String {
        if self.months == EVERY_MONTH { String::new() } else { format!(" in {}", self.month_names()) }
    }

    fn month_names(&self) -> String {
        let names = bits(self.months.into()).filter_map(|month| MONTHS.get(month));
        listed_in_words(&names.map(ToString::to_string).collect::<Vec<_>>())
    }
}

impl DaysOfMonth {
    fn in_words(&self) -> String {
        let mut words = runs(bits(self.dates.into()), |day| format!("{day}{}", ordinal_ending(day)));
        // One article for a list of dates: "the 1st, 5th and 9th".
        if let Some(first) = words.first_mut() {
            first.insert_str(0, "the ");
        }
        words.extend(bits(self.near.into()).map(|day| format!("the weekday nearest the {day}{}", ordinal_ending(day))));
        words.extend(bits(self.from_last.into()).map(|back| match back {
            0 => "the last day".to_owned(),
            1 => "the day before the last".to_owned(),
            back => format!("the day {back} days before the last"),
        }));
        words.extend(bits(self.near_from_last.into()).map(|back| match back {
            0 => "the last weekday".to_owned(),
            1 => "the weekday nearest the day before the last".to_owned(),
            back => format!("the weekday nearest the day {back} days before the last"),
        }));
        listed_in_words(&words)
    }
}

impl DaysOfWeek {
    /// `each` is put before a weekday that recurs each week.
    fn in_words(self, each: &str, joint: &str) -> String {
        let weekly = runs(bits(self.weekly.into()), |day| WEEKDAYS[day % 7].to_owned());
        let mut words: Vec<String> = Vec::new();
        for (nth, weekdays) in self.nth.iter().enumerate() {
            words.extend(names(*weekdays).map(|name| format!("the {} {name}", WEEKS[nth])));
        }
        words.extend(names(self.last).map(|name| format!("the last {name}")));
        if !weekly.is_empty() {
            words.insert(0, format!("{each} {}", joined(&weekly, joint)));
        }
        joined(&words, joint)
    }
}

fn names(weekdays: u8) -> impl Iterator<Item = String> {
    bits(weekdays.into()).filter_map(|day| WEEKDAYS.get(day)).map(ToString::to_string)
}

fn hours_in_words(hours: u32) -> String {
    let hours = u64::from(hours);
    format!("{} {}", plural("hour", hours), numbers(hours))
}

/// The step where minutes or seconds are 0, step, 2 · step … and the whole is a number of steps.
fn even_step(minutes: u64) -> Option<usize> {
    let even = |step: &usize| 60 % step == 0 && bits(minutes).eq((0..60).step_by(*step));
    (2..=30).find(even)
}

fn ordinal_ending(number: usize) -> &'static str {
    match (number / 10, number % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

fn numbers(mask: u64) -> String {
    listed_in_words(&runs(bits(mask), |number| number.to_string()))
}

/// Numbers in order; three or more neighbours become "a to b".
fn runs(numbers: impl IntoIterator<Item = usize>, word: impl Fn(usize) -> String) -> Vec<String> {
    let mut told = Vec::new();
    let mut rest: Vec<usize> = numbers.into_iter().collect();
    while let Some(&start) = rest.first() {
        let length = (start..).zip(&rest).take_while(|(expected, member)| expected == *member).count();
        let taken = if length < 3 { 1 } else { length };
        let last = rest.drain(..taken).next_back().unwrap_or(start);
        told.push(if taken == 1 { word(start) } else { format!("{} to {}", word(start), word(last)) });
    }
    told
}

fn bits(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1)
}

fn plural(noun: &str, mask: u64) -> String {
    if mask.is_power_of_two() { noun.to_owned() } else { format!("{noun}s") }
}

fn listed_in_words(words: &[String]) -> String {
    joined(words, "and")
}

fn joined(words: &[String], joint: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {joint} {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests;
