//! One run: its tasks, what they wait for, its branches, its critical path, what happened to it.

use minutehand_domain::access::Role;
use minutehand_domain::order::Terms;
use minutehand_domain::run::TaskPlace;
use minutehand_domain::target::Target;
use minutehand_domain::workflow::definition::{Definition, Does, OnFailure, Policy, Task};
use minutehand_io::Ports as _;
use minutehand_io::store::embedded::Meter;
use serde_json::{Value, json};

use crate::graphs::{approval, each, on_failure, sub_workflow, task};
use crate::world::{OTHER_KEY, World, at, pages, succeeded};

fn words<'a>(tasks: &'a Value, field: &str) -> Vec<&'a str> {
    tasks.as_array().unwrap().iter().map(|task| task[field].as_str().unwrap_or("-")).collect()
}

#[tokio::test]
async fn a_run_is_shown_with_its_tasks_and_what_they_wait_for() {
    let world = World::new();
    let tasks = vec![
        task("extract", &[]),
        task("slow", &["extract"]),
        approval("ok", &["extract"], &[Role::Admin]),
        task("load", &["slow", "ok", "extract"]),
        task("mail", &["load"]),
    ];
    let run = world.begun(Definition { finally: vec![task("tidy", &[])], ..Definition::new(tasks) }).await;
    world.pass(60);

    let shown = world.watch(&run).await;

    assert_eq!((&shown["status"], &shown["version"], &shown["name"]), (&json!("waiting"), &json!(1), &json!("etl 1")));
    assert_eq!(words(&shown["tasks"], "key"), ["extract", "slow", "ok", "load", "mail", "tidy"]);
    assert_eq!(words(&shown["tasks"], "state"), ["succeeded", "running", "waiting", "waiting", "pending", "pending"]);
    assert_eq!(
        words(&shown["tasks"], "waiting_for"),
        [
            "-",
            "-",
            "waits for the approval of an admin since 08:00:00",
            "waits for slow and ok (1 of 3 edges is closed)",
            "waits for load",
            "waits for the end of all tasks before `finally`",
        ]
    );
    assert_eq!(shown["waiting_for"], "slow is running; ok waits for the approval of an admin since 08:00:00");
    assert_eq!(shown["counts"], json!({"pending": 2, "waiting": 2, "running": 1, "succeeded": 1}));
    let load = &shown["tasks"][3];
    assert_eq!(
        load["depends_on"],
        json!([
            {"task": "slow", "on": "success", "holds": null},
            {"task": "ok", "on": "success", "holds": null},
            {"task": "extract", "on": "success", "holds": true},
        ])
    );
    assert_eq!((&load["tries"], &load["run_id"], &load["rule"]), (&json!(0), &json!(null), &json!("all")));
    let ok = &shown["tasks"][2];
    assert_eq!(ok["approval"], json!({"roles": ["admin"], "until": at(86_400), "default": "fail", "answer": null}));
    let path: Vec<_> = shown["critical_path"].as_array().unwrap().iter().map(|step| &step["key"]).collect();
    assert_eq!(path, ["extract", "slow"]);
    assert_eq!(shown["critical_path"][1]["seconds"], json!(60.0));
}

#[tokio::test]
async fn what_never_began_is_cancelled_when_the_run_is_over_and_what_was_skipped_says_why() {
    let world = World::new();
    let tasks = vec![task("bad", &[]), task("after", &["bad"]), task("other", &[])];
    let stopped = world.begun(on_failure(OnFailure::FailFast, tasks.clone())).await;
    let id = world.workflow(2, on_failure(OnFailure::Continue, tasks)).await;
    let skipped = world.start(id).await;
    world.carry_on().await;

    let (stopped, skipped) = (world.watch(&stopped).await, world.watch(&skipped).await);

    assert_eq!((&stopped["status"], &skipped["status"]), (&json!("failed"), &json!("failed")));
    let after =
        |shown: &Value| shown["tasks"].as_array().unwrap().iter().find(|it| it["key"] == "after").unwrap().clone();
    assert_eq!((&after(&stopped)["state"], &after(&stopped)["run_id"]), (&json!("cancelled"), &Value::Null));
    let after = after(&skipped);
    assert_eq!(
        (&after["state"], &after["reason"], &after["tainted"]),
        (&json!("skipped"), &json!("upstream"), &json!(true))
    );
    assert_eq!(skipped["tasks"][0]["error"]["code"], "http_5xx");
    assert_eq!(skipped["counts"], json!({"succeeded": 1, "failed": 1, "skipped": 1}));
}

