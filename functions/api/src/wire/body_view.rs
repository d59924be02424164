//! A payload or a result, as an answer shows it: the very text that was given, so that no number loses a digit.

use std::borrow::Cow;

use minutehand_domain::body::{Body, Json};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

#[derive(Clone, Copy)]
pub(crate) enum BodyView<'a> {
    Null,
    Text(&'a RawValue),
    /// Too large for a list, which reads no body that is kept apart: the field is left out.
    LeftOut,
}

impl<'a> BodyView<'a> {
    pub(crate) fn of(json: Option<&'a Json>) -> Self {
        json.and_then(|json| serde_json::from_str(json.as_str()).ok()).map_or(Self::Null, Self::Text)
    }

    /// What the item itself holds.
    pub(crate) fn inside(body: &'a Body) -> Self {
        match body {
            Body::Empty => Self::Null,
            Body::Inside(json) => Self::of(Some(json)),
            Body::Apart(_) => Self::LeftOut,
        }
    }

    pub(crate) fn is_left_out(&self) -> bool {
        matches!(self, Self::LeftOut)
    }
}

impl Serialize for BodyView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::Null | Self::LeftOut => serializer.serialize_unit(),
        }
    }
}

/// Any JSON.
impl JsonSchema for BodyView<'_> {
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
