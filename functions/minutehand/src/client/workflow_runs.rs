//! `minutehand workflow-runs`: graphs under way, what they wait for, and what people decide about them.

mod graph;
mod tail;
mod view;

use clap::{Args, Subcommand};
use minutehand_client::wire::{
    BranchQuery, BranchView, BranchesQuery, DecidedView, HeldRequest, HeldVerdict, Instant, NoteRequest, Page,
    RunStatus, RunTaskView, SuccessRequest, TaskState, TasksQuery, WorkflowRunItem, WorkflowRunView, WorkflowRunsQuery,
};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;

pub(super) use self::graph::in_words;
use self::tail::follow;
use super::failure::Failure;
use super::input::Json;
use super::instant::{Since, now};
use super::list::Paging;
use super::runs::STATUSES;
use super::session::{Paper, Session, note, print};
use super::{id, one_of};

/// The largest page that the API gives.
const PAGE: usize = 1000;

const STATES: [&str; 11] = [
    "pending",
    "waiting",
    "scheduled",
    "queued",
    "running",
    "held",
    "succeeded",
    "failed",
    "timed_out",
    "cancelled",
    "skipped",
];

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowRuns {
    /// List runs of workflows, newest first; those of the last 24 hours, unless --from says more
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand workflow-runs list --status failed --from 7d
  minutehand workflow-runs list --workflow wf_06gzmvcpq5xc3xgyx14fxfeyh0 --version 3"
    )]
    List(List),
    /// Draw one run: its tasks layer by layer, what they wait for, and the path that took the time
    #[command(after_help = "\
Examples:
  minutehand workflow-runs show run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0
  minutehand workflow-runs show run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --json | jq .waiting_for")]
    Show(One),
    /// List the branches of a `for_each`
    #[command(after_help = "\
Examples:
  minutehand workflow-runs branches run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 load --state held")]
    Branches(Branches),
    /// Show what happened to a run and its tasks, and who did it
    #[command(after_help = "\
Examples:
  minutehand workflow-runs events run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --all")]
    Events(Events),
    /// Follow one run until it has ended; exits with 5 if it did not succeed
    #[command(after_help = "\
Each change of a task is a line; with --json each change is the run in a line, with its first 100 tasks.

Examples:
  minutehand workflow-runs tail run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 && echo 'it succeeded'")]
    Tail(One),
    /// Answer an approval: yes
    #[command(after_help = "\
Examples:
  minutehand workflow-runs approve run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 payment --note 'as agreed' --result '{\"limit\": 100}'")]
    Approve(Success),
    /// Answer an approval: no
    #[command(after_help = "\
Examples:
  minutehand workflow-runs reject run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 payment --note 'too much'")]
    Reject(Decision),
    /// Try a task again whose failure is held
    #[command(after_help = "\
Examples:
  minutehand workflow-runs retry run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 load
  minutehand workflow-runs retry run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 load --branch 7 --note 'the disk is free'
  minutehand workflow-runs retry run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 load --all-held")]
    Retry(Decision),
    /// Let a held failure count as skipped
    #[command(after_help = "\
Examples:
  minutehand workflow-runs skip run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 load")]
    Skip(Decision),
    /// Let a held failure count as succeeded
    #[command(after_help = "\
Examples:
  minutehand workflow-runs succeed run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 load --result '{\"rows\": 7}'")]
    Succeed(Success),
    /// Let a held failure be one
    #[command(after_help = "\
Examples:
  minutehand workflow-runs fail run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 load --note 'no use'")]
    Fail(Decision),
    /// Cancel a run; its `finally` runs, unless that is cancelled too
    #[command(after_help = "\
Examples:
  minutehand workflow-runs cancel run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --note 'wrong day'")]
    Cancel(Noted),
    /// Go on with a run that failed: what succeeded is not done again
    #[command(after_help = "\
