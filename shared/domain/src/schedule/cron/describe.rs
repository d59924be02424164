//! An expression in plain words, for previews: true before it is pretty.

use super::Cron;
use super::fields::{DaysMatch, EVERY_DAY, EVERY_HOUR, EVERY_MINUTE, EVERY_MONTH, EVERY_WEEKDAY, Fields};

/// As many times of day as a sentence can list; more are told as minutes of hours.
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

impl Cron {
    /// For example: "at 02:00 on the 1st of every month, `America/New_York` time".
    pub fn describe(&self) -> String {
        let words = [self.fields.times(), self.fields.dates()];
        let words: Vec<&str> = words.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
        format!("{}, {} time", words.join(" "), self.zone.name())
    }
}

impl Fields {
    fn times(&self) -> String {
        let times = self.minutes.count_ones() * self.hours.count_ones();
        match self.hours {
            EVERY_HOUR if self.beats_evenly() => self.beat(),
            EVERY_HOUR => format!("{} of every hour", self.beat()),
            _ if times <= LISTED_TIMES => format!("at {}", listed_in_words(&self.times_of_day())),
            hours => {
                let hours = u64::from(hours);
                format!("{} in {} {}", self.beat(), plural("hour", hours), numbers(hours))
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
            (minutes, None) => format!("at {} {}", plural("minute", minutes), numbers(minutes)),
        }
    }

    fn times_of_day(&self) -> Vec<String> {
        let minutes = || bits(self.minutes);
        let hours = bits(self.hours.into());
        hours.flat_map(|hour| minutes().map(move |minute| format!("{hour:02}:{minute:02}"))).collect()
    }

    fn dates(&self) -> String {
        let restricted = (self.days != EVERY_DAY, self.weekdays != EVERY_WEEKDAY);
        match (self.days_match, restricted) {
            (DaysMatch::Both, (true, true)) => {
                format!(
                    "on the {} {}, only where that is a {}",
                    self.ordinals(),
                    self.of_months(),
                    self.weekday_names("or")
                )
            }
            (DaysMatch::Either, (true, true)) => {
                format!("on the {} or any {} {}", self.ordinals(), self.weekday_names("or"), self.of_months())
            }
            (DaysMatch::Both, (true, false)) => {
                format!("on the {} {}", self.ordinals(), self.of_months())
            }
            (DaysMatch::Both, (false, true)) => {
                format!("on every {}{}", self.weekday_names("and"), self.in_months())
            }
            (DaysMatch::Both | DaysMatch::Either, _) => self.every_day(),
        }
    }

    /// Nothing where the times already say that they come round every hour.
    fn every_day(&self) -> String {
        match (self.hours, self.months) {
            (EVERY_HOUR, _) => self.in_months().trim_start().to_owned(),
            _ => format!("every day{}", self.in_months()),
        }
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

    fn weekday_names(&self, joint: &str) -> String {
        let names = bits(self.weekdays.into()).filter_map(|day| WEEKDAYS.get(day));
        joined(&names.map(ToString::to_string).collect::<Vec<_>>(), joint)
    }

    fn ordinals(&self) -> String {
        listed_in_words(&runs(self.days.into(), |day| format!("{day}{}", ordinal_ending(day))))
    }
}

/// The step where the minutes are 0, step, 2 · step … and the hour is a whole number of steps.
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
    listed_in_words(&runs(mask, |number| number.to_string()))
}

/// The members of a mask, three or more neighbours told as "a to b".
fn runs(mask: u64, word: impl Fn(usize) -> String) -> Vec<String> {
    let mut told = Vec::new();
    let mut rest: Vec<usize> = bits(mask).collect();
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
mod tests {
    use chrono_tz::Tz;

    use super::*;

    #[test]
    fn an_expression_is_told_in_plain_words() {
        let told = [
            ("0 2 1 * *", "at 02:00 on the 1st of every month"),
            ("* * * * *", "every minute"),
            ("*/15 * * * *", "every 15 minutes"),
            ("@hourly", "at minute 0 of every hour"),
            ("5,35 * * * *", "at minutes 5 and 35 of every hour"),
            ("@daily", "at 00:00 every day"),
            ("@weekly", "at 00:00 on every Sunday"),
            ("@yearly", "at 00:00 on the 1st of January"),
            ("30 8,14 * * MON-FRI", "at 08:30 and 14:30 on every Monday, Tuesday, Wednesday, Thursday and Friday"),
            ("*/10 9-17 * * *", "every 10 minutes in hours 9 to 17 every day"),
            ("* 3 * * *", "every minute in hour 3 every day"),
            ("1-10 */6 * JUN *", "at minutes 1 to 10 in hours 0, 6, 12 and 18 every day in June"),
            ("* * * 6-8 *", "every minute in June, July and August"),
            ("0 0 2,3,11-13,22,31 * *", "at 00:00 on the 2nd, 3rd, 11th to 13th, 22nd and 31st of every month"),
            ("0 12 13 * FRI", "at 12:00 on the 13th or any Friday of every month"),
            ("0 12 13 1,7 5,6", "at 12:00 on the 13th or any Friday or Saturday of January and July"),
            ("0 0 */15 * 1", "at 00:00 on the 1st, 16th and 31st of every month, only where that is a Monday"),
            ("0 0 1-31 * MON", "at 00:00 every day"),
        ];
        for (text, words) in told {
            let cron = Cron::parse(text, Tz::America__New_York).unwrap();
            assert_eq!(cron.describe(), format!("{words}, America/New_York time"), "{text}");
        }
    }
}
