//! Damage: an item is written over with what nobody can read, where it lies.

use minutehand_domain::id::Tenant;
use minutehand_domain::timer::TimerKey;
use minutehand_io::store::Store as _;
use minutehand_io::store::item::Item;

use crate::witness::at_once;
use crate::world::World;

impl World {
    /// False where none stands there that can be read.
    pub(crate) fn damage<T: Item>(&self, tenant: &Tenant, key: T::Key) -> bool {
        let Ok(Some(seen)) = at_once(self.whole_store().get::<T>(tenant, key.clone())) else { return false };
        let put = at_once(self.damaging_store().put(tenant, key, &seen.item, seen.guard()));
        put.expect("memory").is_written()
    }

    pub(crate) fn damage_timer(&self, key: &TimerKey) -> bool {
        let Ok(Some(timer)) = at_once(self.whole_store().timer(key)) else { return false };
        at_once(self.damaging_store().put_timer(&timer)).is_ok()
    }
}
