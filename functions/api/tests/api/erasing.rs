//! Erasing a tenant: its keys open nothing at once, nothing of it is left at the end, whoever was at it meanwhile, and of another tenant whose name
//! begins alike everything is.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_api::Keyring;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::limits::OPERATIONS_AT_ONCE;
use minutehand_domain::operation::Erasing;
use minutehand_domain::pace;
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};
use minutehand_io::store::embedded::Codec;
use minutehand_io::store::{Bucket, Remain, Seen, Store as _};
use minutehand_io::{Fault, Ports as _};
use minutehand_protocol::job::create::{Created, NewJob, create};
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::sweep::{Allowance, sweep};
use serde_json::json;

use crate::world::{ACME_KEY, Answer, OTHER_KEY, World, echo};

const QUIET: u64 = pace::ERASED_QUIET.as_secs();

/// A tenant with something of most kinds: its admin's key.
async fn settle(world: &World, tenant: &str) -> String {
    let made = world.post("/v1/keys", json!({"name": "admin", "role": "admin", "tenant": tenant})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let key = made.word("/secret");
    world.put(&format!("/v1/quotas/{tenant}"), json!({"max_jobs": 100})).await;
    let hourly = json!({"schedule": {"every_seconds": 3600}, "target": {"noop": {}}, "payload": {"who": tenant}});
    let once = json!({"target": {"noop": {}}, "payload": {"much": "x".repeat(100_000)}, "idempotency_key": "once"});
    let hold = json!({"excluded_dates": [{"date": "2027-12-25"}]});
    for (method, path, body) in [
        ("POST", "/v1/jobs", hourly),
        ("POST", "/v1/jobs", once),
        ("PUT", "/v1/secrets/stripe", json!({"value": "hunter2"})),
        ("PUT", "/v1/calendars/holidays", hold),
        ("POST", "/v1/operations", json!({"act": "pause", "jobs": {"tag": "none"}})),
        ("POST", "/v1/signing-secret/rotate", json!({})),
    ] {
        let answer = world.by(&key, method, path, Some(body)).await;
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.text);
    }
    world.work(|_, _| crate::world::succeeded()).await;
    key
}

async fn remains(world: &World, tenant: &str) -> Vec<Remain> {
    let (mut all, mut behind) = (Vec::new(), None);
    loop {
        let page = world.ports.store().remains(&Tenant::new(tenant).unwrap(), behind).await.unwrap();
        all.extend(page.lying);
        behind = page.next;
        if behind.is_none() {
            return all;
        }
    }
}

async fn erase(world: &World, tenant: &str) -> Answer {
    let answer = world.delete(&format!("/v1/tenants/{tenant}")).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    answer
}

/// What the sweep comes to after so many seconds, and the operation then.
async fn after(world: &World, seconds: u64, operation: &str) -> Answer {
    world.pass(seconds);
    for _ in 0..3 {
        world.pass(2);
        sweep(&*world.ports, 0, &Allowance::UNLIMITED).await.whole().unwrap();
    }
    world.get(&format!("/v1/operations/{operation}")).await
}

#[tokio::test]
async fn nothing_of_a_tenant_is_left_and_of_one_whose_name_begins_alike_everything_is() {
    let world = World::new();
    let (key, kept) = (settle(&world, "ten").await, settle(&world, "ten2").await);
    let (before, theirs) = (remains(&world, "ten").await, remains(&world, "ten2").await);
    assert!(before.len() > 12 && theirs.len() > 12, "{before:?}");

    let begun = erase(&world, "ten").await;
    let operation = begun.word("/operation_id");
    world.by(&key, "GET", "/v1/jobs", None).await.problem(401, "unauthorized");
    let over = after(&world, QUIET, &operation).await;

    assert_eq!((over.word("/state"), over.field("/erasure/left")), ("done".to_owned(), json!(0)), "{}", over.text);
    assert!(over.field("/progress/done").as_u64() >= Some(before.len() as u64), "{}", over.text);
    assert_eq!(remains(&world, "ten").await, []);
    assert_eq!(world.get("/v1/quotas/ten").await.field("/max_jobs"), json!(null));
    let left: BTreeSet<String> = remains(&world, "ten2").await.iter().map(|remain| format!("{remain:?}")).collect();
    assert!(theirs.iter().all(|remain| left.contains(&format!("{remain:?}"))), "timers may have moved on, no more");
    assert_eq!(world.by(&kept, "GET", "/v1/jobs", None).await.items("job_id").len(), 2);
}

