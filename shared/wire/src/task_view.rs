//! A task of a workflow as it is shown, every default spelled out: asked again, it would be the same task.

use std::collections::BTreeSet;

use minutehand_domain::access::Role;
use minutehand_domain::body;
use minutehand_domain::order::Delivery;
use minutehand_domain::priority::Priority;
use minutehand_domain::workflow::definition::{Approval, Does, Edge, ForEach, NoAnswer, Over, Task};
use minutehand_domain::workflow::edge::{On, Rule};
use minutehand_domain::workflow::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::body::{BodyView, Json};
use crate::bounds::{ConcurrencySpec, RateSpec};
use crate::for_each_request::{ItemsRequest, TolerateSpec};
use crate::retry::RetrySpec;
use crate::target::TargetSpec;
use crate::texts::{ExpressionText, TaskKeyText};
use crate::word::Word;
use crate::words::{DeliveryWord, NoAnswerWord, OnWord, PriorityWord, RoleWord, RuleWord};

/// A task as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    /// Null for an approval.
    pub target: Option<TargetSpec>,
    /// Null for a call.
    pub approval: Option<ApprovalView>,
    /// A template; a credential in a header of its target is shown as a mask, and a secret as its name.
    pub payload: BodyView,
    pub depends_on: Vec<EdgeView>,
    #[schemars(with = "RuleWord")]
    pub rule: Word<Rule>,
    #[schemars(with = "Option<ExpressionText>")]
    pub when: Option<String>,
    pub for_each: Option<ForEachView>,
    pub allow_failure: bool,
    /// Null: as urgent as the run.
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Word<Priority>>,
    /// Null for an approval, as are the next two.
    pub timeout_seconds: Option<u64>,
    pub retry: Option<RetrySpec>,
    #[schemars(with = "Option<DeliveryWord>")]
    pub delivery: Option<Word<Delivery>>,
    /// Left out where it shares no number with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencySpec>,
    /// Left out where it shares no rate with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSpec>,
}

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeView {
    #[schemars(with = "TaskKeyText")]
    pub task: String,
    #[schemars(with = "OnWord")]
    pub on: Word<On>,
}

/// A question to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalView {
    /// Who may answer: whoever has one of these roles, or a higher one.
    #[schemars(with = "Vec<RoleWord>")]
    pub roles: BTreeSet<Word<Role>>,
    pub timeout_seconds: u64,
    #[schemars(with = "NoAnswerWord")]
    pub default: Word<NoAnswer>,
}

/// A branch of the task for each item of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForEachView {
    pub items: ItemsRequest,
    /// Null: all at once.
    pub max_concurrent: Option<u64>,
    pub tolerate: TolerateSpec,
}

impl TaskView {
    pub fn of(task: &Task) -> Self {
        let (call, approval) = match &task.does {
            Does::Call { target, terms } => (Some((target, terms)), None),
            Does::Ask(approval) => (None, Some(approval)),
        };
        Self {
            key: task.key.to_string(),
            target: call.map(|(target, terms)| TargetSpec::of(target).lasting(terms.timeout)),
            approval: approval.map(ApprovalView::of),
            payload: template(task.payload.as_ref()),
            depends_on: task.depends_on.iter().map(EdgeView::of).collect(),
            rule: task.rule.into(),
            when: task.when.as_ref().map(|when| when.source().to_owned()),
            for_each: task.for_each.as_ref().map(ForEachView::of),
            allow_failure: task.allow_failure,
            priority: task.priority.map(Word::from),
            timeout_seconds: call.map(|(_, terms)| terms.timeout.as_secs()),
            retry: call.map(|(_, terms)| RetrySpec::of(&terms.retry)),
            delivery: call.map(|(_, terms)| terms.delivery.into()),
            concurrency: ConcurrencySpec::of(&task.bounds),
            rate: RateSpec::of(&task.bounds),
        }
    }
}

impl EdgeView {
    fn of(edge: &Edge) -> Self {
        Self { task: edge.task.to_string(), on: edge.on.into() }
    }
}

impl ApprovalView {
    fn of(approval: &Approval) -> Self {
        Self {
            roles: approval.roles.iter().copied().map(Word::from).collect(),
            timeout_seconds: approval.timeout.as_secs(),
            default: approval.default.into(),
        }
    }
}

impl ForEachView {
    fn of(each: &ForEach) -> Self {
        let items = match &each.over {
            Over::Expression(expression) => ItemsRequest::Expression(expression.source().to_owned()),
            Over::List(items) => ItemsRequest::List(items.iter().filter_map(as_written).collect()),
        };
        let max_concurrent = each.max_concurrent.map(u64::from);
        Self { items, max_concurrent, tolerate: TolerateSpec(each.tolerate) }
    }
}

/// A template as it was written.
pub(crate) fn template(template: Option<&Template>) -> BodyView {
    BodyView::of(template.map(Template::source))
}

pub(crate) fn as_written(json: &body::Json) -> Option<Json> {
    serde_json::from_str::<Box<RawValue>>(json.as_str()).ok().map(Json::from)
}
