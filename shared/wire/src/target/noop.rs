//! The target `noop`: nothing is called.

use minutehand_domain::target::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TargetCheck, TargetKind};
use crate::field_errors::FieldErrors;

/// Does nothing and succeeds: for trying schedules out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct NoopTarget {}

impl TargetKind for NoopTarget {
    const TITLE: &'static str = "nothing";

    fn checked(&self, _check: TargetCheck<'_>, _errors: &mut FieldErrors) -> Option<Target> {
        Some(Target::Noop)
    }
}
