//! Throttles: for seconds to minutes, a share of the requests to one table or queue is refused before it acts; all over
//! it, or where one shard of it is hot.

use std::fmt;
use std::ops::Range;

use minutehand_domain::id::JobId;

use crate::dice::Dice;

/// What can be throttled by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    State,
    Timers,
    Queues,
}

impl Resource {
    pub const ALL: [Self; 3] = [Self::State, Self::Timers, Self::Queues];
}

/// Where a request goes.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub resource: Resource,
    /// The shard of the job it is about, or that it sweeps; none where it goes all over.
    pub shard: Option<u16>,
    /// The job whose partition it goes to; none where it goes elsewhere.
    pub job: Option<JobId>,
}

#[derive(Clone, Debug)]
pub struct Throttle {
    pub resource: Resource,
    /// One hot shard, or all.
    pub shard: Option<u16>,
    pub span: Range<i64>,
    /// Which share of the requests is refused.
    pub share: f64,
}

impl Throttle {
    pub fn drawn(dice: &mut Dice, rough: &Range<i64>, shards: u16) -> Self {
        let begin = dice.within(rough.clone());
        // Three seconds to a quarter of an hour.
        let end = (begin + dice.magnitude(3.5, 5.95)).min(rough.end);
        let hot = dice.chance(0.4).then(|| u16::try_from(dice.within(0..i64::from(shards))).unwrap_or_default());
        Self {
            resource: dice.pick(&[
                Resource::State,
                Resource::State,
                Resource::Timers,
                Resource::Timers,
                Resource::Queues,
            ]),
            shard: hot,
            span: begin..end,
            share: dice.pick(&[0.3, 0.6, 0.9, 1.0]),
        }
    }

    pub fn is_on(&self, place: Place, now: i64) -> bool {
        self.resource == place.resource
            && self.span.contains(&now)
            && (self.shard.is_none() || self.shard == place.shard)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::State => "state",
            Self::Timers => "timers",
            Self::Queues => "queues",
        })
    }
}
