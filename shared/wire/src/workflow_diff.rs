//! What is different between two versions of a workflow: tasks that came, went and changed, and what changed for the whole.

use std::collections::BTreeMap;

use minutehand_domain::workflow::definition::{Definition, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::Json;
use crate::task_view::TaskView;
use crate::texts::{TaskKeyText, WorkflowIdText};
use crate::workflow_view::DefinitionView;

/// What is different between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowDiffView {
    #[schemars(with = "WorkflowIdText")]
    pub workflow_id: String,
    pub from: u32,
    pub to: u32,
    /// What changed for the whole.
    pub policy: Vec<FieldDiffView>,
    /// Tasks of `to` that are not in `from`.
    pub added: Vec<TaskView>,
    /// Tasks of `from` that are not in `to`.
    pub removed: Vec<TaskView>,
    pub changed: Vec<TaskDiffView>,
}

/// A task that both versions have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskDiffView {
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    pub fields: Vec<FieldDiffView>,
}

/// A field as both versions have it. A credential that changed is a mask in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldDiffView {
    /// Of a task, `list` says whether it is one of `tasks` or of `finally`.
    pub field: String,
    pub from: Option<Json>,
    pub to: Option<Json>,
}

impl WorkflowDiffView {
    pub fn of(workflow: &str, (from, before): (u32, &Definition), (to, after): (u32, &Definition)) -> Self {
        let (old, new) = (by_key(before), by_key(after));
        let only = |these: &[Placed<'_>], others: &BTreeMap<&str, Placed<'_>>| {
            let mut only = these.iter().filter(|(_, task)| !others.contains_key(task.key.as_str()));
            let views = only.by_ref().map(|(_, task)| TaskView::of(task));
            views.collect::<Vec<_>>()
        };
        let changed = placed(after).into_iter().filter_map(|now| {
            let fields = changed_fields(*old.get(now.1.key.as_str())?, now);
            (!fields.is_empty()).then(|| TaskDiffView { key: now.1.key.to_string(), fields })
        });
        let policies = [before, after].map(|definition| DefinitionView::of(definition).policy());
        Self {
            workflow_id: workflow.to_owned(),
            from,
            to,
            policy: differences(&policies[0], &policies[1]),
            added: only(&placed(after), &old),
            removed: only(&placed(before), &new),
            changed: changed.collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.policy.is_empty() && self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// A task and the list that it is in.
type Placed<'a> = (&'static str, &'a Task);

fn placed(definition: &Definition) -> Vec<Placed<'_>> {
    let main = definition.tasks.iter().map(|task| ("tasks", task));
    main.chain(definition.finally.iter().map(|task| ("finally", task))).collect()
}

fn by_key(definition: &Definition) -> BTreeMap<&str, Placed<'_>> {
    placed(definition).into_iter().map(|placed| (placed.1.key.as_str(), placed)).collect()
}

fn changed_fields(before: Placed<'_>, after: Placed<'_>) -> Vec<FieldDiffView> {
    let found = differences(&fields(before), &fields(after));
    if !found.is_empty() || before.1 == after.1 {
        return found;
    }
    // What is shown is the same, and what is meant is not: a credential.
    let target = |task: &Task| Some(Json::of(&TaskView::of(task).target));
    vec![FieldDiffView { field: "target".to_owned(), from: target(before.1), to: target(after.1) }]
}

fn fields((list, task): Placed<'_>) -> Vec<(&'static str, Json)> {
    let view = TaskView::of(task);
    vec![
        ("list", Json::of(&list)),
        ("target", Json::of(&view.target)),
        ("approval", Json::of(&view.approval)),
        ("payload", Json::of(&view.payload)),
        ("depends_on", Json::of(&view.depends_on)),
        ("rule", Json::of(&view.rule)),
        ("when", Json::of(&view.when)),
        ("for_each", Json::of(&view.for_each)),
        ("allow_failure", Json::of(&view.allow_failure)),
        ("priority", Json::of(&view.priority)),
        ("timeout_seconds", Json::of(&view.timeout_seconds)),
        ("retry", Json::of(&view.retry)),
        ("delivery", Json::of(&view.delivery)),
    ]
}

fn differences(before: &[(&'static str, Json)], after: &[(&'static str, Json)]) -> Vec<FieldDiffView> {
    let pairs = before.iter().zip(after).filter(|((_, from), (_, to))| from != to);
    let shown = |json: &Json| Some(json.clone()).filter(|json| json.text() != "null");
    pairs
        .map(|((field, from), (_, to))| FieldDiffView { field: (*field).to_owned(), from: shown(from), to: shown(to) })
        .collect()
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;
    use minutehand_domain::id::JobId;
    use minutehand_domain::schedule::Spread;
    use serde_json::json;

    use super::*;
    use crate::workflow_request::WorkflowRequest;

    fn definition(request: serde_json::Value) -> Definition {
        let request: WorkflowRequest = serde_json::from_value(request).unwrap();
        let spread = Spread::of(JobId::from_bytes([1; 16]));
        request.checked(spread, Moment::EPOCH, None, &|_| Ok(())).unwrap().definition
    }

    fn task(key: &str, credential: &str) -> serde_json::Value {
        let http = json!({"url": "http://x/", "headers": {"Authorization": credential}});
        json!({"key": key, "target": {"http": http}})
    }

    #[test]
    fn tasks_come_go_and_change_and_a_credential_is_told_without_being_shown() {
        let before =
            definition(json!({"name": "x", "tasks": [task("a", "key 1"), task("b", "key 1"), task("c", "key 1")]}));
        let mut b = task("b", "key 1");
        b["depends_on"] = json!(["a"]);
        let after = definition(
            json!({"name": "x", "on_failure": "hold", "tasks": [task("a", "key 2"), b, task("d", "key 1")]}),
        );

        let diff = WorkflowDiffView::of("wf", (1, &before), (2, &after));

        let keys = |tasks: &[TaskView]| tasks.iter().map(|task| task.key.clone()).collect::<Vec<_>>();
        assert_eq!((keys(&diff.added), keys(&diff.removed)), (vec!["d".to_owned()], vec!["c".to_owned()]));
        let changed: Vec<_> =
            diff.changed.iter().map(|task| (task.key.as_str(), task.fields[0].field.as_str())).collect();
        assert_eq!(changed, [("a", "target"), ("b", "depends_on")]);
        assert_eq!(diff.policy[0].field, "on_failure");
        let said = serde_json::to_string(&diff).unwrap();
        assert!(!said.contains("key 1") && !said.contains("key 2"), "{said}");
        assert!(WorkflowDiffView::of("wf", (1, &before), (1, &before)).is_empty());
    }
}
