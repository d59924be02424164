//! The budget of bodies: the memory that all requests being read or answered share, and a tenant's share of it.

use std::sync::Arc;

use minutehand_domain::id::Tenant;
use minutehand_io::events::Over;
use minutehand_io::shares::{Share, Shares};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Kind, Problem};

/// The memory of all bodies being read or answered together. A slow client takes only what it has sent.
const BUDGET_BYTES: usize = 64 * 1024 * 1024;
/// One tenant's part of it: eight of the largest batches, and as much is left for everybody else.
const TENANT_BYTES: usize = BUDGET_BYTES / 2;
const PERMIT_BYTES: usize = 1024;

/// A body reserves its bytes here while it is read and answered.
pub(crate) struct BodyBudget {
    all: Arc<Semaphore>,
    tenants: Shares<Tenant>,
}

/// The bytes of a body, until it is dropped.
pub(crate) struct Reserved {
    of_all: OwnedSemaphorePermit,
    of_the_tenant: Share<Tenant>,
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(BUDGET_BYTES / PERMIT_BYTES)),
            tenants: Shares::new(TENANT_BYTES / PERMIT_BYTES),
        }
    }
}

impl BodyBudget {
    pub(crate) fn reserve(&self, tenant: &Tenant, bytes: usize) -> Result<Reserved, Problem> {
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        let full = || {
            Problem::over_quota(Over::Bodies, "too much is being sent at once with this tenant's keys".to_owned(), 1)
        };
        let of_the_tenant = self.tenants.try_take(tenant, permits).ok_or_else(full)?;
        let of_all = Arc::clone(&self.all).try_acquire_many_owned(permits);
        let of_all =
            of_all.map_err(|_| Problem::new(Kind::Unavailable, "too much is being sent at once; ask again"))?;
        Ok(Reserved { of_all, of_the_tenant })
    }
}

impl Reserved {
    pub(crate) fn merge(&mut self, more: Self) {
        self.of_all.merge(more.of_all);
        self.of_the_tenant.merge(more.of_the_tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tried: with the budget of all alone, as it was, the first tenant takes all of it.
    #[test]
    fn one_tenants_bodies_leave_half_of_the_budget_to_others() {
        let (budget, noisy, quiet) = (BodyBudget::default(), tenant("noisy"), tenant("quiet"));
        let mut held = Vec::new();
        let refused = loop {
            match budget.reserve(&noisy, 300_000) {
                Ok(reserved) => held.push(reserved),
                Err(problem) => break problem,
            }
        };

        assert_eq!((refused.kind, refused.retry_after), (Kind::QuotaExceeded, Some(1)));
        assert_eq!(held.len(), TENANT_BYTES / PERMIT_BYTES / 300_000_usize.div_ceil(PERMIT_BYTES));
        assert!(budget.reserve(&quiet, TENANT_BYTES).is_ok());
        held.clear();
        assert!(budget.reserve(&noisy, TENANT_BYTES).is_ok());
    }

    #[test]
    fn two_tenants_together_are_bounded_too() {
        let budget = BodyBudget::default();
        let _held = ["one", "two"].map(|name| budget.reserve(&tenant(name), TENANT_BYTES).ok().unwrap());

        let refused = budget.reserve(&tenant("three"), 1).err().unwrap();

        assert_eq!((refused.kind, budget.tenants.holders()), (Kind::Unavailable, 2));
    }

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }
}
