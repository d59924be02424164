//! Limits that jobs share, as clients ask for them and as they see who waits.

use minutehand_domain::run::Outcome;
use minutehand_domain::slot::{SlotName, items};
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::definition::{Definition, Policy};
use minutehand_io::Ports as _;
use minutehand_io::store::{Store as _, Take, Updated};
use serde_json::{Value, json};

use crate::graphs::{after, sub_workflow, task};
use crate::world::{World, acme, succeeded};

fn limited(more: &Value) -> Value {
    json!({
        "schedule": {"on_demand": true}, "target": {"worker": {"pool": "web1", "handler": "send"}},
        "concurrency": more,
    })
}

/// A run of a job of its own that is ready in the pool.
async fn ready(world: &World) -> String {
    let made = world.post("/v1/jobs", limited(&json!({"key": "billing", "limit": 1}))).await;
    let run = world.run_of(&made.word("/job_id")).await;
    work(world).await;
    run
}

async fn work(world: &World) {
    world.work(|_job, _run| -> Outcome { panic!("a worker's run is called by nobody") }).await;
}

async fn leases(world: &World) -> Vec<Value> {
    let asked = json!({"pool": "web1", "worker_id": "a", "wait_seconds": 0, "max": 10});
    world.post("/v1/leases", asked).await.field("/leases").as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_jobs_limits_are_shown_changed_and_taken_back() {
    let world = World::new();
    let bounds = json!({"target": {"noop": {}}, "concurrency": {"key": "Konto Süd", "limit": 4}, "rate": {"key": "b", "per_minute": 100}});

    let made = world.post("/v1/jobs", bounds).await;
    let path = format!("/v1/jobs/{}", made.word("/job_id"));
    let changed = world.patch(&path, json!({"concurrency": {"limit": 5}, "rate": null})).await;
    let taken_back = world.patch(&path, json!({"concurrency": null})).await;

    assert_eq!(made.field("/concurrency"), json!({"key": "Konto Süd", "limit": 4}), "{}", made.text);
    assert_eq!(made.field("/rate"), json!({"key": "b", "per_minute": 100}));
    assert_eq!(changed.field("/concurrency"), json!({"key": "Konto Süd", "limit": 5}), "{}", changed.text);
    assert_eq!((changed.json().get("rate"), taken_back.json().get("concurrency")), (None, None));
}

/// Two jobs of one key, and one worker with hands for both.
#[tokio::test]
async fn a_worker_is_given_no_more_of_a_key_than_may_be_under_way() {
    let world = World::new();
    let runs = [ready(&world).await, ready(&world).await];

    let first = leases(&world).await;
    let [one, other] = &runs;
    let behind = if first[0]["run_id"] == json!(one) { other } else { one };
    let waits = world.get(&format!("/v1/runs/{behind}")).await;
    let done = json!({"token": first[0]["token"]});
    world.post(&format!("/v1/leases/{}/complete", first[0]["lease_id"].as_str().unwrap()), done).await;
    work(&world).await;
    let second = leases(&world).await;

    assert_eq!(first.len(), 1);
    assert_eq!(waits.word("/status"), "waiting");
    let words = waits.word("/waiting_for");
    assert!(words.starts_with("waits for a place of key \"billing\"") && words.ends_with("1 of 1 taken"), "{words}");
    assert_eq!((second.len(), &second[0]["run_id"]), (1, &json!(behind)), "whoever gave the place back woke it");
}

/// The second has one run at a time; a task of the first calls it, behind another.
async fn a_workflow_that_calls_a_bounded_one(world: &World) -> [WorkflowId; 2] {
    let policy = Policy { max_concurrent_runs: Some(1), ..Policy::default() };
    let bounded = world.workflow(2, Definition { policy, ..Definition::new(vec![task("inner", &[])]) }).await;
    let outer = Definition::new(vec![task("before", &[]), after(sub_workflow("sub", bounded), "before")]);
    [world.workflow(1, outer).await, bounded]
}

/// A run has the key of its job, and a task of it calls a workflow of which one run at a time goes on; another job of that key runs that workflow by itself.
///
/// Removed: the key's place is asked for before the workflow's. The other run had the workflow's place and waited for the key's, the first the other way round:
/// both until a deadline.
#[tokio::test]
async fn no_two_runs_of_workflows_wait_for_each_other_by_a_key_and_a_workflows_bound() {
    let world = World::new();
    let [calling, bounded] = a_workflow_that_calls_a_bounded_one(&world).await;
    let mut runs = Vec::new();
    for workflow in [calling, bounded] {
        let concurrency = json!({"key": "x", "limit": 1});
        let target = json!({"workflow": {"id": workflow}});
        let job = world.job_of(json!({"schedule": {"on_demand": true}, "target": target, "concurrency": concurrency}));
        runs.push(world.run_of(&job.await).await);
    }

    world.work_tasks(|_, _| Some(succeeded())).await;
    world.pass(60);
    world.work_tasks(|_, _| Some(succeeded())).await;

    for run in runs {
        assert_eq!(world.watch(&run).await["status"], "succeeded");
    }
}

fn calls(workflow: WorkflowId) -> Value {
    json!({"schedule": {"on_demand": true}, "target": {"workflow": {"id": workflow}}})
}

/// The same where one has the workflow's place already when its job is given the key: it has taken it, and its process died.
///
/// Removed (`as_it_asked`): it asks for the key as well. It had the workflow's place and waited for the key's, the other the other way round.
#[tokio::test]
async fn who_has_a_workflows_place_does_not_wait_for_a_key_that_its_job_was_given_since() {
    let world = World::new();
    let [calling, bounded] = a_workflow_that_calls_a_bounded_one(&world).await;
    let (first, second) = (world.job_of(calls(calling)).await, world.job_of(calls(bounded)).await);
    give_the_key(&world, &first).await;
    let runs = [world.run_of(&first).await, world.run_of(&second).await];
    let run = runs[1].parse().unwrap();
    let (slot, room) = items(SlotName::Workflow(bounded).id(&acme()), 1, run).next().expect("one item");
    let take = Take { run, room };
    assert!(matches!(world.ports.store().update(&acme(), slot, &take).await, Ok(Updated::Done(_))));
    give_the_key(&world, &second).await;

    for _ in 0..2 {
        world.work_tasks(|_, _| Some(succeeded())).await;
        world.pass(60);
    }

    for run in runs {
        assert_eq!(world.watch(&run).await["status"], "succeeded");
    }
}

/// The same of one that stands in the workflow's line when its job is given the key: it came as one that asks for none.
///
/// Removed (`as_it_asked`, for who waits): it asks for the key as well, and stands in both lines. It waited for the first by the key; and the first let it go
/// before it in the workflow's line, which had a place by then.
#[tokio::test]
async fn who_waits_for_a_workflows_place_does_not_wait_for_a_key_that_its_job_was_given_since() {
    let world = World::new();
    let [calling, bounded] = a_workflow_that_calls_a_bounded_one(&world).await;
    let (first, second) = (world.job_of(calls(calling)).await, world.job_of(calls(bounded)).await);
    give_the_key(&world, &first).await;
    let holder = world.run_of(&world.job_of(calls(bounded)).await).await;
    world.work_tasks(|_, _| None).await;
    let waiter = world.run_of(&second).await;
    world.work_tasks(|_, _| None).await;
    assert_eq!(world.watch(&waiter).await["status"], "waiting");
    give_the_key(&world, &second).await;
    let caller = world.run_of(&first).await;

    for _ in 0..8 {
        world.work_tasks(|_, _| Some(succeeded())).await;
        world.pass(60);
    }

    for run in [holder, waiter, caller] {
        assert_eq!(world.watch(&run).await["status"], "succeeded");
    }
}

async fn give_the_key(world: &World, job: &str) {
    let concurrency = json!({"key": "x", "limit": 1});
    assert_eq!(world.patch(&format!("/v1/jobs/{job}"), json!({"concurrency": concurrency})).await.status, 200);
}
