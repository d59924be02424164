//! Defaults: what a schema puts in the place of what was left out. They are put into the text itself, so that what was given stays as it was
//! written, digit for digit, and so does a default.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Of an object: the properties that have a default, or below which one has, by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults(BTreeMap<String, Property>);

#[derive(Clone, Debug)]
struct Property {
    /// As the schema writes it.
    default: Option<String>,
    within: Defaults,
}

impl Defaults {
    /// Of a schema's text.
    pub(super) fn of(schema: &str) -> Self {
        Property::of(schema).within
    }

    /// The text of an object with the defaults of what it lacks behind what it has; none where it lacks nothing, or is no object.
    pub(super) fn put_into(&self, text: &str) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let (mut whole, mut present, mut is_changed) = (Vec::new(), BTreeSet::new(), false);
        for (spelled, value) in object::<Written<'_>>(text)?.0 {
            let name: String = serde_json::from_str(spelled.get()).ok()?;
            let changed = self.0.get(&name).and_then(|property| property.within.put_into(value.get()));
            is_changed |= changed.is_some();
            whole.push(format!("{}:{}", spelled.get(), changed.as_deref().unwrap_or(value.get())));
            present.insert(name);
        }
        for (name, property) in self.0.iter().filter(|(name, _)| !present.contains(*name)) {
            if let Some(default) = property.whole_default() {
                whole.push(format!("{}:{default}", Value::from(name.as_str())));
                is_changed = true;
            }
        }
        is_changed.then(|| format!("{{{}}}", whole.join(",")))
    }
}

impl Property {
    fn of(schema: &str) -> Self {
        let schema = object::<Fields<'_>>(schema).unwrap_or_default();
        let properties = schema.get("properties").and_then(|properties| object::<Fields<'_>>(properties.get()));
        let properties = properties.unwrap_or_default().into_iter();
        let within = properties.map(|(name, schema)| (name.into_owned(), Self::of(schema.get())));
        Self {
            default: schema.get("default").map(|default| default.get().to_owned()),
            within: Defaults(within.filter(|(_, property)| property.says_something()).collect()),
        }
    }

    fn says_something(&self) -> bool {
        self.default.is_some() || !self.within.0.is_empty()
    }

    /// With the defaults of what it lacks itself.
    fn whole_default(&self) -> Option<Cow<'_, str>> {
        let default = self.default.as_deref()?;
        Some(self.within.put_into(default).map_or(Cow::Borrowed(default), Cow::Owned))
    }
}

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// What an object has, names and values as they are spelled.
struct Written<'a>(Vec<(&'a RawValue, &'a RawValue)>);

/// None where it is no object.
fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten()
}

impl<'de: 'a, 'a> Deserialize<'de> for Written<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Written<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Written<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = entries.next_entry()? {
            fields.push(field);
        }
        Ok(Written(fields))
    }
}
