//! The queue of each priority.

use minutehand_domain::priority::Priority;

/// The URL of each priority's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueUrls {
    urls: [String; Priority::ALL.len()],
}

impl QueueUrls {
    /// URLs in the order of [`Priority::ALL`].
    pub fn new(urls: [String; Priority::ALL.len()]) -> Self {
        Self { urls }
    }

    pub fn url(&self, priority: Priority) -> &str {
        &self.urls[priority.index()]
    }

    /// The priority of a queue given by its name, its URL or its ARN: all three end in the name, and only the URL is known
    /// here.
    pub fn priority_of(&self, queue: &str) -> Option<Priority> {
        let name = name_in(queue);
        Priority::ALL.into_iter().find(|priority| name_in(self.url(*priority)) == name)
    }
}

fn name_in(queue: &str) -> &str {
    queue.rsplit(['/', ':']).next().unwrap_or(queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues() -> QueueUrls {
        QueueUrls::new(
            Priority::ALL.map(|priority| format!("https://sqs.eu-west-1.amazonaws.com/1234/mh-{}", priority.as_str())),
        )
    }

    #[test]
    fn a_queue_is_known_by_name_url_and_arn() {
        for (queue, priority) in [
            ("mh-critical", Some(Priority::Critical)),
            ("http://127.0.0.1:4566/1234/mh-high", Some(Priority::High)),
            ("arn:aws:sqs:eu-west-1:1234:mh-low", Some(Priority::Low)),
            ("arn:aws:sqs:eu-west-1:1234:another-mh-low", None),
            ("", None),
        ] {
            assert_eq!(queues().priority_of(queue), priority, "{queue}");
        }
    }
}
