//! What wakes the functions: the queues, the sweeps that are handed out, and the minute.

use minutehand_aws_tests::stream::EXPIRY;
use minutehand_aws_tests::template::{Template, target};
use serde_json::{Value, json};

use crate::template;

const QUEUES: [&str; 4] = ["Critical", "High", "Normal", "Low"];
const LONG_QUEUES: [&str; 4] = ["CriticalLong", "HighLong", "NormalLong", "LowLong"];

const ARCHIVE: &str = "ArchiverFunctionExpiry";

/// Tried: reserved whatever the parameter says, which AWS takes for none at all where that is 0.
#[test]
fn the_archive_has_as_many_invocations_as_its_stream_wants_or_as_the_operator_says() {
    let Some(template) = template() else { return };

    let bound = json!({"Fn::If": ["BoundsArchiver", {"Ref": "ArchiverConcurrency"}, {"Ref": "AWS::NoValue"}]});
    assert_eq!(template.properties("ArchiverFunction")["ReservedConcurrentExecutions"], bound);
    assert_eq!(template.parameters()["ArchiverConcurrency"]["Default"], 0);
    let is_bound = &template.json["Conditions"]["BoundsArchiver"];
    assert_eq!(*is_bound, json!({"Fn::Not": [{"Fn::Equals": [{"Ref": "ArchiverConcurrency"}, "0"]}]}));
}

/// Without its metrics nobody sees that it is off. Tried: without them; an output of the function in the place of the source.
#[test]
fn the_archives_source_says_that_it_reads() {
    let Some(template) = template() else { return };

    assert_eq!(template.properties(ARCHIVE)["MetricsConfig"], json!({"Metrics": ["EventCount"]}));
    let output = &template.json["Outputs"]["ArchiverSourceId"];
    assert_eq!((target(&output["Value"]), &output["Condition"]), (ARCHIVE.to_owned(), &json!("Archives")));
}

/// What it filters is what the archiver takes, so that Lambda starts it for nothing else. Tried: a stream of both images, which would show what was
/// written too; with a number of tries; a filter without who deletes.
#[test]
fn the_archive_is_woken_by_runs_that_expired_until_all_of_them_are_in_it() {
    let Some(template) = template() else { return };

    let source = template.properties(ARCHIVE);
    assert_eq!(source["EventSourceArn"], json!({"Fn::GetAtt": ["StateTable", "StreamArn"]}));
    let stream = &template.properties("StateTable")["StreamSpecification"];
    assert_eq!(*stream, json!({"Fn::If": ["Archives", {"StreamViewType": "OLD_IMAGE"}, {"Ref": "AWS::NoValue"}]}));
    assert_eq!(
        (&source["StartingPosition"], &source["BisectBatchOnFunctionError"]),
        (&json!("TRIM_HORIZON"), &json!(true))
    );
    assert_eq!(source["ParallelizationFactor"], 2);
    assert_eq!((&source["MaximumRetryAttempts"], &source["MaximumRecordAgeInSeconds"]), (&Value::Null, &Value::Null));
    let pattern = source["FilterCriteria"]["Filters"][0]["Pattern"].as_str().expect("a pattern");
    let pattern: Value = serde_json::from_str(pattern).expect("a pattern is JSON");
    let expected = json!({
        "eventName": ["REMOVE"],
        "userIdentity": {"principalId": [EXPIRY]},
        "dynamodb": {"Keys": {"sk": {"S": [{"prefix": "run#"}]}}},
    });
    assert_eq!(pattern, expected);
}

/// Tried: without the condition of the bucket.
#[test]
fn without_an_archive_there_is_nothing_of_it() {
    let Some(template) = template() else { return };

    let is_of_it = |id: &str| id.starts_with("Archiver") || id.starts_with("ArchiveBucket");
    let parts: Vec<_> = template.resources().iter().filter(|(id, _)| is_of_it(id)).collect();
    assert_eq!(parts.len(), 6, "{parts:?}");
    assert!(parts.iter().all(|(_, resource)| resource["Condition"] == "Archives"));
    assert_eq!(template.parameters()["Archive"]["Default"], "off");
    let bucket = &template.resources()["ArchiveBucket"];
    assert_eq!(
        (&bucket["DeletionPolicy"], &bucket["UpdateReplacePolicy"]),
        (&json!("RetainExceptOnCreate"), &json!("Retain"))
    );
}

