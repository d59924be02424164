//! Windows: the times whose ends are told of together. They stand on the clock, so that whoever looks at an end finds the same one: those of
//! sixty seconds begin with each minute.

use std::time::Duration;

use crate::Moment;
use crate::id::{JobId, Origin, RunKey};

/// Ends of this long before its digest is closed are still on their way into it: the record of an end comes before what it owes, by
/// another's clock perhaps.
const GRACE: Duration = Duration::from_secs(2);

/// How far from the window of its own an end may be put: the distances double, so that one that nobody has settled for a century finds
/// one that is open.
const DOUBLINGS: u32 = 32;

/// The discriminator of a message that somebody asked for has this bit; a window's says how many seconds it has.
const ASKED: u64 = 1 << 63;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// Where it ends, itself not within.
    pub end: Moment,
    /// A whole number of seconds.
    pub length: Duration,
}

impl Window {
    /// The one that `at` lies in.
    pub fn of(at: Moment, length: Duration) -> Self {
        let millis = millis_of(length);
        Self { end: Moment::from_millis((at.millis() / millis + 1) * millis), length }
    }

    pub fn begin(&self) -> Moment {
        self.end - self.length
    }

    /// Where what belongs into this one is put, one after the other, where those before are closed: the same for whoever looks.
    pub fn and_later(self) -> impl Iterator<Item = Self> {
        let millis = millis_of(self.length);
        let later =
            move |distance: i64| Self { end: Moment::from_millis(self.end.millis() + distance * millis), ..self };
        std::iter::once(self).chain((0..DOUBLINGS).map(move |n| later(1 << n)))
    }

    /// The run that tells of it. There is one, since the window is its key.
    pub fn run(&self, rule: JobId) -> RunKey {
        RunKey {
            job: rule,
            at: self.end + GRACE,
            origin: Origin::Notification,
            discriminator: self.length.as_secs().max(1),
        }
    }

    /// The window that a run tells of; none where somebody asked for the run, or it tells of nothing.
    pub fn told_by(run: RunKey) -> Option<Self> {
        let is_one = run.origin == Origin::Notification && run.discriminator & ASKED == 0;
        is_one.then(|| Self { end: run.at - GRACE, length: Duration::from_secs(run.discriminator) })
    }
}

/// The run of a message that somebody asks for.
pub fn asked_for(rule: JobId, now: Moment, chance: u64) -> RunKey {
    RunKey { job: rule, at: now, origin: Origin::Notification, discriminator: chance | ASKED }
}

fn millis_of(length: Duration) -> i64 {
    i64::try_from(length.as_secs().max(1) * 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const RULE: JobId = JobId::from_bytes([9; 16]);

    #[test]
    fn an_instant_lies_in_one_window_and_a_run_leads_back_to_its_window() {
        for (at, end) in [(0, 60_000), (59_999, 60_000), (60_000, 120_000), (1_799_999_999_999, 1_800_000_000_000)] {
            let window = Window::of(Moment::from_millis(at), MINUTE);

            assert_eq!(window.end, Moment::from_millis(end), "{at}");
            assert!(window.begin() <= Moment::from_millis(at) && Moment::from_millis(at) < window.end);
            assert_eq!(Window::told_by(window.run(RULE)), Some(window));
        }
    }

    #[test]
    fn what_finds_its_window_closed_looks_at_doubling_distances() {
        let window = Window::of(Moment::from_secs(30), MINUTE);

        let ends: Vec<i64> = window.and_later().take(6).map(|window| window.end.millis() / 60_000).collect();

        assert_eq!(ends, [1, 2, 3, 5, 9, 17]);
    }

    #[test]
    fn what_somebody_asks_for_tells_of_no_window() {
        let run = asked_for(RULE, Moment::from_secs(90), 7);

        assert_eq!(Window::told_by(run), None);
        assert_eq!(run.to_string().parse(), Ok(run));
        assert_eq!(Window::told_by(RunKey::manual(RULE, Moment::from_secs(90), 7)), None);
    }
}
