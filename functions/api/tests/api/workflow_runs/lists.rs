//! Lists of runs of workflows.

use minutehand_domain::workflow::definition::{Definition, OnFailure};
use serde_json::{Value, json};

use crate::graphs::{on_failure, task, workflow_id};
use crate::world::{OTHER_KEY, World, pages};

#[tokio::test]
async fn runs_are_listed_by_workflow_status_and_version_and_others_are_left_out() {
    let world = World::new();
    let good = world.workflow(1, Definition::new(vec![task("a", &[])])).await;
    let bad = world.workflow(2, on_failure(OnFailure::FailFast, vec![task("bad", &[])])).await;
    let plain = world.job(json!({"on_demand": true})).await;
    world.run_of(&plain).await;
    let (one, two, three) = (world.start(good).await, world.start(bad).await, world.start(good).await);
    world.carry_on().await;
    let queued = world.start(good).await;
    let ids = async |query: &str| {
        let answer = world.get(&format!("/v1/workflow-runs{query}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let mut ids = answer.items("workflow_run_id");
        ids.sort_by_key(|id| id.as_str().unwrap().to_owned());
        ids
    };
    let of = |runs: &[&String]| {
        let mut ids: Vec<Value> = runs.iter().map(|id| json!(id)).collect();
        ids.sort_by_key(|id| id.as_str().unwrap().to_owned());
        ids
    };

    assert_eq!(ids("").await, of(&[&one, &two, &three, &queued]));
    assert_eq!(ids("?status=failed").await, of(&[&two]));
    assert_eq!(ids(&format!("?workflow={good}")).await, of(&[&one, &three, &queued]));
    assert_eq!(ids(&format!("?workflow={good}&version=1")).await, of(&[&one, &three]));
    assert_eq!(ids(&format!("?workflow={good}&version=2")).await, of(&[]));
    assert_eq!(ids("?version=1&status=succeeded").await, of(&[&one, &three]));
    let same = world.get(&format!("/v1/workflow-runs?workflow={good}&status=queued")).await;
    assert_eq!(same.items("workflow_run_id"), [json!(queued)]);
    assert_eq!(
        (same.field("/items/0/workflow_id"), same.field("/items/0/version")),
        (json!(good.to_string()), Value::Null)
    );
}

#[tokio::test]
async fn a_list_goes_on_to_its_end_and_what_is_not_there_is_not_listed() {
    let world = World::new();
    let id = world.workflow(1, Definition::new(vec![task("a", &[])])).await;
    let mut runs = Vec::new();
    for _ in 0..7 {
        runs.push(json!(world.start(id).await));
        world.pass(1);
    }
    runs.reverse();

    for path in ["/v1/workflow-runs?limit=2".to_owned(), format!("/v1/workflow-runs?workflow={id}&limit=2")] {
        assert_eq!(pages(&world, &path, "workflow_run_id", async || {}).await.concat(), runs, "{path}");
    }

    let nowhere = workflow_id(9);
    world.get(&format!("/v1/workflow-runs?workflow={nowhere}")).await.problem(404, "not-found");
    world.by(OTHER_KEY, "GET", &format!("/v1/workflow-runs?workflow={id}"), None).await.problem(404, "not-found");
    assert_eq!(world.by(OTHER_KEY, "GET", "/v1/workflow-runs", None).await.field("/items"), json!([]));
    assert_eq!(world.get("/v1/workflow-runs?workflow=x").await.problem(422, "invalid"), ["?workflow"]);
    assert_eq!(world.get("/v1/workflow-runs?version=0").await.problem(422, "invalid"), ["?version"]);
    assert_eq!(world.get("/v1/workflow-runs?limit=0").await.problem(422, "invalid"), ["?limit"]);
}
