//! Callbacks and hooks, as clients ask for them and as they see who was told of what.

use minutehand_api::{Keyring, TargetCheck};
use minutehand_domain::id::Tenant;
use minutehand_domain::run::{ErrorCode, Outcome};
use minutehand_io::targets::http::{Reach, check_target};
use serde_json::{Value, json};

use crate::world::{Answer, OTHER_KEY, World, failed, succeeded};

const TARGET: &str = "https://example.com/work";
const TOLD: &str = "https://example.com/told";

fn told_of(on: &Value) -> Value {
    json!({"schedule": {"on_demand": true}, "target": {"http": {"url": TARGET}}, "callback": {"url": TOLD, "on": on}})
}

/// A run of a job that is asked for, and has ended so.
async fn ended(world: &World, job: &str, outcome: &Outcome) -> Answer {
    let run = world.run_of(job).await;
    world.work(|_job, _run| outcome.clone()).await;
    world.get(&format!("/v1/runs/{run}")).await
}

fn not_retryable() -> Outcome {
    failed(ErrorCode::Http4xx)
}

#[tokio::test]
async fn a_callback_is_shown_changed_and_taken_back() {
    let world = World::new();

    let made = world.post("/v1/jobs", json!({"target": {"noop": {}}, "callback": {"url": TOLD}})).await;
    let path = format!("/v1/jobs/{}", made.word("/job_id"));
    let fewer =
        world.patch(&path, json!({"callback": {"on": ["failed"], "headers": {"authorization": "Bearer 7"}}})).await;
    let elsewhere = world.patch(&path, json!({"callback": {"url": TARGET}})).await;
    let shown_again = world.patch(&path, json!({"callback": elsewhere.field("/callback")})).await;
    let taken_back = world.patch(&path, json!({"callback": null})).await;

    let usual = json!(["succeeded", "failed", "timed_out", "cancelled"]);
    assert_eq!(made.field("/callback"), json!({"url": TOLD, "on": usual, "headers": {}}), "{}", made.text);
    let masked = json!({"authorization": "********"});
    assert_eq!(fewer.field("/callback"), json!({"url": TOLD, "on": ["failed"], "headers": masked}), "{}", fewer.text);
    assert_eq!(elsewhere.word("/callback/url"), TARGET);
    assert_eq!((shown_again.status.as_u16(), shown_again.field("/callback/headers")), (200, masked));
    assert_eq!(shown_again.field("/generation"), elsewhere.field("/generation"), "a mask stands for what is there");
    assert_eq!(taken_back.json().get("callback"), None, "{}", taken_back.text);
}

#[tokio::test]
async fn hooks_are_shown_changed_and_taken_back() {
    let world = World::new();
    let before = json!({"url": TOLD});

    let made = world.post("/v1/jobs", json!({"target": {"noop": {}}, "hooks": {"before": before}})).await;
    let path = format!("/v1/jobs/{}", made.word("/job_id"));
    let both = world.patch(&path, json!({"hooks": {"before": {"on_error": "go_on"}, "after": {"url": TARGET}}})).await;
    let one = world.patch(&path, json!({"hooks": {"before": null}})).await;
    let none = world.patch(&path, json!({"hooks": null})).await;

    let usual = json!({"url": TOLD, "timeout_seconds": 10, "on_error": "fail", "headers": {}});
    assert_eq!(made.field("/hooks"), json!({"before": usual}), "{}", made.text);
    let goes_on = json!({"url": TOLD, "timeout_seconds": 10, "on_error": "go_on", "headers": {}});
    assert_eq!(
        both.field("/hooks"),
        json!({"before": goes_on, "after": {"url": TARGET, "headers": {}}}),
        "{}",
        both.text
    );
    assert_eq!(one.field("/hooks"), json!({"after": {"url": TARGET, "headers": {}}}), "{}", one.text);
    assert_eq!(none.json().get("hooks"), None, "{}", none.text);
}

