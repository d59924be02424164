//! The functions themselves.

use std::collections::BTreeSet;

use minutehand_aws_tests::template::{Template, target};
use serde_json::{Value, json};

use crate::template;

/// A group that Lambda makes by itself keeps its logs for ever and outlives the stack. Tried: without the `LoggingConfig`
/// of one function; with two functions on one group; without the retention; without the key of one.
#[test]
fn every_function_logs_to_a_group_of_its_own_that_forgets() {
    let Some(template) = template() else { return };

    let mut groups = BTreeSet::new();
    for (id, function) in functions(template) {
        let group = target(&function["LoggingConfig"]["LogGroup"]);
        assert_eq!(template.properties(&group)["RetentionInDays"], json!({"Ref": "LogRetentionDays"}), "{id}");
        assert!(groups.insert(group), "{id} shares its logs");
    }
    assert_eq!(groups.len(), 4);
    for (id, group) in template.of_type("AWS::Logs::LogGroup") {
        let key = json!({"Fn::If": ["HasDataKey", {"Ref": "DataKeyArn"}, {"Ref": "AWS::NoValue"}]});
        assert_eq!(group["KmsKeyId"], key, "{id}");
    }
}

/// Lambda has a filter of its own, at INFO unless it is told otherwise: then nobody would ever see what `LogLevel` asks for.
/// Tried: without the `ApplicationLogLevel` of one.
#[test]
fn what_is_logged_is_said_in_one_place() {
    let Some(template) = template() else { return };

    for (id, function) in functions(template) {
        assert_eq!(function["LoggingConfig"]["ApplicationLogLevel"], "TRACE", "{id}");
    }
}

/// An executor's retry is a message to its own queue, and Lambda stops a function that calls itself sixteen times. No emulator
/// does.
/// Tried: without it.
#[test]
fn the_executor_may_call_itself_as_often_as_a_job_is_retried_and_the_sweeper_as_often_as_shards_are_left() {
    let Some(template) = template() else { return };

    for function in ["ExecutorFunction", "SweeperFunction"] {
        assert_eq!(template.properties(function)["RecursiveLoop"], "Allow", "{function}");
    }
}

/// Tried: `Runtime: provided.al2`; without the `Architectures`.
#[test]
fn every_function_is_a_bootstrap_for_the_architecture_that_was_asked_for() {
    let Some(template) = template() else { return };

    for (id, function) in functions(template) {
        assert_eq!(function["Runtime"], "provided.al2023", "{id}");
        assert_eq!(function["Handler"], "bootstrap", "{id}");
        assert_eq!(function["Architectures"], json!([{"Ref": "Architecture"}]), "{id}");
    }
}

/// An emulator takes any number. Tried: an executor's time-out of 901; an API's of 30.
#[test]
fn the_time_outs_are_what_the_platform_takes_and_the_gateway_waits_for() {
    let Some(template) = template() else { return };

    let timeout = |id: &str| template.properties(id)["Timeout"].as_u64().expect("a number");
    let gateway = template.properties("HttpIntegration")["TimeoutInMillis"].as_u64().expect("a number");

    assert!(functions(template).all(|(id, _)| timeout(id) <= 900));
    assert!(gateway <= 30_000);
    assert!(timeout("ApiFunction") * 1000 < gateway, "the function's answer comes before the gateway's");
}

/// An invocation is traced where the operator asks for it. Tried: `Active` in any case; without the right to send traces.
#[test]
fn traces_are_asked_for() {
    let Some(template) = template() else { return };

    for (id, function) in functions(template) {
        assert_eq!(function["TracingConfig"]["Mode"], json!({"Fn::If": ["Traced", "Active", "PassThrough"]}), "{id}");
        let statements = template.statements(&target(&function["Role"]));
        let rights = json!(["xray:PutTelemetryRecords", "xray:PutTraceSegments"]);
        assert_eq!(statements.iter().filter(|one| one["Action"] == rights).count(), 1, "{id}");
    }
    assert_eq!(template.parameters()["Traces"]["Default"], "off");
}

/// So that what it costs can be told from the rest of an account. Tried: without it on one queue; on the bus.
#[test]
fn whatever_is_paid_for_says_whose_it_is() {
    let Some(template) = template() else { return };
    let types = [
        "AWS::DynamoDB::Table",
        "AWS::Events::EventBus",
        "AWS::IAM::Role",
        "AWS::Lambda::Function",
        "AWS::Logs::LogGroup",
        "AWS::S3::Bucket",
        "AWS::SQS::Queue",
    ];

    let tag = json!({"Key": "application", "Value": "minutehand"});
    for (id, resource) in types.iter().flat_map(|kind| template.of_type(kind)) {
        let tagged = resource["Tags"].as_array().is_some_and(|tags| tags.contains(&tag));
        // The tick's role is the transform's.
        assert!(tagged || id == "SweeperFunctionTickRole", "{id}");
    }
    assert_eq!(template.properties("HttpApi")["Tags"], json!({"application": "minutehand"}));
}

/// Tried: the key's hash given to the executor.
#[test]
fn only_the_api_knows_the_key_and_only_the_sweeper_hands_out() {
    let Some(template) = template() else { return };

    assert_eq!(knowing(template, "MINUTEHAND_KEY_SHA256"), ["ApiFunction"]);
    assert_eq!(knowing(template, "MINUTEHAND_SWEEPS_QUEUE"), ["SweeperFunction"]);
    assert_eq!(knowing(template, "MINUTEHAND_SHARDS_PER_SWEEP"), ["SweeperFunction"]);
    assert_eq!(knowing(template, "MINUTEHAND_SWITCH"), ["SweeperFunction"]);
    assert_eq!(knowing(template, "MINUTEHAND_ARCHIVE_BUCKET"), ["ArchiverFunction"]);
}

/// All write to the same places: one that had another table would lose what it promises. Tried: two queues swapped in
/// the sweeper; the two tables swapped in the executor.
#[test]
fn all_functions_mean_the_same_tables_and_queues() {
    let Some(template) = template() else { return };

    let places = [
        ("MINUTEHAND_STATE_TABLE", "StateTable"),
        ("MINUTEHAND_TIMERS_TABLE", "TimersTable"),
        ("MINUTEHAND_QUEUE_CRITICAL", "CriticalQueue"),
        ("MINUTEHAND_QUEUE_HIGH", "HighQueue"),
        ("MINUTEHAND_QUEUE_NORMAL", "NormalQueue"),
        ("MINUTEHAND_QUEUE_LOW", "LowQueue"),
        ("MINUTEHAND_QUEUE_CRITICAL_LONG", "CriticalLongQueue"),
        ("MINUTEHAND_QUEUE_HIGH_LONG", "HighLongQueue"),
        ("MINUTEHAND_QUEUE_NORMAL_LONG", "NormalLongQueue"),
        ("MINUTEHAND_QUEUE_LOW_LONG", "LowLongQueue"),
        ("MINUTEHAND_BUS", "Bus"),
    ];
    for (id, function) in functions(template) {
        for (variable, resource) in places {
            assert_eq!(function["Environment"]["Variables"][variable], json!({"Ref": resource}), "{id}");
        }
    }
}

fn functions(template: &Template) -> impl Iterator<Item = (&str, &Value)> {
    template.of_type("AWS::Lambda::Function")
}

fn knowing<'a>(template: &'a Template, variable: &str) -> Vec<&'a str> {
    let knows = |function: &Value| !function["Environment"]["Variables"][variable].is_null();
    functions(template).filter(|(_, function)| knows(function)).map(|(id, _)| id).collect()
}
