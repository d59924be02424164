//! `minutehand preview`: what a cron expression would do.

use clap::Args;
use minutehand_domain::Moment;
use serde::Deserialize;
use serde_json::{Map, json};

use super::clock::ClockFlags;
use super::connection::Connection;
use super::instant::{away, instant, short};
use super::request::Request;
use super::session::{Paper, Session};
use super::table::{Cell, HELD, STRONG, Table};
use super::trouble::Trouble;

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The expression: minute, hour, day of month, month, day of week, with seconds before them and years behind if you
    /// like; or @daily, @every 90s, cron(…), rate(…), at(…)
    cron: String,
    #[command(flatten)]
    clock: ClockFlags,
    /// How many fires
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: Option<u16>,
    /// Those after this instant; now without
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    from: Option<Moment>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Preview {
    description: String,
    fires: Vec<Fire>,
    #[serde(default)]
    exhausted: bool,
}

#[derive(Debug, Deserialize)]
struct Fire {
    at: Moment,
    local: String,
    note: Option<String>,
}

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Trouble> {
        Session::open(&self.connection)?.ask_and_show::<Preview>(&self.request(), view).await
    }

    fn request(&self) -> Request {
        let mut schedule = Map::from_iter([("cron".to_owned(), json!(self.cron))]);
        self.clock.onto(&mut schedule);
        let mut body = json!({ "schedule": schedule });
        if let Some(count) = self.count {
            body["count"] = json!(count);
        }
        if let Some(from) = self.from {
            body["from"] = json!(from.to_string());
        }
        Request::post(&["schedules", "preview"]).json(&body)
    }
}

pub(crate) fn view(preview: &Preview, paper: Paper) -> String {
    let mut out = format!("{}\n", Cell::new(&preview.description, STRONG).painted());
    if !preview.fires.is_empty() {
        out = format!("{out}\n{}", table(&preview.fires, paper).draw(paper.width));
    }
    if preview.exhausted {
        out.push_str(if preview.fires.is_empty() { "It fires no more.\n" } else { "After that it fires no more.\n" });
    }
    out
}

fn table(fires: &[Fire], paper: Paper) -> Table {
    let mut table = Table::new(&["LOCAL", "UTC", "WHEN", "NOTE"]);
    for fire in fires {
        table.row(vec![
            Cell::from(&fire.local),
            Cell::from(short(fire.at)),
            Cell::from(away(fire.at, paper.now)),
            fire.note.as_ref().map_or_else(|| Cell::from(""), |note| Cell::new(note, HELD)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ask: Ask,
    }

    #[test]
    fn an_expression_is_asked_about_as_it_is_written() {
        let cases: [(&[&str], &str); 2] = [
            (&["0 2 L * *"], r#"{"schedule":{"cron":"0 2 L * *"}}"#),
            (
                &["@daily", "--tz=Europe/Paris", "-n2", "--from=2030-01-01T00:00:00Z"],
                r#"{"count":2,"from":"2030-01-01T00:00:00.000Z","schedule":{"cron":"@daily","timezone":"Europe/Paris"}}"#,
            ),
        ];
        for (words, body) in cases {
            let line = Line::try_parse_from([&["preview"], words].concat()).unwrap();
            assert_eq!(line.ask.request().body.as_deref(), Some(body));
        }
    }

    #[test]
    fn a_preview_is_a_sentence_and_its_fires() {
        let preview = json!({"description": "at 02:30 every day, America/New_York time", "exhausted": true, "fires": [
            {"at": "2027-03-14T07:00:00.000Z", "local": "2027-03-14T03:00:00-04:00", "note": "shifted"},
            {"at": "2027-03-15T06:30:00.000Z", "local": "2027-03-15T02:30:00-04:00", "note": null}]});
        let paper = Paper { width: 100, now: Moment::parse("2027-03-14T06:00:00Z").unwrap() };

        let shown = view(&serde_json::from_value(preview).unwrap(), paper);

        let wanted = "\
at 02:30 every day, America/New_York time

LOCAL                      UTC                   WHEN   NOTE
2027-03-14T03:00:00-04:00  2027-03-14 07:00:00Z  in 1h  shifted
2027-03-15T02:30:00-04:00  2027-03-15 06:30:00Z  in 1d
After that it fires no more.
";
        assert_eq!(strip_str(&shown).to_string(), wanted);
    }
}
