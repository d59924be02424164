//! The judge's own words for what becomes of missed occurrences.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// The last that is not older than the window fires.
    Last { window: i64 },
    /// Nothing fires that is later than what recovers by itself.
    None,
    /// The newest so many of those not older than the window fire.
    All { window: i64, most: usize },
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
    /// What a job has that says nothing about it.
    pub const USUAL: Self = Self::Last { window: 86_400_000 };

    /// What is later than this does not begin any more.
    pub fn window(&self) -> i64 {
        match self {
            Self::Last { window } | Self::All { window, .. } => *window,
            Self::None => 300_000,
        }
    }

    /// The oldest of these past instants that fires, decided at `now`.
    pub fn oldest_to_fire(&self, past: &[i64], now: i64) -> Option<i64> {
        let most = match self {
            Self::Last { .. } | Self::None => 1,
            Self::All { most, .. } => *most,
        };
        past.iter().rev().take_while(|t| now - **t <= self.window()).take(most).last().copied()
    }
}
