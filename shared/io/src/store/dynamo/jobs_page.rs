//! A page of a tenant's jobs, by id: merged of the partitions that they are spread over.

use futures_util::future::try_join_all;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::Job;

use super::DynamoStore;
use super::keys::{self, JOB_PARTITIONS};
use crate::Fault;

/// The least that is read of a partition at a time.
const LEAST: usize = 4;

/// What was read of one partition.
struct Part {
    partition: u16,
    jobs: Vec<Job>,
    /// The last head that was read, where there may be more of them.
    last: Option<JobId>,
}

/// Every partition is asked for its share of the page, and those again of which the page needs more.
pub(super) async fn read(
    store: &DynamoStore,
    tenant: &Tenant,
    after: Option<JobId>,
    limit: usize,
) -> Result<Vec<Job>, Fault> {
    let share = (2 * limit / usize::from(JOB_PARTITIONS)).max(LEAST).min(limit);
    let begin = |partition| Part { partition, jobs: Vec::new(), last: after };
    let mut parts =
        try_join_all((0..JOB_PARTITIONS).map(|partition| begin(partition).more(store, tenant, share))).await?;
    loop {
        let page = first_of(&parts, limit);
        let (short, enough): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.is_short_for(&page, limit));
        if short.is_empty() {
            return Ok(page);
        }
        parts = try_join_all(short.into_iter().map(|part| part.more(store, tenant, share))).await?;
        parts.extend(enough);
    }
}

impl Part {
    async fn more(mut self, store: &DynamoStore, tenant: &Tenant, share: usize) -> Result<Self, Fault> {
        let heads: Vec<Head> = store.page(&keys::heads(tenant, self.partition, self.last), share).await?;
        self.last = heads.last().map(Head::id).filter(|_| heads.len() == share);
        self.jobs.extend(heads.into_iter().filter_map(Head::into_job));
        Ok(self)
    }

    /// There is more of it, and some of that may belong on the page.
    fn is_short_for(&self, page: &[Job], limit: usize) -> bool {
        let full = page.last().filter(|_| page.len() == limit);
        self.last.is_some_and(|last| full.is_none_or(|end| last < end.id))
    }
}

fn first_of(parts: &[Part], limit: usize) -> Vec<Job> {
    let mut jobs: Vec<&Job> = parts.iter().flat_map(|part| &part.jobs).collect();
    jobs.sort_unstable_by_key(|job| job.id);
    jobs.into_iter().take(limit).cloned().collect()
}