/// A request that was let in before, and comes late; and an executor whose run is gone. Removed (`is_quiet` says yes): it was done at once, and what came
/// later stayed.
#[tokio::test]
async fn what_a_slow_request_leaves_behind_is_found_and_waited_for_anew() {
    let world = World::new();
    let key = settle(&world, "ten").await;
    let made = world.by(&key, "POST", "/v1/jobs", Some(json!({"target": {"noop": {}}}))).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let held = world.hold().await;
    let job = job_of(&*world.ports, &held.run.tenant, held.run.key.job).await.unwrap().unwrap();

    let operation = erase(&world, "ten").await.word("/operation_id");
    let meanwhile = after(&world, 60, &operation).await;
    assert_eq!(meanwhile.word("/state"), "running", "{}", meanwhile.text);
    world.finish(&held, &echo(&held)).await;
    assert_eq!(remains(&world, "ten").await, [], "what an executor says of a run that is gone is refused");
    let (id, now) = (JobId::from_bytes([9; 16]), world.now());
    let Job { tenant, schedule, definition, .. } = job;
    let late = NewJob { tenant, id, schedule, definition, payload: None, fingerprint: None, trace: None, now };
    assert!(matches!(create(&*world.ports, late).await.unwrap(), Created::New(_)));
    assert_ne!(remains(&world, "ten").await, []);

    let found = after(&world, QUIET, &operation).await;
    assert_eq!(found.word("/state"), "running", "{}", found.text);
    let over = after(&world, QUIET, &operation).await;

    assert_eq!((over.word("/state"), over.field("/erasure/left")), ("done".to_owned(), json!(0)), "{}", over.text);
    assert_eq!(remains(&world, "ten").await, []);
}

/// Whose a timer is stands at its beginning, whatever is wrong with the rest. Removed (it is read whole): it stayed, and was put off by an hour for ever.
#[tokio::test]
async fn timers_that_nobody_can_read_are_erased_with_their_tenant_and_no_others_are() {
    let world = World::new();
    let due = world.now() + Duration::from_secs(86_400);
    for (tenant, number) in [("ten", 1), ("ten2", 2)] {
        let (key, tenant) = (TimerKey::occurrence(JobId::from_bytes([number; 16]), due), Tenant::new(tenant).unwrap());
        let timer = Timer { key, tenant, stamp: TimerStamp { generation: 1, written: world.now() }, parent: None };
        world.ports.store().seen_through(Codec::Damaging).put_timer(&timer).await.unwrap();
    }

    let operation = erase(&world, "ten").await.word("/operation_id");
    let over = after(&world, QUIET, &operation).await;

    assert_eq!(over.field("/progress/done"), json!(1), "{}", over.text);
    let bucket = Bucket { minute: pace::minute_of(due), shard: 0 };
    let unreadable = world.ports.store().timers(bucket, None, due, 10).await.unwrap().unreadable;
    let left: Vec<_> = unreadable.iter().map(|left| left.timer.map(|key| key.obligation)).collect();
    assert_eq!(left, [Some(Obligation::Occurrence(JobId::from_bytes([2; 16])))]);
}

/// Once under way and once over. Removed (the mark is read, and that it cannot be is a fault): neither could be asked for, and no key or quota be made.
#[tokio::test]
async fn an_erasure_whose_mark_nobody_can_read_is_found_and_one_that_is_over_is_none() {
    let world = World::of(Keyring::single(ACME_KEY, Tenant::deployment()));
    settle(&world, "ten").await;
    let operation = erase(&world, "ten").await.word("/operation_id");

    spoil_mark(&world, "ten", Codec::Damaging).await;
    world.post("/v1/keys", json!({"name": "n", "role": "admin", "tenant": "ten"})).await.problem(409, "conflict");
    world.put("/v1/quotas/ten", json!({"max_jobs": 1})).await.problem(409, "conflict");
    assert_eq!(erase(&world, "ten").await.word("/operation_id"), operation);
    assert_eq!(mark_of(&world, "ten").await.unwrap().item.operation.to_string(), operation, "it is put anew");
    assert_eq!(after(&world, QUIET, &operation).await.word("/state"), "done");
    spoil_mark(&world, "ten", Codec::Damaging).await;
    settle(&world, "ten").await;
    let again = erase(&world, "ten").await.word("/operation_id");

    assert_ne!(again, operation);
    assert_eq!(after(&world, QUIET, &again).await.word("/state"), "done");
    assert_eq!(remains(&world, "ten").await, []);
}

