//! How a job has been doing: beside one job, and in a list where it is asked for.

use minutehand_domain::id::RunKey;
use minutehand_domain::run::{ErrorCode, Outcome, Run};
use minutehand_io::Ports as _;
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::Codec;
use serde_json::{Value, json};

use crate::world::{World, acme, at, failed, pages, succeeded};

async fn health(world: &World, job: &str) -> Value {
    let answer = world.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.field("/health")
}

/// A run of this job that begins now, takes so long and comes to that.
async fn run(world: &World, job: &str, seconds: u64, outcome: Outcome) {
    world.run_of(job).await;
    let claimed = world.hold().await;
    world.pass(seconds);
    world.finish(&claimed, &outcome).await;
}

/// From now on nobody can read the record of this run.
async fn damage(world: &World, run: &str) {
    let (store, key) = (world.ports.store(), run.parse::<RunKey>().unwrap());
    let seen = store.get::<Run>(&acme(), key).await.unwrap().unwrap();
    let put = store.seen_through(Codec::Damaging).put(&acme(), key, &seen.item, seen.guard()).await.unwrap();
    assert!(put.is_written());
}

#[tokio::test]
async fn of_a_new_job_there_is_nothing_to_say() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    let told = health(&world, &job).await;

    let nothing = json!({
        "success_rate": null, "judged": 0, "outcomes": [], "duration_ms": null, "last_success_at": null,
        "consecutive_failures": 0, "overdue_since": null,
    });
    assert_eq!(told, nothing);
}

#[tokio::test]
async fn a_job_is_as_its_newest_runs_were() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}})).await;
    for (seconds, outcome) in
        [(3, succeeded()), (1, succeeded()), (2, succeeded()), (60, Outcome::TimedOut), (0, failed(ErrorCode::Dns))]
    {
        run(&world, &job, seconds, outcome).await;
        world.pass(1);
    }
    let cancelled = world.run_of(&job).await;
    world.tell(&format!("/v1/runs/{cancelled}/cancel")).await;
    world.pass(1);
    world.run_of(&job).await;

    let told = health(&world, &job).await;

    let expected = json!({
        "success_rate": 0.6, "judged": 5, "outcomes": ["cancelled", "failed", "timed_out", "succeeded", "succeeded", "succeeded"],
        "duration_ms": {"p50": 2000, "p95": 3000, "p99": 3000}, "last_success_at": at(8),
        "consecutive_failures": 2, "overdue_since": null,
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_should_have_begun_is_overdue_until_it_has() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 600})).await;
    let once = world.job(json!({"at": at(600)})).await;
    let told = async || [health(&world, &job).await, health(&world, &once).await].map(|of| of["overdue_since"].clone());

    world.pass(629);
    assert_eq!(told().await, [Value::Null, Value::Null]);
    world.pass(1);
    assert_eq!(told().await, [json!(at(600)), json!(at(600))], "that nothing comes after it excuses nobody");
    world.work(|_, _| succeeded()).await;
    assert_eq!(told().await, [Value::Null, Value::Null]);
    world.tell(&format!("/v1/jobs/{job}/pause")).await;
    world.pass(1_000);
    assert_eq!(told().await, [Value::Null, Value::Null]);
}

/// Removed (what lies there is not asked): a job with a record that nobody can read among its newest was never overdue, or was so by that record.
#[tokio::test]
async fn a_job_is_overdue_beside_a_record_that_nobody_can_read() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 600})).await;
    for _ in 0..2 {
        world.pass(600);
        world.work(|_, _| succeeded()).await;
    }
    let newest = world.get(&format!("/v1/jobs/{job}")).await.word("/last_run/run_id");
    damage(&world, &newest).await;

    world.pass(100);
    assert_eq!(health(&world, &job).await["overdue_since"], Value::Null, "something became of it");
    world.pass(600);
    assert_eq!(health(&world, &job).await["overdue_since"], json!(at(1800)));
}

#[tokio::test]
async fn a_run_that_waits_for_a_worker_has_not_begun() {
    let world = World::new();
    let worker = json!({"worker": {"pool": "web1", "handler": "send"}});
    let job = world.job_of(json!({"schedule": {"at": at(60)}, "target": worker})).await;
    world.pass(90);
    world.work(|_, _| succeeded()).await;

    assert_eq!(health(&world, &job).await["overdue_since"], at(60), "it is offered, and nobody is there");
    let ask = json!({"pool": "web1", "worker_id": "a", "wait_seconds": 0});
    assert_eq!(world.post("/v1/leases", ask).await.field("/leases/0/job_id"), job);
    assert_eq!(health(&world, &job).await["overdue_since"], Value::Null);
}

#[tokio::test]
async fn the_own_job_of_a_workflow_has_its_health_too() {
    let world = World::new();
    let workflow =
        world.post("/v1/workflows", json!({"name": "w", "tasks": [{"key": "a", "target": {"noop": {}}}]})).await;
    assert_eq!(workflow.status, 201, "{}", workflow.text);
    let job = workflow.word("/job_id");
    world.tell(&format!("/v1/workflows/{}/run", workflow.word("/workflow_id"))).await;
    world.work(|_, _| succeeded()).await;

    let told = health(&world, &job).await;

    assert_eq!((&told["success_rate"], &told["outcomes"]), (&json!(1.0), &json!(["succeeded"])), "{told}");
}

