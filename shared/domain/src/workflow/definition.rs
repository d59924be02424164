//! A definition: a workflow as somebody wrote it, parsed and each part checked by itself. Whether the parts make a graph is the
//! question of [`super::plan`].

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::edge::{On, Rule};
use super::expression::Expression;
use super::key::TaskKey;
use super::params::ParamsSchema;
use super::template::Template;
use crate::access::Role;
use crate::body::Json;
use crate::limits::{DEFAULT_APPROVAL_SECONDS, DEFAULT_FINALLY_SECONDS, DEFAULT_WORKFLOW_SECONDS};
use crate::order::Terms;
use crate::pool::PoolName;
use crate::priority::Priority;
use crate::slot::Bounds;
use crate::target::Target;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub tasks: Vec<Task>,
    /// What runs whatever became of the others: after them, after a cancel, after a deadline.
    pub finally: Vec<Task>,
    pub policy: Policy,
}

/// What holds for a run as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub failure: OnFailure,
    pub params: Option<ParamsSchema>,
    /// What the run's result is made of.
    pub output: Option<Template>,
    pub max_concurrent_runs: Option<u32>,
    /// How long a run may take before it is stopped, where whoever starts it does not say.
    pub timeout: Duration,
    /// How long `finally` may take beyond that.
    pub finally_timeout: Duration,
}

/// What becomes of a run one of whose tasks failed, unless that was allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Nothing more starts, what runs is asked to end, and the run fails.
    #[default]
    FailFast,
    /// All goes on that does not need it.
    Continue,
    /// What needs it waits for an operator's verdict.
    Hold,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub key: TaskKey,
    pub does: Does,
    /// What it is given. Of a task whose target is a workflow: its parameters.
    pub payload: Option<Template>,
    pub depends_on: Vec<Edge>,
    pub rule: Rule,
    /// Judged when its edges say that it starts: false, and it is skipped.
    pub when: Option<Expression>,
    pub for_each: Option<ForEach>,
    /// Its failure is not the run's, and stops nothing.
    pub allow_failure: bool,
    /// None: as urgent as the run.
    pub priority: Option<Priority>,
    /// What its runs share with those of other tasks and jobs.
    pub bounds: Bounds,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub task: TaskKey,
    pub on: On,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    Call { target: Target, terms: Terms },
    Ask(Approval),
}

/// A question to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Who may answer: whoever has one of these roles, or a higher one.
    pub roles: BTreeSet<Role>,
    pub timeout: Duration,
    /// What counts as the answer where none came in time.
    pub default: NoAnswer,
}

/// How an approval ends that nobody answered in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoAnswer {
    Approve,
    Reject,
    /// It has timed out.
    #[default]
    Fail,
}

/// A task for each item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForEach {
    pub over: Over,
    /// How many branches are under way at once. None: all of them.
    pub max_concurrent: Option<u16>,
    pub tolerate: Tolerate,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// As it was written in the definition.
    List(Vec<Json>),
    /// A parameter, a result, or what can be made of them.
    Expression(Expression),
}

/// How many branches may fail without the whole failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerate {
    Branches(u16),
    Percent(u8),
}

impl Task {
    /// A task that does this and depends on nothing: what is said of another is its difference.
    pub fn new(key: TaskKey, does: Does) -> Self {
        Self {
            key,
            does,
            payload: None,
            depends_on: Vec::new(),
            rule: Rule::default(),
            when: None,
            for_each: None,
            allow_failure: false,
            priority: None,
            bounds: Bounds::default(),
        }
    }
}

impl Definition {
    /// Whose workers its tasks are carried out by.
    pub fn pools(&self) -> impl Iterator<Item = &PoolName> {
        self.tasks.iter().chain(&self.finally).filter_map(|task| match &task.does {
            Does::Call { target, .. } => target.pool(),
            Does::Ask(_) => None,
        })
    }

    pub fn new(tasks: Vec<Task>) -> Self {
        Self { tasks, finally: Vec::new(), policy: Policy::default() }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            failure: OnFailure::default(),
            params: None,
            output: None,
            max_concurrent_runs: None,
            timeout: Duration::from_secs(DEFAULT_WORKFLOW_SECONDS),
            finally_timeout: Duration::from_secs(DEFAULT_FINALLY_SECONDS),
        }
    }
}

impl OnFailure {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailFast => "fail_fast",
            Self::Continue => "continue",
            Self::Hold => "hold",
        }
    }
}

impl Approval {
    pub fn may(&self, role: Role) -> bool {
        self.roles.iter().any(|least| role >= *least)
    }
}

/// Asked of operators, for a day.
impl Default for Approval {
    fn default() -> Self {
        let roles = BTreeSet::from([Role::Operator]);
        Self { roles, timeout: Duration::from_secs(DEFAULT_APPROVAL_SECONDS), default: NoAnswer::default() }
    }
}

impl Default for Tolerate {
    fn default() -> Self {
        Self::Branches(0)
    }
}

impl Tolerate {
    /// Whether so many failures among so many branches are too many.
    pub fn is_exceeded(self, failed: usize, of: usize) -> bool {
        match self {
            Self::Branches(branches) => failed > usize::from(branches),
            Self::Percent(percent) => failed * 100 > of * usize::from(percent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_failures_than_tolerated_are_too_many() {
        for (tolerate, failed, of, is) in [
            (Tolerate::Branches(0), 0, 10, false),
            (Tolerate::Branches(0), 1, 10, true),
            (Tolerate::Branches(2), 2, 10, false),
            (Tolerate::Branches(2), 3, 10, true),
            (Tolerate::Percent(10), 1, 10, false),
            (Tolerate::Percent(10), 2, 10, true),
            (Tolerate::Percent(100), 10, 10, false),
            (Tolerate::Percent(0), 0, 0, false),
            (Tolerate::Percent(33), 1, 3, true),
        ] {
            assert_eq!(tolerate.is_exceeded(failed, of), is, "{tolerate:?}: {failed} of {of}");
        }
    }

    #[test]
    fn an_approval_is_asked_of_a_role_and_those_above_it() {
        let approval = Approval { roles: BTreeSet::from([Role::Admin]), ..Approval::default() };

        assert_eq!(
            [Role::Viewer, Role::Operator, Role::Admin, Role::Host].map(|role| approval.may(role)),
            [false, false, true, true]
        );
    }
}
