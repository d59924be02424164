//! `minutehand backfill`: what a job was due in a span of the past is made up for.

use std::fmt::Write as _;

use clap::Args;
use minutehand_client::wire::{BackfillRequest, BackfillView, Instant};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;
use minutehand_domain::limits::BACKFILL_RUNS;
use minutehand_domain::priority::Priority;

use super::cells::counted;
use super::connection::Connection;
use super::failure::Failure;
use super::instant::{Since, now, short};
use super::operations::until_over;
use super::session::{Paper, Session, note};
use super::{id, one_of};

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// The job
    #[arg(value_name = "JOB", value_parser = id)]
    job: String,
    /// The first instant that may be among them, or how long ago: 2030-01-01T00:00:00Z, 2h, 7d
    #[arg(long, value_name = "INSTANT")]
    from: Since,
    /// The first that may not any more; now without
    #[arg(long, value_name = "INSTANT")]
    to: Option<Since>,
    /// How many at most, from the first on; 1,000 without
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=u64::from(BACKFILL_RUNS)))]
    max_runs: Option<u64>,
    /// Of its runs; low without
    #[arg(long, value_parser = one_of::<Priority>(Priority::ALL.map(Priority::as_str)))]
    priority: Option<Priority>,
    /// Why: it stands with the operation
    #[arg(long)]
    note: Option<String>,
    /// Count what would be made, show the first, and make nothing
    #[arg(long, conflicts_with_all = ["wait", "idempotency_key"])]
    dry_run: bool,
    /// Asked again with the same key, the same backfill is answered instead of a second one; --from and --to are then instants
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait until all its runs are made, and exit with 5 if some could not be; they may go on
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        let session = Session::open(&self.connection)?;
        let answer = session.send(&self.call(now())?).await?;
        let backfill = answer.read()?;
        let Some(operation) = backfill.backfill_id.as_ref().filter(|_| self.wait) else {
            return session.show(&answer, view);
        };
        let ended = until_over(&session, operation).await;
        // The operation knows nothing of what lies beyond it.
        if let Some(more) = more(&backfill) {
            note(&more);
        }
        ended
    }

    fn call(&self, now: Moment) -> Result<Call<BackfillView>, Failure> {
        let (key, to) = (self.idempotency_key.as_deref(), self.to.unwrap_or(Since::NOW));
        Since::same_again(key, &[("--from", self.from), ("--to", to)], now)?;
        let request = BackfillRequest {
            from: Instant(self.from.seen_from(now)),
            to: Instant(to.seen_from(now)),
            max_runs: self.max_runs,
            priority: self.priority,
            note: self.note.clone(),
            dry_run: self.dry_run,
            idempotency_key: None,
        };
        Ok(calls::backfill_job(&self.job, &request).once(key))
    }
}

fn view(backfill: &BackfillView, _paper: Paper) -> String {
    let mut said = format!("{}\n", sentence(backfill));
    // Which of the instants have run is not told: where all have, there is nothing to show.
    let shown = if backfill.already < backfill.runs { backfill.fires.as_slice() } else { &[] };
    for fire in shown {
        _ = writeln!(said, "  {}  {}", short(fire.effective_at.0), fire.local);
    }
    let beyond = backfill.runs.saturating_sub(u32::try_from(shown.len()).unwrap_or(u32::MAX));
    if beyond > 0 && !shown.is_empty() {
        _ = writeln!(said, "  and {beyond} more");
    }
    if let Some(more) = more(backfill) {
        _ = writeln!(said, "{more}");
    }
    said
}

/// What is made up for: of the instants of the span those that have not run.
fn sentence(backfill: &BackfillView) -> String {
    let makes = match &backfill.backfill_id {
        Some(operation) => format!("{operation} makes up for"),
        None => "It would make up for".to_owned(),
    };
    let instants = counted(backfill.runs.into(), "instant");
    match backfill.already {
        0 => format!("{makes} {instants}"),
        already => {
            let left = backfill.runs.saturating_sub(already);
            format!("{makes} {left} of {instants}; {already} ran already, and will not run again")
        }
    }
}

