//! The judge's own arithmetic of schedules: intervals, single instants, and what calendars leave of them.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    Never,
    Once(i64),
    /// Every `period` from `first` on, before `end`.
    Every {
        first: i64,
        period: i64,
        end: i64,
        at_most: Option<AtMost>,
    },
    /// Each instant of another schedule, later by a fixed span; but none whose nominal instant is before `from`.
    Later {
        by: i64,
        from: i64,
        than: Box<Self>,
    },
    /// What another one names, but in none of the stretches that calendars take. Where `moves` is said, what it names in such a stretch from
    /// that instant on fires at the end of the stretch instead.
    Heeding {
        taken: Vec<Range<i64>>,
        moves: Option<i64>,
        named: Box<Self>,
    },
    /// Another one, and an instant beside that it need not name.
    Also {
        at: i64,
        than: Box<Self>,
    },
}

/// A limit on the number of fires, counted from an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtMost {
    pub fires: i64,
    pub from: i64,
}

impl Schedule {
    /// The instants in `from..to`, in order.
    pub fn instants(&self, from: i64, to: i64) -> Vec<i64> {
        match *self {
            Self::Later { by, from: meant_from, ref than } => {
                let meant = than.instants((from - by).max(meant_from), to - by);
                meant.into_iter().map(|t| t + by).collect()
            }
            Self::Never => Vec::new(),
            Self::Once(at) => (from <= at && at < to).then_some(at).into_iter().collect(),
            Self::Every { first, period, end, at_most } => {
                let at_or_after = |t: i64| first + ((t - first).max(0) + period - 1) / period * period;
                let beyond = at_most.map_or(end, |most| at_or_after(most.from) + most.fires * period);
                let inside = at_or_after(from)..to.min(end).min(beyond);
                inside.step_by(usize::try_from(period).unwrap_or(usize::MAX)).collect()
            }
            Self::Heeding { ref taken, moves, ref named } => {
                let mut left = named.instants(from, to);
                left.retain(|t| !taken.iter().any(|stretch| stretch.contains(t)));
                if let Some(since) = moves {
                    left.extend(taken.iter().filter(|stretch| named.moves(stretch, since)).map(|stretch| stretch.end));
                }
                in_order(left, from, to)
            }
            Self::Also { at, ref than } => {
                let mut all = than.instants(from, to);
                all.push(at);
                in_order(all, from, to)
            }
        }
    }

    /// Those in `from..to` that it names and calendars take, where they would fire.
    pub fn taken(&self, from: i64, to: i64) -> Vec<i64> {
        match self {
            Self::Never | Self::Once(_) | Self::Every { .. } => Vec::new(),
            Self::Later { by, from: meant_from, than } => {
                let meant = than.taken((from - by).max(*meant_from), to - by);
                meant.into_iter().map(|t| t + by).collect()
            }
            Self::Also { than, .. } => than.taken(from, to),
            Self::Heeding { taken, named, .. } => {
                let is_taken = |t: &i64| taken.iter().any(|stretch| stretch.contains(t));
                named.instants(from, to).into_iter().filter(is_taken).collect()
            }
        }
    }

    /// Whether calendars take what it names at `t`, or what it names then and fires later.
    pub fn takes(&self, t: i64) -> bool {
        match self {
            Self::Never | Self::Once(_) | Self::Every { .. } => false,
            Self::Heeding { .. } => self.taken(t, t + 1) == [t],
            Self::Also { than, .. } => than.takes(t),
            Self::Later { by, than, .. } => than.takes(t) || than.takes(t - by),
        }
    }

    /// Whether what it names moves, where calendars take it.
    pub fn is_moved(&self) -> bool {
        match self {
            Self::Never | Self::Once(_) | Self::Every { .. } => false,
            Self::Later { than, .. } | Self::Also { than, .. } => than.is_moved(),
            Self::Heeding { moves, .. } => moves.is_some(),
        }
    }

    /// The only instant that it names, whatever becomes of that.
    pub fn names_once(&self) -> Option<i64> {
        match self {
            Self::Never | Self::Every { .. } => None,
            Self::Once(at) => Some(*at),
            Self::Later { than: inner, .. } | Self::Also { than: inner, .. } | Self::Heeding { named: inner, .. } => {
                inner.names_once()
            }
        }
    }

    /// Whether it names anything in this stretch from `since` on, and has not ended where that would fire.
    fn moves(&self, stretch: &Range<i64>, since: i64) -> bool {
        let ended = matches!(self, Self::Every { end, .. } if *end <= stretch.end);
        !ended && !self.instants(stretch.start.max(since), stretch.end).is_empty()
    }

