//! Services as targets, against ministack: what a call says arrives in the queue, behind the topic, behind the rule of a bus, and in the
//! execution of a state machine. What exactly is asked, and every other answer, stands in the tests of the adapter.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_eventbridge::types::Target as Rule;
use minutehand_aws_tests::ministack::{ACCOUNT, Authorization, Ministack, REGION};
use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::target::{Asks, ServiceTarget, Target};
use minutehand_domain::timer::{TimerKey, TimerStamp};
use minutehand_domain::trace::TraceContext;
use minutehand_io::targets::services::{Endpoints, ServiceCaller};
use minutehand_io::targets::{Answer, Call, Declared, Material, Services as _};
use minutehand_tests::conformance::world::tenant;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);
const DUE: Moment = Moment::from_secs(1_763_640_000);

fn run() -> RunKey {
    RunKey::occurrence(JobId::from_bytes([7; 16]), DUE)
}

/// A queue that hears what is told behind it.
struct Heard {
    sqs: aws_sdk_sqs::Client,
    url: String,
    arn: String,
}

impl Heard {
    async fn on(aws: &Ministack, name: &str) -> Self {
        let sqs = aws.sqs();
        let url = sqs.create_queue().queue_name(name).send().await.unwrap().queue_url.unwrap();
        Self { sqs, url, arn: format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}") }
    }

    async fn next(&self) -> (Value, BTreeMap<String, String>) {
        let request =
            self.sqs.receive_message().queue_url(&self.url).message_attribute_names("All").wait_time_seconds(20);
        let heard = timeout(PATIENCE, request.send()).await.expect("it is told").unwrap();
        let message = &heard.messages()[0];
        let attributes = message.message_attributes().into_iter().flatten();
        let attributes =
            attributes.map(|(name, value)| (name.clone(), value.string_value().unwrap_or_default().to_owned()));
        (serde_json::from_str(message.body().unwrap()).unwrap(), attributes.collect())
    }
}

/// As an operator declares it; where it lies the endpoint says.
fn queue(name: &str) -> String {
    format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}")
}

