//! The idempotency key of a creating request: a header, or a field of the body; where both are given they agree.

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::limits::IDEMPOTENCY_KEY_CHARS;
use serde_json::Value;

use crate::body::Body;
use crate::findings::Findings;
use crate::problem::{Kind, Problem};

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const FIELD: &str = "idempotency_key";
const POINTER: &str = "/idempotency_key";

/// The header's key, if there is one.
pub(crate) struct KeyHeader(Option<String>);

impl KeyHeader {
    /// The one key of a request whose body says `field`.
    pub(crate) fn agreed(self, field: Option<String>) -> Result<Option<String>, Problem> {
        let key = match (self.0, field) {
            (Some(header), Some(field)) if header != field => {
                let detail = "the header Idempotency-Key and the field idempotency_key say different things";
                return Err(Problem::field(Kind::Invalid, POINTER, detail));
            }
            (header, field) => header.or(field),
        };
        let mut findings = Findings::default();
        if let Some(key) = &key {
            findings.line(POINTER, key, IDEMPOTENCY_KEY_CHARS);
        }
        findings.settle(Some(key))
    }

    /// For requests that make something without keeping keys yet: better refused than silently done twice.
    pub(crate) fn none_yet(self) -> Result<(), Problem> {
        match self.0 {
            None => Ok(()),
            Some(_) => Err(Problem::new(Kind::Invalid, "Idempotency-Key is not understood for this request yet")),
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

/// What the request asks for beside its key, in whatever spelling.
pub(crate) fn fingerprint(body: &Body) -> Result<Fingerprint, Problem> {
    let mut request: Value = body.parse()?;
    if let Some(fields) = request.as_object_mut() {
        fields.remove(FIELD);
    }
    Ok(Fingerprint::of(&request))
}
