//! A run's status as clients name it.

use minutehand_domain::Moment;
use minutehand_domain::run::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::word::Word;

/// `queued`: its time has come and nobody has claimed it. `waiting`: for its tasks, for
/// somebody's answer, or for a free place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Scheduled,
    Queued,
    Waiting,
    Running,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    Skipped,
}

impl RunStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    pub fn of(run: &Run, now: Moment) -> Word<Self> {
        Word::read(run.status(now))
    }

    pub fn is_of(self, run: &Run, now: Moment) -> bool {
        run.status(now) == self.as_str()
    }

    /// Nothing more will happen to it.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Scheduled | Self::Queued | Self::Waiting | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::TimedOut | Self::Cancelled | Self::Skipped => true,
        }
    }

    /// What the index of what needs attention holds.
    pub const fn needs_attention(self) -> bool {
        matches!(self, Self::Failed | Self::TimedOut)
    }
}
