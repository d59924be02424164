//! `minutehand jobs`: what jobs there are, and what may be done with one.

mod fields;
pub(crate) mod job;

use clap::{ArgGroup, Args, Subcommand};
use http::Method;
use serde_json::json;

use self::fields::JobFlags;
use self::job::Job;
use super::given::Json;
use super::list::Paging;
use super::preview::{Preview, view};
use super::request::{Request, id};
use super::runs::follow;
use super::runs::run::{Run, card};
use super::session::Session;
use super::trouble::Trouble;

const STATUSES: [&str; 4] = ["active", "paused", "completed", "cancelled"];
const PRIORITIES: [&str; 4] = ["critical", "high", "normal", "low"];

#[derive(Debug, Subcommand)]
pub(crate) enum Jobs {
    /// Make a job: what to call, and when
    #[command(after_help = "\
Without a time it runs once, at once.

Examples:
  minutehand jobs create --noop --every 10s --name hello
  minutehand jobs create --url https://example.com/report --cron '0 2 1 * *' --tz Europe/Paris
  minutehand jobs create --url http://127.0.0.1:3000/ --after 5m --payload '{\"user\": 7}' --retries 5
  minutehand jobs create --url https://example.com/mail --at 2030-01-01T00:00:00Z
  minutehand jobs create --noop --after 1h --idempotency-key order-7    # again: the same job
  minutehand jobs create --file job.json --name another
  echo '{\"target\": {\"noop\": {}}}' | minutehand jobs create --file - --json")]
    Create(Create),
    /// List jobs
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand jobs list
  minutehand jobs list --status active --tag billing --owner payments
  minutehand jobs list --all --json | jq -r '.items[].job_id'"
    )]
    List(List),
    /// Show one job, with its next and its last run
    #[command(after_help = "\
Examples:
  minutehand jobs show job_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand jobs show job_06gzmvcpq5xc3xgyx14fxfeyh0 --json | jq .next_run_at")]
    Show(One),
    /// Show when a job fires next
    #[command(after_help = "\
Examples:
  minutehand jobs next job_06gzmvcpq5xc3xgyx14fxfeyh0 --count 3")]
    Next(Next),
    /// Start nothing more until it is resumed; what runs goes on
    #[command(after_help = "\
Examples:
  minutehand jobs pause job_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Pause(One),
    /// Go on from now; what was missed stays missed
    #[command(after_help = "\
Examples:
  minutehand jobs resume job_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Resume(One),
    /// Run a job now, beside its schedule
    #[command(after_help = "\
Examples:
  minutehand jobs run job_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand jobs run job_06gzmvcpq5xc3xgyx14fxfeyh0 --payload '{\"just\": \"this once\"}'
  minutehand jobs run job_06gzmvcpq5xc3xgyx14fxfeyh0 --wait || echo 'it did not succeed'")]
    Run(RunNow),
    /// Change a job: what no flag names stays as it is
    #[command(after_help = "\
A file holds a merge patch: null takes a field away.

Examples:
  minutehand jobs update job_06gzmvcpq5xc3xgyx14fxfeyh0 --cron '30 2 * * *' --tz Europe/Paris
  minutehand jobs update job_06gzmvcpq5xc3xgyx14fxfeyh0 --retries 5 --timeout 2m --if-match 3
  echo '{\"owner\": null}' | minutehand jobs update job_06gzmvcpq5xc3xgyx14fxfeyh0 --file -")]
    Update(Update),
    /// Cancel a job and what it has queued; its record stays
    #[command(
        visible_alias = "rm",
        after_help = "\
Examples:
  minutehand jobs delete job_06gzmvcpq5xc3xgyx14fxfeyh0"
    )]
    Delete(One),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["url", "noop", "file"]).required(true).multiple(true))]
