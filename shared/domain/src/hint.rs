//! A hint: a message on a lane that says "this run may be due". It carries identities, never state, and has no authority.

use serde::{Deserialize, Serialize};

use crate::id::{RunKey, Tenant};
use crate::timer::{Mark, Timer, TimerKey};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    pub tenant: Tenant,
    pub run: RunKey,
    /// The timer that stands behind this hint, and what was seen of it: whoever finishes the run erases just that.
    pub timer: TimerKey,
    pub mark: Mark,
}

impl Hint {
    pub fn of(timer: &Timer) -> Self {
        Self { tenant: timer.tenant.clone(), run: timer.key.run_key(), timer: timer.key, mark: timer.mark }
    }
}
