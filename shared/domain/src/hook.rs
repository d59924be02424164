//! A hook: who is asked before a run's target is called, and may hold it back. It is asked inside the run's lease, by the executor that
//! has claimed it, and has a time of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::callback::Callback;
use crate::secret::SecretName;
use crate::target::HttpTarget;

/// Who is asked before a run of a job, and told after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    pub before: Option<BeforeHook>,
    /// A callback on every end.
    pub after: Option<Callback>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeforeHook {
    pub target: HttpTarget,
    /// How long it may take: its own time, beside that of the call.
    pub timeout: Duration,
    pub on_error: OnError,
}

/// What becomes of an attempt whose hook answers neither that it goes on nor that it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The attempt has failed. Its target was not called.
    #[default]
    Fail,
    /// The target is called all the same.
    GoOn,
}

/// What a hook gave an attempt in the place of what its run was to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The attempt: the newest that was given something.
    pub attempt: u32,
    pub payload: Body,
}

impl Hooks {
    pub fn is_empty(&self) -> bool {
        self.before.is_none() && self.after.is_none()
    }

    /// The secrets that its calls name.
    pub fn secrets(&self) -> BTreeSet<SecretName> {
        let before = self.before.iter().flat_map(|before| before.target.secrets());
        before.chain(self.after.iter().flat_map(|after| after.target.secrets())).collect()
    }
}
