//! Calls to services over the wire: exactly what each is asked, signed by whom, and every way in which it can answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit as _, Mac as _};
use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::order::TaskName;
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::secret::SecretValue;
use minutehand_domain::target::Target;
use minutehand_domain::timer::{TimerKey, TimerStamp};
use minutehand_domain::trace::{SpanId, TraceContext};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::form_urlencoded;
use zeroize::Zeroizing;

use super::*;
use crate::logged::Logged;
use crate::targets::Material;
use crate::targets::http::tests::server::Server;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const PATIENT: Duration = Duration::from_secs(20);
const RUN: &str = "run_0w3ge1r70w3ge1r70w3ge1r70w0sn892qr000";

const DECLARED: &str = r#"{
    "reports": {"lambda": "arn:aws:lambda:eu-west-1:123456789012:function:reports:live"},
    "mine": {"lambda": "arn:aws:lambda:eu-west-1:123456789012:function:mine", "tenants": ["other"]},
    "orders": {"sqs": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"},
    "in-order": {"sqs": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo"},
    "news": {"sns": "arn:aws:sns:eu-west-1:123456789012:news"},
    "news-in-order": {"sns": "arn:aws:sns:eu-west-1:123456789012:news.fifo"},
    "house": {"eventbridge": {"bus": "house", "source": "com.example.jobs"}},
    "flow": {"step_functions": "arn:aws:states:eu-west-1:123456789012:stateMachine:flow"},
    "etl": {"ecs": {
        "cluster": "main", "task_definition": "etl:7", "container": "etl", "launch_type": "FARGATE",
        "subnets": ["subnet-1"], "security_groups": ["sg-1"]
    }},
    "plain": {"ecs": {"cluster": "main", "task_definition": "plain", "container": "app"}}
}"#;

fn asking(alias: &str, asks: Asks) -> ServiceTarget {
    ServiceTarget { alias: alias.parse().unwrap(), asks }
}

fn bus() -> Asks {
    Asks::EventBridge { detail_type: None }
}

fn run() -> RunKey {
    RunKey::occurrence(JobId::from_bytes([7; 16]), Moment::from_secs(1_763_640_000))
}

fn lease(fence: u32) -> LeaseId {
    let stamp = TimerStamp { generation: 1, written: run().at };
    LeaseId { run: run(), fence, timer: TimerKey::run(run(), run().at), stamp }
}

fn caller(server: &Server) -> ServiceCaller {
    let endpoints = Endpoints {
        region: Some("eu-west-1".to_owned()),
        all: Some(format!("http://{}", server.address)),
        ..Endpoints::default()
    };
    let credentials = Credentials::new("AKIDEXAMPLE", SECRET, Some("a-token".to_owned()), None, "tests");
    ServiceCaller::new(Declared::read(DECLARED).unwrap(), endpoints, SharedCredentialsProvider::new(credentials))
        .unwrap()
}

async fn call_as(
    caller: &ServiceCaller,
    target: &ServiceTarget,
    payload: Option<&Json>,
    task: Option<&TaskName>,
    attempt: u32,
) -> Answer {
    call_with(caller, target, payload, task, attempt, &Material::default()).await
}

async fn call_with(
    caller: &ServiceCaller,
    target: &ServiceTarget,
    payload: Option<&Json>,
    task: Option<&TaskName>,
    attempt: u32,
    material: &Material,
) -> Answer {
    let (named, tenant) = (Target::Service(target.clone()), Tenant::new("acme").unwrap());
    let call = Call {
        target: &named,
        tenant: &tenant,
        run: run(),
        lease: lease(attempt),
        attempt,
        scheduled_at: run().at,
        now: run().at + Duration::from_millis(12),
        payload,
        follows: None,
        trace: &TraceContext { span: SpanId::of_attempt(run(), attempt), ..trace() },
        task,
        material,
        timeout: PATIENT,
    };
    caller.call(target, call).await
}

async fn call(server: &Server, target: &ServiceTarget, payload: Option<&Json>) -> Answer {
    call_as(&caller(server), target, payload, None, 3).await
}

fn answering(status: &str, body: &str) -> String {
    with_headers(status, "", body)
}

fn with_headers(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// One recorded request.
struct Recorded {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Recorded {
    fn of(server: &Server) -> Self {
        let requests = server.requests();
        let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let line = lines.next().unwrap().to_owned();
        let headers =
            lines.map(|line| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap());
        Self { line, headers: headers.collect(), body: body.to_owned() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// What it has beside what every signed request has.
    fn own_headers(&self) -> Vec<(&str, &str)> {
        let of_all = ["authorization", "content-length", "host", "x-amz-date", "x-amz-security-token"];
        let own = self.headers.iter().filter(|(name, _)| !of_all.contains(&name.as_str()));
        own.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    /// Signed anew by hand, as the documentation of AWS says it.
    fn is_signed_for(&self, service: &str) {
        let (authorization, date) = (&self.headers["authorization"], &self.headers["x-amz-date"]);
        let scope = format!("{}/eu-west-1/{service}/aws4_request", &date[..8]);
        let (signed, told) = authorization
            .strip_prefix(&format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders="))
            .and_then(|rest| rest.split_once(", Signature="))
            .unwrap_or_else(|| panic!("{authorization}"));
        for header in ["host", "x-amz-date", "x-amz-security-token", "content-type"] {
            assert!(signed.split(';').any(|name| name == header), "{header} is not signed: {signed}");
        }
        let target = self.line.split(' ').nth(1).unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = path.replace('%', "%25");
        let headers: Vec<_> = signed.split(';').map(|name| format!("{name}:{}", self.headers[name])).collect();
        let headers = headers.join("\n");
        let body = HEXLOWER.encode(&Sha256::digest(self.body.as_bytes()));
        let canonical = format!("POST\n{path}\n{query}\n{headers}\n\n{signed}\n{body}");
        let canonical = HEXLOWER.encode(&Sha256::digest(canonical.as_bytes()));
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{canonical}");
        let key = [&date[..8], "eu-west-1", service, "aws4_request"]
            .into_iter()
            .fold(format!("AWS4{SECRET}").into_bytes(), |key, part| hmac(&key, part));
        assert_eq!(told, HEXLOWER.encode(&hmac(&key, &to_sign)));
        assert_eq!((&**date, &*self.headers["x-amz-security-token"]), ("20251120T120000Z", "a-token"));
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// What a callee is told of the run, with its names as an object has them.
fn told() -> Value {
    json!({
        "idempotency_key": RUN, "run": RUN, "job": job(), "attempt": "3", "fence": "3",
        "scheduled_at": "2025-11-20T12:00:00.000Z", "traceparent": spanned(3), "tracestate": "rojo=1",
    })
}

fn attributes() -> Value {
    let attribute = |value: String| json!({"DataType": "String", "StringValue": value});
    json!({
        "idempotency-key": attribute(RUN.to_owned()), "minutehand-run": attribute(RUN.to_owned()),
        "minutehand-job": attribute(job()), "minutehand-attempt": attribute("3".to_owned()),
        "minutehand-fence": attribute("3".to_owned()), "traceparent": attribute(spanned(3)),
        "tracestate": attribute("rojo=1".to_owned()),
        "minutehand-scheduled-at": attribute("2025-11-20T12:00:00.000Z".to_owned()),
    })
}

fn job() -> String {
    run().job.to_string()
}

fn trace() -> TraceContext {
    TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", Some("rojo=1")).unwrap()
}

/// The context that an attempt is given.
fn spanned(attempt: u32) -> String {
    TraceContext { span: SpanId::of_attempt(run(), attempt), ..trace() }.to_string()
}

fn payload() -> Json {
    serde_json::from_str::<Box<serde_json::value::RawValue>>(r#"{"order":7,"sum":1.50}"#)
        .map(|raw| Json::compact(&raw))
        .unwrap()
}

fn result(answer: Answer) -> Value {
    match answer {
        Answer::Succeeded { result } => result.map_or(Value::Null, |json| serde_json::from_str(json.as_str()).unwrap()),
        Answer::Failed { .. } | Answer::TimedOut | Answer::Accepted { .. } => panic!("expected a success: {answer:?}"),
    }
}

fn failure(answer: Answer) -> AttemptError {
    match answer {
        Answer::Failed { error, .. } => error,
        Answer::Succeeded { .. } | Answer::TimedOut | Answer::Accepted { .. } => {
            panic!("expected a failure: {answer:?}")
        }
    }
}

#[tokio::test]
async fn a_function_is_given_the_payload_as_it_was_written_and_answers_with_the_result() {
    let server = Server::answering(answering("200 OK", r#"{"sent": 3}"#)).await;

    let answer = call(&server, &asking("reports", Asks::Lambda), Some(&payload())).await;

    assert_eq!(result(answer), json!({"sent": 3}));
    let recorded = Recorded::of(&server);
    assert_eq!(
        recorded.line,
        "POST /2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A123456789012%3Afunction%3Areports/invocations?Qualifier=live HTTP/1.1"
    );
    let context = BASE64.decode(recorded.headers["x-amz-client-context"].as_bytes()).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&context).unwrap(), json!({"custom": told()}));
    assert!(recorded.own_headers().contains(&("x-amz-invocation-type", "RequestResponse")));
    assert_eq!(recorded.body, r#"{"order":7,"sum":1.50}"#);
    recorded.is_signed_for("lambda");
}

#[tokio::test]
async fn a_queue_is_sent_the_payload_with_attributes() {
    let server = Server::answering(answering("200 OK", r#"{"MessageId": "m-1"}"#)).await;

    let answer = call(&server, &asking("orders", Asks::Sqs { group: None }), Some(&payload())).await;

    assert_eq!(result(answer), json!({"message_id": "m-1"}));
    let recorded = Recorded::of(&server);
    assert_eq!(recorded.line, "POST / HTTP/1.1");
    assert_eq!(
        recorded.own_headers(),
        [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", "AmazonSQS.SendMessage")]
    );
    let url = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";
    let expected = json!({
        "QueueUrl": url, "MessageBody": r#"{"order":7,"sum":1.50}"#, "MessageAttributes": attributes(),
    });
    assert_eq!(recorded.json(), expected);
    recorded.is_signed_for("sqs");
}

/// Tried: without a deduplication id that is the run's, a second attempt is a second message.
#[tokio::test]
async fn a_queue_that_keeps_order_drops_the_second_of_one_run() {
    for (alias, group, sent) in [
        ("in-order", None, json!([RUN, job()])),
        ("in-order", Some("acme"), json!([RUN, "acme"])),
        ("orders", Some("acme"), json!([null, "acme"])),
    ] {
        let server = Server::answering(answering("200 OK", r#"{"MessageId": "m-1"}"#)).await;
        let group = group.map(|group| group.parse().unwrap());

        let answer = call(&server, &asking(alias, Asks::Sqs { group }), None).await;

        assert_eq!(result(answer), json!({"message_id": "m-1"}));
        let body = Recorded::of(&server).json();
        assert_eq!(json!([body["MessageDeduplicationId"], body["MessageGroupId"]]), sent);
        assert_eq!(body["MessageBody"], "null", "no message may be empty");
    }
}

#[tokio::test]
async fn a_topic_is_sent_the_payload_with_attributes() {
    let xml = "<PublishResponse><PublishResult><MessageId>m-2</MessageId></PublishResult></PublishResponse>";
    let server = Server::answering(answering("200 OK", xml)).await;

    let answer = call(&server, &asking("news", Asks::Sns { group: None }), Some(&payload())).await;

    assert_eq!(result(answer), json!({"message_id": "m-2"}));
    let recorded = Recorded::of(&server);
    assert_eq!(recorded.own_headers(), [("content-type", "application/x-www-form-urlencoded")]);
    let form: BTreeMap<_, _> = form_urlencoded::parse(recorded.body.as_bytes()).into_owned().collect();
    let expect = |name: &str, value: &str| assert_eq!(form.get(name).map(String::as_str), Some(value), "{name}");
    expect("Action", "Publish");
    expect("Version", "2010-03-31");
    expect("TopicArn", "arn:aws:sns:eu-west-1:123456789012:news");
    expect("Message", r#"{"order":7,"sum":1.50}"#);
    let sent = (1..=8).map(|index| {
        let part = |part: &str| form[&format!("MessageAttributes.entry.{index}.{part}")].clone();
        (part("Name"), json!({"DataType": part("Value.DataType"), "StringValue": part("Value.StringValue")}))
    });
    assert_eq!(Value::Object(sent.collect()), attributes());
    assert_eq!(form.len(), 4 + 3 * 8);
    recorded.is_signed_for("sns");
}

#[tokio::test]
async fn a_topic_that_keeps_order_drops_the_second_of_one_run() {
    let server = Server::answering(answering("200 OK", "<MessageId>m</MessageId>")).await;

    call(&server, &asking("news-in-order", Asks::Sns { group: None }), None).await;

    let form: BTreeMap<_, _> = form_urlencoded::parse(Recorded::of(&server).body.as_bytes()).into_owned().collect();
    assert_eq!((&*form["MessageDeduplicationId"], &*form["MessageGroupId"]), (RUN, &*job()));
}

#[tokio::test]
async fn a_bus_is_put_an_event_with_the_payload_in_its_detail() {
    let put = r#"{"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]}"#;
    for (detail_type, sent) in [(None, "minutehand.run"), (Some("order paid"), "order paid")] {
        let server = Server::answering(answering("200 OK", put)).await;
        let asks = Asks::EventBridge { detail_type: detail_type.map(str::to_owned) };

        let answer = call(&server, &asking("house", asks), Some(&payload())).await;

        assert_eq!(result(answer), json!({"event_id": "e-1"}));
        let recorded = Recorded::of(&server);
        assert_eq!(
            recorded.own_headers(),
            [("content-type", "application/x-amz-json-1.1"), ("x-amz-target", "AWSEvents.PutEvents")]
        );
        let entry = &recorded.json()["Entries"][0];
        assert_eq!(
            json!([entry["EventBusName"], entry["Source"], entry["DetailType"]]),
            json!(["house", "com.example.jobs", sent])
        );
        let detail = entry["Detail"].as_str().unwrap();
        assert!(detail.ends_with(r#","payload":{"order":7,"sum":1.50}}"#), "{detail}");
        assert_eq!(serde_json::from_str::<Value>(detail).unwrap()["minutehand"], told());
        recorded.is_signed_for("events");
    }
}

/// A request may succeed whose only entry failed. Tried: without looking at the entry, it is a success.
#[tokio::test]
async fn an_event_that_the_bus_did_not_take_is_a_failure() {
    for (code, expected, again) in
        [("ThrottlingException", "service_busy", true), ("MalformedDetail", "service_refused", false)]
    {
        let put = json!({"FailedEntryCount": 1, "Entries": [{"ErrorCode": code, "ErrorMessage": "arn:aws:events:x"}]});
        let server = Server::answering(answering("200 OK", &put.to_string())).await;

        let error = failure(call(&server, &asking("house", bus()), None).await);

        assert_eq!((&*error.code, error.retryable), (expected, again));
        assert_eq!(error.message, format!("the bus did not take the event: {code}"));
    }
}

#[tokio::test]
async fn an_execution_is_started_once_under_the_name_of_the_run() {
    let started = r#"{"executionArn": "arn:aws:states:eu-west-1:123456789012:execution:flow:x", "startDate": 1}"#;
    let server = Server::answering(answering("200 OK", started)).await;

    let answer = call(&server, &asking("flow", Asks::StepFunctions), Some(&payload())).await;

    assert_eq!(result(answer), json!({"execution": RUN}));
    let recorded = Recorded::of(&server);
    assert_eq!(
        recorded.own_headers(),
        [("content-type", "application/x-amz-json-1.0"), ("x-amz-target", "AWSStepFunctions.StartExecution")]
    );
    let body = recorded.json();
    let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:flow";
    assert_eq!(json!([body["stateMachineArn"], body["name"]]), json!([machine, RUN]));
    let input: Value = serde_json::from_str(body["input"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({"minutehand": told(), "payload": {"order": 7, "sum": 1.5}}));
    assert!(RUN.len() <= 80, "what a name may have");
    recorded.is_signed_for("states");
}

/// The answer to an earlier attempt was lost. Tried: without the exception, the run fails though its execution goes on.
#[tokio::test]
async fn what_an_earlier_attempt_has_started_is_a_success() {
    let there = r#"{"__type": "com.amazonaws.swf.service.v2.model#ExecutionAlreadyExists", "message": "arn:aws:x"}"#;
    let machine = Server::answering(answering("400 Bad Request", there)).await;
    let tasks =
        r#"{"__type": "ConflictException", "resourceIds": ["arn:aws:ecs:eu-west-1:123456789012:task/main/0a1b"]}"#;
    let cluster = Server::answering(answering("400 Bad Request", tasks)).await;

    assert_eq!(result(call(&machine, &asking("flow", Asks::StepFunctions), None).await), json!({"execution": RUN}));
    assert_eq!(result(call(&cluster, &asking("etl", Asks::Ecs), None).await), json!({"task": "0a1b"}));
}

#[tokio::test]
async fn a_task_is_started_with_the_payload_among_its_variables() {
    let started = r#"{"tasks": [{"taskArn": "arn:aws:ecs:eu-west-1:123456789012:task/main/0a1b"}], "failures": []}"#;
    let server = Server::answering(answering("200 OK", started)).await;

    let answer = call(&server, &asking("etl", Asks::Ecs), Some(&payload())).await;

    assert_eq!(result(answer), json!({"task": "0a1b"}));
    let recorded = Recorded::of(&server);
    assert_eq!(
        recorded.own_headers(),
        [
            ("content-type", "application/x-amz-json-1.1"),
            ("x-amz-target", "AmazonEC2ContainerServiceV20141113.RunTask")
        ]
    );
    let environment = json!([
        {"name": "MINUTEHAND_IDEMPOTENCY_KEY", "value": RUN},
        {"name": "MINUTEHAND_RUN", "value": RUN},
        {"name": "MINUTEHAND_SCHEDULED_AT", "value": "2025-11-20T12:00:00.000Z"},
        {"name": "MINUTEHAND_JOB", "value": job()},
        {"name": "TRACEPARENT", "value": TraceContext { span: SpanId::of_run(run()), ..trace() }.to_string()},
        {"name": "TRACESTATE", "value": "rojo=1"},
        {"name": "MINUTEHAND_PAYLOAD", "value": r#"{"order":7,"sum":1.50}"#},
    ]);
    let network = json!({"subnets": ["subnet-1"], "securityGroups": ["sg-1"], "assignPublicIp": "DISABLED"});
    let expected = json!({
        "cluster": "main", "taskDefinition": "etl:7", "count": 1, "launchType": "FARGATE", "clientToken": RUN,
        "networkConfiguration": {"awsvpcConfiguration": network},
        "overrides": {"containerOverrides": [{"name": "etl", "environment": environment}]},
    });
    assert_eq!(recorded.json(), expected);
    assert!(RUN.len() <= 64, "what a token may have");
    recorded.is_signed_for("ecs");
}

/// ECS compares what two requests of one token ask for. Tried: with the attempt among the variables, or with its span in the place of the run's,
/// they differ.
#[tokio::test]
async fn each_attempt_asks_ecs_for_the_same() {
    let server = Server::answering(answering("200 OK", r#"{"tasks": [], "failures": []}"#)).await;

    for attempt in [1, 2] {
        call_as(&caller(&server), &asking("plain", Asks::Ecs), Some(&payload()), None, attempt).await;
    }

    let bodies = server.requests().into_iter().map(|request| request.split_once("\r\n\r\n").unwrap().1.to_owned());
    let bodies: Vec<_> = bodies.collect();
    assert_eq!(bodies[0], bodies[1]);
    assert!(!bodies[0].contains("networkConfiguration") && !bodies[0].contains("launchType"), "{}", bodies[0]);
}

#[tokio::test]
async fn a_task_that_could_not_be_placed_is_a_failure() {
    for (reason, code, again) in [
        ("RESOURCE:MEMORY", "service_busy", true),
        ("Capacity is unavailable at this time.", "service_busy", true),
        ("MISSING", "service_refused", false),
    ] {
        let failed =
            json!({"tasks": [], "failures": [{"arn": "arn:aws:ecs:eu-west-1:123456789012:x", "reason": reason}]});
        let server = Server::answering(answering("200 OK", &failed.to_string())).await;

        let error = failure(call(&server, &asking("etl", Asks::Ecs), None).await);

        assert_eq!((&*error.code, error.retryable), (code, again));
        assert_eq!(error.message, format!("no task was started: {reason}"));
    }
}

#[tokio::test]
async fn a_function_that_failed_says_how() {
    for (body, said) in [
        (
            r#"{"errorType": "ValueError", "errorMessage": "no such order", "stackTrace": []}"#,
            "ValueError: no such order",
        ),
        (
            r#"{"errorMessage": "2025-11-20T12:00:00Z x Task timed out after 3.00 seconds"}"#,
            "2025-11-20T12:00:00Z x Task timed out after 3.00 seconds",
        ),
        (
            r#"{"errorType": "AccessDenied", "errorMessage": "no right to arn:aws:s3:::bucket/key, says 123456789012"}"#,
            "AccessDenied: no right to (an ARN), says (an account)",
        ),
        ("broken", "the function failed (Unhandled)"),
    ] {
        let server = Server::answering(with_headers("200 OK", "X-Amz-Function-Error: Unhandled\r\n", body)).await;

        let error = failure(call(&server, &asking("reports", Asks::Lambda), None).await);

        assert_eq!((&*error.code, error.retryable, error.reached), ("function_error", true, true));
        assert_eq!(error.message, said);
    }
}

/// Neither whom the deployment signs as nor where an alias leads is a tenant's to read.
#[tokio::test]
async fn what_aws_refuses_is_told_by_its_kind_alone() {
    let orders = asking("orders", Asks::Sqs { group: None });
    for (status, headers, body, expected, message) in [
        (
            "403 Forbidden",
            "x-amzn-errortype: AccessDeniedException:http://internal.amazon.com/x\r\n",
            r#"{"Message": "User: arn:aws:sts::123456789012:assumed-role/x is not authorized"}"#,
            ("service_refused", false, false),
            "AWS answered 403: AccessDeniedException",
        ),
        (
            "400 Bad Request",
            "",
            r#"{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no queue of 123456789012"}"#,
            ("service_refused", false, false),
            "AWS answered 400: QueueDoesNotExist",
        ),
        (
            "400 Bad Request",
            "",
            r#"{"__type": "ThrottlingException"}"#,
            ("service_busy", true, false),
            "AWS answered 400: ThrottlingException",
        ),
        (
            "429 Too Many Requests",
            "x-amzn-errortype: TooManyRequestsException\r\n",
            "{}",
            ("service_busy", true, false),
            "AWS answered 429: TooManyRequestsException",
        ),
        (
            "403 Forbidden",
            "",
            "<ErrorResponse><Error><Type>Sender</Type><Code>AuthorizationError</Code></Error></ErrorResponse>",
            ("service_refused", false, false),
            "AWS answered 403: AuthorizationError",
        ),
        ("500 Internal Server Error", "", "", ("service_failed", true, true), "AWS answered 500"),
        ("503 Service Unavailable", "", "<html>", ("service_failed", true, true), "AWS answered 503"),
        ("408 Request Timeout", "", "", ("service_busy", true, false), "AWS answered 408"),
        ("413 Payload Too Large", "", "", ("too_large", false, false), "AWS answered 413"),
        (
            "403 Forbidden",
            "",
            r#"{"__type": "ExpiredTokenException"}"#,
            ("unavailable", true, false),
            "AWS answered 403: ExpiredTokenException",
        ),
    ] {
        let server = Server::answering(with_headers(status, headers, body)).await;

        let error = failure(call(&server, &orders, None).await);

        assert_eq!((&*error.code, error.retryable, error.reached), expected, "{status} {body}");
        assert_eq!(error.message, message);
    }
}

/// Tried: without asking for the tenant at the call, it is called by whoever had a job before it was another's.
#[tokio::test]
async fn an_alias_is_looked_at_again_when_it_is_called() {
    let server = Server::answering(answering("200 OK", "{}")).await;

    for (alias, asks) in [("mine", Asks::Lambda), ("gone", Asks::Lambda), ("orders", Asks::Lambda)] {
        let error = failure(call(&server, &asking(alias, asks), None).await);

        assert_eq!((&*error.code, error.retryable, error.reached), ("alias", false, false));
        assert!(error.message.ends_with("there are: reports"), "{}", error.message);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn what_a_service_would_refuse_for_its_size_is_not_sent() {
    let server = Server::answering(answering("200 OK", "{}")).await;
    let text = |bytes: usize| Json::of(&json!("x".repeat(bytes)));
    let quotes = Json::of(&json!("\"".repeat(3_600)));

    for (target, payload) in [
        (asking("news", Asks::Sns { group: None }), text(256 * 1024 - 100)),
        (asking("house", bus()), text(256 * 1024 - 100)),
        (asking("flow", Asks::StepFunctions), text(256 * 1024 - 100)),
        (asking("etl", Asks::Ecs), quotes),
    ] {
        let error = failure(call(&server, &target, Some(&payload)).await);

        assert_eq!((&*error.code, error.retryable), ("too_large", false), "{}", error.message);
    }
    assert!(server.requests().is_empty());
}

/// As large as a job's may be when it is made, and for the longest that stands beside it.
#[tokio::test]
async fn what_a_job_may_be_given_is_sent() {
    let server = Server::answering(answering("200 OK", r#"{"tasks": [], "failures": []}"#)).await;
    let task = TaskName { workflow_run: run(), key: "k".repeat(64).parse().unwrap(), branch: Some(9_999) };
    for target in [
        asking("news", Asks::Sns { group: None }),
        asking("house", Asks::EventBridge { detail_type: Some("t".repeat(128)) }),
        asking("flow", Asks::StepFunctions),
        asking("plain", Asks::Ecs),
    ] {
        let most = target.asks.kind().payload_bytes();
        let largest = Json::of(&json!("x".repeat(most - 2)));

        let answer = call_as(&caller(&server), &target, Some(&largest), Some(&task), 3).await;

        assert!(matches!(answer, Answer::Succeeded { .. }), "{target:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_task_of_a_workflow_is_told_apart_from_a_run_of_a_job() {
    let server = Server::answering(answering("200 OK", r#"{"MessageId": "m-1"}"#)).await;
    let task = TaskName { workflow_run: run(), key: "load".parse().unwrap(), branch: Some(2) };

    call_as(&caller(&server), &asking("orders", Asks::Sqs { group: None }), None, Some(&task), 1).await;

    let attributes = Recorded::of(&server).json()["MessageAttributes"].clone();
    let value = |name: &str| attributes[name]["StringValue"].as_str().map(str::to_owned);
    assert_eq!(value("minutehand-workflow-run").as_deref(), Some(RUN));
    assert_eq!((value("minutehand-task").as_deref(), value("minutehand-branch").as_deref()), (Some("load"), Some("2")));
    assert_eq!(value("minutehand-job"), None);
    assert!(attributes.as_object().unwrap().len() <= 10, "what a message may have");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_does_not_answer_is_given_up_within_the_timeout() {
    let server = Server::talking(|stream| async move {
        let _open_and_silent = stream;
        std::future::pending::<()>().await;
    })
    .await;

    assert_eq!(call(&server, &asking("reports", Asks::Lambda), None).await, Answer::TimedOut);
}

/// Counts how often it is asked; what it gives ends an hour after the run's instant.
#[derive(Debug, Default)]
struct Asked(AtomicUsize);

impl ProvideCredentials for Asked {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let times = self.0.fetch_add(1, Ordering::Relaxed);
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_763_640_000 + 3_600);
        let given = if times < 9 {
            Ok(Credentials::new("a", "b", None, Some(end), "tests"))
        } else {
            Err(CredentialsError::not_loaded("none"))
        };
        future::ProvideCredentials::ready(given)
    }
}

#[tokio::test]
async fn credentials_are_asked_for_once_and_again_before_they_end() {
    let asked = Arc::new(Asked::default());
    let provider: Arc<dyn ProvideCredentials> = Arc::clone(&asked) as _;
    let known = KnownCredentials::new(SharedCredentialsProvider::new(provider));
    let times = || asked.0.load(Ordering::Relaxed);
    let begin = Moment::from_secs(1_763_640_000);

    for (after, expected) in [(0, 1), (3_400, 1), (3_481, 2), (3_500, 3)] {
        known.at(begin + Duration::from_secs(after)).await.unwrap();
        assert_eq!(times(), expected, "{after}");
    }
    known.forget();
    known.at(begin).await.unwrap();
    assert_eq!(times(), 4);
}

/// What asks for none is not kept from saying why it fails, nor is what nobody is set up to sign.
#[tokio::test]
async fn without_credentials_no_call_is_prepared() {
    let endpoints = Endpoints { region: Some("eu-west-1".to_owned()), ..Endpoints::default() };
    let caller_of = |error: fn() -> CredentialsError| {
        let nobody = SharedCredentialsProvider::new(Nobody(error));
        ServiceCaller::new(Declared::read(DECLARED).unwrap(), endpoints.clone(), nobody).unwrap()
    };
    let caller = caller_of(|| CredentialsError::provider_error("it is away"));
    let prepared = async |target: ServiceTarget| prepared_by(&caller, target).await;

    let refused = prepared(asking("reports", Asks::Lambda)).await.unwrap_err();

    assert!(matches!(&refused, Fault::Unavailable { port: "credentials", .. }), "{refused}");
    for of_nobody in ["mine", "not-declared"] {
        prepared(asking(of_nobody, Asks::Lambda)).await.unwrap();
    }
    let not_set_up = caller_of(|| CredentialsError::not_loaded("none"));
    prepared_by(&not_set_up, asking("reports", Asks::Lambda)).await.unwrap();
    let told = failure(call_as(&not_set_up, &asking("reports", Asks::Lambda), None, None, 1).await);
    assert_eq!((&*told.code, told.message.as_str()), ("unavailable", "this deployment has no AWS credentials"));
}

async fn prepared_by(caller: &ServiceCaller, target: ServiceTarget) -> Result<(), Fault> {
    let (named, tenant) = (Target::Service(target.clone()), Tenant::new("acme").unwrap());
    let upcoming = Upcoming { target: &named, tenant: &tenant, payload: None, now: run().at };
    caller.prepare(upcoming, &target).await
}

#[derive(Debug)]
struct Nobody(fn() -> CredentialsError);

impl ProvideCredentials for Nobody {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::ready(Err(self.0()))
    }
}

/// Whoever gives them needs a second more than a run waits for them. Removed: that they are asked for apart from whoever waits. Each ask was given up
/// with the wait for it, and no call was ever made; and where some wait one behind the other, a while that is longer than from one to the next was
/// enough.
#[tokio::test(start_paused = true)]
async fn credentials_that_take_longer_than_a_run_waits_for_them_are_known_to_the_next() {
    let endpoints = Endpoints { region: Some("eu-west-1".to_owned()), ..Endpoints::default() };
    let slow = SharedCredentialsProvider::new(Slow(Asked::default()));
    let caller = ServiceCaller::new(Declared::read(DECLARED).unwrap(), endpoints, slow).unwrap();

    let first = prepared_by(&caller, asking("reports", Asks::Lambda)).await;
    tokio::time::sleep(Duration::from_millis(1001)).await;
    let second = prepared_by(&caller, asking("reports", Asks::Lambda)).await;

    assert!(first.is_err() && second.is_ok(), "{first:?}, {second:?}");
}

#[derive(Debug)]
struct Slow(Asked);

impl ProvideCredentials for Slow {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            tokio::time::sleep(ASKED_FOR + Duration::from_secs(1)).await;
            self.0.provide_credentials().await
        })
    }
}

/// Whoever gives them and does not answer keeps nobody for long.
#[tokio::test(start_paused = true)]
async fn credentials_that_are_long_in_coming_are_waited_for_no_longer_than_said() {
    let endpoints = Endpoints { region: Some("eu-west-1".to_owned()), ..Endpoints::default() };
    let caller = ServiceCaller::new(Declared::read(DECLARED).unwrap(), endpoints, SharedCredentialsProvider::new(Mute));
    let (target, tenant) = (asking("reports", Asks::Lambda), Tenant::new("acme").unwrap());
    let upcoming = Upcoming { target: &Target::Service(target.clone()), tenant: &tenant, payload: None, now: run().at };

    let refused = caller.unwrap().prepare(upcoming, &target).await.unwrap_err();

    assert!(refused.to_string().contains("none within 5s"), "{refused}");
}

/// Asked for credentials, it never answers.
#[derive(Debug)]
struct Mute;

impl ProvideCredentials for Mute {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(std::future::pending())
    }
}

/// A service may repeat what it was given, where it says why it does not take that. The operator's log shows the reply whole.
///
/// Removed: the reply is logged as it is. What the secret said stood in the log.
#[tokio::test]
async fn a_reply_is_logged_without_the_secrets_that_it_repeats() {
    let told =
        r#"{"__type": "ValidationException", "message": "Value 'sesame-1234' at 'input' is none of role/minutehand"}"#;
    let server = Server::answering(answering("400 Bad Request", told)).await;
    let value = SecretValue::new(Zeroizing::new("sesame-1234".to_owned())).unwrap();
    let material = Material { signing: None, secrets: [("door".parse().unwrap(), Ok(Arc::new(value)))].into() };
    let logged = Logged::default();

    let seen = logged.see_on();
    call_with(&caller(&server), &asking("flow", Asks::StepFunctions), None, None, 3, &material).await;
    drop(seen);

    let text = logged.text();
    assert!(text.contains("AWS did not take a call") && text.contains("role/minutehand"), "{text}");
    assert!(!text.contains("sesame"), "{text}");
}
