//! Workflows: as they are asked for, changed, run and deleted, and as jobs name them.

use minutehand_domain::Moment;
use minutehand_domain::target::{Header, Target};
use minutehand_domain::workflow::definition::Does;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::{Ports as _, plans};
use minutehand_wire::WorkflowView;
use serde_json::{Value, json};

use crate::world::{OTHER_KEY, World, acme, at, pages};

#[tokio::test]
async fn a_job_that_names_a_workflow_which_is_not_there_is_refused() {
    let (world, id) = (World::new(), WorkflowId::from_bytes([7; 16]));
    let job = |target| json!({"target": {"workflow": target}, "schedule": {"on_demand": true}});
    let refused = world.post("/v1/jobs", job(json!({"id": id.to_string()}))).await;
    assert_eq!(refused.problem(422, "invalid"), ["/target/workflow/id"]);
    assert_eq!(refused.word("/detail"), format!("there is no workflow `{id}`"));
    let workflow = Workflow {
        tenant: acme(),
        id,
        name: "billing".to_owned(),
        version: 2,
        deleted: false,
        created_at: Moment::EPOCH,
        changed_at: Moment::EPOCH,
        fingerprint: None,
    };

    assert!(world.ports.store().put(&acme(), id, &workflow, Guard::Absent).await.unwrap().is_written());

    let made = world.post("/v1/jobs", job(json!({"id": id.to_string(), "version": 2}))).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.field("/target"), json!({"workflow": {"id": id.to_string(), "version": 2}}));
    world.post("/v1/jobs", job(json!({"id": id.to_string(), "version": 3}))).await.problem(422, "invalid");
    let bad = world.post("/v1/jobs", job(json!({"id": "wf_x", "version": 1}))).await;
    assert_eq!(bad.problem(422, "invalid"), ["/target/workflow/id"]);
    let others = world.by(OTHER_KEY, "POST", "/v1/jobs", Some(job(json!({"id": id.to_string()})))).await;
    others.problem(422, "invalid");
}

/// A task that calls nothing and waits for these.
fn task(key: &str, edges: &[&str]) -> Value {
    json!({"key": key, "target": {"noop": {}}, "depends_on": edges})
}

/// A workflow of these tasks: its id.
async fn made(world: &World, tasks: Value) -> String {
    made_of(world, json!({"tasks": tasks})).await
}

async fn made_of(world: &World, mut fields: Value) -> String {
    fields.as_object_mut().unwrap().entry("name").or_insert_with(|| "nightly".into());
    let answer = world.post("/v1/workflows", fields).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.word("/workflow_id")
}

