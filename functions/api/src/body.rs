//! A request's body, read in three steps: bounded before it is looked at, JSON before it is understood, then a shape.
//!
//! The first look goes through the whole of it, so that what a shape skips (a payload) is JSON too: no key twice, no
//! broken escape, at most 128 deep. It answers 400. What a shape refuses is 422, and says where.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use minutehand_domain::limits::PAYLOAD_BYTES;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::meant;
use crate::problem::{Kind, Problem};

/// The largest payload, and room for the longest URL, headers and tags around it, in any spelling.
pub(crate) const BODY_BYTES: usize = PAYLOAD_BYTES + 64 * 1024;

/// A body that is JSON, or empty.
pub(crate) struct Body(Bytes);

impl Body {
    pub(crate) fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        if self.0.is_empty() {
            return Err(Problem::new(Kind::Malformed, "this request needs a body"));
        }
        serde_json::from_slice(&self.0).map_err(|_| self.explain::<T>())
    }

    /// For requests that may say nothing.
    pub(crate) fn parse_or_default<'a, T: Deserialize<'a> + Default>(&'a self) -> Result<T, Problem> {
        if self.0.is_empty() { Ok(T::default()) } else { self.parse() }
    }

    /// Parsed again, slowly, to learn where it went wrong: bodies that are right do not pay for it.
    fn explain<'a, T: Deserialize<'a>>(&'a self) -> Problem {
        let json = &mut serde_json::Deserializer::from_slice(&self.0);
        match serde_path_to_error::deserialize::<_, T>(json) {
            Err(error) => Problem::invalid(vec![meant::explain(error.path(), error.inner())]),
            Ok(_) => Problem::new(Kind::Invalid, "the body is not what this request expects"),
        }
    }

    fn looked_at(bytes: Bytes) -> Result<Self, Problem> {
        match serde_json::from_slice::<WellFormed>(&bytes) {
            _ if bytes.is_empty() => Ok(Self(bytes)),
            Ok(WellFormed) => Ok(Self(bytes)),
            Err(error) => Err(Problem::new(Kind::Malformed, format!("the body is not JSON: {error}"))),
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let is_json = is_json(request.headers());
        let bytes = Bytes::from_request(request, state).await.map_err(|refused| match refused.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Problem::new(Kind::TooLarge, format!("a body has at most {BODY_BYTES} bytes"))
            }
            _ => Problem::new(Kind::Malformed, "the body broke off"),
        })?;
        if !bytes.is_empty() && !is_json {
            return Err(Problem::new(Kind::UnsupportedMediaType, "send JSON, with `Content-Type: application/json`"));
        }
        Self::looked_at(bytes)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// For requests whose address says it all: an empty object is fine, a field is not.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// JSON of any shape, looked through and not kept.
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

/// An object's key, borrowed where it is spelled without escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