#[tokio::test]
async fn each_tasks_run_is_a_run_that_says_whose_task_it_is() {
    let world = World::new();
    let run = world.begun(Definition::new(vec![each(task("load", &[]), 3), task("sum", &["load"])])).await;
    let job = world.watch(&run).await["job_id"].clone();
    let sum = world.task(&run, "sum").await["run_id"].as_str().unwrap().to_owned();
    let branches = world.get(&format!("/v1/workflow-runs/{run}/tasks/load/branches")).await;
    let branch = branches.word("/items/2/run_id");

    for (id, task) in [
        (&sum, json!({"workflow_run_id": run, "key": "sum", "branch": null, "turn": 1})),
        (&branch, json!({"workflow_run_id": run, "key": "load", "branch": 2, "turn": 1})),
    ] {
        let shown = world.get(&format!("/v1/runs/{id}")).await;

        assert_eq!(shown.status, 200, "{}", shown.text);
        assert_eq!(shown.field("/task"), task);
        assert_eq!((shown.field("/job_id"), shown.field("/workflow_run_id")), (job.clone(), json!(run)));
        assert_eq!(
            (shown.word("/status"), shown.word("/task_key")),
            ("succeeded".to_owned(), task["key"].as_str().unwrap().to_owned())
        );
        assert_eq!(shown.field("/attempts/0/outcome"), "succeeded");
        let events = world.get(&format!("/v1/runs/{id}/events")).await;
        assert_eq!(events.items("type"), ["task", "attempt_started", "attempt_succeeded", "succeeded"]);
        world.get(&format!("/v1/workflow-runs/{id}")).await.problem(404, "not-found");
        world.by(OTHER_KEY, "GET", &format!("/v1/runs/{id}"), None).await.problem(404, "not-found");
        world.tell(&format!("/v1/runs/{id}/retry")).await.problem(409, "conflict");
    }
}

#[tokio::test]
async fn a_sub_workflows_run_is_a_workflows_run_and_a_task() {
    let world = World::new();
    let inner = world.workflow(2, Definition::new(vec![task("slow", &[])])).await;
    let run = world.begun(Definition::new(vec![sub_workflow("call", inner)])).await;

    let call = world.task(&run, "call").await;
    let below = world.watch(call["run_id"].as_str().unwrap()).await;

    assert_eq!(
        (&call["kind"], &call["state"], &call["waiting_for"]),
        (&json!("workflow"), &json!("waiting"), &json!("waits for its tasks"))
    );
    assert_eq!(
        (&below["name"], &below["task"]["key"], &below["task"]["workflow_run_id"]),
        (&json!("etl 2"), &json!("call"), &json!(run))
    );
    assert_eq!(words(&below["tasks"], "state"), ["running"]);
}

