//! What a run waits for that nobody carries out: for its tasks, for somebody's answer, for a free place.

use crate::Moment;
use crate::body::Body;
use crate::workflow::WorkflowId;
use crate::workflow::plan::Phase;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Its tasks, which are runs of their own.
    Tasks(Tasks),
    /// Somebody's answer, until then.
    Answer { until: Moment },
    /// A place among the runs of its workflow, since then.
    Slot { since: Moment },
}

/// How far the tasks of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// When they are stopped.
    pub deadline: Moment,
    /// Why nothing more of this phase starts.
    pub stop: Option<Stop>,
    pub phase: Phase,
    /// In `finally`: how the others ended, where they did not end well.
    pub outcome: Option<Stop>,
}

/// What a run was pinned to when it unfolded into its tasks. It stays when they are over, so that they can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub workflow: WorkflowId,
    pub version: u32,
    /// Of a `for_each`: which of the workflow's tasks, and how many branches. None: the workflow as a whole.
    pub each: Option<Branches>,
    /// Its parameters, or a `for_each`'s list.
    pub given: Body,
    /// Into how many parts its tasks' runs are divided.
    pub parts: u8,
    /// When nobody needs what is kept of its joins any more.
    pub expires_at: Moment,
    /// How many runs of the workflow may be under way at once, where that is limited: it holds one of their places.
    pub slot: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branches {
    pub node: u16,
    pub count: u16,
}

/// How a run ends whose tasks did not all end well, or were stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stop {
    Failed,
    Cancelled,
    TimedOut,
}

impl Stop {
    pub const ALL: [Self; 3] = [Self::Failed, Self::Cancelled, Self::TimedOut];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }
}

impl Tasks {
    pub fn until(deadline: Moment) -> Self {
        Self { deadline, stop: None, phase: Phase::Main, outcome: None }
    }

    /// Whether a task of this phase may still start.
    pub fn admits(&self, phase: Phase) -> bool {
        self.stop.is_none() && self.phase == phase
    }
}
