//! `minutehand runs`: what ran, how it went, and what may still be done about it.

pub(crate) mod follow;
pub(crate) mod run;
mod seen;
mod tail;

use clap::{Args, Subcommand};
use minutehand_domain::Moment;
use serde::Deserialize;
use serde_json::Value;

use self::run::{Run, card};
use self::tail::Tail;
use super::given::Json;
use super::instant::{Since, now, precise};
use super::jobs::json_of_payload;
use super::list::Paging;
use super::request::{Request, id};
use super::session::{Paper, Session};
use super::table::{Cell, Table};
use super::trouble::Trouble;
use super::words::or_dash;

const STATUSES: [&str; 9] =
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
  minutehand runs cancel run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0")]
    Cancel(One),
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
    #[arg(long, value_parser = STATUSES)]
    status: Option<String>,
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
pub(crate) struct Retry {
    #[command(flatten)]
    one: One,
    /// The JSON that the target receives this time; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON")]
    payload: Option<Json>,
    /// Asked again with the same key, the same run is answered instead of a second one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait until the new run has ended, and exit with 5 if it did not succeed
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Deserialize)]
struct Events {
    items: Vec<Event>,
}

#[derive(Debug, Deserialize)]
struct Event {
    at: Option<Moment>,
    #[serde(rename = "type")]
    kind: String,
    attempt: Option<u64>,
    by: Option<String>,
    #[serde(default)]
    detail: Value,
}

impl Runs {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Trouble> {
        match self {
            Self::List(list) => {
                let view = |runs: &[Run], paper| run::table(runs, list.job.is_some(), paper);
                session.list(list.request(now()), &list.paging, "No runs.", view).await
            }
            Self::Show(one) => session.ask_and_show::<Run>(&show(&one.run), card).await,
            Self::Retry(retry) if retry.wait => follow::asked_for(session, &retry.request()?).await,
            Self::Retry(retry) => session.ask_and_show::<Run>(&retry.request()?, card).await,
            Self::Cancel(one) => session.ask_and_show::<Run>(&Request::post(&["runs", &one.run, "cancel"]), card).await,
            Self::Tail(tail) => tail.execute(session).await,
            Self::Events(one) => session.ask_and_show(&Request::get(&["runs", &one.run, "events"]), events).await,
        }
    }
}

pub(crate) fn show(run: &str) -> Request {
    Request::get(&["runs", run])
}

/// The runs of one job are asked of the job, which knows them without an index.
fn list(job: Option<&str>) -> Request {
    match job {
        Some(job) => Request::get(&["jobs", job, "runs"]),
        None => Request::get(&["runs"]),
    }
}

impl List {
    fn request(&self, now: Moment) -> Request {
        list(self.job.as_deref())
            .query("status", self.status.as_ref())
            .query("from", self.from.map(|since| since.seen_from(now)))
            .query("to", self.to.map(|since| since.seen_from(now)))
    }
}

impl Retry {
    fn request(&self) -> Result<Request, Trouble> {
        let request = Request::post(&["runs", &self.one.run, "retry"]);
        let request = request.header("idempotency-key", self.idempotency_key.as_ref());
        match &self.payload {
            Some(payload) => Ok(request.json(&json_of_payload(payload)?)),
            None => Ok(request),
        }
    }
}

fn events(events: &Events, paper: Paper) -> String {
    let mut table = Table::new(&["AT", "EVENT", "ATTEMPT", "BY", "~DETAIL"]);
    for event in &events.items {
        table.row(vec![
            or_dash(event.at.map(precise).as_deref()),
            Cell::from(&event.kind),
            or_dash(event.attempt.map(|number| number.to_string()).as_deref()),
            or_dash(event.by.as_deref()),
            Cell::from(event.detail()),
        ]);
    }
    if table.is_empty() { "No events.\n".to_owned() } else { table.draw(paper.width) }
}

impl Event {
    fn detail(&self) -> String {
        match &self.detail {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
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

    fn asked(words: &[&str]) -> (String, Option<String>) {
        let now = Moment::parse("2030-01-02T00:00:00Z").unwrap();
        let request = match Line::try_parse_from([&["minutehand"], words].concat()).unwrap().runs {
            Runs::List(list) => list.request(now),
            Runs::Retry(retry) => retry.request().unwrap(),
            other => panic!("{other:?} is asked as it is"),
        };
        (format!("{} {}", request.method, &request.url(&Url::parse("http://h").unwrap()).as_str()[8..]), request.body)
    }

    #[test]
    fn each_command_is_a_request() {
        let cases: [(&[&str], &str, Option<&str>); 5] = [
            (&["list"], "GET /v1/runs", None),
            (&["list", "--job=job_1", "--status=failed"], "GET /v1/jobs/job_1/runs?status=failed", None),
            (
                &["list", "--from=1d", "--to=2030-01-01T12:00:00Z"],
                "GET /v1/runs?from=2030-01-01T00%3A00%3A00.000Z&to=2030-01-01T12%3A00%3A00.000Z",
                None,
            ),
            (&["retry", "run_1"], "POST /v1/runs/run_1/retry", None),
            (&["retry", "run_1", "--payload=[1]"], "POST /v1/runs/run_1/retry", Some(r#"{"payload":[1]}"#)),
        ];
        for (words, address, body) in cases {
            assert_eq!(asked(words), (address.to_owned(), body.map(str::to_owned)), "{words:?}");
        }
    }

    #[test]
    fn events_are_a_table_whatever_their_detail_is() {
        let items = json!({"items": [
            {"at": "2030-01-01T00:00:00.000Z", "type": "created", "attempt": null, "by": "key_1", "detail": "by hand"},
            {"at": "2030-01-01T00:00:01.000Z", "type": "started", "attempt": 1, "by": null, "detail": {"fence": 2}},
            {"type": "ended"}]});
        let paper = Paper { width: 100, now: Moment::EPOCH };

        let drawn = strip_str(&events(&serde_json::from_value(items).unwrap(), paper)).to_string();

        let wanted = "\
AT                        EVENT    ATTEMPT  BY     DETAIL
2030-01-01 00:00:00.000Z  created  -        key_1  by hand
2030-01-01 00:00:01.000Z  started  1        -      {\"fence\":2}
-                         ended    -        -
";
        assert_eq!(drawn, wanted);
    }
}
