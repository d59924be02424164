//! The schemas: those of requests, as the types deserialize them, and those of answers, as they serialize them. The schemas
//! of answers have names of their own: a `JobView` is a `Job`, a `RetryRequest` that was parsed is a `Retry`.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::operation_doc::SchemaOf;
use super::patch::{add_patch, patch_name};
use super::references::{COMPONENTS, named, reference, walk};

pub(super) struct Schemas {
    request: SchemaGenerator,
    shown: SchemaGenerator,
    /// The types that a merge-patch can change.
    patched: Vec<String>,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.definitions_path = COMPONENTS.into());
        let shown = settings.clone().for_serialize().into_generator();
        Self { request: settings.for_deserialize().into_generator(), shown, patched: Vec::new() }
    }

    pub(super) fn request(&mut self, schema: SchemaOf) -> Value {
        tidied(schema(&mut self.request).to_value())
    }

    pub(super) fn shown(&mut self, schema: SchemaOf) -> Value {
        shown(schema(&mut self.shown).to_value())
    }

    /// The schema of a merge-patch of a request's type.
    pub(super) fn patch(&mut self, schema: SchemaOf) -> Value {
        let request = self.request(schema);
        let name = request["$ref"].as_str().and_then(named).expect("a struct of its own").to_owned();
        let reference = reference(&patch_name(&name));
        self.patched.push(name);
        reference
    }

    /// All schemas that were referred to, by name.
    pub(super) fn components(mut self) -> Map<String, Value> {
        let request: Map<_, _> =
            self.request.take_definitions(false).into_iter().map(|(name, it)| (name, tidied(it))).collect();
        let shown = self.shown.take_definitions(false).into_iter().map(|(name, it)| (shown_name(&name), shown(it)));
        let mut all = request.clone();
        for (name, schema) in shown {
            let there = all.insert(name.clone(), schema.clone());
            assert!(there.is_none_or(|there| there == schema), "two schemas are called {name}");
        }
        for name in &self.patched {
            add_patch(name, &request, &mut all);
        }
        all
    }
}

/// The schema for a field that may be absent and is never null.
pub(super) fn without_null(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(Value::Array(kinds)) = fields.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            fields.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(mut choices)) = fields.remove("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        match <[Value; 1]>::try_from(choices) {
            Ok([Value::Object(only)]) => fields.extend(only),
            Ok([only]) => drop(fields.insert("anyOf".to_owned(), json!([only]))),
            Err(choices) => drop(fields.insert("anyOf".to_owned(), choices.into())),
        }
    }
}

/// The schema without Rust's integer formats, which add nothing to the bounds.
fn tidied(mut schema: Value) -> Value {
    walk(&mut schema, &|fields| {
        if fields.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
            fields.remove("format");
        }
        // The default of an optional field.
        if fields.get("default").is_some_and(Value::is_null) {
            fields.remove("default");
        }
    });
    schema
}

/// The schema of an answer, which allows fields of later versions.
fn shown(schema: Value) -> Value {
    let mut schema = tidied(schema);
    walk(&mut schema, &|fields| {
        if fields.get("additionalProperties") == Some(&Value::Bool(false)) {
            fields.remove("additionalProperties");
        }
        if let Some(name) = fields.get("$ref").and_then(Value::as_str).and_then(named) {
            fields.insert("$ref".to_owned(), reference(&shown_name(name))["$ref"].take());
        }
    });
    left_out_or_there(&mut schema);
    schema
}

fn shown_name(name: &str) -> String {
    let name = name.replace("View", "");
    name.strip_suffix("Request").map_or(name.clone(), ToOwned::to_owned)
}

/// A field that an answer may leave out is never null.
fn left_out_or_there(schema: &mut Value) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, field) in fields {
        if !required.iter().any(|there| there == name) {
            without_null(field);
        }
    }
}
