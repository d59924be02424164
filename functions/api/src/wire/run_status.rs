//! A run's status as clients name it.

use minutehand_domain::Moment;
use minutehand_domain::run::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `queued`: its time has come and nobody has claimed it. `waiting` comes with features that are not here yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
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
    const fn as_str(self) -> &'static str {
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

    pub(crate) fn is_of(self, run: &Run, now: Moment) -> bool {
        run.status(now) == self.as_str()
    }

    /// What the index of what needs attention holds.
    pub(crate) const fn needs_attention(self) -> bool {
        matches!(self, Self::Failed | Self::TimedOut)
    }
}
