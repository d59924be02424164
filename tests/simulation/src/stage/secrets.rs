//! The secret of a stage, which its job's calls may name.

use minutehand_domain::secret::{Label, Secret, SecretName, SecretValue};
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::vault::Vault as _;

use super::{Stage, moment};
use crate::witness::at_once;

pub(super) fn name() -> SecretName {
    "staged".parse().expect("a name")
}

impl Stage {
    /// From that second on the tenant has a secret.
    pub fn keep_secret(&self, at: i64) {
        let stage = self.clone();
        self.sim.at(moment(at).millis(), move |_| {
            let (tenant, name) = (&stage.tenant, name());
            let (label, value) = (Label { tenant, name: &name }, "hunter2".to_owned().into());
            let value = SecretValue::new(value).expect("a secret");
            let sealed = at_once(stage.world.vault().seal(label, &value)).expect("a key in memory");
            let secret = Secret::new(label, sealed, moment(at));
            let put = at_once(stage.world.store_of_today().put(tenant, name.clone(), &secret, Guard::Absent));
            assert!(put.expect("memory").is_written());
        });
    }
}
