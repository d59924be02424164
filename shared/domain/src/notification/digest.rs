//! A digest: what a rule tells of one window. A set, into which each end is put by one native update, and which one update closes: an end is in
//! a digest before that is closed, or never; so each is told of once, and what is closed says the same for ever.
//!
//! One item takes [`WIDTH`] entries, so that it grows neither large nor hot. What finds it full goes on to one of four below it, by its own
//! hash, and so on: a digest of one failure is one item, one of a thousand is eighty.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::{When, Window};
use crate::Moment;
use crate::id::{JobId, RunKey, base32, from_base32};

/// Entries of one item: with 60 bytes each it stays at 2 KB.
pub const WIDTH: u64 = 32;
/// Items below a full one.
const CHILDREN: u32 = 4;
/// Levels below the root: room for forty thousand entries of one window.
const DEPTH: u8 = 5;
/// Whoever settles an end again finds it told of for so long.
const KEPT: Duration = Duration::from_secs(30 * 86_400);
const MARK_CLOSED: &str = "closed";

/// Which item of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// From the root, which is at 0.
    pub level: u8,
    pub index: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DigestKey {
    pub rule: JobId,
    pub window: Window,
    pub node: Node,
}

/// One item of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Entries, a word each: a set takes one once, however often it is put in.
    pub told: BTreeSet<String>,
    /// Holds one word once it is closed. A set, since an update may ask of what is not there only that a set lacks something.
    pub marks: BTreeSet<String>,
    pub expires_at: Moment,
}

/// What is told of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub at: Moment,
    pub when: When,
    pub run: RunKey,
}

/// How an entry finds an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is in it.
    Told,
    /// It goes in here.
    Room,
    /// It goes on below.
    Full,
    /// Nothing goes in any more, and nothing is below.
    Closed,
}

impl Node {
    pub const ROOT: Self = Self { level: 0, index: 0 };

    /// Where an entry goes on that finds this one full; none at the bottom.
    #[must_use]
    pub fn below(self, entry: &Entry) -> Option<Self> {
        let level = self.level + 1;
        let width = u64::from(CHILDREN.pow(level.into()));
        let index =
            u32::try_from(entry.run.chance(u32::from(entry.when.letter())) % width).expect("it is less than 4^5");
        (level <= DEPTH).then_some(Self { level, index })
    }

    /// All that lie right below this one.
    pub fn children(self) -> impl Iterator<Item = Self> {
        let width = CHILDREN.pow(self.level.into());
        let level = self.level + 1;
        let children = if level <= DEPTH { CHILDREN } else { 0 };
        (0..children).map(move |n| Self { level, index: self.index + n * width })
    }
}

impl DigestKey {
    pub fn root(rule: JobId, window: Window) -> Self {
        Self { rule, window, node: Node::ROOT }
    }

    #[must_use]
    pub fn at(self, node: Node) -> Self {
        Self { node, ..self }
    }

    pub fn expires_at(&self) -> Moment {
        self.window.end + KEPT
    }
}

impl Digest {
    /// One that nothing is in.
    pub const fn empty(expires_at: Moment) -> Self {
        Self { told: BTreeSet::new(), marks: BTreeSet::new(), expires_at }
    }

    pub const fn closing_word() -> &'static str {
        MARK_CLOSED
    }

    pub fn is_closed(&self) -> bool {
        self.marks.contains(MARK_CLOSED)
    }

    pub fn is_full(&self) -> bool {
        self.told.len() as u64 >= WIDTH
    }

    /// What is full leads on below, also where it is closed: those below are closed one by one.
    pub fn finds(&self, entry: &Entry) -> Found {
        match () {
            () if self.told.contains(&entry.to_string()) => Found::Told,
            () if self.is_full() => Found::Full,
            () if self.is_closed() => Found::Closed,
            () => Found::Room,
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.told.iter().filter_map(|word| Entry::read(word))
    }
}

/// What is told of these: a failure that is told as one is not told as a dead letter too.
pub fn each_failure_once(entries: impl IntoIterator<Item = Entry>) -> BTreeSet<Entry> {
    let mut entries: BTreeSet<Entry> = entries.into_iter().collect();
    let failed = entries.iter().filter(|entry| entry.when == When::Failed);
    let failed: BTreeSet<RunKey> = failed.map(|entry| entry.run).collect();
    entries.retain(|entry| entry.when != When::DeadLetter || !failed.contains(&entry.run));
    entries
}

