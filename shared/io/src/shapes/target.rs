//! A target: what an attempt calls.

use std::collections::BTreeMap;

use minutehand_domain::pool::{HandlerName, PoolName};
use minutehand_domain::secret::SecretName;
use minutehand_domain::target::{Header, HttpTarget, Method, Target, WorkerTarget, WorkflowTarget};
use minutehand_domain::workflow::WorkflowId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Of, in_shape, shapes};

shapes! {
    TargetV1 => Target,
    TargetV2 => Target,
    HttpTargetV1 => HttpTarget,
    HttpTargetV2 => HttpTarget,
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
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HttpTarget")]
struct HttpTargetV2 {
    url: String,
    #[serde(with = "MethodV1")]
    method: Method,
    #[serde(with = "headers")]
    headers: BTreeMap<String, Header>,
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
