//! A schedule: the when of a job. It answers one question, [`Schedule::next_after`], and always strictly forward.

pub mod cron;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::cron::{Cron, CronError};
use crate::Moment;
use crate::limits::{MAX_FIRES, PAST_GRACE, SPAN_SECONDS};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    pub when: When,
    /// Nothing fires before.
    pub start_at: Option<Moment>,
    /// Nothing fires then or later.
    pub end_at: Option<Moment>,
    /// As it was asked for; what it means is `last`.
    pub max_fires: Option<u32>,
    /// The last instant that `max_fires` allows, found once.
    last: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Once, when it was created.
    Now {
        at: Moment,
    },
    At {
        at: Moment,
    },
    After {
        seconds: u64,
        at: Moment,
    },
    /// Elapsed time from one instant on; knows no zones and never drifts.
    Every {
        seconds: u64,
        from: Moment,
    },
    Cron(Cron),
    /// Only when somebody asks.
    OnDemand,
}

/// A schedule as a client asks for it. Exactly one of `at`, `after_seconds`, `every_seconds`, `cron`; or none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub at: Option<Moment>,
    pub after_seconds: Option<u64>,
    pub every_seconds: Option<u64>,
    pub cron: Option<String>,
    pub timezone: Option<String>,
    pub start_at: Option<Moment>,
    pub end_at: Option<Moment>,
    pub max_fires: Option<u32>,
    pub on_demand: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScheduleRefusal {
    #[error("give only one of at, after_seconds, every_seconds, cron and on_demand; this has {0} and {1}")]
    Several(&'static str, &'static str),
    #[error("{field} goes with every_seconds or cron, not with a schedule that fires once")]
    NotRecurring { field: &'static str },
    #[error("timezone goes with cron; other schedules count in UTC")]
    ZoneWithoutCron,
    #[error("{0} lies more than {grace} s in the past", grace = PAST_GRACE.as_secs())]
    Past(Moment),
    #[error("{field} must be from {least} to {most}")]
    OutOfRange { field: &'static str, least: u64, most: u64 },
    #[error("end_at must lie after {0}, or nothing would ever fire")]
    EndsBeforeItStarts(Moment),
    #[error("this schedule has no instant left at which it fires")]
    NeverFires,
    #[error(transparent)]
    Cron(#[from] CronError),
}

impl ScheduleRefusal {
    /// The field of the schedule to point at; none where it is the schedule as a whole.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::Several(_, second) => Some(second),
            Self::NotRecurring { field } | Self::OutOfRange { field, .. } => Some(field),
            Self::ZoneWithoutCron | Self::Cron(CronError::UnknownZone { .. }) => Some("timezone"),
            Self::Past(_) => Some("at"),
            Self::EndsBeforeItStarts(_) => Some("end_at"),
            Self::NeverFires => None,
            Self::Cron(_) => Some("cron"),
        }
    }
}

impl Schedule {
    /// Turns what was asked for into what it means, seen from `now`.
    pub fn new(plan: &Plan, now: Moment) -> Result<Self, ScheduleRefusal> {
        let when = plan.when(now)?;
        let (start_at, end_at) = (plan.start_at, plan.end_at);
        let begin = start_at.unwrap_or(now).max(now);
        if end_at.is_some_and(|end| end <= begin) {
            return Err(ScheduleRefusal::EndsBeforeItStarts(begin));
        }
        let mut schedule = Self { when, start_at, end_at, max_fires: plan.max_fires, last: None };
        schedule.last = schedule.nth_fire(plan.max_fires, now);
        if schedule.when != When::OnDemand && schedule.next_after(now.just_before()).is_none() {
            return Err(ScheduleRefusal::NeverFires);
        }
        Ok(schedule)
    }

    /// The first instant strictly after `t` at which this fires.
    pub fn next_after(&self, t: Moment) -> Option<Moment> {
        let t = self.start_at.map_or(t, |start| t.max(start.just_before()));
        let next = match &self.when {
            When::Now { at } | When::At { at } | When::After { at, .. } => (t < *at).then_some(*at),
            When::Every { seconds, from } => every_after(*seconds, *from, t),
            When::Cron(cron) => cron.next_after(t),
            When::OnDemand => None,
        }?;
        let ended = self.end_at.is_some_and(|end| next >= end) || self.last.is_some_and(|last| next > last);
        (!ended).then_some(next)
    }

    pub fn is_recurring(&self) -> bool {
        matches!(self.when, When::Every { .. } | When::Cron(_))
    }

    /// How often a recurring schedule fires from `now` on, at the pace of its next sixty fires: a burst counts
    /// as what it is while it lasts. Nothing for a schedule that fires once.
    pub fn fires_per_minute(&self, now: Moment) -> f64 {
        const LOOKED_AT: u32 = 60;
        if !self.is_recurring() {
            return 0.0;
        }
        let Some(first) = self.next_after(now) else { return 0.0 };
        let (mut last, mut more) = (first, 0);
        while let Some(next) = self.next_after(last).filter(|_| more < LOOKED_AT) {
            (last, more) = (next, more + 1);
        }
        f64::from(more) * 60.0 / last.since(first).as_secs_f64().max(1.0)
    }

    pub fn fires_at(&self, t: Moment) -> bool {
        t > Moment::EPOCH && self.next_after(t.just_before()) == Some(t)
    }

    fn nth_fire(&self, n: Option<u32>, now: Moment) -> Option<Moment> {
        (0..n?).try_fold(now.just_before(), |t, _| self.next_after(t).ok_or(t)).map_or_else(Some, Some)
    }
}

impl Plan {
    fn when(&self, now: Moment) -> Result<When, ScheduleRefusal> {
        self.names_one_kind()?;
        self.goes_together()?;
        Ok(match self {
            Self { at: Some(at), .. } => When::At { at: not_past(*at, now)? },
            Self { after_seconds: Some(seconds), .. } => {
                let seconds = in_range("after_seconds", *seconds, 0, SPAN_SECONDS)?;
                When::After { seconds, at: now + Duration::from_secs(seconds) }
            }
            Self { every_seconds: Some(seconds), .. } => {
                let seconds = in_range("every_seconds", *seconds, 1, SPAN_SECONDS)?;
                // Counted from its creation, the first fire is one period later; counted from `start_at`, it is then.
                let from = self.start_at.unwrap_or(now + Duration::from_secs(seconds));
                When::Every { seconds, from }
            }
            Self { cron: Some(text), .. } => {
                let zone = cron::zone(self.timezone.as_deref().unwrap_or("UTC"))?;
                When::Cron(Cron::parse(text, zone)?)
            }
            Self { on_demand: true, .. } => When::OnDemand,
            _ => When::Now { at: now },
        })
    }

    fn names_one_kind(&self) -> Result<(), ScheduleRefusal> {
        let kinds = [
            ("at", self.at.is_some()),
            ("after_seconds", self.after_seconds.is_some()),
            ("every_seconds", self.every_seconds.is_some()),
            ("cron", self.cron.is_some()),
            ("on_demand", self.on_demand),
        ];
        let mut named = kinds.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
        match (named.next(), named.next()) {
            (Some(one), Some(other)) => Err(ScheduleRefusal::Several(one, other)),
            _ => Ok(()),
        }
    }

    fn goes_together(&self) -> Result<(), ScheduleRefusal> {
        let recurring = self.every_seconds.is_some() || self.cron.is_some();
        let bounds = [
            ("start_at", self.start_at.is_some()),
            ("end_at", self.end_at.is_some()),
            ("max_fires", self.max_fires.is_some()),
        ];
        if let Some((field, _)) = bounds.into_iter().find(|(_, given)| *given && !recurring) {
            return Err(ScheduleRefusal::NotRecurring { field });
        }
        if self.timezone.is_some() && self.cron.is_none() {
            return Err(ScheduleRefusal::ZoneWithoutCron);
        }
        if let Some(max) = self.max_fires {
            in_range("max_fires", u64::from(max), 1, u64::from(MAX_FIRES))?;
        }
        Ok(())
    }
}

/// Multiples of the period from `from` on.
fn every_after(seconds: u64, from: Moment, t: Moment) -> Option<Moment> {
    if t < from {
        return Some(from);
    }
    let period = i64::try_from(seconds).ok()?.checked_mul(1000)?;
    let passed = (t.millis() - from.millis()) / period + 1;
    let next = from.millis().checked_add(passed.checked_mul(period)?)?;
    (next < Moment::END.millis()).then(|| Moment::from_millis(next))
}

/// A little past means now: a client's slow clock or network is not an error.
fn not_past(at: Moment, now: Moment) -> Result<Moment, ScheduleRefusal> {
    if now.since(at) > PAST_GRACE { Err(ScheduleRefusal::Past(at)) } else { Ok(at.max(now)) }
}

fn in_range(field: &'static str, value: u64, least: u64, most: u64) -> Result<u64, ScheduleRefusal> {
    if (least..=most).contains(&value) { Ok(value) } else { Err(ScheduleRefusal::OutOfRange { field, least, most }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn how_often_a_schedule_fires_is_counted_while_it_fires() {
        let pace = |plan: Plan| Schedule::new(&plan, NOW).unwrap().fires_per_minute(NOW);
        let cron = |text: &str| pace(Plan { cron: Some(text.to_owned()), ..Plan::default() });
        let every = |seconds| pace(Plan { every_seconds: Some(seconds), ..Plan::default() });

        assert!((every(1) - 60.0).abs() < 0.1 && (every(60) - 1.0).abs() < 0.01 && every(86_400) < 0.001);
        assert!((cron("* * * * *") - 1.0).abs() < 0.01, "each minute");
        assert!(cron("0 2 * * *") < 0.001, "once a day");
        assert!(pace(Plan { after_seconds: Some(5), ..Plan::default() }).abs() < f64::EPSILON, "once");
    }

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn at(seconds: i64) -> Moment {
        Moment::from_secs(1_800_000_000 + seconds)
    }

    fn fires(plan: &Plan, count: usize) -> Vec<i64> {
        let schedule = Schedule::new(plan, NOW).unwrap();
        let mut t = NOW.just_before();
        std::iter::from_fn(|| {
            t = schedule.next_after(t)?;
            Some(t.millis() / 1000 - 1_800_000_000)
        })
        .take(count)
        .collect()
    }

    fn refused(plan: &Plan) -> ScheduleRefusal {
        Schedule::new(plan, NOW).unwrap_err()
    }

    #[test]
    fn each_kind_fires_when_it_says() {
        let table: [(Plan, &[i64]); 9] = [
            (Plan::default(), &[0]),
            (Plan { at: Some(at(30)), ..Plan::default() }, &[30]),
            (Plan { at: Some(at(-60)), ..Plan::default() }, &[0]),
            (Plan { after_seconds: Some(5), ..Plan::default() }, &[5]),
            (Plan { after_seconds: Some(0), ..Plan::default() }, &[0]),
            (Plan { every_seconds: Some(60), ..Plan::default() }, &[60, 120, 180]),
            (Plan { every_seconds: Some(60), start_at: Some(at(-90)), ..Plan::default() }, &[30, 90, 150]),
            (
                Plan { every_seconds: Some(60), start_at: Some(at(10)), end_at: Some(at(130)), ..Plan::default() },
                &[10, 70],
            ),
            (Plan { every_seconds: Some(7), max_fires: Some(2), ..Plan::default() }, &[7, 14]),
        ];
        for (plan, expected) in table {
            assert_eq!(fires(&plan, 3), expected, "{plan:?}");
        }
        assert_eq!(fires(&Plan { on_demand: true, ..Plan::default() }, 3), [0_i64; 0]);
    }

    #[test]
    fn each_impossible_plan_is_refused_by_name() {
        use ScheduleRefusal as R;
        let every = Plan { every_seconds: Some(60), ..Plan::default() };
        let table = [
            (Plan { at: Some(NOW), after_seconds: Some(1), ..Plan::default() }, R::Several("at", "after_seconds")),
            (Plan { on_demand: true, ..every.clone() }, R::Several("every_seconds", "on_demand")),
            (Plan { at: Some(at(-61)), ..Plan::default() }, R::Past(at(-61))),
            (
                Plan { every_seconds: Some(0), ..Plan::default() },
                R::OutOfRange { field: "every_seconds", least: 1, most: SPAN_SECONDS },
            ),
            (
                Plan { after_seconds: Some(u64::MAX), ..Plan::default() },
                R::OutOfRange { field: "after_seconds", least: 0, most: SPAN_SECONDS },
            ),
            (
                Plan { max_fires: Some(0), ..every.clone() },
                R::OutOfRange { field: "max_fires", least: 1, most: 10_000 },
            ),
            (Plan { max_fires: Some(1), ..Plan::default() }, R::NotRecurring { field: "max_fires" }),
            (Plan { start_at: Some(NOW), ..Plan::default() }, R::NotRecurring { field: "start_at" }),
            (Plan { timezone: Some("UTC".into()), ..every.clone() }, R::ZoneWithoutCron),
            (Plan { end_at: Some(NOW), ..every.clone() }, R::EndsBeforeItStarts(NOW)),
            (Plan { end_at: Some(at(60)), ..every }, R::NeverFires),
        ];
        for (plan, expected) in table {
            assert_eq!(refused(&plan), expected, "{plan:?}");
        }
    }

    #[test]
    fn a_century_of_every_second_does_not_drift() {
        let schedule = Schedule::new(&Plan { every_seconds: Some(1), ..Plan::default() }, NOW).unwrap();

        let later = NOW + Duration::from_secs(SPAN_SECONDS);

        assert_eq!(schedule.next_after(later), Some(later + Duration::from_secs(1)));
    }

    #[test]
    fn max_fires_beyond_the_schedules_own_end_changes_nothing() {
        let plan = Plan { every_seconds: Some(60), end_at: Some(at(130)), max_fires: Some(10_000), ..Plan::default() };
        assert_eq!(fires(&plan, 9), [60, 120]);
    }

    fn any_plan() -> impl Strategy<Value = Plan> {
        let crons = ["* * * * *", "*/7 3 * * *", "30 2 * * *", "0 0 29 2 *", "15 10 1,15 * MON"];
        let zones = ["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"];
        let bounds = (
            prop::option::of(-1000..100_000_i64),
            prop::option::of(200_000..90_000_000_i64),
            prop::option::of(1..50_u32),
        );
        let every = (1..1_000_000_u64).prop_map(|n| Plan { every_seconds: Some(n), ..Plan::default() });
        let cron = (0..crons.len(), 0..zones.len()).prop_map(move |(c, z)| Plan {
            cron: Some(crons[c].into()),
            timezone: Some(zones[z].into()),
            ..Plan::default()
        });
        (prop_oneof![every, cron], bounds).prop_map(|(plan, (start, end, max))| Plan {
            start_at: start.map(at),
            end_at: end.map(at),
            max_fires: max,
            ..plan
        })
    }

    proptest! {
        #[test]
        fn schedules_go_strictly_forward_and_stay_inside_their_bounds(plan in any_plan(), from in -100_000..90_000_000_i64) {
            let Ok(schedule) = Schedule::new(&plan, NOW) else { return Ok(()) };
            let mut t = at(from);
            for _ in 0..20 {
                let Some(next) = schedule.next_after(t) else { break };
                prop_assert!(next > t);
                prop_assert!(schedule.fires_at(next));
                prop_assert!(plan.start_at.is_none_or(|start| next >= start));
                prop_assert!(plan.end_at.is_none_or(|end| next < end));
                t = next;
            }
        }

        #[test]
        fn max_fires_is_the_number_of_fires(n in 1..200_u32, seconds in 1..10_000_u64) {
            let plan = Plan { every_seconds: Some(seconds), max_fires: Some(n), ..Plan::default() };
            prop_assert_eq!(fires(&plan, 1000).len(), n as usize);
        }
    }
}
