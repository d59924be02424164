//! `minutehand bulk`: one act on many jobs or runs, chosen by a filter.

use std::fmt::Write as _;

use clap::{ArgGroup, Args, Subcommand};
use minutehand_client::wire::{
    ActWord, DryOperationView, Instant, JobStatus, JobsFilter, OperationAnswerView, OperationRequest, RunStatus,
    RunsFilter,
};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;
use minutehand_domain::priority::Priority;

use super::failure::Failure;
use super::instant::{Since, now};
use super::operations::{card, until_over};
use super::runs::STATUSES;
use super::session::{Paper, Session, note};
use super::{id, one_of};

#[derive(Debug, Subcommand)]
pub(crate) enum Bulk {
    /// Pause jobs: nothing of them starts until they are resumed
    #[command(after_help = "\
Examples:
  minutehand bulk pause-jobs --tag billing --dry-run
  minutehand bulk pause-jobs --tag billing --note 'the bank is away' --wait
  minutehand bulk pause-jobs --every")]
    PauseJobs(OfJobs),
    /// Resume jobs that are paused
    #[command(after_help = "\
Examples:
  minutehand bulk resume-jobs --tag billing")]
    ResumeJobs(OfJobs),
    /// Cancel jobs, as `jobs delete` does: nothing of them starts any more, their records stay
    #[command(after_help = "\
Examples:
  minutehand bulk cancel-jobs --owner left-the-company --dry-run")]
    CancelJobs(OfJobs),
    /// Cancel runs that are not over
    #[command(after_help = "\
Examples:
  minutehand bulk cancel-runs --job job_06gzmvcpq5xc3xgyx14fxfeyh0 --status queued
  minutehand bulk cancel-runs --tag etl --from 2h --dry-run")]
    CancelRuns(OfRuns),
    /// Retry runs that failed or timed out; each new run names the old one
    #[command(after_help = "\
Examples:
  minutehand bulk retry-runs --tag etl --from 8h --dry-run
  minutehand bulk retry-runs --tag etl --from 8h --note 'the disk was full' --wait")]
    RetryRuns(OfRuns),
    /// Dismiss dead letters: they are not to be tried again
    #[command(after_help = "\
Examples:
  minutehand bulk dismiss-runs --tag etl --from 30d --to 7d --note 'too old to matter'")]
    DismissRuns(OfRuns),
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["tag", "status", "priority", "name", "owner", "every"]).required(true).multiple(true))]
pub(crate) struct OfJobs {
    /// With this tag
    #[arg(long)]
    tag: Option<String>,
    /// In this state
    #[arg(long, value_parser = one_of::<JobStatus>(["active", "paused", "completed"]))]
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
    /// All of them
    #[arg(long)]
    every: bool,
    #[command(flatten)]
    manner: Manner,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["job", "tag", "status", "priority", "from", "to", "every"]).required(true).multiple(true))]
pub(crate) struct OfRuns {
    /// Of this job
    #[arg(long, value_name = "JOB", value_parser = id)]
    job: Option<String>,
    /// Of jobs with this tag
    #[arg(long)]
    tag: Option<String>,
    /// In this state; those to which it can be done without
    #[arg(long, value_parser = one_of::<RunStatus>(STATUSES))]
    status: Option<RunStatus>,
    /// Of this priority
    #[arg(long, value_parser = one_of::<Priority>(Priority::ALL.map(Priority::as_str)))]
    priority: Option<Priority>,
    /// Scheduled at or after this instant, or this long ago: 2030-01-01T00:00:00Z, 2h, 7d; a day before --to without
    #[arg(long, value_name = "INSTANT")]
    from: Option<Since>,
    /// Scheduled before this instant, or this long ago; now without
    #[arg(long, value_name = "INSTANT")]
    to: Option<Since>,
    /// All of the last 24 hours
    #[arg(long)]
    every: bool,
    #[command(flatten)]
    manner: Manner,
}

#[derive(Clone, Debug, Args)]
struct Manner {
    /// Why: it stands with the operation
    #[arg(long)]
    note: Option<String>,
    /// Count what it would be done to, show some of it, and do nothing
    #[arg(long, conflicts_with_all = ["wait", "idempotency_key"])]
    dry_run: bool,
    /// Asked again with the same key, the same operation is answered instead of a second one; --from and --to are then instants
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Wait until it is done, and exit with 5 if something could not be
    #[arg(long)]
    wait: bool,
}

