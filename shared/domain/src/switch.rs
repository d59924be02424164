//! The dead man's switch: something outside that fires when no pass of the sweep has ended well for a while. Each pass that has
//! pushes it ahead.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::Moment;
use crate::pace::TICK;

/// For how many minutes it may be pushed ahead. Fewer, and a tick that is a minute late and takes another would let it fire; more, and
/// nobody would know for longer than a window of catch-up should be.
pub const MINUTES: RangeInclusive<u64> = 3..=15;

/// Pushed so short a time ago it is left alone: a tick and whoever sweeps by hand beside it are one push.
const RECENT: Duration = Duration::from_secs(TICK.as_secs() / 2);

/// How it stands, as whoever keeps it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// When it is to fire, or did; none where that is no instant.
    pub at: Option<Moment>,
    /// Somebody has turned it off.
    pub is_off: bool,
}

/// What a pass that has ended well does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// It is to fire then, unless it is pushed again.
    To(Moment),
    /// Another pass has just pushed it.
    Recent,
    /// It was turned off, and a sweep does not turn it on.
    Off,
}

impl Standing {
    /// The push of a pass that has ended now. A moment that no push of this length can have set is set right: that of a switch that was never
    /// pushed, or was pushed further.
    pub fn pushed(self, now: Moment, ahead: Duration) -> Push {
        if self.is_off {
            return Push::Off;
        }
        let to = in_whole_seconds(now + ahead);
        let recent = now.max(to - RECENT.min(ahead / 4));
        if self.at.is_some_and(|at| recent < at && at <= to) { Push::Recent } else { Push::To(to) }
    }
}

/// Not before it: a switch is kept to the second.
fn in_whole_seconds(moment: Moment) -> Moment {
    Moment::from_secs(moment.just_before().millis().div_euclid(1000) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Duration = Duration::from_secs(300);

    fn at(seconds: i64) -> Moment {
        Moment::from_secs(1_800_000_000 + seconds)
    }

    #[test]
    fn a_pass_pushes_it_ahead_where_nobody_has_just_done_so() {
        let to = Push::To(at(300));
        let rows = [
            ("no instant that can be read", None, to),
            ("never pushed: decades ahead", Some(at(2_000_000_000)), to),
            ("fired an hour ago", Some(at(-3600)), to),
            ("about to fire", Some(at(1)), to),
            ("pushed by the tick before", Some(at(240)), to),
            ("pushed half a minute ago", Some(at(270)), to),
            ("pushed less than half a minute ago", Some(at(271)), Push::Recent),
            ("pushed in this very second", Some(at(300)), Push::Recent),
            ("pushed by a clock that is ahead", Some(at(302)), to),
            ("pushed further, by a longer setting", Some(at(900)), to),
        ];
        for (how, standing, expected) in rows {
            let standing = Standing { at: standing, is_off: false };
            assert_eq!(standing.pushed(at(0), AHEAD), expected, "{how}");
        }
    }

    #[test]
    fn one_that_was_turned_off_stays_off() {
        for standing in [None, Some(at(-60)), Some(at(240)), Some(at(300))] {
            let standing = Standing { at: standing, is_off: true };
            assert_eq!(standing.pushed(at(0), AHEAD), Push::Off);
        }
    }

    #[test]
    fn it_fires_in_a_whole_second_and_never_sooner_than_asked() {
        for (late, second) in [(0, 300), (1, 301), (999, 301), (1000, 301)] {
            let now = at(0) + Duration::from_millis(late);
            assert_eq!(Standing { at: None, is_off: false }.pushed(now, AHEAD), Push::To(at(second)), "{late}");
        }
    }

    /// Each minute, some seconds early or late, and now and then a minute later: of the shortest setting too.
    #[test]
    fn while_ticks_come_it_is_always_ahead_of_now() {
        let ahead = Duration::from_secs(60 * MINUTES.start());
        let (mut standing, mut pushes) = (Standing { at: None, is_off: false }, 0);
        for (minute, late) in (0..600).zip([0, 4, 58, 1, 0, 31, 59, 0].into_iter().cycle()) {
            let now = at(60 * minute + late);
            assert!(minute == 0 || standing.at.is_some_and(|at| now < at), "it fired before minute {minute}");
            if let Push::To(to) = standing.pushed(now, ahead) {
                (standing.at, pushes) = (Some(to), pushes + 1);
            }
        }
        assert!((300..=600).contains(&pushes), "{pushes}");
    }
}
