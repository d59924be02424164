//! The bus: what was told arrives where a rule sends it, and what the bus does not take is tried once more and then lost,
//! counted.

use std::time::Duration;

use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::types::Target;
use http::StatusCode;
use minutehand_aws_tests::ministack::{ACCOUNT, Authorization, Ministack, REGION};
use minutehand_aws_tests::scripted::{Answer, Asked, Scripted};
use minutehand_domain::id::Worker;
use minutehand_domain::job::Job;
use minutehand_domain::run::{Holder, Lease, Run, State};
use minutehand_io::events::bridge::Bus;
use minutehand_io::events::{Event, Events as _};
use minutehand_tests::conformance::world::{at, job, run, tenant};
use serde_json::{Value, json};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);
const BUS: &str = "minutehand-events";

#[tokio::test]
async fn what_was_told_arrives_where_a_rule_sends_it() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let heard = Heard::on(&aws).await;
    let bus = Bus::new(aws.eventbridge(), Some(BUS.to_owned()));

    created(&bus, &job(&tenant(), 1));
    told(&bus, &Run { fence: 2, started_at: Some(at(61)), ..ended() });
    told(&bus, &Run { state: claimed(), ..ended() });
    bus.flush().await;

    let mut all = [heard.next().await, heard.next().await];
    all.sort_by_key(|event| event["detail-type"].to_string());
    let [job_created, run_ended] = all;
    assert_eq!((&job_created["detail-type"], &job_created["source"]), (&json!("job.created"), &json!("minutehand")));
    assert_eq!(job_created["detail"]["tags"], json!(["billing"]));
    let ended = &run_ended["detail"];
    assert_eq!(run_ended["detail-type"], "run.timed_out");
    assert_eq!(
        (&ended["tenant"], &ended["attempts"], &ended["status"]),
        (&json!("acme"), &json!(2), &json!("timed_out"))
    );
    assert_eq!(ended["run_id"], run(1, 60).key.to_string());
    assert_eq!((&ended["scheduled_at"], &ended["finished_at"]), (&json!(at(60)), &json!(at(70))));
    assert_eq!(bus.lost(), 0);
}

#[tokio::test]
async fn without_a_name_there_is_only_the_log() {
    let (scripted, client) = bus_that(|_, asked| answer(asked, |_| None)).await;
    let bus = Bus::new(client, None);

    told(&bus, &ended());
    bus.flush().await;

    assert_eq!((scripted.asked(), bus.lost()), (vec![], 0));
}

#[tokio::test]
async fn events_travel_by_tens_and_a_flush_of_nothing_asks_nothing() {
    let (scripted, client) = bus_that(|_, asked| answer(asked, |_| None)).await;
    let bus = Bus::new(client, Some(BUS.to_owned()));

    for _ in 0..25 {
        told(&bus, &ended());
    }
    bus.flush().await;
    bus.flush().await;

    assert_eq!(scripted.asked().iter().map(|asked| asked.entries().len()).collect::<Vec<_>>(), [10, 10, 5]);
    let entry = scripted.asked().remove(0).entries()[0].clone();
    assert_eq!((&entry["EventBusName"], &entry["Source"]), (&json!(BUS), &json!("minutehand")));
    assert_eq!(entry["Time"].as_f64(), Some(1_800_000_070.0), "when the run ended");
}

/// Tried: without the second try, the one that would have been taken is lost too; with more of them, a bus that never takes
/// an event is asked for ever.
#[tokio::test]
async fn what_the_bus_does_not_take_is_tried_once_more_and_then_lost() {
    let script = |before, asked: &Asked| {
        answer(asked, move |detail| match number_of(detail) {
            3 => Some("InternalFailure"),
            4 if before == 0 => Some("ThrottlingException"),
            _another => None,
        })
    };
    let (scripted, client) = bus_that(script).await;
    let bus = Bus::new(client, Some(BUS.to_owned()));

    for number in 1..=5 {
        told(&bus, &Run { fence: number, ..ended() });
    }
    bus.flush().await;
    bus.flush().await;

    let asked: Vec<Vec<_>> = scripted.asked().iter().map(numbers_in).collect();
    assert_eq!(asked, [vec![1, 2, 3, 4, 5], vec![3, 4]]);
    assert_eq!(bus.lost(), 1);
}

