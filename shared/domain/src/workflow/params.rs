//! Parameters: what a workflow's run is given. A JSON schema says what they may be; its `default`s stand in for what was left out.

use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::body::Json;

/// Problems that one answer names.
const PROBLEMS: usize = 8;
const WHY_CHARS: usize = 200;
/// Schemas inside of a schema, each counted as often as it is referred to: parameters are looked at by each of them.
const SCHEMAS: usize = 10_000;
/// What stands below these is a value, and no schema.
const VALUES: [&str; 4] = ["const", "default", "enum", "examples"];

#[derive(Clone)]
pub struct ParamsSchema {
    source: Json,
    schema: Value,
    validator: Arc<Validator>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {why}")]
pub struct NoSchema {
    /// Where in the schema.
    pub at: String,
    pub why: String,
}

/// One thing that parameters are not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {why}")]
pub struct BadParams {
    /// A JSON pointer into the parameters.
    pub at: String,
    pub why: String,
}

impl ParamsSchema {
    /// A schema may refer to parts of itself and to nothing else; not in a circle, and not so often that looking at parameters would
    /// take long: forty schemas that refer to each other twice are a million millions. Its patterns are matched in linear time.
    pub fn new(source: Json) -> Result<Self, NoSchema> {
        let schema: Value = serde_json::from_str(source.as_str())
            .map_err(|error| NoSchema { at: String::new(), why: error.to_string() })?;
        if !schema.is_object() {
            return Err(NoSchema { at: String::new(), why: "a schema is an object".to_owned() });
        }
        unroll(&schema, &schema, &mut Vec::new(), &mut 0).map_err(|why| NoSchema { at: String::new(), why })?;
        let validator = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&schema)
            .map_err(|error| NoSchema { at: error.instance_path().to_string(), why: error.to_string() })?;
        Ok(Self { source, schema, validator: Arc::new(validator) })
    }

    /// As it was written.
    pub fn source(&self) -> &Json {
        &self.source
    }

    /// The parameters with the schema's defaults, if they are what it asks for. What has no default to be filled in stays as it was
    /// written, digit for digit.
    pub fn admit(&self, given: Option<&Json>) -> Result<Json, Vec<BadParams>> {
        let written = given.cloned().unwrap_or_else(|| Json::of(&Value::Object(Map::new())));
        let mut params: Value = serde_json::from_str(written.as_str())
            .map_err(|error| vec![BadParams { at: String::new(), why: error.to_string() }])?;
        let changed = fill_in(&self.schema, &mut params);
        let bad: Vec<_> = self
            .validator
            .iter_errors(&params)
            .take(PROBLEMS)
            .map(|error| BadParams { at: error.instance_path().to_string(), why: short(&error.to_string()) })
            .collect();
        match bad.is_empty() {
            true if changed => Ok(Json::of(&params)),
            true => Ok(written),
            false => Err(bad),
        }
    }
}

/// Counts the schemas of a schema, through what it refers to.
fn unroll<'a>(at: &'a Value, root: &'a Value, within: &mut Vec<&'a str>, count: &mut usize) -> Result<(), String> {
    match at {
        Value::Object(fields) => {
            *count += 1;
            if *count > SCHEMAS {
                return Err(format!("with what it refers to it has more than {SCHEMAS} schemas"));
            }
            for (name, field) in fields.iter().filter(|(name, _)| !VALUES.contains(&name.as_str())) {
                match (name.as_str(), field) {
                    ("$ref", Value::String(to)) => follow(to, root, within, count)?,
                    ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                        return Err(format!("`{name}` is not known here: `$ref` is"));
                    }
                    // What is defined counts where it is referred to.
                    ("$defs" | "definitions", Value::Object(_)) => {}
                    // Here the names are anybody's.
                    ("properties" | "patternProperties" | "dependentSchemas", Value::Object(named)) => {
                        named.values().try_for_each(|schema| unroll(schema, root, within, count))?;
                    }
                    _ => unroll(field, root, within, count)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| unroll(item, root, within, count)),
        _ => Ok(()),
    }
}

fn follow<'a>(to: &'a str, root: &'a Value, within: &mut Vec<&'a str>, count: &mut usize) -> Result<(), String> {
    if within.contains(&to) {
        return Err(format!("`{to}` refers to itself"));
    }
    let there = to.strip_prefix('#').filter(|path| path.starts_with('/')).and_then(|path| root.pointer(path));
    let there = there.ok_or_else(|| format!("`{to}` is no part of it: a reference is `#/$defs/…`"))?;
    within.push(to);
    unroll(there, root, within, count)?;
    within.pop();
    Ok(())
}

