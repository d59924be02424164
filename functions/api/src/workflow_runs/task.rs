//! A task, or a branch, as an answer shows it.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::run::{Attempt, Judgement, Run, State, TaskPlace, Waiting};
use minutehand_domain::target::Target;
use minutehand_domain::workflow::definition::{Approval, Does, NoAnswer};
use minutehand_domain::workflow::plan::{Node, Phase};
use minutehand_domain::workflow::progress::{EdgeNow, Progress};
use minutehand_domain::workflow::waits::{of_held, of_task, of_unborn};
use minutehand_protocol::graph::watch::{BranchCounts, Watched};
use minutehand_wire::{
    ApprovalView, AttemptErrorView, BodyView, BranchView, BranchesView, EdgeView, Instant, JudgementView, RunTaskView,
    TaskState, TriedView, Word,
};

use super::names::Names;
use super::whole::ready_at;

/// What is said of a task and of a branch alike: of one without a run its state alone.
fn tried(
    run: Option<&Run>,
    (progress, waiting_for, scheduled_at): (Progress, Option<String>, Option<Moment>),
    names: &Names,
) -> TriedView {
    let verdict = run.and_then(|run| run.task.as_ref()?.verdict.as_ref());
    TriedView {
        state: TaskState::of(progress),
        reason: run.and_then(|run| run.reason().map(ToOwned::to_owned)),
        detail: run.and_then(|run| run.told.clone()),
        waiting_for,
        run_id: run.map(|run| run.key.to_string()),
        tries: run.map_or(0, |run| TaskPlace::of(run.key).map_or(1, |place| place.turn)),
        attempts: run.map_or(0, |run| run.fence),
        scheduled_at: scheduled_at.map(Instant),
        started_at: run.and_then(|run| run.started_at).map(Instant),
        finished_at: run.and_then(Run::finished_at).map(Instant),
        error: run.and_then(|run| run.attempts.last().and_then(Attempt::error)).map(AttemptErrorView::of),
        verdict: verdict.map(|verdict| judgement(verdict, names)),
    }
}

fn result(run: Option<&Run>) -> BodyView {
    run.map_or(BodyView::Null, |run| BodyView::inside(run.result()))
}

fn answer(run: Option<&Run>, names: &Names) -> Option<JudgementView> {
    let answer = run.and_then(|run| run.task.as_ref()?.answer.as_ref());
    answer.map(|answer| judgement(answer, names))
}

/// `counts`: of the branches, where it is a `for_each`.
pub(super) fn task(
    watched: &Watched,
    (node, planned): (u16, &Node),
    counts: Option<&BranchCounts>,
    names: &Names,
    now: Moment,
) -> RunTaskView {
    let (run, progress) = (watched.task(node), watched.progress(node, now));
    let edges: Vec<EdgeNow> = watched.plan.edges_now(node, |node| watched.task(node)).collect();
    let about = run.and_then(|run| run.task.as_ref());
    let total = watched.each(node).and_then(|(_, graph)| graph.each).map(|each| each.count);
    let held = total.zip(counts).and_then(|(total, counts)| held_in_words(total, counts));
    let waiting_for = held.or_else(|| waits(watched, (node, planned), progress, &edges, now));
    RunTaskView {
        key: planned.task.key.to_string(),
        kind: kind(planned).to_owned(),
        in_finally: watched.plan.phase(node) == Phase::Finally,
        tried: tried(run, (progress, waiting_for, ready_at(watched, node)), names),
        rule: planned.task.rule.as_str().to_owned(),
        depends_on: edges.iter().map(|edge| edge_view(watched, *edge)).collect(),
        priority: run.map_or(planned.task.priority.unwrap_or(watched.run.priority), |run| run.priority).into(),
        result: result(run),
        tainted: about.is_some_and(|task| task.tainted),
        allow_failure: planned.task.allow_failure,
        reused: about.and_then(|task| task.reused).map(|key| key.to_string()),
        approval: planned.approval().map(|approval| approval_view(approval, run, answer(run, names))),
        branches: total.zip(counts).map(|(total, counts)| branches_view(total, counts)),
    }
}

