//! The audit: what admins did is on record, before it is done.

use std::future::pending;
use std::pin::pin;

use futures_util::poll;
use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::audit::{Act, ActKey, Deed, Outcome};
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports as _};
use minutehand_protocol::audit::on_record;
use serde_json::{Value, json};

use crate::world::{OTHER_KEY, START, World, acme, at, pages};

async fn deeds(world: &World) -> Vec<(String, String, String)> {
    let answer = world.get("/v1/audit").await;
    let items = answer.field("/items");
    let text = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    items
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (text(item, "deed"), text(item, "subject"), text(item, "outcome")))
        .collect()
}

fn act() -> Act {
    Act {
        tenant: acme(),
        key: ActKey { at: START, number: 7 },
        by: By::host(),
        by_name: None,
        deed: Deed::Repair.as_str().into(),
        subject: "everything".to_owned(),
        request_id: "req_1".to_owned(),
        outcome: None,
        note: None,
    }
}

async fn stored(world: &World) -> Vec<Option<Outcome>> {
    let whole = Moment::EPOCH..Moment::END;
    let acts = world.ports.store().list::<Act>(&acme(), whole, None, 10).await.unwrap().items;
    acts.into_iter().map(|act| act.outcome).collect()
}

#[tokio::test]
async fn each_act_of_an_admin_is_on_record_with_who_and_when() {
    let world = World::new();
    let key = world.post("/v1/keys", json!({"name": "ops", "role": "admin"})).await;
    let (id, secret) = (key.word("/key_id"), key.word("/secret"));
    world.pass(1);

    let set = world.by(&secret, "PUT", "/v1/secrets/stripe", Some(json!({"value": "hunter2"}))).await;
    world.by(&secret, "DELETE", "/v1/secrets/stripe", None).await;
    world.by(&secret, "POST", "/v1/signing-secret/rotate", None).await;
    world.put("/v1/quotas/acme", json!({"max_jobs": 3})).await;
    world.by(&secret, "POST", &format!("/v1/keys/{id}/rotate"), None).await;
    world.pass(1);
    world.delete(&format!("/v1/keys/{id}")).await;

    let mut all = deeds(&world).await;
    let done = |deed: &str, subject: &str| (deed.to_owned(), subject.to_owned(), "done".to_owned());
    assert_eq!(all.remove(0), done("key.revoke", &id), "the newest first");
    assert_eq!(all.pop(), Some(done("key.create", &id)));
    all.sort();
    let within = [
        done("key.rotate", &id),
        done("quota.set", "acme"),
        done("secret.delete", "stripe"),
        done("secret.set", "stripe"),
        done("signing_secret.rotate", "signing-secret"),
    ];
    assert_eq!(all, within);
    let audit = world.get("/v1/audit").await;
    let items = audit.field("/items").as_array().unwrap().clone();
    let recorded = items.iter().find(|item| item["deed"] == "secret.set").unwrap();
    let request_id = set.header("request-id");
    assert_eq!(
        *recorded,
        json!({
            "at": at(1), "by": id, "by_name": "ops", "deed": "secret.set", "subject": "stripe", "outcome": "done",
            "request_id": request_id,
        })
    );
    assert!(!audit.text.contains("hunter2"));
    assert_eq!(items.last().unwrap()["by"], "deployment");
}

#[tokio::test]
async fn what_was_refused_at_the_last_is_on_record_as_not_done_and_what_changes_nothing_is_not() {
    let world = World::new();
    let key = json!({"name": "ops", "role": "admin", "idempotency_key": "k"});
    world.post("/v1/keys", key.clone()).await;

    world.post("/v1/keys", key).await;
    world.delete("/v1/secrets/none").await.problem(404, "not-found");
    world.put("/v1/secrets/a", json!({"value": ""})).await.problem(422, "invalid");

    assert_eq!(deeds(&world).await.len(), 1);
    let refused: Result<(), Fault> =
        on_record(&*world.ports, act(), async { Err(Fault::illegal("test", "no")) }, |_| Some(Outcome::NotDone)).await;
    assert!(refused.is_err());
    let outcomes = stored(&world).await;
    assert_eq!(outcomes.len(), 2);
    assert!(outcomes.contains(&Some(Outcome::NotDone)) && outcomes.contains(&Some(Outcome::Done)), "{outcomes:?}");
}

/// Removed: what a change of a job came to. That of a job that was not there was said to be done.
#[tokio::test]
async fn a_change_of_a_job_that_came_to_nothing_is_not_done() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let none = "job_06h1agnqrvfncqwdr6ny9ec3gc";
    world.tell(&format!("/v1/jobs/{none}/pause")).await.problem(404, "not-found");
    world.delete(&format!("/v1/jobs/{none}")).await.problem(404, "not-found");
    for _ in 0..2 {
        assert_eq!(world.tell(&format!("/v1/jobs/{job}/pause")).await.status, 200, "a second time too");
    }
    assert_eq!(world.delete(&format!("/v1/jobs/{job}")).await.status, 204);
    world.tell(&format!("/v1/jobs/{job}/resume")).await.problem(409, "conflict");

    let mut told: Vec<_> = deeds(&world).await.into_iter().map(|(deed, _, outcome)| (deed, outcome)).collect();
    told.sort();
    let wanted = [
        ("job.delete", "done"),
        ("job.delete", "not_done"),
        ("job.pause", "done"),
        ("job.pause", "done"),
        ("job.pause", "not_done"),
        ("job.resume", "not_done"),
    ];
    assert_eq!(told, wanted.map(|(deed, outcome)| (deed.to_owned(), outcome.to_owned())));
}

