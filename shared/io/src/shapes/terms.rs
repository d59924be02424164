//! The terms on which a run is carried out: its retries among them.

use std::time::Duration;

use minutehand_domain::order::{Delivery, Terms};
use minutehand_domain::retry::{Backoff, Jitter, RetryPolicy};
use serde::{Deserialize, Serialize};

use super::span::SpanV1;
use super::{Maybe, Shape as _, shapes};

shapes! {
    TermsV1 => Terms,
    TermsV2 => Terms,
    TermsV3 => Terms,
    DeliveryV1 => Delivery,
    DeliveryV2 => Delivery,
    RetryPolicyV1 => RetryPolicy,
    BackoffV1 => Backoff,
    JitterV1 => Jitter,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Terms")]
pub(crate) struct TermsV1 {
    #[serde(with = "SpanV1")]
    timeout: Duration,
    #[serde(with = "RetryPolicyV1")]
    retry: RetryPolicy,
    #[serde(with = "DeliveryV1")]
    delivery: Delivery,
    #[serde(skip)]
    before: Duration,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Delivery", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "they are called so, and stored so")]
enum DeliveryV1 {
    AtLeastOnce,
    AtMostOnce,
    #[serde(skip)]
    EffectivelyOnce,
}

/// The target may claim its effects before it makes them.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Terms")]
pub(crate) struct TermsV2 {
    #[serde(with = "SpanV1")]
    timeout: Duration,
    #[serde(with = "RetryPolicyV1")]
    retry: RetryPolicy,
    #[serde(with = "DeliveryV2")]
    delivery: Delivery,
    #[serde(skip)]
    before: Duration,
}

/// Whoever is asked before a call has a time of its own.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Terms")]
pub(crate) struct TermsV3 {
    #[serde(with = "SpanV1")]
    timeout: Duration,
    #[serde(with = "RetryPolicyV1")]
    retry: RetryPolicy,
    #[serde(with = "DeliveryV2")]
    delivery: Delivery,
    #[serde(with = "SpanV1")]
    before: Duration,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Delivery", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "they are called so, and stored so")]
enum DeliveryV2 {
    AtLeastOnce,
    AtMostOnce,
    EffectivelyOnce,
}

/// Whether only the second shape can say it.
pub(crate) fn needs_shape_2(terms: &Terms) -> bool {
    terms.delivery == Delivery::EffectivelyOnce
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RetryPolicy")]
struct RetryPolicyV1 {
    max_retries: u16,
    #[serde(with = "BackoffV1")]
    backoff: Backoff,
    #[serde(with = "SpanV1")]
    initial_delay: Duration,
    #[serde(with = "SpanV1")]
    max_delay: Duration,
    #[serde(with = "JitterV1")]
    jitter: Jitter,
    #[serde(default, with = "Maybe::<SpanV1>")]
    give_up_after: Option<Duration>,
    break_after_instant_failures: Option<u16>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Backoff", rename_all = "snake_case")]
enum BackoffV1 {
    Fixed,
    Linear,
    Exponential,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Jitter", rename_all = "snake_case")]
enum JitterV1 {
    None,
    Equal,
    Full,
    Decorrelated,
}
