//! A calendar as it is asked for and as it is shown: when nothing fires, in a zone of its own.

use std::collections::BTreeSet;

use chrono_tz::Tz;
use minutehand_domain::Moment;
use minutehand_domain::calendar::{
    self, Calendar, Date, ExcludedDate, MINUTES_OF_A_DAY, Maintenance, Rules, Shared, Time, WeekDays, Weekday,
    letters_of,
};
use minutehand_domain::limits::{
    CALENDAR_DATES, CALENDAR_MAINTENANCE, CALENDAR_TIMES, ICS_BYTES, LOCAL_INSTANT_CHARS, NOTE_CHARS, REASON_CHARS,
};
use minutehand_domain::schedule::cron;
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

use crate::component::component;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::object::maybe_objects;
use crate::texts::{CalendarNameText, JobIdText, Line, ZoneText};
use crate::word::Word;

component!(
    DateText = "CalendarDate",
    json_schema!({
        "type": "string", "pattern": "^([0-9]{4}|-)-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$", "examples": ["2027-07-04", "--12-25"],
        "description": "A date, or one of each year: `--12-25`.",
    })
);
component!(
    TimeOfDayText = "TimeOfDay",
    json_schema!({
        "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$", "examples": ["09:00", "24:00"],
        "description": "What a clock shows.",
    })
);

/// When nothing fires. What is not said excludes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalendarRequest {
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whose clock its dates and times are of: UTC if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ZoneText>")]
    pub timezone: Option<String>,
    /// Days on which nothing fires.
    #[serde(default, deserialize_with = "maybe_objects", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CALENDAR_DATES))]
    pub excluded_dates: Option<Vec<DateSpec>>,
    /// Times of the week at which nothing fires.
    #[serde(default, deserialize_with = "maybe_objects", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CALENDAR_TIMES))]
    pub excluded_times: Option<Vec<TimeSpec>>,
    /// Where there are any, nothing fires at other times of the week.
    #[serde(default, deserialize_with = "maybe_objects", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CALENDAR_TIMES))]
    pub allowed_times: Option<Vec<TimeSpec>>,
    /// Where they are given, nothing fires on other days of the week.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<DayOfWeek>>", length(min = 1))]
    pub business_days: Option<Vec<Word<DayOfWeek>>>,
    /// Nothing fires between two instants.
    #[serde(default, deserialize_with = "maybe_objects", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CALENDAR_MAINTENANCE))]
    pub maintenance: Option<Vec<MaintenanceSpec>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExcludedDateRequest", deny_unknown_fields)]
pub struct DateSpec {
    #[schemars(with = "DateText")]
    pub date: String,
    /// Shown wherever it takes a fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<REASON_CHARS>>")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TimeOfTheWeekRequest", deny_unknown_fields)]
pub struct TimeSpec {
    /// The days on which it begins: each if they are not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<DayOfWeek>>", length(min = 1))]
    pub days: Option<Vec<Word<DayOfWeek>>>,
    #[schemars(with = "TimeOfDayText")]
    pub from: String,
    /// The next day's where it is not later than `from`.
    #[schemars(with = "TimeOfDayText")]
    pub to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<REASON_CHARS>>")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MaintenanceWindowRequest", deny_unknown_fields)]
