//! What lies in the tables: items that can be read in the console, and that stay under a kilobyte on the hot path, since a
//! write costs a unit for each.

#[path = "items/archiving.rs"]
mod archiving;
#[path = "items/letters.rs"]
mod letters;

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_aws_tests::dynamo::tables;
use minutehand_aws_tests::stage::{BEGIN, Stage};
use minutehand_domain::id::JobId;
use minutehand_domain::timer::Obligation;
use minutehand_io::store::dynamo::Listing;
use serde_json::{Value, json};

type Item = HashMap<String, AttributeValue>;

const HOT_BYTES: usize = 1024;

/// A job as large as most are: a cron expression in a zone, tags, an owner, a hook with a header, a payload kept inside.
fn job() -> Value {
    json!({
        "name": "monthly-billing", "owner": "billing@example.com", "tags": ["billing", "monthly"],
        "schedule": {"cron": "0 2 1 * *", "timezone": "America/New_York"},
        "target": {"http": {"url": "https://billing.example.com/hooks/monthly", "headers": {"x-team": "billing"}}},
        "payload": {"report": "monthly", "of": "x".repeat(150)},
        "retry": {"max_retries": 3, "initial_delay_seconds": 30},
        "idempotency_key": "billing-2027-01",
    })
}

async fn all(stage: &Stage, table: &str) -> Vec<Item> {
    let scan = Client::new(&stage.dynamo().config()).scan().table_name(table).send().await.expect("a small table");
    scan.items.unwrap_or_default()
}

fn said<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

/// As DynamoDB counts: names and values, numbers two digits a byte, and three bytes for what holds others.
fn bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + bytes_of(value)).sum()
}

fn bytes_of(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => digits.len() / 2 + 2,
        AttributeValue::M(item) => 3 + item.len() + bytes(item),
        AttributeValue::L(values) => 3 + values.iter().map(|value| 1 + bytes_of(value)).sum::<usize>(),
        AttributeValue::Bool(_) => 1,
        other => panic!("an attribute that nobody reads: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_the_hot_path_are_attributes_under_a_kilobyte() {
    let stage = Stage::new(Listing::ByHour).await;
    let id = stage.create(&job()).await;
    let due = BEGIN + Duration::from_secs(90);
    let once = json!({"schedule": {"at": due.to_string()}, "target": {"noop": {}}, "retry": {"initial_delay_seconds": 5, "jitter": "none"}});
    let failing = stage.create(&once).await;
    stage.target_fails(true);
    stage
        .live_until(due + Duration::from_secs(120), Obligation::Occurrence(failing.parse::<JobId>().unwrap()).shard(64))
        .await;

    let (items, timers) = (all(&stage, &tables().state).await, all(&stage, &tables().timers).await);

    for item in items.iter().chain(&timers) {
        // What three attempts died of, and when all of it expires, is a few words more than a unit.
        let most =
            if item.get("attempts").is_some_and(|tried| tried.as_l().unwrap().len() == 3) { 1_100 } else { HOT_BYTES };
        assert!(bytes(item) < most, "{} bytes: {item:?}", bytes(item));
    }
    let head = items.iter().find(|item| said(item, "id") == id).expect("the job");
    assert_eq!((said(head, "status"), said(head, "created_at")), ("active", "2027-01-15T08:00:00.000Z"));
    let schedule = head["schedule"].as_m().unwrap()["when"].as_m().unwrap()["cron"].as_m().unwrap();
    assert_eq!((said(schedule, "text"), said(schedule, "zone")), ("0 2 1 * *", "America/New_York"));
    let run = items.iter().find(|item| said(item, "sk").starts_with("run#")).expect("the run that failed");
    assert_eq!((said(run, "status"), said(run, "sk")), ("failed", &*format!("run#{due}#0#0000000000000000")));
    assert_eq!(said(run, "listed_at").len(), 37, "an instant, a job and an origin");
    assert!(said(run, "attention").starts_with("acme#") && said(run, "hour").starts_with("acme#2027-01-15T08#"));
    assert_eq!(run["attempts"].as_l().unwrap().len(), 3, "the newest; an older one is an item of its own");
    let next = timers.iter().find(|item| item.contains_key("due")).expect("the next first of the month");
    assert_eq!((said(next, "tenant"), said(next, "due")), ("acme", "2027-02-01T07:00:00.000Z"));
}
