//! The target `worker`: a pool, whose workers take what is ready in it and carry it out themselves.

use minutehand_domain::target::{Target, WorkerTarget as Called};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TargetCheck, TargetKind};
use crate::field_errors::FieldErrors;
use crate::texts::{HandlerText, PoolText};

/// A worker of a pool takes the run and carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct WorkerTarget {
    /// Which pool. It is there as soon as somebody names it.
    #[schemars(with = "PoolText")]
    pub pool: String,
    /// What the worker is to do.
    #[schemars(with = "HandlerText")]
    pub handler: String,
}

impl WorkerTarget {
    pub(super) fn of(called: &Called) -> Self {
        Self { pool: called.pool.to_string(), handler: called.handler.to_string() }
    }
}

impl TargetKind for WorkerTarget {
    const TITLE: &'static str = "worker";

    fn checked(&self, _check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        let pool = errors.name("/target/worker/pool", &self.pool);
        let handler = errors.name("/target/worker/handler", &self.handler);
        Some(Target::Worker(Called { pool: pool?, handler: handler? }))
    }
}
