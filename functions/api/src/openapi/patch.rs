//! A merge-patch's schema, derived from the schema of the type it changes: every field may be left out, and null resets it
//! to its default.

use serde_json::{Map, Value, json};

use super::references::{named, reference, walk};

/// Fields of the creating request that are no part of the resource.
const OF_THE_CREATION: &str = "idempotency_key";
const ASKED: &str = "Request";

pub(super) fn patch_name(of: &str) -> String {
    format!("{}Patch", of.strip_suffix(ASKED).unwrap_or(of))
}

/// Adds the patch of `of`, and the patches of its parts.
pub(super) fn add_patch(of: &str, asked: &Map<String, Value>, all: &mut Map<String, Value>) {
    let mut patch = asked[of].clone();
    for inside in parts(&patch) {
        add_patch(&inside, asked, all);
    }
    let fields = patch.as_object_mut().expect("a struct");
    if let Some(kinds) = fields.remove("oneOf") {
        fields.insert("oneOf".to_owned(), at_most_one(kinds));
    }
    fields.remove("required");
    let whole = fields.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = format!("{whole} As a change: what is not there stays, and null takes back to the default.");
    fields.insert("description".to_owned(), said.trim_start().into());
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove(OF_THE_CREATION);
    }
    walk(&mut patch, &as_change);
    all.insert(patch_name(of), patch);
}

/// A change names one kind and its fields, or none: then it applies to the present kind.
fn at_most_one(kinds: Value) -> Value {
    let Value::Array(mut kinds) = kinds else { return kinds };
    kinds.retain(|kind| kind.get("required").is_some());
    let named = kinds.iter().filter_map(|kind| kind["required"][0].as_str());
    let properties: Map<_, _> = named.filter_map(|name| Some((name.to_owned(), not_named(name, &kinds)?))).collect();
    kinds.push(json!({ "title": "the kind that it is", "properties": properties }));
    kinds.into()
}

/// The schema of a field where another kind is named.
fn not_named(name: &str, kinds: &[Value]) -> Option<Value> {
    let other = kinds.iter().find(|kind| kind["required"][0] != name)?;
    other["properties"].get(name).cloned()
}

/// The structs that a schema refers to.
fn parts(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).and_then(named).filter(|name| name.ends_with(ASKED));
            own.map(ToOwned::to_owned).into_iter().chain(fields.values().flat_map(parts)).collect()
        }
        Value::Array(values) => values.iter().flat_map(parts).collect(),
        _ => Vec::new(),
    }
}

fn as_change(fields: &mut Map<String, Value>) {
    fields.remove("default");
    if let Some(part) = fields.get("$ref").and_then(Value::as_str).and_then(named).filter(|name| name.ends_with(ASKED))
    {
        let part = reference(&patch_name(part));
        fields.extend(part.as_object().expect("a reference").clone());
    }
    // A null entry of a map is removed from it.
    if let Some(Value::Object(entry)) = fields.get_mut("additionalProperties") {
        if let Some(Value::Array(choices)) = entry.get_mut("oneOf") {
            choices.push(json!({ "type": "null" }));
        } else if let Some(kind) = entry.remove("type") {
            entry.insert("type".to_owned(), json!([kind, "null"]));
        }
    }
}
