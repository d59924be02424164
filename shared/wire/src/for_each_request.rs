//! A task for each item of a list, as it is asked for: the list, an expression that makes one, or either with how the branches are
//! carried out.

use std::fmt;

use minutehand_domain::body;
use minutehand_domain::limits::{BRANCHES, EXPRESSION_CHARS, PAYLOAD_BYTES};
use minutehand_domain::workflow::definition::{ForEach, Over, Tolerate};
use minutehand_domain::workflow::expression::Expression;
use minutehand_domain::workflow::path::{Path, Root};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::body::Json;
use crate::field_errors::FieldErrors;
use crate::object::of_fields;
use crate::texts::ExpressionText;
use crate::whole_number::whole_number;

/// What branches there are: a list, or an expression that makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ItemsRequest {
    Expression(#[schemars(with = "ExpressionText")] String),
    List(#[schemars(length(max = BRANCHES), extend("x-max-bytes" = PAYLOAD_BYTES))] Vec<Json>),
}

/// A branch of the task for each item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ForEachRequest")]
pub enum ForEachRequest {
    Items(ItemsRequest),
    Whole(ForEachFields),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct ForEachFields {
    pub items: ItemsRequest,
    /// How many branches are under way at once; all of them if it is not given.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = BRANCHES))]
    pub max_concurrent: Option<u64>,
    /// How many branches may fail without the whole failing: none if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerate: Option<TolerateSpec>,
}

/// A number of branches, or a part of them such as `10%`. It is shown as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TolerateSpec(pub Tolerate);

impl ForEachRequest {
    /// `pointer`: where it stands.
    pub(crate) fn checked(&self, pointer: &str, errors: &mut FieldErrors) -> Option<ForEach> {
        let (items, at, max, tolerate) = match self {
            Self::Items(items) => (items, pointer.to_owned(), None, None),
            Self::Whole(whole) => (&whole.items, format!("{pointer}/items"), whole.max_concurrent, whole.tolerate),
        };
        let most = u16::try_from(BRANCHES).unwrap_or(u16::MAX);
        let max_concurrent = max.map(|max| u16::try_from(max).unwrap_or(u16::MAX));
        if max_concurrent.is_some_and(|max| !(1..=most).contains(&max)) {
            errors.add(format!("{pointer}/max_concurrent"), format!("must be from 1 to {most}"));
        }
        let tolerate = tolerate.map(|tolerate| tolerate.0).unwrap_or_default();
        Some(ForEach { over: items.checked(&at, errors)?, max_concurrent, tolerate })
    }
}

impl ItemsRequest {
    fn checked(&self, pointer: &str, errors: &mut FieldErrors) -> Option<Over> {
        match self {
            Self::Expression(text) => {
                let made = Expression::new(&of_a_template(text).unwrap_or_else(|| text.clone()));
                made.map_err(|why| errors.add(pointer, why.to_string())).map(Over::Expression).ok()
            }
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(|item| body::Json::compact(item.raw())).collect();
                let bytes = items.iter().map(|item| item.len() + 1).sum::<usize>();
                if items.len() > BRANCHES {
                    errors.add(
                        pointer,
                        format!("a for_each has at most {BRANCHES} branches, and this list has {} items", items.len()),
                    );
                } else if bytes > PAYLOAD_BYTES {
                    errors.add(pointer, format!("a list has at most {PAYLOAD_BYTES} bytes, and this one has {bytes}"));
                } else {
                    return Some(Over::List(items));
                }
                None
            }
        }
    }
}

/// The expression that says what a template of one name says: people who have written templates all day write one here too.
fn of_a_template(text: &str) -> Option<String> {
    let name = text.trim().strip_prefix("{{")?.strip_suffix("}}").filter(|name| !name.contains("}}"))?;
    let path: Path = name.trim().parse().ok()?;
    let root = match &path.root {
        Root::Task(key, of) => format!("tasks[\"{key}\"].{}", of.as_str()),
        other => other.to_string(),
    };
    let step = |said: String, segment: &String| match segment.parse::<u32>() {
        Ok(number) => format!("{said}[{number}]"),
        Err(_name) => format!("{said}[{}]", serde_json::Value::from(segment.as_str())),
    };
    Some(path.within.iter().fold(root, step)).filter(|said| said.len() <= EXPRESSION_CHARS)
}

impl<'de> Deserialize<'de> for ItemsRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrList)
    }
}

