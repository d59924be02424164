//! A document: a small thing of a tenant's that is found by its name. A key, a quota, a secret, what an idempotency key was
//! answered with. The hot path reads none of them.

use serde::Serialize;
use serde::de::DeserializeOwned;

pub trait Document: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The word its kind lies under: letters of the alphabet only, no two kinds the same.
    const KIND: &'static str;

    /// Its name among its tenant's of the same kind: visible ASCII without `#`, by which they are listed.
    fn name(&self) -> String;
}
