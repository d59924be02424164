//! A task, or a branch, as an answer shows it.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::run::{Attempt, Judgement, Run, State, TaskPlace, Waiting};
use minutehand_domain::target::Target;
use minutehand_domain::workflow::definition::{Approval, Does, NoAnswer};
use minutehand_domain::workflow::plan::{Node, Phase};
use minutehand_domain::workflow::progress::{EdgeNow, Progress};
use minutehand_domain::workflow::waits::{of_task, of_unborn};
use minutehand_protocol::graph::watch::{BranchCounts, Watched};
use minutehand_wire::{
    ApprovalView, AttemptErrorView, BodyView, BranchView, BranchesView, EdgeView, Instant, JudgementView, RunTaskView,
    TaskState, Word,
};

use super::names::Names;
use super::whole::ready_at;

/// What is said of a run of a task alike, whether it is a branch's or not.
struct Told {
    reason: Option<String>,
    detail: Option<String>,
    run_id: String,
    tries: u16,
    attempts: u32,
    started_at: Option<Instant>,
    finished_at: Option<Instant>,
    error: Option<AttemptErrorView>,
    result: BodyView,
    answer: Option<JudgementView>,
    verdict: Option<JudgementView>,
}

impl Told {
    fn of(run: &Run, names: &Names) -> Self {
        let task = run.task.as_ref();
        Self {
            reason: run.reason().map(ToOwned::to_owned),
            detail: run.told.clone(),
            run_id: run.key.to_string(),
            tries: TaskPlace::of(run.key).map_or(1, |place| place.turn),
            attempts: run.fence,
            started_at: run.started_at.map(Instant),
            finished_at: run.finished_at().map(Instant),
            error: run.attempts.last().and_then(Attempt::error).map(AttemptErrorView::of),
            result: BodyView::inside(run.result()),
            answer: task.and_then(|task| task.answer.as_ref()).map(|answer| judgement(answer, names)),
            verdict: task.and_then(|task| task.verdict.as_ref()).map(|verdict| judgement(verdict, names)),
        }
    }
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
    let told = run.map(|run| Told::of(run, names));
    let about = run.and_then(|run| run.task.as_ref());
    let total = watched.each(node).and_then(|(_, graph)| graph.each).map(|each| each.count);
    let answer = told.as_ref().and_then(|told| told.answer.clone());
    let told = told.as_ref();
    RunTaskView {
        key: planned.task.key.to_string(),
        kind: kind(planned).to_owned(),
        in_finally: watched.plan.phase(node) == Phase::Finally,
        state: TaskState::of(progress),
        reason: told.and_then(|told| told.reason.clone()),
        detail: told.and_then(|told| told.detail.clone()),
        waiting_for: waits(watched, (node, planned), progress, &edges, now),
        run_id: told.map(|told| told.run_id.clone()),
        rule: planned.task.rule.as_str().to_owned(),
        depends_on: edges.iter().map(|edge| edge_view(watched, *edge)).collect(),
        tries: told.map_or(0, |told| told.tries),
        attempts: told.map_or(0, |told| told.attempts),
        scheduled_at: ready_at(watched, node).map(Instant),
        started_at: told.and_then(|told| told.started_at),
        finished_at: told.and_then(|told| told.finished_at),
        priority: run.map_or(planned.task.priority.unwrap_or(watched.run.priority), |run| run.priority).into(),
        error: told.and_then(|told| told.error.clone()),
        result: told.map_or(BodyView::Null, |told| told.result.clone()),
        tainted: about.is_some_and(|task| task.tainted),
        allow_failure: planned.task.allow_failure,
        reused: about.and_then(|task| task.reused).map(|key| key.to_string()),
        approval: planned.approval().map(|approval| approval_view(approval, run, answer)),
        verdict: told.and_then(|told| told.verdict.clone()),
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
    let told = run.map(|run| Told::of(run, names));
    let told = told.as_ref();
    let due = run.and_then(|run| match run.state {
        State::Scheduled { due } => Some(Instant(due)),
        _ => run.started_at.map(Instant),
    });
    BranchView {
        branch,
        state: TaskState::of(progress),
        reason: told.and_then(|told| told.reason.clone()),
        detail: told.and_then(|told| told.detail.clone()),
        waiting_for: run.and_then(|run| of_task(run, planned, progress, now)),
        run_id: told.map(|told| told.run_id.clone()),
        tries: told.map_or(0, |told| told.tries),
        attempts: told.map_or(0, |told| told.attempts),
        scheduled_at: due,
        started_at: told.and_then(|told| told.started_at),
        finished_at: told.and_then(|told| told.finished_at),
        error: told.and_then(|told| told.error.clone()),
        result: told.map_or(BodyView::Null, |told| told.result.clone()),
        answer: told.and_then(|told| told.answer.clone()),
        verdict: told.and_then(|told| told.verdict.clone()),
    }
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
        Does::Call { target: Target::Http(_) | Target::Noop, .. } => "call",
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
