//! Refusals: whose quota refuses, for whoever looks into the log. A line a minute for each tenant and quota: whoever asks for too much asks often.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_io::events::Over;

const EACH: Duration = Duration::from_secs(60);
/// Beyond that all are forgotten, which lets each be told once more.
const MOST: usize = 1000;

#[derive(Default)]
pub(crate) struct Refusals(Mutex<HashMap<(Tenant, Over), Moment>>);

impl Refusals {
    pub(crate) fn note(&self, tenant: &Tenant, over: Over, now: Moment) {
        if self.is_to_be_told(tenant, over, now) {
            tracing::warn!(tenant = tenant.as_str(), quota = over.as_str(), "a quota refuses requests");
        }
    }

    fn is_to_be_told(&self, tenant: &Tenant, over: Over, now: Moment) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (tenant.clone(), over);
        if told.get(&key).is_some_and(|at| *at <= now && now.since(*at) < EACH) {
            return false;
        }
        if told.len() >= MOST {
            told.clear();
        }
        told.insert(key, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Moment = Moment::from_secs(1_800_000_000);

    #[test]
    fn each_tenant_and_quota_is_told_once_a_minute() {
        let (refusals, [acme, other]) = (Refusals::default(), ["acme", "other"].map(|name| Tenant::new(name).unwrap()));
        let ahead = NOON + 100 * EACH;

        for (tenant, over, at, is_told) in [
            (&acme, Over::Requests, ahead, true),
            (&acme, Over::Requests, NOON, true),
            (&acme, Over::Requests, NOON + Duration::from_secs(59), false),
            (&acme, Over::Jobs, NOON, true),
            (&other, Over::Requests, NOON, true),
            (&acme, Over::Requests, NOON + EACH, true),
        ] {
            assert_eq!(refusals.is_to_be_told(tenant, over, at), is_told, "{tenant:?} {over:?} {at}");
        }
    }

    #[test]
    fn what_is_remembered_of_them_is_bounded() {
        let refusals = Refusals::default();
        for number in 0..=MOST {
            assert!(refusals.is_to_be_told(&Tenant::new(&format!("t{number}")).unwrap(), Over::Runs, NOON));
        }
        assert_eq!(refusals.0.into_inner().unwrap().len(), 1);
    }
}
