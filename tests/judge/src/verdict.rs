//! The rules, one function each.

mod answers;
mod calendars;
mod calm;
mod catching_up;
mod counting;
mod explaining;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::{Account, CHANGE_TOLERANCE, Call, Cost, Head, Job, Record, SKEW, Status, Timer, Violation};

/// A run due this close to the end may still be under way.
const UNSETTLED: i64 = 20 * 60_000;
/// One that failed this close to the end may still have tries left.
const UNFINISHED: i64 = 60 * 60_000;
/// How long after its clock was set right one machine has looked again at what it decided, whatever goes wrong meanwhile.
const LOOKED_AGAIN: i64 = 45 * 60_000;
/// The shortest that a job may have its runs kept for: a day.
const SHORTEST_KEPT: i64 = 24 * 60 * 60_000;
/// More than an hour of minutes behind, a sweep costs more than what is due.
const WIDEST_SWEEP: i64 = 60;

pub(crate) struct Verdict<'a> {
    account: &'a Account,
    records: BTreeMap<(u32, i64, u64), &'a Record>,
    costs: BTreeMap<(u32, i64, u64), &'a Cost>,
    violations: Vec<Violation>,
}

const FINISHED: [&str; 5] = ["succeeded", "failed", "timed_out", "cancelled", "skipped"];

impl<'a> Verdict<'a> {
    pub(crate) fn of(account: &'a Account) -> Vec<Violation> {
        let records = account.records.iter().map(|r| ((r.job, r.instant, r.number), r)).collect();
        let costs = account.costs.iter().map(|c| ((c.job, c.instant, c.number), c)).collect();
        let mut verdict = Self { account, records, costs, violations: Vec::new() };
        for job in &account.jobs {
            verdict.a_key_creates_once(job);
            verdict.every_occurrence_has_its_record(job);
            verdict.what_is_to_come_is_not_passed_over(job);
            verdict.an_occurrence_in_force_is_not_superseded(job);
            verdict.every_requested_run_has_its_record(job);
            verdict.the_chain_goes_on(job);
            verdict.every_start_is_in_force(job);
            verdict.what_was_deleted_is_not_tried_again(job);
            verdict.at_most_once_is_kept(job);
            verdict.a_cancelled_occurrence_does_not_start(job);
            verdict.nothing_starts_too_late(job);
            verdict.a_missed_occurrence_was_too_late(job);
            verdict.a_catch_up_follows_its_policy(job);
            verdict.what_is_made_up_for_begins_at_its_pace(job);
            verdict.an_outage_is_over_before_it_is_recorded(job);
            verdict.what_may_be_waiting_is_not_passed_over(job);
            verdict.what_calendars_take_is_on_record(job);
            verdict.the_record_of_a_calendar_covers_what_one_took(job);
            verdict.what_has_one_instant_begins_once(job);
            verdict.what_was_answered_stands(job);
            verdict.what_was_deleted_stays_deleted(job);
            verdict.an_answer_shows_what_was_asked(job);
            verdict.generations_grow(job);
            verdict.an_explanation_is_true(job);
            verdict.in_calm_each_occurrence_starts_on_time(job);
            verdict.in_calm_nothing_is_missed(job);
            verdict.a_job_costs_what_it_does(job);
        }
        for counted in &account.counted {
            verdict.an_end_is_counted_once(counted);
            verdict.a_day_is_what_ended_in_it(counted);
        }
        verdict.every_record_is_settled();
        verdict.whoever_is_late_says_so();
        verdict.a_throttle_is_nobodys_failure();
        verdict.every_success_was_called();
        verdict.nothing_starts_early();
        verdict.one_call_a_fence();
        verdict.one_live_lease();
        verdict.no_timer_leaks();
        verdict.the_sweep_keeps_up();
        verdict.in_calm_a_run_costs_little();
        verdict.a_list_shows_each_job_once();
        verdict.violations
    }

    fn report(&mut self, rule: &'static str, job: u32, instant: i64, detail: impl Into<String>) {
        self.violations.push(Violation { rule, job, instant, detail: detail.into() });
    }

    fn a_key_creates_once(&mut self, job: &Job) {
        if job.acknowledged && job.heads.is_empty() {
            self.report("an acknowledged job exists", job.job, 0, "it was never written");
        }
        if job.creations > 1 {
            self.report("a key creates once", job.job, 0, format!("{} creators were told they made it", job.creations));
        }
    }

