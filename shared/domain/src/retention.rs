//! Retention: for how long what is over is kept. A job says it, and its tenant's quota bounds that.
//!
//! What is kept of a run is pinned when the run is born: a change of the job, or of the quota, is one for the runs after it, and what came
//! before it is remembered ([`keeping`](crate::keeping)).

use std::time::Duration;

use crate::Moment;
use crate::catch_up::CatchUp;
use crate::id::{Origin, RunKey};
use crate::limits::{DEFAULT_RETENTION_DAYS, RETENTION_DAYS, WORKFLOW_DEPTH, WORKFLOW_SECONDS};
use crate::order::Terms;
use crate::pace;
use crate::run::{Run, State, Waiting};

const DAY: Duration = Duration::from_secs(86_400);

/// What has expired may be read for so long still where a store deletes by the clock alone, which it does in any order: AWS promises no time, and speaks
/// of a few days.
const TAKES_TO_DELETE: Duration = Duration::from_secs(4 * 86_400);

/// Whole days, from 1 to [`RETENTION_DAYS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retention(u16);

/// For how long one run is kept when it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// After its end; none means [`Retention::DEFAULT`].
    pub retention: Option<Retention>,
    /// And until then at the least, whenever it ends: something that is not over may ask for it.
    pub until: Option<Moment>,
}

impl Retention {
    pub const DEFAULT: Self = Self(DEFAULT_RETENTION_DAYS);
    /// What nobody can ask for less than.
    pub const LEAST: Self = Self(1); // a run's callbacks are tried for minutes, and read what they tell from it

    /// None where it is no retention at all.
    pub fn of_days(days: u16) -> Option<Self> {
        (Self::LEAST.0..=RETENTION_DAYS).contains(&days).then_some(Self(days))
    }

    pub const fn days(self) -> u16 {
        self.0
    }

    pub fn span(self) -> Duration {
        DAY * u32::from(self.0)
    }

