//! A problem: an answer that says no, in the words of RFC 9457.

use http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// An answer that says no, in the words of RFC 9457.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// What a client acts on: it never changes.
    #[serde(rename = "type")]
    #[schemars(schema_with = "types")]
    pub kind: String,
    pub title: String,
    #[schemars(range(min = 400, max = 599))]
    pub status: u16,
    /// A sentence that names what is wrong.
    pub detail: String,
    /// Every field that is wrong, where fields are.
    pub errors: Vec<FieldError>,
    /// The same as the header `Request-Id`; the log has it too.
    pub request_id: String,
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// A JSON pointer into the body; for a query parameter `?` and its name.
    pub pointer: String,
    pub detail: String,
}

fn types(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ProblemKind::ALL.map(ProblemKind::slug) })
}

/// The kinds of problem: each has a `type` that never changes, a title and a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    Malformed,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    Conflict,
    VersionMismatch,
    TooLarge,
    UnsupportedMediaType,
    Invalid,
    KeyReused,
    QuotaExceeded,
    Unavailable,
}

impl ProblemKind {
    pub const ALL: [Self; 13] = [
        Self::Malformed,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Conflict,
        Self::VersionMismatch,
        Self::TooLarge,
        Self::UnsupportedMediaType,
        Self::Invalid,
        Self::KeyReused,
        Self::QuotaExceeded,
        Self::Unavailable,
    ];

    pub const fn slug(self) -> &'static str {
        match self {
            Self::Malformed => "/problems/malformed",
            Self::Unauthorized => "/problems/unauthorized",
            Self::Forbidden => "/problems/forbidden",
            Self::NotFound => "/problems/not-found",
            Self::MethodNotAllowed => "/problems/method-not-allowed",
            Self::Conflict => "/problems/conflict",
            Self::VersionMismatch => "/problems/version-mismatch",
            Self::TooLarge => "/problems/too-large",
            Self::UnsupportedMediaType => "/problems/unsupported-media-type",
            Self::Invalid => "/problems/invalid",
            Self::KeyReused => "/problems/idempotency-key-reused",
            Self::QuotaExceeded => "/problems/quota-exceeded",
            Self::Unavailable => "/problems/unavailable",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Malformed => "The request is malformed",
            Self::Unauthorized => "An API key is needed",
            Self::Forbidden => "This key may not do that",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "Method not allowed",
            Self::Conflict => "The state forbids it",
            Self::VersionMismatch => "It was changed since it was read",
            Self::TooLarge => "The request is too large",
            Self::UnsupportedMediaType => "The body is not JSON",
            Self::Invalid => "The request is understood but impossible",
            Self::KeyReused => "The idempotency key belongs to another request",
            Self::QuotaExceeded => "More than the quota allows",
            Self::Unavailable => "Not available right now",
        }
    }

    pub const fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::VersionMismatch => StatusCode::PRECONDITION_FAILED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Invalid | Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::QuotaExceeded => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
