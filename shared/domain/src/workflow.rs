//! Workflows: graphs of tasks. Read it in this order: [`edge`] has the two tables by which tasks start, [`definition`] what people
//! write, [`plan`] what is compiled of it, [`join`] how edges meet, [`parts`] where it all lies. [`template`], [`expression`] and
//! [`params`] are what results, conditions and parameters are said in. Whoever watches a run asks [`progress`] how far its tasks are,
//! [`waits`] what they wait for, [`critical_path`] what took the time, and [`stall`] whether anything goes on at all.

pub mod critical_path;
pub mod definition;
pub mod edge;
pub mod expression;
pub mod join;
pub mod key;
pub mod params;
pub mod parts;
pub mod path;
pub mod plan;
pub mod progress;
pub mod stall;
pub mod template;
pub mod waits;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Moment;
use crate::id::{JobId, NotAnId, Tenant, base32, digest_of_key, from_base32, time_first};
use crate::idempotency::Fingerprint;
use crate::spelled::spelled_for_people;

/// Which workflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct WorkflowId([u8; 16]);

spelled_for_people!(WorkflowId);

/// A workflow: a name, and versions that never change. What one version says is stored by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    pub tenant: Tenant,
    pub id: WorkflowId,
    pub name: String,
    /// The newest: versions are numbered from 1.
    pub version: u32,
    /// It was deleted: nothing starts of it any more, what it did can be read.
    pub deleted: bool,
    pub created_at: Moment,
    pub changed_at: Moment,
    /// Of the request that created it, where that carried an idempotency key.
    pub fingerprint: Option<Fingerprint>,
}

impl WorkflowId {
    /// Time first, so that a list of workflows is sorted by age.
    pub fn new(now: Moment, chance: [u8; 16]) -> Self {
        Self(time_first(now, chance))
    }

    /// The same tenant and key give the same workflow, so creating twice is the same conditional put.
    pub fn from_key(tenant: &Tenant, key: &str) -> Self {
        Self(digest_of_key("workflow", tenant, key))
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The job of its own, in which the runs lie that its schedule or somebody's call starts: it has the workflow's own number.
    pub const fn job(self) -> JobId {
        JobId::from_bytes(self.0)
    }
}

impl fmt::Display for WorkflowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wf_{}", base32(&self.0))
    }
}

impl fmt::Debug for WorkflowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for WorkflowId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bytes = text.strip_prefix("wf_").and_then(from_base32).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotAnId::of("a workflow id"))
    }
}
