//! What names what. The emulator deploys a template whose names lead nowhere.

use std::collections::BTreeSet;

use minutehand_aws_tests::template::{Template, each};
use serde_json::Value;

use crate::template;

/// Tried: a `Ref` to `Busses`; a `GetAtt` of `Queue.Arn`; a `Sub` of `${Table.Arn}`; `DependsOn: Nothing`; a scale looked up
/// in `Concurrencies`.
#[test]
fn every_name_leads_somewhere() {
    let Some(template) = template() else { return };

    let known = known(template);
    let mut named = BTreeSet::new();
    collect(&template.json["Resources"], &mut named);
    collect(&template.json["Outputs"], &mut named);

    let unknown: Vec<&String> = named.difference(&known).filter(|name| !name.starts_with("AWS::")).collect();
    assert_eq!(unknown, Vec::<&String>::new());
    assert!(named.len() > 40, "the names were found at all: {named:?}");
}

/// Tried: without the description of one; without the bounds of one number; with a default for the key's hash.
#[test]
fn every_parameter_says_what_it_is_and_what_it_may_be() {
    let Some(template) = template() else { return };

    for (name, parameter) in template.parameters() {
        let has = |key: &str| !parameter[key].is_null();
        assert!(has("Description"), "{name}");
        assert!(has("AllowedValues") || has("AllowedPattern") || (has("MinValue") && has("MaxValue")), "{name}");
        assert_eq!(has("Default"), name != "AdminKeySha256", "{name}");
    }
    assert_eq!(template.parameters()["AdminKeySha256"]["NoEcho"], true);
}

/// A name of its own would let one stack per account exist, and nothing be replaced. Tried: a `TableName`.
#[test]
fn nothing_that_must_be_replaceable_has_a_fixed_name() {
    let Some(template) = template() else { return };

    for (id, resource) in template.resources() {
        for name in ["TableName", "QueueName", "RoleName"] {
            assert!(resource["Properties"][name].is_null(), "{id} has a {name}");
        }
    }
}

fn known(template: &Template) -> BTreeSet<String> {
    let sections = ["Resources", "Parameters", "Mappings"];
    let objects = sections.into_iter().filter_map(|section| template.json[section].as_object());
    objects.flat_map(|object| object.keys().cloned()).collect()
}

fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                names.extend(named_by(key, inner));
                collect(inner, names);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| collect(inner, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn named_by(key: &str, value: &Value) -> Vec<String> {
    match key {
        "Ref" | "DependsOn" => each(value).into_iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        "Fn::GetAtt" | "Fn::FindInMap" => value[0].as_str().map(str::to_owned).into_iter().collect(),
        "Fn::Sub" => substituted(value.as_str().expect("no substitution here has variables of its own")),
        _ => Vec::new(),
    }
}

fn substituted(text: &str) -> Vec<String> {
    let variables = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
    variables.map(|variable| variable.split('.').next().unwrap_or(variable).to_owned()).collect()
}
