//! The stream of the table of jobs and runs, as Lambda hands its records to a function.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_archiver::Batch;
use serde_dynamo::Item;
use serde_json::{Value, json};

/// Who deletes what has expired.
pub const EXPIRY: &str = "dynamodb.amazonaws.com";

/// As the stream shows what stood there.
#[expect(clippy::implicit_hasher, reason = "it is the SDK's")]
pub fn image(item: &HashMap<String, AttributeValue>) -> Value {
    serde_json::to_value(Item::from(item.clone())).expect("an item is JSON")
}

/// A record of an item that somebody deleted.
pub fn removed(id: &str, by: Option<&str>, image: &Value) -> Value {
    let by = by.map(|principal| json!({"type": "Service", "principalId": principal}));
    json!({
        "eventID": id, "eventName": "REMOVE", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1",
        "userIdentity": by, "eventSourceARN": "arn:aws:dynamodb:us-east-1:1:table/state/stream/2027-01-01T00:00:00.000",
        "dynamodb": {"ApproximateCreationDateTime": 1_800_000_000, "Keys": {"pk": image["pk"], "sk": image["sk"]}, "OldImage": image,
                     "SequenceNumber": "1", "SizeBytes": 1, "StreamViewType": "OLD_IMAGE"},
    })
}

pub fn batch(records: &[Value]) -> Batch {
    serde_json::from_value(json!({"Records": records})).expect("a batch")
}
