//! The targets that an operator declares under an alias: services of AWS. A job says which alias, and never an address.

use minutehand_domain::limits::DETAIL_TYPE_CHARS;
use minutehand_domain::pool::Name;
use minutehand_domain::target::{AliasName, Asks, ServiceTarget as Called, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TargetCheck, TargetKind};
use crate::field_errors::FieldErrors;
use crate::texts::{AliasText, GroupText};

/// Calls a Lambda function, whose answer is the run's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct LambdaTarget {
    #[schemars(with = "AliasText")]
    pub alias: String,
}

/// Sends a message to a queue of SQS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct SqsTarget {
    #[schemars(with = "AliasText")]
    pub alias: String,
    /// Messages of one group are received in order, by a FIFO queue; there it is the job's id where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<GroupText>")]
    pub group: Option<String>,
}

/// Sends a message to a topic of SNS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct SnsTarget {
    #[schemars(with = "AliasText")]
    pub alias: String,
    /// As for a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<GroupText>")]
    pub group: Option<String>,
}

/// Puts an event on a bus of `EventBridge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct EventBridgeTarget {
    #[schemars(with = "AliasText")]
    pub alias: String,
    /// The event's `detail-type`; `minutehand.run` where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = DETAIL_TYPE_CHARS))]
    pub detail_type: Option<String>,
}

/// Starts an execution of a state machine. The run has succeeded when it is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct StepFunctionsTarget {
    #[schemars(with = "AliasText")]
    pub alias: String,
}

/// Starts a task of ECS. The run has succeeded when it is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
pub struct EcsTarget {
    #[schemars(with = "AliasText")]
    pub alias: String,
}

impl LambdaTarget {
    pub(super) fn of(alias: &AliasName) -> Self {
        Self { alias: alias.to_string() }
    }
}

impl SqsTarget {
    pub(super) fn of(alias: &AliasName, group: Option<&Name>) -> Self {
        Self { alias: alias.to_string(), group: group.map(ToString::to_string) }
    }
}

impl SnsTarget {
    pub(super) fn of(alias: &AliasName, group: Option<&Name>) -> Self {
        Self { alias: alias.to_string(), group: group.map(ToString::to_string) }
    }
}

impl EventBridgeTarget {
    pub(super) fn of(alias: &AliasName, detail_type: Option<&String>) -> Self {
        Self { alias: alias.to_string(), detail_type: detail_type.cloned() }
    }
}

impl StepFunctionsTarget {
    pub(super) fn of(alias: &AliasName) -> Self {
        Self { alias: alias.to_string() }
    }
}

impl EcsTarget {
    pub(super) fn of(alias: &AliasName) -> Self {
        Self { alias: alias.to_string() }
    }
}

impl TargetKind for LambdaTarget {
    const TITLE: &'static str = "Lambda";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        declared(&self.alias, Asks::Lambda, check, errors)
    }
}

impl TargetKind for SqsTarget {
    const TITLE: &'static str = "SQS";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        in_groups(&self.alias, self.group.as_deref(), |group| Asks::Sqs { group }, check, errors)
    }
}

impl TargetKind for SnsTarget {
    const TITLE: &'static str = "SNS";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        in_groups(&self.alias, self.group.as_deref(), |group| Asks::Sns { group }, check, errors)
    }
}

impl TargetKind for EventBridgeTarget {
    const TITLE: &'static str = "EventBridge";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        let found = errors.count();
        if let Some(detail_type) = &self.detail_type {
            errors.line("/target/eventbridge/detail_type", detail_type, DETAIL_TYPE_CHARS);
        }
        if errors.count() > found {
            return None;
        }
        declared(&self.alias, Asks::EventBridge { detail_type: self.detail_type.clone() }, check, errors)
    }
}

impl TargetKind for StepFunctionsTarget {
    const TITLE: &'static str = "Step Functions";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        declared(&self.alias, Asks::StepFunctions, check, errors)
    }
}

impl TargetKind for EcsTarget {
    const TITLE: &'static str = "ECS";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        declared(&self.alias, Asks::Ecs, check, errors)
    }
}

/// Of a service whose messages may be in groups.
fn in_groups(
    alias: &str,
    group: Option<&str>,
    asks: fn(Option<Name>) -> Asks,
    check: TargetCheck<'_>,
    errors: &mut FieldErrors,
) -> Option<Target> {
    let group = match group {
        None => None,
        Some(group) => Some(errors.name(format!("/target/{}/group", asks(None).kind().as_str()), group)?),
    };
    declared(alias, asks(group), check, errors)
}

/// The target, if its alias is declared.
fn declared(alias: &str, asks: Asks, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
    let kind = asks.kind().as_str();
    let alias = errors.name(format!("/target/{kind}/alias"), alias)?;
    let target = Target::Service(Called { alias, asks });
    match check(&target) {
        Ok(()) => Some(target),
        Err((field, detail)) => {
            errors.add(format!("/target/{kind}/{field}"), detail);
            None
        }
    }
}
