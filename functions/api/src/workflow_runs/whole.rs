//! A whole run of a workflow: its record, what it is a run of, its tasks if it has unfolded; and what is said of it as a whole.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Origin, RunKey, Tenant};
use minutehand_domain::order::Terms;
use minutehand_domain::run::{Remarked, Run, State, Waiting};
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_domain::workflow::critical_path::{Timing, critical_path};
use minutehand_domain::workflow::definition::Does;
use minutehand_domain::workflow::plan::Phase;
use minutehand_domain::workflow::waits::{of_run, of_slot, of_task, of_whole};
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::bodies;
use minutehand_protocol::graph::watch::{Standing, Watched, standing_of};
use minutehand_protocol::lookup::plan_of;
use minutehand_wire::{
    BodyView, Instant, PathStepView, RunStatus, SlaView, TaskState, Word, WorkflowRunItem, WorkflowRunView,
};

use crate::runs::full_run::{awaited_place, run_of, task_of};

pub(super) struct Whole {
    pub run: Run,
    /// The job whose run it is, or is a part of.
    job: JobId,
    /// What it carries out.
    target: WorkflowTarget,
    /// How the job's own attempts are made; none of a task's.
    terms: Option<Terms>,
    /// Where it is a task itself.
    standing: Option<Standing>,
    /// Once it has unfolded.
    pub watched: Option<Watched>,
}

impl Whole {
    /// None where there is no such run, or where it is no workflow's.
    pub(super) async fn find<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<Self>, Fault> {
        let Some((run, job)) = run_of(ports, tenant, key).await? else { return Ok(None) };
        let standing = standing_of(ports, &run).await?;
        let target = match (&job, &standing) {
            (Some(job), _) => Some(&job.definition.target),
            (None, Some(standing)) => standing.plan.node(standing.place.node).and_then(|node| match &node.task.does {
                Does::Call { target, .. } => Some(target),
                Does::Ask(_) => None,
            }),
            (None, None) => None,
        };
        let pinned = run.graph.as_ref().filter(|graph| graph.each.is_none());
        let target = match (pinned, target) {
            (Some(graph), _) => WorkflowTarget { id: graph.workflow, version: Some(graph.version) },
            (None, Some(Target::Workflow(target))) if run.graph.is_none() => *target,
            (None, _) => return Ok(None),
        };
        let root = standing.as_ref().map_or(run.key.job, |standing| standing.job);
        let watched = Watched::of(ports, run.clone()).await?;
        let terms = job.map(|job| job.definition.terms);
        Ok(Some(Self { run, job: root, target, terms, standing, watched }))
    }

    /// All that is said of it, but for its tasks. `told`: what is known already of what some of them wait for.
    pub(super) async fn view<D: Ports>(
        &self,
        ports: &D,
        told: &BTreeMap<&str, String>,
    ) -> Result<WorkflowRunView, Fault> {
        let (run, now) = (&self.run, ports.clock().now());
        let (tenant, tasks) = (&run.tenant, run.tasks());
        let workflow = ports.store().get::<Workflow>(tenant, self.target.id).await?.map(|seen| seen.item);
        let given = match (&run.graph, &run.payload) {
            (Some(graph), _) => Some(&graph.given),
            (None, payload) => payload.as_ref(),
        };
        let params = match given {
            Some(given) => bodies::shown_of(ports, run, given).await?,
            None => None,
        };
        let output = bodies::fetch_of(ports, run, run.result()).await?;
        Ok(WorkflowRunView {
            run: WorkflowRunItem {
                stalled_at: self.stalled_at(now).map(Instant),
                ..item(run, self.job, Some(self.target.id), now)
            },
            detail: run.told.clone(),
            waiting_for: self.waits(ports, workflow.as_ref(), told, now).await?,
            name: workflow.map(|workflow| workflow.name),
            deadline_at: tasks.map(|tasks| Instant(tasks.deadline)),
            stopping: tasks.and_then(|tasks| tasks.stop).map(|stop| stop.as_str().to_owned()),
            in_finally: tasks.is_some_and(|tasks| tasks.phase == Phase::Finally),
            params: BodyView::of(params.as_ref()),
            output: BodyView::of(output.as_ref()),
            asked_by: run.asked_by.as_ref().map(|by| by.as_str().to_owned()),
            resumed_by: self.resumed_by(ports).await?,
            task: self.standing.as_ref().map(task_of),
            counts: self.counts(now),
            critical_path: self.path(now),
            tasks: Vec::new(),
            next_cursor: None,
        })
    }

    fn counts(&self, now: Moment) -> BTreeMap<Word<TaskState>, usize> {
        let mut counts = BTreeMap::new();
        if let Some(watched) = &self.watched {
            for (node, _) in watched.plan.nodes() {
                *counts.entry(TaskState::of(watched.progress(node, now))).or_default() += 1;
            }
        }
        counts
    }

    /// The run that goes on with this one: its key follows from this one's.
    async fn resumed_by<D: Ports>(&self, ports: &D) -> Result<Option<String>, Fault> {
        if !self.run.is_finished() || self.run.task.is_some() {
            return Ok(None);
        }
        let next = ports.store().get::<Run>(&self.run.tenant, RunKey::resuming(self.run.key)).await?;
        Ok(next.map(|seen| seen.item.key.to_string()))
    }

    /// None where it has gone on since that was remarked.
    fn stalled_at(&self, now: Moment) -> Option<Moment> {
        let at = stalled(&self.run)?;
        let watched = self.watched.as_ref()?;
        let goes_on = |run: &Run| run.changed_at(now) > at || run.lease().is_some_and(|lease| now < lease.until);
        let went_on = watched.plan.nodes().filter_map(|(node, _)| watched.task(node)).any(goes_on);
        (!went_on).then_some(at)
    }

