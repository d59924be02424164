//! A run that is asked for: of a job, now, or another try at one that came to nothing.

use std::collections::BTreeSet;

use minutehand_domain::body;
use minutehand_domain::limits::{IDEMPOTENCY_KEY_CHARS, NOTE_CHARS, PAYLOAD_BYTES};
use minutehand_domain::secret::SecretName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::Json;
use crate::decision_request::NoteRequest;
use crate::field_errors::RequestRefusal;
use crate::job_request::payload_of;
use crate::texts::Line;

/// What a run is given in place of the job's payload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Any JSON; what the target would have been given anyway, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    pub payload: Option<Json>,
    /// The same as the header `Idempotency-Key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    pub idempotency_key: Option<String>,
}

/// Another try at a run that came to nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RetryRunRequest")]
pub struct RetryRequest {
    /// Any JSON; what the run was given, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    pub payload: Option<Json>,
    /// The same as the header `Idempotency-Key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    pub idempotency_key: Option<String>,
    /// Why: it stands in the events of both runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
}

impl RetryRequest {
    /// The same without its note, and that.
    pub fn checked(self) -> Result<(RunRequest, Option<String>), RequestRefusal> {
        let note = NoteRequest { note: self.note }.checked()?;
        Ok((RunRequest { payload: self.payload, idempotency_key: self.idempotency_key }, note))
    }
}

impl RunRequest {
    /// The payload, if there is one, and the secrets that it names.
    pub fn checked(&self) -> Result<(Option<body::Json>, BTreeSet<SecretName>), RequestRefusal> {
        payload_of("/payload", self.payload.as_ref())
    }
}
