//! Catching up: what becomes of occurrences that nobody has claimed and whose time has passed. The window says what is too
//! late to be made up for, the policy what becomes of the rest.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Moment;
use crate::job::Job;
use crate::limits::{DEFAULT_CATCH_UP_RUNS, DEFAULT_CATCH_UP_WINDOW_SECONDS};
use crate::pace;
use crate::spelled;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// The last one fires, for all of them.
    Last {
        #[serde(with = "spelled::span")]
        window: Duration,
    },
    /// What normal recovery does not bring back stays away.
    None,
    /// Each fires, at most so many of the newest.
    All {
        #[serde(with = "spelled::span")]
        window: Duration,
        max_runs: u32,
    },
}

impl CatchUp {
    pub const DEFAULT_WINDOW: Duration = Duration::from_secs(DEFAULT_CATCH_UP_WINDOW_SECONDS);
    pub const DEFAULT_RUNS: u32 = DEFAULT_CATCH_UP_RUNS;

    /// What lies further back is too late.
    pub fn window(&self) -> Duration {
        match self {
            Self::Last { window } | Self::All { window, .. } => *window,
            Self::None => pace::RECOVERY,
        }
    }

    /// How many of what lies inside the window are made up for.
    fn most(&self) -> u32 {
        match self {
            Self::Last { .. } | Self::None => 1,
            Self::All { max_runs, .. } => *max_runs,
        }
    }

    pub fn is_of_all(&self) -> bool {
        matches!(self, Self::All { .. })
    }
}

impl Default for CatchUp {
    fn default() -> Self {
        Self::Last { window: Self::DEFAULT_WINDOW }
    }
}

/// What becomes of an occurrence that nobody has claimed and of those after it whose time has passed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUpPlan {
    /// It fires, and each after it.
    FireAll,
    /// The first so many do not fire; the one at `at` does, and each after it.
    FireFrom { at: Moment, passed_over: u64 },
    /// It is too late for all of them, up to the last.
    SkipAll { last: Moment, count: u64 },
}

impl Job {
    /// Whether it is too late at `now` for an occurrence at `t` to begin.
    pub fn is_too_late(&self, t: Moment, now: Moment) -> bool {
        now.since(t) > self.definition.catch_up.window()
    }

    /// What is made up for at `now` of the occurrence at `t` and those after it.
    pub fn catch_up_plan(&self, t: Moment, now: Moment) -> CatchUpPlan {
        let (catch_up, now) = (&self.definition.catch_up, now.max(t));
        match self.newest(catch_up.most(), t.max(now - catch_up.window()), now) {
            Some(at) if at == t => CatchUpPlan::FireAll,
            Some(at) => CatchUpPlan::FireFrom { at, passed_over: self.missed(t, at.just_before()).count },
            None => {
                let missed = self.missed(t, now);
                CatchUpPlan::SkipAll { last: missed.last, count: missed.count }
            }
        }
    }
}

#[cfg(test)]
mod facts;
