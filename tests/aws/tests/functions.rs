//! The four bootstraps as Lambda starts them: how quickly they are there, how much memory they take, what they answer, what
//! they measure and export, and what they say when they cannot start.

#![expect(clippy::print_stdout, reason = "what is measured is shown")]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use data_encoding::HEXLOWER;
use http::{HeaderMap, StatusCode, Uri};
use minutehand_aws_tests::bootstraps::{bootstrap, build_functions};
use minutehand_aws_tests::dynamo::{Dynamo, tables};
use minutehand_aws_tests::runtime::{Did, RuntimeApi};
use minutehand_aws_tests::scripted::Scripted;
use minutehand_aws_tests::stream::{EXPIRY, removed};
use minutehand_python::prerequisite::not_run;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::MutexGuard;

/// From exec to the first poll, the quickest of several starts: what others take of the machine meanwhile is not the function's.
const FIRST_POLL: Duration = Duration::from_millis(60);
/// Resident, at the first poll: nearly all of it is code that was touched, the heap takes two megabytes. Conditions and schemas of
/// workflows are five megabytes of it.
const MEMORY_KB: u64 = 24 * 1024;
/// And once it has done its work: signing, asking and answering are more code. With calendars, callbacks and what is done to many it is 28.1
/// MiB of the API's.
const MEMORY_AFTER_AN_EVENT_KB: u64 = 30 * 1024;
const STARTS: usize = 7;
/// On a machine so busy that none of those was undisturbed, as many more as it takes, up to these.
const MOST_STARTS: usize = 40;
/// What a collector does not take within half a second is dropped, and on a busy machine it may need longer: so many invocations try.
const MOST_EXPORTS: usize = 10;

const KEY: &str = "mh_a_key_of_the_tests";

#[derive(Clone, Copy, Debug)]
enum Function {
    Api,
    Sweeper,
    Executor,
    Archiver,
}

impl Function {
    const ALL: [Self; 4] = [Self::Api, Self::Sweeper, Self::Executor, Self::Archiver];

    const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Sweeper => "sweeper",
            Self::Executor => "executor",
            Self::Archiver => "archiver",
        }
    }

    fn bootstrap(self) -> PathBuf {
        bootstrap(self.name())
    }

    /// An event as its trigger sends it.
    fn event(self) -> Value {
        match self {
            Self::Api => json!({
                "version": "2.0", "routeKey": "$default", "rawPath": "/v1/jobs", "rawQueryString": "limit=1",
                "headers": {"authorization": format!("Bearer {KEY}"), "host": "api.example.com"},
                "requestContext": {
                    "accountId": "1", "apiId": "a", "domainName": "api.example.com", "domainPrefix": "api",
                    "http": {"method": "GET", "path": "/v1/jobs", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1",
                             "userAgent": "tests"},
                    "requestId": "r", "routeKey": "$default", "stage": "$default",
                    "time": "20/Nov/2026:12:00:00 +0000", "timeEpoch": 1_795_176_000_000_u64,
                },
                "isBase64Encoded": false,
            }),
            Self::Sweeper => json!({"source": "aws.scheduler"}),
            Self::Executor => json!({"Records": [{
                "messageId": "m-1", "receiptHandle": "h", "body": "{\"no\": \"hint\"}", "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:1:normal", "awsRegion": "us-east-1",
                "attributes": {}, "messageAttributes": {},
            }]}),
            // That of a run is put into a bucket: see below.
            Self::Archiver => {
                json!({"Records": [removed("e", Some(EXPIRY), &json!({"pk": {"S": "acme#h#1"}, "sk": {"S": "attempt#1"}}))]})
            }
        }
    }

    fn is_answered_by(self, answer: &Value) -> bool {
        match self {
            Self::Api => answer["statusCode"] == 200 && answer["body"] == "{\"items\":[],\"next_cursor\":null}",
            Self::Sweeper | Self::Archiver => answer.is_null(),
            // What is no hint goes to the dead letters: it is given back until it does.
            Self::Executor => answer == &json!({"batchItemFailures": [{"itemIdentifier": "m-1"}]}),
        }
    }

    /// As Lambda starts it: with what the template says, and nothing of ours.
    fn start(self, dynamo: &Dynamo, runtime: &RuntimeApi) -> Command {
        let mut command = Command::new(self.bootstrap());
        command.env_clear().kill_on_drop(true).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs([
            ("AWS_LAMBDA_FUNCTION_NAME", self.name()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_RUNTIME_API", &runtime.address),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_ENDPOINT_URL", &dynamo.endpoint),
            ("MINUTEHAND_STATE_TABLE", &tables().state),
            ("MINUTEHAND_TIMERS_TABLE", &tables().timers),
            ("MINUTEHAND_QUEUE_CRITICAL", "http://127.0.0.1:9/1/critical"),
            ("MINUTEHAND_QUEUE_HIGH", "http://127.0.0.1:9/1/high"),
            ("MINUTEHAND_QUEUE_NORMAL", "http://127.0.0.1:9/1/normal"),
            ("MINUTEHAND_QUEUE_LOW", "http://127.0.0.1:9/1/low"),
            ("MINUTEHAND_QUEUE_CRITICAL_LONG", "http://127.0.0.1:9/1/critical-long"),
            ("MINUTEHAND_QUEUE_HIGH_LONG", "http://127.0.0.1:9/1/high-long"),
            ("MINUTEHAND_QUEUE_NORMAL_LONG", "http://127.0.0.1:9/1/normal-long"),
            ("MINUTEHAND_QUEUE_LOW_LONG", "http://127.0.0.1:9/1/low-long"),
            ("MINUTEHAND_SWEEPS_QUEUE", "http://127.0.0.1:9/1/sweeps"),
            ("MINUTEHAND_SHARDS_PER_SWEEP", "64"),
            ("MINUTEHAND_KEY_SHA256", &sha256(KEY)),
            ("MINUTEHAND_ARCHIVE_BUCKET", "kept"),
        ]);
        command
    }
}

