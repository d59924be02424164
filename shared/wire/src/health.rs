//! Health: the process lives, and its store can be read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthView {
    pub live: bool,
    pub ready: bool,
    pub version: String,
    /// Which edition of the IANA time zones is compiled in.
    pub zones: String,
}