#[tokio::test]
async fn a_diamond_runs_and_hands_results_on() {
    let world = World::new();
    let mut join = task("join", &["left", "right"]);
    join["payload"] = json!({"l": "{{tasks.left.result}}", "r": "{{tasks.right.result.n}}"});
    let mut left = task("left", &["load"]);
    left["payload"] = json!("{{tasks.load.result.day}}");
    let mut right = task("right", &["load"]);
    right["payload"] = json!({"n": 3});
    let mut load = task("load", &[]);
    load["payload"] = json!({"day": "{{params.day}}"});
    let id = made_of(
        &world,
        json!({
            "params": {"properties": {"day": {"type": "string", "default": "Sunday"}}},
            "output": {"joined": "{{tasks.join.result}}"},
            "tasks": [join, left, right, load],
        }),
    )
    .await;

    let asked = world.post(&format!("/v1/workflows/{id}/run"), json!({"params": {"day": "Monday"}})).await;
    world.work(|_, _| unreachable!("every call is a task's")).await;

    assert_eq!(asked.status, 202, "{}", asked.text);
    let run = world.get(&format!("/v1/runs/{}", asked.word("/run_id"))).await;
    assert_eq!(run.word("/status"), "succeeded", "{}", run.text);
    assert_eq!(run.field("/result"), json!({"joined": {"l": "Monday", "r": 3}}));
    assert_eq!(run.field("/workflow_version"), 1);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table is seen whole")]
async fn what_is_wrong_with_a_graph_is_said_with_its_place() {
    let world = World::new();
    let with = |key: &str, field: &str, value: Value| {
        let mut task = task(key, &[]);
        task[field] = value;
        task
    };
    let after = |key: &str, edges: &[&str], field: &str, value: Value| {
        let mut task = task(key, edges);
        task[field] = value;
        task
    };
    let rows: Vec<(Value, Value, &str, &str)> = vec![
        (json!([]), json!([]), "/tasks", "a workflow has at least one task"),
        (json!([task("a", &["b"]), task("b", &["a"])]), json!([]), "/tasks/0/depends_on", "a → b → a"),
        (json!([task("a", &["a"])]), json!([]), "/tasks/0/depends_on/0", "a task cannot depend on itself"),
        (
            json!([task("extract", &[]), task("b", &["extrct"])]),
            json!([]),
            "/tasks/1/depends_on/0",
            "did you mean `extract`?",
        ),
        (json!([task("a", &[]), task("a", &[])]), json!([]), "/tasks/1/key", "there is a task `a` already"),
        (json!([task("a", &[]), task("b", &["a", "a"])]), json!([]), "/tasks/1/depends_on/1", "depends on `a` twice"),
        (json!([task("a b", &[])]), json!([]), "/tasks/0/key", "a task's key"),
        (json!([with("a", "when", json!("1 +"))]), json!([]), "/tasks/0/when", ""),
        (json!([with("a", "when", json!("x".repeat(2001)))]), json!([]), "/tasks/0/when", "at most 2000 characters"),
        (json!([with("a", "when", json!("now() > 1"))]), json!([]), "/tasks/0/when", "there is no function `now`"),
        (
            json!([with("a", "when", json!("tasks.b.result")), task("b", &[])]),
            json!([]),
            "/tasks/0/when",
            "`b`, which is not before it",
        ),
        (json!([with("a", "when", json!("tasks.c.result"))]), json!([]), "/tasks/0/when", "`c`, which is no task"),
        (json!([with("a", "when", json!("outcome == 'failed'"))]), json!([]), "/tasks/0/when", "only in `finally`"),
        (
            json!([with("a", "payload", json!({"x": ["{{nothing.y}}"]}))]),
            json!([]),
            "/tasks/0/payload/x/0",
            "`nothing.y` is no path",
        ),
        (json!([with("a", "payload", json!("{{params.x"))]), json!([]), "/tasks/0/payload", "without its"),
        (
            json!([with("a", "payload", json!("{{tasks.z.result}}"))]),
            json!([]),
            "/tasks/0/payload",
            "`z`, which is no task",
        ),
        (
            json!([with("a", "payload", json!("{{item}}"))]),
            json!([]),
            "/tasks/0/payload",
            "only to the branches of a for_each",
        ),
        (json!([with("a", "for_each", json!("params.x +"))]), json!([]), "/tasks/0/for_each", ""),
        (json!([with("a", "for_each", json!(vec![0; 10_001]))]), json!([]), "/tasks/0/for_each", "has 10001 items"),
        (
            json!([with("a", "for_each", json!({"items": vec!["x".repeat(1000); 300]}))]),
            json!([]),
            "/tasks/0/for_each/items",
            "at most 262144 bytes",
        ),
        (
            json!([with("a", "for_each", json!({"items": [], "max_concurrent": 0}))]),
            json!([]),
            "/tasks/0/for_each/max_concurrent",
            "from 1 to",
        ),
        (
            json!([with("a", "for_each", json!({"items": [], "tolerate": "101%"}))]),
            json!([]),
            "/tasks/0/for_each/tolerate",
            "a part of them",
        ),
        (
            json!([with("a", "for_each", json!({"item": []}))]),
            json!([]),
            "/tasks/0/for_each/item",
            "did you mean `items`?",
        ),
        (
            json!([task("a", &[])]),
            json!([task("b", &["a"])]),
            "/finally/0/depends_on/0",
            "runs whatever became of the others",
        ),
        (json!([task("a", &["b"])]), json!([task("b", &[])]), "/tasks/0/depends_on/0", "`b` is in `finally`"),
        (
            json!([
                task("a", &[]),
                after("b", &[], "depends_on", json!([{"task": "a", "on": "failure"}])),
                after("c", &["a"], "rule", json!("none_failed"))
            ]),
            json!([after("d", &[], "rule", json!("some"))]),
            "/finally/0/rule",
            "must be one of `all`, `any`, `none_failed`, not `some`",
        ),
        (
            json!([
                task("a", &[]),
                json!({"key": "b", "target": {"noop": {}}, "rule": "none_failed", "depends_on": [{"task": "a", "on": "failure"}]})
            ]),
            json!([]),
            "/tasks/1/depends_on/0",
            "`none_failed` never starts",
        ),
        (
            json!([after("a", &[], "depends_on", json!([{"tsk": "b"}]))]),
            json!([]),
            "/tasks/0/depends_on/0/tsk",
            "did you mean `task`?",
        ),
        (json!([{"key": "a"}]), json!([]), "/tasks/0", "exactly one of target and approval"),
        (
            json!([{"key": "a", "target": {"noop": {}}, "approval": {}}]),
            json!([]),
            "/tasks/0",
            "exactly one of target and approval",
        ),
        (json!([{"key": "a", "approval": {"roles": []}}]), json!([]), "/tasks/0/approval/roles", "at least one role"),
        (json!([{"key": "a", "approval": {}, "retry": {}}]), json!([]), "/tasks/0/retry", "an approval calls nothing"),
        (
            json!([{"key": "a", "approval": {}, "timeout_seconds": 5}]),
            json!([]),
            "/tasks/0/timeout_seconds",
            "an approval's own",
        ),
        (json!([with("a", "timeout_seconds", json!(841))]), json!([]), "/tasks/0/timeout_seconds", "from 1 to 840"),
        (json!([with("a", "whn", json!("true"))]), json!([]), "/tasks/0/whn", "did you mean `when`?"),
        (json!([["a"]]), json!([]), "/tasks/0", "an object"),
        (
            json!([{"key": "a", "target": {"http": {"url": "x"}}}]),
            json!([]),
            "/tasks/0/target/http/url",
            "starts with http",
        ),
        (
            json!([{"key": "a", "target": {"workflow": {"id": "wf_0"}}}]),
            json!([]),
            "/tasks/0/target/workflow/id",
            "not a workflow's id",
        ),
    ];
    for (tasks, finally, pointer, said) in rows {
        let body = json!({"name": "x", "tasks": tasks, "finally": finally});

        let refused = world.post("/v1/workflows", body.clone()).await;

        assert_eq!(refused.problem(422, "invalid"), [pointer], "{body}: {}", refused.text);
        assert!(refused.word("/detail").contains(said), "{said}: {}", refused.text);
    }
    assert_eq!(world.get("/v1/workflows").await.items("workflow_id"), Vec::<Value>::new());
}

#[tokio::test]
async fn what_is_wrong_with_the_whole_is_said_with_its_place() {
    let world = World::new();
    for (field, value, pointer) in [
        ("name", json!(""), "/name"),
        ("params", json!({"type": "nothing"}), "/params/type"),
        ("params", json!([]), "/params"),
        ("output", json!({"rows": "{{tasks.b.result}}"}), "/output"),
        ("output", json!({"rows": "{{item}}"}), "/output"),
        ("timeout_seconds", json!(30 * 86_400 + 1), "/timeout_seconds"),
        ("finally_timeout_seconds", json!(0), "/finally_timeout_seconds"),
        ("max_concurrent_runs", json!(1001), "/max_concurrent_runs"),
        ("on_failure", json!("stop"), "/on_failure"),
        ("schedule", json!({"every_seconds": 0}), "/schedule/every_seconds"),
        ("catch_up", json!({"policy": "none", "max_runs": 1}), "/catch_up/max_runs"),
        ("tag", json!("x"), "/tag"),
        ("tags", json!(["x\u{0}"]), "/tags/0"),
    ] {
        let mut body = json!({"name": "x", "tasks": [task("a", &[])]});
        body[field] = value;

        let refused = world.post("/v1/workflows", body.clone()).await;

        assert_eq!(refused.problem(422, "invalid"), [pointer], "{body}: {}", refused.text);
    }
}

#[tokio::test]
async fn all_that_is_wrong_is_said_at_once() {
    let world = World::new();
    let mut bad = task("b", &["nobody"]);
    bad["when"] = json!("1 +");
    bad["payload"] = json!(["{{x}}", "{{y}}"]);

    let refused = world.post("/v1/workflows", json!({"name": "", "tasks": [task("a", &["a"]), bad]})).await;

    let pointers = refused.problem(422, "invalid");
    let expected = [
        "/name",
        "/tasks/1/payload/0",
        "/tasks/1/payload/1",
        "/tasks/1/when",
        "/tasks/0/depends_on/0",
        "/tasks/1/depends_on/0",
    ];
    assert_eq!(pointers, expected, "{}", refused.text);
}

#[tokio::test]
async fn a_workflow_is_bounded_in_tasks_and_bytes() {
    let world = World::new();
    let many = |count: usize| (0..count).map(|n| task(&format!("t{n}"), &[])).collect::<Vec<_>>();

    let most = world.post("/v1/workflows", json!({"name": "x", "tasks": many(1000)})).await;
    let one_more = world
        .post("/v1/workflows", json!({"name": "x", "tasks": many(999), "finally": [task("f", &[]), task("g", &[])]}))
        .await;
    let large: Vec<_> = (0..10)
        .map(|n| json!({"key": format!("t{n}"), "target": {"noop": {}}, "payload": "x".repeat(110_000)}))
        .collect();
    let too_large = world.post("/v1/workflows", json!({"name": "x", "tasks": large})).await;
    let fits: Vec<_> = (0..9)
        .map(|n| json!({"key": format!("t{n}"), "target": {"noop": {}}, "payload": "x".repeat(110_000)}))
        .collect();
    let fits = world.post("/v1/workflows", json!({"name": "x", "tasks": fits})).await;

    assert_eq!(most.status, 201, "{}", most.text);
    assert_eq!(one_more.problem(413, "too-large"), ["/tasks"]);
    too_large.problem(413, "too-large");
    assert_eq!(fits.status, 201);
    let shown = world.get(&format!("/v1/workflows/{}", fits.word("/workflow_id"))).await;
    assert_eq!(shown.field("/tasks/8/payload").as_str().unwrap().len(), 110_000, "of several pieces");
}

#[tokio::test]
async fn the_same_request_makes_one_workflow_and_another_is_refused() {
    let world = World::new();
    let body = json!({"name": "x", "tasks": [task("a", &[])], "idempotency_key": "k"});

    let first = world.post("/v1/workflows", body.clone()).await;
    let again = world.post("/v1/workflows", body.clone()).await;
    let other =
        world.post("/v1/workflows", json!({"name": "y", "tasks": [task("a", &[])], "idempotency_key": "k"})).await;

    assert_eq!((first.status.as_u16(), again.status.as_u16()), (201, 200));
    assert_eq!(first.header("location"), format!("/v1/workflows/{}", first.word("/workflow_id")));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!((first.json(), first.header("etag")), (again.json(), again.header("etag")));
    other.problem(422, "idempotency-key-reused");
    assert_eq!(world.get("/v1/workflows").await.items("name"), ["x"]);
}

#[tokio::test]
async fn what_is_shown_can_be_asked_for_again_and_makes_no_version() {
    let world = World::new();
    let http = json!({"url": "http://x/", "headers": {"Authorization": "Bearer hunter2"}});
    let tasks = json!([
        {"key": "a", "target": {"http": http}, "retry": {"max_retries": 1}, "priority": "high", "payload": {"n": 1.50}},
        {"key": "each", "depends_on": ["a"], "target": {"noop": {}}, "for_each": "{{params.list}}", "allow_failure": true},
        {"key": "ok", "depends_on": [{"task": "each", "on": "finished"}], "rule": "any", "when": "true", "approval": {"roles": ["admin"]}},
    ]);
    let id =
        made_of(&world, json!({"tasks": tasks, "schedule": {"every_seconds": 60}, "tags": ["b", "a"], "owner": "me"}))
            .await;
    let address = format!("/v1/workflows/{id}");
    let first = world.get(&address).await;
    assert!(!first.text.contains("hunter2"), "{}", first.text);
    world.pass(90);

    let mut shown = first.json();
    for field in WorkflowView::NOT_ASKED {
        shown.as_object_mut().unwrap().remove(field);
    }
    let same = world.with(("if-match", first.header("etag")), "PUT", &address, Some(shown.clone())).await;
    shown["tasks"][0]["target"]["http"]["url"] = json!("http://y/");
    let moved = world.put(&address, shown).await;

    assert_eq!(
        (same.status.as_u16(), same.field("/version"), same.header("etag")),
        (200, json!(1), first.header("etag"))
    );
    assert_eq!((moved.field("/version"), moved.field("/tasks/0/target/http/url")), (json!(2), json!("http://y/")));
    let stored = plans::read(world.ports.store(), &acme(), id.parse().unwrap(), 2).await.unwrap().unwrap();
    let Does::Call { target: Target::Http(http), .. } = &stored.definition.tasks[0].does else { panic!() };
    assert!(
        matches!(http.header("authorization"), Some(Header::Text(text)) if text == "Bearer hunter2"),
        "the mask stands for it"
    );
}

#[tokio::test]
async fn versions_are_listed_shown_and_compared() {
    let world = World::new();
    let id = made(&world, json!([task("a", &[]), task("b", &["a"])])).await;
    let address = format!("/v1/workflows/{id}");
    world.pass(10);
    let second = world
        .put(&address, json!({"name": "later", "on_failure": "hold", "tasks": [task("b", &[]), task("c", &["b"])]}))
        .await;
    assert_eq!(
        (second.status.as_u16(), second.field("/version"), second.word("/name")),
        (200, json!(2), "later".to_owned())
    );

    let versions = world.get(&format!("{address}/versions?limit=1")).await;
    let older = world.get(&format!("{address}/versions?cursor={}", versions.word("/next_cursor"))).await;
    let first = world.get(&format!("{address}/versions/1")).await;
    let diff = world.get(&format!("{address}/diff?from=1&to=2")).await;

    assert_eq!((versions.items("version"), older.items("version")), (vec![json!(2)], vec![json!(1)]));
    assert_eq!(older.field("/next_cursor"), Value::Null);
    assert_eq!((versions.word("/items/0/made_at"), older.word("/items/0/made_at")), (at(10), at(0)));
    assert!(!versions.word("/items/0/made_by").is_empty());
    assert_eq!((first.field("/tasks/1/key"), first.field("/on_failure")), (json!("b"), json!("fail_fast")));
    assert_eq!((diff.field("/added/0/key"), diff.field("/removed/0/key")), (json!("c"), json!("a")));
    assert_eq!(
        diff.field("/changed"),
        json!([{"key": "b", "fields": [{"field": "depends_on", "from": [{"task": "a", "on": "success"}], "to": []}]}])
    );
    assert_eq!(diff.field("/policy"), json!([{"field": "on_failure", "from": "fail_fast", "to": "hold"}]));
    assert_eq!(world.get(&format!("{address}/diff")).await.json(), diff.json(), "the newest against the one before");
    world.get(&format!("{address}/versions/3")).await.problem(404, "not-found");
    world.get(&format!("{address}/versions/x")).await.problem(404, "not-found");
    assert_eq!(world.get(&format!("{address}/diff?from=1&to=3")).await.problem(422, "invalid"), ["?to"]);
}

#[tokio::test]
async fn a_change_applies_to_what_was_seen() {
    let world = World::new();
    let id = made(&world, json!([task("a", &[])])).await;
    let address = format!("/v1/workflows/{id}");
    let seen = world.get(&address).await;
    world.put(&address, json!({"name": "nightly", "owner": "ann", "tasks": [task("a", &[])]})).await;
    let body = Some(json!({"name": "nightly", "owner": "bob", "tasks": [task("a", &[])]}));

    let late = world.with(("if-match", seen.header("etag")), "PUT", &address, body).await;

    late.problem(412, "version-mismatch");
    let now = world.get(&address).await;
    assert_eq!(
        (now.word("/owner"), now.field("/version")),
        ("ann".to_owned(), json!(1)),
        "an owner belongs to no version"
    );
    let (etag, pause) = (seen.header("etag"), format!("{address}/pause"));
    world.with(("if-match", etag), "POST", &pause, None).await.problem(412, "version-mismatch");
    world.with(("if-match", etag), "DELETE", &address, None).await.problem(412, "version-mismatch");
}

#[tokio::test]
async fn its_schedule_is_its_own_jobs_and_without_one_it_runs_on_demand() {
    let world = World::new();
    let body = |schedule: Value| json!({"name": "nightly", "tasks": [task("a", &[])], "schedule": schedule});
    let made = world.post("/v1/workflows", body(json!({"every_seconds": 60}))).await;
    let (id, job) = (made.word("/workflow_id"), made.word("/job_id"));
    let address = format!("/v1/workflows/{id}");
    assert_eq!(made.word("/next_run_at"), at(60));
    world.pass(60);
    world.work(|_, _| unreachable!("every call is a task's")).await;

    let paused = world.tell(&format!("{address}/pause")).await;
    let resumed = world.tell(&format!("{address}/resume")).await;
    let put = world.put(&address, body(Value::Null)).await;

    assert_eq!((paused.word("/status"), resumed.word("/status")), ("paused".to_owned(), "active".to_owned()));
    assert_eq!((put.field("/schedule"), put.field("/version")), (json!({"on_demand": true}), json!(1)));
    let runs = world.get(&format!("{address}/runs?version=1&status=succeeded")).await;
    assert_eq!(runs.items("origin"), ["schedule"], "{}", runs.text);
    assert_eq!(world.get(&format!("{address}/runs?version=2")).await.items("origin"), Vec::<Value>::new());
    assert_eq!(world.get(&format!("{address}/runs?version=0")).await.problem(422, "invalid"), ["?version"]);
    let own = world.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(own.field("/target"), json!({"workflow": {"id": id}}));
    assert_eq!(world.get("/v1/jobs").await.items("job_id"), [json!(job)]);
    world.patch(&format!("/v1/jobs/{job}"), json!({"name": "x"})).await.problem(409, "conflict");
    let refused = world.delete(&format!("/v1/jobs/{job}")).await;
    refused.problem(409, "conflict");
    assert!(refused.word("/detail").contains(&id));
}

#[tokio::test]
async fn what_a_run_is_given_is_looked_at_at_once() {
    let world = World::new();
    let params =
        json!({"required": ["day"], "properties": {"day": {"type": "string"}, "n": {"type": "integer", "default": 3}}});
    let mut load = task("load", &[]);
    load["payload"] = json!({"day": "{{params.day}}", "n": "{{params.n}}", "all": "{{params}}"});
    let id = made_of(&world, json!({"params": params, "tasks": [load], "output": "{{tasks.load.result}}"})).await;
    let address = format!("/v1/workflows/{id}/run");

    let nothing = world.tell(&address).await;
    let wrong = world.post(&address, json!({"params": {"day": 1, "n": "x"}})).await;
    let unknown = world.post(&address, json!({"payload": {}})).await;
    let asked = json!({"params": {"day": "Friday"}, "idempotency_key": "k"});
    let good = world.post(&address, json!({"params": {"day": "Monday"}, "idempotency_key": "k"})).await;
    let again = world.post(&address, json!({"params": {"day": "Monday"}, "idempotency_key": "k"})).await;
    let other = world.post(&address, asked).await;

    assert_eq!(nothing.problem(422, "invalid"), ["/params"]);
    assert_eq!(wrong.problem(422, "invalid"), ["/params/day", "/params/n"]);
    assert_eq!(unknown.problem(422, "invalid"), ["/payload"]);
    assert_eq!((good.status.as_u16(), again.status.as_u16()), (202, 200), "{}", again.text);
    assert_eq!(good.word("/run_id"), again.word("/run_id"));
    other.problem(422, "idempotency-key-reused");
    world.work(|_, _| unreachable!("every call is a task's")).await;
    let run = world.get(&format!("/v1/runs/{}", good.word("/run_id"))).await;
    assert_eq!(
        run.field("/result"),
        json!({"day": "Monday", "n": 3, "all": {"day": "Monday", "n": 3}}),
        "{}",
        run.text
    );
}

#[tokio::test]
async fn a_workflow_calls_another_that_is_there() {
    let world = World::new();
    let mut echo = task("echo", &[]);
    echo["payload"] = json!("{{params}}");
    let inner = made_of(&world, json!({"tasks": [echo], "output": "{{tasks.echo.result.x}}"})).await;
    let call = |target: Value| json!([{"key": "call", "target": {"workflow": target}}]);
    let outer = made_of(
        &world,
        json!({"tasks": call(json!({"id": inner, "params": {"x": 7}})), "output": "{{tasks.call.result}}"}),
    )
    .await;

    let asked = world.tell(&format!("/v1/workflows/{outer}/run")).await;
    world.work(|_, _| unreachable!("every call is a task's")).await;

    let run = world.get(&format!("/v1/runs/{}", asked.word("/run_id"))).await;
    assert_eq!((run.word("/status"), run.field("/result")), ("succeeded".to_owned(), json!(7)), "{}", run.text);
    let shown = world.get(&format!("/v1/workflows/{outer}")).await;
    assert_eq!(shown.field("/tasks/0/payload"), json!({"x": 7}), "parameters are what the payload is");
    assert_eq!(shown.field("/tasks/0/timeout_seconds"), 30 * 86_400, "as long as it says of itself");
    let refused = |target: Value| {
        let world = &world;
        async move { world.post("/v1/workflows", json!({"name": "x", "tasks": call(target)})).await.problem(422, "invalid") }
    };
    let nobody = WorkflowId::from_bytes([9; 16]).to_string();
    assert_eq!(refused(json!({"id": nobody})).await, ["/tasks/0/target/workflow/id"]);
    assert_eq!(refused(json!({"id": inner, "version": 2})).await, ["/tasks/0/target/workflow/version"]);
    let both = json!([{"key": "call", "target": {"workflow": {"id": inner, "params": 1}}, "payload": 2}]);
    let both = world.post("/v1/workflows", json!({"name": "x", "tasks": both})).await;
    assert_eq!(both.problem(422, "invalid"), ["/tasks/0/target/workflow/params"]);
    let theirs = json!({"name": "x", "tasks": call(json!({"id": inner}))});
    world.by(OTHER_KEY, "POST", "/v1/workflows", Some(theirs)).await.problem(422, "invalid");
    let job = world
        .post("/v1/jobs", json!({"target": {"workflow": {"id": inner, "params": {"x": 1}}}, "timeout_seconds": 86_400}))
        .await;
    assert_eq!((job.status.as_u16(), job.field("/payload")), (201, json!({"x": 1})), "{}", job.text);
    let long = world.post("/v1/jobs", json!({"target": {"noop": {}}, "timeout_seconds": 841})).await;
    assert_eq!(long.problem(422, "invalid"), ["/timeout_seconds"]);
}

#[tokio::test]
async fn a_workflow_with_open_runs_is_deleted_with_them_or_not_at_all() {
    let world = World::new();
    let id = made(&world, json!([{"key": "ask", "approval": {}}])).await;
    let address = format!("/v1/workflows/{id}");
    let run = world.tell(&format!("{address}/run")).await.word("/run_id");
    world.work(|_, _| unreachable!("nothing is called")).await;

    let refused = world.delete(&address).await;
    let deleted = world.delete(&format!("{address}?cancel=true")).await;
    let again = world.delete(&address).await;

    refused.problem(409, "conflict");
    assert!(refused.word("/detail").contains(&run), "{}", refused.text);
    assert_eq!((deleted.status.as_u16(), again.status.as_u16()), (204, 204), "{}", deleted.text);
    assert_eq!(world.get(&address).await.word("/status"), "cancelled");
    assert_eq!(world.get("/v1/workflows").await.items("name"), Vec::<Value>::new());
    let there = world.get("/v1/workflows?status=cancelled").await;
    assert_eq!((there.items("workflow_id"), there.items("status")), (vec![json!(id)], vec![json!("cancelled")]));
    world.tell(&format!("{address}/run")).await.problem(409, "conflict");
    world.put(&address, json!({"name": "x", "tasks": [task("a", &[])]})).await.problem(409, "conflict");
    world.tell(&format!("{address}/resume")).await.problem(409, "conflict");
    for _ in 0..20 {
        world.pass(10);
        world.work(|_, _| unreachable!("nothing is called")).await;
    }
    assert_eq!(world.get(&format!("/v1/runs/{run}")).await.word("/status"), "cancelled");
    let call = json!({"name": "x", "tasks": [{"key": "a", "target": {"workflow": {"id": id}}}]});
    assert_eq!(world.post("/v1/workflows", call).await.problem(422, "invalid"), ["/tasks/0/target/workflow/id"]);
}

/// Removed: who asks again is answered though the workflow was deleted. It was 409, as of who asks for the first time.
#[tokio::test]
async fn a_run_that_was_asked_for_is_answered_again_when_its_workflow_is_deleted() {
    let world = World::new();
    let id = made(&world, json!([{"key": "ask", "approval": {}}])).await;
    let address = format!("/v1/workflows/{id}/run");
    let asked = async |key: &str, body: Value| world.with(("idempotency-key", key), "POST", &address, Some(body)).await;
    let first = asked("k", json!({})).await;
    world.work(|_, _| unreachable!("nothing is called")).await;
    assert_eq!(world.delete(&format!("/v1/workflows/{id}?cancel=true")).await.status, 204);

    let again = asked("k", json!({})).await;
    let otherwise = asked("k", json!({"params": {"n": 1}})).await;
    let (anew, without_key) = (asked("l", json!({})).await, world.tell(&address).await);

    assert_eq!((first.status.as_u16(), again.status.as_u16()), (202, 200), "{}", again.text);
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(again.word("/run_id"), first.word("/run_id"));
    assert_eq!(otherwise.problem(422, "idempotency-key-reused"), ["/idempotency_key"]);
    for refused in [anew, without_key] {
        refused.problem(409, "conflict");
        assert_eq!(refused.word("/detail"), "the workflow was deleted; a deleted workflow stays as it is");
    }
    assert_eq!(world.get(&format!("/v1/workflows/{id}/runs")).await.items("run_id"), [first.field("/run_id")]);
}

#[tokio::test]
async fn a_run_that_is_asked_for_is_as_urgent_as_is_said_or_as_its_own_job() {
    let world = World::new();
    let id = made_of(&world, json!({"priority": "low", "tasks": [task("a", &[])]})).await;
    let address = format!("/v1/workflows/{id}/run");

    let usual = world.post(&address, json!({})).await;
    let urgent = world.post(&address, json!({"priority": "critical"})).await;
    let wrong = world.post(&address, json!({"priority": "urgent"})).await;
    world.work(|_, _| unreachable!("every call is a task's")).await;

    assert_eq!((usual.word("/priority"), urgent.word("/priority")), ("low".to_owned(), "critical".to_owned()));
    assert_eq!(wrong.problem(422, "invalid"), ["/priority"]);
    let shown = world.get(&format!("/v1/workflow-runs/{}", urgent.word("/run_id"))).await;
    assert_eq!(
        (shown.word("/priority"), shown.word("/tasks/0/priority")),
        ("critical".to_owned(), "critical".to_owned())
    );
}

#[tokio::test]
async fn a_secret_that_is_missing_is_named_with_its_place_and_its_task() {
    let world = World::new();
    let mut call = task("call", &[]);
    call["target"] =
        json!({"http": {"url": "https://example.com", "headers": {"authorization": {"secret": "stripe"}}}});
    let mut tell = task("tell", &[]);
    tell["payload"] = json!({"keys": [{"secret": "slack"}]});

    let told = json!({"url": "https://example.com", "headers": {"x-key": {"secret": "pager"}}});
    let body = json!({"name": "x", "tasks": [call], "finally": [tell], "callback": told, "hooks": {"after": told}});

    let refused = world.post("/v1/workflows", body).await;

    assert_eq!(
        refused.problem(422, "invalid"),
        [
            "/tasks/0/target/http/headers/authorization",
            "/finally/0/payload/keys/0",
            "/callback/headers/x-key",
            "/hooks/after/headers/x-key"
        ]
    );
    assert_eq!(refused.word("/errors/0/detail"), "there is no secret `stripe`, which the task `call` needs");
    assert_eq!(refused.word("/errors/2/detail"), "there is no secret `pager`");
}

#[tokio::test]
async fn what_is_there_already_is_no_mistake_of_what_is_written_over_it() {
    let world = World::new();
    let call = |more: Value| {
        let mut task = task("call", &[]);
        task["target"] = json!({"http": {"url": "https://example.com", "headers": {"authorization": "Bearer x"}}});
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    let id = made(&world, json!([call(json!({}))])).await;
    let address = format!("/v1/workflows/{id}");
    let mut shown = world.get(&address).await.field("/tasks");
    shown[0]["timeout_seconds"] = json!("5m");

    let refused = world.put(&address, json!({"name": "x", "tasks": shown})).await;

    assert_eq!(refused.problem(422, "invalid"), ["/tasks/0/timeout_seconds"], "{}", refused.text);
}

/// Before, the first mistake of form was told alone, in serde's words.
#[tokio::test]
async fn mistakes_of_form_and_of_meaning_are_told_together() {
    let world = World::new();
    let mut bad = task("b", &["nobody"]);
    bad["timeout_seconds"] = json!("5m");

    let refused = world.post("/v1/workflows", json!({"name": "x", "tasks": [bad, {"key": "c", "whn": "true"}]})).await;
    let many: Vec<_> = (0..30).map(|n| json!({"key": format!("t{n}"), "targets": 1})).collect();
    let many = world.post("/v1/workflows", json!({"name": "x", "tasks": many})).await;

    let places = refused.problem(422, "invalid");
    assert_eq!(places, ["/tasks/0/timeout_seconds", "/tasks/1/whn", "/tasks/1", "/tasks/0/depends_on/0"]);
    assert_eq!(refused.word("/errors/0/detail"), "must be a whole number, not the text \"5m\"");
    assert_eq!(many.problem(422, "invalid").len(), 21);
}

#[tokio::test]
async fn a_workflow_of_another_tenant_is_not_there() {
    let world = World::new();
    let id = made(&world, json!([task("a", &[])])).await;
    let address = format!("/v1/workflows/{id}");
    let body = json!({"name": "x", "tasks": [task("a", &[])]});
    for (method, path, body) in [
        ("GET", address.clone(), None),
        ("PUT", address.clone(), Some(body)),
        ("DELETE", address.clone(), None),
        ("GET", format!("{address}/versions"), None),
        ("GET", format!("{address}/versions/1"), None),
        ("GET", format!("{address}/diff"), None),
        ("POST", format!("{address}/run"), None),
        ("GET", format!("{address}/runs"), None),
        ("POST", format!("{address}/pause"), None),
        ("POST", format!("{address}/resume"), None),
    ] {
        world.by(OTHER_KEY, method, &path, body).await.problem(404, "not-found");
    }
    assert_eq!(world.by(OTHER_KEY, "GET", "/v1/workflows", None).await.items("name"), Vec::<Value>::new());
}

#[tokio::test]
async fn workflows_are_listed_by_page_and_filtered() {
    let world = World::new();
    for (name, tag, owner) in [("etl-de", "etl", "ann"), ("etl-fr", "etl", "bob"), ("billing", "money", "ann")] {
        made_of(&world, json!({"name": name, "tags": [tag], "owner": owner, "tasks": [task("a", &[])]})).await;
        world.pass(1);
    }

    let all = pages(&world, "/v1/workflows?limit=2", "name", async || {}).await;
    let named = world.get("/v1/workflows?name=etl&owner=bob&tag=etl&priority=normal&status=active").await;

    assert_eq!(all, [vec![json!("etl-de"), json!("etl-fr")], vec![json!("billing")]]);
    assert_eq!(named.items("name"), ["etl-fr"]);
    assert!(named.json()["items"][0].get("tasks").is_none(), "a list reads no definition");
    assert_eq!(world.get("/v1/workflows?name=").await.problem(422, "invalid"), ["?name"]);
}

#[tokio::test]
async fn secrets_that_tasks_name_are_there_and_only_their_names_are_shown() {
    let world = World::new();
    let tasks = json!([{"key": "a", "payload": {"db": {"secret": "db"}},
        "target": {"http": {"url": "http://x/", "headers": {"Authorization": {"secret": "token"}}}}}]);

    let missing = world.post("/v1/workflows", json!({"name": "x", "tasks": tasks})).await;

    missing.problem(422, "invalid");
    assert!(
        missing.word("/detail").contains("`db`") && missing.word("/detail").contains("`token`"),
        "{}",
        missing.text
    );
}

/// The tables of `docs/workflows.md`, cell by cell.
mod page {
    use minutehand_domain::workflow::edge::{Closed, Decision, Ended, On, Rule};

    const PAGE: &str = include_str!("../../../../docs/workflows.md");

    /// Both tables say all that may be written: what is not known is refused.
    #[tokio::test]
    async fn each_field_of_a_definition_stands_on_the_page() {
        let document = super::World::new().get("/openapi.json").await;
        for (head, schema) in [("| field of the whole |", "WorkflowRequest"), ("| field of a task |", "TaskRequest")] {
            let said: Vec<_> = rows(head).iter().flat_map(|row| row[0].split('`').skip(1).step_by(2)).collect();
            let fields = document.field(&format!("/components/schemas/{schema}/properties"));
            let fields = fields.as_object().expect("properties").keys();
            let missing: Vec<_> = fields.filter(|field| !said.contains(&field.as_str())).collect();
            assert!(missing.is_empty() && said.len() > 10, "{schema}: {missing:?}");
        }
    }

    /// The rows of the table whose head begins so, cell by cell.
    fn rows(head: &str) -> Vec<Vec<&'static str>> {
        let lines = PAGE.lines().skip_while(|line| !line.starts_with(head)).skip(2);
        let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect();
        lines.take_while(|line| line.starts_with('|')).map(cells).collect()
    }

    #[test]
    fn an_edge_holds_for_what_the_page_says() {
        let rows = rows("| `on` |");
        assert_eq!(rows.len(), 3);
        for (row, on) in rows.iter().zip([On::Success, On::Failure, On::Finished]) {
            assert_eq!(row[0], format!("`{}`", on.as_str()));
            let ends = [Ended::Succeeded, Ended::Failed, Ended::Skipped, Ended::Cancelled];
            for (cell, ended) in row[1..].iter().zip(ends) {
                assert_eq!(*cell == "holds", on.holds_for(ended), "{on:?} {ended:?}");
            }
            assert_eq!(row.len(), 5);
        }
    }

    #[test]
    fn a_rule_decides_as_the_page_says() {
        use Ended::{Failed, Skipped, Succeeded};
        let closed: [(&[Ended], bool); 7] = [
            (&[], true),
            (&[Succeeded], false),
            (&[Failed], false),
            (&[Succeeded, Succeeded], true),
            (&[Succeeded, Skipped], true),
            (&[Succeeded, Failed], true),
            (&[Skipped, Skipped], true),
        ];
        let rows = rows("| edges |");
        assert_eq!(rows.len(), closed.len());
        for (row, (ends, is_full)) in rows.iter().zip(closed) {
            let together =
                ends.iter().map(|ended| Closed::edge(On::Success, *ended, false)).fold(Closed::NONE, Closed::and);
            for (cell, rule) in row[1..].iter().zip([Rule::All, Rule::Any, Rule::NoneFailed]) {
                // A task that waits for nothing is a root, of which no rule is asked.
                let decided = if ends.is_empty() { Some(Decision::Start) } else { rule.decide(together, is_full) };
                let said = match decided {
                    Some(Decision::Start) => "starts",
                    Some(Decision::Skip) => "is skipped",
                    None => "waits",
                };
                assert_eq!(*cell, said, "{row:?} {rule:?}");
            }
            assert_eq!(row.len(), 4);
        }
    }
}