fn sha256(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// The bootstraps, for one test of this file at a time: they would only slow each other down.
async fn bootstraps() -> MutexGuard<'static, ()> {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let turn = TURN.lock().await;
    build_functions();
    turn
}

/// All functions in one, for the same reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_function_is_there_at_once_answers_and_stays_small() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;
    for function in Function::ALL {
        let starts = starts_of(function, &dynamo).await;
        let [memory, worked] = memory_before_and_after_an_event(function, &dynamo).await;
        println!(
            "{}: exec to first poll {starts:?}, resident {memory} KB then and {worked} KB after an event",
            function.name()
        );

        assert!(starts[0] < FIRST_POLL, "{function:?}: {starts:?}");
        assert!(memory < MEMORY_KB, "{function:?}: {memory} KB");
        assert!(worked < MEMORY_AFTER_AN_EVENT_KB, "{function:?}: {worked} KB");
    }
}

/// How long each took, the quickest first.
async fn starts_of(function: Function, dynamo: &Dynamo) -> Vec<Duration> {
    let mut starts = Vec::new();
    while starts.len() < STARTS || starts.len() < MOST_STARTS && starts.iter().all(|took| *took >= FIRST_POLL) {
        starts.push(first_poll(function, dynamo).await);
    }
    starts.sort_unstable();
    starts
}

async fn first_poll(function: Function, dynamo: &Dynamo) -> Duration {
    let mut runtime = RuntimeApi::start([]).await;
    let begun = Instant::now();
    let _child = function.start(dynamo, &runtime).spawn().expect("it was built");
    match runtime.next().await {
        Did::Polled(at) => at - begun,
        other => panic!("{function:?}: {other:?}"),
    }
}

async fn memory_before_and_after_an_event(function: Function, dynamo: &Dynamo) -> [u64; 2] {
    let mut idle = RuntimeApi::start([]).await;
    let waiting = function.start(dynamo, &idle).spawn().expect("it was built");
    let Did::Polled(_) = idle.next().await else { panic!("it asks first") };
    let before = resident_kb(&waiting);
    let mut runtime = RuntimeApi::start([function.event()]).await;
    let child = function.start(dynamo, &runtime).spawn().expect("it was built");
    let Did::Polled(_) = runtime.next().await else { panic!("it asks first") };
    match runtime.next().await {
        Did::Answered(answer) => assert!(function.is_answered_by(&answer), "{function:?}: {answer}"),
        other => panic!("{function:?}: {other:?}"),
    }
    let Did::Polled(_) = runtime.next().await else { panic!("it asks again") };
    [before, resident_kb(&child)]
}

fn resident_kb(child: &Child) -> u64 {
    let path = format!("/proc/{}/status", child.id().expect("it runs"));
    let status = std::fs::read_to_string(path).expect("it runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a process has memory");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).expect("a number of kB")
}