/// Removed: what a deletion came to. Of a workflow whose run was under way it was said to be done.
#[tokio::test]
async fn what_is_done_to_a_workflow_is_on_record() {
    let world = World::new();
    let tasks = json!([{"key": "a", "target": {"http": {"url": "https://example.com/"}}}]);
    let made = world.post("/v1/workflows", json!({"name": "w", "tasks": tasks})).await;
    let id = made.word("/workflow_id");
    for what in ["pause", "resume"] {
        assert_eq!(world.tell(&format!("/v1/workflows/{id}/{what}")).await.status, 200);
    }
    assert!(world.tell(&format!("/v1/workflows/{id}/run")).await.status.is_success());
    world.delete(&format!("/v1/workflows/{id}")).await.problem(409, "conflict");
    assert_eq!(world.delete(&format!("/v1/workflows/{id}?cancel=true")).await.status, 204);

    let mut told = deeds(&world).await;
    told.sort();

    let wanted = [
        ("workflow.delete", "done"),
        ("workflow.delete", "not_done"),
        ("workflow.pause", "done"),
        ("workflow.resume", "done"),
    ];
    assert_eq!(told, wanted.map(|(deed, outcome)| (deed.to_owned(), id.clone(), outcome.to_owned())));
}

/// The act itself looks at the record: written after it, none would be there.
#[tokio::test]
async fn an_act_is_on_record_before_it_is_done() {
    let world = World::new();

    let done: Result<_, Fault> =
        on_record(&*world.ports, act(), async { Ok(stored(&world).await) }, |_| Some(Outcome::Done)).await;

    assert_eq!(done.unwrap(), [None], "as it is done it is on record, and nobody knows yet what comes of it");
    assert_eq!(stored(&world).await, [Some(Outcome::Done)]);
}

/// The crash in between: whoever did it is gone, and with them what they would have said of it.
#[tokio::test]
async fn an_act_whose_process_goes_away_stays_on_record_without_an_outcome() {
    let world = World::new();
    {
        let doing = on_record(&*world.ports, act(), pending::<Result<(), Fault>>(), |_| Some(Outcome::Done));
        assert!(poll!(pin!(doing)).is_pending());
    }

    assert_eq!(deeds(&world).await, [("repair".to_owned(), "everything".to_owned(), "unknown".to_owned())]);
}

#[tokio::test]
async fn what_cannot_be_put_on_record_is_not_done() {
    let world = World::new();
    let first: Result<(), Fault> = on_record(&*world.ports, act(), async { Ok(()) }, |_| None).await;
    assert!(first.is_ok());
    let mut touched = false;

    // The same instant and number: its place is taken.
    let second = on_record(
        &*world.ports,
        act(),
        async {
            touched = true;
            Ok(())
        },
        |_| Some(Outcome::Done),
    )
    .await;

    assert!(matches!(second, Err(Fault::Unavailable { .. })));
    assert!(!touched);
}

#[tokio::test]
async fn acts_are_listed_newest_first_within_a_window_page_by_page() {
    let world = World::new();
    assert_eq!(world.get("/v1/audit").await.json(), json!({"items": [], "next_cursor": null}));
    for n in 0..5 {
        world.put(&format!("/v1/secrets/s{n}"), json!({"value": "x"})).await;
        world.pass(60);
    }

    let listed = pages(&world, "/v1/audit?limit=2", "subject", async || {}).await;
    let window = world.get(&format!("/v1/audit?from={}&to={}", at(60), at(180))).await.items("subject");

    assert_eq!(listed, [vec![json!("s4"), json!("s3")], vec![json!("s2"), json!("s1")], vec![json!("s0")]]);
    assert_eq!(window, [json!("s2"), json!("s1")]);
    assert_eq!(world.get("/v1/audit?cursor=0").await.problem(422, "invalid"), ["?cursor"]);
    assert_eq!(world.get(&format!("/v1/audit?from={}&to={}", at(60), at(60))).await.problem(422, "invalid"), ["?from"]);
}

/// Tried: until two seconds from now, where no end is asked for: what was done by the clock that was ahead is hidden until then.
#[tokio::test]
async fn acts_of_a_clock_that_was_ahead_are_listed() {
    let world = World::new();
    let right = world.now();
    world.pass(7200);
    world.put("/v1/secrets/ahead", json!({"value": "x"})).await;
    world.ports.clock.set(right);
    world.put("/v1/secrets/right", json!({"value": "x"})).await;

    let all = world.get("/v1/audit").await.items("subject");
    let until_now = world.get(&format!("/v1/audit?to={}", at(60))).await.items("subject");

    assert_eq!(all, [json!("ahead"), json!("right")]);
    assert_eq!(until_now, [json!("right")]);
}

#[tokio::test]
async fn another_tenants_acts_are_the_deployments_alone_to_see() {
    let world = World::new();
    world.by(OTHER_KEY, "PUT", "/v1/secrets/a", Some(json!({"value": "x"}))).await;

    assert_eq!(deeds(&world).await, []);
    assert_eq!(world.get("/v1/audit?tenant=other").await.items("subject"), [json!("a")]);
    world.by(OTHER_KEY, "GET", "/v1/audit?tenant=acme", None).await.problem(403, "forbidden");
}

/// What the deployment does to a tenant is on that tenant's record.
#[tokio::test]
async fn an_act_is_on_the_record_of_whom_it_is_about() {
    let world = World::new();

    world.put("/v1/quotas/other", json!({})).await;
    world.post("/v1/keys", json!({"name": "x", "role": "viewer", "tenant": "other"})).await;

    let seen = world.by(OTHER_KEY, "GET", "/v1/audit", None).await;
    assert_eq!(seen.items("by"), [json!("deployment"), json!("deployment")]);
    assert_eq!(deeds(&world).await, []);
}
