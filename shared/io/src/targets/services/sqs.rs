//! SQS: a message whose body is the payload as it was written, and whose attributes tell of the run. A FIFO queue keeps the messages of a
//! group in order, and drops the second of one run within its five minutes.

use minutehand_domain::pool::Name;
use serde_json::json;

use super::ask::{Ask, attributes, payload};
use super::reply::Reply;
use crate::targets::declared::Queue;
use crate::targets::{Answer, Call};

pub(super) fn ask(queue: &Queue, group: Option<&Name>, call: &Call<'_>) -> Ask {
    let mut body = json!({
        "QueueUrl": queue.url, "MessageBody": payload(call), "MessageAttributes": attributes(call),
    });
    if queue.keeps_order() {
        body["MessageDeduplicationId"] = call.run.to_string().into();
        body["MessageGroupId"] = group_of(group, call).into();
    } else if let Some(group) = group {
        body["MessageGroupId"] = group.as_str().into();
    }
    Ask::json("1.0", "AmazonSQS.SendMessage", &body)
}

/// Where no group is given, the runs of a job are in order among themselves.
pub(super) fn group_of(group: Option<&Name>, call: &Call<'_>) -> String {
    group.map_or_else(|| call.run.job.to_string(), ToString::to_string)
}

pub(super) fn read(reply: &Reply) -> Option<Answer> {
    if !reply.is_success() {
        return None;
    }
    let id = reply.field("/MessageId");
    Some(Reply::told(&json!({ "message_id": id })))
}