#[tokio::test]
async fn an_end_is_told_of_by_a_run_of_its_own() {
    let world = World::new();
    let job = world.post("/v1/jobs", told_of(&json!(["failed"]))).await.word("/job_id");

    let run = ended(&world, &job, &not_retryable()).await;

    assert_eq!(run.word("/callback/status"), "succeeded", "{}", run.text);
    let teller = world.get(&format!("/v1/runs/{}", run.word("/callback/run_id"))).await;
    assert_eq!((teller.word("/origin"), teller.word("/job_id")), ("callback".to_owned(), job.clone()));
    assert_eq!(teller.field("/callback_of"), run.field("/run_id"));
    // Whatever is called here answers with what it was given.
    let told = teller.field("/result");
    assert_eq!((&told["type"], &told["timestamp"]), (&json!("run.failed"), &run.field("/finished_at")));
    assert_eq!((&told["data"]["run_id"], &told["data"]["job_id"]), (&run.field("/run_id"), &json!(job)));
    assert_eq!(told["data"]["attempts"][0]["error"]["code"], "http_4xx");
}

#[tokio::test]
async fn an_end_that_nobody_asked_about_is_told_to_nobody() {
    let world = World::new();
    let job = world.post("/v1/jobs", told_of(&json!(["failed"]))).await.word("/job_id");

    let run = ended(&world, &job, &succeeded()).await;

    assert_eq!(run.json().get("callback"), None, "{}", run.text);
    assert_eq!(world.get("/v1/runs?from=2026-01-01T00:00:00Z").await.items("origin").len(), 1);
}

/// It is no occurrence of its job: neither its history nor its health knows of it. It is found among all runs, and by its failure.
#[tokio::test]
async fn a_callback_is_no_run_of_its_job() {
    let world = World::new();
    let job = world.post("/v1/jobs", told_of(&json!(["succeeded"]))).await.word("/job_id");
    let run = world.run_of(&job).await;
    for _ in 0..4 {
        world.work_on(|_job, _run| Some(succeeded()), |_callback| not_retryable()).await;
        world.pass(600);
    }

    let shown = world.get(&format!("/v1/runs/{run}")).await;
    let of_the_job = world.get(&format!("/v1/jobs/{job}/runs")).await;
    let health = world.get(&format!("/v1/jobs/{job}")).await.field("/health");
    let all = world.get("/v1/runs").await;
    let failed = world.get("/v1/runs?status=failed").await;

    assert_eq!(shown.word("/callback/status"), "failed", "{}", shown.text);
    assert_eq!(of_the_job.items("run_id"), [json!(run)]);
    assert_eq!((&health["consecutive_failures"], &health["success_rate"]), (&json!(0), &json!(1.0)), "{health}");
    assert_eq!(all.items("origin").len(), 2, "{}", all.text);
    assert_eq!(failed.items("run_id"), [shown.field("/callback/run_id")], "{}", failed.text);
    assert_eq!(failed.items("job_id"), [json!(job)]);
}

#[tokio::test]
async fn a_callback_is_not_retried_and_may_be_cancelled() {
    let world = World::new();
    let job = world.post("/v1/jobs", told_of(&json!(["succeeded"]))).await.word("/job_id");
    let run = world.run_of(&job).await;
    world.work_on(|_job, _run| Some(succeeded()), |_callback| failed(ErrorCode::Http5xx)).await;
    let teller = world.get(&format!("/v1/runs/{run}")).await.word("/callback/run_id");
    let path = format!("/v1/runs/{teller}");

    let retried = world.post(&format!("{path}/retry"), json!({})).await;
    let cancelled = world.post(&format!("{path}/cancel"), json!({})).await;
    let events = world.get(&format!("{path}/events")).await;
    let why = world.get(&format!("{path}/why")).await;

    retried.problem(409, "conflict");
    assert!(retried.word("/detail").contains(&run), "{}", retried.text);
    assert_eq!(cancelled.word("/status"), "cancelled", "{}", cancelled.text);
    assert_eq!(events.items("type")[0], "callback", "{}", events.text);
    assert_eq!(why.status, 200, "{}", why.text);
}

#[tokio::test]
async fn another_tenant_sees_nothing_of_a_callback() {
    let world = World::new();
    let job = world.post("/v1/jobs", told_of(&json!(["failed"]))).await.word("/job_id");
    let run = ended(&world, &job, &not_retryable()).await;
    let path = format!("/v1/runs/{}", run.word("/callback/run_id"));

    for path in [path.clone(), format!("{path}/events"), format!("{path}/why"), format!("{path}/logs")] {
        assert_eq!(world.get(&path).await.status, 200);
        world.by(OTHER_KEY, "GET", &path, None).await.problem(404, "not-found");
    }
    for act in ["cancel", "retry"] {
        world.by(OTHER_KEY, "POST", &format!("{path}/{act}"), Some(json!({}))).await.problem(404, "not-found");
    }
}