/// Tried: without the event source of one queue; with two queues on one queue.
#[test]
fn every_queue_wakes_the_executor_and_the_sweeps_the_sweeper() {
    let Some(template) = template() else { return };

    let woken =
        sources(template).map(|(_, source)| (target(&source["EventSourceArn"]), target(&source["FunctionName"])));
    let mut woken: Vec<(String, String)> = woken.collect();
    woken.sort();

    let executors =
        QUEUES.into_iter().chain(LONG_QUEUES).map(|name| (format!("{name}Queue"), "ExecutorFunction".to_owned()));
    let mut expected: Vec<_> = executors.chain([("SweepsQueue".to_owned(), "SweeperFunction".to_owned())]).collect();
    expected.sort();
    assert_eq!(woken, expected);
}

/// AWS refuses more than ten without a window, and a window makes what is asked for at once late. Tried: 11; a window of 1; a default of 1;
/// the window for long calls, which are alone in any case.
#[test]
fn a_hint_does_not_wait_for_company_unless_the_operator_asks_for_it() {
    let Some(template) = template() else { return };

    for (id, source) in sources(template) {
        assert!(source["BatchSize"].as_u64().is_some_and(|size| (1..=10).contains(&size)), "{id}");
        let asked = if source["BatchSize"] == 10 { json!({"Ref": "BatchWindowSeconds"}) } else { Value::Null };
        assert_eq!(source["MaximumBatchingWindowInSeconds"], asked, "{id}");
    }
    assert_eq!(template.parameters()["BatchWindowSeconds"]["Default"], 0);
}

/// AWS takes one or the other. Tried: both for one queue; the pollers of another queue.
#[test]
fn a_queue_has_a_limit_or_pollers_of_its_own() {
    let Some(template) = template() else { return };

    for queue in QUEUES.into_iter().chain(LONG_QUEUES) {
        let source = template.properties(&format!("ExecutorFunction{queue}"));
        let (limit, pollers) = (&source["ScalingConfig"]["Fn::If"], &source["ProvisionedPollerConfig"]["Fn::If"]);
        assert_eq!(json!([limit[0], limit[1]]), json!(["Provisions", {"Ref": "AWS::NoValue"}]), "{queue}");
        assert_eq!(json!([pollers[0], pollers[2]]), json!(["Provisions", {"Ref": "AWS::NoValue"}]), "{queue}");
        for (bound, mapping) in [("MinimumPollers", "LeastPollers"), ("MaximumPollers", "MostPollers")] {
            let of_the_scale = json!({"Fn::FindInMap": [mapping, {"Ref": "Scale"}, queue]});
            assert_eq!(pollers[1][bound], of_the_scale, "{queue}");
        }
    }
    assert_eq!(template.parameters()["Pollers"]["Default"], "on-demand");
}

/// What is reserved is a limit too: fewer than the queues may have would throttle them, and a tick beside them. Tried: the sweeper's sweeps
/// alone; the executor's number of another scale.
#[test]
fn what_is_reserved_is_what_the_queues_may_have() {
    let Some(template) = template() else { return };

    for (function, row) in [("ExecutorFunction", "Executor"), ("SweeperFunction", "Sweeper")] {
        let reserved = json!({"Fn::If": [
            "Reserves", {"Fn::FindInMap": ["Concurrency", {"Ref": "Scale"}, row]}, {"Ref": "AWS::NoValue"}
        ]});
        assert_eq!(template.properties(function)["ReservedConcurrentExecutions"], reserved);
    }
    for (scale, row) in template.json["Mappings"]["Concurrency"].as_object().expect("the scales") {
        let number = |key: &str| row[key].as_u64().expect("a number");
        let all: u64 = QUEUES.into_iter().chain(LONG_QUEUES).map(number).sum();
        assert_eq!(number("Executor"), all, "{scale}");
        assert_eq!(number("Sweeper"), number("Sweeps") + 2, "{scale}");
    }
    assert_eq!(template.parameters()["ReserveConcurrency"]["Default"], "off");
}

/// An invocation is over when its slowest call is. Tried: a batch of 2 on one queue.
#[test]
fn a_long_call_has_an_invocation_of_its_own() {
    let Some(template) = template() else { return };

    for queue in LONG_QUEUES {
        assert_eq!(template.properties(&format!("ExecutorFunction{queue}"))["BatchSize"], 1, "{queue}");
    }
}

