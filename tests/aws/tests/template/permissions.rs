//! Who may do what.

use std::collections::BTreeSet;

use minutehand_aws_tests::template::{Template, each, target};
use serde_json::{Value, json};

use crate::template;

const ROLE: &str = "AWS::IAM::Role";

/// The role that the SAM transform makes for the tick counts too. Tried: `dynamodb:*`; a resource of `*`; one that ends in
/// `/index/*`; `NotAction`.
#[test]
fn every_role_names_its_actions_and_resources() {
    let Some(template) = template() else { return };

    let roles: Vec<&str> = template.of_type(ROLE).map(|(id, _)| id).collect();

    assert_eq!(roles.len(), 6);
    for statement in roles.iter().flat_map(|role| template.statements(role)) {
        let keys: Vec<&String> = statement.as_object().expect("a statement is an object").keys().collect();
        let is_narrowed = statement["Action"] == "iam:PassRole" || uses_data_key(statement);
        let expected = if is_narrowed {
            &["Action", "Condition", "Effect", "Resource"][..]
        } else {
            &["Action", "Effect", "Resource"]
        };
        assert_eq!(keys, expected, "{statement}");
        let actions = statement["Action"].to_string();
        assert!(!actions.contains('*'), "{statement}");
        // X-Ray has no resources that could be named, and the objects of a bucket no names.
        let nameless = actions.replace("\"xray:", "").replace("\"s3:PutObject", "");
        assert!(!statement["Resource"].to_string().contains('*') || !nameless.contains(':'), "{statement}");
    }
}

/// By itself it would open the tables' backups to whoever has a function's credentials. Tried: without the condition; with `kms` among the
/// services.
#[test]
fn the_key_of_the_data_is_used_through_what_it_encrypts_only() {
    let Some(template) = template() else { return };

    for (id, function) in template.of_type("AWS::Lambda::Function") {
        let statements = template.statements(&target(&function["Role"]));
        let about_it: Vec<&&Value> = statements.iter().filter(|one| uses_data_key(one)).collect();
        assert_eq!(about_it.len(), 1, "{id}");
        let services = if id == "ArchiverFunction" { ["dynamodb", "s3"] } else { ["dynamodb", "sqs"] };
        let services = services.map(|name| json!({"Fn::Sub": format!("{name}.${{AWS::Region}}.${{AWS::URLSuffix}}")}));
        assert_eq!(about_it[0]["Condition"], json!({"StringEquals": {"kms:ViaService": services}}), "{id}");
        assert_eq!(
            about_it[0]["Action"],
            json!(["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"])
        );
    }
}

/// What holds for secrets would not, were a key that each function may use theirs. Tried: without the rule about the other key; that rule where there
/// is a `DataKeyArn`; without its second assertion.
#[test]
fn no_key_of_the_data_is_one_of_secrets() {
    let Some(template) = template() else { return };

    let rules = [("SecretsHaveAKeyOfTheirOwn", "DataKeyArn"), ("SecretsShareNoOtherDataKey", "OtherDataKeyArn")];
    for (rule, key) in rules {
        let rule = &template.json["Rules"][rule];
        let is_another_than = |other: Value| json!({"Fn::Not": [{"Fn::Equals": [{"Ref": key}, other]}]});
        assert_eq!(rule["RuleCondition"], is_another_than(json!("")), "{key}");
        for (at, other) in ["SecretsKeyArn", "FormerSecretsKeyArn"].into_iter().enumerate() {
            assert_eq!(rule["Assertions"][at]["Assert"], is_another_than(json!({"Ref": other})), "{key}");
        }
    }
}

