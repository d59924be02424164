//! `minutehand workflows`: graphs of tasks, their versions, and what may be done with one.

mod validate;
mod workflow;

use clap::{Args, Subcommand};
use minutehand_client::wire::{
    DeleteWorkflowQuery, DiffQuery, JobStatus, OneWorkflowView, Page, RunView, VersionsQuery, WorkflowDiffView,
    WorkflowRunRequest, WorkflowView, WorkflowsQuery,
};
use minutehand_client::{Call, calls};
use minutehand_domain::priority::Priority;
use serde_json::value::RawValue;

use self::validate::{Validate, document, placed};
use super::failure::Failure;
use super::input::{Json, Source};
use super::list::Paging;
use super::runs::follow;
use super::runs::run::card as run_card;
use super::session::Session;
use super::yaml::Document;
use super::{id, one_of};

const STATUSES: [&str; 4] = ["active", "paused", "completed", "cancelled"];

#[derive(Debug, Subcommand)]
pub(crate) enum Workflows {
    /// Make a workflow of a file, YAML or JSON
    #[command(after_help = "\
Examples:
  minutehand workflows create etl.yaml
  minutehand workflows create etl.json --idempotency-key etl-1    # again: the same workflow
  generate-etl | minutehand workflows create - --json")]
    Create(Create),
    /// Write a workflow anew, as its next version; runs that have begun go on with theirs
    #[command(after_help = "\
What the file leaves out is taken away: without a schedule it runs only when it is asked to.

Examples:
  minutehand workflows update wf_06gzmvcpq5xc3xgyx14fxfeyh0 etl.yaml
  minutehand workflows update wf_06gzmvcpq5xc3xgyx14fxfeyh0 etl.yaml --if-match 3.1")]
    Update(Update),
    /// List workflows
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand workflows list
  minutehand workflows list --tag etl --owner data --name nightly
  minutehand workflows list --status cancelled          # those that were deleted
  minutehand workflows list --all --json | jq -r '.items[].workflow_id'"
    )]
    List(List),
    /// Show a workflow and the tasks of its newest version
    #[command(after_help = "\
Examples:
  minutehand workflows show wf_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand workflows show wf_06gzmvcpq5xc3xgyx14fxfeyh0 --version 2 --json")]
    Show(Show),
    /// List the versions of a workflow: when each was made, and by whom
    #[command(after_help = "\
Examples:
  minutehand workflows versions wf_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Versions(Versions),
    /// Show what is different between two versions, the newest two without
    #[command(after_help = "\
Examples:
  minutehand workflows diff wf_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand workflows diff wf_06gzmvcpq5xc3xgyx14fxfeyh0 --from 1 --to 3")]
    Diff(Diff),
    /// Run a workflow now, beside its schedule
    #[command(after_help = "\
Examples:
  minutehand workflows run wf_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand workflows run wf_06gzmvcpq5xc3xgyx14fxfeyh0 --params '{\"day\": \"2027-01-15\"}'
  minutehand workflows run wf_06gzmvcpq5xc3xgyx14fxfeyh0 --params @params.json --wait || echo 'it did not succeed'")]
    Run(RunNow),
    /// Start nothing more by its schedule until it is resumed; what runs goes on
    #[command(after_help = "\
Examples:
  minutehand workflows pause wf_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Pause(One),
    /// Go on from now; what was missed stays missed
    #[command(after_help = "\
Examples:
  minutehand workflows resume wf_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Resume(One),
    /// Delete a workflow; what it was and did stays to be read
    #[command(
        visible_alias = "rm",
        after_help = "\
Examples:
  minutehand workflows delete wf_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand workflows delete wf_06gzmvcpq5xc3xgyx14fxfeyh0 --cancel    # with what is under way"
    )]
    Delete(Delete),
    /// Say what is wrong with a file, without a server
    #[command(after_help = "\
Exits with 1 where something is wrong, and names the line and the column of each mistake; with 2 where the file cannot be read.

