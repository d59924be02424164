//! The trace: a run is one trace and each attempt a span of it. Both ids are derived, so that every process gets the same.

use minutehand_domain::id::RunKey;
use sha2::{Digest as _, Sha256};

/// The value of `traceparent` in the format of W3C Trace Context. Every call is marked as sampled: a target may sample less.
pub(super) fn parent(run: RunKey, attempt: u32) -> String {
    let trace: [u8; 16] = id(b"minutehand trace 1", run, &[]);
    let span: [u8; 8] = id(b"minutehand span 1", run, &attempt.to_be_bytes());
    format!("00-{:032x}-{:016x}-01", u128::from_be_bytes(trace), u64::from_be_bytes(span))
}

/// An id is never all zeros, which would mean no id.
fn id<const BYTES: usize>(kind: &[u8], run: RunKey, part: &[u8]) -> [u8; BYTES] {
    let digest = Sha256::new().chain_update(kind).chain_update(run.to_bytes()).chain_update(part).finalize();
    let mut bytes: [u8; BYTES] = digest[..BYTES].try_into().expect("a digest has 32 bytes");
    bytes[BYTES - 1] |= 1;
    bytes
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;
    use minutehand_domain::id::JobId;

    use super::*;

    fn run(at: i64) -> RunKey {
        RunKey::occurrence(JobId::from_bytes([7; 16]), Moment::from_secs(at))
    }

    #[test]
    fn the_attempts_of_a_run_are_the_spans_of_one_trace() {
        let (first, second, other) = (parent(run(1), 1), parent(run(1), 2), parent(run(2), 1));

        assert_eq!(first, parent(run(1), 1));
        assert_eq!(first[..36], second[..36]);
        assert_ne!(first[36..52], second[36..52]);
        assert!(first[3..35] != other[3..35] && first[36..52] != other[36..52]);
    }

    #[test]
    fn a_trace_parent_has_the_format_of_the_standard() {
        let parent = parent(run(1), 1);

        let parts: Vec<_> = parent.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 32, 16, 2]);
        assert_eq!((parts[0], parts[3]), ("00", "01"));
        assert!(parts.concat().bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{parent}");
    }
}