/// Tables and queues change over before the roles do, and what lies in a queue opens by the key of its time. Tried: one role without the other key;
/// one whose right stands under `HasDataKey`; queues that are encrypted by the other key; a default.
#[test]
fn each_function_may_use_the_data_key_to_come_and_the_one_before() {
    let Some(template) = template() else { return };

    for (id, function) in template.of_type("AWS::Lambda::Function") {
        let policies = each(&template.properties(&target(&function["Role"]))["Policies"]);
        let policy = policies.iter().map(|policy| &policy["Fn::If"]).find(|policy| policy[0] == "UsesDataKeys");
        let policy = policy.unwrap_or_else(|| panic!("{id}: none where there is a key"));
        assert_eq!(policy[1]["PolicyDocument"]["Statement"][0]["Resource"], data_keys(), "{id}");
    }

    let conditions = &template.json["Conditions"];
    let there_is_one = json!({"Fn::Or": [{"Condition": "HasDataKey"}, {"Condition": "HasOtherDataKey"}]});
    assert_eq!(conditions["UsesDataKeys"], there_is_one);
    for (condition, key) in [("HasDataKey", "DataKeyArn"), ("HasOtherDataKey", "OtherDataKeyArn")] {
        assert_eq!(conditions[condition], json!({"Fn::Not": [{"Fn::Equals": [{"Ref": key}, ""]}]}));
        assert_eq!(template.parameters()[key]["Default"], "");
    }

    let resources = template.resources().iter().filter(|(_, resource)| resource["Type"] != ROLE);
    let naming: Vec<&String> =
        resources.filter(|(_, resource)| resource.to_string().contains("OtherDataKey")).map(|(id, _)| id).collect();
    assert_eq!(naming, [""; 0], "nothing is encrypted by it");
}

/// Tried: a rule that asks about `medium`.
#[test]
fn no_pollers_are_provisioned_where_too_little_is_reserved_for_them() {
    let Some(template) = template() else { return };

    let rule = &template.json["Rules"]["SmallHasNoPollersToReserveFor"];

    let is = |parameter, value| json!({"Fn::Equals": [{"Ref": parameter}, value]});
    assert_eq!(rule["RuleCondition"], json!({"Fn::And": [is("Scale", "small"), is("ReserveConcurrency", "on")]}));
    assert_eq!(rule["Assertions"][0]["Assert"], is("Pollers", "on-demand"));
}

/// A policy that AWS keeps grants what AWS likes. Tried: `AWSLambdaBasicExecutionRole`; a second principal; one role for two
/// functions.
#[test]
fn a_role_is_one_functions_own_and_has_no_policy_from_elsewhere() {
    let Some(template) = template() else { return };

    for (id, role) in template.of_type(ROLE) {
        assert!(role["ManagedPolicyArns"].is_null(), "{id}");
        let trusted = each(&role["AssumeRolePolicyDocument"]["Statement"]);
        let services: Vec<&Value> = trusted.iter().flat_map(|who| each(&who["Principal"]["Service"])).collect();
        let is_of_a_schedule = id.ends_with("TickRole") || id == "SwitchRole";
        let expected = if is_of_a_schedule { "scheduler.amazonaws.com" } else { "lambda.amazonaws.com" };
        assert_eq!(services, [expected], "{id}");
    }
    let functions = template.of_type("AWS::Lambda::Function");
    let roles: BTreeSet<String> = functions.map(|(_, function)| target(&function["Role"])).collect();
    assert_eq!(roles.len(), 4);
}

/// Tried: `dynamodb:Scan` for the executor.
#[test]
fn whoever_carries_out_runs_scans_nothing_and_timers_are_never_updated() {
    let Some(template) = template() else { return };

    for function in ["ApiFunction", "SweeperFunction", "ExecutorFunction"] {
        for grant in template.grants(function) {
            let Some(operation) = grant.action.strip_prefix("dynamodb:") else { continue };
            let operations = ["GetItem", "BatchGetItem", "PutItem", "UpdateItem", "Query", "DeleteItem", "Scan"];
            // The search for the first bucket of a shard whose cursor was lost, and a repair; and the erasure of a tenant, which goes through both
            // tables, begun by the API and carried on by the sweeper.
            assert!(operation != "Scan" || function != "ExecutorFunction", "{grant:?}");
            assert!(operations.contains(&operation), "{function}: {grant:?}");
            // Joins, the places of workflows and the leases of workers lie in the state.
            assert!(operation != "UpdateItem" || grant.resource == "StateTable", "{function}: {grant:?}");
        }
    }
}

