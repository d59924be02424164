//! What lies under a tenant: first its jobs, by the keys that their partitions have, so that within seconds nothing of it begins any more, however
//! large the tables are. Then both tables are scanned. What belongs to a job, a task, a limit, a rule or a pool has a partition of its own, named by
//! an id, and no list says which ids there were: a job that is gone, or a writer who came late, leaves what no key leads to.

use minutehand_domain::head::Head;
use minutehand_domain::id::Tenant;

use super::keys::{self, JOB_PARTITIONS, Table};
use super::{DynamoStore, items, requests};
use crate::Fault;
use crate::store::item::Item as _;
use crate::store::place::{Partition, Span};
use crate::store::{Part, Remain, Remains};

/// Jobs that a page holds.
const JOBS: usize = 200;
const AT_JOBS: &str = "j";
const WITHIN: &str = ":";

/// Where a walk goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    Jobs { partition: u16, past: Option<String> },
    Whole { table: Table, behind: Option<String> },
}

impl From<Option<String>> for Walk {
    /// Where it says nothing that is known, it begins anew.
    fn from(behind: Option<String>) -> Self {
        let behind = behind.unwrap_or_default();
        let there = |place: &str| Some(place.to_owned()).filter(|place| !place.is_empty());
        if let Some((table, place)) = keys::table_in(&behind) {
            return Self::Whole { table, behind: there(place) };
        }
        let at_jobs = behind.strip_prefix(AT_JOBS).and_then(|rest| rest.split_once(WITHIN));
        let at_jobs = at_jobs.and_then(|(partition, past)| Some((partition.parse().ok()?, there(past))));
        let (partition, past) = at_jobs.unwrap_or_default();
        Self::Jobs { partition, past }
    }
}

impl Walk {
    fn said(&self) -> String {
        match self {
            Self::Jobs { partition, past } => {
                format!("{AT_JOBS}{partition}{WITHIN}{}", past.as_deref().unwrap_or_default())
            }
            Self::Whole { table, behind } => keys::in_table(*table, behind.as_deref().unwrap_or_default()),
        }
    }
}

impl DynamoStore {
    /// The jobs of the next partition that has any. The partitions without one cost as little as a question can.
    pub(super) async fn jobs_that_remain(
        &self,
        tenant: &Tenant,
        partition: u16,
        past: Option<String>,
    ) -> Result<Remains, Fault> {
        let spans = keys::spans(tenant, Head::KIND, &Span::all(Partition::Jobs, None));
        let mut past = past;
        for (number, span) in (0..JOB_PARTITIONS).zip(spans).skip(partition.into()) {
            let span = if let Some(past) = past.take() { span.past(past) } else { span };
            let found = self.query(&span, JOBS).await?;
            let places: Vec<_> = found.iter().filter_map(requests::place_of).collect();
            let last = found.last().filter(|_| found.len() == JOBS).and_then(|item| items::said(item, items::SORT));
            let next = match last {
                Some(last) => Walk::Jobs { partition: number, past: Some(last.clone()) },
                None => Walk::Jobs { partition: number + 1, past: None },
            };
            if !places.is_empty() {
                let lying = places.iter().map(|place| Remain(keys::in_table(Table::State, place))).collect();
                return Ok(Remains { lying, next: Some(next.said()) });
            }
        }
        Ok(Remains { lying: Vec::new(), next: Some(Walk::Whole { table: Table::State, behind: None }.said()) })
    }

    /// A page of a table: of a megabyte, however little of it is the tenant's.
    pub(super) async fn all_that_remains(
        &self,
        tenant: &Tenant,
        table: Table,
        behind: Option<String>,
    ) -> Result<Remains, Fault> {
        let whole = Part { number: 0, of: 1 };
        let (found, next) = self.scan(table, whole, behind, Some(&items::OWNED)).await?;
        let next = match (table, next) {
            (table, Some(behind)) => Some(Walk::Whole { table, behind: Some(behind) }),
            (Table::State, None) => Some(Walk::Whole { table: Table::Timers, behind: None }),
            (Table::Timers, None) => None,
        };
        let owned = found.iter().filter(|item| items::is_of(item, table, tenant));
        let lying = owned.filter_map(|item| Some(Remain(keys::in_table(table, &requests::place_of(item)?)))).collect();
        Ok(Remains { lying, next: next.map(|next| next.said()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_walk_goes_on_is_read_as_it_was_said() {
        let behind = Some("acme#job_1 run#1".to_owned());
        for walk in [
            Walk::Jobs { partition: 0, past: None },
            Walk::Jobs { partition: 63, past: Some("job_1".to_owned()) },
            Walk::Whole { table: Table::State, behind: None },
            Walk::Whole { table: Table::State, behind: behind.clone() },
            Walk::Whole { table: Table::Timers, behind },
        ] {
            assert_eq!(Walk::from(Some(walk.said())), walk);
        }
        assert_eq!(Walk::from(None), Walk::Jobs { partition: 0, past: None });
    }
}
