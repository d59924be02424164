//! Jobs that run behind others, as clients ask for it and as they see what followed what.

use minutehand_domain::limits::FOLLOW_DEPTH;
use minutehand_domain::run::ErrorCode;
use serde_json::{Value, json};

use crate::world::{Answer, OTHER_KEY, START, World, failed, succeeded};

fn behind(job: &str, on: &str) -> Value {
    json!({"schedule": {"after": {"job": job, "on": on}}, "target": {"noop": {}}})
}

/// The things of a list.
fn all(answer: &Answer) -> Vec<Value> {
    answer.field("/items").as_array().cloned().unwrap_or_default()
}

/// A job that runs when it is asked to, and one behind it.
async fn two(world: &World, on: &str) -> (String, String) {
    let front = world.job(json!({"on_demand": true})).await;
    let follower = world.post("/v1/jobs", behind(&front, on)).await.word("/job_id");
    (front, follower)
}

#[tokio::test]
async fn a_job_shows_behind_which_it_runs_and_has_no_next_run() {
    let world = World::new();
    let front = world.job(json!({"on_demand": true})).await;

    let made = world.post("/v1/jobs", json!({"schedule": {"after": {"job": front}}, "target": {"noop": {}}})).await;

    let id = made.word("/job_id");
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.field("/schedule"), json!({"after": {"job": front, "on": "success"}}));
    assert_eq!((made.field("/next_run_at"), made.word("/status")), (Value::Null, "active".to_owned()));
    let next = world.get(&format!("/v1/jobs/{id}/next")).await;
    assert_eq!(next.field("/fires"), json!([]), "{}", next.text);
    assert_eq!(next.word("/description"), format!("follows {front}, on success"));
    assert_eq!(next.field("/exhausted"), json!(false), "it fires whenever the other succeeds");
    let listed = all(&world.get("/v1/jobs").await);
    assert!(listed.iter().any(|job| job["schedule"]["after"]["job"] == json!(front)));
    let fires = world.get("/v1/fires").await;
    assert_eq!(fires.field("/items"), json!([]), "what runs behind another is not forecast");
    assert_eq!(
        world.get(&format!("/v1/jobs/{front}")).await.header("etag"),
        "\"1\"",
        "who follows changes nothing of it"
    );
}

#[tokio::test]
async fn what_followed_what_is_on_both_runs() {
    let world = World::new();
    let (front, follower) = two(&world, "success").await;

    let run = world.run_of(&front).await;
    let before = world.get(&format!("/v1/runs/{run}")).await;
    world.work(|_, _| succeeded()).await;
    world.pass(1);
    world.work(|_, _| succeeded()).await;

    assert_eq!(before.field("/followed_by"), json!([{"job_id": follower, "on": "success", "run_id": null}]));
    let after = world.get(&format!("/v1/runs/{run}")).await;
    let second = after.word("/followed_by/0/run_id");
    let shown = world.get(&format!("/v1/runs/{second}")).await;
    assert_eq!(
        (shown.word("/status"), shown.word("/origin")),
        ("succeeded".to_owned(), "follow".to_owned()),
        "{}",
        shown.text
    );
    assert_eq!((shown.word("/follows"), shown.word("/job_id")), (run.clone(), follower.clone()));
    let events = world.get(&format!("/v1/runs/{second}/events")).await;
    assert_eq!(
        (events.word("/items/0/type"), events.word("/items/0/detail")),
        ("follows".to_owned(), format!("follows {run}"))
    );
    let why = world.get(&format!("/v1/jobs/{follower}/why?at={}", shown.word("/effective_at"))).await;
    assert_eq!((why.word("/verdict"), why.word("/rule")), ("fired".to_owned(), "after".to_owned()), "{}", why.text);
    assert!(why.word("/detail").contains(&format!("it follows {run}")), "{}", why.text);
    let never = world.get(&format!("/v1/jobs/{follower}/why?at=2027-01-15T07:00:00Z")).await;
    assert_eq!(never.word("/rule"), "before_creation", "{}", never.text);
}

#[tokio::test]
async fn an_instant_of_which_nothing_came_says_what_it_waits_for() {
    let world = World::new();
    let (front, follower) = two(&world, "failure").await;
    world.pass(60);

    let why = world.get(&format!("/v1/jobs/{follower}/why?at=2027-01-15T08:00:30Z")).await;

    assert_eq!((why.word("/verdict"), why.word("/rule")), ("not_an_occurrence".to_owned(), "after".to_owned()));
    assert_eq!(why.word("/detail"), format!("not an occurrence: the job follows {front}, on failure"));
}