    /// Every occurrence that was in force around its instant is recorded or covered by a record.
    fn every_occurrence_has_its_record(&mut self, job: &Job) {
        for (n, head) in job.heads.iter().enumerate().filter(|(_, head)| head.status == Status::Active) {
            let certain = self.certain(&job.heads, n);
            for t in head.schedule.instants(certain.start, certain.end) {
                let is_excused = || {
                    self.lies_before_a_link_of_a_wrong_clock(&job.heads[..=n], t)
                        || self.lies_behind_what_a_wrong_clock_put_off(job.job, t)
                };
                if !self.is_covered(job.job, t) && !is_excused() {
                    self.report("every occurrence has its record", job.job, t, "nothing stands for it");
                }
            }
        }
        self.occurrences_of_both_sides_of_a_change(job);
    }

    /// When a head was in force for certain.
    fn certain(&self, heads: &[Head], n: usize) -> Range<i64> {
        let (head, until) = (&heads[n], decided_of_until(&heads[n + 1..], self.account.end));
        // A writer whose clock is ahead decides for the time when that clock is right.
        let from = (head.since + if n == 0 { SKEW } else { CHANGE_TOLERANCE }).max(head.decided);
        from..(until - CHANGE_TOLERANCE).min(self.account.end - UNSETTLED)
    }

    /// One machine whose clock was ahead looks again when it is right: well after that no record speaks for what was to come when it was written.
    /// Where that clock has come to the end of a schedule nothing is left to find the job by.
    fn what_is_to_come_is_not_passed_over(&mut self, job: &Job) {
        let Some(right) = self.account.right_alone() else { return };
        for (n, head) in job.heads.iter().enumerate().filter(|(_, head)| head.status == Status::Active) {
            if head.schedule.instants(self.account.reached(), self.account.end).is_empty() {
                continue;
            }
            let certain = self.certain(&job.heads, n);
            for t in head.schedule.instants(certain.start.max(right + LOOKED_AGAIN), certain.end) {
                let had_come = |record: &Record| record.written_at.is_none_or(|written| t <= written);
                let is_on_record = self.records.contains_key(&(job.job, t, 0));
                if !is_on_record && !self.speaking_for(job.job, t).any(had_come) {
                    self.report(
                        "what is to come is not passed over",
                        job.job,
                        t,
                        "it was an outage by a clock that was ahead",
                    );
                }
            }
        }
    }

    /// Whether a clock that was ahead has put a link behind `t` when it wrote an earlier state, and another then was further ahead than a run
    /// has to be kept: who looks by it cannot tell what was on record before that link and has expired.
    fn lies_before_a_link_of_a_wrong_clock(&self, heads: &[Head], t: i64) -> bool {
        let Some((head, earlier)) = heads.split_last() else { return false };
        let is_behind = |other: &Head| {
            let was_ahead = other.decided > other.since + SKEW && other.decided > head.in_force_from();
            was_ahead && other.status == Status::Active && other.schedule.instants(other.decided, t + 1).is_empty()
        };
        earlier.iter().any(is_behind) && self.account.ahead_in(head.in_force_from(), t) >= SHORTEST_KEPT
    }

    /// Whether a clock that was further ahead than a run has to be kept has put off what comes before `t`: who looks at it then cannot tell what
    /// of the time between was on record and has expired.
    fn lies_behind_what_a_wrong_clock_put_off(&self, job: u32, t: i64) -> bool {
        let decided_late = |record: &Record| {
            record.status == "skipped" && record.written_at.is_some_and(|written| written >= t + SHORTEST_KEPT)
        };
        let earlier = self.records.range((job, i64::MIN, 0)..(job, t, 0)).filter(|((_, _, number), _)| *number == 0);
        self.account.furthest_ahead() >= SHORTEST_KEPT
            && earlier.map(|(_, record)| record).any(|record| decided_late(record))
    }

    /// An occurrence of the last head has not been superseded by a change, and must not be recorded as superseded.
    fn an_occurrence_in_force_is_not_superseded(&mut self, job: &Job) {
        let Some(head) = job.heads.last().filter(|head| head.status == Status::Active) else { return };
        let from = (head.in_force_from() + CHANGE_TOLERANCE).max(self.account.reached());
        for t in head.schedule.instants(from, self.account.end) {
            let reason = self.records.get(&(job.job, t, 0)).and_then(|record| record.reason.as_deref());
            if let Some(reason @ ("superseded" | "paused" | "cancelled")) = reason {
                self.report("what stays in force is not superseded", job.job, t, reason);
            }
        }
    }

