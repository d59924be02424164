//! `minutehand workflow-runs tail`: each change of a task is a line, as it happens, until the run has ended.

use std::collections::BTreeMap;

use minutehand_client::calls;
use minutehand_client::wire::{RunStatus, RunTaskView, Word, WorkflowRunView};
use minutehand_domain::Moment;

use super::super::cells::painted;
use super::super::failure::Failure;
use super::super::instant::{now, of_day};
use super::super::runs::follow::Patience;
use super::super::session::{Session, print};
use super::whole;

/// What was said of each task, and of the run.
#[derive(Debug, Default)]
struct Said(BTreeMap<String, String>);

impl Said {
    /// A line for each that is not as it was said last.
    fn changed(&mut self, run: &WorkflowRunView, now: Moment) -> Vec<String> {
        let mut lines = Vec::new();
        for task in &run.tasks {
            let (state, begun) = (said(task), task.tried.run_id.is_some());
            if self.0.insert(task.key.clone(), state.clone()).as_ref() != Some(&state) && begun {
                let at = task.tried.finished_at.or(task.tried.started_at).map_or(now, |at| at.0);
                let note =
                    task.tried.waiting_for.as_ref().or(task.tried.detail.as_ref()).or(task.tried.reason.as_ref());
                let note = note.map(|note| format!("  {note}")).unwrap_or_default();
                lines.push(format!("{}  {}  {state}{note}", of_day(at), task.key));
            }
        }
        let whole = run.run.status.to_string();
        // No task has such a key.
        if self.0.insert(String::new(), whole.clone()).as_ref() != Some(&whole) {
            let at = run.run.finished_at.map_or(now, |at| at.0);
            lines.push(format!("{}  {}  {}", of_day(at), run.run.workflow_run_id, painted(&run.run.status)));
        }
        lines
    }
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

fn is_over(run: &WorkflowRunView) -> bool {
    run.run.finished_at.is_some() || matches!(&run.run.status, Word::Known(status) if status.is_over())
}

fn ended(run: &WorkflowRunView) -> Result<(), Failure> {
    if run.run.status == RunStatus::Succeeded {
        return Ok(());
    }
    let why = run.detail.as_ref().or(run.run.reason.as_ref()).map(|why| format!(": {why}")).unwrap_or_default();
    Err(Failure::RunEnded(format!("the run ended as {}{why}", run.run.status)))
}
