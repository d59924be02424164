//! List prices of us-east-1 in dollars, without free tiers and without what large customers pay less, as AWS's price list had them in
//! November 2026. <https://aws.amazon.com/dynamodb/pricing/on-demand/>, `/lambda/pricing/`, `/sqs/pricing/`, `/eventbridge/pricing/`,
//! `/cloudwatch/pricing/`.

/// A million write and read units of DynamoDB, on demand; an hour of one a second, provisioned.
pub(super) const WRITE: f64 = 0.625;
pub(super) const READ: f64 = 0.125;
pub(super) const WRITE_HOUR: f64 = 0.000_65;
pub(super) const READ_HOUR: f64 = 0.000_13;

/// A month of a gigabyte: kept, and kept so that any second can be gone back to.
pub(super) const KEPT: f64 = 0.25;
pub(super) const RECOVERABLE: f64 = 0.20;

/// A million requests.
pub(super) const SQS: f64 = 0.40;
/// A million events of one's own.
pub(super) const EVENT: f64 = 1.0;

/// A million invocations, and a million GB-seconds on arm64 (16.67 on x86-64).
pub(super) const INVOCATION: f64 = 0.20;
pub(super) const GB_SECONDS: f64 = 13.3;
/// An hour of a poller of an SQS queue that is provisioned.
pub(super) const POLLER_HOUR: f64 = 0.009_25;

/// A gigabyte of logs that is taken in, and a month of a metric.
pub(super) const LOGGED: f64 = 0.50;
pub(super) const METRIC: f64 = 0.30;
