//! Merging by RFC 7396, on the text itself, so that an unchanged number keeps every digit and a field its position.
//!
//! One addition: of fields that exclude each other (the kinds of a schedule, of a target), a patch that names one replaces
//! the present one together with the fields that belong to it.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use minutehand_wire::kinds::Kind;

/// An object's fields, with their positions.
#[derive(Default)]
pub(crate) struct Fields {
    by_name: BTreeMap<String, (usize, Box<RawValue>)>,
    end: usize,
}

/// Merges `patch` into `target`. Both have been checked to be JSON.
pub(crate) fn merge(target: Option<&RawValue>, patch: &RawValue) -> Box<RawValue> {
    let Some(changes) = fields_of(patch) else { return patch.to_owned() };
    let mut merged = target.and_then(fields_of).unwrap_or_default();
    for (name, change) in changes.in_order() {
        if change.get() == "null" {
            merged.remove(name);
        } else {
            let becomes = merge(merged.get(name), change);
            merged.set(name, becomes);
        }
    }
    text_of(&merged)
}

/// The target's object without the fields that the patch's fields exclude.
pub(crate) fn without_excluded(target: &RawValue, patch: &RawValue, kinds: &[Kind]) -> Box<RawValue> {
    let (Some(mut fields), Some(changes)) = (fields_of(target), fields_of(patch)) else { return target.to_owned() };
    // `"on_demand": false` names no kind either.
    let is_named = |name: &&str| changes.get(name).is_some_and(|change| !matches!(change.get(), "null" | "false"));
    let Some(wanted) = kinds.iter().find(|kind| kind.named.as_ref().is_some_and(is_named)) else {
        return target.to_owned();
    };
    for kind in kinds.iter().filter(|kind| kind.named != wanted.named) {
        if kind.named.is_some_and(|name| fields.remove(name)) {
            for name in kind.own_fields(kinds) {
                fields.remove(name);
            }
        }
    }
    text_of(&fields)
}

pub(crate) fn fields_of(raw: &RawValue) -> Option<Fields> {
    raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

fn text_of(fields: &Fields) -> Box<RawValue> {
    to_raw_value(fields).expect("JSON of JSON")
}

impl Fields {
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        self.by_name.get(name).map(|(_, value)| value.as_ref())
    }

    /// Replaces a field in its position; a new field goes to the end.
    pub(crate) fn set(&mut self, name: &str, value: Box<RawValue>) {
        if let Some((_, there)) = self.by_name.get_mut(name) {
            *there = value;
        } else {
            self.by_name.insert(name.to_owned(), (self.end, value));
            self.end += 1;
        }
    }

    /// Says whether it was there.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some()
    }

    pub(crate) fn in_order(&self) -> Vec<(&str, &RawValue)> {
        let mut fields: Vec<_> = self.by_name.iter().collect();
        fields.sort_unstable_by_key(|(_, (place, _))| *place);
        fields.into_iter().map(|(name, (_, value))| (name.as_str(), value.as_ref())).collect()
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.in_order())
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some((name, value)) = entries.next_entry::<String, Box<RawValue>>()? {
            fields.set(&name, value);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    fn merged(target: &str, patch: &str) -> String {
        merge(Some(&raw(target)), &raw(patch)).get().to_owned()
    }

    /// The examples of the RFC's appendix A.
    #[test]
    fn it_merges_as_the_rfc_says() {
        for (target, patch, result) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
            (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
            (r#"{"a":"foo"}"#, "null", "null"),
            (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            assert_eq!(merged(target, patch), result, "{target} with {patch}");
        }
    }

    #[test]
    fn digits_that_a_float_would_lose_are_kept() {
        let long = r#"{"a":12345678901234567890123,"b":1.50}"#;

        assert_eq!(merged(long, r#"{"c":1E5}"#), r#"{"a":12345678901234567890123,"b":1.50,"c":1E5}"#);
    }

    #[test]
    fn a_field_keeps_its_position_and_a_new_one_comes_last() {
        let target = r#"{"z":1,"a":{"y":1,"b":2},"m":3}"#;

        let result = merged(target, r#"{"n":4,"a":{"y":5},"z":null}"#);

        assert_eq!(result, r#"{"a":{"y":5,"b":2},"m":3,"n":4}"#);
    }

    #[test]
    fn naming_another_kind_removes_the_present_one() {
        let kinds = [
            Kind { title: "", named: None, with: &[] },
            Kind { title: "", named: Some("cron"), with: &["timezone", "max_fires"] },
            Kind { title: "", named: Some("every_seconds"), with: &["max_fires"] },
        ];
        let cron = raw(r#"{"cron":"0 2 * * *","max_fires":3,"timezone":"UTC"}"#);

        for (patch, left) in [
            (r#"{"every_seconds":5}"#, r#"{"max_fires":3}"#),
            (r#"{"every_seconds":null}"#, cron.get()),
            (r#"{"every_seconds":false}"#, cron.get()),
            (r#"{"cron":"0 3 * * *"}"#, cron.get()),
            (r#"{"max_fires":null}"#, cron.get()),
            ("7", cron.get()),
        ] {
            assert_eq!(without_excluded(&cron, &raw(patch), &kinds).get(), left, "{patch}");
        }
    }
}
