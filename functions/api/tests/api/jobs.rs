//! One job and all of them: reading, listing, pausing, resuming, deleting.

use minutehand_domain::body::{Body, Json};
use minutehand_domain::head::Head;
use minutehand_domain::job::{Definition, Job};
use minutehand_io::Ports as _;
use minutehand_io::store::Store as _;
use serde_json::{Value, json};

use crate::world::{OTHER_KEY, World, at, request};

#[tokio::test]
async fn a_job_reads_back_with_no_last_run_until_it_ran() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    let answer = world.get(&format!("/v1/jobs/{job}")).await;

    assert_eq!(answer.status, 200);
    assert_eq!((answer.field("/job_id"), answer.field("/last_run")), (json!(job), Value::Null));
    let next = answer.field("/next_run_id");
    let next = world.get(&format!("/v1/runs/{}", next.as_str().unwrap())).await;
    assert_eq!(next.field("/scheduled_at"), at(60));
}

#[tokio::test]
async fn a_job_shows_its_newest_run() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    world.tell(&format!("/v1/jobs/{job}/run")).await;
    world.pass(10);
    let newest = world.tell(&format!("/v1/jobs/{job}/run")).await;

    let answer = world.get(&format!("/v1/jobs/{job}")).await;

    assert_eq!(answer.field("/last_run"), newest.json());
}

#[tokio::test]
async fn an_occurrence_cancelled_ahead_of_its_time_is_not_the_last_run() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let next = world.get(&format!("/v1/jobs/{job}")).await.field("/next_run_id");

    world.tell(&format!("/v1/runs/{}/cancel", next.as_str().unwrap())).await;

    assert_eq!(world.get(&format!("/v1/jobs/{job}")).await.field("/last_run"), Value::Null);
}

#[tokio::test]
async fn a_job_whose_last_instant_passed_is_completed() {
    let world = World::new();
    let job = world.job(json!({"at": at(30)})).await;
    world.pass(31);

    let answer = world.get(&format!("/v1/jobs/{job}")).await;

    assert_eq!(answer.field("/status"), "completed");
    assert_eq!((answer.field("/next_run_at"), answer.field("/next_run_id")), (Value::Null, Value::Null));
}

#[tokio::test]
async fn what_is_no_job_is_not_found() {
    let world = World::new();
    for id in ["job_00000000000000000000000000", "job_x", "x", "..%2f..%2fetc", "%ff", "JOB_0"] {
        world.get(&format!("/v1/jobs/{id}")).await.problem(404, "not-found");
        world.delete(&format!("/v1/jobs/{id}")).await.problem(404, "not-found");
        world.tell(&format!("/v1/jobs/{id}/pause")).await.problem(404, "not-found");
        world.tell(&format!("/v1/jobs/{id}/run")).await.problem(404, "not-found");
        world.get(&format!("/v1/jobs/{id}/runs")).await.problem(404, "not-found");
        world.get(&format!("/v1/jobs/{id}/next")).await.problem(404, "not-found");
    }
}

#[tokio::test]
async fn jobs_are_listed_by_id_page_by_page() {
    let world = World::new();
    assert_eq!(world.get("/v1/jobs").await.json(), json!({"items": [], "next_cursor": null}));
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(world.job(json!({"every_seconds": 60})).await);
        world.pass(1);
    }

    let (mut listed, mut path, mut pages) = (Vec::new(), "/v1/jobs?limit=2".to_owned(), 0);
    loop {
        let page = world.get(&path).await;
        listed.extend(page.field("/items").as_array().unwrap().iter().map(|job| job["job_id"].clone()));
        pages += 1;
        let Value::String(cursor) = page.field("/next_cursor") else { break };
        path = format!("/v1/jobs?limit=2&cursor={cursor}");
    }

    assert_eq!((json!(listed), pages), (json!(made), 3));
    assert_eq!(world.get("/v1/jobs?limit=5").await.field("/next_cursor"), Value::Null, "no empty page follows");
}

