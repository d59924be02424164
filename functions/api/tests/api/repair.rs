//! Repair: timers and cursors are made again from the jobs and runs, while everything goes on.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant, base32};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::timer::TimerKey;
use minutehand_io::Ports as _;
use minutehand_io::store::embedded::Codec;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{Answer, START, World, acme, succeeded};

const MINUTE: Duration = Duration::from_secs(60);

async fn repair(world: &World, request: Value) -> Answer {
    let answer = world.post("/v1/repair", request).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

fn counts(answer: &Answer) -> (u64, u64, u64) {
    let count = |field: &str| answer.field(field).as_u64().unwrap();
    (count("/jobs"), count("/without_timer"), count("/overdue"))
}

/// A job of each minute, from the first full one after the start.
async fn job_of_each_minute(world: &World) -> JobId {
    world.job(json!({"every_seconds": 60, "start_at": (START + MINUTE).to_string()})).await.parse().unwrap()
}

async fn lose_timer(world: &World, job: JobId, at: Moment) {
    let key = TimerKey::occurrence(job, at);
    let timer = world.ports.store().timer(&key).await.unwrap().expect("a timer stands there");
    assert!(world.ports.store().erase_timer(&key, timer.stamp).await.unwrap());
}

async fn runs_at(world: &World, job: JobId) -> Vec<String> {
    let runs = world.get(&format!("/v1/jobs/{job}/runs")).await;
    let mut instants: Vec<String> = runs
        .field("/items")
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["scheduled_at"].as_str().unwrap().to_owned())
        .collect();
    instants.sort();
    instants
}

/// Removed: the timer that is put. The check after found it missing again.
#[tokio::test]
async fn a_timer_that_was_lost_is_made_again_while_everything_goes_on() {
    let world = World::new();
    let job = job_of_each_minute(&world).await;
    let mut next = START + MINUTE;
    while world.ports.store().timer(&TimerKey::occurrence(job, next)).await.unwrap().is_some() {
        lose_timer(&world, job, next).await;
        next = next + MINUTE;
    }

    let checked = repair(&world, json!({"check": true})).await;
    let checked_again = repair(&world, json!({"check": true})).await;
    let repaired = repair(&world, json!({})).await;
    let after = repair(&world, json!({"check": true})).await;

    for found in [&checked, &checked_again, &repaired] {
        assert_eq!(counts(found), (1, 1, 0), "{}", found.text);
        assert_eq!(found.field("/findings/0/found"), "without_timer");
        assert_eq!(found.field("/findings/0/job_id"), job.to_string());
        assert_eq!(found.field("/findings/0/tenant"), "acme");
        assert_eq!(found.field("/findings/0/at"), (START + MINUTE).to_string());
        assert_eq!(found.field("/next_cursor"), Value::Null);
    }
    assert_eq!(counts(&after), (1, 0, 0), "{}", after.text);
    world.pass(60);
    world.work(|_, _| succeeded()).await;
    assert_eq!(runs_at(&world, job).await, [(START + MINUTE).to_string()]);
}

/// Removed: gaps between records are passed over. Nothing found the second occurrence, and it never ran.
#[tokio::test]
async fn an_occurrence_that_the_chain_left_behind_is_found_too() {
    let world = World::new();
    let job = job_of_each_minute(&world).await;
    world.pass(60);
    world.work(|_, _| succeeded()).await;
    lose_timer(&world, job, START + 2 * MINUTE).await;
    world.ports.queues.take(START + 2 * MINUTE);
    world.pass(120);
    world.work(|_, _| succeeded()).await;
    let instant = |minutes: u32| (START + minutes * MINUTE).to_string();
    assert_eq!(runs_at(&world, job).await, [instant(1), instant(3)], "the second is lost");

    let repaired = repair(&world, json!({})).await;
    world.pass(2);
    world.work(|_, _| succeeded()).await;
    world.pass(60);
    world.work(|_, _| succeeded()).await;

    assert_eq!(counts(&repaired), (1, 0, 1), "{}", repaired.text);
    assert!(runs_at(&world, job).await.contains(&instant(2)), "{:?}", runs_at(&world, job).await);
    assert_eq!(counts(&repair(&world, json!({"check": true})).await), (1, 0, 0));
}

/// Removed: records ahead of their time are not read. The cancelled one was taken for the next, and the chain ended there.
#[tokio::test]
async fn the_chain_goes_on_behind_what_was_cancelled_ahead_of_its_time() {
    let world = World::new();
    let hour = 60 * MINUTE;
    let start = START + hour;
    let job: JobId = world.job(json!({"every_seconds": 3600, "start_at": start.to_string()})).await.parse().unwrap();
    let next = world.get(&format!("/v1/jobs/{job}")).await.word("/next_run_id");
    assert_eq!(world.tell(&format!("/v1/runs/{next}/cancel")).await.status, 200);
    for at in [start, start + hour] {
        let key = TimerKey::occurrence(job, at);
        if let Some(timer) = world.ports.store().timer(&key).await.unwrap() {
            assert!(world.ports.store().erase_timer(&key, timer.stamp).await.unwrap());
        }
    }

    let repaired = repair(&world, json!({})).await;

    assert_eq!(counts(&repaired), (1, 1, 0), "{}", repaired.text);
    assert_eq!(repaired.field("/findings/0/at"), (start + hour).to_string());
}

