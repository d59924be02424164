//! References: how one part of the document names another, and the walk through a schema that finds them.

use serde_json::{Map, Value, json};

pub(super) const COMPONENTS: &str = "/components/schemas";

pub(super) fn parameter(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

pub(super) fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

pub(super) fn response(name: &str) -> Value {
    json!({ "$ref": format!("#/components/responses/{name}") })
}

pub(super) fn link(name: &str) -> Value {
    json!({ "$ref": format!("#/components/links/{name}") })
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#{COMPONENTS}/{name}") })
}

/// The name in the text of a reference.
pub(super) fn named(reference: &str) -> Option<&str> {
    reference.strip_prefix('#')?.strip_prefix(COMPONENTS)?.strip_prefix('/')
}

/// Visits a schema and all schemas inside it.
pub(super) fn walk(schema: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match schema {
        Value::Object(fields) => {
            change(fields);
            fields.values_mut().for_each(|value| walk(value, change));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| walk(value, change)),
        _ => {}
    }
}
