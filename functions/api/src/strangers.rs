//! Strangers: requests with a key that may be one, and that nobody here has seen open anything lately. To find out costs a
//! read of the table, so that each source has so many of them; and a key that was refused is refused again without one.
//!
//! A key that has opened is never counted against its source: a client that shares an address with somebody who guesses keys is
//! served as always. What is remembered is the hashes of keys, not that they are valid: each request still reads its key, so
//! that a revoked one opens nothing from the next request on.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_io::events::Over;
use sha2::{Digest as _, Sha256};

use crate::bucket::{Bucket, seconds};
use crate::problem::Problem;
use crate::source::Source;

/// Reads for strangers of one source: at once, what a fleet behind one address needs after a restart here; and then, each
/// second a tenth of it, which no table notices.
const READS: u32 = 200;
const REFILLED_IN: Duration = Duration::from_secs(10);
/// Sources counted at a time, some hundred KB. Those beyond it share one bucket until others are full again.
const SOURCES: usize = 4_096;
/// A refused key is not looked for again for so long. No key becomes valid that was not: a new one has a new secret.
const REFUSED_FOR: Duration = Duration::from_secs(10);
/// A key that opened is no stranger's for so long.
const KNOWN_FOR: Duration = Duration::from_secs(600);
/// Keys remembered of each kind, some hundred KB each. Beyond it the new ones are not.
const KEYS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Strangers(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    sources: HashMap<Source, Bucket>,
    /// Of all the sources that there is no room for.
    others: Bucket,
    refused: Lately<()>,
    /// Keys whose end has come, and when that was.
    ended: Lately<Moment>,
    known: Lately<()>,
}

/// What a key is remembered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint([u8; 32]);

/// What a request with a key may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// A read, whatever comes of it.
    Known,
    /// A read, which was taken from its source.
    Stranger,
    /// No read: it was refused a moment ago.
    Refused,
    /// No read: a moment ago it had ended at this instant.
    Ended(Moment),
}

impl Fingerprint {
    pub(crate) fn of(key: &str) -> Self {
        Self(Sha256::digest(key.as_bytes()).into())
    }
}

impl Strangers {
    /// Whether the table may be asked about this key.
    pub(crate) fn admit(&self, source: Source, key: Fingerprint, now: Moment) -> Result<Admitted, Problem> {
        let mut remembered = self.locked();
        if remembered.known.of(&key, KNOWN_FOR, now).is_some() {
            return Ok(Admitted::Known);
        }
        if remembered.refused.of(&key, REFUSED_FOR, now).is_some() {
            return Ok(Admitted::Refused);
        }
        if let Some(at) = remembered.ended.of(&key, REFUSED_FOR, now) {
            return Ok(Admitted::Ended(at));
        }
        let taken = remembered.bucket(source, now).take(READS, REFILLED_IN, now);
        taken.map(|()| Admitted::Stranger).map_err(|wait| {
            Problem::over_quota(
                Over::UnknownKeys,
                "more unknown keys than one address may try; ask again later".to_owned(),
                seconds(wait),
            )
        })
    }

    /// The key opened.
    pub(crate) fn opened(&self, source: Source, key: Fingerprint, admitted: Admitted, now: Moment) {
        self.is_no_stranger(source, admitted, now);
        self.locked().known.note(key, (), KNOWN_FOR, now);
    }

    /// The key would have opened until `at`: who bears it is no stranger, and it will not open again.
    pub(crate) fn ended(&self, source: Source, key: Fingerprint, admitted: Admitted, at: Moment, now: Moment) {
        self.is_no_stranger(source, admitted, now);
        let mut remembered = self.locked();
        remembered.known.0.remove(&key);
        remembered.ended.note(key, at, REFUSED_FOR, now);
    }

    /// What was taken for a stranger is given back: it is none, or the table could not say.
    pub(crate) fn is_no_stranger(&self, source: Source, admitted: Admitted, now: Moment) {
        if admitted == Admitted::Stranger {
            self.locked().bucket(source, now).give_back();
        }
    }

    /// The key opened nothing.
    pub(crate) fn refused(&self, key: Fingerprint, now: Moment) {
        let mut remembered = self.locked();
        remembered.known.0.remove(&key);
        remembered.refused.note(key, (), REFUSED_FOR, now);
    }

    fn locked(&self) -> MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    fn bucket(&mut self, source: Source, now: Moment) -> &mut Bucket {
        if !self.sources.contains_key(&source) {
            if self.sources.len() >= SOURCES {
                self.sources.retain(|_, bucket| !bucket.is_full(READS, REFILLED_IN, now));
            }
            if self.sources.len() >= SOURCES {
                return &mut self.others;
            }
        }
        self.sources.entry(source).or_default()
    }
}

