//! The owner of a run as it was read: it gives the order, and says whether a run may begin and whether it goes on.

use crate::Moment;
use crate::body::Body;
use crate::id::RunKey;
use crate::job::{Job, Status};
use crate::lane::Lane;
use crate::order::Order;
use crate::run::Run;
use crate::target::Target;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOwner {
    Job(Job),
}

impl RunOwner {
    /// What its runs carry out.
    pub fn order(self) -> Order {
        match self {
            Self::Job(job) => job.order(),
        }
    }

    /// Which queue hints of its runs travel on.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Job(job) => job.lane(),
        }
    }

    /// What its runs call.
    pub fn target(&self) -> &Target {
        match self {
            Self::Job(job) => &job.definition.target,
        }
    }

    /// What its runs are given, unless they have something of their own.
    pub fn payload(&self) -> &Body {
        match self {
            Self::Job(job) => &job.definition.payload,
        }
    }

    /// A run of it that nobody has touched yet.
    pub fn unborn(&self, key: RunKey) -> Run {
        match self {
            Self::Job(job) => job.run(key),
        }
    }

    /// Whether its runs, once begun, are still carried out: a paused job's are, a deleted job's are not tried again.
    pub fn carries_on(&self) -> bool {
        match self {
            Self::Job(job) => match job.status {
                Status::Active | Status::Paused => true,
                Status::Cancelled => false,
            },
        }
    }

    /// Whether it is too late at `now` for this run to begin.
    pub fn is_too_late(&self, key: RunKey, now: Moment) -> bool {
        match self {
            Self::Job(job) => job.is_too_late(key.at, now),
        }
    }
}