Examples:
  minutehand workflow-runs resume run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --wait")]
    Resume(Resume),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Of this workflow, by its own schedule or asked for
    #[arg(long, value_name = "WORKFLOW", value_parser = id)]
    workflow: Option<String>,
    /// Of this version
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    version: Option<u32>,
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
pub(crate) struct Branches {
    #[command(flatten)]
    one: One,
    /// The `for_each`
    #[arg(value_name = "TASK", value_parser = id)]
    task: String,
    /// In this state
    #[arg(long, value_parser = one_of::<TaskState>(STATES))]
    state: Option<TaskState>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    #[command(flatten)]
    one: One,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct Noted {
    #[command(flatten)]
    one: One,
    /// Why, for whoever looks at the events later
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    #[command(flatten)]
    noted: Noted,
    /// Follow the new run until it has ended, and exit with 5 if it did not succeed
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Decision {
    #[command(flatten)]
    one: One,
    /// The task
    #[arg(value_name = "TASK", value_parser = id)]
    task: String,
    /// Of a `for_each`: which of its branches, from 0
    #[arg(long, value_name = "NUMBER")]
    branch: Option<u16>,
    /// Of a `for_each`: all its branches that are held, each once
    #[arg(long, conflicts_with = "branch")]
    all_held: bool,
    /// Why, for whoever looks at the events later
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Success {
    #[command(flatten)]
    decision: Decision,
    /// What the task answers to those after it; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON")]
    result: Option<Json>,
}

impl WorkflowRuns {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::List(list) => {
                let view = |runs: &[WorkflowRunItem], paper| view::table(runs, paper);
                session.list(list.call(now()), &list.paging, "No runs.", view).await
            }
            Self::Show(One { run }) => show(session, &run).await,
            Self::Branches(Branches { one, task, state, paging }) => {
                let list = calls::list_branches(&one.run, &task, &BranchesQuery { state, ..BranchesQuery::default() });
                let view = |branches: &[BranchView], paper| view::branches(branches, paper);
                session.list(list, &paging, "No branches.", view).await
            }
            Self::Events(Events { one, paging }) => {
                let list = calls::list_workflow_run_events(&one.run, &TasksQuery::default());
                session.list(list, &paging, "No events.", |events, _paper| view::events(events)).await
            }
            Self::Tail(One { run }) => follow(session, &run).await,
            Self::Resume(Resume { noted, wait }) => resume(session, &noted, wait).await,
            Self::Cancel(noted) => act(session, &noted.cancel()).await,
            Self::Approve(Success { decision: Decision { all_held: true, .. }, .. })
            | Self::Reject(Decision { all_held: true, .. }) => {
                Err(Failure::Usage("--all-held goes with retry, skip, succeed and fail".to_owned()))
            }
            Self::Retry(decision) if decision.all_held => decision.of_all_held(session, HeldVerdict::Retry).await,
            Self::Skip(decision) if decision.all_held => decision.of_all_held(session, HeldVerdict::Skip).await,
            Self::Fail(decision) if decision.all_held => decision.of_all_held(session, HeldVerdict::Fail).await,
            Self::Succeed(success) if success.decision.all_held && success.result.is_some() => {
                Err(Failure::Usage("--result goes with one branch, and not with --all-held".to_owned()))
            }
            Self::Succeed(success) if success.decision.all_held => {
                success.decision.of_all_held(session, HeldVerdict::Succeed).await
            }
            decision => session.show_answer(&decision.decision()?, view::decided).await,
        }
    }

    /// The call that a decision about a task is.
    fn decision(&self) -> Result<Call<DecidedView>, Failure> {
        type Plain = fn(&str, &str, &BranchQuery, &NoteRequest) -> Call<DecidedView>;
        let plain = |of: &Decision, call: Plain| call(&of.one.run, &of.task, &of.query(), &of.note());
        match self {
            Self::Approve(success) => success.call(calls::approve_task),
            Self::Succeed(success) => success.call(calls::succeed_task),
            Self::Reject(decision) => Ok(plain(decision, calls::reject_task)),
            Self::Retry(decision) => Ok(plain(decision, calls::retry_task)),
            Self::Skip(decision) => Ok(plain(decision, calls::skip_task)),
            Self::Fail(decision) => Ok(plain(decision, calls::fail_task)),
            Self::List(_)
            | Self::Show(_)
            | Self::Branches(_)
            | Self::Events(_)
            | Self::Tail(_)
            | Self::Cancel(_)
            | Self::Resume(_) => Err(Failure::Usage("this decides nothing".to_owned())),
        }
    }
}

impl List {
    fn call(&self, now: Moment) -> Call<Page<WorkflowRunItem>> {
        let instant = |since: Since| Instant(since.seen_from(now));
        let (workflow, version, status) = (self.workflow.clone(), self.version, self.status);
        let (from, to) = (self.from.map(instant), self.to.map(instant));
        let query = WorkflowRunsQuery { workflow, version, status, from, to, ..WorkflowRunsQuery::default() };
        calls::list_workflow_runs(&query)
    }
}

impl Noted {
    fn note(&self) -> NoteRequest {
        NoteRequest { note: self.note.clone() }
    }

