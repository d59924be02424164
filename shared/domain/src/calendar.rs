//! A calendar: when nothing fires. Dates, times of the week and maintenance windows, in a zone of its own; a tenant's jobs share it by its
//! name. [`Calendar::exclusion_at`] is its one question.
//!
//! What a calendar says is a version, which never changes: a job is pinned to one, and whoever changes a calendar pins its jobs anew.

pub mod ics;
mod shared;
mod week;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

pub use chrono::Weekday;
use chrono::{Datelike as _, Days, NaiveDate, NaiveTime};
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

pub use self::shared::{AsSeen, CalendarUse, Goes, Shared, Walk, Writing};
use self::week::Week;
pub use self::week::{Days as WeekDays, MINUTES_OF_A_DAY, Time};
use crate::Moment;
use crate::id::{JobId, NotAnId, Tenant, base32, from_base32};
use crate::limits::WORD_CHARS;
use crate::schedule::cron::clock::{Shown, local};
use crate::spelled::{spelled_as_text, spelled_for_people};

/// What a calendar is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CalendarName(String);

spelled_as_text!(CalendarName);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a calendar's name has from 1 to {WORD_CHARS} of A-Z, a-z, 0-9, _ and -")]
pub struct NotACalendarName;

/// Which version: the digest of what it says, so that the same is the same, and what is known once is known for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct CalendarVersion([u8; 16]);

spelled_for_people!(CalendarVersion);

/// What a calendar says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    pub description: Option<String>,
    pub zone: Tz,
    pub dates: Vec<ExcludedDate>,
    /// Times of the week at which nothing fires.
    pub excluded: Vec<Time>,
    /// Where there are any, nothing fires at other times of the week.
    pub allowed: Vec<Time>,
    /// Where they are said, nothing fires on other days of the week.
    pub business_days: Option<WeekDays>,
    pub maintenance: Vec<Maintenance>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedDate {
    pub date: Date,
    pub reason: Option<String>,
}

/// A date, of one year or of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Date {
    Once(NaiveDate),
    /// In each year that has it.
    Yearly {
        month: u8,
        day: u8,
    },
}

/// From one instant to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    pub from: Moment,
    pub until: Moment,
    pub reason: Option<String>,
}

/// What a calendar says, made ready to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    rules: Rules,
    dates: BTreeMap<Date, Option<String>>,
    week: Week,
}

/// A stretch in which nothing fires. It holds the instant that was asked about, and need not be all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclusion {
    pub from: Moment,
    pub until: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CalendarRefusal {
    #[error("this calendar leaves no time of the week at which anything could fire")]
    AllTheTime,
}

impl FromStr for CalendarName {
    type Err = NotACalendarName;

    fn from_str(text: &str) -> Result<Self, NotACalendarName> {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = (1..=WORD_CHARS).contains(&text.len()) && text.chars().all(legal);
        if fits { Ok(Self(text.to_owned())) } else { Err(NotACalendarName) }
    }
}

impl CalendarName {
    /// Where its versions lie, and who heeds it; and which shard its timer lies in. Spelled as a job's, for it lies where a job's history does.
    /// A tenant's own: the key of a timer names no tenant, and walks of two tenants that come to lie at one instant are two timers.
    pub fn place(&self, tenant: &Tenant) -> JobId {
        let named = Sha256::new().chain_update(b"calendar\0").chain_update(tenant.as_str());
        let digest = named.chain_update(b"\0").chain_update(&self.0).finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        JobId::from_bytes(bytes)
    }
}

impl CalendarVersion {
    /// That of what is stored as this text.
    pub fn of(text: &[u8]) -> Self {
        let digest = Sha256::digest(text);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(bytes)
    }
}

impl fmt::Display for CalendarVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(&self.0))
    }
}

impl fmt::Debug for CalendarVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CalendarVersion {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bytes = from_base32(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotAnId::of("a version of a calendar"))
    }
}

