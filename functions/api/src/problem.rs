//! A problem: a refusal in the format of RFC 9457. Handlers return it; `identify` writes it with the request's id.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use minutehand_io::Fault;
use minutehand_io::events::Over;
use minutehand_wire as wire;
use minutehand_wire::field_errors::RequestRefusal;
pub(crate) use minutehand_wire::problem::{FieldError, ProblemKind as Kind};

/// Seconds after which a retry of a fault makes sense: a busy store has committed by then.
const RETRY_SECONDS: u64 = 1;

#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub kind: Kind,
    pub detail: Cow<'static, str>,
    pub errors: Vec<FieldError>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// What there was too much of. To be counted.
    pub over: Option<Over>,
    /// For the log. The client does not see it.
    pub fault: Option<Fault>,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<Cow<'static, str>>) -> Self {
        let retry_after = (kind == Kind::Unavailable).then_some(RETRY_SECONDS);
        Self { kind, detail: detail.into(), errors: Vec::new(), retry_after, over: None, fault: None }
    }

    /// A request beyond this quota; a retry makes sense after `seconds`.
    pub(crate) fn over_quota(over: Over, detail: String, seconds: u64) -> Self {
        Self { retry_after: Some(seconds.max(1)), over: Some(over), ..Self::new(Kind::QuotaExceeded, detail) }
    }

    /// An impossible request, with an error for each field at fault.
    pub(crate) fn invalid(errors: Vec<FieldError>) -> Self {
        Self { errors, ..Self::new(Kind::Invalid, "") }.with_detail_of_errors()
    }

    pub(crate) fn field(kind: Kind, pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let errors = vec![FieldError { pointer: pointer.into(), detail: detail.into() }];
        Self { errors, ..Self::new(kind, "") }.with_detail_of_errors()
    }

    /// What is asked does not go with how things are.
    pub(crate) fn conflict(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Conflict, detail)
    }

    pub(crate) fn no_job() -> Self {
        Self::new(Kind::NotFound, "there is no such job")
    }

    pub(crate) fn no_workflow() -> Self {
        Self::new(Kind::NotFound, "there is no such workflow")
    }

    pub(crate) fn no_secret() -> Self {
        Self::new(Kind::NotFound, "there is no such secret")
    }

    pub(crate) fn no_run() -> Self {
        Self::new(Kind::NotFound, "there is no such run")
    }

    pub(crate) fn no_operation() -> Self {
        Self::new(Kind::NotFound, "there is no such operation")
    }

    pub(crate) fn no_lease() -> Self {
        Self::new(Kind::NotFound, "there is no such lease")
    }

    pub(crate) fn too_slow() -> Self {
        Self::new(Kind::Unavailable, "this took so long that it was given up; ask again")
    }

    pub(crate) fn not_begun() -> Self {
        Self::new(
            Kind::Unavailable,
            "what came before it in the batch took so long that it was not begun; send it again",
        )
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

    /// As the client reads it.
    pub(crate) fn with_request_id(&self, request_id: &str) -> wire::Problem {
        wire::Problem {
            kind: self.kind.slug().to_owned(),
            title: self.kind.title().to_owned(),
            status: self.kind.status().as_u16(),
            detail: self.detail.clone().into_owned(),
            errors: self.errors.clone(),
            request_id: request_id.to_owned(),
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

impl From<RequestRefusal> for Problem {
    fn from(refusal: RequestRefusal) -> Self {
        let kind = if refusal.too_large { Kind::TooLarge } else { Kind::Invalid };
        Self { errors: refusal.errors, ..Self::new(kind, "") }.with_detail_of_errors()
    }
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