    pub fn fires_at(&self, t: i64) -> bool {
        self.instants(t, t + 1) == [t]
    }
}

/// Those in `from..to`, each once.
fn in_order(mut instants: Vec<i64>, from: i64, to: i64) -> Vec<i64> {
    instants.retain(|t| (from..to).contains(t));
    instants.sort_unstable();
    instants.dedup();
    instants
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_fires_at_each_multiple_inside_its_bounds() {
        let schedule = Schedule::Every { first: 100, period: 10, end: 131, at_most: None };

        assert_eq!(schedule.instants(0, 1000), [100, 110, 120, 130]);
        assert_eq!(schedule.instants(101, 121), [110, 120]);
        assert_eq!(schedule.instants(110, 111), [110]);
        assert!(schedule.fires_at(130) && !schedule.fires_at(131) && !schedule.fires_at(140));
    }

    #[test]
    fn an_interval_with_a_bound_is_counted_from_where_it_came_into_force() {
        let at_most =
            |fires, from| Schedule::Every { first: 100, period: 10, end: 131, at_most: Some(AtMost { fires, from }) };

        assert_eq!(at_most(2, 0).instants(0, 1000), [100, 110]);
        assert_eq!(at_most(2, 100).instants(0, 1000), [100, 110]);
        assert_eq!(at_most(2, 101).instants(101, 1000), [110, 120]);
        assert_eq!(at_most(9, 101).instants(101, 1000), [110, 120, 130]);
    }

    #[test]
    fn a_delayed_schedule_keeps_its_distance_and_revives_nothing() {
        let than = Box::new(Schedule::Every { first: 100, period: 10, end: 131, at_most: None });
        let schedule = Schedule::Later { by: 7, from: 105, than };

        assert_eq!(schedule.instants(0, 1000), [117, 127, 137]);
        assert_eq!(schedule.instants(118, 137), [127]);
        assert!(schedule.fires_at(127) && !schedule.fires_at(120) && !schedule.fires_at(107));
    }

    fn heeding(moves: Option<i64>) -> Schedule {
        let named = Box::new(Schedule::Every { first: 100, period: 10, end: 171, at_most: None });
        Schedule::Heeding { taken: vec![115..131, 155..175], moves, named }
    }

    #[test]
    fn what_calendars_take_is_skipped() {
        let schedule = heeding(None);

        assert_eq!(schedule.instants(0, 1000), [100, 110, 140, 150]);
        assert_eq!(schedule.taken(0, 1000), [120, 130, 160, 170]);
        assert_eq!(schedule.taken(121, 161), [130, 160]);
        assert!(!schedule.is_moved());
    }

    #[test]
    fn what_calendars_take_fires_at_the_end_of_the_stretch_once_and_unless_its_schedule_has_ended() {
        let schedule = heeding(Some(0));

        assert_eq!(schedule.instants(0, 1000), [100, 110, 131, 140, 150]);
        assert_eq!(schedule.instants(131, 132), [131], "named before, and fires here");
        assert!(schedule.is_moved());
    }

    #[test]
    fn what_was_named_before_moves_nowhere() {
        assert_eq!(heeding(Some(130)).instants(0, 1000), [100, 110, 131, 140, 150]);
        assert_eq!(heeding(Some(131)).instants(0, 1000), [100, 110, 140, 150]);
    }

    #[test]
    fn one_instant_moves_as_well_and_is_still_the_only_one() {
        let taken = vec![115..131, 155..175];
        let once = Schedule::Heeding { taken, moves: Some(0), named: Box::new(Schedule::Once(120)) };
        let later = Schedule::Later { by: 7, from: 0, than: Box::new(once) };

        assert_eq!(later.instants(0, 1000), [138]);
        assert_eq!(later.taken(0, 1000), [127]);
        assert!(later.takes(120) && later.takes(127) && !later.takes(138));
        assert_eq!(later.names_once(), Some(120));
    }

    #[test]
    fn what_is_carried_fires_beside_the_rest() {
        let schedule = Schedule::Also { at: 133, than: Box::new(heeding(None)) };

        assert_eq!(schedule.instants(110, 150), [110, 133, 140]);
        assert_eq!(schedule.instants(134, 150), [140]);
    }

    #[test]
    fn an_instant_fires_once() {
        assert_eq!(Schedule::Once(5).instants(0, 6), [5]);
        assert!(Schedule::Once(5).instants(6, 100).is_empty());
    }
}
