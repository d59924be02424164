//! `minutehand runs`: what ran, how it went, and what may still be done about it.

mod effects;
pub(crate) mod follow;
mod logs;
pub(crate) mod run;
mod tail;
mod watch_list;

use clap::{Args, Subcommand};
use minutehand_client::wire::{
    Instant, NoteRequest, Page, RetryRequest, RunEventView, RunEventsView, RunRequest, RunStatus, RunView,
    RunsAcrossQuery, RunsQuery,
};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;

use self::effects::Effects;
use self::logs::Logs;
use self::run::card;
use self::tail::Tail;
use super::cells::or_dash;
use super::failure::Failure;
use super::input::Json;
use super::instant::{Since, now, precise};
use super::jobs::with_payload;
use super::list::Paging;
use super::session::{Paper, Session};
use super::table::{Cell, Table};
use super::{id, one_of};

pub(crate) const STATUSES: [&str; 9] =
    ["scheduled", "queued", "waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped"];

#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List runs, newest first; those of the last 24 hours, unless --from says more
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand runs list --job job_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand runs list --status failed --from 7d
  minutehand runs list --from 2030-01-01T00:00:00Z --to 2030-01-02T00:00:00Z --all --json"
    )]
    List(List),
    /// Show one run with all its attempts
    #[command(after_help = "\
Examples:
  minutehand runs show run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0
  minutehand runs show run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --json | jq .result")]
    Show(One),
    /// Run again what failed, was cancelled or skipped; the new run names the old one
    #[command(after_help = "\
Examples:
  minutehand runs retry run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0
  minutehand runs retry run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --payload @corrected.json --wait")]
    Retry(Retry),
    /// End a run that waits; one that runs is not tried again
    #[command(after_help = "\
Examples:
  minutehand runs cancel run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --note 'wrong day'")]
    Cancel(Cancel),
    /// Follow runs as they change: all, those of a job, or one until it has ended
    #[command(after_help = "\
Each change is a line, and with --json a line of JSON. Without a run it goes on until ctrl-c.
With one it exits with 5 if that did not succeed.

Examples:
  minutehand runs tail
  minutehand runs tail --job job_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand runs tail run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 && echo 'it succeeded'
  minutehand runs tail --json | jq -r 'select(.status == \"failed\") | .run_id'")]
    Tail(Tail),
    /// Show what a run's workers said, line by line, or what its calls were answered
    #[command(after_help = "\
Examples:
  minutehand runs logs run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0
  minutehand runs logs run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 -n 20 -f
  minutehand runs logs run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --json | jq -r .line")]
    Logs(Logs),
    /// List what a run's workers claimed before they did it, and what came of it
    #[command(after_help = "\
Examples:
  minutehand runs effects run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0
  minutehand runs effects run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --json | jq '.items[] | select(.said_at == null)'")]
    Effects(Effects),
    /// Show what happened to a run, and who did it
    #[command(after_help = "\
Examples:
  minutehand runs events run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0")]
    Events(One),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Of this job
    #[arg(long, value_name = "JOB", value_parser = id)]
    job: Option<String>,
    /// In this state
    #[arg(long, value_parser = one_of::<RunStatus>(STATUSES))]
    status: Option<RunStatus>,
    /// Scheduled at or after this instant, or this long ago: 2030-01-01T00:00:00Z, 2h, 7d
    #[arg(long, value_name = "INSTANT")]
    from: Option<Since>,
    /// Scheduled before this instant, or this long ago
    #[arg(long, value_name = "INSTANT")]
    to: Option<Since>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The run
    #[arg(value_name = "RUN", value_parser = id)]
    run: String,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    one: One,
    /// Why: the run shows it, and so does the audit
    #[arg(long)]
    note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    one: One,
    /// The JSON that the target receives this time; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON")]
    payload: Option<Json>,
    /// Asked again with the same key, the same run is answered instead of a second one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Why: both runs show it, and so does the audit
    #[arg(long)]
    note: Option<String>,
    /// Wait until the new run has ended, and exit with 5 if it did not succeed
    #[arg(long)]
    wait: bool,
}

impl Runs {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::List(list) => {
                let view = |runs: &[RunView], paper| run::table(runs, list.job.is_some(), paper);
                session.list(list.call(now()), &list.paging, "No runs.", view).await
            }
            Self::Show(One { run }) => session.show_answer(&calls::get_run(&run), card).await,
            Self::Retry(retry) if retry.wait => follow::until_ended(session, &retry.call()?).await,
            Self::Retry(retry) => session.show_answer(&retry.call()?, card).await,
            Self::Cancel(Cancel { one: One { run }, note }) => {
                session.show_answer(&calls::cancel_run(&run, &NoteRequest { note }), card).await
            }
            Self::Tail(tail) => tail.execute(session).await,
            Self::Logs(logs) => logs.execute(session).await,
            Self::Effects(effects) => effects.execute(session).await,
            Self::Events(One { run }) => session.show_answer(&calls::list_run_events(&run), events).await,
        }
    }
}

