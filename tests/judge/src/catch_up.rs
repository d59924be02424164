//! The judge's own model of catching up.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatchUp {
    /// The last that is not older than the window fires.
    Last { window: i64 },
    /// None fires that is later than normal recovery.
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
    /// The default of a job.
    pub const USUAL: Self = Self::Last { window: 86_400_000 };

    /// An occurrence later than this does not start.
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
