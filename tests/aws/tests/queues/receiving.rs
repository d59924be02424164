//! Receiving from SQS: what cannot be read, whose visibility, and which client.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use http::StatusCode;
use minutehand_aws_tests::ministack::{Authorization, Ministack};
use minutehand_aws_tests::scripted::{Answer, Scripted};
use minutehand_domain::lane::Lane;
use minutehand_domain::priority::Priority;
use minutehand_io::Fault;
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::queues::sqs::{EARLY, SqsQueues, message};
use minutehand_io::queues::{Inbox as _, Queues as _};
use serde_json::json;
use tokio::time::timeout;

use crate::queues::{hint, make_queues, named_queues};

/// Far longer than any of these takes.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_message_that_cannot_be_read_stops_no_other_and_is_left() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let (client, queues) = (aws.sqs(), make_queues(&aws.sqs()).await);
    let url = queues.url(Priority::High.into()).to_owned();
    client.send_message().queue_url(&url).message_body("a letter to a friend").send().await.unwrap();
    let queues = SqsQueues::new(client.clone(), queues, SystemClock, EARLY);
    queues.send(Priority::High.into(), &hint(1), SystemClock.now()).await.unwrap();

    let delivered = timeout(PATIENCE, queues.receive(9)).await.unwrap().unwrap();

    assert_eq!(delivered.iter().map(|delivery| &delivery.hint).collect::<Vec<_>>(), [&hint(1)]);
    queues.done(&delivered[0].receipt).await.unwrap();
    let left = client.get_queue_attributes().queue_url(&url).attribute_names("All".into()).send().await.unwrap();
    let in_flight = aws_sdk_sqs::types::QueueAttributeName::ApproximateNumberOfMessagesNotVisible;
    assert_eq!(
        left.attributes().unwrap()[&in_flight],
        "1",
        "it goes to the dead letters when it has come back often enough"
    );
}

/// Who waits already comes for a long call when there is a hand for it. Tried: without `notify_waiters` it is not come for.
#[tokio::test]
async fn hints_of_long_calls_are_received_while_there_is_room_for_them() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let queues = Arc::new(SqsQueues::new(aws.sqs(), make_queues(&aws.sqs()).await, SystemClock, EARLY));
    let long = Lane::long(Priority::Critical);
    queues.leave_room_for_long(0);
    for (lane, number) in [(long, 1), (Priority::Low.into(), 2)] {
        queues.send(lane, &hint(number), SystemClock.now()).await.unwrap();
    }

    let short = timeout(PATIENCE, queues.receive(9)).await.unwrap().unwrap();
    let waiting = tokio::spawn({
        let queues = Arc::clone(&queues);
        async move { queues.receive(9).await }
    });
    tokio::time::sleep(Duration::from_secs(3)).await;
    let is_waiting = !waiting.is_finished();
    queues.leave_room_for_long(1);
    let then = timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap();

    assert_eq!((short[0].lane, then[0].lane, is_waiting), (Priority::Low.into(), long, true));
}

/// Tried: without time-outs of its own, a poll is given up after the client's second, and again, and again.
#[tokio::test]
async fn a_poll_waits_longer_than_the_client_lets_other_calls_wait() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let second = Duration::from_secs(1);
    let impatient =
        TimeoutConfig::builder().operation_attempt_timeout(second).operation_timeout(second).read_timeout(second);
    let impatient = Client::new(&aws.sdk().into_builder().timeout_config(impatient.build()).build());
    let urls = make_queues(&aws.sqs()).await;
    let sender = SqsQueues::new(aws.sqs(), urls.clone(), SystemClock, EARLY);
    let receiver = SqsQueues::new(impatient, urls, SystemClock, EARLY);
    sender.send(Priority::Low.into(), &hint(1), SystemClock.now() + 4 * second).await.unwrap();

    let delivered = timeout(PATIENCE, receiver.receive(9)).await.unwrap();

    assert_eq!(delivered.unwrap()[0].hint, hint(1));
}

#[tokio::test]
async fn polls_are_long_of_all_queues_and_ask_for_what_is_wanted() {
    let empty = |_, _: &_| Answer::None;
    let scripted = Scripted::start(empty).await;
    let queues = SqsQueues::new(Client::new(&scripted.sdk()), named_queues(), SystemClock, EARLY);

    let waiting = async {
        while scripted.asked().len() < Lane::ALL.len() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _none = queues.receive(64) => panic!("nothing was brought"),
        () = waiting => {}
    }

    let mut urls: Vec<_> = scripted.asked().iter().map(|asked| asked.body["QueueUrl"].to_string()).collect();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), Lane::ALL.len(), "{urls:?}");
    for asked in scripted.asked() {
        let terms =
            ["WaitTimeSeconds", "VisibilityTimeout", "MaxNumberOfMessages"].map(|name| asked.body[name].clone());
        assert_eq!(terms, [json!(20), json!(30), json!(10)]);
    }
}

#[tokio::test]
async fn a_queue_that_is_away_is_a_fault_and_the_others_still_deliver() {
    let scripted = Scripted::start(|before, asked| {
        let is_high = asked.body["QueueUrl"].as_str().is_some_and(|url| url.ends_with("/high"));
        match before {
            _ if is_high => Answer::Error(StatusCode::BAD_REQUEST, "com.amazonaws.sqs#QueueDoesNotExist"),
            0..4 => {
                Answer::Ok(json!({"Messages": [{"Body": body_of(1), "ReceiptHandle": "handle", "MessageId": "m"}]}))
            }
            _later => Answer::None,
        }
    });
    let scripted = scripted.await;
    let queues = SqsQueues::new(Client::new(&scripted.sdk()), named_queues(), SystemClock, EARLY);

    let mut delivered = 0;
    let fault = loop {
        match timeout(PATIENCE, queues.receive(9)).await.unwrap() {
            Ok(deliveries) => delivered += deliveries.len(),
            Err(fault) => break fault,
        }
    };

    assert_eq!(delivered, 3);
    assert!(matches!(fault, Fault::Unavailable { .. }), "{fault:?}");
}

fn body_of(number: u8) -> String {
    message::write(&hint(number)).unwrap()
}
