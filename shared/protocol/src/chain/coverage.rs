//! Coverage: whether an occurrence is spoken for by the record of an outage.

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Covered, Run};
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

/// How many records back a covering one is looked for. One that lies further back covers occurrences that others have
/// run since: then this one may run as well, and nothing is lost by it.
const RECORDS_BACK: usize = 16;

/// The record of an outage that speaks for a later occurrence, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    pub record: Run,
    pub covered: Covered,
}

impl Coverage {
    /// The occurrence that is covered, as this record tells of it.
    pub fn as_of(self, job: &Job, key: RunKey) -> Run {
        Run { key, nominal: job.run(key).nominal, ..self.record }
    }
}

/// The record of an earlier occurrence that speaks for this one too, if one does: of several the one that speaks furthest. It
/// covers only what has no record of its own.
pub async fn covering<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<Coverage>, Fault> {
    let covering = records_before(ports, tenant, key, RECORDS_BACK).await?.into_iter().filter_map(|record| {
        let covered = record.covers(key.at)?;
        Some(Coverage { record, covered })
    });
    Ok(covering.max_by_key(|coverage| coverage.covered.until))
}

/// The newest records before an occurrence, newest first.
pub async fn records_before<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey, most: usize) -> Result<Vec<Run>, Fault> {
    let before = RunsOf { job: key.job, window: Moment::EPOCH..key.at };
    ports.store().list::<Run>(tenant, before, None, most).await?.whole()
}