/// Tried: without the end to a flush that meets no bus, each of its requests waits out the SDK's retries.
#[tokio::test]
async fn while_the_bus_is_away_a_flush_gives_up_and_keeps_the_rest() {
    let (scripted, client) = bus_that(|_, _| Answer::Error(StatusCode::BAD_REQUEST, "ValidationException")).await;
    let bus = Bus::new(client, Some(BUS.to_owned()));

    for _ in 0..30 {
        told(&bus, &ended());
    }
    bus.flush().await;

    assert_eq!(scripted.asked().len(), 2, "ten events, twice");
    assert_eq!(bus.lost(), 10);
    bus.flush().await;
    assert_eq!(bus.lost(), 20);
}

#[tokio::test]
async fn telling_neither_waits_nor_grows_without_end() {
    let (scripted, client) = bus_that(|_, asked| answer(asked, |_| None)).await;
    let bus = Bus::new(client, Some(BUS.to_owned()));

    for _ in 0..8_192 + 3 {
        told(&bus, &ended());
    }

    assert_eq!(bus.lost(), 3);
    bus.flush().await;
    assert_eq!(scripted.asked().iter().map(|asked| asked.entries().len()).sum::<usize>(), 8_192);
    assert_eq!(bus.lost(), 3, "counted once");
}

fn created(bus: &Bus, job: &Job) {
    bus.emit(&Event::Job { job, what: "created" });
}

fn told(bus: &Bus, run: &Run) {
    bus.emit(&Event::Run { run, from: "running", was: None, now: at(70) });
}

fn ended() -> Run {
    Run { state: State::TimedOut { at: at(70) }, ..run(1, 60) }
}

fn claimed() -> State {
    State::Running(Lease { holder: Holder::Process(Worker(1)), until: at(120), cancelled: false, token: None })
}

/// A queue that hears all that is told on the bus.
struct Heard {
    sqs: aws_sdk_sqs::Client,
    url: String,
}

impl Heard {
    async fn on(aws: &Ministack) -> Self {
        let (sqs, events) = (aws.sqs(), aws.eventbridge());
        let url = sqs.create_queue().queue_name("heard").send().await.unwrap().queue_url.unwrap();
        events.create_event_bus().name(BUS).send().await.unwrap();
        let rule = events.put_rule().name("all").event_bus_name(BUS).event_pattern(r#"{"source": ["minutehand"]}"#);
        rule.send().await.unwrap();
        let queue = Target::builder().id("heard").arn(format!("arn:aws:sqs:{REGION}:{ACCOUNT}:heard")).build().unwrap();
        events.put_targets().rule("all").event_bus_name(BUS).targets(queue).send().await.unwrap();
        Self { sqs, url }
    }

    async fn next(&self) -> Value {
        let request = self.sqs.receive_message().queue_url(&self.url).wait_time_seconds(20);
        let heard = timeout(PATIENCE, request.send()).await.expect("it is told").unwrap();
        serde_json::from_str(heard.messages()[0].body().unwrap()).unwrap()
    }
}

async fn bus_that(script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> (Scripted, Client) {
    let scripted = Scripted::start(script).await;
    let client = Client::new(&scripted.sdk());
    (scripted, client)
}

/// The bus's answer: all is taken, but for entries whose detail fails with a code.
fn answer(asked: &Asked, code: impl Fn(&Value) -> Option<&'static str>) -> Answer {
    let entries = asked.entries().iter().map(|entry| match code(&detail_of(entry)) {
        Some(code) => json!({"ErrorCode": code, "ErrorMessage": "so it was to be"}),
        None => json!({"EventId": "an event"}),
    });
    Answer::Ok(json!({"Entries": entries.collect::<Vec<_>>()}))
}

fn numbers_in(asked: &Asked) -> Vec<u64> {
    asked.entries().iter().map(|entry| number_of(&detail_of(entry))).collect()
}

/// The events of these tests differ by their number of attempts.
fn number_of(detail: &Value) -> u64 {
    detail["attempts"].as_u64().unwrap()
}

fn detail_of(entry: &Value) -> Value {
    serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap()
}
