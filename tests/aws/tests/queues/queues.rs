//! A queue for each lane, named as it is.

use aws_sdk_sqs::Client;
use minutehand_domain::hint::Hint;
use minutehand_domain::lane::Lane;
use minutehand_io::queues::sqs::QueueUrls;
use minutehand_tests::conformance::world::timer;

pub(crate) async fn make_queues(client: &Client) -> QueueUrls {
    let mut urls = Vec::new();
    for lane in Lane::ALL {
        let made = client.create_queue().queue_name(lane.as_str()).send().await.expect("ministack makes queues");
        urls.push(made.queue_url.expect("a queue has a URL"));
    }
    QueueUrls::new(urls.try_into().expect("one for each lane"))
}

/// Queues that nobody has made: a scripted AWS is not asked for them.
pub(crate) fn named_queues() -> QueueUrls {
    QueueUrls::new(Lane::ALL.map(|lane| format!("http://scripted/0/{}", lane.as_str())))
}

/// Hints that differ by a number.
pub(crate) fn hint(number: u8) -> Hint {
    Hint::of(&timer(number, 60))
}

/// Of the hint in an entry of a batch.
pub(crate) fn number_in(body: &str) -> Option<u8> {
    Some(minutehand_io::queues::sqs::message::read(body).ok()?.run.job.as_bytes()[0])
}
