//! Coverage: whether an occurrence is spoken for by the record of an outage.

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Covered, Run, Skip, State};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};

/// How many occurrences back a covering one is looked for. One that lies further back covers occurrences that others have
/// run since: then this one may run as well, and nothing is lost by it.
const OCCURRENCES_BACK: usize = 16;
/// But an occurrence that is spoken for gets a record of its own when it is looked at: behind an outage as many as were hinted ahead, of a job of each
/// second three hundred. Runs begun by hand lie between occurrences too. So many records more are passed over, at most.
const PASSED_OVER: usize = 400;

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
    let (mut past, now) = (None, ports.clock().now());
    for most in [OCCURRENCES_BACK, PASSED_OVER] {
        let page = page_before(ports, tenant, key, past, most).await?;
        past = page.last().map(|record| record.key);
        let may_be_behind = page.len() == most && may_lie_behind(&page);
        let found = furthest(page, key.at, now);
        if found.is_some() || !may_be_behind {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Whether what says why an occurrence did not fire may lie behind these: they are not all occurrences, or the last of them is spoken for itself.
fn may_lie_behind(page: &[Run]) -> bool {
    let mut occurrences = page.iter().filter(|record| record.key.is_occurrence());
    let last = occurrences.next_back();
    occurrences.count() + 1 < OCCURRENCES_BACK || last.is_some_and(is_spoken_for)
}

fn is_spoken_for(record: &Run) -> bool {
    matches!(record.state, State::Skipped { why: Skip::Coalesced | Skip::Missed, span: None, .. })
}

fn furthest(records: Vec<Run>, t: Moment, now: Moment) -> Option<Coverage> {
    let covering = records.into_iter().filter_map(|record| {
        let covered = record.covers(t, now)?;
        Some(Coverage { record, covered })
    });
    covering.max_by_key(|coverage| coverage.covered.until)
}

/// The newest records before an occurrence, newest first.
pub async fn records_before<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey, most: usize) -> Result<Vec<Run>, Fault> {
    page_before(ports, tenant, key, None, most).await
}

/// Those of them that are older than `past`. One that nobody can read speaks for nothing: what it spoke for may run as well, which is better than a job
/// that is silent for as long as that record lies there.
async fn page_before<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: RunKey,
    past: Option<RunKey>,
    most: usize,
) -> Result<Vec<Run>, Fault> {
    let before = RunsOf { job: key.job, window: Moment::EPOCH..key.at };
    ports.store().list::<Run>(tenant, before, past, most).await?.but_for_corrupt()
}
