//! Graphs for the tests: definitions of workflows that say only their difference, and worlds in which one has come so far.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::access::{By, Role};
use minutehand_domain::body::Json;
use minutehand_domain::id::Tenant;
use minutehand_domain::order::Terms;
use minutehand_domain::retry::RetryPolicy;
use minutehand_domain::run::{ErrorCode, Outcome, Run};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::definition::{
    Approval, Definition, Does, Edge, ForEach, OnFailure, Over, Policy, Task, Tolerate,
};
use minutehand_domain::workflow::edge::On;
use minutehand_protocol::workflow::{About, Created, NewWorkflow, create};
use serde_json::Value;

use crate::world::{World, acme, failed, succeeded};

/// A call that is not tried again.
pub(crate) fn task(key: &str, on: &[&str]) -> Task {
    let retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
    doing(key, on, Does::Call { target: Target::Noop, terms: Terms { retry, ..Terms::default() } })
}

pub(crate) fn approval(key: &str, on: &[&str], roles: &[Role]) -> Task {
    let roles: BTreeSet<Role> = roles.iter().copied().collect();
    doing(key, on, Does::Ask(Approval { roles, ..Approval::default() }))
}

pub(crate) fn sub_workflow(key: &str, id: WorkflowId) -> Task {
    let terms = Terms { timeout: Duration::from_secs(3600), ..Terms::default() };
    doing(key, &[], Does::Call { target: Target::Workflow(WorkflowTarget { id, version: None }), terms })
}

/// The task behind the success of another.
pub(crate) fn after(task: Task, before: &str) -> Task {
    Task { depends_on: vec![Edge { task: before.parse().unwrap(), on: On::Success }], ..task }
}

fn doing(key: &str, on: &[&str], does: Does) -> Task {
    let edge = |on: &&str| Edge { task: on.parse().unwrap(), on: On::Success };
    Task { depends_on: on.iter().map(edge).collect(), ..Task::new(key.parse().unwrap(), does) }
}

/// The task with so many branches.
pub(crate) fn each(task: Task, branches: usize) -> Task {
    let over = Over::List(vec![Json::null(); branches]);
    Task { for_each: Some(ForEach { over, max_concurrent: None, tolerate: Tolerate::default() }), ..task }
}

pub(crate) fn on_failure(failure: OnFailure, tasks: Vec<Task>) -> Definition {
    Definition { policy: Policy { failure, ..Policy::default() }, ..Definition::new(tasks) }
}

pub(crate) fn workflow_id(number: u8) -> WorkflowId {
    WorkflowId::from_bytes([number; 16])
}

/// A call fails where its task's key begins with `bad`.
pub(crate) fn as_it_is_called(key: &str) -> Outcome {
    if key.starts_with("bad") { failed(ErrorCode::Http5xx) } else { succeeded() }
}

impl World {
    /// Makes a workflow of `acme`.
    pub(crate) async fn workflow(&self, number: u8, definition: Definition) -> WorkflowId {
        self.workflow_of(acme(), number, definition).await
    }

    pub(crate) async fn workflow_of(&self, tenant: Tenant, number: u8, definition: Definition) -> WorkflowId {
        let (id, now) = (workflow_id(number), self.now());
        let schedule = Schedule::new(&Plan { on_demand: true, ..Plan::default() }, now).unwrap();
        let name = format!("etl {number}");
        let (about, by) = (About::default(), By::host());
        let new =
            NewWorkflow { tenant, id, name, definition, schedule, about, fingerprint: None, trace: None, by, now };
        let created = create(&*self.ports, new).await.unwrap();
        assert!(matches!(created, Created::New(_)), "{created:?}");
        id
    }

    /// A run of it, asked for now: its id.
    pub(crate) async fn start(&self, id: WorkflowId) -> String {
        self.run_of(&id.job().to_string()).await
    }

    /// A run of a new workflow, as far as it comes by itself.
    pub(crate) async fn begun(&self, definition: Definition) -> String {
        let run = self.start(self.workflow(1, definition).await).await;
        self.carry_on().await;
        run
    }

    /// The same, whose calls end like this.
    pub(crate) async fn begun_as(
        &self,
        definition: Definition,
        ends: impl Fn(&str, &Run) -> Option<Outcome>,
    ) -> String {
        let run = self.start(self.workflow(1, definition).await).await;
        self.work_tasks(ends).await;
        run
    }

    /// All that is due is carried out; calls end as their tasks are called. Those of `slow…` go on.
    pub(crate) async fn carry_on(&self) {
        self.work_tasks(|key, _| Some(as_it_is_called(key)).filter(|_| !key.starts_with("slow"))).await;
    }

    /// A run of a workflow as it is shown.
    pub(crate) async fn watch(&self, run: &str) -> Value {
        let answer = self.get(&format!("/v1/workflow-runs/{run}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// One of the tasks that are shown with it.
    pub(crate) async fn task(&self, run: &str, key: &str) -> Value {
        let shown = self.watch(run).await;
        let tasks = shown["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["key"] == key).unwrap_or_else(|| panic!("no {key} in {shown}")).clone()
    }
}
