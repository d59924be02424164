//! The requests that are open at the tables at a time: no more than a function has files for.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Each open request is a connection, and so a file. A Lambda function may have 1,024: these leave as many to the queues, and the rest to targets and
/// to connections that are kept. At 5 ms a request they are 80,000 a second; a request is open while it is tried again, too.
const MOST: usize = 400;

#[derive(Debug)]
pub(super) struct OpenRequests(Semaphore);

impl OpenRequests {
    /// Waits, first come first served, until one more may be open. It is open until this is dropped, and nothing else is asked for before that: callers
    /// that hold one and wait for another could all wait for each other.
    pub(super) async fn one_more(&self) -> SemaphorePermit<'_> {
        self.0.acquire().await.expect("nobody closes it")
    }
}

impl Default for OpenRequests {
    fn default() -> Self {
        Self(Semaphore::new(MOST))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Removed: there is an end to how many are open. The next one was open beside them.
    #[test]
    fn no_more_are_open_than_may_be_and_the_next_is_when_one_is_over() {
        let open = OpenRequests::default();
        let mut at_once: Vec<_> = (0..MOST).map(|_| open.one_more().now_or_never().expect("it may be open")).collect();

        assert!(open.one_more().now_or_never().is_none());
        drop(at_once.pop());

        assert!(open.one_more().now_or_never().is_some());
    }
}
