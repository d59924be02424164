//! The owner of a run as it was read: it gives the order, and says whether a run may begin and whether it goes on.

use std::sync::LazyLock;

use crate::Moment;
use crate::body::Body;
use crate::callback::CallbackOwner;
use crate::hook::BeforeHook;
use crate::id::{Origin, RunKey};
use crate::job::{Job, Status};
use crate::lane::Lane;
use crate::notification::Rule;
use crate::order::{Order, TaskName, Terms};
use crate::overlap::Overlap;
use crate::priority::Priority;
use crate::run::{Run, TaskPlace};
use crate::slot::{Bound, Bounds, Rate};
use crate::target::{Target, WorkerTarget, WorkflowTarget};
use crate::workflow::definition::{Approval, Does};
use crate::workflow::plan::{Node, Plan};

static NOTHING_SHARED: LazyLock<Bounds> = LazyLock::new(Bounds::default);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOwner {
    Job(Job),
    /// The run of a workflow, or of a `for_each`, whose task it is; or the rule whose message.
    Parent(TaskOwner),
    /// The run whose end it tells of.
    Told(CallbackOwner),
}

/// What a parent says of the run of one of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOwner {
    pub order: Order,
    pub undertaking: Undertaking,
    pub bounds: Bounds,
    /// Whether the parent still wants it: it goes on, and is not being stopped.
    pub is_wanted: bool,
}

/// What a claim makes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undertaking {
    /// A call.
    Call,
    /// The tasks of a workflow.
    Unfold(WorkflowTarget),
    /// The branches of this task of its plan.
    Branch(u16),
    /// A question to people.
    Ask(Approval),
    /// An offer to the workers of a pool.
    Offer(WorkerTarget),
}

impl TaskOwner {
    /// Rule **gate**: whether the run at `place` is wanted is asked of its parent, read after it. None where the plan knows no such task.
    pub fn of(plan: &Plan, parent: &Run, place: TaskPlace) -> Option<Self> {
        let node = plan.node(place.node)?;
        let undertaking = Undertaking::of(node, place);
        let is_wanted = parent.wants(plan.phase(place.node));
        let (target, terms) = match &node.task.does {
            Does::Call { target, terms } => (target.clone(), terms.clone()),
            Does::Ask(_) => (Target::Noop, Terms::default()),
        };
        let priority = node.task.priority.unwrap_or(parent.priority);
        let above = parent.task.as_ref().filter(|_| place.branch.is_some()).map(|each| each.parent);
        let workflow_run = above.unwrap_or(parent.key);
        let task = Some(TaskName { workflow_run, key: node.task.key.clone(), branch: place.branch });
        let order = Order { target, terms, payload: Body::Empty, priority, task, before: None };
        Some(Self { order, undertaking, bounds: node.task.bounds.clone(), is_wanted })
    }
}

impl TaskOwner {
    /// A rule of notifications, whose messages are calls like any other.
    pub fn telling(rule: &Rule) -> Self {
        let (undertaking, bounds) = (Undertaking::Call, Bounds::default());
        Self { order: rule.order(), undertaking, bounds, is_wanted: rule.deleted_at.is_none() }
    }

    /// A rule that nothing is left of: what it was to tell is not wanted any more.
    pub fn gone(priority: Priority) -> Self {
        let order = Order {
            target: Target::Noop,
            terms: Terms::default(),
            payload: Body::Empty,
            priority,
            task: None,
            before: None,
        };
        Self { order, undertaking: Undertaking::Call, bounds: Bounds::default(), is_wanted: false }
    }
}

impl Undertaking {
    fn of(node: &Node, place: TaskPlace) -> Self {
        match &node.task.does {
            _ if node.task.for_each.is_some() && place.branch.is_none() => Self::Branch(place.node),
            Does::Ask(approval) => Self::Ask(approval.clone()),
            Does::Call { target, .. } => Self::calling(target),
        }
    }

    fn calling(target: &Target) -> Self {
        match target {
            Target::Workflow(target) => Self::Unfold(*target),
            Target::Worker(target) => Self::Offer(target.clone()),
            Target::Http(_) | Target::Noop | Target::Service(_) => Self::Call,
        }
    }
}

impl RunOwner {
    /// As a run sees it whose operation was cancelled: it is not begun, and not tried again.
    #[must_use]
    pub fn withdrawn(self) -> Self {
        match self {
            Self::Job(job) => Self::Job(Job { status: Status::Cancelled, ..job }),
            Self::Parent(task) => Self::Parent(TaskOwner { is_wanted: false, ..task }),
            // Who is told of an end is told of it, whatever made the run that ended.
            Self::Told(callback) => Self::Told(callback),
        }
    }

