//! Who is told of the end of a run, and who is asked before it.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::callback::{Callback, CallbackPlace, End};
use minutehand_domain::hook::{BeforeHook, Hooks, OnError};
use minutehand_domain::target::HttpTarget;
use serde::{Deserialize, Serialize};

use super::span::SpanV1;
use super::target::HttpTargetV3;
use super::{Maybe, Shape as _, shapes};

shapes! {
    CallbackV1 => Callback,
    CallbackPlaceV1 => CallbackPlace,
    HooksV1 => Hooks,
    BeforeHookV1 => BeforeHook,
    OnErrorV1 => OnError,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Callback")]
pub(crate) struct CallbackV1 {
    #[serde(with = "CallbackPlaceV1")]
    place: CallbackPlace,
    #[serde(with = "HttpTargetV3")]
    target: HttpTarget,
    on: BTreeSet<End>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CallbackPlace", rename_all = "snake_case")]
enum CallbackPlaceV1 {
    Callback,
    After,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Hooks")]
pub(crate) struct HooksV1 {
    #[serde(default, with = "Maybe::<BeforeHookV1>")]
    before: Option<BeforeHook>,
    #[serde(default, with = "Maybe::<CallbackV1>")]
    after: Option<Callback>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "BeforeHook")]
struct BeforeHookV1 {
    #[serde(with = "HttpTargetV3")]
    target: HttpTarget,
    #[serde(with = "SpanV1")]
    timeout: Duration,
    #[serde(with = "OnErrorV1")]
    on_error: OnError,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OnError", rename_all = "snake_case")]
enum OnErrorV1 {
    Fail,
    GoOn,
}
