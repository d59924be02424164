//! Attributes as lines of text, for the table of golden shapes: JSON as DynamoDB speaks it, in the order of the names.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use data_encoding::BASE64;
use minutehand_domain::id::Tenant;
use minutehand_domain::timer::Timer;
use serde_json::{Map, Value, json};

use super::Listing;
use super::items::{Attributes, attributes_of, seen, timer_attributes, timer_of};
use crate::Fault;
use crate::store::item::Item;

pub(in crate::store) fn to_line<T: Item>(item: &T) -> String {
    let tenant = Tenant::new("acme").expect("a word");
    line(attributes_of(&tenant, item, Listing::ByHour).expect("it can be written"))
}

pub(in crate::store) fn timer_to_line(timer: &Timer) -> String {
    line(timer_attributes(timer).expect("it can be written"))
}

/// With attributes that no release knows.
pub(in crate::store) fn of_line<T: Item>(line: &str) -> Result<T, Fault> {
    seen::<T>(attributes(line)).map(|seen| seen.item)
}

pub(in crate::store) fn timer_of_line(line: &str) -> Result<Timer, Fault> {
    timer_of(attributes(line))
}

fn line(attributes: Attributes) -> String {
    let sorted: BTreeMap<_, _> = attributes.into_iter().map(|(name, value)| (name, json_of(value))).collect();
    serde_json::to_string(&sorted).expect("text")
}

fn attributes(line: &str) -> Attributes {
    let fields: Map<String, Value> = serde_json::from_str(line).expect("a line of the table");
    let mut attributes: Attributes = fields.iter().map(|(name, value)| (name.clone(), value_of(value))).collect();
    attributes.insert("version".to_owned(), AttributeValue::N("9".to_owned()));
    attributes.insert("of_a_later_release".to_owned(), AttributeValue::Bool(true));
    attributes
}

fn json_of(value: AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(digits) => json!({ "N": digits }),
        AttributeValue::Bool(truth) => json!({ "BOOL": truth }),
        AttributeValue::B(bytes) => json!({ "B": BASE64.encode(bytes.as_ref()) }),
        AttributeValue::Ss(mut words) => {
            words.sort();
            json!({ "SS": words })
        }
        AttributeValue::L(values) => json!({ "L": values.into_iter().map(json_of).collect::<Vec<_>>() }),
        AttributeValue::M(item) => {
            let sorted: BTreeMap<_, _> = item.into_iter().map(|(name, value)| (name, json_of(value))).collect();
            json!({ "M": sorted })
        }
        other => panic!("no shape of ours has {other:?}"),
    }
}

fn value_of(json: &Value) -> AttributeValue {
    let (kind, value) = json.as_object().and_then(|of| of.iter().next()).expect("a kind and a value");
    match (kind.as_str(), value) {
        ("S", Value::String(text)) => AttributeValue::S(text.clone()),
        ("N", Value::String(digits)) => AttributeValue::N(digits.clone()),
        ("BOOL", Value::Bool(truth)) => AttributeValue::Bool(*truth),
        ("B", Value::String(text)) => AttributeValue::B(BASE64.decode(text.as_bytes()).expect("base 64").into()),
        ("SS", Value::Array(words)) => {
            AttributeValue::Ss(words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect())
        }
        ("L", Value::Array(values)) => AttributeValue::L(values.iter().map(value_of).collect()),
        ("M", Value::Object(fields)) => {
            AttributeValue::M(fields.iter().map(|(name, value)| (name.clone(), value_of(value))).collect())
        }
        other => panic!("no shape of ours has {other:?}"),
    }
}
