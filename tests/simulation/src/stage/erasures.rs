//! Erasing a tenant on a stage: who asks for it, who makes a key of it meanwhile, and what is left.

use minutehand_domain::access::{ApiKey, By, KeyId, Role, SecretHash};
use minutehand_domain::id::Tenant;
use minutehand_domain::operation::{Operation, OperationHead, OperationId};
use minutehand_io::Ports as _;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Remain, Store as _};
use minutehand_protocol::operation::ask::Begun;
use minutehand_protocol::operation::doors::{Opened, open_door};
use minutehand_protocol::operation::erase::{begin_erasing, go_on_erasing, under_way};

use super::{Answer, Stage};
use crate::witness::at_once;

impl Stage {
    /// Asks that the tenant is erased, as the API does; and answers with the operation, where one was begun or is under way.
    pub fn erase(&self, at: i64, who: &'static str) -> Answer<Option<Operation>> {
        let tenant = self.tenant.clone();
        self.act(at, who, move |ports| async move {
            if let Some(operation) = under_way(&ports, &tenant).await? {
                go_on_erasing(&ports, &operation, &tenant).await?;
                return Ok(Some(operation));
            }
            let id = OperationId::new(ports.clock().now(), ports.chance().bytes());
            match begin_erasing(&ports, &Tenant::deployment(), &tenant, id, By::host()).await? {
                Begun::New(operation) | Begun::Replayed(operation) => Ok(Some(operation)),
                Begun::TooSlow => Ok(None),
            }
        })
    }

    /// Makes a key of the tenant.
    pub fn make_key(&self, at: i64, who: &'static str) -> Answer<Opened> {
        let tenant = self.tenant.clone();
        self.act(at, who, move |ports| async move {
            let now = ports.clock().now();
            let key = ApiKey {
                tenant,
                id: KeyId::new(now, ports.chance().bytes()),
                name: who.to_owned(),
                role: Role::Admin,
                created_at: now,
                revoked_at: None,
                secret: SecretHash::of(who),
                former: None,
                fingerprint: None,
                expires_at: None,
                pools: None,
            };
            open_door(&ports, &key).await
        })
    }

    pub fn keys(&self) -> usize {
        at_once(self.world.whole_store().list::<ApiKey>(&self.tenant, (), None, 100)).expect("memory").items.len()
    }

    /// The erasures of the deployment, newest first.
    pub fn erasures(&self) -> Vec<Operation> {
        let store = self.world.whole_store();
        let heads = at_once(store.list::<OperationHead>(&Tenant::deployment(), (), None, 100)).expect("memory");
        heads.items.into_iter().filter_map(OperationHead::operation).collect()
    }

    /// All that lies under the tenant.
    pub fn remains(&self) -> Vec<Remain> {
        let (store, mut all, mut behind) = (self.world.whole_store(), Vec::new(), None);
        loop {
            let page = at_once(store.remains(&self.tenant, behind)).expect("memory");
            all.extend(page.lying);
            behind = page.next;
            if behind.is_none() {
                return all;
            }
        }
    }
}