Examples:
  minutehand workflow validate etl.yaml
  generate-etl | minutehand workflow validate -
  minutehand workflow validate etl.yaml --json | jq -r '.errors[].pointer'")]
    Validate(Validate),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The file, YAML or JSON; `-` is stdin
    #[arg(value_name = "FILE")]
    file: Source,
    /// Asked again with the same key, of 1 to 255 characters, the same workflow is answered instead of a second one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The workflow
    #[arg(value_name = "WORKFLOW", value_parser = id)]
    workflow: String,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    one: One,
    /// The file, YAML or JSON; `-` is stdin
    #[arg(value_name = "FILE")]
    file: Source,
    /// Only if this is the workflow's tag still
    #[arg(long, value_name = "TAG")]
    if_match: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// With this tag
    #[arg(long)]
    tag: Option<String>,
    /// In this state; `cancelled` are those that were deleted, which are left out without it
    #[arg(long, value_parser = one_of::<JobStatus>(STATUSES))]
    status: Option<JobStatus>,
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
pub(crate) struct Show {
    #[command(flatten)]
    one: One,
    /// What this version says
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    version: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Versions {
    #[command(flatten)]
    one: One,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    one: One,
    /// The one before `--to` without
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u32).range(1..))]
    from: Option<u32>,
    /// The newest without
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u32).range(1..))]
    to: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct RunNow {
    #[command(flatten)]
    one: One,
    /// What the run is given, as JSON; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON")]
    params: Option<Json>,
    /// Asked again with the same key, of 1 to 255 characters, the same run is answered instead of a second one
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// How urgent it is, where that is not as its workflow's own job is
    #[arg(long, value_parser = one_of::<Priority>(Priority::ALL.map(Priority::as_str)))]
    priority: Option<Priority>,
    /// Wait until the run has ended, and exit with 5 if it did not succeed: then what failed in it is said
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    one: One,
    /// Cancel its runs that are under way; else they keep it from being deleted
    #[arg(long)]
    cancel: bool,
}

impl Workflows {
    /// What needs no server.
    pub(crate) fn alone(&self) -> Option<&Validate> {
        match self {
            Self::Validate(validate) => Some(validate),
            _asks => None,
        }
    }

    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Create(create) => {
                let document = document(&create.file)?;
                let shown = session.show_answer(&create.call(&document), workflow::card).await;
                shown.map_err(|failure| placed(failure, &create.file, &document))
            }
            Self::Update(update) => {
                let document = document(&update.file)?;
                let shown = session.show_answer(&update.call(&document), workflow::card).await;
                shown.map_err(|failure| placed(failure, &update.file, &document))
            }
            Self::List(list) => session.list(list.call(), &list.paging, "No workflows.", workflow::table).await,
            Self::Show(show) => match show.version {
                Some(version) => {
                    let call = calls::get_workflow_version(&show.one.workflow, version);
                    session.show_answer(&call, workflow::version_card).await
                }
                None => session.show_answer(&calls::get_workflow(&show.one.workflow), workflow::card).await,
            },
            Self::Versions(Versions { one, paging }) => {
                let call = calls::list_workflow_versions(&one.workflow, &VersionsQuery::default());
                session.list(call, &paging, "No versions.", workflow::versions).await
            }
            Self::Diff(diff) => session.show_answer(&diff.call(), workflow::diff).await,
            Self::Run(run) if run.wait => follow::until_graph_ended(session, &run.call()?).await,
            Self::Run(run) => session.show_answer(&run.call()?, run_card).await,
            Self::Pause(One { workflow }) => {
                session.show_answer(&calls::pause_workflow(&workflow), workflow::card).await
            }
            Self::Resume(One { workflow }) => {
                session.show_answer(&calls::resume_workflow(&workflow), workflow::card).await
            }
            Self::Delete(Delete { one: One { workflow }, cancel }) => {
                let query = DeleteWorkflowQuery { cancel: cancel.then_some(true) };
                session.send(&calls::delete_workflow(&workflow, &query)).await?;
                session.done(&format!("{workflow} is deleted"))
            }
            Self::Validate(validate) => validate.execute(session.json),
        }
    }
}

