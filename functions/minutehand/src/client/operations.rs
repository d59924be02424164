//! `minutehand operations`: what is being done to many jobs or runs at once, how far it has come, and what may be said to it.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use minutehand_client::wire::{OperationState, OperationView, OperationsQuery, Page};
use minutehand_client::{Answer, Call, calls};
use minutehand_domain::operation::{State, Work};

use super::cells::{or_dash, status};
use super::failure::Failure;
use super::instant::{long, short};
use super::list::Paging;
use super::runs::follow::Patience;
use super::session::{Paper, Session, print};
use super::table::{Card, Cell, STRONG, Table};
use super::{id, one_of};

#[derive(Debug, Subcommand)]
pub(crate) enum Operations {
    /// List operations, newest first
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand operations list --kind backfill
  minutehand operations list --state running --json | jq -r '.items[].operation_id'"
    )]
    List(List),
    /// Show one, and how far it has come
    #[command(after_help = "\
Examples:
  minutehand operations show op_06gzmvcpq5xc3xgyx14fxfeyh0
  minutehand operations show op_06gzmvcpq5xc3xgyx14fxfeyh0 --json | jq .progress")]
    Show(One),
    /// Let it rest until it is resumed
    #[command(after_help = "\
Examples:
  minutehand operations pause op_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Pause(One),
    /// Go on where it was paused
    #[command(after_help = "\
Examples:
  minutehand operations resume op_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Resume(One),
    /// End it; what it has done stays done, and of a backfill what has not begun is cancelled
    #[command(after_help = "\
Examples:
  minutehand operations cancel op_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Cancel(One),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(Work::KINDS))]
    kind: Option<String>,
    /// In this state
    #[arg(long, value_parser = one_of::<OperationState>(State::ALL.map(State::as_str)))]
    state: Option<OperationState>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The operation
    #[arg(value_name = "OPERATION", value_parser = id)]
    operation: String,
}

impl Operations {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::List(list) => session.list(list.call(), &list.paging, "No operations.", table).await,
            Self::Show(One { operation }) => session.show_answer(&calls::get_operation(&operation), card).await,
            Self::Pause(One { operation }) => session.show_answer(&calls::pause_operation(&operation), card).await,
            Self::Resume(One { operation }) => session.show_answer(&calls::resume_operation(&operation), card).await,
            Self::Cancel(One { operation }) => session.show_answer(&calls::cancel_operation(&operation), card).await,
        }
    }
}

impl List {
    fn call(&self) -> Call<Page<OperationView>> {
        calls::list_operations(&OperationsQuery {
            kind: self.kind.clone(),
            state: self.state,
            ..OperationsQuery::default()
        })
    }
}

/// Waits until an operation is over. Machines get it as it ended and nothing else.
pub(crate) async fn until_over(session: &Session, operation: &str) -> Result<(), Failure> {
    let (look, mut patience) = (calls::get_operation(operation), Patience::default());
    let mut answer = Some(session.send(&look).await?);
    loop {
        if let Some(answer) = answer
            && let Some(ended) = over(session, &answer)?
        {
            return ended;
        }
        patience.wait().await;
        answer = patience.answer_of(session.send(&look).await)?;
    }
}

type Ended = Result<(), Failure>;

fn over(session: &Session, answer: &Answer<OperationView>) -> Result<Option<Ended>, Failure> {
    let operation = answer.read()?;
    let is_done = operation.state == OperationState::Done;
    if !is_done && operation.state != OperationState::Cancelled && operation.state != OperationState::Paused {
        return Ok(None);
    }
    if session.json {
        print(&format!("{}\n", answer.text()))?;
    } else {
        print(&card(&operation, Paper::here()))?;
    }
    let refused = operation.progress.refused;
    Ok(Some(match (is_done, refused) {
        (true, 0) => Ok(()),
        (true, refused) => Err(ended(format!("{refused} could not be done"))),
        (false, _) => Err(ended(format!("the operation is {}", operation.state))),
    }))
}

fn ended(said: String) -> Failure {
    Failure::RunEnded { said, failed: Vec::new() }
}

