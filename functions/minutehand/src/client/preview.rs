//! `minutehand preview`: what a cron expression would do.

use clap::Args;
use minutehand_client::wire::{FireView, Instant, PreviewRequest, PreviewView};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;
use serde_json::{Map, Value, json};

use super::clock::ClockFlags;
use super::connection::Connection;
use super::failure::Failure;
use super::instant::{away, instant, short};
use super::session::{Paper, Session};
use super::table::{Cell, HELD, STRONG, Table};

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

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        Session::open(&self.connection)?.show_answer(&self.call(), view).await
    }

    fn call(&self) -> Call<PreviewView> {
        let mut schedule = Map::from_iter([("cron".to_owned(), json!(self.cron))]);
        self.clock.onto(&mut schedule);
        let schedule = serde_json::from_value(Value::Object(schedule)).expect("flags are texts");
        let (from, count) = (self.from.map(Instant), self.count.map(usize::from));
        calls::preview_schedule(&PreviewRequest { schedule, from, count })
    }
}

pub(crate) fn view(preview: &PreviewView, paper: Paper) -> String {
    let mut out = format!("{}\n", Cell::new(&preview.description, STRONG).painted());
    if !preview.fires.is_empty() {
        out = format!("{out}\n{}", table(&preview.fires, paper).draw(paper.width));
    }
    out.push_str(match (preview.exhausted, preview.fires.is_empty()) {
        (true, true) => "It fires no more.\n",
        (true, false) => "After that it fires no more.\n",
        (false, true) => "No fire can be foretold: it is paused, or does not fire by the time.\n",
        (false, false) => "",
    });
    out
}

/// What the schedule names, on the clock that it goes by; and when that fires, which jitter or a calendar may make later.
fn table(fires: &[FireView], paper: Paper) -> Table {
    let mut table = Table::new(&["LOCAL", "UTC", "WHEN", "NOTE"]);
    for fire in fires {
        table.row(vec![
            Cell::from(&fire.local),
            Cell::from(short(fire.effective_at.0)),
            Cell::from(away(fire.effective_at.0, paper.now)),
            fire.note.as_ref().map_or_else(|| Cell::from(""), |note| Cell::new(note.to_string(), HELD)),
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
    fn an_expression_is_sent_as_it_is_written() {
        let cases: [(&[&str], &str); 2] = [
            (&["0 2 L * *"], r#"{"schedule":{"cron":"0 2 L * *"}}"#),
            (
                &["@daily", "--tz=Europe/Paris", "-n2", "--from=2030-01-01T00:00:00Z"],
                r#"{"schedule":{"cron":"@daily","timezone":"Europe/Paris"},"from":"2030-01-01T00:00:00.000Z","count":2}"#,
            ),
        ];
        for (words, body) in cases {
            let line = Line::try_parse_from([&["preview"], words].concat()).unwrap();
            assert_eq!(line.ask.call().body(), Some(body));
        }
    }

    #[test]
    fn a_preview_is_a_sentence_and_its_fires() {
        let preview = json!({"description": "at 02:30 every day, America/New_York time", "exhausted": true, "fires": [
            {"at": "2027-03-14T07:00:00.000Z", "effective_at": "2027-03-14T07:00:00.000Z", "local": "2027-03-14T03:00:00-04:00", "note": "shifted"},
            {"at": "2027-03-15T06:30:00.000Z", "effective_at": "2027-03-15T06:30:00.000Z", "local": "2027-03-15T02:30:00-04:00", "note": null},
            {"at": "2027-03-16T06:30:00.000Z", "effective_at": "2027-03-17T06:30:00.000Z", "local": "2027-03-16T02:30:00-04:00", "note": "moved"}]});
        let paper = Paper { width: 100, now: Moment::parse("2027-03-14T06:00:00Z").unwrap() };

        let shown = view(&serde_json::from_value(preview).unwrap(), paper);

        let wanted = "\
at 02:30 every day, America/New_York time

LOCAL                      UTC                   WHEN   NOTE
2027-03-14T03:00:00-04:00  2027-03-14 07:00:00Z  in 1h  shifted
2027-03-15T02:30:00-04:00  2027-03-15 06:30:00Z  in 1d
2027-03-16T02:30:00-04:00  2027-03-17 06:30:00Z  in 3d  moved
After that it fires no more.
";
        assert_eq!(strip_str(&shown).to_string(), wanted);

        let paused = json!({"description": "every 10 seconds", "exhausted": false, "fires": []});
        let shown = view(&serde_json::from_value(paused).unwrap(), paper);
        assert!(shown.ends_with("No fire can be foretold: it is paused, or does not fire by the time.\n"), "{shown}");
    }
}
