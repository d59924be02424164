//! The judge's own model of catching up.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// The last that is not older than the window fires.
    Last { window: i64 },
    /// None fires that is later than normal recovery.
    None,
    /// The newest so many of those not older than the window fire; of those no more than so many in a minute, where that is said.
    All { window: i64, most: usize, a_minute: Option<i64> },
}

/// How many milliseconds lie between two of so many in a minute, rounded up.
pub(crate) fn apart(a_minute: i64) -> i64 {
    (60_000 + a_minute - 1) / a_minute
}

impl fmt::Display for CatchUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last { .. } => "last",
            Self::None => "none",
            Self::All { .. } => "all",
        })
    }
}

impl CatchUp {
    /// The default of a job.
    pub const USUAL: Self = Self::Last { window: 86_400_000 };

    /// An occurrence later than this does not start.
    pub fn window(&self) -> i64 {
        match self {
            Self::Last { window } | Self::All { window, .. } => *window,
            Self::None => 300_000,
        }
    }

    /// How many of what is made up for may begin in a minute, where that is said.
    pub fn a_minute(&self) -> Option<i64> {
        match self {
            Self::Last { .. } | Self::None => None,
            Self::All { a_minute, .. } => *a_minute,
        }
    }

    /// The oldest of these past instants that fires, decided at `now`.
    pub fn oldest_to_fire(&self, past: &[i64], now: i64) -> Option<i64> {
        let most = match self {
            Self::Last { .. } | Self::None => 1,
            Self::All { most, a_minute: None, .. } => *most,
            // Those that come one after the other within the window.
            Self::All { window, most, a_minute: Some(a_minute) } => {
                let come = (window / apart(*a_minute)).max(1);
                usize::try_from(come).map_or(*most, |come| come.min(*most))
            }
        };
        past.iter().rev().take_while(|t| now - **t <= self.window()).take(most).last().copied()
    }
}