pub struct MaintenanceSpec {
    /// An instant, or what the calendar's clock shows then: `2027-01-15T22:00`. Shown as an instant.
    #[schemars(length(max = LOCAL_INSTANT_CHARS))]
    pub from: String,
    /// The first instant that is none of it.
    #[schemars(length(max = LOCAL_INSTANT_CHARS))]
    pub to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<REASON_CHARS>>")]
    pub reason: Option<String>,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum DayOfWeek {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// All-day events of an iCalendar file as excluded dates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The file's text.
    #[schemars(length(min = 1, max = ICS_BYTES))]
    pub ics: String,
    /// Of a calendar that is not there yet: UTC if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ZoneText>")]
    pub timezone: Option<String>,
    /// In the place of all dates that it has. Without, beside them.
    #[serde(default)]
    pub replace: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalendarQuery {
    /// Only say what it would touch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteCalendarQuery {
    /// Only say what it would touch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Though jobs heed it: they go on without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarView {
    #[schemars(with = "CalendarNameText")]
    pub name: String,
    /// Grows with every change; it is the `ETag`.
    pub generation: u64,
    #[serde(flatten)]
    pub rules: CalendarRules,
    pub created_at: Instant,
    pub changed_at: Instant,
    /// The last change is still on its way to jobs that heed it.
    pub under_way: bool,
}

/// What a calendar says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarRules {
    pub description: Option<String>,
    #[schemars(with = "ZoneText")]
    pub timezone: String,
    pub excluded_dates: Vec<DateSpec>,
    pub excluded_times: Vec<TimeSpec>,
    pub allowed_times: Vec<TimeSpec>,
    #[schemars(with = "Option<Vec<DayOfWeek>>")]
    pub business_days: Option<Vec<Word<DayOfWeek>>>,
    pub maintenance: Vec<MaintenanceSpec>,
}

/// What became of a change of a calendar, or would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CalendarChangeView {
    /// Nothing was changed.
    pub dry_run: bool,
    /// As it is then; null where it would be gone.
    pub calendar: Option<CalendarView>,
    /// How many jobs are pinned to it anew by now; those that are left follow.
    pub jobs_changed: u64,
    /// What it would touch; null where it was no dry run.
    pub touches: Option<TouchesView>,
    /// Events of the file that are not among the dates, each with its reason.
    pub passed_over: Vec<PassedOverView>,
}