struct TextOrList;

impl<'de> Visitor<'de> for TextOrList {
    type Value = ItemsRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an expression, or a list")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ItemsRequest, E> {
        Ok(ItemsRequest::Expression(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ItemsRequest, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(ItemsRequest::List(list))
    }
}

impl<'de> Deserialize<'de> for ForEachRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemsOrFields)
    }
}

struct ItemsOrFields;

impl<'de> Visitor<'de> for ItemsOrFields {
    type Value = ForEachRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an expression, a list, or an object with `items`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ForEachRequest, E> {
        TextOrList.visit_str(text).map(ForEachRequest::Items)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<ForEachRequest, A::Error> {
        TextOrList.visit_seq(items).map(ForEachRequest::Items)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<ForEachRequest, A::Error> {
        of_fields(fields).map(ForEachRequest::Whole)
    }
}

impl Serialize for TolerateSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Tolerate::Branches(branches) => serializer.serialize_u16(branches),
            Tolerate::Percent(percent) => serializer.collect_str(&format_args!("{percent}%")),
        }
    }
}

impl<'de> Deserialize<'de> for TolerateSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrPart)
    }
}

struct NumberOrPart;

impl Visitor<'_> for NumberOrPart {
    type Value = TolerateSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number of branches from 0 to {BRANCHES}, or a part of them from \"0%\" to \"100%\"")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<TolerateSpec, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Unsigned(number), &self);
        let branches = u16::try_from(number).ok().filter(|branches| usize::from(*branches) <= BRANCHES);
        branches.map(|branches| TolerateSpec(Tolerate::Branches(branches))).ok_or_else(wrong)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<TolerateSpec, E> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and small")]
        if number.fract() == 0.0 && (0.0..=10_000.0).contains(&number) {
            return self.visit_u64(number as u64);
        }
        Err(E::invalid_value(serde::de::Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TolerateSpec, E> {
        let wrong = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
        let is_number = |number: &&str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let percent = text.strip_suffix('%').filter(is_number).and_then(|number| number.parse::<u8>().ok());
        let percent = percent.filter(|percent| *percent <= 100);
        percent.map(|percent| TolerateSpec(Tolerate::Percent(percent))).ok_or_else(wrong)
    }
}

impl JsonSchema for TolerateSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Tolerate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How many branches may fail without the whole failing: so many, or a part of them.", "default": 0,
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": BRANCHES },
                { "type": "string", "pattern": "^(0|[1-9][0-9]?|100)%$", "examples": ["10%"] },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_of_one_name_is_the_expression_that_says_the_same() {
        for (template, expression) in [
            ("{{params.countries}}", Some("params[\"countries\"]")),
            ("{{ params }}", Some("params")),
            ("{{tasks.a-b.result.rows.0.x}}", Some("tasks[\"a-b\"].result[\"rows\"][0][\"x\"]")),
            ("{{params.a}} and {{params.b}}", None),
            ("params.countries", None),
            ("{{}}", None),
        ] {
            assert_eq!(of_a_template(template).as_deref(), expression, "{template}");
        }
    }

    #[test]
    fn what_is_tolerated_is_a_number_or_a_part() {
        let read = |text: &str| serde_json::from_str::<TolerateSpec>(text).map(|read| read.0).ok();

        assert_eq!(read("2"), Some(Tolerate::Branches(2)));
        assert_eq!(read("2.0"), Some(Tolerate::Branches(2)));
        assert_eq!(read("\"10%\""), Some(Tolerate::Percent(10)));
        for wrong in ["-1", "10001", "\"101%\"", "\"10\"", "\"%\"", "\"+5%\"", "0.5", "true", "null", "[]"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