pub(crate) struct Create {
    #[command(flatten)]
    flags: JobFlags,
    /// Asked again with the same key, the same job is answered instead of a second one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// With this tag
    #[arg(long)]
    tag: Option<String>,
    /// In this state
    #[arg(long, value_parser = STATUSES)]
    status: Option<String>,
    /// Of this priority
    #[arg(long, value_parser = PRIORITIES)]
    priority: Option<String>,
    /// With a name that begins so
    #[arg(long, value_name = "PREFIX")]
    name: Option<String>,
    /// Of this owner
    #[arg(long)]
    owner: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The job
    #[arg(value_name = "JOB", value_parser = id)]
    job: String,
}

#[derive(Debug, Args)]
pub(crate) struct Next {
    #[command(flatten)]
    one: One,
    /// How many
    #[arg(long, short = 'n', value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct RunNow {
    #[command(flatten)]
    one: One,
    /// The JSON that the target receives instead of the job's; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON")]
    payload: Option<Json>,
    /// Asked again with the same key, the same run is answered instead of a second one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait until the run has ended, and exit with 5 if it did not succeed
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    one: One,
    #[command(flatten)]
    flags: JobFlags,
    /// Only if this is the job's generation still
    #[arg(long, value_name = "GENERATION")]
    if_match: Option<String>,
}

impl Jobs {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Trouble> {
        match self {
            Self::Create(create) => session.ask_and_show(&create.request()?, job::card).await,
            Self::List(list) => session.list(list.request(), &list.paging, "No jobs.", job::table).await,
            Self::Show(one) => session.ask_and_show(&one.get(&[]), job::card).await,
            Self::Next(next) => session.ask_and_show::<Preview>(&next.request(), view).await,
            Self::Pause(one) => session.ask_and_show::<Job>(&one.post("pause"), job::card).await,
            Self::Resume(one) => session.ask_and_show::<Job>(&one.post("resume"), job::card).await,
            Self::Run(run) if run.wait => follow::asked_for(session, &run.request()?).await,
            Self::Run(run) => session.ask_and_show::<Run>(&run.request()?, card).await,
            Self::Update(update) => session.ask_and_show(&update.request()?, job::card).await,
            Self::Delete(one) => {
                session.ask(&Request::new(Method::DELETE, &["jobs", &one.job])).await?;
                session.done(&format!("{} is cancelled", one.job))
            }
        }
    }
}

impl Create {
    fn request(&self) -> Result<Request, Trouble> {
        let mut fields = self.flags.read()?;
        if self.idempotency_key.is_some() {
            // The header and the field must agree; the flag goes before the file.
            fields.remove("idempotency_key");
        }
        let request = Request::post(&["jobs"]).header("idempotency-key", self.idempotency_key.as_ref());
        Ok(request.json(&fields))
    }
}

impl List {
    fn request(&self) -> Request {
        Request::get(&["jobs"])
            .query("tag", self.tag.as_ref())
            .query("status", self.status.as_ref())
            .query("priority", self.priority.as_ref())
            .query("name", self.name.as_ref())
            .query("owner", self.owner.as_ref())
    }
}

impl One {
    fn get(&self, more: &[&str]) -> Request {
        Request::get(&[&["jobs", self.job.as_str()], more].concat())
    }

    fn post(&self, verb: &str) -> Request {
        Request::post(&["jobs", &self.job, verb])
    }
}

impl Next {
    fn request(&self) -> Request {
        self.one.get(&["next"]).query("count", self.count)
    }
}

impl RunNow {
    fn request(&self) -> Result<Request, Trouble> {
        let request = self.one.post("run").header("idempotency-key", self.idempotency_key.as_ref());
        match &self.payload {
            Some(payload) => Ok(request.json(&json_of_payload(payload)?)),
            None => Ok(request),
        }
    }
}

impl Update {
    fn request(&self) -> Result<Request, Trouble> {
        let fields = self.flags.read()?;
        if fields.is_empty() {
            return Err(Trouble::Usage("say what is to change".to_owned()));
        }
        let request = Request::new(Method::PATCH, &["jobs", &self.one.job]);
        Ok(request.header("if-match", self.if_match.as_deref().map(etag)).json(&fields))
    }
}