/// Which of the fires of the next thirty days a change would touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TouchesView {
    /// Jobs that heed the calendar.
    pub jobs: u64,
    /// Those that would fire otherwise.
    pub jobs_touched: u64,
    /// Fires that would be none.
    pub skipped: u64,
    /// Instants at which nothing fires now and something would.
    pub added: u64,
    /// Fires that would come at another instant.
    pub moved: u64,
    /// The first of them, job by job.
    pub sample: Vec<TouchView>,
    /// All jobs were looked at, and all of their fires. Where not, there are at least so many.
    pub complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TouchView {
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    pub name: Option<String>,
    /// What the job's schedule names.
    pub at: Instant,
    /// When it fires as things are; null where it does not.
    pub fires: Option<Instant>,
    /// When it would.
    pub would_fire: Option<Instant>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PassedOverView {
    /// The event's summary.
    pub event: String,
    pub why: String,
}

impl CalendarRequest {
    pub fn checked(&self) -> Result<Calendar, RequestRefusal> {
        let mut errors = FieldErrors::default();
        if let Some(description) = &self.description {
            errors.line("/description", description, NOTE_CHARS);
        }
        let zone = zone_of(self.timezone.as_deref(), &mut errors);
        let rules = Rules {
            description: self.description.clone(),
            zone,
            dates: dates(self.excluded_dates.as_deref().unwrap_or_default(), &mut errors),
            excluded: times("/excluded_times", self.excluded_times.as_deref(), &mut errors),
            allowed: times("/allowed_times", self.allowed_times.as_deref(), &mut errors),
            business_days: self.business_days.as_deref().map(|days| days_of("/business_days", days, &mut errors)),
            maintenance: maintenance(self.maintenance.as_deref().unwrap_or_default(), zone, &mut errors),
        };
        if errors.count() > 0 {
            return errors.settle(None);
        }
        let calendar = Calendar::new(rules).map_err(|why| errors.add("", why.to_string())).ok();
        errors.settle(calendar)
    }
}

impl ImportRequest {
    /// The dates of the file, laid over what the calendar says.
    pub fn checked(&self, there: Option<&Rules>) -> Result<(Calendar, Vec<PassedOverView>), RequestRefusal> {
        let mut errors = FieldErrors::default();
        let imported = calendar::ics::parse(&self.ics).map_err(|why| errors.add("/ics", why.to_string())).ok();
        let zone = zone_of(self.timezone.as_deref(), &mut errors);
        if there.is_some_and(|there| self.timezone.is_some() && there.zone != zone) {
            errors.add("/timezone", "the calendar is there, and has another");
        }
        let imported = errors.settle(imported)?;
        let mut errors = FieldErrors::default();
        let there = there.cloned().unwrap_or_else(|| Rules::none(zone));
        let rules = if self.replace { Rules { dates: Vec::new(), ..there } } else { there };
        let rules = rules.with_dates(imported.dates);
        if rules.dates.len() > CALENDAR_DATES {
            errors.add("/ics", format!("with these, the calendar would have more than {CALENDAR_DATES} dates"));
        }
        let calendar = Calendar::new(rules).map_err(|why| errors.add("", why.to_string())).ok();
        let calendar = errors.settle(calendar)?;
        let of = |passed: calendar::ics::PassedOver| PassedOverView { event: passed.event, why: passed.why };
        Ok((calendar, imported.passed_over.into_iter().map(of).collect()))
    }
}

fn zone_of(name: Option<&str>, errors: &mut FieldErrors) -> Tz {
    match cron::zone(name.unwrap_or("UTC")) {
        Ok(zone) => zone,
        Err(why) => {
            errors.add("/timezone", why.to_string());
            Tz::UTC
        }
    }
}

fn reason(pointer: &str, reason: Option<&String>, errors: &mut FieldErrors) -> Option<String> {
    if let Some(reason) = reason {
        errors.line(format!("{pointer}/reason"), reason, REASON_CHARS);
    }
    reason.cloned()
}

fn dates(specs: &[DateSpec], errors: &mut FieldErrors) -> Vec<ExcludedDate> {
    if specs.len() > CALENDAR_DATES {
        errors.add("/excluded_dates", format!("at most {CALENDAR_DATES} dates"));
        return Vec::new();
    }
    let mut known = BTreeSet::new();
    let mut dates = Vec::with_capacity(specs.len());
    for (number, spec) in specs.iter().enumerate() {
        let pointer = format!("/excluded_dates/{number}");
        let reason = reason(&pointer, spec.reason.as_ref(), errors);
        match Date::parse(&spec.date) {
            Some(date) if known.insert(date) => dates.push(ExcludedDate { date, reason }),
            Some(date) => errors.add(format!("{pointer}/date"), format!("{date} is there twice")),
            None => {
                let detail = format!("`{:.32}` is no date such as 2027-07-04, or --12-25 for each year", spec.date);
                errors.add(format!("{pointer}/date"), detail);
            }
        }
    }
    dates.sort_by_key(|excluded| excluded.date);
    dates
}

fn times(pointer: &'static str, specs: Option<&[TimeSpec]>, errors: &mut FieldErrors) -> Vec<Time> {
    let specs = specs.unwrap_or_default();
    if specs.len() > CALENDAR_TIMES {
        errors.add(pointer, format!("at most {CALENDAR_TIMES} times of the week"));
        return Vec::new();
    }
    let time = |(number, spec): (usize, &TimeSpec)| {
        let pointer = format!("{pointer}/{number}");
        let minute = |field: &str, text: &str, most: u16, errors: &mut FieldErrors| {
            let minute = minute_of(text).filter(|minute| *minute <= most);
            if minute.is_none() {
                errors.add(format!("{pointer}/{field}"), format!("`{text:.32}` is no time of day such as 09:00"));
            }
            minute
        };
        let days = spec.days.as_deref().map(|days| days_of(&format!("{pointer}/days"), days, errors));
        let from = minute("from", &spec.from, MINUTES_OF_A_DAY - 1, errors);
        // Midnight is the end of the day that begins with `from`.
        let until = minute("to", &spec.to, MINUTES_OF_A_DAY, errors);
        let until = until.map(|until| if until == 0 { MINUTES_OF_A_DAY } else { until });
        let reason = reason(&pointer, spec.reason.as_ref(), errors);
        Some(Time { days: days.unwrap_or(WeekDays::from_bits(u8::MAX)), from: from?, until: until?, reason })
    };
    specs.iter().enumerate().filter_map(time).collect()
}

fn minute_of(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let is_one = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_one.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (minutes < 60 && hours * 60 + minutes <= MINUTES_OF_A_DAY).then_some(hours * 60 + minutes)
}

fn text_of(minute: u16) -> String {
    format!("{:02}:{:02}", minute / 60, minute % 60)
}

fn days_of(pointer: &str, words: &[Word<DayOfWeek>], errors: &mut FieldErrors) -> WeekDays {
    if words.is_empty() {
        errors.add(pointer, "at least one day");
    }
    let days =
        words.iter().enumerate().filter_map(|(number, word)| errors.word(&format!("{pointer}/{number}"), Some(word)));
    days.map(DayOfWeek::day).collect()
}

fn maintenance(specs: &[MaintenanceSpec], zone: Tz, errors: &mut FieldErrors) -> Vec<Maintenance> {
    if specs.len() > CALENDAR_MAINTENANCE {
        errors.add("/maintenance", format!("at most {CALENDAR_MAINTENANCE} windows"));
        return Vec::new();
    }
    let window = |(number, spec): (usize, &MaintenanceSpec)| {
        let pointer = format!("/maintenance/{number}");
        let instant = |field: &str, text: &str, errors: &mut FieldErrors| {
            let short = Some(text).filter(|text| text.len() <= LOCAL_INSTANT_CHARS);
            let instant = short.and_then(|text| Moment::parse(text).or_else(|| cron::instant_shown(zone, text)));
            if instant.is_none() {
                let detail =
                    format!("`{text:.40}` is no instant such as 2027-01-15T22:00:00Z, or 2027-01-15T22:00 in its zone");
                errors.add(format!("{pointer}/{field}"), detail);
            }
            instant
        };
        let (from, until) = (instant("from", &spec.from, errors), instant("to", &spec.to, errors));
        let reason = reason(&pointer, spec.reason.as_ref(), errors);
        let (from, until) = (from?, until?);
        if until <= from {
            errors.add(format!("{pointer}/to"), format!("must lie after {from}"));
        }
        Some(Maintenance { from, until, reason })
    };
    specs.iter().enumerate().filter_map(window).collect()
}

impl DayOfWeek {
    fn day(self) -> Weekday {
        WeekDays::ALL[self as usize]
    }

    fn of(day: Weekday) -> Word<Self> {
        Word::read(letters_of(day))
    }
}

impl CalendarView {
    pub fn of(shared: &Shared, calendar: &Calendar) -> Self {
        Self {
            name: shared.name.to_string(),
            generation: shared.generation,
            rules: CalendarRules::of(calendar.rules()),
            created_at: Instant(shared.created_at),
            changed_at: Instant(shared.changed_at),
            under_way: shared.walk.is_some(),
        }
    }
}

impl CalendarRules {
    pub fn of(rules: &Rules) -> Self {
        let date =
            |excluded: &ExcludedDate| DateSpec { date: excluded.date.to_string(), reason: excluded.reason.clone() };
        let time = |time: &Time| TimeSpec {
            days: Some(time.days.iter().map(DayOfWeek::of).collect()),
            from: text_of(time.from),
            to: text_of(time.until),
            reason: time.reason.clone(),
        };
        let window = |window: &Maintenance| MaintenanceSpec {
            from: window.from.to_string(),
            to: window.until.to_string(),
            reason: window.reason.clone(),
        };
        Self {
            description: rules.description.clone(),
            timezone: rules.zone.name().to_owned(),
            excluded_dates: rules.dates.iter().map(date).collect(),
            excluded_times: rules.excluded.iter().map(time).collect(),
            allowed_times: rules.allowed.iter().map(time).collect(),
            business_days: rules.business_days.map(|days| days.iter().map(DayOfWeek::of).collect()),
            maintenance: rules.maintenance.iter().map(window).collect(),
        }
    }

    /// The request that would make it so.
    pub fn asked(self) -> CalendarRequest {
        CalendarRequest {
            description: self.description,
            timezone: Some(self.timezone),
            excluded_dates: Some(self.excluded_dates),
            excluded_times: Some(self.excluded_times),
            allowed_times: Some(self.allowed_times),
            business_days: self.business_days,
            maintenance: Some(self.maintenance),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> CalendarRequest {
        serde_json::from_str(text).unwrap()
    }

    fn refused(text: &str) -> Vec<String> {
        read(text).checked().unwrap_err().errors.into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn what_is_shown_asked_again_is_the_same() {
        let calendar = read(
            r#"{"description": "all", "timezone": "America/New_York",
                "excluded_dates": [{"date": "--12-25", "reason": "Christmas"}, {"date": "2027-07-04"}],
                "excluded_times": [{"days": ["SAT", "SUN"], "from": "22:00", "to": "06:00", "reason": "backup"}, {"from": "12:00", "to": "00:00"}],
                "allowed_times": [{"from": "00:00", "to": "23:59"}],
                "business_days": ["MON", "SUN"],
                "maintenance": [{"from": "2027-01-15T22:00", "to": "2027-01-16T04:00:00Z", "reason": "upgrade"}]}"#,
        )
        .checked()
        .unwrap();

        let shown = CalendarRules::of(calendar.rules());

        assert_eq!(shown.maintenance[0].from, "2027-01-16T03:00:00.000Z", "its own zone's");
        assert_eq!(shown.excluded_times[1].to, "24:00");
        assert_eq!(shown.asked().checked().unwrap(), calendar);
        assert!(CalendarRequest::default().checked().is_ok(), "what says nothing excludes nothing");
    }

    #[test]
    fn what_cannot_be_is_refused_where_it_stands() {
        let rows: [(&str, &[&str]); 11] = [
            (r#"{"timezone": "Mars/Base"}"#, &["/timezone"]),
            (r#"{"excluded_dates": [{"date": "2027-02-30"}]}"#, &["/excluded_dates/0/date"]),
            (r#"{"excluded_dates": [{"date": "--12-25"}, {"date": "--12-25"}]}"#, &["/excluded_dates/1/date"]),
            (r#"{"excluded_dates": [{"date": "--12-25", "reason": ""}]}"#, &["/excluded_dates/0/reason"]),
            (
                r#"{"excluded_times": [{"from": "24:00", "to": "9:00"}]}"#,
                &["/excluded_times/0/from", "/excluded_times/0/to"],
            ),
            (
                r#"{"excluded_times": [{"days": ["FUN"], "from": "10:00", "to": "11:00"}]}"#,
                &["/excluded_times/0/days/0"],
            ),
            (r#"{"allowed_times": [{"days": [], "from": "10:00", "to": "11:00"}]}"#, &["/allowed_times/0/days"]),
            (r#"{"business_days": []}"#, &["/business_days"]),
            (
                r#"{"maintenance": [{"from": "2027-01-15T22:00Z", "to": "yesterday"}]}"#,
                &["/maintenance/0/from", "/maintenance/0/to"],
            ),
            (r#"{"maintenance": [{"from": "2027-01-15T22:00", "to": "2027-01-15T22:00"}]}"#, &["/maintenance/0/to"]),
            (r#"{"excluded_times": [{"from": "00:00", "to": "24:00"}]}"#, &[""]),
        ];
        for (text, pointers) in rows {
            assert_eq!(refused(text), pointers, "{text}");
        }
        let many = vec![DateSpec { date: "--12-25".to_owned(), reason: None }; CALENDAR_DATES + 1];
        let many = CalendarRequest { excluded_dates: Some(many), ..CalendarRequest::default() };
        assert_eq!(many.checked().unwrap_err().errors[0].pointer, "/excluded_dates");
        assert!(serde_json::from_str::<CalendarRequest>(r#"{"holidays": []}"#).is_err(), "unknown fields are refused");
    }
}
