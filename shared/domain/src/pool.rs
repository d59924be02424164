//! A pool of workers: who pulls runs out of it carries them out. What is ready in it waits in lines, one for each priority.
//!
//! An offer is a hint: the run decides. It lies where the pool's workers look, and says which run of which handler it is about, and what
//! brought it there.

pub mod presence;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Moment;
use crate::hint::Hint;
use crate::id::{Tenant, Worker, digest_of_key};
use crate::limits::WORD_CHARS;
use crate::priority::Priority;
use crate::spelled::spelled_as_text;

/// Whether who has these handlers carries out what is for this one; none: whatever there is.
pub fn understands(handlers: Option<&BTreeSet<HandlerName>>, handler: &HandlerName) -> bool {
    handlers.is_none_or(|handlers| handlers.contains(handler))
}

/// What has waited for so long counts as of the next higher priority; and so on, so that nothing waits for ever behind what is more urgent.
pub const AGE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this is no name: 1 to {WORD_CHARS} of a-z, A-Z, 0-9, `.`, `_` and `-`")]
pub struct NotAName;

/// A name that people give: of a pool, of a handler, of a worker.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Which pool: of one tenant, by its name.
pub type PoolName = Name;
/// What a worker is to do.
pub type HandlerName = Name;
/// Which worker, as it calls itself.
pub type WorkerName = Name;

/// Where a pool's lines lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId([u8; 16]);

/// A run that is ready to be carried out by a worker of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub pool: PoolName,
    pub handler: HandlerName,
    pub priority: Priority,
    /// Since when it could have been carried out.
    pub since: Moment,
    /// What brought it here, and the timer behind it.
    pub hint: Hint,
}

impl Offer {
    /// For how long one stands where no worker comes. A run that waits for longer is offered anew by the looks at it; of one that is called off,
    /// or made up for by a later one, nobody ever comes to take it away.
    const STANDS: Duration = Duration::from_secs(3 * 86_400);

    /// It goes by the timer behind it, which each look at the run moves.
    pub fn stands_until(&self) -> Moment {
        self.since.max(self.hint.timer.due) + Self::STANDS
    }

    /// Whether many looks, which come each hour at least, find it in time once more.
    pub fn stands_for_a_while(&self, now: Moment) -> bool {
        now + Self::STANDS / 2 < self.stands_until()
    }
}

/// A pool that somebody named: in a job, a workflow, or a request for something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    pub tenant: Tenant,
    pub name: PoolName,
    pub named_at: Moment,
}

impl Name {
    /// As a claimant of runs: the same name is the same worker.
    pub fn worker(&self, tenant: &Tenant) -> Worker {
        let digest = digest_of_key("worker", tenant, &self.0);
        Worker(u64::from_be_bytes(digest[..8].try_into().expect("a digest has 16 bytes")))
    }
}

spelled_as_text!(Name);