    fn cancel(&self) -> Call<WorkflowRunView> {
        calls::cancel_workflow_run(&self.one.run, &self.note())
    }

    fn resume(&self) -> Call<WorkflowRunView> {
        calls::resume_workflow_run(&self.one.run, &self.note())
    }
}

impl Decision {
    fn query(&self) -> BranchQuery {
        BranchQuery { branch: self.branch }
    }

    fn note(&self) -> NoteRequest {
        NoteRequest { note: self.note.clone() }
    }

    /// Request after request, until all branches were looked at. Machines get each answer, a line each.
    async fn of_all_held(&self, session: &Session, verdict: HeldVerdict) -> Result<(), Failure> {
        let mut request = HeldRequest { verdict, from: None, note: self.note.clone() };
        let mut decided = 0;
        let word = loop {
            let call = calls::decide_held_branches(&self.one.run, &self.task, &request);
            let answer = session.send(&call).await?;
            if session.json {
                print(&format!("{}\n", answer.text()))?;
            }
            let view = answer.read()?;
            decided += view.decided.len();
            match view.next_from {
                Some(next) => request.from = Some(next.into()),
                None if session.json => return Ok(()),
                None => break view.verdict,
            }
        };
        print(&match decided {
            0 => format!("No branch of {} is held.\n", self.task),
            1 => format!("1 branch of {} was given the verdict {word}.\n", self.task),
            many => format!("{many} branches of {} were given the verdict {word}.\n", self.task),
        })
    }
}

impl Success {
    fn call(
        &self,
        call: fn(&str, &str, &BranchQuery, &SuccessRequest) -> Call<DecidedView>,
    ) -> Result<Call<DecidedView>, Failure> {
        let result = self.result.as_ref().map(Json::read).transpose()?;
        let of = &self.decision;
        Ok(call(&of.one.run, &of.task, &of.query(), &SuccessRequest { note: of.note.clone(), result }))
    }
}

/// Machines get the answer as it is; people all of its tasks, drawn.
async fn show(session: &Session, run: &str) -> Result<(), Failure> {
    let answer = session.send(&calls::get_workflow_run(run)).await?;
    if session.json {
        return session.show(&answer, |_, _| String::new());
    }
    let run = whole(session, answer.read()?).await?;
    print(&view::card(&run, Paper::here()))
}

/// What is said where somebody asked for it before: it is one run, which may have ended meanwhile.
async fn resume(session: &Session, noted: &Noted, wait: bool) -> Result<(), Failure> {
    let answer = session.send_once(&noted.resume()).await?;
    let resumed = answer.read()?;
    if answer.replayed() {
        let by = &resumed.run.workflow_run_id;
        let status = &resumed.run.status;
        let more = if tail::is_over(&resumed) && *status != RunStatus::Succeeded {
            ": to go on once more, resume that one"
        } else {
            ""
        };
        note(&format!("{} was resumed before, by {by}, which is {status}{more}", noted.one.run));
    }
    if wait {
        return follow(session, &resumed.run.workflow_run_id).await;
    }
    if session.json {
        return session.show(&answer, |_, _| String::new());
    }
    let run = whole(session, resumed).await?;
    print(&view::card(&run, Paper::here()))
}

/// What failed in a run that has ended, for who waited for it: nothing where that cannot be read.
pub(super) async fn failed_tasks(session: &Session, run: &str) -> Vec<String> {
    let read = async {
        let run = session.send(&calls::get_workflow_run(run)).await?.read()?;
        whole(session, run).await
    };
    read.await.map_or_else(|_unreadable: Failure| Vec::new(), |run| graph::failed(&run.tasks))
}

async fn act(session: &Session, call: &Call<WorkflowRunView>) -> Result<(), Failure> {
    let answer = session.send(call).await?;
    if session.json {
        return session.show(&answer, |_, _| String::new());
    }
    let run = whole(session, answer.read()?).await?;
    print(&view::card(&run, Paper::here()))
}

/// With the tasks that did not come with it.
async fn whole(session: &Session, mut run: WorkflowRunView) -> Result<WorkflowRunView, Failure> {
    while let Some(cursor) = run.next_cursor.take() {
        let query = TasksQuery { limit: Some(PAGE), cursor: Some(cursor) };
        let page: Page<RunTaskView> =
            session.send(&calls::list_tasks(&run.run.workflow_run_id, &query)).await?.read()?;
        run.tasks.extend(page.items);
        run.next_cursor = page.next_cursor;
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        runs: WorkflowRuns,
    }

    fn sent(words: &[&str]) -> (String, Option<String>) {
        let now = Moment::parse("2030-01-02T00:00:00Z").unwrap();
        match Line::try_parse_from([&["minutehand"], words].concat()).unwrap().runs {
            WorkflowRuns::List(list) => parts(&list.call(now)),
            WorkflowRuns::Cancel(noted) => parts(&noted.cancel()),
            WorkflowRuns::Resume(resume) => parts(&resume.noted.resume()),
            decision => parts(&decision.decision().unwrap()),
        }
    }

    fn parts<T>(call: &Call<T>) -> (String, Option<String>) {
        let url = call.url(&Url::parse("http://h").unwrap());
        (format!("{} {}", call.method(), &url.as_str()[8..]), call.body().map(str::to_owned))
    }

    #[test]
    fn each_command_is_a_call() {
        let cases: [(&[&str], &str, Option<&str>); 8] = [
            (&["list", "--status=failed"], "GET /v1/workflow-runs?status=failed", None),
            (
                &["list", "--workflow=wf_1", "--version=3", "--from=1d"],
                "GET /v1/workflow-runs?workflow=wf_1&version=3&from=2030-01-01T00%3A00%3A00.000Z",
                None,
            ),
            (&["cancel", "run_1", "--note=x"], "POST /v1/workflow-runs/run_1/cancel", Some(r#"{"note":"x"}"#)),
            (&["resume", "run_1"], "POST /v1/workflow-runs/run_1/resume", None),
            (
                &["approve", "run_1", "pay", "--result=[1]"],
                "POST /v1/workflow-runs/run_1/tasks/pay/approve",
                Some(r#"{"result":[1]}"#),
            ),
            (&["reject", "run_1", "pay"], "POST /v1/workflow-runs/run_1/tasks/pay/reject", None),
            (
                &["retry", "run_1", "load", "--branch=7", "--note=n"],
                "POST /v1/workflow-runs/run_1/tasks/load/retry?branch=7",
                Some(r#"{"note":"n"}"#),
            ),
            (&["fail", "run_1", "load"], "POST /v1/workflow-runs/run_1/tasks/load/fail", None),
        ];
        for (words, address, body) in cases {
            assert_eq!(sent(words), (address.to_owned(), body.map(str::to_owned)), "{words:?}");
        }
    }
}
