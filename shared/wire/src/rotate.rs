//! A rotation as it is asked for: for how long the former secret goes on working.

use std::time::Duration;

use minutehand_domain::limits::{DEFAULT_GRACE_SECONDS, GRACE_SECONDS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::whole_number::whole_number;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateRequest {
    /// How long the former secret goes on working.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = GRACE_SECONDS), extend("default" = DEFAULT_GRACE_SECONDS))]
    pub grace_seconds: Option<u64>,
}

impl RotateRequest {
    pub fn checked(&self) -> Result<Duration, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let seconds = self.grace_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
        let seconds = errors.in_range("/grace_seconds", seconds, 0..=GRACE_SECONDS);
        errors.settle(Some(Duration::from_secs(seconds)))
    }
}
