//! The stream of the table of jobs and runs, as Lambda hands its records to a function.

use std::collections::HashMap;
use std::hash::BuildHasher;

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_archiver::Batch;
use serde_json::{Map, Value, json};

/// Who deletes what has expired.
pub const EXPIRY: &str = "dynamodb.amazonaws.com";

/// As the stream shows what stood there.
pub fn image<S: BuildHasher>(item: &HashMap<String, AttributeValue, S>) -> Value {
    item.iter().map(|(name, value)| (name.clone(), in_json(value))).collect::<Map<_, _>>().into()
}

fn in_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(digits) => json!({"N": digits}),
        AttributeValue::Bool(is) => json!({"BOOL": is}),
        AttributeValue::Ss(words) => json!({"SS": words}),
        AttributeValue::L(values) => json!({"L": values.iter().map(in_json).collect::<Vec<_>>()}),
        AttributeValue::M(item) => json!({"M": image(item)}),
        other => panic!("an attribute that nobody writes: {other:?}"),
    }
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
