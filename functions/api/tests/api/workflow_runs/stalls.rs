//! Stalls: a run below which nothing goes on and nothing is awaited says so, once.

use minutehand_domain::access::Role;
use minutehand_domain::id::RunKey;
use minutehand_domain::timer::TimerKey;
use minutehand_domain::workflow::definition::{Definition, OnFailure};
use minutehand_domain::workflow::join::{Join, JoinKey, Of, Tree};
use minutehand_io::Ports as _;
use minutehand_io::store::{Bucket, Deleted, Store as _};
use serde_json::{Value, json};

use crate::graphs::{approval, on_failure, task};
use crate::world::{World, acme};

/// Passes are made for so many minutes; calls go on.
async fn wait(world: &World, minutes: u64) {
    for _ in 0..minutes {
        world.pass(60);
        world.work_tasks(|_, _| None).await;
    }
}

async fn stalls(world: &World, run: &str) -> Vec<(Value, Value)> {
    let events = world.get(&format!("/v1/workflow-runs/{run}/events")).await;
    let events = events.field("/items");
    let stalled = events.as_array().unwrap().iter().filter(|event| event["type"] == "stalled");
    stalled.map(|event| (event["at"].clone(), event["detail"].clone())).collect()
}

/// Deletes what is known of the edges that have closed at the join of a task.
async fn lose_join(world: &World, run: &str, node: u16) {
    let stored = world.stored_run(run).await.unwrap();
    let graph = stored.graph.unwrap();
    let key = JoinKey::new(stored.key, graph.parts, Of::Task(node), Tree::of(2).root());
    let seen = world.ports.store().get::<Join>(&acme(), key).await.unwrap().expect("an edge has closed");
    let deleted = world.ports.store().delete::<Join>(&acme(), key, seen.version).await.unwrap();
    assert!(matches!(deleted, Deleted::Done));
}

/// The guard is the call of `stall_of` in the look.
#[tokio::test]
async fn a_run_whose_join_was_lost_says_which_edge_it_waits_for_and_says_it_once() {
    let world = World::new();
    let tasks = vec![task("a", &[]), approval("b", &[], &[Role::Operator]), task("join", &["a", "b"])];
    let run = world.begun(Definition::new(tasks)).await;
    lose_join(&world, &run, 2).await;
    let approved = world.post(&format!("/v1/workflow-runs/{run}/tasks/b/approve"), json!({})).await;
    assert_eq!(approved.status, 200);

    wait(&world, 40).await;
    let once = stalls(&world, &run).await;
    wait(&world, 60).await;

    assert_eq!(once.len(), 1, "{once:?}");
    assert_eq!(
        once[0].1,
        "`join` has not begun, though all it depends on has ended: the edge from `b` may not have closed"
    );
    assert_eq!(stalls(&world, &run).await, once, "once, not once a look");
    assert_eq!(world.watch(&run).await["stalled_at"], once[0].0);
    let listed = world.get("/v1/workflow-runs").await;
    assert_eq!(listed.field("/items/0/stalled_at"), once[0].0);
}

#[tokio::test]
async fn a_run_whose_task_lost_its_timer_says_so() {
    let world = World::new();
    let id = world.workflow(1, Definition::new(vec![task("a", &[])])).await;
    let run = world.start(id).await;
    let key: RunKey = run.parse().unwrap();
    // It unfolds, and what it began is forgotten by the queue and by the table of timers.
    let hints = world.ports.queues.take(world.now());
    for hint in &hints {
        let lane = minutehand_domain::lane::Lane::default();
        let _begun = minutehand_protocol::run::claim::claim(&*world.ports, hint, lane, world.now()).await.unwrap();
    }
    world.ports.queues.take(world.now());
    lose_timers_but_of(&world, key).await;

    wait(&world, 40).await;

    let stalls = stalls(&world, &run).await;
    assert_eq!(stalls.len(), 1, "{stalls:?}");
    assert_eq!(stalls[0].1, "the end waits for `a`, which is queued, and nobody carries it out");
}

async fn lose_timers_but_of(world: &World, run: RunKey) {
    let store = world.ports.store();
    let minute = world.now().millis() / 60_000;
    for shard in 0..store.shards() {
        let timers = store.timers(Bucket { minute, shard }, None, minutehand_domain::Moment::END, 100).await.unwrap();
        for timer in timers.items.iter().filter(|timer| timer.key.run_key() != run) {
            assert!(store.erase_timer(&TimerKey { ..timer.key }, timer.stamp).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_long_call_an_approval_and_a_held_failure_are_no_stall() {
    let definitions = [
        Definition::new(vec![approval("ok", &[], &[Role::Operator])]),
        on_failure(OnFailure::Hold, vec![task("bad", &[])]),
    ];
    for definition in definitions {
        let world = World::new();
        let run = world.begun(definition).await;
        wait(&world, 60).await;
        assert_eq!(stalls(&world, &run).await, []);
        assert_eq!(world.watch(&run).await["stalled_at"], Value::Null);
    }
    let world = World::new();
    let run = world.begun(Definition::new(vec![task("slow", &[])])).await;
    // Whoever calls is alive, and extends its lease.
    let slow = world.task(&run, "slow").await["run_id"].as_str().unwrap().to_owned();
    for _ in 0..60 {
        let (key, until) = (slow.parse::<RunKey>().unwrap(), world.now() + std::time::Duration::from_secs(600));
        let extend = minutehand_io::store::ExtendLease { fence: 1, until };
        let _extended = world.ports.store().update(&acme(), key, &extend).await.unwrap();
        wait(&world, 1).await;
    }
    assert_eq!(stalls(&world, &run).await, []);
}
