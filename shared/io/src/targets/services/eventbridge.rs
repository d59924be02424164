//! `EventBridge`: an event whose detail has the payload under `payload`, and what tells of the run under `minutehand`: a detail must be an
//! object, which a payload need not be.

use minutehand_domain::limits::PAYLOAD_BYTES;
use minutehand_domain::run::AttemptError;
use serde_json::json;

use super::ask::{Ask, envelope, within};
use super::reply::{Reply, class_of};
use crate::targets::declared::Bus;
use crate::targets::{Answer, Call};

const DETAIL_TYPE: &str = "minutehand.run";

pub(super) fn ask(bus: &Bus, detail_type: Option<&str>, call: &Call<'_>) -> Result<Ask, AttemptError> {
    let (detail, detail_type) = (envelope(call), detail_type.unwrap_or(DETAIL_TYPE));
    within(detail.len() + detail_type.len() + bus.source.len(), PAYLOAD_BYTES, "EventBridge")?;
    let entry = json!({
        "EventBusName": bus.bus, "Source": bus.source, "DetailType": detail_type, "Detail": detail,
    });
    Ok(Ask::json("1.1", "AWSEvents.PutEvents", &json!({ "Entries": [entry] })))
}

/// An entry may fail though the request did not.
pub(super) fn read(reply: &Reply) -> Option<Answer> {
    if !reply.is_success() {
        return None;
    }
    let failed = reply.value().pointer("/FailedEntryCount").and_then(serde_json::Value::as_u64);
    if failed.unwrap_or(0) > 0 {
        let code = reply.field("/Entries/0/ErrorCode").unwrap_or_default();
        let error = class_of(reply.status(), &code).error(&format!("the bus did not take the event: {code}"));
        return Some(Answer::Failed { error, retry_after: None });
    }
    Some(Reply::told(&json!({ "event_id": reply.field("/Entries/0/EventId") })))
}