    /// Of a job that says this, whose tenant's quota says that. The quota stands for what a job does not say, and bounds what it does: who
    /// pays for the table has the last word, and may come to it after the job was written.
    pub fn of(job: Option<Self>, tenant: Option<Self>) -> Option<Self> {
        match (job, tenant) {
            (Some(job), Some(tenant)) => Some(job.min(tenant)),
            (job, tenant) => job.or(tenant),
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Kept {
    /// Of the occurrence of a job. A timer that outlived the record would have it fire again: after an outage that is possible for as long
    /// as an occurrence can be made up for.
    pub fn of(retention: Option<Retention>, catch_up: &CatchUp, key: RunKey) -> Self {
        let window = catch_up.window();
        let is_longer_than_any_record = key.is_occurrence() && window > Retention::LEAST.span();
        Self { retention, until: is_longer_than_any_record.then(|| key.at + window + pace::ORPHAN) }
    }

    /// The same of a tenant whose quota says this.
    #[must_use]
    pub fn bounded(self, tenant: Option<Retention>) -> Self {
        Self { retention: Retention::of(self.retention, tenant), ..self }
    }

    /// And until then at the least.
    #[must_use]
    pub fn at_least_until(self, until: Moment) -> Self {
        Self { until: self.until.max(Some(until)), ..self }
    }

    /// Of what comes of a run that is over, another try or what its end brings about: on record for as long as that one is, which would bring it
    /// about again. However short the retention is: a quota may shorten it still.
    #[must_use]
    pub fn outlasting(self, of: &Run) -> Self {
        let born = Self { until: None, ..self };
        of.expires_at().map_or(born, |until| born.at_least_until(until))
    }

    /// Of a record that stands for what lies so much later, too: each of those is on record for as long as it would be by itself.
    #[must_use]
    pub fn reaching(self, beyond: Duration) -> Self {
        Self { until: self.until.map(|until| until + beyond), ..self }
    }

    /// Until when what ends at `end` is kept.
    pub fn from(self, end: Moment) -> Moment {
        let until = end + self.retention.unwrap_or_default().span();
        until.max(self.until.unwrap_or(until))
    }
}

impl Run {
    /// From when on nobody asks for it any more; none while it is not over.
    pub fn expires_at(&self) -> Option<Moment> {
        self.finished_at().map(|end| self.kept_from(end))
    }

    /// The same by which a store goes that deletes by the clock alone. Whoever is read with others, as a workflow's run with its tasks' and one that
    /// callbacks tell of with theirs, goes when those are gone: the further up, the longer, and a `for_each` before what it is a task of. What comes of
    /// another run goes when that can be read no more, by which it would be brought about again.
    pub fn given_up_at(&self) -> Option<Moment> {
        let behind = if self.comes_of_another() { Self::OUTLIVES_OTHERS + TAKES_TO_DELETE } else { Duration::ZERO };
        Some(self.expires_at()? + behind + self.outlives_others_by())
    }

    /// At the most.
    const OUTLIVES_OTHERS: Duration = Duration::from_secs((WORKFLOW_DEPTH as u64 + 1) * DAY.as_secs());

    fn outlives_others_by(&self) -> Duration {
        if self.graph.is_none() && self.callbacks.is_empty() {
            return Duration::ZERO;
        }
        let depth = self.task.as_ref().map_or(0, |task| task.depth);
        let is_each = self.graph.as_ref().is_some_and(|graph| graph.each.is_some());
        DAY * (2 * u32::from((WORKFLOW_DEPTH + 1).saturating_sub(depth)) + u32::from(is_each)) / 2
    }

    fn comes_of_another(&self) -> bool {
        match self.key.origin {
            Origin::Callback | Origin::Follow | Origin::Redrive | Origin::Resume => true,
            Origin::Schedule | Origin::Manual | Origin::Backfill | Origin::Task | Origin::Notification => false,
        }
    }

    /// Whether what a workflow's run has done is on record, and will be for a while: whoever goes on with it reads there what need not be done again.
    pub fn remembers_its_tasks(&self, now: Moment) -> bool {
        self.graph.as_ref().is_some_and(|graph| now + DAY < graph.expires_at)
    }

    /// Until when it and what it says are kept, if it ends at `end`. What a workflow's run unfolded into is kept as long as its joins: a redo
    /// that found no record of a task would carry the task out again.
    pub fn kept_from(&self, end: Moment) -> Moment {
        // An occurrence that is called off ahead of its time is kept from that time on.
        let over = if self.key.is_occurrence() { end.max(self.key.at) } else { end };
        let until = self.kept.from(over);
        self.graph.as_ref().map_or(until, |graph| until.max(graph.expires_at))
    }

    /// Until when what is written beneath it now is of use at the most, as far as one can tell: a store may delete by the clock alone. Of a
    /// run that lives for longer whoever looks after it says so again.
    pub fn needs_until(&self, now: Moment) -> Moment {
        self.kept_from(now + 3 * RENEWED_AFTER)
    }

    /// Whether another month of it has begun since `before`, of those behind which what lies beneath it is written again.
    pub fn is_another_month_old(&self, before: Moment, now: Moment) -> bool {
        let months = |at: Moment| at.since(self.could_begin_at()).as_millis() / RENEWED_AFTER.as_millis();
        months(before) < months(now)
    }

    /// The same that is over, kept for longer than the timer that may be left of it, if whoever ended it dies before the timer is erased:
    /// the timer lies where the run, as it was `before`, was to be looked at next, and a look that finds no record is one too many.
    #[must_use]
    pub(super) fn outlasting_its_timer(self, before: &Self) -> Self {
        let looked_at = before.looked_at_last() + pace::ORPHAN;
        match self.finished_at() {
            Some(end) if before.finished_at().is_none() && looked_at > end + Retention::LEAST.span() => {
                let kept = self.kept.at_least_until(looked_at + Retention::LEAST.span());
                Self { kept, ..self }
            }
            _ => self,
        }
    }

    /// When somebody looks at it at the latest, of what it says itself.
    fn looked_at_last(&self) -> Moment {
        match &self.state {
            State::Scheduled { due } => *due,
            State::Waiting(Waiting::Tasks(tasks)) => tasks.deadline,
            State::Waiting(Waiting::Answer { until }) => *until,
            State::Waiting(Waiting::Slot { since }) => *since,
            State::Running(lease) => lease.until,
            State::Succeeded { at, .. }
            | State::Failed { at, .. }
            | State::TimedOut { at }
            | State::Cancelled { at }
            | State::Skipped { at, .. } => *at,
        }
    }
}

/// For how long after a job's deletion its record is kept beyond its retention: its runs that are under way go on, by its terms, and what
/// they leave is kept beside it.
pub fn outlived_by_runs(terms: &Terms) -> Duration {
    let of_workflows = 2 * Duration::from_secs(WORKFLOW_SECONDS); // a `finally` may take as long again
    terms.occupies().max(of_workflows) + 7 * DAY
}

/// How old a run is before anything beneath it is looked after: a month, by which most are over.
pub const RENEWED_AFTER: Duration = Duration::from_secs(30 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callback::{Callback, CallbackPlace, End};
    use crate::id::{JobId, Tenant};
    use crate::priority::Priority;
    use crate::run::{Holder, Lease, Skip, SkippedSpan};
    use crate::target::{HttpTarget, Method, Timeouts};

    const JOB: JobId = JobId::from_bytes([7; 16]);
    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn days(days: u16) -> Option<Retention> {
        Retention::of_days(days)
    }

    fn after(days: u32) -> Moment {
        AT + DAY * days
    }

    #[test]
    fn a_retention_is_of_a_day_to_ten_years() {
        assert_eq!([0, 1, 3650, 3651].map(|of| days(of).map(Retention::days)), [None, Some(1), Some(3650), None]);
        assert_eq!(Retention::default().days(), 30);
    }

    #[test]
    fn a_quota_stands_for_what_a_job_does_not_say_and_bounds_what_it_does() {
        let rows = [
            (None, None, None),
            (days(7), None, days(7)),
            (days(90), None, days(90)),
            (None, days(90), days(90)),
            (days(7), days(90), days(7)),
            (days(365), days(90), days(90)),
        ];
        for (job, tenant, means) in rows {
            assert_eq!(Retention::of(job, tenant), means, "{job:?} of {tenant:?}");
            assert_eq!(Retention::of(means, tenant), means, "said twice it is the same");
        }
    }

    #[test]
    fn an_occurrence_is_on_record_for_as_long_as_it_can_be_made_up_for() {
        let of_days = |days| CatchUp::Last { window: DAY * days };
        let (occurrence, manual) = (RunKey::occurrence(JOB, AT), RunKey::manual(JOB, AT, 1));
        let rows = [
            (occurrence, of_days(1), None),
            (occurrence, CatchUp::None, None),
            (occurrence, of_days(30), Some(after(30) + pace::ORPHAN)),
            (manual, of_days(30), None),
        ];
        for (key, catch_up, until) in rows {
            assert_eq!(Kept::of(days(1), &catch_up, key), Kept { retention: days(1), until }, "{key} {catch_up:?}");
        }
    }

    /// Removed: it is kept for as long as its own instant can be made up for. What it stood for beside that counted as undecided once more.
    #[test]
    fn a_record_of_an_outage_is_kept_while_the_last_of_it_can_be_made_up_for() {
        let key = RunKey::occurrence(JOB, AT);
        let kept = Kept::of(days(1), &CatchUp::Last { window: DAY * 7 }, key);
        let run = Run { kept, ..Run::new(Tenant::deployment(), key, Priority::Normal) };
        let span = |until| Some(SkippedSpan { until, count: None });
        for (span, expires_at) in [(None, after(7)), (span(after(5)), after(12))] {
            let record = run.clone().skipped(Skip::Missed, span, after(5));
            assert_eq!(record.expires_at(), Some(expires_at + pace::ORPHAN), "{span:?}");
        }
    }

    #[test]
    fn what_is_over_is_kept_from_its_end_and_what_is_not_is_kept() {
        let run = |state, kept| Run {
            state,
            kept,
            ..Run::new(Tenant::deployment(), RunKey::occurrence(JOB, AT), Priority::Normal)
        };
        let over = State::Cancelled { at: AT };
        let for_a_day = Kept { retention: days(1), until: None };
        let rows = [
            (run(State::Scheduled { due: AT }, for_a_day), None),
            (run(over.clone(), Kept::default()), Some(after(30))),
            (run(over.clone(), for_a_day), Some(after(1))),
            // Called off ahead of its time.
            (run(State::Cancelled { at: AT - DAY * 9 }, for_a_day), Some(after(1))),
            (run(over.clone(), for_a_day.at_least_until(after(9))), Some(after(9))),
            (run(over, for_a_day.at_least_until(AT)), Some(after(1))),
        ];
        for (run, expires_at) in rows {
            assert_eq!(run.expires_at(), expires_at, "{run:?}");
        }
    }

    /// A callback's run, a follower's, another try: who brought it about would do so again. Removed: that it is set where the retention is
    /// long enough, which the quota shortens afterwards.
    #[test]
    fn what_comes_of_a_run_is_on_record_for_as_long_as_it() {
        let over = |kept| Run {
            state: State::Cancelled { at: AT },
            kept,
            ..Run::new(Tenant::deployment(), RunKey::occurrence(JOB, AT), Priority::Normal)
        };
        let for_nine = over(Kept { retention: days(9), until: None });
        for retention in [days(1), days(30), None] {
            let born = Kept { retention, until: Some(after(400)) }.outlasting(&for_nine).bounded(days(2));
            assert!(born.from(AT) >= after(9) && born.from(AT) < after(400), "{retention:?}: {born:?}");
        }
        let first = over(Kept { retention: days(1), until: Some(after(20)) });
        let again = Run { state: State::Cancelled { at: AT }, ..first.redriven(RunKey::manual(JOB, AT, 1)).unwrap() };
        assert_eq!(again.expires_at(), first.expires_at());
    }

    /// Of each the longest that it is read for, and the shortest that what comes of it is there.
    #[test]
    fn what_comes_of_a_run_goes_behind_it_where_a_store_deletes_in_any_order() {
        let kept = Kept { retention: days(1), until: None };
        let over = |key| Run {
            state: State::Cancelled { at: AT },
            kept,
            ..Run::new(Tenant::deployment(), key, Priority::Normal)
        };
        let target = HttpTarget {
            url: "https://example.com/".to_owned(),
            method: Method::Post,
            headers: [].into(),
            timeouts: Timeouts::default(),
        };
        let callback = Callback { place: CallbackPlace::Callback, target, on: [End::Cancelled].into() };
        let told_of = Run { callbacks: vec![callback], ..over(RunKey::occurrence(JOB, AT)) };
        let key = RunKey::callback(told_of.key, CallbackPlace::Callback);
        assert_eq!([told_of.given_up_at(), over(key).given_up_at()], [Some(after(10)), Some(after(14))]);
        assert_eq!(over(told_of.key).given_up_at(), Some(after(1)), "what nobody reads with others");
    }

    #[test]
    fn a_run_is_another_month_old_once_in_each_month() {
        let run = Run::new(Tenant::deployment(), RunKey::occurrence(JOB, AT), Priority::Normal);
        let rows = [(-9, 0, false), (0, 29, false), (29, 30, true), (30, 59, false), (59, 90, true), (-9, 130, true)];
        for (before, now, is_older) in rows {
            let at = |days: i64| AT + DAY * u32::try_from(9 + days).unwrap() - DAY * 9;
            assert_eq!(run.is_another_month_old(at(before), at(now)), is_older, "{before} to {now}");
        }
    }

    #[test]
    fn a_run_outlasts_the_timer_that_its_end_may_leave() {
        let born = Run {
            kept: Kept { retention: days(1), until: None },
            ..Run::new(Tenant::deployment(), RunKey::occurrence(JOB, AT), Priority::Normal)
        };
        let held = |until| {
            State::Running(Lease { holder: Holder::Remote(crate::id::Worker(7)), until, cancelled: false, token: None })
        };
        let rows = [
            (State::Scheduled { due: AT }, after(1)),
            (held(AT + Duration::from_secs(90)), after(1)),
            (held(after(7)), after(8) + pace::ORPHAN),
            (State::Waiting(Waiting::Answer { until: after(30) }), after(31) + pace::ORPHAN),
        ];
        for (state, expires_at) in rows {
            let before = Run { state: state.clone(), ..born.clone() };
            let over = Run { state: State::Cancelled { at: AT }, ..born.clone() };
            assert_eq!(over.outlasting_its_timer(&before).expires_at(), Some(expires_at), "{state:?}");
        }
    }
}
