//! `minutehand fires`: what fires next, across all jobs.

use clap::Args;
use minutehand_client::wire::{FiresQuery, FiresView, Instant, JobFireView};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;

use super::cells::or_dash;
use super::connection::Connection;
use super::failure::Failure;
use super::instant::{Ahead, away, now, short};
use super::list::onward;
use super::session::{Paper, Session, note};
use super::table::{Cell, HELD, Table};

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// What starts at or after this instant, or this far ahead: 2030-01-01T00:00:00Z, 2h, 1d; now without
    #[arg(long, value_name = "INSTANT")]
    from: Option<Ahead>,
    /// What starts before this instant, or this far ahead; a day after the begin without, and a week at most
    #[arg(long, value_name = "INSTANT")]
    to: Option<Ahead>,
    /// How many of one job at most; 24 without
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=100))]
    per_job: Option<u16>,
    /// How many on a page
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: Option<u16>,
    /// The page after this one: `next_cursor` of the page before
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        let session = Session::open(&self.connection)?;
        let call = self.call(now());
        let answer = session.send(&call).await?;
        session.show(&answer, view)?;
        if !session.json {
            let window = ["from", "to"].map(|name| call.said(name));
            for remark in remarks(&answer.read()?, window) {
                note(&remark);
            }
        }
        Ok(())
    }

    fn call(&self, now: Moment) -> Call<FiresView> {
        let instant = |ahead: Ahead| Instant(ahead.seen_from(now));
        calls::list_fires(&FiresQuery {
            from: self.from.map(instant),
            to: self.to.map(instant),
            per_job: self.per_job.map(usize::from),
            limit: self.limit.map(usize::from),
            cursor: self.cursor.clone(),
        })
    }
}

fn view(fires: &FiresView, paper: Paper) -> String {
    let table = table(&fires.items, paper);
    if table.is_empty() { "Nothing fires then.\n".to_owned() } else { table.draw(paper.width) }
}

fn table(fires: &[JobFireView], paper: Paper) -> Table {
    let mut table = Table::new(&["UTC", "WHEN", "JOB", "~NAME", "PRIORITY", "NOTE"]);
    for fire in fires {
        let at = fire.fire.effective_at.0;
        table.row(vec![
            Cell::from(short(at)),
            Cell::from(away(at, paper.now)),
            Cell::from(&fire.job_id),
            or_dash(fire.name.as_deref()),
            Cell::from(fire.priority.to_string()),
            Cell::new(remark(fire), HELD),
        ]);
    }
    table
}

fn remark(fire: &JobFireView) -> String {
    let goes_on = fire.goes_on.then(|| "goes on".to_owned());
    let said: Vec<String> = fire.fire.note.as_ref().map(ToString::to_string).into_iter().chain(goes_on).collect();
    said.join(", ")
}

fn remarks(fires: &FiresView, window: [Option<&str>; 2]) -> Vec<String> {
    let more = fires.next_cursor.as_ref().map(|cursor| format!("there are more: {}", onward(window, cursor)));
    let others = (!fires.complete).then(|| "there are more jobs than were asked".to_owned());
    let cut = fires.items.iter().any(|fire| fire.goes_on);
    let cut = cut.then(|| "of some jobs there are more: --per-job, or `jobs next` of one".to_owned());
    [more, cut, others].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use clap::Parser;
    use serde_json::json;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ask: Ask,
    }

    #[test]
    fn the_window_is_an_instant_or_how_far_ahead() {
        let now = Moment::parse("2027-01-15T08:00:00Z").unwrap();
        for (words, query) in [
            (&[][..], None),
            (&["--from=2h"], Some("from=2027-01-15T10%3A00%3A00.000Z")),
            (
                &["--to=2027-01-16T00:00:00Z", "--per-job=1", "--limit=5", "--cursor=0a"],
                Some("to=2027-01-16T00%3A00%3A00.000Z&per_job=1&limit=5&cursor=0a"),
            ),
        ] {
            let ask = Line::try_parse_from([&["fires"], words].concat()).unwrap().ask;

            assert_eq!(ask.call(now).url(&Url::parse("http://h").unwrap()).query(), query, "{words:?}");
        }
        for words in [&["--per-job=0"][..], &["--per-job=101"], &["--limit=1001"], &["--from=tomorrow"]] {
            assert!(Line::try_parse_from([&["fires"], words].concat()).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_forecast_is_a_table_and_says_what_it_leaves_out() {
        let fire = |at: &str, note: Option<&str>, goes_on: bool| {
            json!({"at": at, "effective_at": at, "local": "x", "note": note, "job_id": "job_1", "name": null,
                   "priority": "high", "run_id": "run_1", "goes_on": goes_on})
        };
        let items =
            [fire("2027-03-14T07:00:00.000Z", Some("shifted"), true), fire("2027-03-14T08:00:00.000Z", None, false)];
        let fires = json!({"items": items, "next_cursor": "0a", "complete": false});
        let fires: FiresView = serde_json::from_value(fires).unwrap();
        let paper = Paper { width: 100, now: Moment::parse("2027-03-14T06:00:00Z").unwrap() };

        let wanted = "\
UTC                   WHEN   JOB    NAME  PRIORITY  NOTE
2027-03-14 07:00:00Z  in 1h  job_1  -     high      shifted, goes on
2027-03-14 08:00:00Z  in 2h  job_1  -     high
";
        assert_eq!(strip_str(&view(&fires, paper)).to_string(), wanted);
        assert_eq!(remarks(&fires, [Some("A"), None])[0], "there are more: --from A --cursor 0a");
        let nothing = FiresView { items: Vec::new(), next_cursor: None, complete: true };
        assert_eq!((view(&nothing, paper).as_str(), remarks(&nothing, [None; 2]).len()), ("Nothing fires then.\n", 0));
    }
}
