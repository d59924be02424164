//! A body: JSON from a client or a target, stored as text. A large body is an item of its own that is written first and
//! named by its content, so that two writers can never overwrite each other's.

pub(crate) mod text;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::id::{NotAnId, base32, sixteen_bytes};
use crate::spelled::spelled_for_people;

/// Compact JSON text that has been checked.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(String);

impl Json {
    pub fn of(value: &serde_json::Value) -> Self {
        Self(value.to_string())
    }

    /// Compacts text that has been parsed before: numbers keep their digits and keys their order, white space is dropped.
    pub fn compact(raw: &serde_json::value::RawValue) -> Self {
        Self::compacted(raw.get())
    }

    /// The same of text that is JSON.
    pub(crate) fn compacted(text: &str) -> Self {
        let (mut in_string, mut escaped) = (false, false);
        let told = |c: &char| {
            let white = !in_string && c.is_ascii_whitespace();
            in_string ^= *c == '"' && !escaped;
            escaped = in_string && *c == '\\' && !escaped;
            !white
        };
        Self(text.chars().filter(told).collect())
    }

    /// Of text that is compact JSON already.
    pub(crate) fn checked(text: String) -> Self {
        Self(text)
    }

    /// A list of what is JSON already.
    pub fn list(items: &[Self]) -> Self {
        let texts: Vec<&str> = items.iter().map(Self::as_str).collect();
        Self(format!("[{}]", texts.join(",")))
    }

    /// The items of a list, as they stand in it; none of what is no list.
    pub fn items(&self) -> Vec<Self> {
        let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(&self.0).unwrap_or_default();
        items.into_iter().map(Self::compact).collect()
    }

    pub fn null() -> Self {
        Self("null".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn digest(&self) -> Digest {
        let digest = Sha256::digest(self.0.as_bytes());
        Digest(digest[..16].try_into().expect("a digest has 32 bytes"))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names a body that is an item of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Digest(pub [u8; 16]);

spelled_for_people!(Digest);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(&self.0))
    }
}

impl FromStr for Digest {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        sixteen_bytes(text).map(Self)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Body {
    #[default]
    Empty,
    Inside(Json),
    Apart(Digest),
}

impl Body {
    /// By which it is found, where it is an item of its own.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Apart(digest) => Some(*digest),
            Self::Empty | Self::Inside(_) => None,
        }
    }

    /// Inline up to `limit` bytes; else the body's name, and the text to write under that name first.
    pub fn split(json: Json, limit: usize) -> (Self, Option<Json>) {
        if json.len() <= limit { (Self::Inside(json), None) } else { (Self::Apart(json.digest()), Some(json)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_drops_white_space_between_tokens_and_nothing_else() {
        let text = "{ \"a b\" : [ 1 ,\t12345678901234567890123, 1.50 ],\r\n \"c\\\" \\\\\" : \" x \\\\\" }";
        let raw = serde_json::from_str(text).unwrap();

        let json = Json::compact(raw);

        assert_eq!(json.as_str(), "{\"a b\":[1,12345678901234567890123,1.50],\"c\\\" \\\\\":\" x \\\\\"}");
    }

    #[test]
    fn a_small_body_is_inline_and_a_large_one_is_named_by_its_content() {
        let json = Json::of(&serde_json::json!({"a": [1, 2]}));

        assert_eq!(Body::split(json.clone(), 11), (Body::Inside(json.clone()), None));
        assert_eq!(Body::split(json.clone(), 10), (Body::Apart(json.digest()), Some(json)));
    }
}
