//! Kinds: fields of which exactly one is given, as the OpenAPI document says it. The struct that parses them is flat, and
//! null is not given; so each kind is written as what the other fields are then: null, or not there.

use schemars::Schema;
use serde_json::{Map, Value, json};

/// One way to fill a flat struct: by the field that names it, if any does, and those that may go with it.
pub struct Kind {
    pub title: &'static str,
    pub named: Option<&'static str>,
    pub with: &'static [&'static str],
}

pub fn one_of_the_kinds(schema: &mut Schema, kinds: &[Kind]) {
    let Some(fields) = schema.get("properties").and_then(Value::as_object).cloned() else { return };
    let rendered: Vec<Value> = kinds.iter().map(|kind| kind.render(&fields)).collect();
    schema.insert("oneOf".to_owned(), rendered.into());
}

impl Kind {
    /// The fields that go with this kind and with no other.
    pub fn own_fields<'a>(&'a self, kinds: &'a [Self]) -> impl Iterator<Item = &'static str> + 'a {
        let others = move |field: &&str| {
            kinds.iter().filter(|kind| kind.named != self.named).any(|kind| kind.with.contains(field))
        };
        self.with.iter().copied().filter(move |field| !others(field))
    }

    fn render(&self, fields: &Map<String, Value>) -> Value {
        let others = fields.iter().filter(|(name, _)| !self.with.contains(&name.as_str()));
        let properties: Map<_, _> = others
            .map(|(name, field)| (name.clone(), if self.named == Some(name) { given(field) } else { not_given(field) }))
            .collect();
        match self.named {
            Some(name) => json!({ "title": self.title, "required": [name], "properties": properties }),
            None => json!({ "title": self.title, "properties": properties }),
        }
    }
}

fn given(field: &Value) -> Value {
    if is_flag(field) { json!({ "const": true }) } else { json!({ "not": { "type": "null" } }) }
}

/// A flag that is down is not given either.
fn not_given(field: &Value) -> Value {
    if is_flag(field) { json!({ "enum": [false, null] }) } else { json!({ "type": "null" }) }
}

fn is_flag(field: &Value) -> bool {
    field.pointer("/type/0").or_else(|| field.get("type")).is_some_and(|kind| kind == "boolean")
}
