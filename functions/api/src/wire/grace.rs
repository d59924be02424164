//! A rotation as it is asked for: for how long the former secret goes on working.

use std::time::Duration;

use minutehand_domain::limits::{DEFAULT_GRACE_SECONDS, GRACE_SECONDS};
use schemars::JsonSchema;
use serde::Deserialize;

use super::whole_number::whole_number;
use crate::field_errors::FieldErrors;
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RotateRequest {
    /// How long the former secret goes on working.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = GRACE_SECONDS), extend("default" = DEFAULT_GRACE_SECONDS))]
    grace_seconds: Option<u64>,
}

impl RotateRequest {
    pub(crate) fn grace(&self) -> Result<Duration, Problem> {
        let mut errors = FieldErrors::default();
        let seconds = self.grace_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
        let seconds = errors.in_range("/grace_seconds", seconds, 0..=GRACE_SECONDS);
        errors.settle(Some(Duration::from_secs(seconds)))
    }
}
