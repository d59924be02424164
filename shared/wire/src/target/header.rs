//! What a header of a call says: a text, or the name of a secret. A text that is likely to be a credential is shown as a mask, and a
//! mask that comes back stands for what is there.

use std::borrow::Cow;
use std::fmt;

use minutehand_domain::target::{Header, names_a_credential};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::texts::SecretNameText;

/// What is shown in the place of a credential.
pub const MASK: &str = "********";

/// What a header of a call says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum HeaderSpec {
    Text(String),
    Secret(SecretRef),
}

/// The name of a secret, in the place of what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretRef {
    pub secret: String,
}

impl HeaderSpec {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn secret(name: impl Into<String>) -> Self {
        Self::Secret(SecretRef { secret: name.into() })
    }

    /// As it is shown to all who may see the job.
    pub(super) fn of(name: &str, header: &Header) -> Self {
        match header {
            Header::Text(_) if names_a_credential(name) => Self::text(MASK),
            Header::Text(text) => Self::text(text),
            Header::Secret(secret) => Self::secret(secret.as_str()),
        }
    }

    /// Whether it stands for what is there. In a header that is never masked the same letters are a text like any other.
    pub(super) fn is_mask(&self, name: &str) -> bool {
        matches!(self, Self::Text(text) if text == MASK) && names_a_credential(name)
    }

    /// What it means, or what is wrong with it.
    pub(super) fn checked(&self, name: &str) -> Result<Header, String> {
        match self {
            _ if self.is_mask(name) => {
                Err("is masked, and nothing is there that it could stand for: give the value, or name a secret"
                    .to_owned())
            }
            Self::Text(text) => Ok(Header::Text(text.clone())),
            Self::Secret(SecretRef { secret }) => secret.parse().map(Header::Secret).map_err(|why| why.to_string()),
        }
    }
}

impl From<&str> for HeaderSpec {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl<'de> Deserialize<'de> for HeaderSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrReference)
    }
}

struct TextOrReference;

impl<'de> Visitor<'de> for TextOrReference {
    type Value = HeaderSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or {\"secret\": \"name\"}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<HeaderSpec, E> {
        Ok(HeaderSpec::text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<HeaderSpec, A::Error> {
        SecretRef::deserialize(MapAccessDeserializer::new(fields)).map(HeaderSpec::Secret)
    }
}

impl JsonSchema for SecretRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SecretReference".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<SecretNameText>();
        json_schema!({
            "description": "The name of a secret, in the place of what it says.", "type": "object",
            "properties": { "secret": name }, "required": ["secret"], "additionalProperties": false,
        })
    }
}

impl JsonSchema for HeaderSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Header".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let reference = generator.subschema_for::<SecretRef>();
        json_schema!({
            "description": format!("A text, or the name of a secret, whose value is put there when the call is made. An answer \
                shows `{MASK}` in the place of a text whose name is likely to be a credential's (`authorization`, `cookie`, \
                `x-api-key` and their like); sent back in a change, it stands for what is there."),
            "oneOf": [{ "type": "string" }, reference],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_masked_and_a_reference_shows_its_name() {
        let text = Header::from("Bearer x");
        let secret = Header::Secret("stripe".parse().unwrap());

        assert_eq!(HeaderSpec::of("Authorization", &text), HeaderSpec::text(MASK));
        assert_eq!(HeaderSpec::of("x-team", &text), HeaderSpec::text("Bearer x"));
        assert_eq!(HeaderSpec::of("Authorization", &secret), HeaderSpec::secret("stripe"));
    }

    #[test]
    fn a_mask_means_nothing_by_itself() {
        assert!(HeaderSpec::text(MASK).checked("Authorization").is_err());
        assert_eq!(HeaderSpec::text(MASK).checked("x-stars"), Ok(Header::from(MASK)));
    }

    #[test]
    fn a_reference_has_one_field_and_a_name() {
        let read = |text: &str| serde_json::from_str::<HeaderSpec>(text);

        assert_eq!(read(r#"{"secret":"a"}"#).unwrap(), HeaderSpec::secret("a"));
        assert_eq!(read(r#""a""#).unwrap(), HeaderSpec::text("a"));
        for other in ["5", "null", "{}", "[]", r#"{"secret":5}"#, r#"{"secrets":"a"}"#, r#"{"secret":"a","x":1}"#] {
            assert!(read(other).is_err(), "{other}");
        }
        assert!(HeaderSpec::secret("two words").checked("x").is_err());
    }
}
