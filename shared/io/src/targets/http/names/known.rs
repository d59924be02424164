//! Known failures: a name without an address is not asked for again at once, however many calls want it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::id::Tenant;
use tokio::time::Instant;

/// Less than the first backoff of most jobs, so that a retry asks anew; more than a burst of calls takes.
pub(super) const FAILED_FOR: Duration = Duration::from_secs(5);
/// Failures kept at a time, half a megabyte with long names. Beyond it the tenant that has most of them loses one, which is asked for again.
const FAILURES: usize = 1_024;

/// For each tenant by itself: whether another has just asked for a name is not to be seen by how fast it fails.
#[derive(Debug, Default)]
pub(super) struct Failed(Mutex<HashMap<(Tenant, String), Failure>>);

#[derive(Debug)]
struct Failure {
    until: Instant,
    why: String,
}

impl Failed {
    /// Fails as it failed a moment ago.
    pub(super) fn check(&self, tenant: &Tenant, host: &str) -> Result<(), String> {
        match self.locked().get(&(tenant.clone(), host.to_owned())) {
            Some(Failure { until, why }) if Instant::now() < *until => Err(why.clone()),
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn note(&self, tenant: &Tenant, host: &str, why: &str) {
        let (now, key) = (Instant::now(), (tenant.clone(), host.to_owned()));
        let mut failures = self.locked();
        if failures.len() >= FAILURES {
            failures.retain(|_, failure| now < failure.until);
        }
        if failures.len() >= FAILURES
            && !failures.contains_key(&key)
            && let Some(one) = one_of_whoever_has_most(&failures)
        {
            failures.remove(&one);
        }
        failures.insert(key, Failure { until: now + FAILED_FOR, why: why.to_owned() });
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<(Tenant, String), Failure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn one_of_whoever_has_most(failures: &HashMap<(Tenant, String), Failure>) -> Option<(Tenant, String)> {
    let mut of_each: HashMap<&Tenant, usize> = HashMap::new();
    for (tenant, _) in failures.keys() {
        *of_each.entry(tenant).or_default() += 1;
    }
    let (most, _) = of_each.into_iter().max_by_key(|(_, failures)| *failures)?;
    failures.keys().find(|(tenant, _)| tenant == most).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_known_for_a_while_to_its_tenant_only() {
        let failed = Failed::default();
        failed.note(&tenant("one"), "a.example", "gone");

        let known = |name: &str, host: &str| failed.check(&tenant(name), host).err();
        assert_eq!(known("one", "a.example").as_deref(), Some("gone"));
        assert_eq!((known("two", "a.example"), known("one", "b.example")), (None, None));
        tokio::time::advance(FAILED_FOR).await;
        assert_eq!(failed.check(&tenant("one"), "a.example"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_bounded_and_make_room_when_they_are_over() {
        let failed = Failed::default();
        for number in 0..2 * FAILURES {
            failed.note(&tenant("one"), &number.to_string(), "gone");
        }
        assert_eq!(failed.locked().len(), FAILURES);

        tokio::time::advance(FAILED_FOR).await;
        failed.note(&tenant("one"), "new", "gone");

        assert_eq!(failed.locked().len(), 1);
    }

    /// Removed: that whoever has most of them loses one. Nothing of another tenant's was known, so that each of its calls asked for its dead name again.
    #[tokio::test(start_paused = true)]
    async fn a_tenant_of_many_dead_names_leaves_room_for_those_of_others() {
        let failed = Failed::default();
        for number in 0..2 * FAILURES {
            failed.note(&tenant("one"), &number.to_string(), "gone");
            failed.note(&tenant("two"), &(number % 10).to_string(), "gone");
        }

        assert_eq!(failed.locked().len(), FAILURES);
        assert!((0..10).all(|number| failed.check(&tenant("two"), &number.to_string()).is_err()));
    }
}
