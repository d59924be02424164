//! A change of a job, as a merge-patch: what is not there stays, null takes back to the default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::body::Json;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobPatch(pub BTreeMap<String, Json>);

impl JobPatch {
    #[must_use]
    pub fn set(mut self, field: &str, value: &impl Serialize) -> Self {
        self.0.insert(field.to_owned(), Json::of(value));
        self
    }

    /// Back to what it is for want of a wish.
    #[must_use]
    pub fn take_back(self, field: &str) -> Self {
        self.set(field, &())
    }
}
