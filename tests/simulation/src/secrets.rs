//! Secrets of simulated tenants, which calls of their jobs name, and what such a call must have been given.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::secret::{Label, Secret, SecretName, SecretValue};
use minutehand_domain::target::{Header, HttpTarget};
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::targets::Call;
use minutehand_io::vault::Vault as _;

use crate::witness::at_once;
use crate::world::World;

/// What drawn jobs name, whosesoever they are.
pub(crate) const DRAWN: &str = "drawn";

/// What it says: of each tenant something else.
fn drawn_value(tenant: &Tenant) -> String {
    format!("of-{}", tenant.as_str())
}

impl World {
    /// From now on a tenant has this secret.
    pub(crate) fn keep_secret(&self, tenant: &Tenant, name: &str, value: String) {
        let name: SecretName = name.parse().expect("a name");
        let label = Label { tenant, name: &name };
        let value = SecretValue::new(value.into()).expect("a secret");
        let sealed = at_once(self.vault().seal(label, &value)).expect("a key in memory");
        let secret = Secret::new(label, sealed, Moment::from_millis(self.sim().now()));
        let put = at_once(self.store_of_today().put(tenant, name.clone(), &secret, Guard::Absent));
        assert!(put.expect("memory").is_written());
    }

    pub(crate) fn keep_drawn_secret(&self, tenant: &Tenant) {
        self.keep_secret(tenant, DRAWN, drawn_value(tenant));
    }
}

/// A call was given what its own tenant's secret says.
pub(crate) fn assert_given(target: &HttpTarget, call: &Call<'_>) {
    for header in target.headers.values() {
        if let Header::Secret(name) = header
            && name.as_str() == DRAWN
        {
            let said = call.material.secret(name).map(SecretValue::reveal);
            assert_eq!(said, Some(drawn_value(call.tenant).as_str()), "the secret of {:?}", call.tenant);
        }
    }
}