/// The crate repeats the value that is not right, of whatever length.
fn short(why: &str) -> String {
    let mut chars = why.chars();
    let short: String = chars.by_ref().take(WHY_CHARS).collect();
    if chars.next().is_some() { short + "…" } else { short }
}

/// Puts the defaults of properties in the place of what was left out, at every depth; says whether it changed anything.
fn fill_in(schema: &Value, value: &mut Value) -> bool {
    let (Some(properties), Value::Object(fields)) = (schema.get("properties").and_then(Value::as_object), value) else {
        return false;
    };
    let mut changed = false;
    for (name, property) in properties {
        if let (None, Some(default)) = (fields.get(name), property.get("default")) {
            fields.insert(name.clone(), default.clone());
            changed = true;
        }
        if let Some(field) = fields.get_mut(name) {
            changed |= fill_in(property, field);
        }
    }
    changed
}

/// Two schemas are the same that were written alike.
impl PartialEq for ParamsSchema {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for ParamsSchema {}

impl fmt::Debug for ParamsSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(value: &Value) -> ParamsSchema {
        ParamsSchema::new(Json::of(value)).unwrap()
    }

    fn given(text: &str) -> Json {
        Json::compact(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn what_was_left_out_has_its_default_and_all_else_stays_as_it_was_written() {
        let schema = schema(&json!({"type": "object", "properties": {
            "n": {"type": "number"},
            "deep": {"type": "object", "default": {}, "properties": {"x": {"default": [1]}}}
        }}));

        let filled = schema.admit(Some(&given(r#"{"n": 1.50}"#))).unwrap();
        let whole = schema.admit(Some(&given(r#"{"n": 1.50, "deep": {"x": null}}"#))).unwrap();
        let none = schema.admit(None).unwrap();

        assert_eq!(filled, Json::of(&json!({"n": 1.5, "deep": {"x": [1]}})));
        assert_eq!(whole.as_str(), r#"{"n":1.50,"deep":{"x":null}}"#);
        assert_eq!(none, Json::of(&json!({"deep": {"x": [1]}})));
    }

    #[test]
    fn what_it_does_not_ask_for_is_named_by_its_place() {
        let schema = schema(&json!({"required": ["day"], "properties": {"n": {"type": "integer", "minimum": 1}}}));

        let bad = schema.admit(Some(&given(r#"{"n": 0}"#))).unwrap_err();

        assert_eq!(bad.iter().map(|bad| bad.at.as_str()).collect::<std::collections::BTreeSet<_>>(), ["", "/n"].into());
        assert!(bad.iter().any(|bad| bad.why.contains("day")), "{bad:?}");
    }

    #[test]
    fn what_is_no_schema_is_refused_and_so_is_one_that_lies_elsewhere() {
        for bad in [
            json!([]),
            json!({"type": "nothing"}),
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"pattern": "("}),
        ] {
            assert!(ParamsSchema::new(Json::of(&bad)).is_err(), "{bad}");
        }
        assert!(ParamsSchema::new(Json::of(&json!({"$defs": {"a": {}}, "$ref": "#/$defs/a"}))).is_ok());
    }

    /// Removed: schemas are not counted through their references. Each level takes twice as long as the one before.
    #[test]
    fn a_schema_that_would_take_for_ever_is_refused() {
        let twice =
            |to: usize| json!({"allOf": [{"$ref": format!("#/$defs/d{to}")}, {"$ref": format!("#/$defs/d{to}")}]});
        let mut definitions: Map<String, Value> = (0..40).map(|n| (format!("d{n}"), twice(n + 1))).collect();
        definitions.insert("d40".to_owned(), json!({}));
        let mut called_default = json!({"properties": {"default": {"$ref": "#/$defs/d0"}}});
        called_default["$defs"] = definitions.clone().into();
        for bad in [
            json!({"$ref": "#/$defs/d0", "$defs": definitions}),
            called_default,
            json!({"properties": {"a": {"$ref": "#"}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}),
            json!({"items": (0..10_001).map(|_| json!({})).collect::<Vec<_>>()}),
        ] {
            assert!(ParamsSchema::new(Json::of(&bad)).is_err());
        }
        assert!(ParamsSchema::new(Json::of(&json!({"enum": (0..20_000).collect::<Vec<_>>()}))).is_ok());
    }

    #[test]
    fn a_pattern_that_would_go_back_for_ever_does_not() {
        let schema = schema(&json!({"properties": {"s": {"pattern": "^(a+)+$"}}}));

        let bad = schema.admit(Some(&Json::of(&json!({"s": format!("{}!", "a".repeat(50_000))}))));

        assert_eq!(bad.unwrap_err().len(), 1);
    }
}