impl Calendar {
    pub fn new(rules: Rules) -> Result<Self, CalendarRefusal> {
        let week = Week::of(&rules);
        if week.is_whole() {
            return Err(CalendarRefusal::AllTheTime);
        }
        let dates = rules.dates.iter().map(|excluded| (excluded.date, excluded.reason.clone())).collect();
        Ok(Self { rules, dates, week })
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The stretch around `t` in which nothing fires; none where `t` is allowed.
    pub fn exclusion_at(&self, t: Moment) -> Option<Exclusion> {
        let zone = self.rules.zone;
        let maintained = self.maintained_at(t).map(|window| Exclusion { from: window.from, until: window.until });
        maintained.or_else(|| self.dated_at(t)).or_else(|| self.week.exclusion_at(zone, t))
    }

    /// Why nothing fires at `t`, in a few words.
    pub fn reason_at(&self, t: Moment) -> String {
        let shown = local(self.rules.zone, t.to_utc());
        if let Some(window) = self.maintained_at(t) {
            return window.reason.clone().unwrap_or_else(|| "maintenance".to_owned());
        }
        if let Some((date, reason)) = self.date_around(t) {
            return reason.cloned().unwrap_or_else(|| date.to_string());
        }
        self.week.reason_at(&self.rules, shown)
    }

    fn maintained_at(&self, t: Moment) -> Option<&Maintenance> {
        self.rules.maintenance.iter().find(|window| window.from <= t && t < window.until)
    }

    fn dated_at(&self, t: Moment) -> Option<Exclusion> {
        let (mut first, _) = self.date_around(t)?;
        let mut after = first.succ_opt()?;
        // Days in a row are one stretch. None is longer than what the calendar has of dates.
        for _ in 0..self.dates.len() {
            match first.pred_opt().filter(|date| self.date(*date).is_some()) {
                Some(before) => first = before,
                None => break,
            }
        }
        for _ in 0..self.dates.len() {
            match after.succ_opt().filter(|_| self.date(after).is_some()) {
                Some(next) => after = next,
                None => break,
            }
        }
        let exclusion = Exclusion { from: self.begin_of(first), until: self.begin_of(after) };
        (t < exclusion.until).then_some(exclusion)
    }

    /// The excluded date that `t` lies in. Where midnight comes twice or not at all, a day begins when its clock first shows it or what
    /// comes after it.
    fn date_around(&self, t: Moment) -> Option<(NaiveDate, Option<&String>)> {
        if self.dates.is_empty() {
            return None;
        }
        let shown = local(self.rules.zone, t.to_utc()).date();
        let near = [Some(shown), shown.pred_opt(), shown.succ_opt()];
        near.into_iter().flatten().find_map(|date| {
            let reason = self.date(date)?;
            let lies_in = self.begin_of(date) <= t && t < self.begin_of(date.succ_opt()?);
            lies_in.then_some((date, reason.as_ref()))
        })
    }

    fn date(&self, date: NaiveDate) -> Option<&Option<String>> {
        self.dates.get(&Date::Once(date)).or_else(|| self.dates.get(&Date::yearly(date)))
    }

    fn begin_of(&self, date: NaiveDate) -> Moment {
        Moment::from(Shown::at(self.rules.zone, date.and_time(NaiveTime::MIN)).first())
    }
}

impl Date {
    pub fn yearly(date: NaiveDate) -> Self {
        let of = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
        Self::Yearly { month: of(date.month()), day: of(date.day()) }
    }

    /// As it is written: `2027-07-04`, or `--12-25` for each year.
    pub fn parse(text: &str) -> Option<Self> {
        // A year that has each date there is.
        let of_a_leap_year = |rest: &str| NaiveDate::parse_from_str(&format!("2000-{rest}"), "%Y-%m-%d").ok();
        let has_length =
            |length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match text.strip_prefix("--") {
            Some(rest) if has_length(7) => of_a_leap_year(rest).map(Self::yearly),
            None if has_length(10) => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().map(Self::Once),
            Some(_) | None => None,
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once(date) => write!(f, "{}", date.format("%Y-%m-%d")),
            Self::Yearly { month, day } => write!(f, "--{month:02}-{day:02}"),
        }
    }
}

impl Rules {
    /// Nothing is excluded, by this zone's clock.
    pub fn none(zone: Tz) -> Self {
        Self {
            description: None,
            zone,
            dates: Vec::new(),
            excluded: Vec::new(),
            allowed: Vec::new(),
            business_days: None,
            maintenance: Vec::new(),
        }
    }

    /// With these dates beside its own; of two rules for one date the new one counts.
    #[must_use]
    pub fn with_dates(self, more: Vec<ExcludedDate>) -> Self {
        let known: BTreeSet<Date> = more.iter().map(|excluded| excluded.date).collect();
        let mut dates: Vec<_> = self.dates.into_iter().filter(|excluded| !known.contains(&excluded.date)).collect();
        dates.extend(more);
        dates.sort_by_key(|excluded| excluded.date);
        dates.dedup_by_key(|excluded| excluded.date);
        Self { dates, ..self }
    }
}

/// The days after `date`, up to and with `until`; at most `most`.
pub(crate) fn dates_up_to(date: NaiveDate, until: NaiveDate, most: usize) -> Vec<NaiveDate> {
    let all = (0_u64..).map_while(|n| date.checked_add_days(Days::new(n)));
    all.take_while(|date| *date <= until).take(most).collect()
}

/// A day of the week in three letters.
pub fn letters_of(day: Weekday) -> &'static str {
    match day {
        Weekday::Mon => "MON",
        Weekday::Tue => "TUE",
        Weekday::Wed => "WED",
        Weekday::Thu => "THU",
        Weekday::Fri => "FRI",
        Weekday::Sat => "SAT",
        Weekday::Sun => "SUN",
    }
}

#[cfg(test)]
mod facts;
