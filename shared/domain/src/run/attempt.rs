//! An attempt: one try at a run. When, who, outcome, error. Written once at its start and once at its end.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Moment;
use crate::id::Worker;
use crate::limits::ERROR_CHARS;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// From 1; the fence of the claim that began it.
    pub number: u32,
    pub worker: Worker,
    pub started_at: Moment,
    pub ended: Option<Ended>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub at: Moment,
    pub how: Ending,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Succeeded,
    Failed(AttemptError),
    TimedOut,
    /// The lease ran out, or its holder went away.
    Lost,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptError {
    /// A stable word to act on.
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
            Ending::TimedOut => "timed_out",
            Ending::Lost => "lost",
        })
    }

    pub fn error(&self) -> Option<&AttemptError> {
        match self.ended.as_ref()?.how {
            Ending::Failed(ref error) => Some(error),
            Ending::Succeeded | Ending::TimedOut | Ending::Lost => None,
        }
    }
}
