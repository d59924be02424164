//! A workflow's run as its reader sees it.

use std::collections::BTreeSet;

use minutehand_client::wire::{
    BranchView, DecidedView, Instant, JudgementView, RunStatus, WorkflowRunEventView, WorkflowRunItem, WorkflowRunView,
};
use minutehand_domain::Moment;

use super::super::cells::{or_dash, shortened as cut, status};
use super::super::instant::{long, precise, short};
use super::super::runs::run::sla_words;
use super::super::session::Paper;
use super::super::span::roughly;
use super::super::table::{Card, Cell, HELD, STRONG, Table};
use super::graph::{drawn, in_words, took as took_by, why};

pub(super) fn table(runs: &[WorkflowRunItem], paper: Paper) -> Table {
    let mut table = Table::new(&["RUN", "WORKFLOW", "VERSION", "STATUS", "SCHEDULED", "TOOK", "~WHY"]);
    for run in runs {
        let stalled = run.stalled_at.map(|at| format!("stalled at {}", short(at.0)));
        table.row(vec![
            Cell::from(&run.workflow_run_id),
            or_dash(run.workflow_id.as_deref()),
            or_dash(run.version.map(|version| version.to_string()).as_deref()),
            status(&run.status),
            Cell::from(short(run.scheduled_at.0)),
            or_dash(took(run, paper.now).as_deref()),
            Cell::from(run.reason.clone().or(stalled).unwrap_or_default()),
        ]);
    }
    table
}

pub(super) fn card(whole: &WorkflowRunView, paper: Paper) -> String {
    let (run, instant) = (&whole.run, |at: Instant| long(at.0, paper.now));
    let version = run.version.map(|version| format!(", version {version}")).unwrap_or_default();
    let name = whole.name.as_deref().or(run.workflow_id.as_deref()).unwrap_or("-");
    let why = whole.detail.clone().or_else(|| run.reason.as_deref().map(in_words));
    let task = whole.task.as_ref().map(|task| format!("{} of {}", task.key, task.workflow_run_id));
    let card = Card::default()
        .with("Run", &run.workflow_run_id)
        .with("Workflow", format!("{name}{version}"))
        .with("Status", status(&run.status))
        .maybe("Why", why)
        .maybe("Waiting for", whole.waiting_for.as_ref())
        .maybe("Stopping as", whole.stopping.as_ref())
        .maybe("SLA", run.sla.map(|sla| sla_words(sla, paper)))
        .maybe("Stalled", run.stalled_at.map(|at| Cell::new(instant(at), HELD)))
        .maybe("Task", task)
        .maybe("Resumes", run.resumes.as_ref())
        .maybe("Resumed by", whole.resumed_by.as_ref())
        .with("Scheduled", instant(run.scheduled_at))
        .maybe("Started", run.started_at.map(instant))
        .maybe("Finished", run.finished_at.map(instant))
        .maybe("Deadline", whole.deadline_at.map(instant))
        .maybe("Took", took(run, paper.now))
        .maybe("Params", whole.params.text().map(cut))
        .maybe("Output", whole.output.text().map(cut))
        .draw();
    if whole.tasks.is_empty() {
        return card;
    }
    let critical: BTreeSet<&str> = whole.critical_path.iter().map(|step| step.key.as_str()).collect();
    let legend = if critical.is_empty() { "" } else { "\n* on the critical path\n" };
    format!("{card}\n{}{legend}", drawn(&whole.tasks, &critical, paper.now).draw(paper.width))
}

pub(super) fn branches(branches: &[BranchView], paper: Paper) -> Table {
    let mut table = Table::new(&["BRANCH", "STATE", "STARTED", "TOOK", "TRIES", "~NOTE", "RUN"]);
    for BranchView { branch, tried, .. } in branches {
        table.row(vec![
            Cell::new(branch.to_string(), STRONG),
            status(&tried.state),
            or_dash(tried.started_at.map(|at| precise(at.0)).as_deref()),
            or_dash(took_by(tried, paper.now).as_deref()),
            Cell::from(tried.attempts.max(tried.tries.into()).to_string()),
            Cell::from(tried.waiting_for.clone().or_else(|| why(tried)).unwrap_or_default()),
            or_dash(tried.run_id.as_deref()),
        ]);
    }
    table
}

pub(super) fn events(events: &[WorkflowRunEventView]) -> Table {
    let mut table = Table::new(&["AT", "EVENT", "TASK", "ATTEMPT", "BY", "~NOTE"]);
    for event in events {
        let task = event.task.as_ref().map(|task| match event.branch {
            Some(branch) => format!("{task}/{branch}"),
            None => task.clone(),
        });
        table.row(vec![
            Cell::from(precise(event.at.0)),
            Cell::from(&event.kind),
            or_dash(task.as_deref()),
            or_dash(event.attempt.map(|number| number.to_string()).as_deref()),
            or_dash(event.by_name.as_deref().or(event.by.as_deref())),
            Cell::from(event.note.clone().or_else(|| event.detail.clone()).unwrap_or_default()),
        ]);
    }
    table
}

pub(super) fn decided(view: &DecidedView, paper: Paper) -> String {
    let JudgementView { word, by, by_name, at, note } = &view.decision;
    let task = match view.branch {
        Some(branch) => format!("{}, branch {branch}", view.key),
        None => view.key.clone(),
    };
    Card::default()
        .with("Task", task)
        .with("Decision", word)
        .with("By", by_name.as_ref().unwrap_or(by))
        .with("At", long(at.0, paper.now))
        .maybe("Note", note.as_ref())
        .with("State", status(&view.state))
        .with("Run", &view.run_id)
        .draw()
}

fn took(run: &WorkflowRunItem, now: Moment) -> Option<String> {
    let under_way = (run.status == RunStatus::Waiting).then_some(now);
    let until = run.finished_at.map(|at| at.0).or(under_way)?;
    Some(roughly(until.since(run.started_at?.0)))
}
