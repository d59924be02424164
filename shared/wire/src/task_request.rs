//! A task of a workflow as it is asked for: what it does, what it waits for, and whether it runs at all.

use std::collections::BTreeSet;

use minutehand_domain::body;
use minutehand_domain::limits::{DEFAULT_TIMEOUT_SECONDS, PAYLOAD_BYTES, SECRETS_OF_A_CALL, TASKS, WORKFLOW_SECONDS};
use minutehand_domain::order::Delivery;
use minutehand_domain::priority::Priority;
use minutehand_domain::secret::SecretName;
use minutehand_domain::slot::Bounds;
use minutehand_domain::target::Target;
use minutehand_domain::workflow::definition::{Approval, Does, ForEach, Over, Task, Tolerate};
use minutehand_domain::workflow::edge::Rule;
use minutehand_domain::workflow::expression::Expression;
use minutehand_domain::workflow::key::TaskKey;
use minutehand_domain::workflow::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval_request::ApprovalRequest;
use crate::body::Json;
use crate::bounds::{ConcurrencySpec, RateSpec, bounds};
use crate::edge_request::EdgeRequest;
use crate::field_errors::FieldErrors;
use crate::for_each_request::ForEachRequest;
use crate::job_request::{can_claim_effects, payload_of};
use crate::object::maybe_object;
use crate::retry::RetrySpec;
use crate::target::{TargetCheck, TargetSpec, maybe_asked};
use crate::texts::{ExpressionText, TaskKeyText};
use crate::whole_number::whole_number;
use crate::words::{DeliveryWord, PriorityWord, RuleWord};

/// A task: a call of a target or a question to people, exactly one of the two, and what it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRequest {
    #[schemars(with = "TaskKeyText")]
    pub key: String,
    #[schemars(with = "Option<TargetSpec>")]
    #[serde(default, deserialize_with = "maybe_asked", skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetSpec>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRequest>,
    /// A template: what the target is given, in which a text such as `{{params.day}}` or `{{tasks.load.result.rows}}` names a value.
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// What it waits for. It starts with the run if it waits for nothing.
    #[schemars(length(max = TASKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<EdgeRequest>>,
    #[schemars(with = "Option<RuleWord>", extend("default" = Rule::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Judged when its edges say that it starts; where it is false, the task is skipped.
    #[schemars(with = "Option<ExpressionText>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEachRequest>,
    /// Its failure is not the run's, and stops nothing.
    #[schemars(extend("default" = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_failure: Option<bool>,
    /// As urgent as the run if it is not given.
    #[schemars(with = "Option<PriorityWord>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// How long an attempt may take: at most 840, a week for a worker and for an HTTP target that takes its runs on. A workflow may take as
    /// long as it says, or less where it is said here.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = WORKFLOW_SECONDS), extend("default" = DEFAULT_TIMEOUT_SECONDS))]
    pub timeout_seconds: Option<u64>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySpec>,
    #[schemars(with = "Option<DeliveryWord>", extend("default" = Delivery::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// How many runs that share a key may be under way at once, of tasks and of jobs.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencySpec>,
    /// How many attempts that share a key may begin in a minute, of tasks and of jobs.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSpec>,
}

/// A task of which each part was checked by itself. What was wrong with a part is noted, and nothing stands in its place, so that the
/// graph can be looked at too.
pub(crate) struct CheckedTask {
    pub task: Option<Task>,
    pub secrets: BTreeSet<SecretName>,
}

impl TaskRequest {
    /// `unnamed`: what it is called while the rest is looked at, if it has no key that can be one.
    pub(crate) fn checked(&self, unnamed: &str, check: TargetCheck<'_>, errors: &mut FieldErrors) -> CheckedTask {
        let key = self.key.parse::<TaskKey>().map_err(|no_key| errors.add("/key", no_key.to_string()));
        let key = key.ok().or_else(|| unnamed.parse().ok());
        let does = self.does(check, errors);
        let (payload, mut secrets) = self.payload(errors);
        if let Does::Call { target, .. } = &does {
            secrets.extend(target.secrets());
        }
        if secrets.len() > SECRETS_OF_A_CALL {
            errors.add("", format!("a call needs at most {SECRETS_OF_A_CALL} secrets; this names {}", secrets.len()));
        }
        let edges = self.depends_on.iter().flatten().enumerate();
        let task = key.map(|key| Task {
            payload,
            depends_on: edges
                .filter_map(|(index, edge)| edge.checked(&format!("/depends_on/{index}"), errors))
                .collect(),
            rule: self.rule.unwrap_or_default(),
            when: self.when(errors),
            for_each: self.for_each.as_ref().map(|each| each.checked("/for_each", errors).unwrap_or_else(no_branch)),
            allow_failure: self.allow_failure.unwrap_or_default(),
            priority: self.priority,
            bounds: self.bounds(errors),
            ..Task::new(key, does)
        });
        CheckedTask { task, secrets }
    }