#[tokio::test]
async fn a_workflow_has_a_callback_and_a_hook_after_it() {
    let world = World::new();
    let tasks = json!([{"key": "a", "target": {"noop": {}}}]);
    let wish = json!({"name": "w", "tasks": tasks, "callback": {"url": TOLD, "on": ["succeeded"]}, "hooks": {"after": {"url": TARGET}}});

    let made = world.post("/v1/workflows", wish.clone()).await;
    let path = format!("/v1/workflows/{}", made.word("/workflow_id"));
    let run = world.post(&format!("{path}/run"), json!({})).await.word("/run_id");
    for _ in 0..3 {
        world.work(|_job, _run| succeeded()).await;
        world.pass(1);
    }
    let shown = world.get(&format!("/v1/runs/{run}")).await;
    let without = world.put(&path, json!({"name": "w", "tasks": tasks})).await;
    let mut asking = wish;
    asking["hooks"] = json!({"before": {"url": TOLD}});
    let refused = world.post("/v1/workflows", asking).await;

    assert_eq!(made.field("/callback/on"), json!(["succeeded"]), "{}", made.text);
    assert_eq!(
        (shown.word("/status"), shown.word("/callback/status")),
        ("succeeded".to_owned(), "succeeded".to_owned())
    );
    assert_eq!(shown.word("/after/status"), "succeeded", "{}", shown.text);
    assert_eq!((without.json().get("callback"), without.json().get("hooks")), (None, None), "{}", without.text);
    assert_eq!(refused.problem(422, "invalid"), ["/hooks/before"]);
}

#[tokio::test]
async fn what_a_callback_names_must_be_there() {
    let world = World::new();
    let headers = json!({"authorization": {"secret": "nowhere"}});
    for (wish, at) in [
        (json!({"target": {"noop": {}}, "callback": {"url": TOLD, "headers": headers}}), "/callback"),
        (json!({"target": {"noop": {}}, "hooks": {"before": {"url": TOLD, "headers": headers}}}), "/hooks/before"),
        (json!({"target": {"noop": {}}, "hooks": {"after": {"url": TOLD, "headers": headers}}}), "/hooks/after"),
    ] {
        let refused = world.post("/v1/jobs", wish.clone()).await;

        assert_eq!(refused.problem(422, "invalid"), [format!("{at}/headers/authorization")], "{wish}");
        assert!(refused.text.contains("nowhere"), "{}", refused.text);
    }
}

/// They go where targets may go, and set the headers that targets may set.
#[tokio::test]
async fn whoever_is_told_or_asked_is_reached_as_a_target_is() {
    let check = TargetCheck::new(|target| check_target(target, Reach::Public));
    let world = World::whole(Keyring::single("k", Tenant::deployment()), check, None);
    let metadata = json!({"url": "https://169.254.169.254/"});
    let ours = json!({"url": TOLD, "headers": {"webhook-id": "x"}});
    for (wish, pointer) in [
        (json!({"callback": metadata}), "/callback/url"),
        (json!({"callback": ours}), "/callback/headers"),
        (json!({"hooks": {"before": metadata}}), "/hooks/before/url"),
        (json!({"hooks": {"after": metadata}}), "/hooks/after/url"),
        (json!({"hooks": {"after": ours}}), "/hooks/after/headers"),
    ] {
        let mut job = json!({"target": {"noop": {}}});
        job.as_object_mut().unwrap().extend(wish.as_object().unwrap().clone());

        let refused = world.by("k", "POST", "/v1/jobs", Some(job)).await;

        assert_eq!(refused.problem(422, "invalid"), [pointer], "{wish}");
    }
}

#[tokio::test]
async fn a_job_of_workers_asks_nobody_before() {
    let world = World::new();
    let hooks = json!({"before": {"url": TOLD, "timeout_seconds": 30}});
    let worker = json!({"target": {"worker": {"pool": "p", "handler": "h"}}, "hooks": hooks});
    let long = json!({"target": {"http": {"url": TARGET}}, "timeout_seconds": 811, "hooks": hooks});

    let (worker, long) = (world.post("/v1/jobs", worker).await, world.post("/v1/jobs", long).await);

    assert_eq!(worker.problem(422, "invalid"), ["/hooks/before"]);
    assert_eq!(long.problem(422, "invalid"), ["/timeout_seconds"]);
}
