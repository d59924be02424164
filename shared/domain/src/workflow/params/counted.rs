//! What a schema has in it, counted through what it refers to: its parts as often as parameters are looked at by them.

use std::collections::BTreeSet;

use serde_json::Value;

/// Schemas inside of a schema, each counted as often as it is referred to: parameters are looked at by each of them.
const SCHEMAS: usize = 10_000;
/// What stands below these is a value, and no schema.
const VALUES: [&str; 4] = ["const", "default", "enum", "examples"];

pub(super) struct Counted<'a> {
    root: &'a Value,
    schemas: usize,
    /// The references that lead to where the count is.
    within: Vec<&'a str>,
    depth: usize,
    /// How deep its schemas lie in each other, with what they refer to.
    pub(super) deepest: usize,
    /// Each once: one that stands in many places is compiled once.
    pub(super) patterns: BTreeSet<&'a str>,
}

impl<'a> Counted<'a> {
    pub(super) fn of(schema: &'a Value) -> Result<Self, String> {
        let (within, patterns) = (Vec::new(), BTreeSet::new());
        let mut counted = Self { root: schema, schemas: 0, within, depth: 0, deepest: 0, patterns };
        counted.unroll(schema)?;
        Ok(counted)
    }

    /// The crate translates each `\` of a pattern by itself, and reads the whole pattern again after it.
    pub(super) fn translated(&self) -> usize {
        self.patterns.iter().map(|pattern| pattern.len() * pattern.matches('\\').count()).sum()
    }

    fn unroll(&mut self, at: &'a Value) -> Result<(), String> {
        match at {
            Value::Object(fields) => {
                self.schemas += 1;
                if self.schemas > SCHEMAS {
                    return Err(format!("with what it refers to it has more than {SCHEMAS} schemas"));
                }
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                let fields = fields.iter().filter(|(name, _)| !VALUES.contains(&name.as_str()));
                for (name, field) in fields {
                    self.keyword(name, field)?;
                }
                self.depth -= 1;
                Ok(())
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.unroll(item)),
            _ => Ok(()),
        }
    }

    fn keyword(&mut self, name: &str, field: &'a Value) -> Result<(), String> {
        match (name, field) {
            ("$ref", Value::String(to)) => self.follow(to),
            ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                Err(format!("`{name}` is not known here: `$ref` is"))
            }
            ("pattern", Value::String(pattern)) => {
                self.patterns.insert(pattern);
                Ok(())
            }
            // What is defined counts where it is referred to.
            ("$defs" | "definitions", Value::Object(_)) => Ok(()),
            // Here the names are anybody's.
            ("properties" | "patternProperties" | "dependentSchemas" | "dependencies", Value::Object(named)) => {
                if name == "patternProperties" {
                    self.patterns.extend(named.keys().map(String::as_str));
                }
                named.values().try_for_each(|schema| self.unroll(schema))
            }
            _ => self.unroll(field),
        }
    }

    fn follow(&mut self, to: &'a str) -> Result<(), String> {
        if self.within.contains(&to) {
            return Err(format!("`{to}` refers to itself"));
        }
        let there =
            part(self.root, to).ok_or_else(|| format!("`{to}` is no part of it: a reference is `#/$defs/…`"))?;
        self.within.push(to);
        self.unroll(there)?;
        self.within.pop();
        Ok(())
    }
}

/// Whether a part of it has a name of its own, as `word` says it: what that refers to as `#/…` is in itself, and not where it is counted.
pub(super) fn has_named_parts(schema: &Value, word: &str) -> bool {
    let is_named = |part: &Value| part.get(word).is_some_and(Value::is_string) || has_named_parts(part, word);
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, field)| !VALUES.contains(&name.as_str()) && is_named(field)),
        Value::Array(items) => items.iter().any(is_named),
        _ => false,
    }
}

/// The part of a schema that a reference names.
pub(super) fn part<'a>(root: &'a Value, to: &str) -> Option<&'a Value> {
    to.strip_prefix('#').filter(|path| path.starts_with('/')).and_then(|path| root.pointer(path))
}
