//! What a task waits for, as it is asked for: another task's key, or that and for which of its ends.

use std::fmt;

use minutehand_domain::workflow::definition::Edge;
use minutehand_domain::workflow::edge::On;
use schemars::JsonSchema;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::field_errors::FieldErrors;
use crate::object::of_fields;
use crate::texts::TaskKeyText;
use crate::words::OnWord;

/// A task that must be over before: by its key, for its success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "EdgeRequest")]
pub enum EdgeRequest {
    /// Its success.
    Task(#[schemars(with = "TaskKeyText")] String),
    Edge(EdgeFields),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct EdgeFields {
    #[schemars(with = "TaskKeyText")]
    pub task: String,
    #[schemars(with = "Option<OnWord>", extend("default" = On::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
}

impl EdgeRequest {
    /// `pointer`: where it stands.
    pub(crate) fn checked(&self, pointer: &str, errors: &mut FieldErrors) -> Option<Edge> {
        let (key, on, field) = match self {
            Self::Task(key) => (key, None, ""),
            Self::Edge(edge) => (&edge.task, edge.on, "/task"),
        };
        let task = key.parse().map_err(|no_key| errors.add(format!("{pointer}{field}"), format!("{no_key}")));
        Some(Edge { task: task.ok()?, on: on.unwrap_or_default() })
    }
}

impl<'de> Deserialize<'de> for EdgeRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyOrFields)
    }
}

struct KeyOrFields;

impl<'de> Visitor<'de> for KeyOrFields {
    type Value = EdgeRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a task's key, or an object with `task` and `on`")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<EdgeRequest, E> {
        Ok(EdgeRequest::Task(key.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<EdgeRequest, A::Error> {
        of_fields(fields).map(EdgeRequest::Edge)
    }
}
