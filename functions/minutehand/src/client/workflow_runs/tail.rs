//! `minutehand workflow-runs tail`: each change of a task is a line, as it happens, until the run has ended.

use std::collections::BTreeMap;

use minutehand_client::calls;
use minutehand_client::wire::{RunStatus, RunTaskView, TaskState, Word, WorkflowRunView};
use minutehand_domain::Moment;

use super::super::cells::painted;
use super::super::failure::Failure;
use super::super::instant::{now, of_day};
use super::super::runs::follow::Patience;
use super::super::session::{Session, print};
use super::super::table::tame;
use super::graph::{REUSED, failed, in_words, why};
use super::whole;

/// What was said of each task, and of the run.
#[derive(Debug, Default)]
struct Said(BTreeMap<String, String>);

impl Said {
    /// A line for each that is not as it was said last.
    fn changed(&mut self, run: &WorkflowRunView, now: Moment) -> Vec<String> {
        let first = self.0.is_empty();
        let mut lines = Vec::<(Moment, String)>::new();
        for task in &run.tasks {
            let (state, begun) = (said(task), task.tried.run_id.is_some());
            if self.0.insert(task.key.clone(), state.clone()).as_ref() != Some(&state) && begun {
                let at = changed_at(task, now);
                let reused = task.reused.is_some().then(|| REUSED.to_owned());
                let note = task
                    .tried
                    .waiting_for
                    .clone()
                    .or(reused)
                    .or_else(|| why(&task.tried).filter(|_| task.branches.is_none()));
                let note = note.map(|note| format!("  {}", tame(&note))).unwrap_or_default();
                lines.push((at, format!("{}  {}  {state}{note}", of_day(at), task.key)));
            }
        }
        lines.sort_by_key(|(at, _)| *at);
        let mut lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        let whole = run.run.status.to_string();
        // No task has such a key.
        if self.0.insert(String::new(), whole.clone()).as_ref() != Some(&whole) {
            let at = run.run.finished_at.or(run.run.started_at.filter(|_| first)).map_or(now, |at| at.0);
            let line = format!("{}  {}  {}", of_day(at), run.run.workflow_run_id, painted(&run.run.status));
            // That it goes on stands before what goes on in it, and that it has ended after.
            lines.insert(if is_over(run) { lines.len() } else { 0 }, line);
        }
        lines
    }
}

/// When it became what it is, as far as its record says.
fn changed_at(task: &RunTaskView, now: Moment) -> Moment {
    let begins = task.tried.started_at.filter(|_| task.tried.state == TaskState::Running);
    let waits = task.tried.started_at.or(task.tried.scheduled_at);
    task.tried.finished_at.or(begins).or(waits).map_or(now, |at| at.0)
}

/// With the counts of a `for_each`, which change while its own state does not.
fn said(task: &RunTaskView) -> String {
    let branches = task.branches.as_ref().map(|branches| {
        let counts: Vec<String> = branches.counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        format!(" ({})", counts.join(", "))
    });
    format!("{}{}", painted(&task.tried.state), branches.unwrap_or_default())
}

pub(super) async fn follow(session: &Session, run: &str) -> Result<(), Failure> {
    let (mut said, mut patience) = (Said::default(), Patience::default());
    let look = calls::get_workflow_run(run);
    let mut answer = Some(session.send(&look).await?);
    loop {
        if let Some(answer) = answer {
            let run = whole(session, answer.read()?).await?;
            let changed = said.changed(&run, now());
            if session.json && !changed.is_empty() {
                print(&format!("{}\n", answer.text()))?;
            } else if !session.json {
                changed.into_iter().try_for_each(|line| print(&format!("{line}\n")))?;
            }
            if is_over(&run) {
                return ended(&run);
            }
        }
        patience.wait().await;
        answer = patience.answer_of(session.send(&look).await)?;
    }
}

pub(super) fn is_over(run: &WorkflowRunView) -> bool {
    run.run.finished_at.is_some() || matches!(&run.run.status, Word::Known(status) if status.is_over())
}

fn ended(run: &WorkflowRunView) -> Result<(), Failure> {
    if run.run.status == RunStatus::Succeeded {
        return Ok(());
    }
    let why = run.detail.clone().or_else(|| run.run.reason.as_deref().map(in_words));
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Err(Failure::RunEnded { said: format!("the run ended as {}{why}", run.run.status), failed: failed(&run.tasks) })
}