    /// Around a change, an instant of both the old and the new schedule is not lost between them.
    fn occurrences_of_both_sides_of_a_change(&mut self, job: &Job) {
        for n in 1..job.heads.len() {
            let (before, after) = (&job.heads[n - 1], &job.heads[n]);
            let calm = (n < 2 || job.heads[n - 2].in_force_from() < after.in_force_from() - 2 * CHANGE_TOLERANCE)
                && before.in_force_from() < after.in_force_from() - 2 * CHANGE_TOLERANCE
                && job
                    .heads
                    .get(n + 1)
                    .is_none_or(|next| next.in_force_from() > after.in_force_from() + 2 * CHANGE_TOLERANCE)
                && after.in_force_from() < self.account.end - UNSETTLED;
            if before.status != Status::Active || after.status != Status::Active || !calm {
                continue;
            }
            let changed = after.in_force_from();
            let until = decided_of_until(&job.heads[n + 1..], i64::MAX).min(changed + 2 * CHANGE_TOLERANCE);
            for t in after.schedule.instants(changed - CHANGE_TOLERANCE, until - CHANGE_TOLERANCE) {
                if before.schedule.fires_at(t) && !self.is_covered(job.job, t) {
                    self.report("nothing is lost around a change", job.job, t, "both schedules promise it");
                }
            }
        }
    }

    fn is_covered(&self, job: u32, t: i64) -> bool {
        self.records.contains_key(&(job, t, 0)) || self.speaking_for(job, t).next().is_some()
    }

