//! A head: what stands where a job would stand. Either the job, or the tombstone that a sweeper left so that a creator
//! who promised and then slept cannot wake up and create a job whose timer is gone.

use crate::id::{JobId, Tenant};
use crate::job::Job;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    Job(Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

impl Head {
    pub fn job(&self) -> Option<&Job> {
        match self {
            Self::Job(job) => Some(job),
            Self::Tombstone { .. } => None,
        }
    }

    pub fn into_job(self) -> Option<Job> {
        match self {
            Self::Job(job) => Some(job),
            Self::Tombstone { .. } => None,
        }
    }

    pub fn tenant(&self) -> &Tenant {
        match self {
            Self::Job(job) => &job.tenant,
            Self::Tombstone { tenant, .. } => tenant,
        }
    }

    pub fn id(&self) -> JobId {
        match self {
            Self::Job(job) => job.id,
            Self::Tombstone { id, .. } => *id,
        }
    }

    pub fn epoch(&self) -> u32 {
        match self {
            Self::Job(job) => job.epoch,
            Self::Tombstone { epoch, .. } => *epoch,
        }
    }
}