/// Keys, when each was noted last, and what.
struct Lately<T>(HashMap<Fingerprint, (Moment, T)>);

impl<T> Default for Lately<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Copy> Lately<T> {
    /// A note of the future is of a clock that was set back since: it does not count.
    fn of(&self, key: &Fingerprint, span: Duration, now: Moment) -> Option<T> {
        self.0.get(key).filter(|(at, _)| now.is_within(span, *at)).map(|(_, what)| *what)
    }

    fn note(&mut self, key: Fingerprint, what: T, span: Duration, now: Moment) {
        if self.0.len() >= KEYS {
            self.0.retain(|_, (at, _)| now.is_within(span, *at));
        }
        if self.0.len() < KEYS || self.0.contains_key(&key) {
            self.0.insert(key, (now, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn source(last: u32) -> Source {
        Source::of(std::net::Ipv4Addr::from_bits(last).into())
    }

    fn key(number: usize) -> Fingerprint {
        Fingerprint::of(&number.to_string())
    }

    fn reads(strangers: &Strangers, source: Source, keys: std::ops::Range<usize>, now: Moment) -> usize {
        keys.filter(|number| strangers.admit(source, key(*number), now).is_ok()).count()
    }

    /// Tried: an ended key that counts as a stranger's took all of its source's reads, and other tenants' keys behind the same address
    /// were refused.
    #[test]
    fn a_key_that_has_ended_costs_its_source_nothing() {
        let strangers = Strangers::default();
        for _ in 0..10 * READS {
            let admitted = strangers.admit(source(1), key(0), NOW).unwrap();
            strangers.ended(source(1), key(0), admitted, NOW, NOW);
        }

        assert_eq!(strangers.admit(source(1), key(0), NOW).unwrap(), Admitted::Ended(NOW), "without a read");
        for number in 1..=READS {
            assert!(strangers.admit(source(1), key(usize::try_from(number).unwrap()), NOW).is_ok(), "{number}");
        }
    }

    #[test]
    fn a_source_has_so_many_reads_and_others_have_theirs() {
        let strangers = Strangers::default();

        assert_eq!(reads(&strangers, source(1), 0..1_000, NOW), READS as usize);
        assert_eq!(reads(&strangers, source(2), 0..1_000, NOW), READS as usize);
        assert_eq!(reads(&strangers, source(1), 0..1_000, NOW + REFILLED_IN / 10), READS as usize / 10);
    }

    #[test]
    fn a_key_that_opened_is_counted_against_nobody() {
        let strangers = Strangers::default();
        let admitted = strangers.admit(source(1), key(0), NOW).unwrap();
        strangers.opened(source(1), key(0), admitted, NOW);

        assert_eq!(reads(&strangers, source(1), 1..1_000, NOW), READS as usize, "its read was given back");
        assert_eq!(strangers.admit(source(1), key(0), NOW).unwrap(), Admitted::Known);
        strangers.refused(key(0), NOW);
        assert_eq!(strangers.admit(source(2), key(0), NOW).unwrap(), Admitted::Refused, "it was revoked");
        assert_eq!(strangers.admit(source(2), key(0), NOW + REFUSED_FOR).unwrap(), Admitted::Stranger);
    }

    #[test]
    fn a_refused_key_costs_no_read_for_a_while_and_none_of_its_sources_reads() {
        let strangers = Strangers::default();
        strangers.refused(key(7), NOW);

        for _ in 0..1_000 {
            assert_eq!(strangers.admit(source(1), key(7), NOW).unwrap(), Admitted::Refused);
        }
        assert_eq!(strangers.admit(source(1), key(7), NOW + REFUSED_FOR).unwrap(), Admitted::Stranger);
        assert_eq!(strangers.admit(source(1), key(7), NOW - REFUSED_FOR).unwrap(), Admitted::Stranger);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_has_no_room_shares_one_bucket() {
        let strangers = Strangers::default();
        for number in 0..2 * KEYS {
            strangers.refused(key(number), NOW);
            strangers.opened(source(0), key(number), Admitted::Known, NOW);
        }
        for number in 0..u32::try_from(2 * SOURCES).unwrap() {
            let _others_may_be_over = strangers.admit(source(number), key(3 * KEYS), NOW);
        }

        let sizes = |it: &Remembered| (it.refused.0.len(), it.known.0.len(), it.sources.len());
        assert_eq!(sizes(&strangers.locked()), (KEYS, KEYS, SOURCES));
        assert!(strangers.admit(source(u32::MAX), key(3 * KEYS), NOW).is_err());
        assert!(strangers.admit(source(u32::MAX), key(3 * KEYS), NOW + KNOWN_FOR).is_ok(), "there is room again");
        assert_eq!(strangers.locked().sources.len(), 1);
    }
}
