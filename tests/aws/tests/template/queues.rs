//! What hints.

use std::collections::BTreeSet;

use minutehand_aws_tests::template::{Template, target};
use serde_json::{Value, json};

use crate::template;

const QUEUE: &str = "AWS::SQS::Queue";

/// By the operator's key where there is one, else by SQS's own. Tried: without `SqsManagedSseEnabled` on one queue; the two cases of one swapped.
#[test]
fn every_queue_is_encrypted() {
    let Some(template) = template() else { return };

    for (id, queue) in template.of_type(QUEUE) {
        assert_eq!(queue["SqsManagedSseEnabled"], json!({"Fn::If": ["HasDataKey", false, true]}), "{id}");
        let key = json!({"Fn::If": ["HasDataKey", {"Ref": "DataKeyArn"}, {"Ref": "AWS::NoValue"}]});
        assert_eq!(queue["KmsMasterKeyId"], key, "{id}");
    }
}

/// Tried: without the redrive of one queue; with the dead letters of another queue; with dead letters kept an hour.
#[test]
fn every_queue_has_dead_letters_of_its_own_that_are_kept_longer() {
    let Some(template) = template() else { return };

    let mut dead_letters = BTreeSet::new();
    for (id, queue) in working_queues(template) {
        let redrive = &queue["RedrivePolicy"];
        let letters = target(&redrive["deadLetterTargetArn"]);
        // One is too few: an invocation that was killed must not count as a defect.
        assert!((2..=10).contains(&number(&redrive["maxReceiveCount"])), "{id}");
        // It is moved when it would be delivered once more, and gone by then where it is kept for less.
        let lasts = number(&redrive["maxReceiveCount"]) * number(&queue["VisibilityTimeout"]);
        assert!(number(&queue["MessageRetentionPeriod"]) > lasts, "{id} expires before it is a dead letter");
        // A message keeps its age when it is moved.
        let kept = &template.properties(&letters)["MessageRetentionPeriod"];
        assert!(number(kept) > number(&queue["MessageRetentionPeriod"]), "{id}");
        assert!(dead_letters.insert(letters), "{id} shares its dead letters");
    }

    assert_eq!(dead_letters.len(), 9);
    assert_eq!(template.of_type(QUEUE).count(), 2 * dead_letters.len(), "every other queue is somebody's dead letters");
}

/// AWS refuses such an event source, the emulators do not. Tried: a visibility of 899 for a queue, of 299 for the sweeps.
#[test]
fn a_message_stays_hidden_for_as_long_as_its_function_may_run() {
    let Some(template) = template() else { return };

    let sources = template.of_type("AWS::Lambda::EventSourceMapping");
    for (id, source) in sources.filter(|(_, source)| target(&source["EventSourceArn"]) != "StateTable") {
        let queue = template.properties(&target(&source["EventSourceArn"]));
        let function = template.properties(&target(&source["FunctionName"]));
        assert!(number(&queue["VisibilityTimeout"]) >= number(&function["Timeout"]), "{id}");
    }
}

/// Every message is a receive that is paid for, and so is every empty answer. Tried: without the wait on one queue.
#[test]
fn an_empty_queue_is_asked_as_seldom_as_can_be() {
    let Some(template) = template() else { return };

    for (id, queue) in working_queues(template) {
        assert_eq!(queue["ReceiveMessageWaitTimeSeconds"], 20, "{id}");
    }
}

/// A FIFO queue has no delays for single messages. Tried: `FifoQueue: true`.
#[test]
fn the_queues_are_standard_queues() {
    let Some(template) = template() else { return };

    assert!(template.of_type(QUEUE).all(|(_, queue)| queue["FifoQueue"].is_null()));
}

fn working_queues(template: &Template) -> impl Iterator<Item = (&str, &Value)> {
    template.of_type(QUEUE).filter(|(id, _)| id.ends_with("Queue"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a plain number"))
}
