//! A problem: a refusal in the format of RFC 9457. Handlers return it; `identify` writes it with the request's id.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use minutehand_io::Fault;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// Seconds after which a retry of a fault makes sense: a busy store has committed by then.
const RETRY_SECONDS: u64 = 1;

#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub kind: Kind,
    pub detail: Cow<'static, str>,
    pub errors: Vec<FieldError>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// For the log, never for the client.
    pub fault: Option<Fault>,
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FieldError {
    /// A JSON pointer into the body; for a query parameter `?` and its name.
    pub pointer: String,
    pub detail: String,
}

/// The kinds of problem: each has a `type` that never changes, a title and a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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

impl Kind {
    pub(crate) const ALL: [Self; 13] = [
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

    pub(crate) const fn slug(self) -> &'static str {
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

    pub(crate) const fn title(self) -> &'static str {
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

    pub(crate) const fn status(self) -> StatusCode {
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

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Self {
        let retry_after = (kind == Kind::Unavailable).then_some(RETRY_SECONDS);
        Self { kind, detail: detail.into(), errors: Vec::new(), retry_after, fault: None }
    }

    /// A request beyond the quota; a retry makes sense after `seconds`.
    pub(crate) fn over_quota(detail: String, seconds: u64) -> Self {
        Self { retry_after: Some(seconds.max(1)), ..Self::new(Kind::QuotaExceeded, detail) }
    }

    /// An impossible request, with an error for each field at fault.
    pub(crate) fn invalid(errors: Vec<FieldError>) -> Self {
        Self { errors, ..Self::new(Kind::Invalid, "") }.with_detail_of_errors()
    }

    pub(crate) fn field(kind: Kind, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let errors = vec![FieldError { pointer: pointer.into(), detail: detail.into() }];
        Self { errors, ..Self::new(kind, "") }.with_detail_of_errors()
    }

    pub(crate) fn no_job() -> Self {
        Self::new(Kind::NotFound, "there is no such job")
    }

    pub(crate) fn no_run() -> Self {
        Self::new(Kind::NotFound, "there is no such run")
    }

    pub(crate) fn too_slow() -> Self {
        Self::new(Kind::Unavailable, "this took so long that it was given up; ask again")
    }

    fn with_detail_of_errors(self) -> Self {
        let detail = match self.errors.as_slice() {
            [FieldError { pointer, detail }] if pointer.is_empty() => detail.clone(),
            [FieldError { pointer, detail }] => format!("{pointer}: {detail}"),
            [FieldError { pointer, detail }, others @ ..] => format!("{pointer}: {detail} (and {} more)", others.len()),
            [] => String::new(),
        };
        Self { detail: detail.into(), ..self }
    }

    /// The body that the client reads.
    pub(crate) fn with_request_id<'a>(&'a self, request_id: &'a str) -> WithRequestId<'a> {
        WithRequestId {
            kind: self.kind.slug(),
            title: self.kind.title(),
            status: self.kind.status().as_u16(),
            detail: &self.detail,
            errors: &self.errors,
            request_id,
        }
    }

    /// Writes this problem into the answer that carries it.
    pub(crate) fn write_into(self, response: Response, request_id: &str) -> Response {
        let (mut head, _empty) = response.into_parts();
        head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.kind == Kind::Unauthorized {
            head.headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"minutehand\""));
        }
        if let Some(seconds) = self.retry_after {
            head.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        let body = serde_json::to_vec(&self.with_request_id(request_id)).expect("a problem is plain text");
        Response::from_parts(head, body.into())
    }
}

/// An answer that says no, in the words of RFC 9457.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct WithRequestId<'a> {
    /// What a client acts on: it never changes.
    #[serde(rename = "type")]
    #[schemars(schema_with = "types")]
    kind: &'static str,
    title: &'static str,
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// A sentence that names what is wrong.
    detail: &'a str,
    /// Every field that is wrong, where fields are.
    errors: &'a [FieldError],
    /// The same as the header `Request-Id`; the log has it too.
    request_id: &'a str,
}

fn types(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Kind::ALL.map(Kind::slug) })
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self { fault: Some(fault), ..Self::new(Kind::Unavailable, "something behind this broke; ask again") }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.kind.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}