/// Where the span has more instants than one backfill takes.
fn more(backfill: &BackfillView) -> Option<String> {
    backfill.next_from.as_ref().map(|next| format!("There are more: --from {}", next.0))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ask: Ask,
    }

    fn sent(words: &[&str]) -> Result<(String, String), clap::Error> {
        let line = Line::try_parse_from([&["minutehand"], words].concat())?;
        let call = line.ask.call(Moment::from_secs(86_400)).expect("words that may be sent");
        let url = call.url(&Url::parse("http://h").unwrap());
        Ok((url.as_str()[8..].to_owned(), call.body().unwrap_or_default().to_owned()))
    }

    fn backfill(runs: u32, already: u32) -> BackfillView {
        let fire = json!({"at": "1970-01-01T22:00:00.000Z", "effective_at": "1970-01-01T22:00:00.000Z",
            "local": "1970-01-01T22:00:00Z", "note": null});
        serde_json::from_value(
            json!({"backfill_id": null, "dry_run": true, "job_id": "job_1", "runs": runs, "fires": [fire],
            "already": already, "next_from": "1970-01-01T23:00:00.000Z", "priority": "low"}),
        )
        .unwrap()
    }

    #[test]
    fn what_has_run_already_is_not_counted_among_what_is_made() {
        let paper = Paper { width: 80, now: Moment::EPOCH };
        let fire = "  1970-01-01 22:00:00Z  1970-01-01T22:00:00Z\n";
        let more = "There are more: --from 1970-01-01T23:00:00.000Z\n";

        for (runs, already, shown) in [
            (1, 0, format!("It would make up for 1 instant\n{fire}{more}")),
            (
                3,
                1,
                format!(
                    "It would make up for 2 of 3 instants; 1 ran already, and will not run again\n{fire}  and 2 more\n{more}"
                ),
            ),
            (3, 3, format!("It would make up for 0 of 3 instants; 3 ran already, and will not run again\n{more}")),
        ] {
            assert_eq!(view(&backfill(runs, already), paper), shown, "{runs} {already}");
        }
    }

    #[test]
    fn a_span_is_said_by_instants_or_by_how_long_ago() {
        let (address, body) = sent(&["job_1", "--from=2h", "--dry-run", "--max-runs=5", "--priority=high"]).unwrap();

        assert_eq!(address, "/v1/jobs/job_1/backfill");
        let (from, to) = ("1970-01-01T22:00:00.000Z", "1970-01-02T00:00:00.000Z");
        assert_eq!(body, format!(r#"{{"from":"{from}","to":"{to}","max_runs":5,"priority":"high","dry_run":true}}"#));
        for wrong in [&["job_1"][..], &["--from=2h"], &["job_1", "--from=2h", "--max-runs=10001"], &["..", "--from=2h"]]
        {
            assert!(sent(wrong).is_err(), "{wrong:?}");
        }
    }

    /// What is said as so long ago was another request when it was sent again, and its key was taken.
    #[test]
    fn what_may_be_asked_again_names_instants() {
        let refused = |span: &[&str]| {
            let words = [&["minutehand", "job_1", "--idempotency-key=k"], span].concat();
            match Line::parse_from(words).ask.call(Moment::from_secs(86_400)) {
                Ok(_) => None,
                Err(Failure::Usage(why)) => Some(why),
                Err(other) => panic!("{other:?}"),
            }
        };
        let instants = "--from 1970-01-01T22:00:00.000Z --to 1970-01-02T00:00:00.000Z";

        for span in [&["--from=2h"][..], &["--from=1970-01-01T22:00:00Z"], &["--from=2h", "--to=1970-01-02T00:00:00Z"]]
        {
            assert!(refused(span).is_some_and(|why| why.ends_with(instants)), "{span:?}");
        }
        assert_eq!(refused(&["--from=1970-01-01T22:00:00Z", "--to=1970-01-02T00:00:00Z"]), None);
    }
}
