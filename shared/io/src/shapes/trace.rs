//! Traces: what a job and a run keep of the trace of whoever made them.

use minutehand_domain::trace::{SpanId, TraceContext, TraceId, TraceState, Traced};
use serde::{Deserialize, Serialize};

use super::{Maybe, shapes};

shapes! {
    TraceContextV1 => TraceContext,
    TracedV1 => Traced,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TraceContext")]
pub(crate) struct TraceContextV1 {
    trace: TraceId,
    span: SpanId,
    sampled: bool,
    state: Option<TraceState>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Traced")]
pub(crate) struct TracedV1 {
    sampled: Option<bool>,
    #[serde(default, with = "Maybe::<TraceContextV1>")]
    creator: Option<TraceContext>,
    within: Option<TraceId>,
    upstream: Vec<SpanId>,
}