/// One that has no run is told by its state alone.
pub(super) fn branch(
    watched: &Watched,
    each: &Run,
    (branch, planned): (u16, &Node),
    run: Option<&Run>,
    names: &Names,
    now: Moment,
) -> BranchView {
    let place = |run: &Run| TaskPlace::of(run.key).unwrap_or(TaskPlace::task(0));
    let progress =
        run.map_or_else(|| watched.unborn_branch(each), |run| watched.progress_of_branch(each, run, place(run), now));
    let waiting_for = run.and_then(|run| of_task(run, planned, progress, now));
    let due = run.and_then(|run| match run.state {
        State::Scheduled { due } => Some(due),
        _ => run.started_at,
    });
    let tried = tried(run, (progress, waiting_for, due), names);
    BranchView { branch, tried, result: result(run), answer: answer(run, names) }
}

pub(super) fn judgement(judgement: &Judgement, names: &Names) -> JudgementView {
    let by = judgement.by.as_str();
    JudgementView {
        word: judgement.word.as_str().to_owned(),
        by: by.to_owned(),
        by_name: names.name(by),
        at: Instant(judgement.at),
        note: judgement.note.clone(),
    }
}

/// Those who decided something about this run.
pub(super) fn deciders(run: &Run) -> impl Iterator<Item = &str> {
    let judgements = run.task.iter().flat_map(|task| task.answer.iter().chain(&task.verdict));
    judgements.map(|judgement| judgement.by.as_str())
}

/// What a `for_each` waits for that goes on, where branches of it are held.
pub(super) fn held_in_words(total: u16, counts: &BranchCounts) -> Option<String> {
    of_held(counts.by_progress.get(&Progress::Held).copied().unwrap_or_default(), total.into(), counts.is_cut)
}

fn waits(
    watched: &Watched,
    (node, planned): (u16, &Node),
    progress: Progress,
    edges: &[EdgeNow],
    now: Moment,
) -> Option<String> {
    match (watched.task(node), progress) {
        (Some(run), _) => of_task(run, planned, progress, now),
        (None, Progress::Pending | Progress::Waiting) => {
            let key = |node: u16| watched.plan.node(node).map_or("", |node| node.task.key.as_str());
            of_unborn(planned, edges, watched.plan.phase(node) == Phase::Finally, key)
        }
        (None, _) => None,
    }
}

fn kind(node: &Node) -> &'static str {
    match &node.task.does {
        _ if node.task.for_each.is_some() => "for_each",
        Does::Ask(_) => "approval",
        Does::Call { target: Target::Workflow(_), .. } => "workflow",
        Does::Call { target: Target::Http(_) | Target::Noop | Target::Worker(_) | Target::Service(_), .. } => "call",
    }
}

fn edge_view(watched: &Watched, edge: EdgeNow) -> EdgeView {
    let task = watched.plan.node(edge.from).map(|node| node.task.key.to_string()).unwrap_or_default();
    EdgeView { task, on: edge.on.as_str().to_owned(), holds: edge.holds() }
}

fn approval_view(approval: &Approval, run: Option<&Run>, answer: Option<JudgementView>) -> ApprovalView {
    let until = match run.and_then(Run::waiting) {
        Some(Waiting::Answer { until }) => Some(Instant(*until)),
        _ => None,
    };
    let default = match approval.default {
        NoAnswer::Approve => "approve",
        NoAnswer::Reject => "reject",
        NoAnswer::Fail => "fail",
    };
    let roles = approval.roles.iter().map(|role| role.as_str().to_owned()).collect();
    ApprovalView { roles, until, default: default.to_owned(), answer }
}

fn branches_view(total: u16, counts: &BranchCounts) -> BranchesView {
    let by_state: BTreeMap<Word<TaskState>, usize> =
        counts.by_progress.iter().map(|(progress, count)| (TaskState::of(*progress), *count)).collect();
    BranchesView { total, counts: by_state, at_least: counts.is_cut }
}