/// A body that says nothing but the payload.
pub(crate) fn json_of_payload(payload: &Json) -> Result<fields::Fields, Trouble> {
    Ok(fields::Fields::from([("payload".to_owned(), payload.read()?)]))
}

/// A generation as the header quotes it; whoever pastes an `ETag` has quoted it already.
fn etag(generation: &str) -> String {
    if generation == "*" || generation.contains('"') { generation.to_owned() } else { json!(generation).to_string() }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        jobs: Jobs,
    }

    fn parsed(words: &[&str]) -> Result<Jobs, clap::Error> {
        Line::try_parse_from([&["minutehand"], words].concat()).map(|line| line.jobs)
    }

    fn asked(words: &[&str]) -> (String, Vec<(&'static str, String)>, Option<String>) {
        let request = match parsed(words).unwrap_or_else(|why| panic!("{why}")) {
            Jobs::Create(create) => create.request().unwrap(),
            Jobs::List(list) => list.request(),
            Jobs::Next(next) => next.request(),
            Jobs::Run(run) => run.request().unwrap(),
            Jobs::Update(update) => update.request().unwrap(),
            other => panic!("{other:?} is asked as it is"),
        };
        let url = request.url(&Url::parse("http://h").unwrap());
        (format!("{} {}", request.method, &url.as_str()[8..]), request.headers, request.body)
    }

    /// Words, then method and address, headers and body of what they ask.
    type Case<'a> = (&'a [&'a str], &'a str, &'a [(&'static str, &'a str)], Option<&'a str>);

    #[test]
    fn each_command_is_a_request() {
        let cases: [Case<'_>; 8] = [
            (&["create", "--noop"], "POST /v1/jobs", &[], Some(r#"{"target":{"noop":{}}}"#)),
            (
                &["create", "--noop", "--idempotency-key=k"],
                "POST /v1/jobs",
                &[("idempotency-key", "k")],
                Some(r#"{"target":{"noop":{}}}"#),
            ),
            (
                &["list", "--tag=a b", "--status=active", "--name=x", "--owner=o", "--priority=low"],
                "GET /v1/jobs?tag=a+b&status=active&priority=low&name=x&owner=o",
                &[],
                None,
            ),
            (&["next", "job_1", "-n3"], "GET /v1/jobs/job_1/next?count=3", &[], None),
            (&["run", "job_1"], "POST /v1/jobs/job_1/run", &[], None),
            (
                &["run", "job_1", "--payload=1.10", "--idempotency-key=k"],
                "POST /v1/jobs/job_1/run",
                &[("idempotency-key", "k")],
                Some(r#"{"payload":1.10}"#),
            ),
            (&["update", "job_1", "--name=n"], "PATCH /v1/jobs/job_1", &[], Some(r#"{"name":"n"}"#)),
            (
                &["update", "job_1", "--name=n", "--if-match=3"],
                "PATCH /v1/jobs/job_1",
                &[("if-match", "\"3\"")],
                Some(r#"{"name":"n"}"#),
            ),
        ];
        for (words, address, headers, body) in cases {
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            assert_eq!(asked(words), (address.to_owned(), headers, body.map(str::to_owned)), "{words:?}");
        }
    }

    #[test]
    fn a_generation_may_be_pasted_with_its_quotes() {
        assert_eq!([etag("3"), etag("\"3\""), etag("*")], ["\"3\"", "\"3\"", "*"]);
    }

    #[test]
    fn what_says_too_little_is_refused_before_it_is_sent() {
        for words in [&["create"][..], &["create", "--every=5s"], &["show"], &["show", ".."], &["list", "--limit=0"]] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
        let Jobs::Update(nothing) = parsed(&["update", "job_1"]).unwrap() else { panic!("an update") };
        assert!(matches!(nothing.request(), Err(Trouble::Usage(_))));
    }
}
