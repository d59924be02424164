//! What stands for a run key: its record, another's record that speaks for it, or nothing yet. The one answer that a claim, a
//! cancel, an overdue inspection and `GET` go by; and the one place where an owner is asked whether a run may be born.
//!
//! Admission comes before coverage: an instant that its job's schedules do not fire is nobody's to speak for, also where it
//! lies between two that an outage took.

use minutehand_domain::Moment;
use minutehand_domain::id::{Owner, RunKey, Tenant};
use minutehand_domain::job::{Job, NotAdmitted};
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::born::keepings_at;
use crate::chain::coverage::{Coverage, covering};
use crate::lookup::job_of;

/// What stands for a run key.
#[derive(Clone, Debug)]
pub enum Standing {
    /// A record of its own.
    Recorded(Seen<Run>),
    /// The record of an earlier occurrence speaks for this one too.
    Covered(Job, Coverage),
    /// No record, and none is wanted: an occurrence that waits for its time, for a claim or to be found overdue.
    Unborn(Job),
    /// No record, and there will be none: this is no occurrence of its job.
    NotAdmitted(NotAdmitted),
    /// No record, and no job; a hint right after a create may find nothing yet.
    NoJob,
    /// No record, and only a record makes a run of this kind; or an occurrence whose record may have expired.
    NoRecord,
}

/// What the question rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A hint: its timer stood when it was given. So until it is late, nobody can have decided that the run does not fire, and
    /// a claim on time is spared the read.
    ByAHint,
    ByAnyone,
    /// Whoever knows that it has not been decided: its timer stands, or nothing of that time has expired.
    ByWhoDecides,
}

impl Asked {
    /// Whether the record of an outage may speak for an occurrence at `t`.
    fn may_be_covered(self, t: Moment, now: Moment) -> bool {
        match self {
            Self::ByAHint => now.since(t) > pace::LATE_CLAIM,
            Self::ByAnyone | Self::ByWhoDecides => t <= now,
        }
    }
}

/// Rule **forgotten**: what may have been on record and have expired is nobody's to begin, to call off or to show as still to come.
async fn may_be_forgotten<D: Ports>(ports: &D, job: &Job, t: Moment, asked: Asked) -> Result<bool, Fault> {
    if asked == Asked::ByWhoDecides {
        return Ok(false);
    }
    let quota = keepings_at(ports, &job.tenant, t).await?;
    Ok(quota.is_some_and(|quota| t < job.certain_since(quota, ports.clock().now())))
}

/// What stands for `key`.
pub async fn standing<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey, asked: Asked) -> Result<Standing, Fault> {
    if let Some(seen) = ports.store().get::<Run>(tenant, key).await? {
        return Ok(Standing::Recorded(seen));
    }
    match key.owner() {
        Owner::Job(_) | Owner::Parent if !key.is_occurrence() => Ok(Standing::NoRecord),
        Owner::Parent | Owner::Rule(_) => Ok(Standing::NoRecord),
        Owner::Job(id) => match job_of(ports, tenant, id).await? {
            Some(job) => unrecorded(ports, job, key, asked).await,
            None => Ok(Standing::NoJob),
        },
    }
}

/// An occurrence without a record of its own.
async fn unrecorded<D: Ports>(ports: &D, job: Job, key: RunKey, asked: Asked) -> Result<Standing, Fault> {
    let now = ports.clock().now();
    if may_be_forgotten(ports, &job, key.at, asked).await? {
        return Ok(Standing::NoRecord);
    }
    if let Err(why) = job.admits(key.at) {
        return Ok(Standing::NotAdmitted(why));
    }
    if asked.may_be_covered(key.at, now)
        && let Some(coverage) = covering(ports, &job.tenant, key).await?
    {
        return Ok(Standing::Covered(job, coverage));
    }
    Ok(Standing::Unborn(job))
}
