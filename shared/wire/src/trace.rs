//! Traces as they are shown: where a run is found in a tracing system, and what its maker said of a trace.

use minutehand_domain::run::Run;
use minutehand_domain::trace::{TraceContext, TraceState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a run is found in a tracing system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Trace")]
pub struct TraceView {
    /// The trace of its spans: its own, or that of its workflow's run.
    pub trace_id: String,
    /// Whether its spans are kept.
    pub sampled: bool,
    /// The context of whoever asked for it, or made its job: its spans link to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<TraceContextView>,
}

/// What a request said of the trace that it was made in, as its headers have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TraceContext")]
pub struct TraceContextView {
    pub traceparent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

impl TraceView {
    pub fn of(run: &Run) -> Self {
        let creator = run.trace.creator.as_ref().map(TraceContextView::of);
        Self { trace_id: run.trace_id().to_string(), sampled: run.is_sampled(), creator }
    }
}

impl TraceContextView {
    pub fn of(context: &TraceContext) -> Self {
        let tracestate = context.state.as_ref().map(TraceState::as_str).map(ToOwned::to_owned);
        Self { traceparent: context.to_string(), tracestate }
    }
}