#[tokio::test]
async fn a_function_without_its_settings_says_which_one_it_misses_and_ends() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;
    for (function, missing) in [
        (Function::Api, "MINUTEHAND_KEY_SHA256"),
        (Function::Sweeper, "MINUTEHAND_SHARDS_PER_SWEEP"),
        (Function::Executor, "MINUTEHAND_QUEUE_LOW"),
        (Function::Archiver, "MINUTEHAND_ARCHIVE_BUCKET"),
    ] {
        let runtime = RuntimeApi::start([]).await;
        let output = function.start(&dynamo, &runtime).env_remove(missing).output().await.expect("it was built");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();

        assert!(!output.status.success());
        assert!(said.contains(missing) && said.contains("must be"), "{said}");
    }
}

#[tokio::test]
async fn a_log_line_is_json_with_its_time_and_the_requests_id() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;
    let mut runtime = RuntimeApi::start([Function::Sweeper.event()]).await;
    let child = Function::Sweeper.start(&dynamo, &runtime).spawn().expect("it was built");
    while !matches!(runtime.next().await, Did::Answered(_)) {}
    let Did::Polled(_) = runtime.next().await else { panic!("it asks again") };

    let said = said_until_now(child).await;

    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let swept = lines.iter().find(|line| line["message"] == "swept").expect("a pass says what it did");
    assert_eq!(swept["span"]["requestId"], "11111111-2222-3333-4444-555555555555", "{swept}");
    assert!(swept["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{swept}");
    assert!(swept["buckets"].as_u64().is_some_and(|buckets| buckets > 0), "{swept}");
}

/// Somebody makes a job, and says so again.
///
/// Removed, one after the other: the API measures into nothing; nothing is told before the answer. Neither had a line.
#[tokio::test]
async fn what_an_invocation_measured_is_one_line_of_its_log() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;
    let mut creation = creation(&json!({"target": {"noop": {}}, "schedule": {"on_demand": true}}));
    creation["headers"]["idempotency-key"] = json!("once");
    let mut runtime = RuntimeApi::start([creation.clone(), creation]).await;
    let mut api = Function::Api.start(&dynamo, &runtime);
    let child = api.env("MINUTEHAND_METRICS", "Minutehand/test").spawn().expect("it was built");
    let mut answered = Vec::new();
    while answered.len() < 2 {
        if let Did::Answered(answer) = runtime.next().await {
            answered.push(answer["statusCode"].as_u64());
        }
    }

    let said = said_until_now(child).await;

    assert_eq!(answered, [Some(201), Some(200)], "{said}");
    let told = measured(&said);
    let [made, again] = &told[..] else { panic!("{told:?}") };
    let directive = &made["_aws"]["CloudWatchMetrics"][0];
    assert_eq!(
        (&directive["Namespace"], &directive["Dimensions"]),
        (&json!("Minutehand/test"), &json!([["function"]]))
    );
    assert_eq!((&made["function"], &made["job_changes_total.created"]), (&json!("api"), &json!(1.0)));
    assert!(made["store_units_total.write"].as_f64() >= Some(1.0), "{made}");
    assert_eq!(again["duplicates_prevented_total.idempotency_key"], json!(1.0), "{again}");
    assert_eq!(again.get("job_changes_total.created"), None, "each measurement is told once");
}

/// The alarms look for each metric of the executor under its function and its priority together, and find it nowhere else (`infra/lib/measured.ts`):
/// `LateStarts` and `CriticalWaits` would never ring.
///
/// Removed: the executor's main gives the document no priority.
#[tokio::test]
async fn what_an_executor_measured_is_told_of_its_queues_priority() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;

    let said = carrying_out_a_due_run(&dynamo, "MINUTEHAND_METRICS", "Minutehand/test").await;

    let told = measured(&said);
    let [told] = &told[..] else { panic!("{said}") };
    let directive = &told["_aws"]["CloudWatchMetrics"][0];
    assert_eq!(directive["Dimensions"], json!([["function", "priority"]]), "{told}");
    assert_eq!((&told["function"], &told["priority"]), (&json!("executor"), &json!("critical")));
    let metrics = directive["Metrics"].as_array().expect("what is measured");
    assert!(metrics.contains(&json!({"Name": "run_lag_seconds", "Unit": "Seconds"})), "{told}");
    let Some([lag]) = told["run_lag_seconds"].as_array().map(Vec::as_slice) else { panic!("{told}") };
    assert!(lag.as_f64() >= Some(0.0), "{told}");
    assert_eq!((&told["attempts_total"], &told["runs_total.succeeded"]), (&json!(1.0), &json!(1.0)), "{told}");
}

