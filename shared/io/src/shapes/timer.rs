//! Where a timer stands, what it asks for and what an eraser knows it by.

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::operation::OperationId;
use minutehand_domain::timer::{Obligation, TimerKey, TimerStamp};
use serde::{Deserialize, Serialize};

use super::run_key::RunKeyV1;
use super::{Shape as _, shapes};

shapes! {
    TimerKeyV1 => TimerKey,
    ObligationV1 => Obligation,
    TimerStampV1 => TimerStamp,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TimerKey")]
pub(crate) struct TimerKeyV1 {
    due: Moment,
    #[serde(rename = "thing", with = "ObligationV1")]
    obligation: Obligation,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Obligation", rename_all = "snake_case")]
pub(crate) enum ObligationV1 {
    Occurrence(JobId),
    #[serde(rename = "again")]
    MovedOccurrence(JobId, Moment),
    Run(#[serde(with = "RunKeyV1")] RunKey),
    /// Where a release knows of calendars.
    Calendar(JobId),
    /// From shape 3 of a timer on.
    Operation(OperationId),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TimerStamp")]
pub(crate) struct TimerStampV1 {
    generation: u64,
    written: Moment,
}