/// Tried: `sqs:ReceiveMessage` for the API; the sweeps given to the executor.
#[test]
fn only_the_executor_takes_from_the_queues_and_only_the_sweeper_from_the_sweeps() {
    let Some(template) = template() else { return };

    assert_eq!(taking(template, "ApiFunction"), [""; 0]);
    assert_eq!(taking(template, "SweeperFunction"), ["SweepsQueue"]);
    let queues = ["Critical", "High", "Low", "Normal"].map(|name| [format!("{name}LongQueue"), format!("{name}Queue")]);
    assert_eq!(taking(template, "ExecutorFunction"), queues.concat());
}

/// The function that takes requests can open nothing that is sealed, and the one that opens can seal nothing else in its place.
#[test]
fn only_the_api_seals_secrets_and_only_the_executor_opens_them() {
    let Some(template) = template() else { return };

    for (function, may) in [
        ("ApiFunction", &[("kms:Encrypt", "SecretsKeyArn")][..]),
        ("ExecutorFunction", &[("kms:Decrypt", "SecretsKeyArn"), ("kms:Decrypt", "FormerSecretsKeyArn")]),
        ("SweeperFunction", &[]),
        ("ArchiverFunction", &[]),
    ] {
        let role = target(&template.properties(function)["Role"]);
        let statements = template.statements(&role).into_iter().filter(|one| !uses_data_key(one));
        let about_keys = statements.filter(|one| one["Action"].to_string().contains("kms:"));
        let found: Vec<(Value, String)> =
            about_keys.map(|one| (one["Action"].clone(), target(&one["Resource"]))).collect();
        let expected: Vec<(Value, String)> =
            may.iter().map(|(action, key)| (json!(action), (*key).to_owned())).collect();
        assert_eq!(found, expected, "{function}");
        let variables = &template.properties(function)["Environment"]["Variables"];
        assert_eq!(variables.get("MINUTEHAND_SECRETS_KEY").is_some(), !may.is_empty(), "{function}");
    }
}

/// AWS takes no policy whose resource is empty.
#[test]
fn a_right_to_a_key_stands_under_the_condition_that_there_is_one() {
    let Some(template) = template() else { return };

    let role = target(&template.properties("ExecutorFunction")["Role"]);
    let policies = each(&template.properties(&role)["Policies"]).into_iter();
    let conditions = policies.filter(|policy| policy.to_string().contains("kms:"));

    let conditions: Vec<&Value> = conditions.map(|policy| &policy["Fn::If"][0]).collect();
    assert_eq!(conditions, ["UsesDataKeys", "KeepsSecrets", "OpensFormerSecrets"]);
}

