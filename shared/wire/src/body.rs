//! Bodies: payloads and results. The very text that was given is kept and shown, so that no number loses a digit.

use std::borrow::Cow;

use minutehand_domain::body::{self, Body};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// JSON, as it was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

/// A payload or a result, as an answer shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BodyView {
    Null,
    Json(Json),
    /// Too large for a list, which reads no body that is kept apart: the field is left out.
    #[default]
    LeftOut,
}

impl Json {
    /// # Panics
    ///
    /// Where the value is no JSON: a map whose keys are no texts.
    pub fn of(value: &impl Serialize) -> Self {
        Self(to_raw_value(value).expect("it is JSON"))
    }

    pub fn text(&self) -> &str {
        self.0.get()
    }

    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Without white space between its tokens: as its size is counted.
    #[must_use]
    pub fn compact(self) -> Self {
        let text = body::Json::compact(&self.0).as_str().to_owned();
        RawValue::from_string(text).map_or(self, Self)
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

/// The same text.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Json {}

impl BodyView {
    pub fn of(json: Option<&body::Json>) -> Self {
        json.and_then(|json| serde_json::from_str(json.as_str()).ok()).map_or(Self::Null, Self::Json)
    }

    /// What the item itself holds.
    pub fn inside(body: &Body) -> Self {
        match body {
            Body::Empty => Self::Null,
            Body::Inside(json) => Self::of(Some(json)),
            Body::Apart(_) => Self::LeftOut,
        }
    }

    pub fn is_left_out(&self) -> bool {
        matches!(self, Self::LeftOut)
    }

    /// Where there is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Json(json) => Some(json.text()),
            Self::Null | Self::LeftOut => None,
        }
    }
}

impl Serialize for BodyView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(json) => json.serialize(serializer),
            Self::Null | Self::LeftOut => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for BodyView {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|json| json.map_or(Self::Null, Self::Json))
    }
}

/// Any JSON.
impl JsonSchema for BodyView {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Body".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::from(true)
    }
}

/// Any JSON.
impl JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Value::json_schema(generator)
    }
}