/// Nothing here reads Protobuf, in which a text stands as it is. Functions that were built without what exports do their work all the same, and say so.
///
/// Removed, one after the other: `--otel` gives functions the feature; what an invocation made is sent before its line; its spans are put in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_executor_did_is_exported_to_the_collector_that_it_is_told_of() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;
    let (collector, sent) = listener([]).await;
    let mut invocations = 0;

    let [traces, metrics] = loop {
        let said = carrying_out_a_due_run(&dynamo, "OTEL_EXPORTER_OTLP_ENDPOINT", &collector).await;
        if said.contains("built without OTLP") {
            return not_run("`--otel` is not in MINUTEHAND_BUILD", "the tests of what functions export");
        }
        let sent = sent.lock().expect("nobody panics").clone();
        let texts = ["/v1/traces", "/v1/metrics"].map(|at| {
            let bodies = sent.iter().filter(|(_, path, _)| path == at);
            bodies.map(|(_, _, body)| String::from_utf8_lossy(body)).collect::<String>()
        });
        if texts.iter().all(|text| !text.is_empty()) {
            break texts;
        }
        invocations += 1;
        assert!(invocations < MOST_EXPORTS, "{} requests: {said}", sent.len());
    };

    for (text, wanted) in [
        (&traces, ["minutehand-executor", "minutehand.attempt", "minutehand.status"]),
        (&metrics, ["minutehand-executor", "minutehand_run_lag_seconds", "minutehand_attempts_total"]),
    ] {
        assert!(wanted.iter().all(|word| text.contains(word)), "{wanted:?}: {text}");
    }
}

