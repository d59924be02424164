//! The idempotency key of a creating request: a header or a field of the body; if both are given they must agree.

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
use minutehand_domain::limits::IDEMPOTENCY_KEY_CHARS;
use minutehand_io::Ports;
use minutehand_io::store::Store as _;
use minutehand_wire::field_errors::FieldErrors;

use crate::problem::{Kind, Problem};

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const FIELD: &str = "idempotency_key";
const POINTER: &str = "/idempotency_key";

/// The header's key, if there is one.
pub(crate) struct KeyHeader(Option<String>);

impl KeyHeader {
    /// For a request without headers of its own, such as a job in a batch.
    pub(crate) const fn absent() -> Self {
        Self(None)
    }

    /// The key of a request with `field` in its body.
    pub(crate) fn agreed(self, field: Option<String>) -> Result<Option<String>, Problem> {
        let key = match (self.0, field) {
            (Some(header), Some(field)) if header != field => {
                let detail = "the header Idempotency-Key and the field idempotency_key say different things";
                return Err(Problem::field(Kind::Invalid, POINTER, detail));
            }
            (header, field) => header.or(field),
        };
        let mut errors = FieldErrors::default();
        if let Some(key) = &key {
            errors.line(POINTER, key, IDEMPOTENCY_KEY_CHARS);
        }
        Ok(errors.settle(Some(key))?)
    }

    /// Refuses the header on a batch: it could only apply to one of the jobs.
    pub(crate) fn none(self) -> Result<(), Problem> {
        match self.0 {
            None => Ok(()),
            Some(_) => Err(Problem::new(Kind::Invalid, "give each job its own idempotency_key: the header names one")),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for KeyHeader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all(HEADER).iter();
        let refused = |why: &str| Err(Problem::field(Kind::Invalid, POINTER, why));
        match (given.next().map(HeaderValue::to_str), given.next()) {
            (None, _) => Ok(Self(None)),
            (Some(Ok(key)), None) => Ok(Self(Some(key.to_owned()))),
            (Some(Err(_)), None) => refused("the header must be visible ASCII"),
            (Some(_), Some(_)) => refused("the header is there twice"),
        }
    }
}

/// The fingerprint of a request's address and body without the key, independent of spelling: no body is an empty one.
pub(crate) fn fingerprint(address: &str, body: &str) -> Result<Fingerprint, Problem> {
    let body = if body.trim_ascii().is_empty() { "{}" } else { body };
    Fingerprint::of(address, body, FIELD).ok_or_else(|| Problem::new(Kind::Malformed, "the body is not JSON"))
}

/// The run that an idempotency key has named, of something that can no longer be asked for. `no`: the refusal of a key that has named none.
pub(crate) async fn named_before<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    once: Option<(AskedName, Fingerprint)>,
    no: Problem,
) -> Result<RunKey, Problem> {
    let Some((name, fingerprint)) = once else { return Err(no) };
    match ports.store().get::<Asked>(tenant, name).await? {
        Some(there) if there.item.fingerprint == fingerprint => Ok(there.item.run),
        Some(_) => Err(taken()),
        None => Err(no),
    }
}

pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Marks the replay of an earlier answer.
pub(crate) fn replayed() -> [(HeaderName, HeaderValue); 1] {
    [(REPLAYED, HeaderValue::from_static("true"))]
}

/// To a clock that is days ahead a run that is just being made looks like one that has gone.
pub(crate) fn unsure() -> Problem {
    let why = "the run that this key names is not on record, and nobody can tell whether it has been: use another key, or this one in two days";
    Problem::conflict(why)
}

pub(crate) fn taken() -> Problem {
    Problem::field(Kind::KeyReused, POINTER, "belongs to another request")
}
