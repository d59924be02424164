//! What was told and not yet sent: bounded, in order, and taken by tens.

use std::collections::VecDeque;

use super::notice::Notice;

/// What EventBridge takes with one request.
const ENTRIES: usize = 10;
/// What all entries of one request may have together, and so the most that one may.
const BYTES: usize = 256 * 1024;
/// What waits between two flushes: a second of a busy process, and 4 MB at the size of most.
const NOTICES: usize = 8_192;

#[derive(Debug, Default)]
pub(super) struct Buffer {
    waiting: VecDeque<Notice>,
    /// What did not fit, since somebody asked.
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
    fn notices_are_taken_by_tens_and_by_what_a_request_holds() {
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
    fn what_does_not_fit_is_counted_and_nothing_grows() {
        let mut buffer = Buffer::default();
        buffer.put(notice(BYTES + 1));
        for _ in 0..NOTICES + 5 {
            buffer.put(notice(100));
        }

        assert_eq!(buffer.waiting.len(), NOTICES);
        assert_eq!((buffer.take_overflow(), buffer.take_overflow()), (6, 0));
    }
}
