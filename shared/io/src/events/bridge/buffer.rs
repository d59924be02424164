//! The buffer of events that were emitted and not yet sent: bounded, in order, and taken by tens.

use std::collections::VecDeque;

use super::notice::Notice;

/// Entries that EventBridge takes in one request.
const ENTRIES: usize = 10;
/// The size of all entries of one request together, and so the largest size of one entry.
const BYTES: usize = 256 * 1024;
/// Notices that may wait between two flushes: a second of a busy process, and 4 MB at the usual size.
const NOTICES: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Buffer {
    waiting: VecDeque<Notice>,
    /// Notices that did not fit, since the last report.
    overflow: u64,
}

impl Buffer {
    pub(super) fn put(&mut self, notice: Notice) {
        if self.waiting.len() == NOTICES || notice.bytes() > BYTES {
            self.overflow += 1;
        } else {
            self.waiting.push_back(notice);
        }
    }

    pub(super) fn overflow(&self) -> u64 {
        self.overflow
    }

    pub(super) fn take_overflow(&mut self) -> u64 {
        std::mem::take(&mut self.overflow)
    }

    pub(super) fn take_batch(&mut self) -> Option<Vec<Notice>> {
        next_batch(&mut self.waiting)
    }
}

pub(super) fn batches(notices: Vec<Notice>) -> impl Iterator<Item = Vec<Notice>> {
    let mut waiting = VecDeque::from(notices);
    std::iter::from_fn(move || next_batch(&mut waiting))
}

fn next_batch(waiting: &mut VecDeque<Notice>) -> Option<Vec<Notice>> {
    let together = waiting.iter().take(ENTRIES).scan(0, |sum, notice| {
        *sum += notice.bytes();
        Some(*sum)
    });
    let fitting = together.take_while(|bytes| *bytes <= BYTES).count();
    (fitting > 0).then(|| waiting.drain(..fitting).collect())
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;

    use super::*;

    /// A notice of so many bytes.
    fn notice(bytes: usize) -> Notice {
        let empty = Notice { kind: "job.created".to_owned(), detail: String::new(), at: Moment::EPOCH };
        Notice { detail: "x".repeat(bytes - empty.bytes()), ..empty }
    }

    #[test]
    fn a_batch_has_at_most_ten_notices_and_the_size_of_one_request() {
        for (sizes, taken) in [
            (vec![100; 25], vec![10, 10, 5]),
            (vec![BYTES, 100], vec![1, 1]),
            (vec![BYTES / 2, BYTES / 2, 100], vec![2, 1]),
            (vec![], vec![]),
        ] {
            let lengths: Vec<_> =
                batches(sizes.iter().map(|size| notice(*size)).collect()).map(|batch| batch.len()).collect();
            assert_eq!(lengths, taken, "{sizes:?}");
        }
    }

    #[test]
    fn a_notice_that_does_not_fit_is_counted_and_dropped() {
        let mut buffer = Buffer::default();
        buffer.put(notice(BYTES + 1));
        for _ in 0..NOTICES + 5 {
            buffer.put(notice(100));
        }

        assert_eq!(buffer.waiting.len(), NOTICES);
        assert_eq!((buffer.take_overflow(), buffer.take_overflow()), (6, 0));
    }
}
