//! A priority, in a word.

use minutehand_domain::priority::Priority;
use serde::{Deserialize, Serialize};

use super::shapes;

shapes! { PriorityV1 => Priority }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Priority", rename_all = "snake_case")]
pub(crate) enum PriorityV1 {
    Critical,
    High,
    Normal,
    Low,
}
