//! A survey: the search through all timers for the first bucket of each shard, for shards whose cursor is lost. It goes through
//! the table in segments, page by page, and what it has come to is kept, so that it may take as many processes as it likes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Moment;
use crate::pace;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    pub began: Moment,
    /// The parts of the table that are gone through side by side.
    pub segments: Vec<Segment>,
    /// The first bucket of each shard among those that were seen.
    pub first: BTreeMap<u16, i64>,
    /// How many timers were seen.
    pub timers: u64,
}

/// How far one part of the table was gone through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The next page begins behind this; at the beginning behind nothing.
    Behind(Option<String>),
    Done,
}

/// What one page of a segment held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub first: BTreeMap<u16, i64>,
    pub timers: u64,
    /// Behind what the next page begins; none at the end of the segment.
    pub next: Option<String>,
}

/// A survey that began so long before a cursor was lost serves for it too: what was written since lies in buckets that the
/// shard sweeps anyway.
const SERVES: Duration = Duration::from_secs(pace::FIRST_LOOK_BACK.as_secs() / 2);

impl Survey {
    pub fn begin(now: Moment, segments: usize) -> Self {
        let segments = vec![Segment::Behind(None); segments.max(1)];
        Self { began: now, segments, first: BTreeMap::new(), timers: 0 }
    }

    /// Whether it says what lies in a shard whose cursor is unknown since then.
    pub fn serves(&self, since: Moment, now: Moment) -> bool {
        self.began + SERVES >= since && self.began <= now + pace::APART
    }

    pub fn is_done(&self) -> bool {
        self.segments.iter().all(|segment| *segment == Segment::Done)
    }

    /// What is still to be gone through: the number of each segment, and behind what.
    pub fn left(&self) -> impl Iterator<Item = (usize, Option<String>)> + '_ {
        self.segments.iter().enumerate().filter_map(|(number, segment)| match segment {
            Segment::Behind(past) => Some((number, past.clone())),
            Segment::Done => None,
        })
    }

    /// A page of this segment was read.
    pub fn note(&mut self, number: usize, found: Found) {
        for (shard, minute) in found.first {
            let first = self.first.entry(shard).or_insert(minute);
            *first = minute.min(*first);
        }
        self.timers += found.timers;
        if let Some(segment) = self.segments.get_mut(number) {
            *segment = found.next.map_or(Segment::Done, |next| Segment::Behind(Some(next)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn found(shard: u16, minute: i64, next: Option<&str>) -> Found {
        Found { first: BTreeMap::from([(shard, minute)]), timers: 1, next: next.map(ToOwned::to_owned) }
    }

    #[test]
    fn a_survey_is_done_when_each_segment_was_gone_through_and_knows_the_first_of_all_pages() {
        let mut survey = Survey::begin(NOW, 2);

        survey.note(0, found(3, 70, Some("x")));
        survey.note(1, found(4, 10, None));
        assert!(!survey.is_done());
        assert_eq!(survey.left().collect::<Vec<_>>(), [(0, Some("x".to_owned()))]);
        survey.note(0, found(3, 60, None));

        assert!(survey.is_done());
        assert_eq!(survey.first, BTreeMap::from([(3, 60), (4, 10)]));
        assert_eq!(survey.timers, 3);
    }

    #[test]
    fn a_survey_of_long_ago_or_of_a_clock_that_was_ahead_serves_nobody() {
        let survey = Survey::begin(NOW, 1);

        assert!(survey.serves(NOW, NOW));
        assert!(survey.serves(NOW + Duration::from_secs(1800), NOW + Duration::from_secs(1800)));
        assert!(!survey.serves(NOW + Duration::from_secs(1801), NOW + Duration::from_secs(1801)));
        assert!(!survey.serves(NOW - Duration::from_secs(60), NOW - Duration::from_secs(60)));
    }
}