/// The runs of one job are asked of the job, which knows them without an index.
fn list(job: Option<&str>, query: RunsQuery) -> Call<Page<RunView>> {
    if let Some(job) = job {
        return calls::list_runs_of_job(job, &query);
    }
    let RunsQuery { limit, cursor, status, from, to } = query;
    calls::list_runs(&RunsAcrossQuery { job_id: None, limit, cursor, status, from, to })
}

impl List {
    fn call(&self, now: Moment) -> Call<Page<RunView>> {
        let instant = |since: Since| Instant(since.seen_from(now));
        let (from, to) = (self.from.map(instant), self.to.map(instant));
        list(self.job.as_deref(), RunsQuery { status: self.status, from, to, ..RunsQuery::default() })
    }
}

impl Retry {
    fn call(&self) -> Result<Call<RunView>, Failure> {
        let RunRequest { payload, idempotency_key } = with_payload(self.payload.as_ref())?;
        let request = RetryRequest { payload, idempotency_key, note: self.note.clone() };
        Ok(calls::retry_run(&self.one.run, &request).once(self.idempotency_key.as_deref()))
    }
}

fn events(events: &RunEventsView, paper: Paper) -> String {
    let mut table = Table::new(&["AT", "EVENT", "ATTEMPT", "BY", "~DETAIL"]);
    for RunEventView { at, kind, attempt, by, note, detail } in &events.items {
        table.row(vec![
            Cell::from(precise(at.0)),
            Cell::from(kind),
            or_dash(attempt.map(|number| number.to_string()).as_deref()),
            or_dash(by.as_deref()),
            Cell::from(note.as_ref().or(detail.as_ref()).map_or("", String::as_str)),
        ]);
    }
    if table.is_empty() { "No events.\n".to_owned() } else { table.draw(paper.width) }
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
        #[command(subcommand)]
        runs: Runs,
    }

    fn sent(words: &[&str]) -> (String, Option<String>) {
        let now = Moment::parse("2030-01-02T00:00:00Z").unwrap();
        match Line::try_parse_from([&["minutehand"], words].concat()).unwrap().runs {
            Runs::List(list) => parts(&list.call(now)),
            Runs::Retry(retry) => parts(&retry.call().unwrap()),
            other => panic!("{other:?} is sent as it is"),
        }
    }

    fn parts<T>(call: &Call<T>) -> (String, Option<String>) {
        let url = call.url(&Url::parse("http://h").unwrap());
        (format!("{} {}", call.method(), &url.as_str()[8..]), call.body().map(str::to_owned))
    }

    #[test]
    fn each_command_is_a_call() {
        let cases: [(&[&str], &str, Option<&str>); 6] = [
            (&["list"], "GET /v1/runs", None),
            (&["list", "--job=job_1", "--status=failed"], "GET /v1/jobs/job_1/runs?status=failed", None),
            (
                &["list", "--from=1d", "--to=2030-01-01T12:00:00Z"],
                "GET /v1/runs?from=2030-01-01T00%3A00%3A00.000Z&to=2030-01-01T12%3A00%3A00.000Z",
                None,
            ),
            (&["retry", "run_1"], "POST /v1/runs/run_1/retry", None),
            (&["retry", "run_1", "--note=n"], "POST /v1/runs/run_1/retry", Some(r#"{"note":"n"}"#)),
            (&["retry", "run_1", "--payload=[1]"], "POST /v1/runs/run_1/retry", Some(r#"{"payload":[1]}"#)),
        ];
        for (words, address, body) in cases {
            assert_eq!(sent(words), (address.to_owned(), body.map(str::to_owned)), "{words:?}");
        }
    }

    #[test]
    fn events_are_a_table() {
        let items = json!({"items": [
            {"at": "2030-01-01T00:00:00.000Z", "type": "created", "attempt": null, "by": "key_1", "detail": "by hand"},
            {"at": "2030-01-01T00:00:01.000Z", "type": "started", "attempt": 1, "by": null, "detail": null}]});
        let paper = Paper { width: 100, now: Moment::EPOCH };

        let drawn = strip_str(&events(&serde_json::from_value(items).unwrap(), paper)).to_string();

        let wanted = "\
AT                        EVENT    ATTEMPT  BY     DETAIL
2030-01-01 00:00:00.000Z  created  -        key_1  by hand
2030-01-01 00:00:01.000Z  started  1        -
";
        assert_eq!(drawn, wanted);
    }
}