#[tokio::test]
async fn a_repair_is_on_record_and_a_check_is_not() {
    let world = World::new();

    repair(&world, json!({"check": true})).await;
    repair(&world, json!({})).await;
    let all = world.get("/v1/audit?tenant=default").await;

    let items = all.field("/items").as_array().unwrap().clone();
    assert_eq!(items.len(), 1, "{}", all.text);
    assert_eq!((&items[0]["deed"], &items[0]["outcome"]), (&json!("repair"), &json!("done")));
}

/// The job as nobody, or only a later release, can read it.
async fn spoil(world: &World, job: JobId, codec: Codec) {
    let store = world.ports.store();
    let seen = store.get::<Head>(&acme(), job).await.unwrap().unwrap();
    let put = store.seen_through(codec).put(&acme(), job, &seen.item, seen.guard()).await.unwrap();
    assert!(put.is_written());
}

/// By its key an operator finds an item, and can have it discarded.
#[tokio::test]
async fn a_check_names_the_items_that_cannot_be_read_by_their_keys() {
    let world = World::new();
    let (whole, corrupt, later) =
        (job_of_each_minute(&world).await, job_of_each_minute(&world).await, job_of_each_minute(&world).await);
    spoil(&world, corrupt, Codec::Damaging).await;
    spoil(&world, later, Codec::Later).await;

    let checked = repair(&world, json!({"check": true})).await;

    assert_eq!(counts(&checked), (1, 0, 0), "{whole}: {}", checked.text);
    assert_eq!((checked.field("/corrupt"), checked.field("/later")), (json!(1), json!(1)), "{}", checked.text);
    let findings = checked.field("/findings").as_array().unwrap().clone();
    let details = |found: &str| {
        let of_it = findings.iter().filter(|finding| finding["found"] == found);
        of_it.map(|finding| finding["detail"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (found, job) in [("corrupt", corrupt), ("later", later)] {
        let key = format!("heads:{}", base32(&[&b"acme\0"[..], &job.as_bytes()[..]].concat()));
        let details = details(found);
        assert!(matches!(&details[..], [detail] if detail.starts_with(&key)), "{key}: {details:?}");
    }
}

/// Removed: the bound on findings. One answer had them all.
#[tokio::test]
async fn a_repair_of_much_goes_on_where_the_call_before_came_to() {
    let world = World::new();
    let schedule = Schedule::new(&Plan { every_seconds: Some(3600), ..Plan::default() }, START).unwrap();
    for number in 0..2500_u32 {
        let mut id = [7; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        let job = Job::new(acme(), JobId::from_bytes(id), schedule.clone(), Definition::default(), 0, START);
        let put = world.ports.store().put(&acme(), job.id, &Head::Job(job.clone()), Guard::Absent).await.unwrap();
        assert!(put.is_written());
    }

    let (mut request, mut calls, mut found) = (json!({}), 0, 0);
    loop {
        let answer = repair(&world, request).await;
        (calls, found) = (calls + 1, found + counts(&answer).1);
        match answer.field("/next_cursor") {
            Value::String(cursor) => request = json!({ "cursor": cursor }),
            _ => break,
        }
    }

    assert_eq!((calls, found), (3, 2500));
    assert_eq!(counts(&repair(&world, json!({"check": true})).await), (2500, 0, 0));
}

#[tokio::test]
async fn a_cursor_leads_on_only_in_the_repair_that_gave_it() {
    let world = World::new();

    for cursor in ["", "zzz", "00000000000000000000"] {
        let answer = world.post("/v1/repair", json!({"check": true, "cursor": cursor})).await;
        let errors = answer.problem(422, "invalid");
        assert_eq!(errors, ["/cursor"], "{}", answer.text);
    }
}

/// Hints were given, and the queue was purged; the cursor says that they were.
#[tokio::test]
async fn a_repair_forgets_that_hints_were_given_and_a_check_does_not() {
    let world = World::new();
    job_of_each_minute(&world).await;
    world.work(|_, _| succeeded()).await;
    let hinted_to = async || {
        let cursor = world.ports.store().get::<Cursor>(&Tenant::deployment(), 0).await.unwrap();
        cursor.unwrap().item.hinted_to
    };
    let before = hinted_to().await;

    repair(&world, json!({"check": true})).await;
    let checked = hinted_to().await;
    repair(&world, json!({})).await;

    assert_eq!((checked, hinted_to().await), (before, Moment::EPOCH));
}
