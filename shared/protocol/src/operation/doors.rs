//! Doors: the keys of a tenant. They are opened one by one, and closed all at once before anything else of the tenant is erased.
//!
//! Rule **key, then mark**: who makes a key writes it, and then asks whether its tenant is being erased. Either he is told so and takes it back, or the
//! erasure was written afterwards, and finds the key when it closes the doors.

use minutehand_domain::access::ApiKey;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::PAGE;
use minutehand_domain::operation::Operation;
use minutehand_domain::quota::Quota;
use minutehand_io::queues::Queues as _;
use minutehand_io::store::{Deleted, Discard, Guard, Put, Store as _};
use minutehand_io::{Fault, Ports};

use super::erase::under_way;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    Opened,
    /// Another key has this id.
    Taken,
    BeingErased(Box<Operation>),
}

/// Makes a key of a tenant that is not being erased.
pub async fn open_door<D: Ports>(ports: &D, key: &ApiKey) -> Result<Opened, Fault> {
    let version = match ports.store().put(&key.tenant, key.id, key, Guard::Absent).await? {
        Put::Written(version) => version,
        Put::Conflict(_) => return Ok(Opened::Taken),
    };
    let Some(operation) = under_way(ports, &key.tenant).await? else { return Ok(Opened::Opened) };
    let _the_erasure_may_have_been_faster = ports.store().delete::<ApiKey>(&key.tenant, key.id, version).await?;
    Ok(Opened::BeingErased(operation.into()))
}

/// Who asks with one of the tenant's keys is a stranger from now on. What is not the tenant's own but about it, its quota, lies with the deployment and
/// goes with the keys. Says how much was there.
pub(super) async fn close_doors<D: Ports>(ports: &D, tenant: &Tenant) -> Result<u64, Fault> {
    let (store, deployment) = (ports.store(), Tenant::deployment());
    let mut erased = 0;
    // Of a process that is everybody's: on AWS the table's word is all there is.
    ports.queues().limit(tenant, None);
    loop {
        let keys = store.list::<ApiKey>(tenant, (), None, PAGE).await?.items;
        for key in &keys {
            if let Some(seen) = store.get::<ApiKey>(tenant, key.id).await? {
                let deleted = store.delete::<ApiKey>(tenant, key.id, seen.version).await?;
                erased += u64::from(deleted == Deleted::Done);
            }
        }
        // One that was changed meanwhile is there still.
        if keys.is_empty() {
            break;
        }
    }
    match store.get::<Quota>(&deployment, tenant.clone()).await {
        Ok(Some(seen)) => {
            let deleted = store.delete::<Quota>(&deployment, tenant.clone(), seen.version).await?;
            erased += u64::from(deleted == Deleted::Done);
        }
        Ok(None) => {}
        // One that nobody can read bounds nothing, and must not keep the erasure from its end.
        Err(why) if why.is_of_an_item() => {
            store.discard::<Quota>(&deployment, tenant.clone(), Discard::Unreadable).await?;
            erased += 1;
        }
        Err(fault) => return Err(fault),
    }
    Ok(erased)
}
