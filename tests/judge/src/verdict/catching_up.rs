//! The rules of catching up after an outage.

use super::{Verdict, around};
use crate::{Head, Job, Record, SKEW, Status};

/// What begins so late is made up for: half a minute, and what passes between a look at the clock and the claim.
const MADE_UP: i64 = 30_000 + 10_000;
/// The length of a minute of beginnings, less what clocks differ, and how long after its turn one may begin.
const MINUTE_OF_BEGINNINGS: i64 = 60_000 - 2 * SKEW - 10_000;
/// What passes between the decision that something is in time and its claim: a slow answer, while what was read is not too old to decide on.
const DECIDED: i64 = 5_000;
/// How long the turns may be that a tenant's other jobs have before this one's.
const LINE: i64 = 5_000;

/// From when on an occurrence is overdue.
const OVERDUE: i64 = 30_000;

/// The longest that a sweeper sleeps between its decision and its read of the job.
const SLEPT: i64 = 30 * 60_000;

impl Verdict<'_> {
    /// An occurrence not claimed by the end of its job's window does not start any more, up to the skew and one reading.
    pub(super) fn nothing_starts_too_late(&mut self, job: &Job) {
        let behind = self.account.furthest_behind();
        for call in self.account.calls.iter().filter(|call| call.job == job.job && call.number == 0 && call.fence == 1)
        {
            let windows = around(&job.heads, call.claimed_at).into_iter().map(|head| head.catch_up.window());
            if windows.max().is_some_and(|window| call.claimed_at - call.instant > window + SKEW + DECIDED + behind) {
                self.report(
                    "nothing begins too late",
                    job.job,
                    call.instant,
                    format!("claimed at {}", call.claimed_at),
                );
            }
        }
    }

    /// Of what a job makes up for no minute sees more begin than its rate, and one.
    pub(super) fn what_is_made_up_for_begins_at_its_pace(&mut self, job: &Job) {
        if !self.account.wrong_clocks.is_empty() {
            return; // a turn of a clock that was wrong comes at any time
        }
        let is_late = |call: &&crate::Call| call.claimed_at - call.instant > MADE_UP;
        let first = |call: &&crate::Call| call.job == job.job && call.number == 0 && call.fence == 1;
        let calls = self.account.calls.iter().filter(first).filter(is_late);
        let mut begun: Vec<(i64, i64)> = calls.map(|call| (call.claimed_at, call.instant)).collect();
        begun.sort_unstable();
        let rate_at = |at: i64| {
            let rates: Vec<_> = around(&job.heads, at).into_iter().map(|head| head.catch_up.a_minute()).collect();
            rates.into_iter().collect::<Option<Vec<_>>>().and_then(|rates| rates.into_iter().max())
        };
        for (n, (at, instant)) in begun.iter().enumerate() {
            let (Some(now), Some(then)) = (rate_at(*at), rate_at(*at - 2 * 60_000)) else { continue };
            let most = usize::try_from(now.max(then)).unwrap_or(usize::MAX).saturating_add(1);
            let too_many = n.checked_sub(most).is_some_and(|before| at - begun[before].0 < MINUTE_OF_BEGINNINGS);
            if too_many {
                let detail = format!("more than {most} in the minute until {at}");
                self.report("what is made up for begins at its pace", job.job, *instant, detail);
            }
        }
    }

    /// An occurrence recorded as missed was too late when the record was written, under some policy of the job until then.
    pub(super) fn a_missed_occurrence_was_too_late(&mut self, job: &Job) {
        let (ahead, behind) = (self.account.furthest_ahead(), self.account.furthest_behind());
        for record in self.skips_of(job, "missed") {
            let (last, at) = (record.covers_until.unwrap_or(record.instant), record.at.unwrap_or(0));
            let until_then = job.heads.iter().filter(|head| head.decided.min(head.since) <= at + SKEW + behind);
            // Who would have had its turn too late is missed before it is too late.
            let line = |head: &Head| if head.catch_up.a_minute().is_some() { head.catch_up.window() } else { LINE };
            let shortest = until_then.map(|head| head.catch_up.window() - line(head)).min();
            // Decided and written by one clock, so without skew; but it may have been set back between the two.
            let set_back = if last <= self.account.reached() { ahead + behind } else { 0 };
            if shortest.is_none_or(|window| at + set_back - last <= window) {
                self.report("what was missed was too late", job.job, record.instant, format!("{last} at {at}"));
            }
        }
    }

    /// For a job without changes, the record of an outage names exactly the occurrence that fires first.
    pub(super) fn a_catch_up_follows_its_policy(&mut self, job: &Job) {
        for record in self.skips_of(job, "coalesced") {
            let (Some(until), Some(at)) = (record.covers_until, record.at) else { continue };
            // When it was written, by the true clock.
            let (earliest, latest) = (at - self.account.furthest_ahead(), at + self.account.furthest_behind());
            let Some(head) = the_only_one(&job.heads, record.instant.min(earliest), latest + SLEPT) else { continue };
            let past = head.schedule.instants(record.instant, at + 1);
            let expected = head.catch_up.oldest_to_fire(&past, at);
            if expected != Some(until) {
                let detail = format!("{until} fires, and not {expected:?}, at {at}");
                self.report("a catch-up is what its policy says", job.job, record.instant, detail);
            }
        }
    }

    /// The record of an outage reaches over more than one occurrence only where there was one: what may still be waiting for a hand, as the one behind it
    /// is not overdue, is left to that.
    pub(super) fn what_may_be_waiting_is_not_passed_over(&mut self, job: &Job) {
        if !self.account.wrong_clocks.is_empty() {
            return; // a clock may be set back between the decision and its record
        }
        for record in self.skips_of(job, "coalesced") {
            // What another record speaks for has one of its own that covers nothing.
            let (Some(at), Some(_)) = (record.at, record.covers_until) else { continue };
            let Some(head) = the_only_one(&job.heads, record.instant.min(at), at + SLEPT) else { continue };
            let behind = head.schedule.instants(record.instant + 1, at + 1).first().copied();
            let is_in_time = at - record.instant <= head.catch_up.window();
            if let Some(behind) = behind.filter(|behind| is_in_time && at < behind + OVERDUE) {
                let detail = format!("at {at}, as {behind} was not overdue");
                self.report("what may be waiting is not passed over", job.job, record.instant, detail);
            }
        }
    }

    /// The record of an outage covers only what had passed when it was decided, by its writer's clock.
    pub(super) fn an_outage_is_over_before_it_is_recorded(&mut self, job: &Job) {
        let (ahead, behind) = (self.account.furthest_ahead(), self.account.furthest_behind());
        for record in self.outages_of(job) {
            let (Some(until), Some(at)) = (record.covers_until, record.at) else { continue };
            // Decided before it was written; the clock may have been set back between the two.
            let set_back = if until <= self.account.reached() { ahead + behind } else { 0 };
            if until > at + set_back || record.instant > until {
                let detail = format!("to {until}, written at {at}");
                self.report("an outage is over before it is recorded", job.job, record.instant, detail);
            }
        }
    }

    /// The records of outages.
    pub(super) fn outages_of(&self, job: &Job) -> Vec<Record> {
        [self.skips_of(job, "coalesced"), self.skips_of(job, "missed")].concat()
    }

    fn skips_of(&self, job: &Job, reason: &str) -> Vec<Record> {
        let of_it = |record: &&Record| record.job == job.job && record.reason.as_deref() == Some(reason);
        self.account.records.iter().filter(of_it).cloned().collect()
    }
}

/// The job's only state between two instants, if it was active.
fn the_only_one(heads: &[Head], from: i64, to: i64) -> Option<&Head> {
    let n = heads.iter().rposition(|head| head.in_force_from() + SKEW <= from)?;
    let stays = heads.get(n + 1).is_none_or(|next| next.since.min(next.decided) > to + SKEW);
    heads.get(n).filter(|head| stays && head.status == Status::Active)
}
