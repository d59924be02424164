//! `minutehand stats`: how things go, in a few numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use minutehand_domain::Moment;
use serde::Deserialize;

use super::connection::Connection;
use super::instant::short;
use super::request::Request;
use super::session::{Paper, Session};
use super::span::roughly;
use super::table::{Card, Cell};
use super::trouble::Trouble;

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// How far back runs are counted; an hour without
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u16).range(1..=1440))]
    minutes: Option<u16>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Debug, Deserialize)]
struct Stats {
    from: Option<Moment>,
    to: Option<Moment>,
    #[serde(default)]
    runs: BTreeMap<String, u64>,
    lag_ms: Option<Lag>,
    runs_per_minute: Option<f64>,
    complete: Option<bool>,
    #[serde(default)]
    jobs: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize)]
struct Lag {
    p50: f64,
    p99: f64,
    max: f64,
}

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Trouble> {
        let request = Request::get(&["stats"]).query("minutes", self.minutes);
        Session::open(&self.connection)?.ask_and_show(&request, card).await
    }
}

fn card(stats: &Stats, _paper: Paper) -> String {
    let window = stats.from.zip(stats.to).map(|(from, to)| format!("{} to {}", short(from), short(to)));
    let lag = stats.lag_ms.as_ref().map_or_else(|| Cell::faint("-"), |lag| Cell::from(lag.words()));
    let card = Card::default()
        .with("Jobs", counts(&stats.jobs))
        .with("Runs", counts(&stats.runs))
        .maybe("Window", window)
        .maybe("Runs per minute", stats.runs_per_minute.map(|rate| format!("{rate:.1}")))
        .with("Lag p50 / p99 / max", lag);
    let uncounted = (stats.complete == Some(false)).then_some("there are more than were counted");
    card.maybe("", uncounted).draw()
}

fn counts(by_status: &BTreeMap<String, u64>) -> String {
    let counts: Vec<String> = by_status.iter().map(|(status, count)| format!("{count} {status}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

impl Lag {
    fn words(&self) -> String {
        [self.p50, self.p99, self.max].map(|ms| roughly(Duration::from_secs_f64(ms.clamp(0.0, 1e12) / 1e3))).join(" / ")
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::json;

    use super::*;

    #[test]
    fn stats_are_a_card_whatever_is_missing() {
        let paper = Paper { width: 100, now: Moment::EPOCH };
        let drawn = |stats| strip_str(&card(&serde_json::from_value(stats).unwrap(), paper)).to_string();

        let full = drawn(
            json!({"from": "2030-01-01T00:00:00Z", "to": "2030-01-01T01:00:00Z", "runs": {"succeeded": 7, "failed": 1},
            "lag_ms": {"p50": 1, "p99": 2.5, "max": 1300}, "runs_per_minute": 0.13, "complete": false, "jobs": {"active": 2}}),
        );
        let wanted = "\
Jobs                 2 active
Runs                 1 failed, 7 succeeded
Window               2030-01-01 00:00:00Z to 2030-01-01 01:00:00Z
Runs per minute      0.1
Lag p50 / p99 / max  1ms / 2ms / 1.3s
                     there are more than were counted
";
        assert_eq!(full, wanted);
        assert_eq!(
            drawn(json!({"runs": {}, "lag_ms": null})),
            "Jobs                 none\nRuns                 none\nLag p50 / p99 / max  -\n"
        );
    }
}
