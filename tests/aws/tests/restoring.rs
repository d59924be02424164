//! Point-in-time recovery on AWS: the table of state is as it was at an instant, that of timers is empty, or goes on from where it was; a repair
//! makes timers and cursors again, and every job fires.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_aws_tests::dynamo::tables;
use minutehand_aws_tests::stage::Stage;
use minutehand_domain::Moment;
use minutehand_io::store::dynamo::Listing;
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);
const JOBS: usize = 12;

type Item = HashMap<String, AttributeValue>;

#[tokio::test(flavor = "multi_thread")]
async fn after_the_state_was_restored_and_the_timers_are_gone_a_repair_has_every_job_fire() {
    let stage = Stage::new(Listing::ByHour).await;
    let jobs = created(&stage).await;
    live(&stage, 2).await;
    replace(&stage, &tables().timers, Vec::new()).await;
    stage.purge();
    stage.jump_to(stage.now() + 10 * MINUTE);

    let found = repair(&stage).await;
    let restored_at = stage.now();
    live(&stage, 3).await;

    assert!(found >= JOBS as u64, "{found} findings");
    fired_since(&stage, &jobs, restored_at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_state_was_restored_to_before_its_timers_a_repair_has_every_job_fire() {
    let stage = Stage::new(Listing::ByHour).await;
    let jobs = created(&stage).await;
    live(&stage, 1).await;
    let then = all_of(&stage, &tables().state).await;
    live(&stage, 5).await;
    let later = created(&stage).await;
    replace(&stage, &tables().state, then).await;
    stage.purge();

    repair(&stage).await;
    let restored_at = stage.now();
    live(&stage, 3).await;

    fired_since(&stage, &jobs, restored_at).await;
    for job in later {
        let (status, _) = stage.ask("GET", &format!("/v1/jobs/{job}"), None).await;
        assert_eq!(status, 404, "what was created since is not there");
    }
}

async fn created(stage: &Stage) -> Vec<String> {
    let mut jobs = Vec::new();
    for _ in 0..JOBS {
        jobs.push(stage.create(&json!({"target": {"noop": {}}, "schedule": {"every_seconds": 60}})).await);
    }
    jobs
}

/// So many minutes, a tick at each.
async fn live(stage: &Stage, minutes: u32) {
    for _ in 0..minutes {
        stage.sweep_all().await;
        stage.work_until(stage.now() + MINUTE).await;
    }
}

/// Says how much was found.
async fn repair(stage: &Stage) -> u64 {
    let (mut cursor, mut found) = (Value::Null, 0);
    loop {
        let request = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let (status, answer) = stage.ask("POST", "/v1/repair", Some(&request)).await;
        assert!(status.is_success(), "{answer}");
        found += ["without_timer", "overdue"].iter().filter_map(|count| answer[count].as_u64()).sum::<u64>();
        cursor = answer["next_cursor"].clone();
        if cursor.is_null() {
            return found;
        }
    }
}

/// Each job has a run that succeeded, of an instant after that.
async fn fired_since(stage: &Stage, jobs: &[String], since: Moment) {
    let mut silent = BTreeSet::new();
    for job in jobs {
        let (status, runs) = stage.ask("GET", &format!("/v1/jobs/{job}/runs?limit=1000"), None).await;
        assert!(status.is_success(), "{runs}");
        let fired = runs["items"].as_array().expect("a list").iter().any(|run| {
            run["status"] == "succeeded"
                && run["scheduled_at"].as_str().is_some_and(|at| at > since.to_string().as_str())
        });
        if !fired {
            silent.insert(job);
        }
    }
    assert!(silent.is_empty(), "{silent:?} do not fire any more");
}

async fn all_of(stage: &Stage, table: &str) -> Vec<Item> {
    let mut pages = Client::new(&stage.dynamo().config()).scan().table_name(table).into_paginator().items().send();
    let mut items = Vec::new();
    while let Some(item) = pages.next().await {
        items.push(item.expect("it is there"));
    }
    items
}

/// The table holds these and nothing else.
async fn replace(stage: &Stage, table: &str, items: Vec<Item>) {
    let client = Client::new(&stage.dynamo().config());
    for item in all_of(stage, table).await {
        let key = ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone()));
        client.delete_item().table_name(table).set_key(Some(key.into())).send().await.expect("it goes");
    }
    for item in items {
        client.put_item().table_name(table).set_item(Some(item)).send().await.expect("it comes back");
    }
}
