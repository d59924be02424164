//! A target: what an attempt calls.

use std::collections::BTreeMap;
use std::time::Duration;

use minutehand_domain::pool::{HandlerName, Name, PoolName};
use minutehand_domain::secret::SecretName;
use minutehand_domain::target::{
    AliasName, Asks, Header, HttpTarget, Method, ServiceTarget, Target, Timeouts, WorkerTarget, WorkflowTarget,
};
use minutehand_domain::workflow::WorkflowId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::span::SpanV1;
use super::{Maybe, Of, in_shape, shapes};

shapes! {
    TargetV1 => Target,
    TargetV2 => Target,
    TargetV3 => Target,
    HttpTargetV1 => HttpTarget,
    HttpTargetV2 => HttpTarget,
    HttpTargetV3 => HttpTarget,
    TimeoutsV3 => Timeouts,
    ServiceTargetV3 => ServiceTarget,
    AsksV3 => Asks,
    HeaderV2 => Header,
    MethodV1 => Method,
    WorkflowTargetV2 => WorkflowTarget,
    WorkerTargetV2 => WorkerTarget,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Target", rename_all = "snake_case")]
pub(crate) enum TargetV1 {
    Http(#[serde(with = "HttpTargetV1")] HttpTarget),
    Noop,
    #[serde(skip)]
    Workflow(WorkflowTarget),
    #[serde(skip)]
    Worker(WorkerTarget),
    #[serde(skip)]
    Service(ServiceTarget),
}

/// A header may name a secret.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Target", rename_all = "snake_case")]
pub(crate) enum TargetV2 {
    Http(#[serde(with = "HttpTargetV2")] HttpTarget),
    Noop,
    /// Came later: whatever has one is written in a later shape of its own.
    Workflow(#[serde(with = "WorkflowTargetV2")] WorkflowTarget),
    /// Later still, and likewise.
    Worker(#[serde(with = "WorkerTargetV2")] WorkerTarget),
    #[serde(skip)]
    Service(ServiceTarget),
}

/// A call may have time-outs for its phases, and services of AWS are asked.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Target", rename_all = "snake_case")]
pub(crate) enum TargetV3 {
    Http(#[serde(with = "HttpTargetV3")] HttpTarget),
    Noop,
    Workflow(#[serde(with = "WorkflowTargetV2")] WorkflowTarget),
    Worker(#[serde(with = "WorkerTargetV2")] WorkerTarget),
    Service(#[serde(with = "ServiceTargetV3")] ServiceTarget),
}

/// Whether shape 2 cannot say it.
pub(crate) fn needs_shape_3(target: &Target) -> bool {
    match target {
        Target::Http(http) => http.timeouts.is_said(),
        Target::Service(_) => true,
        Target::Noop | Target::Workflow(_) | Target::Worker(_) => false,
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ServiceTarget")]
struct ServiceTargetV3 {
    alias: AliasName,
    #[serde(with = "AsksV3")]
    asks: Asks,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Asks", rename_all = "snake_case")]
enum AsksV3 {
    Lambda,
    Sqs { group: Option<Name> },
    Sns { group: Option<Name> },
    EventBridge { detail_type: Option<String> },
    StepFunctions,
    Ecs,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "WorkerTarget")]
struct WorkerTargetV2 {
    pool: PoolName,
    handler: HandlerName,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "WorkflowTarget")]
struct WorkflowTargetV2 {
    id: WorkflowId,
    version: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HttpTarget")]
struct HttpTargetV1 {
    url: String,
    #[serde(with = "MethodV1")]
    method: Method,
    #[serde(with = "texts")]
    headers: BTreeMap<String, Header>,
    #[serde(skip)]
    timeouts: Timeouts,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HttpTarget")]
struct HttpTargetV2 {
    url: String,
    #[serde(with = "MethodV1")]
    method: Method,
    #[serde(with = "headers")]
    headers: BTreeMap<String, Header>,
    #[serde(skip)]
    timeouts: Timeouts,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HttpTarget")]
pub(crate) struct HttpTargetV3 {
    url: String,
    #[serde(with = "MethodV1")]
    method: Method,
    #[serde(with = "headers")]
    headers: BTreeMap<String, Header>,
    #[serde(with = "TimeoutsV3")]
    timeouts: Timeouts,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Timeouts")]
struct TimeoutsV3 {
    #[serde(default, with = "Maybe::<SpanV1>")]
    connect: Option<Duration>,
    #[serde(default, with = "Maybe::<SpanV1>")]
    first_byte: Option<Duration>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Header", rename_all = "snake_case")]
enum HeaderV2 {
    Text(String),
    Secret(SecretName),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Method", rename_all = "UPPERCASE")]
enum MethodV1 {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// All headers were texts.
mod texts {
    use serde::ser::Error as _;

    use super::{BTreeMap, Deserialize, Deserializer, Header, Serializer};

    pub(super) fn serialize<S: Serializer>(headers: &BTreeMap<String, Header>, to: S) -> Result<S::Ok, S::Error> {
        let texts = headers.iter().map(|(name, header)| match header {
            Header::Text(text) => Ok((name, text)),
            Header::Secret(_) => Err(S::Error::custom("shape 1 of a target knows no secrets")),
        });
        to.collect_map(texts.collect::<Result<Vec<_>, _>>()?)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Header>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(from)?;
        Ok(texts.into_iter().map(|(name, text)| (name, Header::Text(text))).collect())
    }
}

mod headers {
    use super::{BTreeMap, Deserialize, Deserializer, Header, HeaderV2, Of, Serializer, in_shape};

    pub(super) fn serialize<S: Serializer>(headers: &BTreeMap<String, Header>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(headers.iter().map(|(name, header)| (name, in_shape::<HeaderV2, _>(header))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Header>, D::Error> {
        let headers = BTreeMap::<String, Of<HeaderV2, Header>>::deserialize(from)?;
        Ok(headers.into_iter().map(|(name, of)| (name, of.0)).collect())
    }
}
