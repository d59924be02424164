//! A run of a workflow that is asked for now.

use minutehand_domain::body;
use minutehand_domain::limits::{IDEMPOTENCY_KEY_CHARS, PAYLOAD_BYTES};
use minutehand_domain::priority::Priority;
use minutehand_domain::workflow::params::ParamsSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::Json;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::problem::FieldError;
use crate::texts::Line;
use crate::words::PriorityWord;

/// What a run of a workflow is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowRunRequest {
    /// What the workflow's `params` ask for. What is left out is given its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    pub params: Option<Json>,
    /// How urgent this run is; as its workflow's own job if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Priority>,
    /// The same as the header `Idempotency-Key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    pub idempotency_key: Option<String>,
}

impl WorkflowRunRequest {
    /// The parameters, which are data: what looks like a secret's name in them is none.
    pub fn payload(&self) -> Option<body::Json> {
        self.params.as_ref().map(|params| body::Json::compact(params.raw()))
    }

    /// By the schema of the newest version.
    pub fn checked(&self, schema: Option<&ParamsSchema>) -> Result<(), RequestRefusal> {
        let params = self.payload();
        if params.as_ref().is_some_and(|params| params.len() > PAYLOAD_BYTES) {
            let detail = format!("params have at most {PAYLOAD_BYTES} bytes");
            let errors = vec![FieldError { pointer: "/params".to_owned(), detail }];
            return Err(RequestRefusal { errors, too_large: true });
        }
        let mut errors = FieldErrors::default();
        if let Some(Err(bad)) = schema.map(|schema| schema.admit(params.as_ref())) {
            for bad in bad {
                errors.add(format!("/params{}", bad.at), bad.why);
            }
        }
        errors.settle(Some(()))
    }
}
