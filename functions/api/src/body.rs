//! A request's body, read in three steps: its size is checked, then that it is JSON, then it is parsed into a type. All
//! bodies share a memory budget, so that many large ones cannot exhaust the process, and no tenant has all of it.
//!
//! The second step reads the whole text, so that parts the type skips (a payload) are JSON too: no key twice, no broken
//! escape, at most 127 levels deep. Its refusal is 400. A type's refusal is 422 and points at the field.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use std::sync::Arc;

use axum::body::Body as Incoming;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::{BATCH_BYTES, DEFINITION_BYTES, PAYLOAD_BYTES};
use minutehand_io::Ports;
use minutehand_wire::suggestion;
use schemars::JsonSchema;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::app_state::AppState;
use crate::body_budget::{BodyBudget, Reserved};
use crate::keyring::Caller;
use crate::problem::{Kind, Problem};

/// The size of the largest payload with the longest URL, headers and tags, in any spelling.
pub(crate) const BODY_BYTES: usize = PAYLOAD_BYTES + 64 * 1024;

/// A body that is JSON, or empty.
pub(crate) struct Body {
    text: String,
    _place: Option<Reserved>,
}

/// The body of a batch request.
pub(crate) struct BatchBody(pub Body);

/// The body of a request that says what a workflow does.
pub(crate) struct DefinitionBody(pub Body);

impl Body {
    pub(crate) fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        self.given().and_then(parse)
    }

    /// The raw JSON, for requests whose type depends on the stored state.
    pub(crate) fn raw(&self) -> Result<&RawValue, Problem> {
        let not_json = |_| Problem::new(Kind::Malformed, "the body is not JSON");
        self.given().and_then(|text| serde_json::from_str(text).map_err(not_json))
    }

    /// The text, of a request that needs one.
    pub(crate) fn given(&self) -> Result<&str, Problem> {
        let nothing = || Problem::new(Kind::Malformed, "this request needs a body");
        Some(self.text.as_str()).filter(|text| !text.is_empty()).ok_or_else(nothing)
    }

    /// Parses a body that may be empty.
    pub(crate) fn parse_or_default<'a, T: Deserialize<'a> + Default>(&'a self) -> Result<T, Problem> {
        if self.text.is_empty() { Ok(T::default()) } else { self.parse() }
    }

    /// The text as sent.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    async fn read(request: Request, most: usize, budget: &BodyBudget) -> Result<Self, Problem> {
        let is_json = is_json(request.method(), request.headers());
        let is_packed =
            request.headers().get(CONTENT_ENCODING).is_some_and(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity"));
        let declared = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        if declared.is_some_and(|bytes: usize| bytes > most) {
            return Err(too_large(most));
        }
        let tenant =
            request.extensions().get::<Caller>().map_or_else(Tenant::deployment, |caller| caller.tenant().clone());
        let (bytes, place) = gathered(request.into_body(), most, |bytes| budget.reserve(&tenant, bytes)).await?;
        if !bytes.is_empty() {
            let other = |told| Err(Problem::new(Kind::UnsupportedMediaType, told));
            if is_packed {
                return other("send the body as it is: it is said to be packed (`Content-Encoding`)");
            }
            if !is_json {
                return other("send JSON, with `Content-Type: application/json`");
            }
            serde_json::from_slice::<WellFormed>(&bytes)
                .map_err(|error| Problem::new(Kind::Malformed, format!("the body is not JSON: {error}")))?;
        }
        // Valid JSON is UTF-8.
        let text =
            String::from_utf8(bytes.into()).map_err(|_| Problem::new(Kind::Malformed, "the body is not UTF-8"))?;
        Ok(Self { text, _place: place })
    }
}

/// Parses JSON into a type, or explains what is wrong.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Problem> {
    suggestion::read(text).map_err(|error| Problem::invalid(vec![error]))
}

async fn gathered(
    mut body: Incoming,
    most: usize,
    reserve: impl Fn(usize) -> Result<Reserved, Problem>,
) -> Result<(Bytes, Option<Reserved>), Problem> {
    let (mut bytes, mut place) = (BytesMut::new(), None::<Reserved>);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::new(Kind::Malformed, "the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > most {
            return Err(too_large(most));
        }
        let more = reserve(data.len())?;
        match &mut place {
            Some(place) => place.merge(more),
            None => place = Some(more),
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes.freeze(), place))
}

fn too_large(most: usize) -> Problem {
    Problem::new(Kind::TooLarge, format!("a body has at most {most} bytes"))
}

impl<D: Ports> FromRequest<Arc<AppState<D>>> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<AppState<D>>) -> Result<Self, Problem> {
        Self::read(request, BODY_BYTES, &app.body_budget).await
    }
}

impl<D: Ports> FromRequest<Arc<AppState<D>>> for BatchBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<AppState<D>>) -> Result<Self, Problem> {
        Body::read(request, BATCH_BYTES, &app.body_budget).await.map(Self)
    }
}

impl<D: Ports> FromRequest<Arc<AppState<D>>> for DefinitionBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<AppState<D>>) -> Result<Self, Problem> {
        Body::read(request, DEFINITION_BYTES, &app.body_budget).await.map(Self)
    }
}

/// Whether the content type is JSON; a PATCH may also send `merge-patch+json`.
fn is_json(method: &Method, headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
        || (*method == Method::PATCH && essence.eq_ignore_ascii_case("application/merge-patch+json"))
}

/// The body of a request that takes no fields: an empty object is accepted, a field is refused.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct Nothing {}

/// Any valid JSON, read and not kept.
struct WellFormed;

impl<'de> Deserialize<'de> for WellFormed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = WellFormed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_bool<E>(self, _value: bool) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_i64<E>(self, _value: i64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_u64<E>(self, _value: u64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_f64<E>(self, _value: f64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_str<E>(self, _value: &str) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WellFormed, A::Error> {
        while items.next_element::<WellFormed>()?.is_some() {}
        Ok(WellFormed)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<WellFormed, A::Error> {
        let mut seen = HashSet::new();
        while let Some(Key(key)) = entries.next_key()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format_args!("the key `{key:.64}` is there twice")));
            }
            seen.insert(key);
            entries.next_value::<WellFormed>()?;
        }
        Ok(WellFormed)
    }
}

/// An object's key, borrowed where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
