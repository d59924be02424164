//! A service of AWS as a target: what an operator declared under an alias. A job names the alias, never an address, so that what its tenant
//! may reach is the operator's to say.

use crate::limits::{ECS_PAYLOAD_BYTES, PAYLOAD_BYTES, SERVICE_PAYLOAD_BYTES};
use crate::pool::Name;

/// What an operator calls a service that jobs may call.
pub type AliasName = Name;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceTarget {
    pub alias: AliasName,
    pub asks: Asks,
}

/// What is asked of the service: its kind, and what a job says of it beside the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asks {
    /// The function is called, and its answer is the run's result.
    Lambda,
    /// A message is sent. Messages of one group are received in order, where the queue keeps one.
    Sqs {
        group: Option<Name>,
    },
    Sns {
        group: Option<Name>,
    },
    EventBridge {
        detail_type: Option<String>,
    },
    /// An execution is started.
    StepFunctions,
    /// A task is started.
    Ecs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceKind {
    Lambda,
    Sqs,
    Sns,
    EventBridge,
    StepFunctions,
    Ecs,
}

impl Asks {
    pub const fn kind(&self) -> ServiceKind {
        match self {
            Self::Lambda => ServiceKind::Lambda,
            Self::Sqs { .. } => ServiceKind::Sqs,
            Self::Sns { .. } => ServiceKind::Sns,
            Self::EventBridge { .. } => ServiceKind::EventBridge,
            Self::StepFunctions => ServiceKind::StepFunctions,
            Self::Ecs => ServiceKind::Ecs,
        }
    }
}

impl ServiceKind {
    pub const ALL: [Self; 6] = [Self::Lambda, Self::Sqs, Self::Sns, Self::EventBridge, Self::StepFunctions, Self::Ecs];

    /// As a job names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lambda => "lambda",
            Self::Sqs => "sqs",
            Self::Sns => "sns",
            Self::EventBridge => "eventbridge",
            Self::StepFunctions => "step_functions",
            Self::Ecs => "ecs",
        }
    }

    /// The largest payload that it takes, beside what Minutehand says of the run.
    pub const fn payload_bytes(self) -> usize {
        match self {
            Self::Lambda | Self::Sqs => PAYLOAD_BYTES,
            Self::Sns | Self::EventBridge | Self::StepFunctions => SERVICE_PAYLOAD_BYTES,
            Self::Ecs => ECS_PAYLOAD_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_takes_no_larger_payload_than_there_is() {
        for kind in ServiceKind::ALL {
            assert!(kind.payload_bytes() <= PAYLOAD_BYTES, "{}", kind.as_str());
        }
        assert_eq!(ServiceKind::Ecs.payload_bytes(), 7 * 1024);
    }
}
