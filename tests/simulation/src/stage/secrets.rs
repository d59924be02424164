//! The secret of a stage, which its job's calls may name.

use minutehand_domain::secret::SecretName;

use super::{Stage, moment};

const STAGED: &str = "staged";

pub(super) fn name() -> SecretName {
    STAGED.parse().expect("a name")
}

impl Stage {
    /// From that second on the tenant has a secret.
    pub fn keep_secret(&self, at: i64) {
        let stage = self.clone();
        self.sim.at(moment(at).millis(), move |_| stage.world.keep_secret(&stage.tenant, STAGED, "hunter2".to_owned()));
    }
}