impl Create {
    fn call(&self, document: &Document) -> Call<OneWorkflowView> {
        calls::create_workflow(&sent(document)).once(self.idempotency_key.as_deref())
    }
}

impl Update {
    fn call(&self, document: &Document) -> Call<OneWorkflowView> {
        let etag = self.if_match.as_deref().map(super::jobs::etag);
        calls::put_workflow(&self.one.workflow, &sent(document)).if_match(etag.as_deref())
    }
}

impl List {
    fn call(&self) -> Call<Page<WorkflowView>> {
        calls::list_workflows(&WorkflowsQuery {
            tag: self.tag.clone(),
            status: self.status,
            name: self.name.clone(),
            owner: self.owner.clone(),
            ..WorkflowsQuery::default()
        })
    }
}

impl Diff {
    fn call(&self) -> Call<WorkflowDiffView> {
        calls::diff_workflow(&self.one.workflow, &DiffQuery { from: self.from, to: self.to })
    }
}

impl RunNow {
    fn call(&self) -> Result<Call<RunView>, Failure> {
        let params = self.params.as_ref().map(Json::read).transpose()?;
        let request = WorkflowRunRequest { params, priority: self.priority, idempotency_key: None };
        Ok(calls::run_workflow(&self.one.workflow, &request).once(self.idempotency_key.as_deref()))
    }
}

/// What a file says, as it is sent. What is wrong with it is the server's to say, which may know more than we do.
fn sent(document: &Document) -> Box<RawValue> {
    serde_json::from_str(&document.json).expect("a document is JSON")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use clap::Parser;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        workflows: Workflows,
    }

    fn parsed(words: &[&str]) -> Workflows {
        let line = Line::try_parse_from([&["minutehand"], words].concat());
        line.unwrap_or_else(|why| panic!("{why}")).workflows
    }

    fn address<T>(call: &Call<T>) -> (String, Option<String>) {
        let url = call.url(&Url::parse("http://h").unwrap());
        (format!("{} {}", call.method(), &url.as_str()[8..]), call.body().map(str::to_owned))
    }

    #[test]
    fn each_command_is_a_call() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"name: x\ntasks:\n  - {key: a, on: 1.50}\n").unwrap();
        let path = file.path().to_str().unwrap();
        let body = Some(r#"{"name":"x","tasks":[{"key":"a","on":1.50}]}"#.to_owned());

        let Workflows::Create(create) = parsed(&["create", path]) else { panic!("it creates") };
        assert_eq!(
            address(&create.call(&document(&create.file).unwrap())),
            ("POST /v1/workflows".to_owned(), body.clone())
        );
        let Workflows::Update(update) = parsed(&["update", "wf_1", path, "--if-match=3.1"]) else {
            panic!("it updates")
        };
        let call = update.call(&document(&update.file).unwrap());
        assert_eq!(address(&call), ("PUT /v1/workflows/wf_1".to_owned(), body));
        assert_eq!(call.headers(), [("if-match", "\"3.1\"".to_owned())]);
        let Workflows::List(list) = parsed(&["list", "--tag=etl", "--name=n", "--owner=o"]) else { panic!("it lists") };
        assert_eq!(address(&list.call()).0, "GET /v1/workflows?tag=etl&name=n&owner=o");
        let Workflows::Diff(diff) = parsed(&["diff", "wf_1", "--from=1"]) else { panic!("it compares") };
        assert_eq!(address(&diff.call()).0, "GET /v1/workflows/wf_1/diff?from=1");
        let Workflows::Run(run) = parsed(&["run", "wf_1", "--params={\"n\":1.10}", "--priority=high"]) else {
            panic!("it runs")
        };
        let sent =
            ("POST /v1/workflows/wf_1/run".to_owned(), Some(r#"{"params":{"n":1.10},"priority":"high"}"#.to_owned()));
        assert_eq!(address(&run.call().unwrap()), sent);
    }
}