    async fn waits<D: Ports>(
        &self,
        ports: &D,
        workflow: Option<&Workflow>,
        told: &BTreeMap<&str, String>,
        now: Moment,
    ) -> Result<Option<String>, Fault> {
        if let Some(place) = awaited_place(ports, &self.run).await? {
            return Ok(Some(place));
        }
        match (&self.run.state, &self.watched, workflow) {
            (State::Waiting(Waiting::Slot { since }), _, Some(workflow)) => {
                let version = self.target.version.unwrap_or(workflow.version);
                let (tenant, id) = (&self.run.tenant, workflow.id);
                let plan = plan_of(ports, tenant, id, version).await?;
                let width = plan.and_then(|plan| plan.policy().max_concurrent_runs);
                Ok(match width {
                    Some(width) => Some(of_slot(&workflow.name, width, *since, now)),
                    None => of_run(&self.run, None, now),
                })
            }
            (State::Waiting(Waiting::Tasks(tasks)), Some(watched), _) => {
                let begun = watched.plan.nodes().filter_map(|(node, planned)| {
                    let (run, progress) = (watched.task(node)?, watched.progress(node, now));
                    let key = planned.task.key.as_str();
                    let words = told.get(key).cloned().or_else(|| of_task(run, planned, progress, now));
                    Some((key, progress, words))
                });
                Ok(of_whole(tasks, &begun.collect::<Vec<_>>()))
            }
            _ => Ok(of_run(&self.run, self.terms.as_ref(), now)),
        }
    }

    fn path(&self, now: Moment) -> Vec<PathStepView> {
        let Some(watched) = &self.watched else { return Vec::new() };
        let begun = self.run.started_at.unwrap_or(self.run.key.at);
        let until = self.run.finished_at().unwrap_or(now);
        let timings: Vec<_> = watched.plan.nodes().map(|(node, _)| timing(watched, node)).collect();
        let steps = critical_path(&timings, begun, until).into_iter().filter_map(|step| {
            let node = watched.plan.node(u16::try_from(step.task).ok()?)?;
            let (from, to) = (Instant(step.from), Instant(step.to));
            let seconds = step.to.since(step.from).as_secs_f64();
            Some(PathStepView { key: node.task.key.to_string(), from, to, seconds })
        });
        steps.collect()
    }
}

/// As a list shows it.
pub(super) fn item(run: &Run, job: JobId, workflow: Option<WorkflowId>, now: Moment) -> WorkflowRunItem {
    let resumes = run.redrive_of.filter(|_| run.key.origin == Origin::Resume);
    WorkflowRunItem {
        workflow_run_id: run.key.to_string(),
        workflow_id: workflow.map(|id| id.to_string()),
        version: run.graph.as_ref().map(|graph| graph.version),
        job_id: job.to_string(),
        status: RunStatus::of(run, now),
        reason: run.reason().map(ToOwned::to_owned),
        scheduled_at: Instant(run.nominal()),
        started_at: run.started_at.map(Instant),
        finished_at: run.finished_at().map(Instant),
        priority: run.priority.into(),
        origin: run.key.origin.into(),
        resumes: resumes.map(|key| key.to_string()),
        stalled_at: stalled(run).map(Instant),
        sla: run.sla.map(SlaView::of),
    }
}

/// When a run that waits for its tasks was last found to have stalled.
fn stalled(run: &Run) -> Option<Moment> {
    run.tasks()?;
    run.last_remark(Remarked::Stalled).map(|remark| remark.at)
}

fn timing(watched: &Watched, node: u16) -> Option<Timing> {
    let run = watched.task(node)?;
    Some(Timing {
        parents: parents(watched, node).map(usize::from).collect(),
        from: ready_at(watched, node)?,
        to: run.finished_at(),
        is_skipped: matches!(run.state, State::Skipped { .. }) || never_began(run),
    })
}

/// It took no time: `finally` speaks of it, or it was ended before anybody claimed it.
fn never_began(run: &Run) -> bool {
    matches!(run.state, State::Cancelled { .. }) && run.fence == 0
}

/// What a task comes after: the roots of `finally` after all that is not in it.
fn parents(watched: &Watched, node: u16) -> impl Iterator<Item = u16> {
    let planned = watched.plan.node(node).map(|node| node.parents.as_slice()).unwrap_or_default();
    let comes_after_all = planned.is_empty() && watched.plan.phase(node) == Phase::Finally;
    let main = watched.plan.nodes().map(|(other, _)| other);
    let main = main.filter(move |other| comes_after_all && watched.plan.phase(*other) == Phase::Main);
    planned.iter().map(|parent| parent.node).chain(main)
}

/// When it was decided that a task begins, or is skipped: as its own record says while nobody has claimed it, else as the ends of what it
/// waited for say.
pub(super) fn ready_at(watched: &Watched, node: u16) -> Option<Moment> {
    let run = watched.task(node)?;
    if let (State::Scheduled { due }, 0) = (&run.state, run.fence) {
        return Some(*due);
    }
    let began = run.started_at.or(run.finished_at())?;
    let waited_for = parents(watched, node).filter_map(|parent| watched.task(parent));
    let ends = waited_for.filter(|run| !never_began(run)).filter_map(Run::finished_at);
    let last = ends.filter(|end| *end <= began).max();
    Some(last.or(watched.run.started_at).unwrap_or(began).min(began))
}
