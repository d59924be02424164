//! Lists of jobs that are asked for by what the jobs are.

use minutehand_domain::head::Head;
use minutehand_domain::id::JobId;
use minutehand_domain::job::Job;
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{World, at, pages};

async fn names(world: &World, query: &str) -> Vec<String> {
    let answer = world.get(&format!("/v1/jobs?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    let mut names: Vec<_> = answer.items("name").iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

/// Six jobs, each another.
async fn six() -> World {
    let world = World::new();
    let every = json!({"every_seconds": 60});
    for (name, fields) in [
        (
            "billing-eu",
            json!({"tags": ["billing", "eu"], "owner": "finance", "priority": "critical", "schedule": every}),
        ),
        ("billing-us", json!({"tags": ["billing", "us"], "owner": "finance", "schedule": every})),
        ("bills", json!({"tags": ["billing-old"], "owner": "ops", "schedule": {"after_seconds": 5}})),
        ("report", json!({"tags": ["eu"], "priority": "low", "schedule": every})),
        ("Report", json!({"schedule": {"on_demand": true}})),
        ("été 100% a_b", json!({"tags": ["é & ü"], "owner": "a b", "schedule": every})),
    ] {
        let mut fields = fields;
        fields["name"] = json!(name);
        let id = world.job_of(fields).await;
        match name {
            "billing-us" => drop(world.tell(&format!("/v1/jobs/{id}/pause")).await),
            "report" => drop(world.delete(&format!("/v1/jobs/{id}")).await),
            _ => {}
        }
        world.pass(1);
    }
    world.pass(60);
    world
}

#[tokio::test]
async fn each_filter_finds_its_jobs() {
    let world = six().await;
    for (query, expected) in [
        ("tag=billing", &["billing-eu", "billing-us"][..]),
        ("tag=eu", &["billing-eu", "report"]),
        ("tag=bill", &[]),
        ("tag=%C3%A9+%26+%C3%BC", &["été 100% a_b"]),
        ("owner=finance", &["billing-eu", "billing-us"]),
        ("owner=fin", &[]),
        ("owner=a%20b", &["été 100% a_b"]),
        ("priority=critical", &["billing-eu"]),
        ("priority=high", &[]),
        ("priority=normal", &["Report", "billing-us", "bills", "été 100% a_b"]),
        ("status=active", &["Report", "billing-eu", "été 100% a_b"]),
        ("status=paused", &["billing-us"]),
        ("status=completed", &["bills"]),
        ("status=cancelled", &["report"]),
        ("name=bill", &["billing-eu", "billing-us", "bills"]),
        ("name=billing-", &["billing-eu", "billing-us"]),
        ("name=report", &["report"]),
        ("name=%C3%A9t%C3%A9%20100%25", &["été 100% a_b"]),
        ("name=eport", &[]),
        ("name=%25", &[]),
    ] {
        assert_eq!(names(&world, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn filters_together_are_all_of_them() {
    let world = six().await;
    for (query, expected) in [
        ("tag=billing&status=active", &["billing-eu"][..]),
        ("tag=eu&priority=low", &["report"]),
        ("name=bill&owner=finance&status=paused&priority=normal&tag=us", &["billing-us"]),
        ("name=bill&owner=ops&tag=billing", &[]),
    ] {
        assert_eq!(names(&world, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_list_that_finds_nothing_is_empty() {
    let world = World::new();

    assert_eq!(world.get("/v1/jobs?tag=none").await.json(), json!({"items": [], "next_cursor": null}));
}

#[tokio::test]
async fn an_impossible_filter_names_its_parameter() {
    let world = World::new();
    let long = format!("name={}", "x".repeat(201));
    for (query, pointer) in [
        ("status=done", "?status"),
        ("status=", "?status"),
        ("priority=urgent", "?priority"),
        ("tag=", "?tag"),
        ("owner=%0A", "?owner"),
        ("name=", "?name"),
        (long.as_str(), "?name"),
        ("tags=a", "?tags"),
    ] {
        let answer = world.get(&format!("/v1/jobs?{query}")).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer], "{query}");
    }
    assert!(world.get("/v1/jobs?tags=a").await.text.contains("did you mean `tag`?"));
    let several = world.get("/v1/jobs?tag=&owner=&name=").await;
    assert_eq!(several.problem(422, "invalid"), ["?tag", "?owner", "?name"]);
    world.get("/v1/jobs?tag=a&tag=b").await.problem(422, "invalid");
}

#[tokio::test]
async fn pages_of_a_filter_lead_through_all_it_finds_and_nothing_else() {
    let world = World::new();
    let mut wanted = Vec::new();
    for n in 0..30 {
        let id =
            world.job_of(json!({"tags": [if n % 3 == 0 { "x" } else { "y" }], "schedule": {"at": at(9000)}})).await;
        if n % 3 == 0 {
            wanted.push(json!(id));
        }
        world.pass(1);
    }

    let pages = pages(&world, "/v1/jobs?tag=x&limit=4", "job_id", async || {}).await;

    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
    assert_eq!(pages.concat(), wanted);
}

#[tokio::test]
async fn a_list_loses_and_doubles_nothing_that_was_there_all_along() {
    let world = World::new();
    let mut wanted = Vec::new();
    for _ in 0..9 {
        wanted.push(json!(world.job(json!({"at": at(9000)})).await));
        world.pass(1);
    }

    let pages = pages(&world, "/v1/jobs?limit=2", "job_id", async || {
        // Its id comes from its key: it may lie anywhere.
        let key = format!("{:?}", world.now());
        world.post("/v1/jobs", json!({"target": {"noop": {}}, "idempotency_key": key})).await;
        world.pass(1);
    })
    .await;

    let mut listed = pages.concat();
    let all = listed.len();
    listed.retain(|id| wanted.contains(id));
    assert_eq!(listed, wanted);
    listed.dedup();
    assert!(listed.len() == wanted.len() && all >= wanted.len());
}

#[tokio::test]
async fn a_cursor_leads_through_its_own_filter_alone() {
    let world = World::new();
    for _ in 0..4 {
        world.job_of(json!({"tags": ["a", "b"], "owner": "a", "name": "a", "schedule": {"on_demand": true}})).await;
    }
    let filters = ["", "tag=a", "tag=b", "owner=a", "name=a", "status=active", "priority=normal", "tag=a&owner=a"];
    for from in filters {
        let first = world.get(&format!("/v1/jobs?limit=1&{from}")).await;
        let cursor = first.word("/next_cursor");
        for to in filters {
            let next = world.get(&format!("/v1/jobs?limit=2&{to}&cursor={cursor}")).await;

            if from == to {
                assert_eq!(next.items("job_id").len(), 2, "the limit may be another");
            } else {
                assert_eq!(next.problem(422, "invalid"), ["?cursor"], "{from} for {to}");
            }
        }
    }
}

#[tokio::test]
async fn a_page_looks_through_many_jobs_and_may_hold_few() {
    let world = World::new();
    let id = world.job_of(json!({"schedule": {"on_demand": true}, "tags": ["common"]})).await;
    let job = world.stored_job(&id).await;
    for n in 1..=10_100_u64 {
        let mut bytes = *job.id.as_bytes();
        bytes[8..].copy_from_slice(&n.to_be_bytes());
        let mut job = Job { id: JobId::from_bytes(bytes), ..job.clone() };
        bytes[0] = 0x7f; // beyond all that are made from a clock
        if n == 10_100 {
            job.id = JobId::from_bytes(bytes);
            job.definition.tags.insert("rare".to_owned());
        }
        let head = Head::Job(job);
        assert!(world.ports.store().put(head.tenant(), head.id(), &head, Guard::Absent).await.unwrap().is_written());
    }

    let first = world.get("/v1/jobs?tag=rare").await;
    let second = world.get(&format!("/v1/jobs?tag=rare&cursor={}", first.word("/next_cursor"))).await;

    assert_eq!(first.field("/items"), json!([]), "ten thousand were enough for one request");
    assert_eq!((second.items("job_id").len(), second.field("/next_cursor")), (1, Value::Null));
}
