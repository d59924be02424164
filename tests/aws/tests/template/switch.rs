//! The dead man's switch, as the template makes it. What pushes it and what it wakes is played in tests/switch.rs.

use minutehand_aws_tests::template::{each, target};
use minutehand_domain::switch::MINUTES;
use serde_json::{Value, json};

use crate::template;

const PARTS: [&str; 4] = ["Switch", "SwitchGroup", "SwitchRole", "PushSwitch"];

/// It is first pushed by a pass, and until then far away; and it wakes the sweeper by a word that says what it is. Tried: a time that has passed,
/// a flexible window, without the `Input`, disabled (which a pass leaves so).
#[test]
fn it_is_on_far_ahead_and_says_that_it_is_no_tick() {
    let Some(template) = template() else { return };

    let switch = template.properties("Switch");

    assert_eq!(switch["ScheduleExpression"], "at(2099-12-31T23:59:59)");
    assert_eq!(switch["ScheduleExpressionTimezone"], "UTC");
    assert_eq!(switch["FlexibleTimeWindow"], json!({"Mode": "OFF"}));
    assert!(switch["State"].is_null());
    assert_eq!(target(&switch["Target"]["Arn"]), "SweeperFunction");
    let input: Value = serde_json::from_str(switch["Target"]["Input"].as_str().expect("a text")).expect("JSON");
    assert_eq!(input, json!({"switch": "fired"}));
}

/// CloudWatch counts by groups, and the functions find both by one name. Tried: the tick in the same group, another name of the group.
#[test]
fn it_is_alone_in_a_group_of_its_own_name() {
    let Some(template) = template() else { return };

    let (switch, group) = (template.properties("Switch"), template.properties("SwitchGroup"));

    let name = json!({"Fn::Sub": "${AWS::StackName}-switch"});
    assert_eq!((&switch["Name"], &group["Name"]), (&name, &name));
    let variables = &template.properties("SweeperFunction")["Environment"]["Variables"];
    assert_eq!(variables["MINUTEHAND_SWITCH"], json!({"Fn::If": ["HasSwitch", name, ""]}));
    assert_eq!(variables["MINUTEHAND_SWITCH_MINUTES"], json!({"Ref": "SwitchMinutes"}));
    let schedules = template.of_type("AWS::Scheduler::Schedule");
    let grouped: Vec<&str> = schedules.filter(|(_, one)| !one["GroupName"].is_null()).map(|(id, _)| id).collect();
    assert_eq!(grouped, ["Switch"]);
    assert_eq!(template.json["Outputs"]["SwitchGroupName"]["Value"], json!({"Ref": "SwitchGroup"}));
}

/// An update of one property is an update of the schedule: its time too would be set back to what stands here. Tried: `SwitchMinutes` in the
/// description.
#[test]
fn no_parameter_changes_it_but_whether_it_is_there() {
    let Some(template) = template() else { return };

    for part in PARTS {
        assert_eq!(template.resources()[part]["Condition"], "HasSwitch", "{part}");
        let said = template.properties(part).to_string();
        assert!(template.parameters().keys().all(|name| !said.contains(name.as_str())), "{part}: {said}");
    }
    assert_eq!(template.json["Outputs"]["SwitchGroupName"]["Condition"], "HasSwitch");
    let is_there = json!({"Fn::Not": [{"Fn::Equals": [{"Ref": "SwitchMinutes"}, "0"]}]});
    assert_eq!(template.json["Conditions"]["HasSwitch"], is_there);
}

/// The functions refuse any other number. Tried: 1; 60.
#[test]
fn its_minutes_are_those_that_the_sweeper_takes_or_none() {
    let Some(template) = template() else { return };

    let parameter = &template.parameters()["SwitchMinutes"];
    let minutes: Vec<u64> = each(&parameter["AllowedValues"]).into_iter().filter_map(Value::as_u64).collect();

    let (none, some) = minutes.split_first().expect("some are allowed");
    assert!(*none == 0 && some.iter().all(|minutes| MINUTES.contains(minutes)), "{minutes:?}");
    assert_eq!((some.first(), some.last()), (Some(MINUTES.start()), Some(MINUTES.end())));
    assert!(some.contains(&parameter["Default"].as_u64().expect("a number")));
}
