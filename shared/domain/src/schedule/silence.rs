//! Silence: why a schedule does not fire at an instant.

use super::cron::{DstGap, Swallowed, Turned};
use super::{Schedule, When};
use crate::Moment;
use crate::id::JobId;
use crate::workflow::edge::On;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It fires by nobody's clock.
    OnDemand,
    /// It fires when runs of this job have ended so.
    Follows(JobId, On),
    /// Nothing fires before this `start_at`.
    NotStarted(Moment),
    /// Nothing fires at this `end_at` or later.
    Ended(Moment),
    /// The last of its `max_fires` was at this instant.
    UsedUp { max_fires: u32, last: Moment },
    /// A calendar takes it.
    Taken,
    /// A turn of the clock took the instant.
    Turned(Turned),
    /// It fires at other instants.
    Unnamed,
}

impl Schedule {
    /// Why nothing fires at `t`, where nothing does; `t` is taken for what people say, before jitter.
    pub fn silence_at(&self, t: Moment) -> Silence {
        match self {
            Self { when: When::OnDemand, .. } => Silence::OnDemand,
            Self { when: When::Follows { job, on }, .. } => Silence::Follows(*job, *on),
            Self { start_at: Some(start), .. } if t < *start => Silence::NotStarted(*start),
            Self { end_at: Some(end), .. } if t >= *end => Silence::Ended(*end),
            Self { max_fires: Some(max_fires), last: Some(last), .. } if t > *last => {
                Silence::UsedUp { max_fires: *max_fires, last: *last }
            }
            Self { .. } if self.takes(t) => Silence::Taken,
            Self { .. } => self.turned_at(t).map_or(Silence::Unnamed, Silence::Turned),
        }
    }

    /// Whether it names `t`, and a calendar takes that.
    fn takes(&self, t: Moment) -> bool {
        let is_named = || t > Moment::EPOCH && self.next_nominal_after(t.just_before()) == Some(t);
        self.observance.is_some() && is_named() && self.taken_by(t).is_some()
    }

    /// What the first gap of its zone's clock between two instants, neither included, swallows of it.
    pub fn swallowed_between(&self, after: Moment, until: Moment) -> Option<Swallowed> {
        let When::Cron(cron) = &self.when else { return None };
        let after = self.start_at.map_or(after, |start| after.max(start.just_before()));
        let until = [self.end_at, self.last].into_iter().flatten().fold(until, Moment::min);
        cron.swallowed_between(after, until)
    }

    /// Whether its zone's clock may swallow anything of it.
    pub fn skips_gaps(&self) -> bool {
        matches!(&self.when, When::Cron(cron) if cron.manner().gap == DstGap::Skip)
    }

    /// What a turn of its zone's clock has to do with whether it fires at `t`, before jitter.
    pub fn turned_at(&self, t: Moment) -> Option<Turned> {
        match &self.when {
            When::Cron(cron) => cron.turned_at(t),
            When::Now { .. }
            | When::At { .. }
            | When::After { .. }
            | When::Every { .. }
            | When::OnDemand
            | When::Follows { .. } => None,
        }
    }
}