pub(crate) fn card(operation: &OperationView, paper: Paper) -> String {
    let at = |at: minutehand_client::wire::Instant| long(at.0, paper.now);
    let card = Card::default()
        .with("Operation", Cell::new(&operation.operation_id, STRONG))
        .with("Kind", operation.kind.as_str())
        .with("State", status(&operation.state))
        .with("Progress", progress(operation))
        .maybe("Of", about(operation))
        .maybe("Note", operation.note.as_deref())
        .with("By", operation.by.as_str())
        .with("Asked", at(operation.asked_at))
        .maybe("Finished", operation.finished_at.map(at));
    let reasons = operation.progress.reasons.iter();
    let lines: Vec<_> = reasons.map(|reason| format!("  {}: {}\n", reason.subject, reason.detail)).collect();
    format!("{}{}", card.draw(), lines.concat())
}

fn progress(operation: &OperationView) -> String {
    let progress = &operation.progress;
    let of = progress.expected.map(|expected| format!(" of {expected}")).unwrap_or_default();
    let mut said = vec![format!("{} done{of}", progress.done)];
    for (count, what) in
        [(progress.already, "already"), (progress.refused, "refused"), (progress.withdrawn, "withdrawn")]
    {
        if count > 0 {
            said.push(format!("{count} {what}"));
        }
    }
    said.join(", ")
}

/// To what it is done, in a line.
fn about(operation: &OperationView) -> Option<String> {
    let words = |pairs: Vec<(&str, Option<String>)>| {
        let said: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
        if said.is_empty() { "all".to_owned() } else { said.join(", ") }
    };
    if let Some(backfill) = &operation.backfill {
        return Some(format!("{} from {} to {}", backfill.job_id, short(backfill.from.0), short(backfill.to.0)));
    }
    if let Some(erasure) = &operation.erasure {
        let left = erasure.left.map_or_else(String::new, |left| format!(", {left} left"));
        let waits = erasure.waits_until.map(|until| format!(", looks once more from {}", short(until.0)));
        return Some(format!("{}{left}{}", erasure.tenant, waits.unwrap_or_default()));
    }
    if let Some(jobs) = &operation.jobs {
        return Some(words(vec![
            ("tag", jobs.tag.clone()),
            ("status", jobs.status.as_ref().map(ToString::to_string)),
            ("priority", jobs.priority.as_ref().map(ToString::to_string)),
            ("name", jobs.name.clone()),
            ("owner", jobs.owner.clone()),
        ]));
    }
    let runs = operation.runs.as_ref()?;
    Some(words(vec![
        ("job", runs.job_id.clone()),
        ("tag", runs.tag.clone()),
        ("status", runs.status.as_ref().map(ToString::to_string)),
        ("priority", runs.priority.as_ref().map(ToString::to_string)),
        ("from", Some(short(runs.from.0))),
        ("to", Some(short(runs.to.0))),
    ]))
}

fn table(operations: &[OperationView], _paper: Paper) -> Table {
    let mut table = Table::new(&["OPERATION", "KIND", "STATE", "PROGRESS", "ASKED", "BY", "~NOTE"]);
    for operation in operations {
        table.row(vec![
            Cell::from(&operation.operation_id),
            Cell::from(&operation.kind),
            status(&operation.state),
            Cell::from(progress(operation)),
            Cell::from(short(operation.asked_at.0)),
            Cell::from(&operation.by),
            or_dash(operation.note.as_deref()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use minutehand_domain::Moment;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_card_says_how_far_it_has_come_and_what_was_refused() {
        let at = "2027-01-15T08:00:00.000Z";
        let operation: OperationView = serde_json::from_value(json!({
            "operation_id": "op_1", "kind": "pause_jobs", "state": "running", "note": "x", "by": "key_1", "asked_at": at,
            "changed_at": at, "finished_at": null,
            "jobs": {"tag": "billing", "status": "active", "priority": null, "name": null, "owner": null},
            "progress": {"expected": null, "seen": 3, "done": 2, "already": 0, "refused": 1, "withdrawn": 0,
                         "reasons": [{"subject": "job_1", "detail": "it is not there"}]},
        }))
        .unwrap();

        let card = strip_str(&card(&operation, Paper { width: 80, now: Moment::parse(at).unwrap() })).to_string();

        for said in ["2 done, 1 refused", "tag billing, status active", "  job_1: it is not there\n"] {
            assert!(card.contains(said), "{said}: {card}");
        }
    }
}
