//! `minutehand why`: what an instant of a job came to and which rule decided, or where the time of a run went.

use std::time::Duration;

use clap::Args;
use minutehand_client::wire::{Instant, OccurrenceView, RunWhyView, WhyQuery, WhyView};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;

use super::cells::{or_dash, status};
use super::connection::Connection;
use super::failure::Failure;
use super::id;
use super::instant::{instant, long, precise};
use super::session::{Paper, Session};
use super::span::roughly;
use super::table::{Card, Cell, STRONG, Table};

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// A job, of which an instant is asked about; or a run
    #[arg(value_name = "JOB or RUN", value_parser = id)]
    id: String,
    /// The instant of the job, past or coming
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    at: Option<Moment>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// What is asked, by the kind of the id.
#[derive(Debug)]
enum Asked {
    Instant(Call<WhyView>),
    Run(Call<RunWhyView>),
}

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        let asked = self.asked()?;
        let session = Session::open(&self.connection)?;
        match asked {
            Asked::Instant(call) => session.show_answer(&call, card).await,
            Asked::Run(call) => session.show_answer(&call, stages).await,
        }
    }

    fn asked(&self) -> Result<Asked, Failure> {
        match (self.id.parse::<RunKey>(), self.at) {
            (Ok(_), None) => Ok(Asked::Run(calls::explain_run(&self.id))),
            (Ok(_), Some(_)) => Err(Failure::Usage("--at goes with a job; a run has its own instant".to_owned())),
            (Err(_), Some(at)) => Ok(Asked::Instant(calls::explain_instant(&self.id, &WhyQuery { at: Instant(at) }))),
            (Err(_), None) => Err(Failure::Usage("say which instant of the job with --at".to_owned())),
        }
    }
}

fn card(why: &WhyView, paper: Paper) -> String {
    let at = |instant: Option<Instant>| instant.map(|instant| long(instant.0, paper.now));
    let near = |occurrence: &Option<OccurrenceView>| {
        occurrence.as_ref().map(|occurrence| long(occurrence.scheduled_at.0, paper.now))
    };
    let effective = why.effective_at.filter(|effective| Some(*effective) != why.scheduled_at);
    Card::default()
        .with("Verdict", Cell::new(&why.verdict, STRONG))
        .with("Rule", why.rule.as_str())
        .with("Why", why.detail.as_str())
        .maybe("Run", why.run_id.as_deref())
        .with("Local", why.local.as_str())
        .maybe("Scheduled", at(why.scheduled_at))
        .maybe("Effective", at(effective))
        .maybe("Lag", why.lag_seconds.map(seconds))
        .maybe("Stands for", why.count.map(|count| count.to_string()))
        .maybe("Until", at(why.covers_until))
        .maybe("Before it", near(&why.previous))
        .maybe("After it", near(&why.next))
        .draw()
}

fn stages(why: &RunWhyView, paper: Paper) -> String {
    let card = Card::default()
        .with("Run", why.run_id.as_str())
        .with("Status", status(&why.status))
        .maybe("Why", why.reason.as_deref())
        .with("Due", long(why.due_at.0, paper.now))
        .with("Lag", seconds(why.lag_seconds))
        .with("In all", seconds(why.total_seconds));
    let mut table = Table::new(&["AT", "STAGE", "TOOK", "ATTEMPT", "~DETAIL"]);
    for stage in &why.stages {
        table.row(vec![
            Cell::from(precise(stage.at.0)),
            Cell::from(&stage.stage),
            Cell::from(seconds(stage.seconds)),
            or_dash(stage.attempt.map(|number| number.to_string()).as_deref()),
            Cell::from(&stage.detail),
        ]);
    }
    if table.is_empty() { card.draw() } else { format!("{}\n{}", card.draw(), table.draw(paper.width)) }
}

fn seconds(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map_or_else(|_| "-".to_owned(), roughly)
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use clap::Parser;
    use serde_json::json;
    use url::Url;

    use super::*;

    const RUN: &str = "run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0";

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ask: Ask,
    }

    fn asked(words: &[&str]) -> Result<Asked, Failure> {
        Line::try_parse_from([&["why"], words].concat()).unwrap().ask.asked()
    }

    #[test]
    fn the_kind_of_the_id_says_what_is_asked() {
        let server = Url::parse("http://h").unwrap();

        let Ok(Asked::Instant(instant)) = asked(&["job_1", "--at=2030-01-01T01:00:00+01:00"]) else { panic!() };
        let Ok(Asked::Run(run)) = asked(&[RUN]) else { panic!() };

        assert_eq!(instant.url(&server).as_str(), "http://h/v1/jobs/job_1/why?at=2030-01-01T00%3A00%3A00.000Z");
        assert_eq!(run.url(&server).as_str(), format!("http://h/v1/runs/{RUN}/why"));
        for words in [&["job_1"][..], &[RUN, "--at=2030-01-01T00:00:00Z"]] {
            assert!(matches!(asked(words), Err(Failure::Usage(_))), "{words:?}");
        }
    }

    #[test]
    fn an_instant_is_a_card() {
        let why = json!({
            "job_id": "job_1", "at": "2030-01-01T00:00:05.000Z", "local": "2030-01-01T00:00:05+00:00",
            "verdict": "not_an_occurrence", "rule": "schedule", "detail": "not an occurrence: the schedule does not name it",
            "run_id": null, "scheduled_at": null, "effective_at": null, "lag_seconds": null, "count": null,
            "covers_until": null, "previous": null,
            "next": {"scheduled_at": "2030-01-01T00:01:00.000Z", "effective_at": "2030-01-01T00:01:00.000Z"}});
        let paper = Paper { width: 100, now: Moment::parse("2030-01-01T00:00:00Z").unwrap() };

        let drawn = strip_str(&card(&serde_json::from_value(why).unwrap(), paper)).to_string();

        let wanted = "\
Verdict   not_an_occurrence
Rule      schedule
Why       not an occurrence: the schedule does not name it
Local     2030-01-01T00:00:05+00:00
After it  2030-01-01T00:01:00.000Z (in 1m)
";
        assert_eq!(drawn, wanted);
    }

    #[test]
    fn a_run_is_a_card_and_its_stages() {
        let why = json!({
            "run_id": RUN, "job_id": "job_1", "status": "succeeded", "reason": null,
            "due_at": "2030-01-01T00:00:00.000Z", "started_at": "2030-01-01T00:00:02.000Z",
            "lag_seconds": 2.0, "total_seconds": 5.0, "stages": [
                {"stage": "queued", "attempt": 1, "at": "2030-01-01T00:00:00.000Z", "until": "2030-01-01T00:00:02.000Z",
                 "seconds": 2.0, "detail": "until it was claimed"},
                {"stage": "attempt", "attempt": 1, "at": "2030-01-01T00:00:02.000Z", "until": "2030-01-01T00:00:05.000Z",
                 "seconds": 3.0, "detail": "by worker_1: succeeded"}]});
        let paper = Paper { width: 100, now: Moment::parse("2030-01-01T00:00:00Z").unwrap() };

        let drawn = strip_str(&stages(&serde_json::from_value(why).unwrap(), paper)).to_string();

        let wanted = format!(
            "\
Run     {RUN}
Status  succeeded
Due     2030-01-01T00:00:00.000Z (now)
Lag     2s
In all  5s

AT                        STAGE    TOOK  ATTEMPT  DETAIL
2030-01-01 00:00:00.000Z  queued   2s    1        until it was claimed
2030-01-01 00:00:02.000Z  attempt  3s    1        by worker_1: succeeded
"
        );
        assert_eq!(drawn, wanted);
    }
}
