//! `minutehand calendars`: when nothing fires of the jobs that heed them.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use minutehand_client::wire::{
    CalendarChangeView, CalendarQuery, CalendarView, DeleteCalendarQuery, ImportRequest, Json, Page, TimeSpec,
    TouchView, TouchesView, Word,
};
use minutehand_client::{Call, calls};

use super::cells::or_dash;
use super::failure::Failure;
use super::id;
use super::input::Source;
use super::instant::{long, short};
use super::list::Paging;
use super::session::{Paper, Session};
use super::table::{Card, Cell, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum Calendars {
    /// List calendars
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand calendars list
  minutehand calendars list --json | jq -r '.items[].name'"
    )]
    List(List),
    /// Show what a calendar says
    #[command(after_help = "\
Examples:
  minutehand calendars show us-holidays
  minutehand calendars show us-holidays --json | jq '.excluded_dates[]'")]
    Show(One),
    /// Make a calendar, or write the whole of one anew, from JSON; the jobs that heed it go by it at once
    #[command(after_help = "\
Examples:
  echo '{\"timezone\": \"America/New_York\", \"excluded_dates\": [{\"date\": \"--12-25\", \"reason\": \"Christmas\"}]}' |
    minutehand calendars put us-holidays
  minutehand calendars put us-holidays --file holidays.json --dry-run
  minutehand jobs create --cron '0 9 * * *' --calendar us-holidays --on-excluded move --noop")]
    Put(Put),
    /// Take the all-day events of an iCalendar file among a calendar's dates
    #[command(after_help = "\
What is not understood is told of, and not guessed.

Examples:
  minutehand calendars import us-holidays --file holidays.ics
  minutehand calendars import us-holidays --file holidays.ics --replace --dry-run")]
    Import(Import),
    /// Delete a calendar; refused while jobs heed it
    #[command(after_help = "\
Examples:
  minutehand calendars delete us-holidays --dry-run
  minutehand calendars delete us-holidays --force")]
    Delete(Delete),
}

#[derive(Debug, Args)]
pub(crate) struct List {}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The calendar's name, by which jobs name it
    #[arg(value_name = "CALENDAR", id = "calendar", value_parser = id)]
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    #[command(flatten)]
    one: One,
    /// Where it says what it says, as JSON; stdin without
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    file: Source,
    /// Only say what it would touch
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    #[command(flatten)]
    one: One,
    /// The .ics file; stdin without
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    file: Source,
    /// The time zone of a calendar that is not there yet; UTC without
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// In the place of all dates that it has
    #[arg(long)]
    replace: bool,
    /// Only say what it would touch
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    one: One,
    /// Though jobs heed it: they go on without it
    #[arg(long, conflicts_with = "dry_run")]
    force: bool,
    /// Only say what it would touch
    #[arg(long)]
    dry_run: bool,
}

impl Calendars {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::List(List {}) => session.list(List::call(), &Paging::default(), "No calendars.", table).await,
            Self::Show(One { name }) => session.show_answer(&calls::get_calendar(&name), card).await,
            Self::Put(put) => session.show_answer(&put.call(&put.file.read()?)?, told).await,
            Self::Import(import) => session.show_answer(&import.call(import.file.read()?), told).await,
            Self::Delete(Delete { one, dry_run: true, .. }) => {
                session.show_answer(&calls::would_delete_calendar(&one.name), told).await
            }
            Self::Delete(Delete { one: One { name }, force, .. }) => {
                let query = DeleteCalendarQuery { dry_run: false, force };
                session.send(&calls::delete_calendar(&name, &query)).await?;
                session.done(&format!("{name} is deleted"))
            }
        }
    }
}

impl List {
    fn call() -> Call<Page<CalendarView>> {
        calls::list_calendars()
    }
}

impl Put {
    fn call(&self, text: &str) -> Result<Call<CalendarChangeView>, Failure> {
        let rules: Json =
            serde_json::from_str(text).map_err(|why| Failure::Usage(format!("the calendar is no JSON: {why}")))?;
        Ok(calls::put_calendar(&self.one.name, &rules, &CalendarQuery { dry_run: self.dry_run }))
    }
}

impl Import {
    fn call(&self, ics: String) -> Call<CalendarChangeView> {
        let request = ImportRequest { ics, timezone: self.tz.clone(), replace: self.replace };
        calls::import_calendar(&self.one.name, &request, &CalendarQuery { dry_run: self.dry_run })
    }
}

