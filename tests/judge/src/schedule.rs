//! The judge's own arithmetic of schedules: intervals and single instants.

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
        }
    }

    pub fn fires_at(&self, t: i64) -> bool {
        self.instants(t, t + 1) == [t]
    }
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

    #[test]
    fn an_instant_fires_once() {
        assert_eq!(Schedule::Once(5).instants(0, 6), [5]);
        assert!(Schedule::Once(5).instants(6, 100).is_empty());
    }
}