#[tokio::test]
async fn a_run_that_has_not_begun_has_no_tasks_and_what_is_no_workflows_run_is_not_there() {
    let world = World::new();
    let limited = Policy { max_concurrent_runs: Some(1), ..Policy::default() };
    let id = world.workflow(1, Definition { policy: limited, ..Definition::new(vec![task("slow", &[])]) }).await;
    let (first, second) = (world.start(id).await, world.start(id).await);
    let queued = world.watch(&second).await;
    world.carry_on().await;
    let waiting = world.watch(&second).await;
    let job = world.job(json!({"on_demand": true})).await;
    let other = world.run_of(&job).await;

    assert_eq!((&queued["status"], &queued["version"], &queued["tasks"]), (&json!("queued"), &Value::Null, &json!([])));
    assert_eq!(queued["waiting_for"], "waits for a free executor since 08:00:00");
    assert_eq!(waiting["status"], "waiting");
    assert_eq!(waiting["waiting_for"], "waits for a free place since 08:00:00: 1 of 1 runs of etl 1 are under way");
    for id in [other.as_str(), "run_x", &job] {
        world.get(&format!("/v1/workflow-runs/{id}")).await.problem(404, "not-found");
    }
    for path in ["", "/tasks", "/events", "/tasks/slow/branches"] {
        world.by(OTHER_KEY, "GET", &format!("/v1/workflow-runs/{first}{path}"), None).await.problem(404, "not-found");
    }
    world.get(&format!("/v1/workflow-runs/{first}/tasks/slow/branches")).await.problem(409, "conflict");
    world.get(&format!("/v1/workflow-runs/{first}/tasks/none/branches")).await.problem(404, "not-found");
}

/// Removed: only a job says what is called. A task that was due waited for a free executor, as it said, while all of them were free.
#[tokio::test]
async fn a_task_that_its_tenants_quota_keeps_in_the_queue_says_so() {
    let world = World::new();
    let does = Does::Call { target: Target::Noop, terms: Terms::default() };
    let run = world.begun(Definition::new(vec![Task { does, ..task("bad", &[]) }])).await;
    world.put("/v1/quotas/acme", json!({"max_concurrent_runs": 2})).await;
    world.pass(60);

    let retried = world.task(&run, "bad").await["run_id"].as_str().unwrap().to_owned();
    let waits = world.get(&format!("/v1/runs/{retried}")).await.word("/waiting_for");

    assert!(
        waits.starts_with("waits for a place of its tenant's quota since") && waits.ends_with(": 2 of 2 taken"),
        "{waits}"
    );
}

#[tokio::test]
async fn a_run_of_another_job_that_carries_out_a_workflow_is_the_same() {
    let world = World::new();
    let id = world.workflow(1, Definition::new(vec![task("a", &[])])).await;
    let job =
        world.job_of(json!({"target": {"workflow": {"id": id.to_string()}}, "schedule": {"on_demand": true}})).await;
    let run = world.run_of(&job).await;
    world.carry_on().await;

    let shown = world.watch(&run).await;

    assert_eq!(
        (&shown["job_id"], &shown["status"], &shown["workflow_id"]),
        (&json!(job), &json!("succeeded"), &json!(id.to_string()))
    );
    let listed = world.get("/v1/workflow-runs").await;
    assert_eq!(listed.items("workflow_run_id"), [json!(run)]);
}

#[tokio::test]
async fn a_thousand_tasks_are_read_in_few_queries_and_paged_without_loss() {
    let world = World::new();
    let tasks: Vec<_> = (0..1000).map(|number| task(&format!("t{number:04}"), &[])).collect();
    let run = world.begun(Definition::new(tasks)).await;
    let before = meter(&world);

    let shown = world.watch(&run).await;

    let read = meter(&world).reads - before.reads;
    assert!(read < 1000 + 40, "{read} items were read, each once");
    assert_eq!(shown["counts"], json!({"succeeded": 1000}));
    assert_eq!(shown["tasks"].as_array().unwrap().len(), 100);
    let pages = pages(&world, &format!("/v1/workflow-runs/{run}/tasks?limit=300"), "key", async || {}).await;
    let keys: Vec<_> = pages.concat();
    let expected: Vec<_> = (0..1000).map(|number| json!(format!("t{number:04}"))).collect();
    assert_eq!((pages.len(), keys), (4, expected));
    let cursor = shown["next_cursor"].as_str().unwrap();
    let second = world.get(&format!("/v1/workflow-runs/{run}/tasks?limit=1&cursor={cursor}")).await;
    assert_eq!(second.items("key"), ["t0100"]);
}

fn meter(world: &World) -> Meter {
    world.ports.store().meter()
}