/// The operations for which the tests have no SDK.
async fn ask(aws: &Ministack, headers: &str, body: &str) -> String {
    let address = aws.endpoint().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let length = body.len();
    let head =
        format!("POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

async fn ask_sns(aws: &Ministack, form: &str) -> String {
    let scope = format!("authorization: AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/sns/aws4_request\r\n");
    ask(aws, &format!("content-type: application/x-www-form-urlencoded\r\n{scope}"), form).await
}

async fn ask_states(aws: &Ministack, operation: &str, body: &Value) -> Value {
    let scope = format!("authorization: AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/states/aws4_request\r\n");
    let target =
        format!("x-amz-target: AWSStepFunctions.{operation}\r\ncontent-type: application/x-amz-json-1.0\r\n{scope}");
    serde_json::from_str(&ask(aws, &target, &body.to_string()).await).unwrap()
}

fn caller(aws: &Ministack, declared: &Value) -> ServiceCaller {
    let endpoints = Endpoints { region: Some(REGION.to_owned()), all: Some(aws.endpoint()), ..Endpoints::default() };
    let credentials = aws.sdk().credentials_provider().expect("the tests have credentials");
    ServiceCaller::new(Declared::read(&declared.to_string()).unwrap(), endpoints, credentials).unwrap()
}

async fn call(caller: &ServiceCaller, alias: &str, asks: Asks, attempt: u32) -> Answer {
    let target = ServiceTarget { alias: alias.parse().unwrap(), asks };
    let (named, tenant, payload) = (Target::Service(target.clone()), tenant(), Json::of(&json!({"order": 7})));
    let stamp = TimerStamp { generation: 1, written: DUE };
    let call = Call {
        target: &named,
        tenant: &tenant,
        run: run(),
        lease: LeaseId { run: run(), fence: attempt, timer: TimerKey::run(run(), DUE), stamp },
        attempt,
        scheduled_at: DUE,
        now: DUE,
        payload: Some(&payload),
        follows: None,
        trace: &TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", None).unwrap(),
        task: None,
        material: &Material::default(),
        timeout: PATIENCE,
    };
    caller.call(&target, call).await
}

fn result_of(answer: Answer) -> Value {
    match answer {
        Answer::Succeeded { result } => result.map_or(Value::Null, |json| serde_json::from_str(json.as_str()).unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Tried: with the message's attributes left out, nobody knows whose it is.
#[tokio::test]
async fn a_queue_has_the_payload_and_whose_it_is() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let heard = Heard::on(&aws, "orders").await;
    let caller = caller(&aws, &json!({"orders": {"sqs": queue("orders")}}));

    let told = result_of(call(&caller, "orders", Asks::Sqs { group: None }, 3).await);

    let (body, attributes) = heard.next().await;
    assert_eq!(body, json!({"order": 7}));
    assert!(told["message_id"].is_string(), "{told}");
    assert!(attributes.values().any(|value| *value == run().to_string()), "{attributes:?}");
}

#[tokio::test]
async fn a_topic_tells_its_subscribers() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let heard = Heard::on(&aws, "news-heard").await;
    ask_sns(&aws, "Action=CreateTopic&Version=2010-03-31&Name=news").await;
    let topic = format!("arn:aws:sns:{REGION}:{ACCOUNT}:news");
    let form = format!("Action=Subscribe&Version=2010-03-31&TopicArn={topic}&Protocol=sqs&Endpoint={}", heard.arn);
    ask_sns(&aws, &form).await;
    let caller = caller(&aws, &json!({"news": {"sns": topic}}));

    result_of(call(&caller, "news", Asks::Sns { group: None }, 1).await);

    let (notice, _) = heard.next().await;
    let message: Value = serde_json::from_str(notice["Message"].as_str().unwrap()).unwrap();
    assert_eq!(message, json!({"order": 7}), "{notice}");
}

#[tokio::test]
async fn a_bus_sends_it_where_its_rules_say() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let (heard, events) = (Heard::on(&aws, "house-heard").await, aws.eventbridge());
    events.create_event_bus().name("house").send().await.unwrap();
    let rule =
        events.put_rule().name("all").event_bus_name("house").event_pattern(r#"{"source": ["com.example.jobs"]}"#);
    rule.send().await.unwrap();
    let queue = Rule::builder().id("heard").arn(&heard.arn).build().unwrap();
    events.put_targets().rule("all").event_bus_name("house").targets(queue).send().await.unwrap();
    let caller = caller(&aws, &json!({"house": {"eventbridge": {"bus": "house", "source": "com.example.jobs"}}}));

    result_of(call(&caller, "house", Asks::EventBridge { detail_type: Some("paid".to_owned()) }, 1).await);

    let (event, _) = heard.next().await;
    assert_eq!((&event["detail-type"], &event["source"]), (&json!("paid"), &json!("com.example.jobs")), "{event}");
    assert!(event["detail"].to_string().contains(r#""order":7"#), "{event}");
}

/// A run that is called again, because nobody knows whether it was before, starts one execution.
#[tokio::test]
async fn a_state_machine_starts_one_execution_for_a_run() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let definition = json!({"StartAt": "a", "States": {"a": {"Type": "Pass", "End": true}}}).to_string();
    let role = format!("arn:aws:iam::{ACCOUNT}:role/r");
    let machine = json!({"name": "flow", "definition": definition, "roleArn": role});
    let machine = ask_states(&aws, "CreateStateMachine", &machine).await["stateMachineArn"].clone();
    let caller = caller(&aws, &json!({"flow": {"step_functions": machine}}));

    let first = result_of(call(&caller, "flow", Asks::StepFunctions, 1).await);
    let again = call(&caller, "flow", Asks::StepFunctions, 2).await;
    let executions = ask_states(&aws, "ListExecutions", &json!({"stateMachineArn": machine})).await;

    assert!(first["execution"] == json!(run().to_string()), "{first}");
    let started = executions["executions"].as_array().unwrap();
    assert_eq!(started.len(), 1, "{again:?} {executions}");
    assert!(matches!(again, Answer::Succeeded { .. }), "{again:?}");
}

#[tokio::test]
async fn what_is_not_there_fails_with_what_aws_says() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let caller = caller(&aws, &json!({"orders": {"sqs": queue("nothing")}}));

    let answer = call(&caller, "orders", Asks::Sqs { group: None }, 1).await;

    let Answer::Failed { error, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((error.code.as_ref(), error.retryable), ("service_refused", false), "{error:?}");
}
