//! Who travels together, and what becomes of each when something goes wrong.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::Client;
use futures_util::FutureExt as _;
use http::StatusCode;
use minutehand_aws_tests::scripted::{Answer, Asked, Scripted};
use minutehand_domain::priority::Priority;
use minutehand_io::Fault;
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::queues::sqs::{EARLY, Receipt, SqsQueues};
use minutehand_io::queues::{Inbox as _, Queues as _};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::queues::{hint, named_queues, number_in};

/// Tried: with a courier that takes one at a time, these are 100 requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_concurrent_sends_are_ten_to_twenty_requests() {
    let (scripted, queues) = queues(|_, asked| asked.taken_but(|_| None)).await;

    let sent = send_all(&queues, 0..100).await;

    assert!(sent.iter().all(|(_, sent)| sent.is_ok()));
    let requests = scripted.asked();
    let entries: Vec<_> = requests.iter().flat_map(Asked::entries).collect();
    assert!((10..=20).contains(&requests.len()), "{} requests", requests.len());
    assert!(requests.iter().all(|request| request.entries().len() <= 10));
    assert_eq!(entries.len(), 100);
}

#[tokio::test]
async fn a_hint_travels_with_its_tenants_group_and_its_delay() {
    let (scripted, queues) = queues(|_, asked| asked.taken_but(|_| None)).await;
    let now = SystemClock.now();

    for (number, at) in [(1, now + Duration::from_millis(60_950)), (2, now)] {
        queues.send(Priority::High.into(), &hint(number), at).await.unwrap();
    }

    let [later, past] = scripted.asked().try_into().unwrap();
    assert_eq!(
        (later.operation.as_str(), &later.body["QueueUrl"]),
        ("SendMessageBatch", &"http://scripted/0/high".into())
    );
    assert_eq!(later.entries()[0]["MessageGroupId"], "acme");
    // A second early, and rounded down.
    assert_eq!(later.entries()[0]["DelaySeconds"], 59);
    assert_eq!(past.entries()[0]["DelaySeconds"], 0);
}

/// Tried: with the whole batch's fault for everybody, the other nine are told that theirs failed.
#[tokio::test]
async fn an_entry_that_fails_is_its_own_callers_fault_and_nobody_elses() {
    let fails = |entry: &Value| match number_of(entry) {
        Some(3) => Some("InternalError"),
        Some(4) => Some("InvalidMessageContents"),
        _another => None,
    };
    let (_scripted, queues) = queues(move |_, asked| asked.taken_but(fails)).await;

    for (number, sent) in send_all(&queues, 0..10).await {
        match number {
            3 => assert!(matches!(sent, Err(Fault::Unavailable { .. })), "{sent:?}"),
            4 => assert!(matches!(sent, Err(Fault::Illegal { .. })), "{sent:?}"),
            _ => assert_eq!(sent, Ok(())),
        }
    }
}

#[tokio::test]
async fn a_throttle_is_tried_again_and_then_a_fault() {
    let throttled = |before, asked: &Asked| match before {
        0 => Answer::Error(StatusCode::BAD_REQUEST, "com.amazonaws.sqs#RequestThrottled"),
        _again => asked.taken_but(|_| None),
    };
    let (scripted, queues_) = queues(throttled).await;
    assert_eq!(queues_.send(Priority::Low.into(), &hint(1), SystemClock.now()).await, Ok(()));
    assert_eq!(scripted.asked().len(), 2);

    let (scripted, queues_) =
        queues(|_, _| Answer::Error(StatusCode::BAD_REQUEST, "com.amazonaws.sqs#RequestThrottled")).await;
    let sent = queues_.send(Priority::Low.into(), &hint(1), SystemClock.now()).await;
    assert!(matches!(sent, Err(Fault::Unavailable { .. })), "{sent:?}");
    assert_eq!(scripted.asked().len(), 3);
}

/// Tried: without the look in `send` and `set_visibility`, both reach the wire.
#[tokio::test]
async fn what_sqs_would_refuse_never_reaches_it() {
    let (scripted, queues) = queues(|_, asked| asked.taken_but(|_| None)).await;
    let (now, receipt) = (SystemClock.now(), Receipt::new(Priority::Low.into(), "handle"));
    let (too_late, too_long) = (now + Duration::from_secs(960), now + Duration::from_secs(43_260));

    let refused = [
        queues.send(Priority::Low.into(), &hint(1), too_late).await,
        queues.hide(&receipt, too_long).await,
        queues.give_back(&receipt, too_long).await,
    ];

    assert!(refused.iter().all(|refused| matches!(refused, Err(Fault::Illegal { .. }))), "{refused:?}");
    assert_eq!(scripted.asked(), []);
}

