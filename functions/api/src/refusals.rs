//! Refusals: whose quota refuses, for whoever looks into the log. A line a minute for each tenant and quota: whoever asks for too much asks often.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_io::events::Over;
use minutehand_io::events::seldom::Seldom;

/// Lines a minute.
const MOST: usize = 1000;

pub(crate) struct Refusals(Seldom<(Tenant, Over)>);

impl Default for Refusals {
    fn default() -> Self {
        Self(Seldom::at_most(MOST))
    }
}

impl Refusals {
    pub(crate) fn note(&self, tenant: &Tenant, over: Over, now: Moment) {
        if self.0.is_to_be_told((tenant.clone(), over), now) {
            tracing::warn!(tenant = tenant.as_str(), quota = over.as_str(), "a quota refuses requests");
        }
    }
}