/// Without it one fault gives the whole batch back. Tried: without it on one queue.
#[test]
fn a_fault_gives_back_its_own_hint_only() {
    let Some(template) = template() else { return };

    for queue in QUEUES.into_iter().chain(LONG_QUEUES) {
        let source = template.properties(&format!("ExecutorFunction{queue}"));
        assert_eq!(source["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]), "{queue}");
    }
}

/// What AWS takes, what an account has, and what the queues are for. Tried: a low queue of 1; of 200; a sum of 1,000; a queue
/// without a limit.
///
/// Removed: the archive takes two batches of a shard at once, and ten instead. At `huge` it could have 400 invocations, of 460 that are left to all else.
#[test]
fn at_every_scale_the_urgent_queues_get_more_and_all_fit_into_an_account() {
    let Some(template) = template() else { return };

    let scales = &template.parameters()["Scale"]["AllowedValues"];
    for scale in scales.as_array().expect("the scales are listed") {
        let limits =
            |queues: [&str; 4]| queues.map(|queue| limit(template, &format!("ExecutorFunction{queue}"), scale));
        let (short, long) = (limits(QUEUES), limits(LONG_QUEUES));
        let sweeps = limit(template, "SweeperFunctionGroup", scale);
        assert!([short, long].iter().all(|limits| limits.is_sorted_by(|more, less| more >= less)), "{scale}");
        let limits = [short, long].concat();
        assert!(
            limits.iter().chain([&sweeps]).all(|limit| (2..=1000).contains(limit)),
            "{scale}: {limits:?}, {sweeps}"
        );
        // A tenth is left to the API and to whatever else lives in the account; more than every account has is to be asked for.
        let account = if scale == "huge" { 4_600 } else { 1_000 };
        assert!(limits.iter().sum::<u64>() + sweeps <= account * 9 / 10, "{scale}: {limits:?}, {sweeps}");
        // Half of that tenth at most is the archive's, where a partition of the table is full of writes and not of what is kept: the stream has a
        // shard for each 1,000 a second, 4 of a new table and 40 at its quota. What is kept wants more of them, as docs/operations.md reckons.
        let shards = if scale == "huge" { 40 } else { 4 };
        let of_a_shard = template.properties(ARCHIVE)["ParallelizationFactor"].as_u64().expect("a number");
        assert!(of_a_shard * shards <= account / 20, "{scale}: {of_a_shard} of {shards} shards");
    }
}

/// The emulator takes any text for a rate. Tried: `rate(1 minutes)`, a flexible window, `State: DISABLED`.
#[test]
fn the_sweeper_is_woken_each_minute() {
    let Some(template) = template() else { return };

    let tick = template.properties("SweeperFunctionTick");

    assert_eq!(tick["ScheduleExpression"], "rate(1 minute)");
    assert_eq!(tick["FlexibleTimeWindow"], json!({"Mode": "OFF"}));
    assert_eq!(target(&tick["Target"]["Arn"]), "SweeperFunction");
    assert_ne!(tick["State"], "DISABLED");
}

/// Named by its logical id, it would be shared by all stacks of an account. Tried: without the name.
#[test]
fn two_stacks_have_two_ticks() {
    let Some(template) = template() else { return };

    let tick = template.properties("SweeperFunctionTick");

    assert_eq!(tick["Name"], json!({"Fn::Sub": "${AWS::StackName}-tick"}));
}

/// The next tick is never more than a minute away. Tried: without either, which means 185 tries over a day, or 2 over six hours.
#[test]
fn a_tick_that_failed_is_not_repeated_for_hours() {
    let Some(template) = template() else { return };

    let tick = template.properties("SweeperFunctionTick");
    let (_, invoked) = template.of_type("AWS::Lambda::EventInvokeConfig").next().expect("the sweeper has one");

    for retries in [&tick["Target"]["RetryPolicy"], invoked] {
        assert_eq!(retries["MaximumEventAgeInSeconds"], 60);
        assert!(retries["MaximumRetryAttempts"].as_u64().is_some_and(|retries| retries <= 1));
    }
}

/// The archive's is a stream and no queue.
fn sources(template: &Template) -> impl Iterator<Item = (&str, &Value)> {
    template.of_type("AWS::Lambda::EventSourceMapping").filter(|(id, _)| *id != ARCHIVE)
}

/// The limit is looked up in a table and not a parameter: the emulator takes a parameter's number for a text there.
fn limit(template: &Template, source: &str, scale: &Value) -> u64 {
    let scaling = &template.properties(source)["ScalingConfig"];
    let scaling = scaling["Fn::If"].get(2).unwrap_or(scaling);
    let limit = &scaling["MaximumConcurrency"]["Fn::FindInMap"];
    assert_eq!(limit[1], json!({"Ref": "Scale"}), "{source}");
    let name = |value: &Value| value.as_str().map(str::to_owned).expect("a name");
    let number = &template.json["Mappings"][name(&limit[0])][name(scale)][name(&limit[2])];
    number.as_u64().unwrap_or_else(|| panic!("{source} has no limit at {scale}"))
}