/// Tried: without the look at who still waits, the hint of the caller that went away is sent too.
#[tokio::test]
async fn a_caller_that_is_dropped_while_it_waits_takes_nobody_along() {
    let (scripted, queues) = queues(|_, asked| asked.taken_but(|_| None)).await;
    let now = SystemClock.now();
    let [first, second, third] = [1, 2, 3].map(hint);
    let mut dropped = Box::pin(queues.send(Priority::Low.into(), &first, now));
    assert!((&mut dropped).now_or_never().is_none(), "it waits, and it came first");
    let others = async {
        tokio::join!(queues.send(Priority::Low.into(), &second, now), queues.send(Priority::Low.into(), &third, now))
    };
    drop(dropped);

    assert_eq!(others.await, (Ok(()), Ok(())));

    let numbers: Vec<_> = scripted.asked().iter().flat_map(Asked::entries).filter_map(number_of).collect();
    assert_eq!(numbers, [2, 3]);
}

/// Tried: with couriers that wait for the request under way whatever it takes, the second never goes.
#[tokio::test]
async fn a_request_that_hangs_holds_up_only_those_in_it() {
    let (scripted, queues) =
        queues(|before, asked| if before == 0 { Answer::None } else { asked.taken_but(|_| None) }).await;
    let stuck = Arc::clone(&queues);
    let stuck = tokio::spawn(async move { stuck.send(Priority::Low.into(), &hint(1), SystemClock.now()).await });

    let second = async {
        while scripted.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        queues.send(Priority::Low.into(), &hint(2), SystemClock.now()).await
    };

    let second = tokio::time::timeout(Duration::from_secs(10), second).await;
    assert_eq!(second, Ok(Ok(())));
    assert!(!stuck.is_finished());
}

#[tokio::test]
async fn what_an_old_receipt_asks_for_is_done_already() {
    let codes = ["ReceiptHandleIsInvalid", "AWS.SimpleQueueService.MessageNotInflight", "InternalError"];
    let code = move |entry: &Value| codes.into_iter().find(|code| entry["ReceiptHandle"] == *code);
    let (scripted, queues) = queues(move |_, asked| asked.taken_but(code)).await;
    let until = SystemClock.now() + Duration::from_millis(1_950);
    let [invalid, ended, broken, good] =
        [codes[0], codes[1], codes[2], "good"].map(|handle| Receipt::new(Priority::Normal.into(), handle));

    let hidden = tokio::join!(
        queues.hide(&invalid, until),
        queues.hide(&ended, until),
        queues.hide(&broken, until),
        queues.hide(&good, until)
    );
    let done = tokio::join!(queues.done(&invalid), queues.done(&broken), queues.done(&good));

    assert_eq!((&hidden.0, &hidden.1, &hidden.3), (&Ok(()), &Ok(()), &Ok(())));
    assert_eq!((&done.0, &done.2), (&Ok(()), &Ok(())));
    for fault in [hidden.2, done.1] {
        assert!(matches!(fault, Err(Fault::Unavailable { .. })), "{fault:?}");
    }
    let [hide, delete] = scripted.asked().try_into().expect("those who come together travel together");
    assert_eq!((hide.operation.as_str(), hide.entries().len()), ("ChangeMessageVisibilityBatch", 4));
    assert_eq!(hide.entries()[3]["VisibilityTimeout"], 2, "rounded up");
    assert_eq!((delete.operation.as_str(), delete.entries().len()), ("DeleteMessageBatch", 3));
}

async fn queues(
    script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static,
) -> (Scripted, Arc<SqsQueues<SystemClock>>) {
    let scripted = Scripted::start(script).await;
    let queues = SqsQueues::new(Client::new(&scripted.sdk()), named_queues(), SystemClock, EARLY);
    (scripted, Arc::new(queues))
}

/// Each send's number and what became of it.
async fn send_all(queues: &Arc<SqsQueues<SystemClock>>, numbers: std::ops::Range<u8>) -> Vec<(u8, Result<(), Fault>)> {
    let mut sends = JoinSet::new();
    for number in numbers {
        let queues = Arc::clone(queues);
        sends.spawn(
            async move { (number, queues.send(Priority::Normal.into(), &hint(number), SystemClock.now()).await) },
        );
    }
    sends.join_all().await
}

fn number_of(entry: &Value) -> Option<u8> {
    number_in(entry["MessageBody"].as_str()?)
}