#[tokio::test]
async fn a_failure_is_followed_by_who_waits_for_one_and_is_on_record_for_who_waits_for_a_success() {
    let world = World::new();
    let (front, success) = two(&world, "success").await;
    let failure = world.post("/v1/jobs", behind(&front, "failure")).await.word("/job_id");
    world.patch(&format!("/v1/jobs/{front}"), json!({"retry": {"max_retries": 0}})).await;

    let run = world.run_of(&front).await;
    world.work(|_, _| failed(ErrorCode::Http4xx)).await;

    let shown = world.get(&format!("/v1/runs/{run}")).await;
    assert_eq!(shown.field("/followed_by").as_array().map(Vec::len), Some(2), "{}", shown.text);
    let of = |job: &str| format!("/v1/jobs/{job}/runs?from=2027-01-15T00:00:00Z&to=2027-01-16T00:00:00Z");
    let skipped = all(&world.get(&of(&success)).await);
    assert_eq!((&skipped[0]["status"], &skipped[0]["reason"]), (&json!("skipped"), &json!("upstream")), "{skipped:?}");
    let runs = all(&world.get(&of(&failure)).await);
    assert_eq!((runs.len(), &runs[0]["follows"]), (1, &json!(run)), "{runs:?}");
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused_and_says_why() {
    let world = World::new();
    let (front, follower) = two(&world, "success").await;
    let foreign = world.by(OTHER_KEY, "POST", "/v1/jobs", Some(json!({"target": {"noop": {}}}))).await.word("/job_id");
    let nobody = "job_00000000000000000000000000";
    let deleted = world.job(json!({"on_demand": true})).await;
    world.delete(&format!("/v1/jobs/{deleted}")).await;

    for (job, detail) in [
        (foreign.as_str(), format!("there is no job {foreign}")),
        (nobody, format!("there is no job {nobody}")),
        (&deleted, format!("job {deleted} was deleted")),
    ] {
        let refused = world.post("/v1/jobs", behind(job, "success")).await;
        assert_eq!(refused.problem(422, "invalid"), ["/schedule/after/job"], "{}", refused.text);
        assert_eq!(refused.word("/errors/0/detail"), detail);
    }
    let schedule = json!({"schedule": {"on_demand": null, "after": {"job": follower, "on": "finished"}}});
    let cycle = world.patch(&format!("/v1/jobs/{front}"), schedule).await;
    assert_eq!(cycle.problem(422, "invalid"), ["/schedule/after/job"], "{}", cycle.text);
    assert_eq!(
        cycle.word("/errors/0/detail"),
        format!("a cycle: {front} follows {follower} follows {front}"),
        "{}",
        cycle.text
    );
}

#[tokio::test]
async fn a_chain_has_so_many_jobs_at_most_and_a_job_so_many_followers() {
    let world = World::new();
    let mut last = world.job(json!({"on_demand": true})).await;
    let first = last.clone();
    for _ in 0..FOLLOW_DEPTH {
        last = world.post("/v1/jobs", behind(&last, "success")).await.word("/job_id");
    }
    let deeper = world.post("/v1/jobs", behind(&last, "success")).await;
    assert_eq!(deeper.problem(422, "invalid"), ["/schedule/after/job"], "{}", deeper.text);

    for _ in 1..16 {
        assert_eq!(world.post("/v1/jobs", behind(&first, "success")).await.status, 201);
    }
    let more = world.post("/v1/jobs", behind(&first, "success")).await;
    assert_eq!(more.problem(422, "invalid"), ["/schedule/after/job"], "{}", more.text);
    world.delete(&format!("/v1/jobs/{last}")).await;
    let elsewhere = all(&world.get("/v1/jobs").await);
    let one = elsewhere.iter().find(|job| job["schedule"]["after"]["job"] == json!(first)).unwrap()["job_id"].clone();
    world.delete(&format!("/v1/jobs/{}", one.as_str().unwrap())).await;
    assert_eq!(world.post("/v1/jobs", behind(&first, "success")).await.status, 201, "one has gone");
}

#[tokio::test]
async fn a_schedule_behind_a_job_is_changed_and_left() {
    let world = World::new();
    let (front, follower) = two(&world, "success").await;
    let path = format!("/v1/jobs/{follower}");

    let on = world.patch(&path, json!({"schedule": {"after": {"on": "failure"}}})).await;
    let left = world.patch(&path, json!({"schedule": {"every_seconds": 60}})).await;

    assert_eq!(on.field("/schedule"), json!({"after": {"job": front, "on": "failure"}}), "{}", on.text);
    assert_eq!(left.field("/schedule"), json!({"every_seconds": 60}), "{}", left.text);
    assert!(world.stored_job(&front).await.followers.is_empty());
    for (schedule, pointer) in [
        (json!({"after": {"job": front}, "every_seconds": 60}), "/schedule/after"),
        (json!({"after": {"job": front}, "jitter_seconds": 60}), "/schedule/jitter_seconds"),
        (json!({"after": {"job": front}, "max_fires": 60}), "/schedule/max_fires"),
        (json!({"after": {"job": front, "on": "sucess"}}), "/schedule/after/on"),
        (json!({"after": {"job": "a"}}), "/schedule/after/job"),
        (json!({"after": {"job": front, "when": 1}}), "/schedule/after/when"),
    ] {
        let refused = world.post("/v1/jobs", json!({"schedule": schedule, "target": {"noop": {}}})).await;
        assert_eq!(refused.problem(422, "invalid"), [pointer], "{}", refused.text);
    }
}

#[tokio::test]
async fn a_preview_says_what_is_followed_and_forecasts_nothing() {
    let world = World::new();
    let (front, _) = two(&world, "success").await;

    let shown =
        world.post("/v1/schedules/preview", json!({"schedule": {"after": {"job": front, "on": "finished"}}})).await;

    assert_eq!(shown.status, 200, "{}", shown.text);
    assert_eq!(
        (shown.word("/description"), shown.field("/fires")),
        (format!("follows {front}, on finished"), json!([]))
    );
}

/// The front job is deleted: that is allowed, and who is behind it shows that it runs behind a job that is gone.
#[tokio::test]
async fn a_job_may_be_deleted_that_others_run_behind() {
    let world = World::new();
    let (front, follower) = two(&world, "finished").await;

    let deleted = world.delete(&format!("/v1/jobs/{front}")).await;

    assert_eq!(deleted.status, 204);
    let shown = world.get(&format!("/v1/jobs/{follower}")).await;
    assert_eq!((shown.word("/schedule/after/job"), shown.word("/status")), (front, "active".to_owned()));
    assert_eq!(shown.field("/last_run"), Value::Null);
}

#[tokio::test]
async fn another_try_is_followed_as_the_first_was() {
    let world = World::new();
    let (front, follower) = two(&world, "success").await;
    world.patch(&format!("/v1/jobs/{front}"), json!({"retry": {"max_retries": 0}})).await;
    let run = world.run_of(&front).await;
    world.work(|_, _| failed(ErrorCode::Http4xx)).await;

    let again = world.tell(&format!("/v1/runs/{run}/retry")).await;
    world.work(|_, _| succeeded()).await;
    world.pass(1);
    world.work(|_, _| succeeded()).await;

    let runs = world.get(&format!("/v1/jobs/{follower}/runs?to=2027-01-16T00:00:00Z&from=2027-01-15T00:00:00Z")).await;
    let said: Vec<_> = all(&runs).iter().map(|run| (run["status"].clone(), run["follows"].clone())).collect();
    assert_eq!(said.len(), 2, "{}", runs.text);
    assert!(said.contains(&(json!("succeeded"), json!(again.word("/run_id")))), "{said:?}");
    assert!(said.contains(&(json!("skipped"), json!(run))), "{said:?}");
    assert!(world.now() > START);
}

/// A workflow may be behind a job, and a job behind a workflow's own.
#[tokio::test]
async fn workflows_follow_and_are_followed() {
    let world = World::new();
    let front = world.job(json!({"on_demand": true})).await;
    let tasks = json!([{"key": "a", "target": {"noop": {}}}]);
    let made = json!({"name": "w", "tasks": tasks, "schedule": {"after": {"job": front}}});
    let workflow = world.post("/v1/workflows", made).await;
    assert_eq!(workflow.status, 201, "{}", workflow.text);
    let own = workflow.word("/job_id");
    let last = world.post("/v1/jobs", behind(&own, "success")).await.word("/job_id");

    world.run_of(&front).await;
    for _ in 0..6 {
        world.work(|_, _| succeeded()).await;
        world.work_tasks(|_, _| Some(succeeded())).await;
        world.pass(1);
    }

    let of = |job: &str| format!("/v1/jobs/{job}/runs?from=2027-01-15T00:00:00Z&to=2027-01-16T00:00:00Z");
    for job in [&own, &last] {
        let runs = all(&world.get(&of(job)).await);
        assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("succeeded")), "{runs:?}");
    }
    let refused = json!({"name": "w", "tasks": tasks, "schedule": {"after": {"job": last}}});
    let cycle = world.put(&format!("/v1/workflows/{}", workflow.word("/workflow_id")), refused).await;
    assert_eq!(cycle.problem(422, "invalid"), ["/schedule/after/job"], "{}", cycle.text);
}

#[tokio::test]
async fn a_workers_lease_says_what_its_run_follows() {
    let world = World::new();
    let front = world.job(json!({"on_demand": true})).await;
    let worker = json!({"worker": {"pool": "web1", "handler": "send"}});
    world.post("/v1/jobs", json!({"schedule": {"after": {"job": front}}, "target": worker})).await;
    let run = world.run_of(&front).await;
    world.work(|_, _| succeeded()).await;
    world.pass(1);
    world.work(|_, _| succeeded()).await;

    let leases = world.post("/v1/leases", json!({"pool": "web1", "worker_id": "a", "wait_seconds": 0})).await;

    assert_eq!(leases.word("/leases/0/follows"), run, "{}", leases.text);
}
