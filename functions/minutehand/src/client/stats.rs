//! `minutehand stats`: how things go, in a few numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use minutehand_client::calls;
use minutehand_client::wire::{LagView, StatsQuery, StatsView, Word};
use serde::Serialize;

use super::connection::Connection;
use super::failure::Failure;
use super::instant::short;
use super::session::{Paper, Session};
use super::span::roughly;
use super::table::{Card, Cell};

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// How far back runs are counted; an hour without
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u16).range(1..=1440))]
    minutes: Option<u16>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        let call = calls::stats(&StatsQuery { minutes: self.minutes.map(usize::from) });
        Session::open(&self.connection)?.show_answer(&call, card).await
    }
}

fn card(stats: &StatsView, _paper: Paper) -> String {
    let window = format!("{} to {}", short(stats.from.0), short(stats.to.0));
    let lag = stats.lag_ms.map_or_else(|| Cell::faint("-"), |lag| Cell::from(words(lag)));
    let card = Card::default()
        .with("Jobs", counts(&stats.jobs))
        .with("Runs", counts(&stats.runs))
        .with("Window", window)
        .with("Runs per minute", format!("{:.1}", stats.runs_per_minute))
        .with("Lag p50 / p99 / max", lag);
    let uncounted = (!stats.complete).then_some("there are more than were counted");
    card.maybe("", uncounted).draw()
}

/// By the word, as a reader looks for it.
fn counts<T: Serialize>(by_status: &BTreeMap<Word<T>, usize>) -> String {
    let by_word: BTreeMap<String, usize> =
        by_status.iter().map(|(status, count)| (status.to_string(), *count)).collect();
    let counts: Vec<String> = by_word.iter().map(|(status, count)| format!("{count} {status}")).collect();
    if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
}

fn words(lag: LagView) -> String {
    [lag.p50, lag.p99, lag.max].map(|ms| roughly(Duration::from_millis(ms))).join(" / ")
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use minutehand_domain::Moment;
    use serde_json::json;

    use super::*;

    #[test]
    fn stats_are_a_card() {
        let paper = Paper { width: 100, now: Moment::EPOCH };
        let drawn = |stats| strip_str(&card(&serde_json::from_value(stats).unwrap(), paper)).to_string();

        let full = drawn(
            json!({"from": "2030-01-01T00:00:00Z", "to": "2030-01-01T01:00:00Z", "runs": {"succeeded": 7, "failed": 1},
            "lag_ms": {"p50": 1, "p99": 2, "max": 1300}, "runs_per_minute": 0.13, "complete": false, "jobs": {"active": 2}}),
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
        let nothing = drawn(json!({"from": "2030-01-01T00:00:00Z", "to": "2030-01-01T01:00:00Z", "runs": {},
            "lag_ms": null, "runs_per_minute": 0.0, "complete": true, "jobs": {}}));
        assert!(nothing.contains("Jobs                 none\n") && nothing.contains("max  -\n"), "{nothing}");
    }
}
