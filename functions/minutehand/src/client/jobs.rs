//! `minutehand jobs`: what jobs there are, and what may be done with one.

mod fields;
pub(crate) mod job;

use clap::{ArgGroup, Args, Subcommand};
use minutehand_client::wire::{
    DeleteJobQuery, Expand, JobStatus, JobView, JobsQuery, ListedJobView, NextQuery, NoteRequest, Page, PreviewView,
    RunRequest, RunView,
};
use minutehand_client::{Call, calls};
use minutehand_domain::priority::Priority;
use serde_json::json;

use self::fields::JobFlags;
use super::failure::Failure;
use super::input::Json;
use super::list::Paging;
use super::preview::view;
use super::runs::follow;
use super::runs::run::card;
use super::session::Session;
use super::{id, one_of};

const STATUSES: [&str; 4] = ["active", "paused", "completed", "cancelled"];

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
  minutehand jobs create --pool web1 --handler invoice.send --every 1h --timeout 4h    # workers carry it out
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
  minutehand jobs list --health
  minutehand jobs list --all --json | jq -r '.items[].job_id'"
    )]
    List(List),
    /// Show one job, with its next and its last run, and how it has been doing
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
  minutehand jobs pause job_06gzmvcpq5xc3xgyx14fxfeyh0 --note 'until the bank answers'")]
    Pause(Noting),
    /// Go on from now; what was missed stays missed
    #[command(after_help = "\
Examples:
  minutehand jobs resume job_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Resume(Noting),
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
    Delete(Noting),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["url", "noop", "pool", "to", "file"]).required(true).multiple(true))]
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
    #[arg(long, value_parser = one_of::<JobStatus>(STATUSES))]
    status: Option<JobStatus>,
    /// Of this priority
    #[arg(long, value_parser = one_of::<Priority>(Priority::ALL.map(Priority::as_str)))]
    priority: Option<Priority>,
    /// With a name that begins so
    #[arg(long, value_name = "PREFIX")]
    name: Option<String>,
    /// Of this owner
    #[arg(long)]
    owner: Option<String>,
    /// With how each has been doing; fifty on a page at most
    #[arg(long)]
    health: bool,
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
pub(crate) struct Noting {
    #[command(flatten)]
    one: One,
    /// Why: the job shows it, and so does the audit
    #[arg(long)]
    note: Option<String>,
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
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Create(create) => session.show_answer(&create.call()?, job::card).await,
            Self::List(list) => {
                let table = if list.health { job::health_table } else { job::table };
                session.list(list.call(), &list.paging, "No jobs.", table).await
            }
            Self::Show(One { job }) => session.show_answer(&calls::get_job(&job), job::card_with_run).await,
            Self::Next(next) => session.show_answer(&next.call(), view).await,
            Self::Pause(pause) => {
                session.show_answer(&calls::pause_job(&pause.one.job, &pause.note()), job::card).await
            }
            Self::Resume(resume) => {
                session.show_answer(&calls::resume_job(&resume.one.job, &resume.note()), job::card).await
            }
            Self::Run(run) if run.wait => follow::until_ended(session, &run.call()?).await,
            Self::Run(run) => session.show_answer(&run.call()?, card).await,
            Self::Update(update) => session.show_answer(&update.call()?, job::card).await,
            Self::Delete(Noting { one: One { job }, note }) => {
                session.send(&calls::delete_job(&job, &DeleteJobQuery { note })).await?;
                session.done(&format!("{job} is cancelled"))
            }
        }
    }
}

impl Noting {
    fn note(&self) -> NoteRequest {
        NoteRequest { note: self.note.clone() }
    }
}

impl Create {
    fn call(&self) -> Result<Call<JobView>, Failure> {
        let mut fields = self.flags.read()?;
        if self.idempotency_key.is_some() {
            // The header and the field must agree; the flag goes before the file.
            fields.remove("idempotency_key");
        }
        Ok(calls::create_job(&fields).once(self.idempotency_key.as_deref()))
    }
}

impl List {
    fn call(&self) -> Call<Page<ListedJobView>> {
        calls::list_jobs(&JobsQuery {
            tag: self.tag.clone(),
            status: self.status,
            priority: self.priority,
            name: self.name.clone(),
            owner: self.owner.clone(),
            expand: self.health.then_some(Expand::Health),
            ..JobsQuery::default()
        })
    }
}

impl Next {
    fn call(&self) -> Call<PreviewView> {
        calls::next_fires(&self.one.job, &NextQuery { count: self.count.map(usize::from) })
    }
}

impl RunNow {
    fn call(&self) -> Result<Call<RunView>, Failure> {
        let request = with_payload(self.payload.as_ref())?;
        Ok(calls::run_job(&self.one.job, &request).once(self.idempotency_key.as_deref()))
    }
}

impl Update {
    fn call(&self) -> Result<Call<JobView>, Failure> {
        let fields = self.flags.read()?;
        if fields.is_empty() {
            return Err(Failure::Usage("say what is to change".to_owned()));
        }
        let etag = self.if_match.as_deref().map(etag);
        Ok(calls::patch_job(&self.one.job, &fields).if_match(etag.as_deref()))
    }
}

/// A run that is given this payload, if one is given.
pub(crate) fn with_payload(payload: Option<&Json>) -> Result<RunRequest, Failure> {
    Ok(RunRequest { payload: payload.map(Json::read).transpose()?, idempotency_key: None })
}

/// A generation as the header quotes it; a pasted `ETag` is quoted already.
pub(crate) fn etag(generation: &str) -> String {
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

    type Sent = (String, Vec<(&'static str, String)>, Option<String>);

    fn sent(words: &[&str]) -> Sent {
        match parsed(words).unwrap_or_else(|why| panic!("{why}")) {
            Jobs::Create(create) => parts(&create.call().unwrap()),
            Jobs::List(list) => parts(&list.call()),
            Jobs::Next(next) => parts(&next.call()),
            Jobs::Run(run) => parts(&run.call().unwrap()),
            Jobs::Update(update) => parts(&update.call().unwrap()),
            other => panic!("{other:?} is sent as it is"),
        }
    }

    fn parts<T>(call: &Call<T>) -> Sent {
        let url = call.url(&Url::parse("http://h").unwrap());
        (format!("{} {}", call.method(), &url.as_str()[8..]), call.headers().to_vec(), call.body().map(str::to_owned))
    }

    /// Words, then method and address, headers and body of what is sent.
    type Case<'a> = (&'a [&'a str], &'a str, &'a [(&'static str, &'a str)], Option<&'a str>);

    #[test]
    fn each_command_is_a_call() {
        let cases: [Case<'_>; 9] = [
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
            (&["list", "--health"], "GET /v1/jobs?expand=health", &[], None),
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
            assert_eq!(sent(words), (address.to_owned(), headers, body.map(str::to_owned)), "{words:?}");
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
        assert!(matches!(nothing.call(), Err(Failure::Usage(_))));
    }
}
