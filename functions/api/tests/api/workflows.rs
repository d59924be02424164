//! Workflows, as jobs name them.

use minutehand_domain::Moment;
use minutehand_domain::workflow::{Workflow, WorkflowId};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::json;

use crate::world::{OTHER_KEY, World, acme};

#[tokio::test]
async fn a_job_that_names_a_workflow_which_is_not_there_is_refused() {
    let (world, id) = (World::new(), WorkflowId::from_bytes([7; 16]));
    let job = |target| json!({"target": {"workflow": target}, "schedule": {"on_demand": true}});
    let refused = world.post("/v1/jobs", job(json!({"id": id.to_string()}))).await;
    refused.problem(422, "invalid");
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
