//! Seldom: what happens often is told now and then, so that a log names it and is not filled with it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;

/// How long nothing more is told of the same.
const EACH: Duration = Duration::from_secs(60);

/// What was told of in the last minute: each thing once, and no more than so many.
#[derive(Debug)]
pub struct Seldom<K> {
    told: Mutex<HashMap<K, Moment>>,
    most: usize,
}

impl<K: Eq + Hash> Seldom<K> {
    pub fn at_most(most: usize) -> Self {
        Self { told: Mutex::default(), most }
    }

    pub fn is_to_be_told(&self, of: K, now: Moment) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: Moment| at <= now && now.since(at) < EACH;
        if told.get(&of).is_some_and(|at| is_recent(*at)) {
            return false;
        }
        if told.len() >= self.most {
            told.retain(|_, at| is_recent(*at));
        }
        let has_room = told.len() < self.most;
        if has_room {
            told.insert(of, now);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Moment = Moment::from_secs(1_800_000_000);

    #[test]
    fn each_is_told_of_once_a_minute() {
        let (seldom, ahead) = (Seldom::at_most(100), NOON + 100 * EACH);
        for (of, at, is_told) in [
            (("acme", "requests"), ahead, true),
            (("acme", "requests"), NOON, true),
            (("acme", "requests"), NOON + Duration::from_secs(59), false),
            (("acme", "jobs"), NOON, true),
            (("other", "requests"), NOON, true),
            (("acme", "requests"), NOON + EACH, true),
        ] {
            assert_eq!(seldom.is_to_be_told(of, at), is_told, "{of:?} {at}");
        }
    }

    #[test]
    fn of_many_a_few_are_told_of_in_a_minute_and_others_in_the_next() {
        let seldom = Seldom::at_most(3);
        let told = |at| (0..1000).filter(|number| seldom.is_to_be_told(*number, at)).count();
        assert_eq!([NOON, NOON + EACH / 2, NOON + EACH].map(told), [3, 0, 3]);
    }
}