/// Its erasure may be under way, as only that release can tell.
#[tokio::test]
async fn a_mark_of_a_later_release_is_that_releases_to_read() {
    let world = World::of(Keyring::single(ACME_KEY, Tenant::deployment()));
    erase(&world, "ten").await;

    spoil_mark(&world, "ten", Codec::Later).await;
    let refused = world.delete("/v1/tenants/ten").await;

    assert!(refused.status.is_server_error(), "{}", refused.text);
    assert!(matches!(mark_of(&world, "ten").await, Err(Fault::Later { .. })), "it stays");
}

async fn mark_of(world: &World, tenant: &str) -> Result<Seen<Erasing>, Fault> {
    let mark = world.ports.store().get::<Erasing>(&Tenant::deployment(), Tenant::new(tenant).unwrap()).await?;
    Ok(mark.expect("an erasure was asked for"))
}

/// The mark as nobody, or only a later release, can read it.
async fn spoil_mark(world: &World, tenant: &str, codec: Codec) {
    let mark = mark_of(world, tenant).await.unwrap();
    let (store, tenant) = (world.ports.store().seen_through(codec), Tenant::new(tenant).unwrap());
    let put = store.put(&Tenant::deployment(), tenant, &mark.item, mark.guard()).await.unwrap();
    assert!(put.is_written());
}

#[tokio::test]
async fn an_erasure_is_asked_for_twice_as_once_and_carried_to_its_end() {
    let world = World::new();
    settle(&world, "ten").await;

    let (first, second) = (erase(&world, "ten").await, erase(&world, "ten").await);
    let operation = first.word("/operation_id");

    assert_eq!(operation, second.word("/operation_id"));
    for word in ["pause", "cancel"] {
        world.tell(&format!("/v1/operations/{operation}/{word}")).await.problem(409, "conflict");
    }
    world.post("/v1/keys", json!({"name": "n", "role": "admin", "tenant": "ten"})).await.problem(409, "conflict");
    world.put("/v1/quotas/ten", json!({"max_jobs": 1})).await.problem(409, "conflict");
    after(&world, QUIET, &operation).await;
    settle(&world, "ten").await;
    assert_ne!(erase(&world, "ten").await.word("/operation_id"), operation, "its name can be used again");
    let acts = world.get("/v1/audit?tenant=acme").await.field("/items").as_array().unwrap().clone();
    let erased: Vec<_> = acts.iter().filter(|act| act["deed"] == "tenant.erase").collect();
    assert_eq!(erased.len(), 2, "each beginning once");
    assert!(erased.iter().all(|act| act["subject"] == "ten" && act["outcome"] == "done"), "{erased:?}");
}

#[tokio::test]
async fn only_the_deployments_key_may_erase_and_not_its_own_tenant() {
    let world = World::new();

    world.by(OTHER_KEY, "DELETE", "/v1/tenants/ten", None).await.problem(403, "forbidden");
    for own in ["acme", "default"] {
        world.by(ACME_KEY, "DELETE", &format!("/v1/tenants/{own}"), None).await.problem(409, "conflict");
    }
    world.delete("/v1/tenants/NO").await.problem(404, "not-found");
}

/// An erasure cannot be called off. Removed: whoever asks for one too many is told to cancel one.
#[tokio::test]
async fn more_erasures_than_may_be_under_way_are_to_be_asked_for_later() {
    let world = World::new();
    for number in 0..OPERATIONS_AT_ONCE {
        erase(&world, &format!("tenant{number}")).await;
    }

    let refused = world.delete("/v1/tenants/another").await;
    let again = world.delete("/v1/tenants/tenant0").await;

    assert_eq!((refused.status.as_u16(), again.status.as_u16()), (409, 202), "{}", refused.text);
    assert!(!refused.word("/detail").contains("cancel"), "{}", refused.text);
}