    fn does(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Does {
        match (&self.target, &self.approval) {
            (Some(target), None) => {
                let terms = target.terms(self.timeout_seconds, self.retry.as_ref(), self.delivery, errors);
                let target = target.checked(check, errors);
                if let Some(target) = &target {
                    can_claim_effects(target, terms.delivery, errors);
                }
                Does::Call { target: target.unwrap_or(Target::Noop), terms }
            }
            (None, Some(approval)) => {
                self.is_no_call(errors);
                Does::Ask(approval.checked(errors))
            }
            (None, None) | (Some(_), Some(_)) => {
                errors.add("", "give exactly one of target and approval");
                Does::Ask(Approval::default())
            }
        }
    }

    /// The run of a workflow that is a task has tasks of its own, which share limits: if it held a place itself, they could wait for
    /// one another.
    fn bounds(&self, errors: &mut FieldErrors) -> Bounds {
        if self.concurrency.is_some() && matches!(self.target, Some(TargetSpec::Workflow(_))) {
            errors.add("/concurrency", "a task that runs a workflow holds no place: give it to the workflow's tasks");
        }
        bounds(self.concurrency.as_ref(), self.rate.as_ref(), errors)
    }

    /// What says how a call is made says nothing of a question.
    fn is_no_call(&self, errors: &mut FieldErrors) {
        if self.timeout_seconds.is_some() {
            errors.add("/timeout_seconds", "an approval's own `timeout_seconds` says how long its answer may take");
        }
        let of_a_call = [
            ("/retry", self.retry.is_some()),
            ("/delivery", self.delivery.is_some()),
            ("/concurrency", self.concurrency.is_some()),
            ("/rate", self.rate.is_some()),
        ];
        for (field, is_given) in of_a_call {
            if is_given {
                errors.add(field, "goes with a target: an approval calls nothing");
            }
        }
    }

    fn payload(&self, errors: &mut FieldErrors) -> (Option<Template>, BTreeSet<SecretName>) {
        let (pointer, given) = match &self.target {
            Some(target) => target.given(self.payload.as_ref(), errors),
            None => ("/payload", self.payload.as_ref()),
        };
        match payload_of(pointer, given) {
            Ok((payload, secrets)) => (payload.and_then(|json| template(pointer, json, errors)), secrets),
            Err(refusal) => {
                errors.extend(refusal.errors);
                (None, BTreeSet::new())
            }
        }
    }

    fn when(&self, errors: &mut FieldErrors) -> Option<Expression> {
        let when = self.when.as_ref()?;
        Expression::new(when).map_err(|why| errors.add("/when", why.to_string())).ok()
    }
}

/// In the place of branches that could not be understood: what speaks of an item is right all the same.
fn no_branch() -> ForEach {
    ForEach { over: Over::List(Vec::new()), max_concurrent: None, tolerate: Tolerate::default() }
}

/// JSON in which texts may name values; every text that is none is noted where it stands.
pub(crate) fn template(pointer: &str, json: body::Json, errors: &mut FieldErrors) -> Option<Template> {
    let text = json.as_str().to_owned();
    match Template::new(json) {
        Ok(template) => Some(template),
        Err(why) => {
            let found = errors.count();
            if let Ok(value) = serde_json::from_str(&text) {
                find_bad_texts(&value, pointer.to_owned(), errors);
            }
            if errors.count() == found {
                errors.add(pointer, why.to_string());
            }
            None
        }
    }
}

fn find_bad_texts(value: &Value, at: String, errors: &mut FieldErrors) {
    match value {
        Value::String(_) => {
            if let Err(why) = Template::new(body::Json::of(value)) {
                errors.add(at, why.to_string());
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_bad_texts(item, format!("{at}/{index}"), errors);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                find_bad_texts(field, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), errors);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
