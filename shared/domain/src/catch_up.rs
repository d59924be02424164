//! Catching up: the fate of occurrences whose time has passed and that nobody has claimed. Occurrences older than the window
//! are too late to fire; the policy decides about the others.

use std::time::Duration;

use crate::Moment;
use crate::limits::{DEFAULT_CATCH_UP_RUNS, DEFAULT_CATCH_UP_WINDOW_SECONDS};
use crate::pace;
use crate::slot::interval;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// Only the last one fires; the others coalesce into its record.
    Last { window: Duration },
    /// None fires that is later than normal recovery.
    None,
    /// Each fires, but at most `max_runs`, the newest; and, where it says so, no more than so many of them begin in a minute.
    All { window: Duration, max_runs: u32, per_minute: Option<u32> },
}

impl CatchUp {
    pub const DEFAULT_WINDOW: Duration = Duration::from_secs(DEFAULT_CATCH_UP_WINDOW_SECONDS);
    pub const DEFAULT_RUNS: u32 = DEFAULT_CATCH_UP_RUNS;

    /// An occurrence older than this is too late.
    pub fn window(&self) -> Duration {
        match self {
            Self::Last { window } | Self::All { window, .. } => *window,
            Self::None => pace::RECOVERY,
        }
    }

    /// The same, and no longer back than this.
    pub(crate) fn within(self, most: Duration) -> Self {
        match self {
            Self::Last { window } => Self::Last { window: window.min(most) },
            Self::None => Self::None,
            Self::All { window, max_runs, per_minute } => Self::All { window: window.min(most), max_runs, per_minute },
        }
    }

    /// How many of what lies inside the window are made up for: no more than can begin, one at a time, before the last of them is too late.
    pub(crate) fn most(&self) -> u32 {
        match self {
            Self::Last { .. } | Self::None => 1,
            Self::All { max_runs, per_minute: None, .. } => *max_runs,
            Self::All { window, max_runs, per_minute: Some(per_minute) } => {
                let begin_in_time = (window.as_millis() / interval(*per_minute).as_millis()).max(1);
                u32::try_from(begin_in_time).map_or(*max_runs, |most| most.min(*max_runs))
            }
        }
    }

    /// How many of what is made up for may begin in a minute, where the job says so.
    pub fn per_minute(&self) -> Option<u32> {
        match self {
            Self::Last { .. } | Self::None => None,
            Self::All { per_minute, .. } => *per_minute,
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

/// The decision about an unclaimed occurrence and the later ones whose time has passed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUpPlan {
    /// The occurrence fires, and each one after it.
    FireAll,
    /// The first `passed_over` occurrences do not fire; the one at `at` fires, and each one after it.
    FireFrom { at: Moment, passed_over: u64 },
    /// All of them are too late, up to the last.
    SkipAll { last: Moment, count: u64 },
}