#[tokio::test]
async fn branches_are_counted_paged_and_found_by_their_state() {
    let world = World::new();
    let id = world.workflow(1, on_failure(OnFailure::Hold, vec![each(task("load", &[]), 250)])).await;
    let run = world.start(id).await;
    let bad = |branch: u16| branch % 50 == 7;
    world
        .work_tasks(|_, run| {
            let branch = TaskPlace::of(run.key).and_then(|place| place.branch)?;
            Some(if bad(branch) { crate::graphs::as_it_is_called("bad") } else { succeeded() })
        })
        .await;

    let load = world.task(&run, "load").await;
    let all = format!("/v1/workflow-runs/{run}/tasks/load/branches");
    let pages_of = async |path: &str| pages(&world, path, "branch", async || {}).await.concat();
    let (every, held) =
        (pages_of(&format!("{all}?limit=99")).await, pages_of(&format!("{all}?state=held&limit=2")).await);

    assert_eq!(load["branches"], json!({"total": 250, "counts": {"held": 5, "succeeded": 245}, "at_least": false}));
    let words = "5 of its 250 branches are held: retry, skip, succeed or fail them";
    assert_eq!(load["waiting_for"], words);
    assert_eq!(world.watch(&run).await["waiting_for"], format!("load {words}"));
    assert_eq!(every, (0..250).map(|branch| json!(branch)).collect::<Vec<_>>());
    assert_eq!(held, [7, 57, 107, 157, 207].map(|branch| json!(branch)));
    let first = world.get(&format!("{all}?state=held&limit=1")).await;
    assert_eq!(first.field("/items/0/waiting_for"), "waits for a verdict: retry, skip, succeed or fail");
}

#[tokio::test]
async fn events_of_the_whole_are_told_in_order_of_time_and_paged_without_loss() {
    let world = World::new();
    let tasks = vec![task("first", &[]), approval("ok", &["first"], &[Role::Operator]), each(task("last", &["ok"]), 4)];
    let run = world.begun(Definition::new(tasks)).await;
    let key = world.post("/v1/keys", json!({"name": "Ada", "role": "operator"})).await;
    world.pass(30);
    let approved = world
        .by(
            &key.word("/secret"),
            "POST",
            &format!("/v1/workflow-runs/{run}/tasks/ok/approve"),
            Some(json!({"note": "looks good"})),
        )
        .await;
    assert_eq!(approved.status, 200, "{}", approved.text);
    world.carry_on().await;

    let events = world.get(&format!("/v1/workflow-runs/{run}/events")).await;

    assert_eq!(events.status, 200, "{}", events.text);
    let told = events.field("/items");
    let told = told.as_array().unwrap();
    let times: Vec<_> = told.iter().map(|event| event["at"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!((&told[0]["type"], &told[0]["task"]), (&json!("asked"), &Value::Null));
    assert_eq!(
        (&told.last().unwrap()["type"], told.last().unwrap()["at"].clone()),
        (&json!("succeeded"), json!(at(30)))
    );
    let approved = told.iter().find(|event| event["type"] == "approved").unwrap();
    assert_eq!(
        (&approved["by"], &approved["by_name"], &approved["note"], &approved["task"]),
        (&key.field("/key_id"), &json!("Ada"), &json!("looks good"), &json!("ok"))
    );
    let branches = told.iter().filter(|event| event["task"] == "last" && event["type"] == "attempt_succeeded");
    let mut branches: Vec<_> = branches.map(|event| event["branch"].as_u64().unwrap()).collect();
    branches.sort_unstable();
    assert_eq!(branches, [0, 1, 2, 3]);
    let path = format!("/v1/workflow-runs/{run}/events?limit=3");
    let whole = |field: &'static str| told.iter().map(move |event| event[field].clone()).collect::<Vec<_>>();
    assert_eq!(pages(&world, &path, "type", async || {}).await.concat(), whole("type"));
    assert_eq!(pages(&world, &path, "run_id", async || {}).await.concat(), whole("run_id"));
}