    /// The records of earlier occurrences that span this one. What calendars took is no occurrence, and its record speaks for none.
    fn speaking_for(&self, job: u32, t: i64) -> impl Iterator<Item = &'a Record> {
        let spans = move |record: &&Record| {
            !calendars::is_of_one(record)
                && record.covers_until.is_some_and(|until| t < until || t == until && is_last(record))
        };
        self.records.range((job, i64::MIN, 0)..(job, t, 0)).map(|(_, record)| *record).filter(spans)
    }

    fn every_requested_run_has_its_record(&mut self, job: &Job) {
        for asked in &job.asked {
            match self.records.get(&(job.job, asked.at, asked.number)) {
                None => self.report("every asked run has its record", job.job, asked.at, "no record"),
                Some(record) if record.status == "skipped" => {
                    self.report(
                        "an acknowledged run is not skipped",
                        job.job,
                        asked.at,
                        format!("{:?}", record.reason),
                    );
                }
                Some(_) => {}
            }
        }
    }

    /// A job with occurrences left has a timer for one of them.
    fn the_chain_goes_on(&mut self, job: &Job) {
        let Some(head) = job.heads.last().filter(|head| head.status == Status::Active) else { return };
        let left = head.schedule.instants(self.account.end + 1, self.account.end + 24 * 3_600_000);
        let ahead =
            self.account.timers.iter().any(|timer| timer.job == job.job && timer.link && timer.due > self.account.end);
        if !left.is_empty() && !ahead {
            self.report("the chain goes on", job.job, left[0], "no timer stands for any later occurrence");
        }
    }

    /// A run that starts was in force when its job was read and at its own instant; not in a pause, not after a delete.
    fn every_start_is_in_force(&mut self, job: &Job) {
        for call in self.account.calls.iter().filter(|call| call.job == job.job && call.number == 0 && call.fence == 1)
        {
            if around(&job.heads, call.claimed_at).iter().all(|head| head.status != Status::Active) {
                self.report(
                    "nothing starts in a pause or after a delete",
                    job.job,
                    call.instant,
                    format!("at {}", call.at),
                );
            }
            let mut then = around(&job.heads, call.instant);
            // By a clock that was ahead, which is judged elsewhere. What is put off outlives a pause.
            let decided = [Some(call.claimed_at), call.put_off_at].into_iter().flatten();
            for early in decided.filter(|at| *at < call.instant - SKEW) {
                then.extend(around(&job.heads, early));
            }
            if !then.iter().any(|head| head.schedule.fires_at(call.instant)) {
                self.report("what starts is an occurrence", job.job, call.instant, "no schedule in force fires then");
            }
            if then.iter().all(|head| head.status == Status::Paused) {
                self.report("an occurrence of a pause does not fire", job.job, call.instant, format!("at {}", call.at));
            }
        }
    }

    /// A run of a deleted job that has begun may end; it is not tried again.
    fn what_was_deleted_is_not_tried_again(&mut self, job: &Job) {
        for call in self.account.calls.iter().filter(|call| call.job == job.job && call.fence > 1) {
            let then = around(&job.heads, call.claimed_at);
            if !then.is_empty() && then.iter().all(|head| head.status == Status::Cancelled) {
                let detail = format!("fence {} at {}", call.fence, call.at);
                self.report("what was deleted is not tried again", job.job, call.instant, detail);
            }
        }
    }

    fn at_most_once_is_kept(&mut self, job: &Job) {
        if !job.at_most_once {
            return;
        }
        let mut called = BTreeSet::new();
        for call in self.account.calls.iter().filter(|call| call.job == job.job) {
            if !called.insert((call.instant, call.number)) {
                self.report("at most once is at most once", job.job, call.instant, "called twice");
            }
        }
    }

    /// Whoever had claimed it before may go on; nobody claims it after its cancel was acknowledged, for a first try or another.
    fn a_cancelled_occurrence_does_not_start(&mut self, job: &Job) {
        for (cancelled_at, instant) in &job.cancels {
            let its = |call: &&Call| (call.job, call.number, call.instant) == (job.job, 0, *instant);
            if self.account.calls.iter().filter(its).any(|call| call.claimed_at > *cancelled_at) {
                self.report("what was cancelled does not start", job.job, *instant, "claimed when it was cancelled");
            }
        }
    }

    /// A turn in catching up may lie hours ahead: a run that misses one goes behind all that have one.
    fn waits_for_its_turn(&self, record: &Record) -> bool {
        let Some(turn) = record.turn.filter(|turn| *turn > self.account.end) else { return false };
        let is_its_own = |timer: &&Timer| (timer.job, timer.instant, timer.due) == (record.job, record.instant, turn);
        self.account.timers.iter().filter(is_its_own).any(|timer| timer.reachable)
    }

    fn every_record_is_settled(&mut self) {
        let settled = self.account.end - UNFINISHED;
        for record in self.account.records.iter().filter(|record| record.instant < settled) {
            if !FINISHED.contains(&record.status.as_str()) && !self.waits_for_its_turn(record) {
                self.report("every run comes to its end", record.job, record.instant, record.status.clone());
            }
            if record.unended_attempts > 0 {
                self.report("every attempt comes to its end", record.job, record.instant, record.status.clone());
            }
            if record.attempts != (1..=record.fence).collect::<Vec<_>>() {
                let detail = format!("{:?} of {}", record.attempts, record.fence);
                self.report("no attempt is forgotten", record.job, record.instant, detail);
            }
        }
    }

    /// What never was to run is not late.
    fn whoever_is_late_says_so(&mut self) {
        for record in self.account.records.iter().filter(|record| record.status != "skipped") {
            let Some((until, missed)) = record.sla else { continue };
            if missed.is_none() && record.at.is_some_and(|at| at > until) {
                self.report("whoever is late says so", record.job, record.instant, format!("it was due by {until}"));
            }
            if let Some(at) = missed.filter(|at| *at <= until) {
                let detail = format!("at {at}, and it was due by {until}");
                self.report("nobody is late before its time", record.job, record.instant, detail);
            }
        }
    }

    fn a_throttle_is_nobodys_failure(&mut self) {
        for record in self.account.records.iter().filter(|record| self.account.blameless.contains(&record.job)) {
            if ["failed", "timed_out"].contains(&record.status.as_str()) {
                self.report(
                    "a throttle is nobody's failure",
                    record.job,
                    record.instant,
                    format!("{:?}", record.reason),
                );
            }
        }
    }

    fn every_success_was_called(&mut self) {
        let called: BTreeSet<_> = self.account.calls.iter().map(|c| (c.job, c.instant, c.number, c.fence)).collect();
        for record in self.account.records.iter().filter(|record| record.status == "succeeded") {
            if !called.contains(&(record.job, record.instant, record.number, record.fence)) {
                self.report("a success was called", record.job, record.instant, "no call of its last fence");
            }
        }
    }

    /// Never by the starter's own clock; by the true clock at most by the skew, and by what that clock is ahead. What has begun by
    /// a clock that was ahead may be tried again when it is right.
    fn nothing_starts_early(&mut self) {
        for call in &self.account.calls {
            let ahead = self.account.ahead_in(call.claimed_at, call.at);
            let early = call.own_clock < call.instant && !self.account.was_set(call.claimed_at, call.at);
            let has_begun = call.fence > 1 && call.instant <= self.account.reached() + SKEW;
            if !has_begun && (early || call.at < call.instant - SKEW - ahead) {
                self.report("nothing starts early", call.job, call.instant, format!("at {}", call.at));
            }
        }
    }

    fn one_call_a_fence(&mut self) {
        let mut seen = BTreeSet::new();
        for call in &self.account.calls {
            if !seen.insert((call.job, call.instant, call.number, call.fence)) {
                self.report("one call a fence", call.job, call.instant, format!("fence {}", call.fence));
            }
        }
    }

    /// When a call starts, no earlier call of the same run is inside its lease, up to the skew.
    fn one_live_lease(&mut self) {
        let mut by_run: BTreeMap<_, Vec<&Call>> = BTreeMap::new();
        for call in &self.account.calls {
            by_run.entry((call.job, call.instant, call.number)).or_default().push(call);
        }
        for calls in by_run.into_values() {
            for (n, later) in calls.iter().enumerate() {
                let alive = |earlier: &&&Call| {
                    let over = earlier.ended_at.is_some_and(|ended| ended <= later.at);
                    let expired = earlier.lease_until - 2 * SKEW <= later.at;
                    earlier.at <= later.at && !over && !expired && self.account.clocks_agreed(earlier, later)
                };
                if calls[..n].iter().any(|earlier| alive(&earlier)) {
                    self.report("one live lease", later.job, later.instant, format!("fence {}", later.fence));
                }
            }
        }
    }

    /// A timer in a bucket that was left is never inspected: its obligation must be met or void, as for one that was written
    /// while the sweeper slept and that fires under no schedule in force; or before there was one, of a slower request to make the job.
    fn no_timer_leaks(&mut self) {
        for timer in self.account.timers.iter().filter(|timer| !timer.reachable) {
            let heads = self.account.jobs.iter().find(|job| job.job == timer.job).map_or(&[][..], |job| &job.heads);
            let then = around(heads, timer.instant);
            let fires = |head: &&Head| head.status == Status::Active && head.schedule.fires_at(timer.instant);
            let was_there = heads.first().is_some_and(|first| first.in_force_from() + SKEW <= timer.instant);
            let meant = was_there && then.iter().all(fires);
            let recorded = self.records.keys().any(|(job, at, _)| (*job, *at) == (timer.job, timer.instant));
            if meant && !recorded && !self.is_covered(timer.job, timer.instant) {
                self.report("no timer leaks", timer.job, timer.instant, format!("stands at {}", timer.due));
            }
        }
    }

    fn the_sweep_keeps_up(&mut self) {
        let behind = self.account.furthest_behind() / 60_000;
        if self.account.widest_sweep > WIDEST_SWEEP + self.account.unswept + behind {
            self.report("the sweep keeps up", 0, self.account.end, format!("{} minutes", self.account.widest_sweep));
        }
    }
}

/// From when on later states may apply: between a change's decision and its write either may, and a clock that is behind decides
/// of what was before.
fn decided_of_until(later: &[Head], end: i64) -> i64 {
    later.iter().map(|next| next.since.min(next.decided)).min().unwrap_or(end)
}

/// Whether the last instant of a record's span did not fire either; the last occurrence of an outage fires and has its own
/// record.
fn is_last(record: &Record) -> bool {
    record.reason.as_deref() != Some("coalesced")
}

/// The states of the job at `t`, within the time a change needs to reach every process.
fn around(heads: &[Head], t: i64) -> Vec<&Head> {
    let before = heads.iter().rfind(|head| head.in_force_from() <= t - CHANGE_TOLERANCE);
    let near = heads.iter().filter(|head| {
        head.in_force_from() > t - CHANGE_TOLERANCE && head.decided.min(head.since) < t + CHANGE_TOLERANCE
    });
    before.into_iter().chain(near).collect()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
