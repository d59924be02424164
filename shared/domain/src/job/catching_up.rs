//! What a job makes up for: of an occurrence that nobody has claimed, and of those after it whose time has passed too.

use super::{Job, Missed};
use crate::Moment;
use crate::catch_up::CatchUpPlan;
use crate::pace;

impl Job {
    /// Whether it is too late at `now` for an occurrence at `t` to begin.
    pub fn is_too_late(&self, t: Moment, now: Moment) -> bool {
        now.since(t) > self.definition.catch_up.window()
    }

    /// Whether the occurrence at `t` may only be waiting for a hand: its hint was given in time, and the one after it is not
    /// overdue. Nobody decides over it yet.
    fn may_be_waiting(&self, t: Moment, now: Moment) -> bool {
        !self.is_too_late(t, now) && self.next_after(t).is_some_and(|next| now < next + pace::OVERDUE)
    }

    /// What of the occurrence at `t` and those after it would be too late at the next free `turn`, and so is not made up for; none where the
    /// one at `t` is in time.
    pub fn too_late_for(&self, t: Moment, turn: Moment, now: Moment) -> Option<Missed> {
        let last = (turn - self.definition.catch_up.window()).just_before();
        self.is_too_late(t, turn).then(|| self.missed(t, last.min(now).max(t)))
    }

    /// What is made up for at `now` of the occurrence at `t` and those after it.
    pub fn catch_up_plan(&self, t: Moment, now: Moment) -> CatchUpPlan {
        let (catch_up, now) = (&self.definition.catch_up, now.max(t));
        match self.newest(catch_up.most(), t.max(now - catch_up.window()), now) {
            Some(at) if at == t => CatchUpPlan::FireAll,
            Some(_) if self.may_be_waiting(t, now) => CatchUpPlan::FireAll,
            Some(at) => CatchUpPlan::FireFrom { at, passed_over: self.missed(t, at.just_before()).count },
            None => {
                let missed = self.missed(t, now);
                CatchUpPlan::SkipAll { last: missed.last, count: missed.count }
            }
        }
    }
}

#[cfg(test)]
mod facts;