fn table(calendars: &[CalendarView], _paper: Paper) -> Table {
    let mut table = Table::new(&["CALENDAR", "ZONE", "DATES", "CHANGED", "DESCRIPTION"]);
    for calendar in calendars {
        table.row(vec![
            Cell::from(&calendar.name),
            Cell::from(&calendar.rules.timezone),
            Cell::from(calendar.rules.excluded_dates.len().to_string()),
            Cell::from(short(calendar.changed_at.0)),
            or_dash(calendar.rules.description.as_deref()),
        ]);
    }
    table
}

fn card(calendar: &CalendarView, paper: Paper) -> String {
    let rules = &calendar.rules;
    let with = |what: String, reason: &Option<String>| match reason {
        Some(reason) => format!("{what} ({reason})"),
        None => what,
    };
    let lines = |lines: Vec<String>| (!lines.is_empty()).then(|| lines.join(", "));
    let times = |times: &[TimeSpec]| lines(times.iter().map(|time| with(time_in_words(time), &time.reason)).collect());
    let days = rules.business_days.as_ref().map(|days| days.iter().map(Word::to_string).collect::<Vec<_>>().join(" "));
    let dates = rules.excluded_dates.iter().map(|date| with(date.date.clone(), &date.reason)).collect();
    let windows = rules.maintenance.iter().map(|it| with(format!("{} to {}", it.from, it.to), &it.reason)).collect();
    Card::default()
        .with("Calendar", &calendar.name)
        .maybe("About", rules.description.clone())
        .with("Zone", &rules.timezone)
        .maybe("Not on", lines(dates))
        .maybe("Not at", times(&rules.excluded_times))
        .maybe("Only at", times(&rules.allowed_times))
        .maybe("Only on", days)
        .maybe("Maintenance", lines(windows))
        .with("Changed", long(calendar.changed_at.0, paper.now))
        .maybe("Jobs", calendar.under_way.then(|| "the last change is on its way to them".to_owned()))
        .draw()
}

fn time_in_words(time: &TimeSpec) -> String {
    let days = time.days.iter().flatten().map(Word::to_string).collect::<Vec<_>>().join(" ");
    format!("{days} {}-{}", time.from, time.to)
}

/// What became of a change, or would.
fn told(change: &CalendarChangeView, paper: Paper) -> String {
    let mut out = change.calendar.as_ref().map_or_else(String::new, |calendar| card(calendar, paper));
    if let Some(touches) = &change.touches {
        out.push_str(&touched(touches, paper));
    } else {
        _ = writeln!(out, "{} jobs go by it from now on.", change.jobs_changed);
    }
    for passed in &change.passed_over {
        _ = writeln!(out, "Passed over: {}: {}", passed.event, passed.why);
    }
    out
}

fn touched(touches: &TouchesView, paper: Paper) -> String {
    let TouchesView { jobs, jobs_touched, skipped, added, moved, complete, .. } = touches;
    let least = if *complete { "" } else { "At least: " };
    let mut out = format!(
        "{least}{jobs} jobs heed it, and {jobs_touched} of them would fire otherwise in the next 30 days: {skipped} fires skipped, {added} added, \
         {moved} moved.\n"
    );
    if !touches.sample.is_empty() {
        out.push_str(&sample(&touches.sample).draw(paper.width));
    }
    out
}

fn sample(touches: &[TouchView]) -> Table {
    let mut table = Table::new(&["JOB", "NAME", "AT", "FIRES", "WOULD FIRE"]);
    for touch in touches {
        table.row(vec![
            Cell::from(&touch.job_id),
            or_dash(touch.name.as_deref()),
            Cell::from(short(touch.at.0)),
            or_dash(touch.fires.map(|at| short(at.0)).as_deref()),
            or_dash(touch.would_fire.map(|at| short(at.0)).as_deref()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        calendars: Calendars,
    }

    fn parsed(words: &[&str]) -> Result<Calendars, clap::Error> {
        Line::try_parse_from([&["minutehand"], words].concat()).map(|line| line.calendars)
    }

    #[test]
    fn a_calendar_is_sent_as_its_file_says_it() {
        let Calendars::Put(put) = parsed(&["put", "us-holidays", "--dry-run"]).unwrap() else { panic!("it puts") };

        let call = put.call(r#"{"business_days": ["MON"]}"#).unwrap();

        let url = call.url(&Url::parse("http://h").unwrap());
        assert_eq!((url.path(), url.query()), ("/v1/calendars/us-holidays", Some("dry_run=true")));
        assert!(call.body().is_some_and(|body| body.contains("business_days")));
        assert!(put.call("holidays").is_err());
        assert!(parsed(&["delete", "a", "--force", "--dry-run"]).is_err());
        assert!(parsed(&["show", "a/../b"]).is_err());
    }
}
