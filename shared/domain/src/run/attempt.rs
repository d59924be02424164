//! An attempt: one try at a run. When, who, outcome, error. Written once at its start and once at its end.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::Duration;

use super::ErrorCode;
use crate::Moment;
use crate::id::Worker;
use crate::limits::ERROR_CHARS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// From 1; the fence of the claim that began it.
    pub number: u32,
    pub worker: Worker,
    pub started_at: Moment,
    pub ended: Option<Ended>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub at: Moment,
    pub how: Ending,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Succeeded,
    Failed(AttemptError),
    TimedOut(AttemptError),
    /// The lease ran out, or its holder went away.
    Lost,
}

/// There is nothing else to say of a lost attempt, so that no record repeats it.
static LOST: LazyLock<AttemptError> = LazyLock::new(|| {
    ErrorCode::Lost.error("the lease ran out or was handed back: nobody knows how far the attempt came")
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptError {
    /// A stable word to act on: see [`ErrorCode`].
    pub code: Cow<'static, str>,
    /// A sentence to read.
    pub message: String,
    pub retryable: bool,
    /// Whether the target may have seen the call.
    pub reached: bool,
}

impl AttemptError {
    pub fn new(code: &'static str, message: &str) -> Self {
        let message = message.chars().take(ERROR_CHARS).collect();
        Self { code: Cow::Borrowed(code), message, retryable: true, reached: true }
    }

    /// No whole answer came in time.
    pub(super) fn timed_out(timeout: Duration) -> Self {
        ErrorCode::TimeoutTotal.error(&format!("no whole answer came within {} s", timeout.as_secs()))
    }

    /// Unlike others of its code, the same call may succeed later.
    #[must_use]
    pub fn passing(self) -> Self {
        Self { retryable: true, ..self }
    }

    /// Trying again would change nothing.
    #[must_use]
    pub fn permanent(self) -> Self {
        Self { retryable: false, ..self }
    }

    /// The target certainly did not see the call.
    #[must_use]
    pub fn unreached(self) -> Self {
        Self { reached: false, ..self }
    }
}

impl Attempt {
    pub fn outcome(&self) -> Option<&'static str> {
        self.ended.as_ref().map(|ended| match ended.how {
            Ending::Succeeded => "succeeded",
            Ending::Failed(_) => "failed",
            Ending::TimedOut(_) => "timed_out",
            Ending::Lost => "lost",
        })
    }

    /// What went wrong, where something did.
    pub fn error(&self) -> Option<&AttemptError> {
        match &self.ended.as_ref()?.how {
            Ending::Failed(error) | Ending::TimedOut(error) => Some(error),
            Ending::Lost => Some(&LOST),
            Ending::Succeeded => None,
        }
    }
}
