//! Limiting: sets in the queues, at the start, how many runs of each tenant may be executed at a time. The API sets later
//! changes itself.

use minutehand_domain::id::Tenant;
use minutehand_domain::limits::PAGE;
use minutehand_domain::quota::Quota;
use minutehand_io::queues::Queues as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

pub(crate) async fn limit_tenants<D: Ports>(ports: &D) -> Result<(), Fault> {
    let mut after = None;
    loop {
        let quotas = ports.store().list::<Quota>(&Tenant::deployment(), (), after, PAGE).await?.items;
        for quota in &quotas {
            ports.queues().limit(&quota.tenant, quota.limits.max_concurrent_runs);
        }
        match quotas.last() {
            Some(last) => after = Some(last.tenant.clone()),
            None => return Ok(()),
        }
    }
}