    /// What its runs carry out.
    pub fn order(self) -> Order {
        match self {
            Self::Job(job) => job.order(),
            Self::Parent(task) => task.order,
            Self::Told(callback) => callback.order,
        }
    }

    /// What a claim makes of its run.
    pub fn undertaking(&self) -> Undertaking {
        match self {
            Self::Job(job) => Undertaking::calling(&job.definition.target),
            Self::Parent(task) => task.undertaking.clone(),
            Self::Told(_) => Undertaking::Call,
        }
    }

    /// Which queue hints of its runs travel on.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Job(job) => job.lane(),
            Self::Parent(task) => match task.undertaking {
                Undertaking::Call => Lane::of(task.order.priority, &task.order.terms),
                Undertaking::Unfold(_) | Undertaking::Branch(_) | Undertaking::Ask(_) | Undertaking::Offer(_) => {
                    Lane::look(task.order.priority)
                }
            },
            Self::Told(callback) => Lane::of(callback.order.priority, &callback.order.terms),
        }
    }

    /// On which terms its runs are carried out.
    pub fn terms(&self) -> &Terms {
        match self {
            Self::Job(job) => &job.definition.terms,
            Self::Parent(task) => &task.order.terms,
            Self::Told(callback) => &callback.order.terms,
        }
    }

    /// The places that its runs need, in the order in which they are taken.
    pub fn places(&self, quota: Option<u32>) -> Vec<Bound> {
        let of_its_job = match self {
            Self::Job(job) => job.definition.overlap.places(job.id),
            Self::Parent(_) | Self::Told(_) => None,
        };
        of_its_job.into_iter().chain(self.bounds().places(&self.undertaking(), quota)).collect()
    }

    /// What becomes of this run of it where others are under way.
    pub fn overlap(&self, key: RunKey) -> Overlap {
        match self {
            Self::Job(job) if key.origin == Origin::Backfill => job.definition.overlap.patient(),
            Self::Job(job) => job.definition.overlap,
            Self::Parent(_) | Self::Told(_) => Overlap::default(),
        }
    }

    /// How fast its attempts may follow one another, and those of others.
    pub fn rate(&self) -> Option<&Rate> {
        self.bounds().rate_of(&self.undertaking())
    }

    /// What its runs share with those of others.
    pub fn bounds(&self) -> &Bounds {
        match self {
            Self::Job(job) => &job.definition.bounds,
            Self::Parent(task) => &task.bounds,
            Self::Told(_) => &NOTHING_SHARED,
        }
    }

    /// What its runs call.
    pub fn target(&self) -> &Target {
        match self {
            Self::Job(job) => &job.definition.target,
            Self::Parent(task) => &task.order.target,
            Self::Told(callback) => &callback.order.target,
        }
    }

    /// Who is asked before its runs are called.
    pub fn before(&self) -> Option<&BeforeHook> {
        match self {
            Self::Job(job) => job.definition.hooks.before.as_ref(),
            Self::Parent(task) => task.order.before.as_ref(),
            Self::Told(callback) => callback.order.before.as_ref(),
        }
    }

    /// What its runs are given, unless they have something of their own.
    pub fn payload(&self) -> &Body {
        match self {
            Self::Job(job) => &job.definition.payload,
            Self::Parent(task) => &task.order.payload,
            Self::Told(callback) => &callback.order.payload,
        }
    }

    /// A run of it that nobody has touched yet. A task's and a callback's are born with their records.
    pub fn unborn(&self, key: RunKey) -> Option<Run> {
        match self {
            Self::Job(job) => Some(job.run(key)),
            Self::Parent(_) | Self::Told(_) => None,
        }
    }

    /// Whether its runs, once begun, are still carried out: a paused job's are, a deleted job's are not tried again.
    pub fn carries_on(&self) -> bool {
        match self {
            Self::Job(job) => match job.status {
                Status::Active | Status::Paused => true,
                Status::Cancelled => false,
            },
            Self::Parent(task) => task.is_wanted,
            Self::Told(callback) => callback.is_owed,
        }
    }

    /// Whether it is too late at `now` for this run to begin.
    pub fn is_too_late(&self, key: RunKey, now: Moment) -> bool {
        match self {
            Self::Job(job) => job.is_too_late(key.at, now),
            Self::Parent(_) | Self::Told(_) => false,
        }
    }
}