impl Bulk {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        let (call, wait) = self.call(now())?;
        let answer = session.send(&call).await?;
        match answer.read()? {
            OperationAnswerView::Begun(operation) if wait => until_over(session, &operation.operation_id).await,
            OperationAnswerView::Dry(dry) if dry.more && !session.json => {
                session.show(&answer, view)?;
                note("there may be more: no further was looked");
                Ok(())
            }
            OperationAnswerView::Begun(_) | OperationAnswerView::Dry(_) => session.show(&answer, view),
        }
    }

    fn call(&self, now: Moment) -> Result<(Call<OperationAnswerView>, bool), Failure> {
        if let Self::CancelRuns(of) | Self::RetryRuns(of) | Self::DismissRuns(of) = self {
            of.same_again(now)?;
        }
        let (act, (jobs, runs), manner) = match self {
            Self::PauseJobs(of) => (ActWord::Pause, (Some(of.filter()), None), &of.manner),
            Self::ResumeJobs(of) => (ActWord::Resume, (Some(of.filter()), None), &of.manner),
            Self::CancelJobs(of) => (ActWord::Cancel, (Some(of.filter()), None), &of.manner),
            Self::CancelRuns(of) => (ActWord::Cancel, (None, Some(of.filter(now))), &of.manner),
            Self::RetryRuns(of) => (ActWord::Retry, (None, Some(of.filter(now))), &of.manner),
            Self::DismissRuns(of) => (ActWord::Dismiss, (None, Some(of.filter(now))), &of.manner),
        };
        let (note, dry_run) = (manner.note.clone(), manner.dry_run);
        let request = OperationRequest { act, jobs, runs, note, dry_run, idempotency_key: None };
        Ok((calls::start_operation(&request).once(manner.idempotency_key.as_deref()), manner.wait))
    }
}

impl OfJobs {
    fn filter(&self) -> JobsFilter {
        JobsFilter {
            tag: self.tag.clone(),
            status: self.status,
            priority: self.priority,
            name: self.name.clone(),
            owner: self.owner.clone(),
        }
    }
}

impl OfRuns {
    fn same_again(&self, now: Moment) -> Result<(), Failure> {
        let said = [("--from", self.from), ("--to", self.to)];
        let ends: Vec<_> = said.into_iter().filter_map(|(flag, end)| Some((flag, end?))).collect();
        Since::same_again(self.manner.idempotency_key.as_deref(), &ends, now)
    }

    fn filter(&self, now: Moment) -> RunsFilter {
        let instant = |since: Since| Instant(since.seen_from(now));
        RunsFilter {
            job_id: self.job.clone(),
            tag: self.tag.clone(),
            status: self.status,
            priority: self.priority,
            from: self.from.map(instant),
            to: self.to.map(instant),
        }
    }
}

fn view(answer: &OperationAnswerView, paper: Paper) -> String {
    match answer {
        OperationAnswerView::Begun(operation) => card(operation, paper),
        OperationAnswerView::Dry(dry) => would(dry),
    }
}

fn would(dry: &DryOperationView) -> String {
    let least = if dry.more { "at least " } else { "" };
    let what = dry.kind.replace('_', " ");
    let mut said = format!("It would {what}: {least}{}\n", dry.count);
    for one in &dry.sample {
        _ = writeln!(said, "  {one}");
    }
    said
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        bulk: Bulk,
    }

    fn sent(words: &[&str]) -> Result<String, clap::Error> {
        let line = Line::try_parse_from([&["minutehand"], words].concat())?;
        let (call, _wait) = line.bulk.call(Moment::from_secs(86_400)).expect("words that may be sent");
        Ok(call.body().unwrap_or_default().to_owned())
    }

    #[test]
    fn each_command_is_a_request() {
        for (words, body) in [
            (&["pause-jobs", "--tag=a", "--dry-run"][..], r#"{"act":"pause","jobs":{"tag":"a"},"dry_run":true}"#),
            (&["resume-jobs", "--every"], r#"{"act":"resume","jobs":{}}"#),
            (&["cancel-jobs", "--owner=o", "--note=n"], r#"{"act":"cancel","jobs":{"owner":"o"},"note":"n"}"#),
            (
                &["cancel-runs", "--job=job_1", "--status=queued"],
                r#"{"act":"cancel","runs":{"job_id":"job_1","status":"queued"}}"#,
            ),
            (&["dismiss-runs", "--tag=t"], r#"{"act":"dismiss","runs":{"tag":"t"}}"#),
            (&["retry-runs", "--from=1h"], r#"{"act":"retry","runs":{"from":"1970-01-01T23:00:00.000Z"}}"#),
        ] {
            assert_eq!(sent(words).unwrap(), body, "{words:?}");
        }
    }

    /// What is said as so long ago was another request when it was sent again, and its key was taken.
    #[test]
    fn what_may_be_asked_again_names_instants() {
        let call = |words: &[&str]| {
            let line = Line::parse_from([&["minutehand"], words, &["--idempotency-key=k"]].concat());
            line.bulk.call(Moment::from_secs(86_400))
        };

        let refused = call(&["retry-runs", "--tag=t", "--from=1970-01-01T00:00:00Z", "--to=2h"]);
        assert!(matches!(refused, Err(Failure::Usage(why)) if why.ends_with("--to 1970-01-01T22:00:00.000Z")));
        for words in [
            &["retry-runs", "--from=1970-01-01T00:00:00Z"][..],
            &["cancel-runs", "--every"],
            &["pause-jobs", "--every"],
        ] {
            assert!(call(words).is_ok(), "{words:?}");
        }
    }

    #[test]
    fn all_is_said_and_not_left_out() {
        for words in [&["pause-jobs"][..], &["retry-runs", "--wait"], &["pause-jobs", "--every", "--dry-run", "--wait"]]
        {
            assert!(sent(words).is_err(), "{words:?}");
        }
    }
}