#[tokio::test]
async fn a_list_says_it_where_it_is_asked_for() {
    let world = World::new();
    let [ran, new] = [world.job(json!({"on_demand": true})).await, world.job(json!({"on_demand": true})).await];
    let last = world.run_of(&ran).await;
    world.work(|_, _| succeeded()).await;
    let shown = async |query: &str, job: &str| {
        let answer = world.get(&format!("/v1/jobs{query}")).await;
        let items = answer.field("/items");
        items.as_array().unwrap().iter().find(|item| item["job_id"] == job).unwrap().clone()
    };

    for job in [&ran, &new] {
        let plain = shown("", job).await;
        assert!(plain.get("last_run").is_none() && plain.get("health").is_none(), "{plain}");
        assert!(shown("?expand=last_run", job).await.get("health").is_none());
        assert_eq!(shown("?expand=health", job).await["health"], health(&world, job).await);
    }
    for expand in ["last_run", "health"] {
        assert_eq!(shown(&format!("?expand={expand}"), &ran).await["last_run"]["run_id"], last);
        assert!(shown(&format!("?expand={expand}"), &new).await.get("last_run").is_none());
    }
    for (query, pointer) in [("expand=runs", "?expand"), ("expand=", "?expand"), ("expands=health", "?expands")] {
        assert_eq!(world.get(&format!("/v1/jobs?{query}")).await.problem(422, "invalid"), [pointer]);
    }
}

/// Tried: without the bound of a page one request reads 12,000 runs.
#[tokio::test]
async fn however_many_runs_and_jobs_there_are_a_hundred_runs_of_fifty_jobs_are_read() {
    let world = World::new();
    let mut made = Vec::new();
    for _ in 0..60 {
        let job = world.job(json!({"on_demand": true})).await;
        for _ in 0..120 {
            world.run_of(&job).await;
        }
        made.push(json!(job));
    }
    world.pass(1);
    let reads = async |path: &str| {
        let before = world.ports.store().meter().reads;
        let answer = world.get(path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        world.ports.store().meter().reads - before
    };

    let one = reads(&format!("/v1/jobs/{}", made[0].as_str().unwrap())).await;
    let listed = reads("/v1/jobs?expand=health&limit=1000").await;
    let last_runs = reads("/v1/jobs?expand=last_run&limit=1000").await;

    assert!((100..110).contains(&one), "{one} for one job");
    assert!((5_000..5_100).contains(&listed), "{listed} for a list with health");
    assert!((100..200).contains(&last_runs), "{last_runs} for a list with last runs");
    let pages = pages(&world, "/v1/jobs?expand=health&limit=1000", "job_id", async || {}).await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 10]);
    made.sort_by_key(ToString::to_string);
    assert_eq!(pages.concat(), made);
}

#[tokio::test]
async fn a_job_that_asks_for_it_shows_how_all_of_a_day_ended() {
    let world = World::new();
    let job =
        world.job_of(json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}, "health": "full"})).await;
    let none = health(&world, &job).await["day"].clone();
    for outcome in [succeeded(), failed(ErrorCode::Dns), Outcome::TimedOut] {
        run(&world, &job, 1, outcome).await;
    }
    world.pass(2 * 3600);
    for _ in 0..110 {
        run(&world, &job, 0, succeeded()).await;
    }

    let told = health(&world, &job).await;
    let again = health(&world, &job).await;

    assert_eq!((&none["success_rate"], &none["hours"]), (&Value::Null, &json!([])));
    assert_eq!((&told["judged"], &told["day"]["succeeded"]), (&json!(100), &json!(111)), "{told}");
    assert_eq!([&told["day"]["failed"], &told["day"]["timed_out"]], [1, 1]);
    let hours = told["day"]["hours"].as_array().unwrap();
    assert_eq!(hours.iter().map(|hour| hour["succeeded"].clone()).collect::<Vec<_>>(), [1, 110]);
    assert_eq!(told["day"], again["day"]);
    world.pass(24 * 3600);
    assert_eq!(health(&world, &job).await["day"]["hours"], json!([]), "a day has gone");
}

#[tokio::test]
async fn what_health_is_made_of_is_asked_for_in_a_word() {
    let world = World::new();
    let made = world
        .post("/v1/jobs", json!({"schedule": {"on_demand": true}, "target": {"noop": {}}, "health": "full"}))
        .await;
    let job = made.word("/job_id");
    assert_eq!(made.field("/health"), "full", "{}", made.text);
    let listed = world.get("/v1/jobs").await.field("/items/0/health");
    assert_eq!(listed, "full");
    assert!(health(&world, &job).await.get("day").is_some());

    let patched = world.patch(&format!("/v1/jobs/{job}"), json!({"name": "n"})).await;
    assert_eq!(patched.field("/health"), "full", "what is not named stays");
    let patched = world.patch(&format!("/v1/jobs/{job}"), json!({"health": null})).await;
    assert!(patched.json().get("health").is_none(), "{}", patched.text);
    assert!(health(&world, &job).await.get("day").is_none());
    let refused = world.patch(&format!("/v1/jobs/{job}"), json!({"health": "all"})).await;
    assert_eq!(refused.problem(422, "invalid"), ["/health"]);
}
