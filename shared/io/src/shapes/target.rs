//! A target: what an attempt calls.

use std::collections::BTreeMap;

use minutehand_domain::target::{HttpTarget, Method, Target};
use serde::{Deserialize, Serialize};

use super::shapes;

shapes! { TargetV1 => Target, HttpTargetV1 => HttpTarget, MethodV1 => Method }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Target", rename_all = "snake_case")]
pub(crate) enum TargetV1 {
    Http(#[serde(with = "HttpTargetV1")] HttpTarget),
    Noop,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HttpTarget")]
struct HttpTargetV1 {
    url: String,
    #[serde(with = "MethodV1")]
    method: Method,
    headers: BTreeMap<String, String>,
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