/// Each right to what jobs may call is the executor's, of one action, over what the operator named, and only where something is named:
/// AWS takes no policy whose resource is empty. Tried: `sqs:*`; the queues' right without its condition; a right for the API.
#[test]
fn what_jobs_may_call_is_what_the_operator_names() {
    let Some(template) = template() else { return };
    let rights = [
        ("CallsFunctions", "lambda:InvokeFunction", "LambdaTargetArns"),
        ("SendsToQueues", "sqs:SendMessage", "SqsTargetArns"),
        ("PublishesToTopics", "sns:Publish", "SnsTargetArns"),
        ("PutsOnBuses", "events:PutEvents", "EventBusTargetArns"),
        ("StartsExecutions", "states:StartExecution", "StateMachineTargetArns"),
        ("RunsTasks", "ecs:RunTask", "TaskDefinitionTargetArns"),
        ("PassesRoles", "iam:PassRole", "TaskRoleArns"),
    ];

    let role = target(&template.properties("ExecutorFunction")["Role"]);
    let policies = each(&template.properties(&role)["Policies"]);
    for (condition, action, list) in rights {
        let policy = policies.iter().find(|policy| policy["Fn::If"][0] == condition);
        let statement = &policy.expect(condition)["Fn::If"][1]["PolicyDocument"]["Statement"][0];
        assert_eq!(json!([statement["Action"], statement["Resource"]]), json!([action, {"Ref": list}]));
        let is_there = json!([{"Fn::Equals": [{"Fn::Join": ["", {"Ref": list}]}, ""]}]);
        assert_eq!(template.json["Conditions"][condition]["Fn::Not"], is_there);
        assert_eq!(template.parameters()[list]["Default"], "");
    }
    let pass = policies.iter().find(|policy| policy["Fn::If"][0] == "PassesRoles").expect("it is there");
    let condition = &pass["Fn::If"][1]["PolicyDocument"]["Statement"][0]["Condition"];
    assert_eq!(*condition, json!({"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}));

    for function in ["ApiFunction", "SweeperFunction", "ArchiverFunction"] {
        let role = target(&template.properties(function)["Role"]);
        let said = template.statements(&role).iter().map(ToString::to_string).collect::<String>();
        assert!(rights.iter().all(|(_, _, list)| !said.contains(list)), "{function}");
    }
    let told = |function| template.properties(function)["Environment"]["Variables"].get("MINUTEHAND_TARGETS").is_some();
    assert_eq!(["ApiFunction", "ExecutorFunction", "SweeperFunction"].map(told), [true, true, false]);
}

/// Tried: the log group of another function.
#[test]
fn a_function_writes_to_its_own_log_only() {
    let Some(template) = template() else { return };

    for (id, function) in template.of_type("AWS::Lambda::Function") {
        let statements = template.statements(&target(&function["Role"]));
        let about_logs = statements.iter().filter(|one| one["Action"].to_string().contains("logs:"));
        let logs: Vec<String> = about_logs.flat_map(|one| each(&one["Resource"])).map(target).collect();
        assert_eq!(logs, [target(&function["LoggingConfig"]["LogGroup"])], "{id}");
    }
}

/// Tried: the executor's role for the tick.
#[test]
fn the_tick_and_the_switch_may_invoke_the_sweeper_and_nothing_else() {
    let Some(template) = template() else { return };

    let schedules: Vec<(&str, &Value)> = template.of_type("AWS::Scheduler::Schedule").collect();

    assert_eq!(schedules.len(), 2);
    for (id, schedule) in schedules {
        let statements = template.statements(&target(&schedule["Target"]["RoleArn"]));
        assert_eq!(statements.len(), 1, "{id}");
        assert_eq!(statements[0]["Action"], "lambda:InvokeFunction", "{id}");
        assert_eq!(target(&statements[0]["Resource"]), "SweeperFunction", "{id}");
    }
}

/// What it does with the switch is to read and to write it (shared/cloud/src/switch.rs). Tried: without `GetSchedule`; with `DeleteSchedule`;
/// with the tick's role to pass; with another service to pass it to.
#[test]
fn only_the_sweeper_pushes_the_switch_and_it_hands_over_no_other_role() {
    let Some(template) = template() else { return };
    let rights = |function: &str| {
        let statements = template.statements(&target(&template.properties(function)["Role"])).into_iter();
        statements.filter(|one| one.to_string().contains("scheduler")).cloned().collect::<Vec<Value>>()
    };

    let expected = json!([
        {"Effect": "Allow", "Action": ["scheduler:GetSchedule", "scheduler:UpdateSchedule"],
         "Resource": [{"Fn::GetAtt": ["Switch", "Arn"]}]},
        {"Effect": "Allow", "Action": "iam:PassRole", "Resource": {"Fn::GetAtt": ["SwitchRole", "Arn"]},
         "Condition": {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}},
    ]);

    assert_eq!(json!(rights("SweeperFunction")), expected);
    assert_eq!([rights("ApiFunction").len(), rights("ExecutorFunction").len()], [0, 0]);
}

fn uses_data_key(statement: &Value) -> bool {
    statement["Resource"] == data_keys()
}

/// The one that encrypts and the other one, each where it is given: AWS takes no resource that is empty.
fn data_keys() -> Value {
    let given = |condition: &str, key: &str| json!({"Fn::If": [condition, {"Ref": key}, {"Ref": "AWS::NoValue"}]});
    json!([given("HasDataKey", "DataKeyArn"), given("HasOtherDataKey", "OtherDataKeyArn")])
}

fn taking(template: &Template, function: &str) -> Vec<String> {
    let grants = template.grants(function).into_iter();
    let taking = grants.filter(|grant| ["sqs:ReceiveMessage", "sqs:DeleteMessage"].contains(&&*grant.action));
    taking.map(|grant| grant.resource).collect::<BTreeSet<_>>().into_iter().collect()
}
