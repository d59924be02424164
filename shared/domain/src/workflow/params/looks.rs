//! Looks: what it takes to see whether parameters are what a schema asks for, each schema at each value that it speaks of. It is
//! counted before anything is looked at, for a list of thousands by thousands of alternatives takes minutes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::expression::pattern::PLACES_A_MICROSECOND;
use super::counted::part;
use crate::limits::PARAMS_LOOKS;

/// The values of an `enum` that are compared in the time of one look.
const VALUES_A_LOOK: u64 = 32;
/// What `unevaluated…` has to know is found out by looking at everything beside it again, and there again.
const UNEVALUATED: u64 = 3;

/// Whether the looks that these parameters take are no more than they may. `places`: of the schema's patterns.
pub(super) fn are_few(schema: &Value, params: &Value, places: &BTreeMap<String, u64>) -> bool {
    Looks { root: schema, places, left: PARAMS_LOOKS }.at(schema, params, 1).is_some()
}

struct Looks<'a> {
    root: &'a Value,
    places: &'a BTreeMap<String, u64>,
    left: u64,
}

impl Looks<'_> {
    fn take(&mut self, looks: u64) -> Option<()> {
        self.left = self.left.checked_sub(looks)?;
        Some(())
    }

    /// `times`: how often this schema looks at this value. None where no looks are left.
    fn at(&mut self, schema: &Value, value: &Value, times: u64) -> Option<()> {
        self.take(times)?;
        let Value::Object(keywords) = schema else { return Some(()) };
        let is_again = keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems");
        let times = if is_again { times.saturating_mul(UNEVALUATED) } else { times };
        keywords.iter().try_for_each(|(name, keyword)| self.by(name, keyword, value, times))
    }

    /// By one keyword of a schema.
    fn by(&mut self, name: &str, keyword: &Value, value: &Value, times: u64) -> Option<()> {
        match (name, keyword, value) {
            ("$ref", Value::String(to), _) => match part(self.root, to) {
                Some(there) => self.at(there, value, times),
                None => Some(()),
            },
            ("enum" | "const", ..) => self.take(times.saturating_mul(values(keyword) / VALUES_A_LOOK)),
            ("pattern", Value::String(pattern), Value::String(text)) => {
                self.take(times.saturating_mul(self.matching(pattern, text)))
            }
            // Each that is missing is a problem of its own.
            ("required", Value::Array(names), Value::Object(_)) => self.take(times.saturating_mul(count(names.len()))),
            ("dependentRequired", _, Value::Object(_)) => self.take(times.saturating_mul(values(keyword))),
            ("properties", Value::Object(named), Value::Object(fields)) => {
                let mut both = named.iter().filter_map(|(name, schema)| Some((schema, fields.get(name)?)));
                both.try_for_each(|(schema, field)| self.at(schema, field, times))
            }
            ("patternProperties", Value::Object(named), Value::Object(fields)) => {
                named.iter().try_for_each(|(pattern, schema)| self.at_matching(pattern, schema, fields, times))
            }
            ("dependentSchemas" | "dependencies", Value::Object(named), _) => {
                named.values().try_for_each(|schema| self.at(schema, value, times))
            }
            ("additionalProperties" | "unevaluatedProperties", _, Value::Object(fields)) => {
                fields.values().try_for_each(|field| self.at(keyword, field, times))
            }
            ("propertyNames", _, Value::Object(fields)) => {
                fields.keys().try_for_each(|name| self.at(keyword, &Value::from(name.as_str()), times))
            }
            ("items" | "prefixItems", Value::Array(schemas), Value::Array(items)) => {
                schemas.iter().zip(items).try_for_each(|(schema, item)| self.at(schema, item, times))
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", _, Value::Array(items)) => {
                items.iter().try_for_each(|item| self.at(keyword, item, times))
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas), _) => {
                schemas.iter().try_for_each(|schema| self.at(schema, value, times))
            }
            ("not" | "if" | "then" | "else", ..) => self.at(keyword, value, times),
            // What is defined is looked at by what refers to it, and all else is a look at the value itself.
            _ => Some(()),
        }
    }

    /// At the fields whose names match, which may be all.
    fn at_matching(&mut self, pattern: &str, schema: &Value, fields: &Map<String, Value>, times: u64) -> Option<()> {
        for (name, field) in fields {
            self.take(times.saturating_mul(self.matching(pattern, name)))?;
            self.at(schema, field, times)?;
        }
        Some(())
    }

    /// The looks of a pattern at a text, each a microsecond.
    fn matching(&self, pattern: &str, text: &str) -> u64 {
        let places = self.places.get(pattern).copied().unwrap_or(0);
        count(text.len()).saturating_mul(places) / PLACES_A_MICROSECOND
    }
}

/// The values in a value, itself among them.
fn values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(values).sum::<u64>(),
        _ => 1,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
