//! SNS: a message that is the payload as it was written, and whose attributes tell of the run. SNS speaks forms and XML.

use minutehand_domain::limits::PAYLOAD_BYTES;
use minutehand_domain::pool::Name;
use minutehand_domain::run::AttemptError;
use serde_json::json;
use url::form_urlencoded::Serializer;

use super::ask::{Ask, payload, within};
use super::reply::Reply;
use super::sqs::group_of;
use crate::targets::declared::{Arn, is_fifo};
use crate::targets::stamps::stamps;
use crate::targets::{Answer, Call};

pub(super) fn ask(topic: &Arn, group: Option<&Name>, call: &Call<'_>) -> Result<Ask, AttemptError> {
    let told = stamps(call);
    let beside: usize = told.iter().map(|(name, value)| name.len() + "String".len() + value.len()).sum();
    within(payload(call).len() + beside, PAYLOAD_BYTES, "SNS")?;

    let mut form = Serializer::new(String::new());
    form.append_pair("Action", "Publish").append_pair("Version", "2010-03-31");
    form.append_pair("TopicArn", topic.as_str()).append_pair("Message", payload(call));
    for (index, (name, value)) in (1..).zip(&told) {
        let entry = format!("MessageAttributes.entry.{index}");
        form.append_pair(&format!("{entry}.Name"), name);
        form.append_pair(&format!("{entry}.Value.DataType"), "String");
        form.append_pair(&format!("{entry}.Value.StringValue"), value);
    }
    if is_fifo(topic.as_str()) {
        form.append_pair("MessageDeduplicationId", &call.run.to_string());
        form.append_pair("MessageGroupId", &group_of(group, call));
    } else if let Some(group) = group {
        form.append_pair("MessageGroupId", group.as_str());
    }
    let headers = vec![("content-type", "application/x-www-form-urlencoded".to_owned())];
    Ok(Ask { path: "/".to_owned(), headers, body: form.finish() })
}

pub(super) fn read(reply: &Reply) -> Option<Answer> {
    if !reply.is_success() {
        return None;
    }
    Some(Reply::told(&json!({ "message_id": reply.element("MessageId") })))
}