impl FromStr for Name {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let is_name = (1..=WORD_CHARS).contains(&text.len()) && text.bytes().all(legal);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NotAName) }
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PoolId {
    pub fn of(tenant: &Tenant, pool: &PoolName) -> Self {
        Self(digest_of_key("pool", tenant, pool.as_str()))
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Who goes first of what waits in a pool's lines, each line oldest first: up to `max`, drawn by the weight of their priorities, 8:4:2:1.
///
/// Chance draws the line and age changes it: so a poll of one is as fair as a poll of a thousand.
pub fn pick(lines: [Vec<Offer>; Priority::ALL.len()], max: usize, now: Moment, chance: u64) -> Vec<Offer> {
    let mut lines = aged(lines, now).map(|line| line.into_iter().peekable());
    let mut dice = Draws(chance);
    let mut picked = Vec::new();
    while picked.len() < max {
        let weight: u64 = (0..).zip(&mut lines).map(|(rank, line)| line.peek().map_or(0, |_| weight(rank))).sum();
        if weight == 0 {
            break;
        }
        let mut drawn = dice.below(weight);
        for (rank, line) in (0..).zip(&mut lines) {
            let own = line.peek().map_or(0, |_| self::weight(rank));
            if drawn < own {
                picked.extend(line.next());
                break;
            }
            drawn -= own;
        }
    }
    picked
}

/// Of the most urgent line 8, of the next 4, 2 and 1.
const fn weight(rank: u32) -> u64 {
    8 >> rank
}

/// The lines as age has changed them: what came up stands among the others by how long it has waited.
fn aged(lines: [Vec<Offer>; Priority::ALL.len()], now: Moment) -> [Vec<Offer>; Priority::ALL.len()] {
    let mut aged: [Vec<Offer>; Priority::ALL.len()] = Default::default();
    for (rank, line) in lines.into_iter().enumerate() {
        for offer in line {
            let steps = usize::try_from(now.since(offer.since).as_secs() / AGE.as_secs()).unwrap_or(usize::MAX);
            aged[rank.saturating_sub(steps)].push(offer);
        }
    }
    for line in &mut aged {
        line.sort_by_key(|offer| (offer.since, offer.hint.run));
    }
    aged
}

/// Numbers out of one: a linear generator with its state mixed, which is chance enough to draw a line.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::id::{JobId, RunKey};
    use crate::timer::{TimerKey, TimerStamp};

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn offer(priority: Priority, number: u64, waited: u64) -> Offer {
        let since = NOW - Duration::from_secs(waited);
        let run = RunKey::manual(JobId::from_bytes([1; 16]), since, number);
        let stamp = TimerStamp { generation: 0, written: since };
        let hint = Hint { tenant: Tenant::deployment(), run, timer: TimerKey::run(run, since), stamp, sent: None };
        Offer { pool: "p".parse().unwrap(), handler: "h".parse().unwrap(), priority, since, hint }
    }

    fn lines(each: usize, waited: u64) -> [Vec<Offer>; 4] {
        Priority::ALL.map(|priority| (0..each as u64).map(|number| offer(priority, number, waited)).collect())
    }

    fn counted(picked: &[Offer]) -> Vec<usize> {
        Priority::ALL.map(|priority| picked.iter().filter(|offer| offer.priority == priority).count()).into()
    }

    #[test]
    fn lines_are_drawn_by_their_weights_whether_many_or_one_are_asked_for() {
        let many = counted(&pick(lines(20_000, 0), 15_000, NOW, 7));
        let one_by_one: Vec<Offer> = (0..15_000).flat_map(|chance| pick(lines(1, 0), 1, NOW, spread(chance))).collect();

        for counted in [many, counted(&one_by_one)] {
            for (count, expected) in counted.iter().zip([8_000_usize, 4_000, 2_000, 1_000]) {
                assert!(count.abs_diff(expected) < expected / 10, "{counted:?}");
            }
        }
    }

    /// As a caller's chance is.
    fn spread(number: u64) -> u64 {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }

    #[test]
    fn a_line_alone_is_taken_whole_and_in_its_order() {
        let mut only: [Vec<Offer>; 4] = Default::default();
        only[3] = (0..5).map(|number| offer(Priority::Low, number, 10 - number)).collect();

        let picked = pick(only.clone(), 10, NOW, 3);

        assert_eq!(picked, only[3]);
        assert_eq!(pick(Default::default(), 10, NOW, 3), []);
    }

    /// Removed: what has waited long keeps its line. It came by its weight alone, one of fifteen.
    #[test]
    fn what_has_waited_for_minutes_goes_before_what_is_more_urgent_and_new() {
        let mut waiting = lines(1_000, 0);
        waiting[3] = (0..100).map(|number| offer(Priority::Low, number, 181)).collect();

        let picked = counted(&pick(waiting, 150, NOW, 11));

        assert!(picked[3] > 60, "three minutes make a low one critical, and it is the oldest of those: {picked:?}");
    }

    #[test]
    fn names_are_words() {
        let told: BTreeMap<&str, bool> =
            ["web1", "a.b-c_D", "", "a b", "ä", "a/b"].map(|text| (text, text.parse::<Name>().is_ok())).into();

        assert_eq!(
            told,
            [("web1", true), ("a.b-c_D", true), ("", false), ("a b", false), ("ä", false), ("a/b", false)].into()
        );
        assert!("x".repeat(65).parse::<Name>().is_err());
    }

    #[test]
    fn the_same_name_is_another_pool_and_another_worker_elsewhere() {
        let (name, other): (Name, _) = ("web1".parse().unwrap(), Tenant::new("other").unwrap());

        assert_ne!(PoolId::of(&Tenant::deployment(), &name), PoolId::of(&other, &name));
        assert_ne!(name.worker(&Tenant::deployment()), name.worker(&other));
    }
}
