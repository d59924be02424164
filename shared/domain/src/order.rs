//! An order: what a run carries out. Its owner gives it; claim, call and finish know nothing else of the owner, so that they
//! stay as they are whoever gives the order.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::hook::BeforeHook;
use crate::id::RunKey;
use crate::limits::{DEFAULT_TIMEOUT_SECONDS, SHORT_CALL_SECONDS, TIMEOUT_SECONDS};
use crate::pace;
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::target::Target;
use crate::workflow::key::TaskKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub target: Target,
    pub terms: Terms,
    /// What the target is given, unless the run was given something of its own.
    pub payload: Body,
    pub priority: Priority,
    /// Which task it is, where it is one.
    pub task: Option<TaskName>,
    /// Who is asked before the target is called.
    pub before: Option<BeforeHook>,
}

/// A task as its target is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// The run of the workflow.
    pub workflow_run: RunKey,
    pub key: TaskKey,
    /// Of a `for_each`, from 0.
    pub branch: Option<u16>,
}

/// On which terms a run is carried out: all that its state machine needs to know of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long an attempt may take.
    pub timeout: Duration,
    pub retry: RetryPolicy,
    pub delivery: Delivery,
    /// How long whoever is asked before may take; nothing where nobody is.
    pub before: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    #[default]
    AtLeastOnce,
    /// Claimed, and never tried again once the target may have been reached.
    AtMostOnce,
    /// As at least once, by a target that claims what it does to the world outside before it does it: [`crate::run::effect`].
    EffectivelyOnce,
}

impl Delivery {
    /// Whether the target may be reached again when it may have been reached before.
    pub const fn may_repeat(self) -> bool {
        match self {
            Self::AtLeastOnce | Self::EffectivelyOnce => true,
            Self::AtMostOnce => false,
        }
    }
}

impl Terms {
    /// A call that may take longer is a long one: [`crate::lane`].
    pub const LONGEST_SHORT_CALL: Duration = Duration::from_secs(SHORT_CALL_SECONDS);
    const LONGEST_CALL: Duration = Duration::from_secs(TIMEOUT_SECONDS);

    /// How long a call may take that one of our processes makes. What a target takes on may take longer.
    pub fn call(&self) -> Duration {
        self.timeout.min(Self::LONGEST_CALL)
    }

    /// For how long an attempt takes up the process that makes it: the call, and whoever is asked before.
    pub fn occupies(&self) -> Duration {
        self.before + self.call()
    }

    /// How long a claim holds: the call's own time, that of whoever is asked before it, and room to write down how it went.
    pub fn lease(&self) -> Duration {
        self.occupies() + pace::LEASE_MARGIN
    }
}

impl Default for Terms {
    fn default() -> Self {
        let timeout = Duration::from_secs(DEFAULT_TIMEOUT_SECONDS);
        Self { timeout, retry: RetryPolicy::default(), delivery: Delivery::default(), before: Duration::ZERO }
    }
}