impl Entry {
    fn read(word: &str) -> Option<Self> {
        let (letter, rest) = word.split_at_checked(1)?;
        let (at, run) = rest.split_once('.')?;
        let bytes: [u8; 6] = from_base32(at)?.try_into().ok()?;
        let millis = bytes.into_iter().fold(0, |millis, byte| millis << 8 | i64::from(byte));
        let run = format!("run_{run}").parse().ok()?;
        Some(Self { at: Moment::from_millis(millis), when: When::of_letter(letter.chars().next()?)?, run })
    }
}

/// As a digest holds it: what, when, which run.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = self.run.to_string();
        let run = run.strip_prefix("run_").unwrap_or(&run);
        write!(f, "{}{}.{run}", self.when.letter(), base32(&self.at.millis().to_be_bytes()[2..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: JobId = JobId::from_bytes([9; 16]);

    fn entry(number: u64) -> Entry {
        let at = Moment::from_secs(1_800_000_000);
        Entry { at, when: When::Failed, run: RunKey::manual(RULE, at, number) }
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for when in When::ALL {
            let entry = Entry { when, ..entry(7) };
            let once = Digest { told: [entry.to_string(), entry.to_string()].into(), ..Digest::empty(Moment::END) };

            assert_eq!(once.entries().collect::<Vec<_>>(), [entry]);
            assert!(entry.to_string().len() <= 64 && !entry.to_string().contains('#'), "{entry}");
        }
    }

    /// Removed: the dead letter is left out. One message had the run twice.
    #[test]
    fn a_failure_that_is_told_as_one_is_not_told_as_a_dead_letter_too() {
        let told = |number: u64, when: When| Entry { when, ..entry(number) };
        let rows: [(&[Entry], &[Entry]); 5] = [
            (&[], &[]),
            (&[told(1, When::DeadLetter)], &[told(1, When::DeadLetter)]),
            (&[told(1, When::Failed), told(1, When::DeadLetter)], &[told(1, When::Failed)]),
            (
                &[told(1, When::DeadLetter), told(1, When::Late), told(1, When::Sla), told(1, When::Failed)],
                &[told(1, When::Failed), told(1, When::Late), told(1, When::Sla)],
            ),
            (&[told(1, When::Failed), told(2, When::DeadLetter)], &[told(1, When::Failed), told(2, When::DeadLetter)]),
        ];
        for (given, expected) in rows {
            let expected: BTreeSet<Entry> = expected.iter().copied().collect();
            assert_eq!(each_failure_once(given.iter().copied()), expected, "{given:?}");
        }
    }

    #[test]
    fn an_entry_goes_in_where_there_is_room_and_on_where_there_is_none() {
        let full = Digest { told: (1..=WIDTH).map(|n| entry(n).to_string()).collect(), ..Digest::empty(Moment::END) };
        let closed = |digest: &Digest| Digest { marks: [MARK_CLOSED.to_owned()].into(), ..digest.clone() };
        let empty = Digest::empty(Moment::END);

        let rows = [
            (&empty, entry(1), Found::Room),
            (&closed(&empty), entry(1), Found::Closed),
            (&full, entry(1), Found::Told),
            (&closed(&full), entry(1), Found::Told),
            (&full, entry(99), Found::Full),
            (&closed(&full), entry(99), Found::Full),
        ];
        for (digest, entry, found) in rows {
            assert_eq!(digest.finds(&entry), found, "{digest:?}");
        }
    }

    #[test]
    fn each_entry_goes_on_to_a_child_of_the_item_that_it_found_full() {
        for number in 1..200 {
            let (entry, mut node, mut level) = (entry(number), Node::ROOT, 0);
            while let Some(below) = node.below(&entry) {
                assert!(node.children().any(|child| child == below), "{node:?} {below:?}");
                (node, level) = (below, level + 1);
            }
            assert_eq!((level, node.children().count()), (DEPTH, 0));
        }
    }
}
