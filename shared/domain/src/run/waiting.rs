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
    /// A place among those with whom it shares a limit, since then.
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

    /// Whether a word that came of itself is meant for the tasks that go on now: a failure, or the end of what the run is a part of,
    /// ends its tasks and not its `finally`, which may have begun since; and its time is up where it is.
    pub fn heeds(&self, stop: Stop, now: Moment) -> bool {
        match stop {
            Stop::TimedOut => self.deadline <= now,
            Stop::Failed | Stop::Cancelled => self.phase == Phase::Main,
        }
    }

    /// Whether a task of this phase may still start.
    pub fn admits(&self, phase: Phase) -> bool {
        self.stop.is_none() && self.phase == phase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_the_tasks_is_not_one_for_finally_and_time_is_up_where_it_is() {
        let (deadline, before) = (Moment::from_secs(100), Moment::from_secs(99));
        let rows = [
            (Phase::Main, Stop::Failed, before, true),
            (Phase::Main, Stop::Cancelled, before, true),
            (Phase::Finally, Stop::Failed, deadline, false),
            (Phase::Finally, Stop::Cancelled, deadline, false),
            (Phase::Main, Stop::TimedOut, before, false),
            (Phase::Main, Stop::TimedOut, deadline, true),
            (Phase::Finally, Stop::TimedOut, before, false),
            (Phase::Finally, Stop::TimedOut, deadline, true),
        ];
        for (phase, stop, now, heeded) in rows {
            let tasks = Tasks { phase, ..Tasks::until(deadline) };
            assert_eq!(tasks.heeds(stop, now), heeded, "{phase:?}, {stop:?}, {now:?}");
        }
    }
}
