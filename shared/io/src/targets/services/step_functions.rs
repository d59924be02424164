//! Step Functions: an execution is started, named after the run, so that a second attempt starts no second one. Its input has the payload
//! under `payload`, and what tells of the run under `minutehand`.

use minutehand_domain::limits::PAYLOAD_BYTES;
use minutehand_domain::run::AttemptError;
use serde_json::json;

use super::ask::{Ask, envelope, within};
use super::reply::Reply;
use crate::targets::declared::Arn;
use crate::targets::{Answer, Call};

pub(super) fn ask(machine: &Arn, call: &Call<'_>) -> Result<Ask, AttemptError> {
    let input = envelope(call);
    within(input.len(), PAYLOAD_BYTES, "Step Functions")?;
    let body = json!({ "stateMachineArn": machine.as_str(), "name": call.run.to_string(), "input": input });
    Ok(Ask::json("1.0", "AWSStepFunctions.StartExecution", &body))
}

/// One of the run's name is the run's: an earlier attempt started it, and its answer was lost.
pub(super) fn read(reply: &Reply, call: &Call<'_>) -> Option<Answer> {
    let is_started = reply.is_success() || reply.kind() == "ExecutionAlreadyExists";
    is_started.then(|| Reply::told(&json!({ "execution": call.run.to_string() })))
}