/// Who answers with these statuses, one after the other, and shows what was sent.
async fn listener(statuses: impl IntoIterator<Item = u16>) -> (String, Arc<Mutex<Vec<(HeaderMap, String, Vec<u8>)>>>) {
    let put = Arc::new(Mutex::new(Vec::new()));
    let (seen, statuses) = (Arc::clone(&put), Mutex::new(statuses.into_iter().collect::<VecDeque<_>>()));
    let answer = Arc::new(move |headers: HeaderMap, uri: Uri, body: Bytes| {
        seen.lock().expect("nobody panics").push((headers, uri.path().to_owned(), body.to_vec()));
        let status = statuses.lock().expect("nobody panics").pop_front().unwrap_or(200);
        StatusCode::from_u16(status).expect("a status")
    });
    let routes = Router::new().fallback(move |headers: HeaderMap, uri: Uri, body: Bytes| {
        let answer = Arc::clone(&answer);
        async move { answer(headers, uri, body) }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (address, put)
}

/// The bucket is away at first: the batch is given back, and comes again.
#[tokio::test]
async fn what_expired_is_put_into_the_bucket_as_s3_wants_it() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;
    let (address, put) = listener([503, 200]).await;
    let torn = json!({"pk": {"S": "acme#h#1"}, "sk": {"S": "run#1"}, "version": {"N": "1"}});
    let event = json!({"Records": [removed("e-1", Some(EXPIRY), &torn)]});
    let mut runtime = RuntimeApi::start([event.clone(), event]).await;
    let mut archiver = Function::Archiver.start(&dynamo, &runtime);
    archiver.env("AWS_ENDPOINT_URL_S3", &address).env("MINUTEHAND_METRICS", "Minutehand/test");
    let child = archiver.spawn().expect("it was built");
    let mut did = Vec::new();
    while did.len() < 2 {
        match runtime.next().await {
            Did::Polled(_) => {}
            other => did.push(other),
        }
    }
    let Did::Polled(_) = runtime.next().await else { panic!("it asks again") };

    let said = said_until_now(child).await;

    let [Did::Failed(why), Did::Answered(_)] = &did[..] else { panic!("{did:?}: {said}") };
    assert!(why.to_string().contains("503"), "{why}");
    let put = put.lock().expect("nobody panics").clone();
    let [first, second] = &put[..] else { panic!("two puts: {}", put.len()) };
    let (headers, path, object) = second;
    assert!(path.starts_with("/kept/_unreadable/acme/") && path.ends_with("/e1-1.jsonl.gz"), "{path}");
    assert_eq!((&first.1, &first.2), (path, object), "what comes again replaces what was there");
    let header = |name: &str| headers[name].to_str().expect("text").to_owned();
    assert_eq!(header("x-amz-content-sha256"), HEXLOWER.encode(&Sha256::digest(object)));
    assert!(header("authorization").contains("/us-east-1/s3/aws4_request"), "{headers:?}");
    let told = measured(&said);
    let told = told.iter().filter(|line| !line["archived_runs_total.unreadable"].is_null());
    assert_eq!(told.count(), 1, "{said}");
}

/// There is none here: what answers is the table's emulator.
#[tokio::test]
async fn a_switch_that_cannot_be_pushed_takes_nothing_from_the_pass_that_it_asked_for() {
    let _turn = bootstraps().await;
    let dynamo = Dynamo::start().await;
    let mut runtime = RuntimeApi::start([json!({"switch": "fired"})]).await;
    let mut sweeper = Function::Sweeper.start(&dynamo, &runtime);
    sweeper.env("MINUTEHAND_SWITCH", "prod-switch").env("MINUTEHAND_SWITCH_MINUTES", "5");
    let child = sweeper.env("MINUTEHAND_METRICS", "Minutehand/test").spawn().expect("it was built");
    let Did::Polled(_) = runtime.next().await else { panic!("it asks first") };
    let answered = runtime.next().await;
    let Did::Polled(_) = runtime.next().await else { panic!("it asks again") };

    let said = said_until_now(child).await;

    assert!(matches!(answered, Did::Answered(Value::Null)), "{answered:?}");
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let tells = |level: &str, what: &str| {
        lines.iter().any(|line| line["level"] == level && line["message"].as_str().is_some_and(|it| it.contains(what)))
    };
    assert!(tells("ERROR", "the dead man's switch fired") && tells("WARN", "was not pushed"), "{said}");
    assert!(tells("INFO", "swept"), "{said}");
    let told = lines.iter().find(|line| !line["_aws"].is_null()).expect("it measures");
    assert_eq!(
        (&told["switch_fired_total"], &told["switch_pushes_total.failed"]),
        (&json!(1.0), &json!(1.0)),
        "{told}"
    );
    assert_eq!(told["dead_letters_oldest_seconds"], json!([0.0]), "there is none: {told}");
}

fn creation(job: &Value) -> Value {
    let mut event = Function::Api.event();
    event["rawQueryString"] = json!("");
    event["headers"]["content-type"] = json!("application/json");
    event["requestContext"]["http"]["method"] = json!("POST");
    event["body"] = json!(job.to_string());
    event
}

/// What an executor with one more setting says while it carries out a critical run that is due, by the hint that the API has sent.
async fn carrying_out_a_due_run(dynamo: &Dynamo, setting: &str, value: &str) -> String {
    let queues = Scripted::start(|_, asked| asked.taken_but(|_| None)).await;
    let hint = hint_of_a_due_run(dynamo, &queues).await;
    let mut runtime = RuntimeApi::start([hint]).await;
    let mut executor = Function::Executor.start(dynamo, &runtime);
    executor.env("AWS_ENDPOINT_URL_SQS", queues.endpoint()).env(setting, value);
    let child = executor.spawn().expect("it was built");
    let Did::Polled(_) = runtime.next().await else { panic!("it asks first") };
    let answered = runtime.next().await;

    let said = said_until_now(child).await;

    match answered {
        Did::Answered(answer) => assert_eq!(answer["batchItemFailures"].get(0), None, "{said}"),
        other => panic!("{other:?}: {said}"),
    }
    said
}

/// As its trigger sends it to an executor.
async fn hint_of_a_due_run(dynamo: &Dynamo, queues: &Scripted) -> Value {
    let creation = creation(&json!({"target": {"noop": {}}, "priority": "critical"}));
    let mut runtime = RuntimeApi::start([creation]).await;
    let mut api = Function::Api.start(dynamo, &runtime);
    let _child = api.env("AWS_ENDPOINT_URL_SQS", queues.endpoint()).spawn().expect("it was built");
    let Did::Polled(_) = runtime.next().await else { panic!("it asks first") };
    match runtime.next().await {
        Did::Answered(answer) => assert_eq!(answer["statusCode"], 201, "{answer}"),
        other => panic!("{other:?}"),
    }
    let asked = queues.asked();
    let [sent] = &asked[..] else { panic!("one hint: {asked:?}") };
    assert_eq!(sent.body["QueueUrl"], "http://127.0.0.1:9/1/critical", "{sent:?}");
    let mut event = Function::Executor.event();
    event["Records"][0]["body"] = sent.entries()[0]["MessageBody"].clone();
    event["Records"][0]["eventSourceARN"] = json!("arn:aws:sqs:us-east-1:1:critical");
    event
}

/// The lines of what was measured, among all that was said.
fn measured(said: &str) -> Vec<Value> {
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| !line["_aws"].is_null()).collect()
}

async fn said_until_now(mut child: Child) -> String {
    use tokio::io::AsyncReadExt as _;
    child.start_kill().expect("it runs");
    let mut said = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut said).await.expect("text");
    said
}