#[tokio::test]
async fn a_cursor_leads_only_through_the_query_and_tenant_it_came_from() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    world.job(json!({"every_seconds": 60})).await;
    let cursor = world.get("/v1/jobs?limit=1").await.field("/next_cursor");
    let cursor = cursor.as_str().unwrap();
    let theirs = request("GET", &format!("/v1/jobs?cursor={cursor}"), OTHER_KEY);

    let of_another_tenant = world.send(theirs.body(String::new().into()).unwrap()).await;
    let of_another_query = world.get(&format!("/v1/jobs/{job}/runs?cursor={cursor}")).await;
    let forged = world.get("/v1/jobs?cursor=abc").await;
    let cut = world.get(&format!("/v1/jobs?cursor={}", &cursor[..cursor.len() - 8])).await;

    for refused in [of_another_tenant, of_another_query, forged, cut] {
        assert_eq!(refused.problem(422, "invalid"), ["?cursor"]);
    }
}

#[tokio::test]
async fn a_limit_has_bounds_and_a_parameter_a_name() {
    let world = World::new();
    for (query, pointer) in [
        ("limit=0", "?limit"),
        ("limit=1001", "?limit"),
        ("limit=x", "?limit"),
        ("limt=1", "?limt"),
        ("limit=", "?limit"),
    ] {
        assert_eq!(world.get(&format!("/v1/jobs?{query}")).await.problem(422, "invalid"), [pointer], "{query}");
    }
    assert!(world.get("/v1/jobs?limt=1").await.text.contains("did you mean `limit`?"));
}

#[tokio::test]
async fn a_paused_job_fires_nothing_until_it_is_resumed() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    let paused = world.tell(&format!("/v1/jobs/{job}/pause")).await;
    world.pass(90);
    let resumed = world.tell(&format!("/v1/jobs/{job}/resume")).await;

    assert_eq!((paused.status.as_u16(), paused.field("/status")), (200, json!("paused")));
    assert_eq!((paused.field("/next_run_at"), paused.field("/generation")), (Value::Null, json!(2)));
    assert_eq!((resumed.status.as_u16(), resumed.field("/status")), (200, json!("active")));
    assert_eq!((resumed.field("/next_run_at"), resumed.field("/generation")), (json!(at(120)), json!(3)));
}

#[tokio::test]
async fn pausing_and_resuming_twice_is_doing_it_once() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    for (verb, generation) in [("resume", 1), ("pause", 2), ("pause", 2), ("resume", 3), ("resume", 3)] {
        let answer = world.post(&format!("/v1/jobs/{job}/{verb}"), json!({})).await;

        assert_eq!((answer.status.as_u16(), answer.field("/generation")), (200, json!(generation)), "{verb}");
    }
}

#[tokio::test]
async fn a_deleted_job_stays_to_be_read_and_refuses_the_rest() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let path = format!("/v1/jobs/{job}");

    let deleted = world.delete(&path).await;
    let again = world.delete(&path).await;

    assert_eq!((deleted.status.as_u16(), deleted.text.as_str(), again.status.as_u16()), (204, "", 204));
    assert_eq!(world.get(&path).await.field("/status"), "cancelled");
    assert_eq!(world.get("/v1/jobs").await.field("/items/0/status"), "cancelled");
    for verb in ["pause", "resume", "run"] {
        world.tell(&format!("{path}/{verb}")).await.problem(409, "conflict");
    }
}

#[tokio::test]
async fn what_the_store_cannot_read_is_a_fault_that_the_client_is_not_told_of() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let job = world.stored_job(&id).await;
    let payload = Body::Apart(Json::null().digest());
    let broken = Job { definition: Definition { payload, ..job.definition.clone() }, ..job };
    let head = Head::Job(broken);
    let seen = world.ports.store().get::<Head>(head.tenant(), head.id()).await.unwrap().unwrap();
    let put = world.ports.store().put(head.tenant(), head.id(), &head, seen.guard()).await.unwrap();
    assert!(put.is_written());

    let answer = world.get(&format!("/v1/jobs/{id}")).await;

    answer.problem(503, "unavailable");
    assert_eq!(answer.header("retry-after"), "1");
    assert!(!answer.text.contains("body that was written first"), "{}", answer.text);
}
