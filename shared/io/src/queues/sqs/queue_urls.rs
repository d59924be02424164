//! The queue of each lane.

use minutehand_domain::lane::Lane;

/// The URL of each lane's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUrls {
    urls: [String; Lane::ALL.len()],
}

impl QueueUrls {
    /// URLs in the order of [`Lane::ALL`].
    pub fn new(urls: [String; Lane::ALL.len()]) -> Self {
        Self { urls }
    }

    pub fn url(&self, lane: Lane) -> &str {
        &self.urls[lane.index()]
    }

    /// The lane of a queue given by its name, its URL or its ARN: all three end in the name, and only the URL is known
    /// here.
    pub fn lane_of(&self, queue: &str) -> Option<Lane> {
        let name = name_in(queue);
        Lane::ALL.into_iter().find(|lane| name_in(self.url(*lane)) == name)
    }
}

fn name_in(queue: &str) -> &str {
    queue.rsplit(['/', ':']).next().unwrap_or(queue)
}

#[cfg(test)]
mod tests {
    use minutehand_domain::priority::Priority;

    use super::*;

    fn queues() -> QueueUrls {
        QueueUrls::new(Lane::ALL.map(|lane| format!("https://sqs.eu-west-1.amazonaws.com/1234/mh-{}", lane.as_str())))
    }

    #[test]
    fn a_queue_is_known_by_name_url_and_arn() {
        for (queue, lane) in [
            ("mh-critical", Some(Lane::short(Priority::Critical))),
            ("http://127.0.0.1:4566/1234/mh-high", Some(Lane::short(Priority::High))),
            ("arn:aws:sqs:eu-west-1:1234:mh-low", Some(Lane::short(Priority::Low))),
            ("arn:aws:sqs:eu-west-1:1234:mh-low-long", Some(Lane::long(Priority::Low))),
            ("arn:aws:sqs:eu-west-1:1234:another-mh-low", None),
            ("", None),
        ] {
            assert_eq!(queues().lane_of(queue), lane, "{queue}");
        }
    }
}
