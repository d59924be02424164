//! The rules of calm: where nothing goes wrong, an occurrence starts on time, none is missed, and little is spent on it.

use std::ops::Range;

use super::Verdict;
use crate::{CHANGE_TOLERANCE, Calm, Cost, Head, Job, Status};

/// How late an occurrence may start.
const PUNCTUAL: i64 = 1_000;
/// How late one may start whose only hint was lost: it is overdue after half a minute, the next sweep comes within a minute
/// and takes a moment.
const FOUND_OVERDUE: i64 = 30_000 + 60_000 + 2_000;
/// A look at a straggler that finds the chain broken behind it promises the next link a second ahead, as its bucket may have been left: the pass
/// after that decides, also of one whose hint was lost and that this pass was about to look at.
const PROMISED_AHEAD: i64 = 60_000;
/// Hints are given so far ahead, and a timer that lost its hint is inspected as long after.
const HINTED_AHEAD: i64 = 360_000;
/// The pass behind the one that decides of what an outage left looks at that once more.
const LOOKED_AT_AGAIN: i64 = 60_000 + 2_000;
/// An attempt whose call lasts this long meets no overdue inspection.
const SHORT: i64 = 20_000;
/// Hints of one short attempt in calm: its own, and a pass that does not know what led ahead of it hints that once more. A retry
/// that waits over the minute is hinted by its executor and by two passes.
const HINTS: u32 = 4;
/// Writes of one short attempt in calm: its timer is put and erased, its run claimed and finished; and a run that somebody asked
/// for is put before it is claimed; a timer that stands from before a change is put anew and moved.
const WRITES: u32 = 8;
/// Of one that lasts. The overdue inspection moves its timer to the end of its lease, and that is left beside the next attempt's:
/// each is hinted by the pass that moves it, by the pass after that, and when it is met again.
const LASTING_HINTS: u32 = 8;
const LASTING_WRITES: u32 = 12;
/// Hints and writes of all of a job's runs whatever happens, for each of its records, attempts and changes: a backlog is
/// hinted after 1, 2, 4 … minutes, each straggler of an outage makes sure of its successor, each crash costs another round.
const HINTS_AT_WORST: u32 = 30;
const WRITES_AT_WORST: u32 = 30;
/// And for a job that has none of them yet.
const AT_LEAST: u32 = 10;

impl Verdict<'_> {
    pub(super) fn in_calm_each_occurrence_starts_on_time(&mut self, job: &Job) {
        for calm in self.account.calm.iter().filter(|calm| calm.free_hands) {
            for Due { at: t, until, window } in in_force(job, calm) {
                if job.cancels.iter().any(|(_, instant)| *instant == t) {
                    continue;
                }
                let lost = self.cost(job.job, t).is_some_and(|cost| cost.lost_hints > 0);
                // Where several hints in a row were lost there was an outage, and its record speaks for them.
                if lost && self.was_skipped(job.job, t) {
                    continue;
                }
                // Found late, it waits for its turn.
                if lost && job.heads.iter().any(|head| head.catch_up.a_minute().is_some()) {
                    continue;
                }
                let found = FOUND_OVERDUE + if self.was_behind_a_straggler(job.job, t) { PROMISED_AHEAD } else { 0 };
                let within = calm.skew + if lost { found } else { PUNCTUAL };
                if within >= window || t + within >= until || self.started_within(job.job, t, within) {
                    continue;
                }
                let detail = format!("not in {within} ms");
                if lost {
                    self.report("in calm what lost its hint is found", job.job, t, detail);
                } else {
                    self.report("in calm an occurrence starts on time", job.job, t, detail);
                }
            }
        }
    }

    /// Whether an occurrence from long before this one came to its end while this one was overdue.
    fn was_behind_a_straggler(&self, job: u32, t: i64) -> bool {
        let meanwhile = t..t + FOUND_OVERDUE;
        let earlier = self.records.range((job, i64::MIN, 0)..(job, t - HINTED_AHEAD, 0));
        let stragglers = earlier.filter(|((_, _, number), _)| *number == 0);
        stragglers.filter_map(|(_, record)| record.written_at).any(|written| meanwhile.contains(&written))
    }

    fn started_within(&self, job: u32, t: i64, within: i64) -> bool {
        let begins = |call: &&crate::Call| (call.job, call.instant, call.number, call.fence) == (job, t, 0, 1);
        self.account.calls.iter().filter(begins).any(|call| call.at <= t + within)
    }

    /// What was due in calm and whose hint arrived is not in the record of an outage.
    pub(super) fn in_calm_nothing_is_missed(&mut self, job: &Job) {
        let records = self.outages_of(job);
        for calm in self.account.calm.iter().filter(|calm| calm.free_hands) {
            for Due { at: t, .. } in in_force(job, calm) {
                // The last one fires and has a record of its own.
                let covers = |record: &&crate::Record| {
                    let until = record.covers_until.unwrap_or(record.instant);
                    record.instant == t || record.instant < t && t < until
                };
                let lost = self.cost(job.job, t).is_some_and(|cost| cost.lost_hints > 0);
                let ran = self.records.contains_key(&(job.job, t, 0)) && !self.was_skipped(job.job, t);
                if !lost
                    && !ran
                    && let Some(record) = records.iter().find(covers)
                {
                    let detail = format!("{:?} from {}", record.reason, record.instant);
                    self.report("in calm nothing is missed", job.job, t, detail);
                }
            }
        }
    }

    pub(super) fn in_calm_a_run_costs_little(&mut self) {
        for cost in &self.account.costs {
            let calm = self.account.calm.iter().any(|calm| calm.free_hands && self.is_of_calm(cost, calm));
            let record = self.records.get(&(cost.job, cost.instant, cost.number));
            let attempts = record.map_or(0, |record| record.fence);
            if !calm || attempts == 0 {
                continue;
            }
            let (hints, writes) = if self.lasts(cost) { (LASTING_HINTS, LASTING_WRITES) } else { (HINTS, WRITES) };
            // A hint that is lost is another's, and the timer that brings it was moved.
            // The next attempt of one that is not over is hinted already.
            let next = u32::from(record.is_some_and(|record| record.at.is_none()));
            // The look at the end of an SLA may find that a retry is due, and hint it as well.
            let looked_at = u32::from(record.is_some_and(|record| record.sla.is_some()));
            let rounds = attempts + next + looked_at + cost.lost_hints + self.changes_around(cost);
            if cost.hints > hints * rounds {
                let detail = format!("{} for {attempts} attempts", cost.hints);
                self.report("in calm few hints are given", cost.job, cost.instant, detail);
            }
            if cost.writes > writes * rounds {
                let detail = format!("{} for {attempts} attempts", cost.writes);
                self.report("in calm few writes are made", cost.job, cost.instant, detail);
            }
        }
    }

    pub(super) fn a_job_costs_what_it_does(&mut self, job: &Job) {
        let costs = || self.account.costs.iter().filter(|cost| cost.job == job.job);
        let (hints, writes) = (costs().map(|cost| cost.hints).sum(), costs().map(|cost| cost.writes).sum());
        let records = self.account.records.iter().filter(|record| record.job == job.job);
        let rounds: u32 = records.map(|record| 1 + record.fence).sum();
        let rounds = AT_LEAST + rounds + u32::try_from(job.versions.len()).unwrap_or(u32::MAX);
        for (what, spent, each) in [("hints", hints, HINTS_AT_WORST), ("writes", writes, WRITES_AT_WORST)] {
            let spent: u32 = spent;
            if spent > rounds * each {
                let detail = format!("{spent} {what} in {rounds} rounds");
                self.report("a job costs what it does", job.job, 0, detail);
            }
        }
    }

    /// Whether one of its calls met an overdue inspection.
    fn lasts(&self, cost: &Cost) -> bool {
        let its = |call: &&crate::Call| (call.job, call.instant, call.number) == (cost.job, cost.instant, cost.number);
        let lasts = |call: &crate::Call| call.ended_at.is_none_or(|ended| ended - call.at > SHORT);
        self.account.calls.iter().filter(its).any(lasts)
    }

    /// Whether calm alone had to do with it. The first occurrence after an outage is promised anew by each look at what the outage left behind.
    fn is_of_calm(&self, cost: &Cost, calm: &Calm) -> bool {
        let is_after_another = || self.before(cost).is_some_and(|before| calm.span.contains(&before.instant));
        let created = self.job_of(cost).and_then(|job| job.versions.first()).map(|version| version.at);
        let is_of_its_whole_life = created.is_none_or(|created| calm.span.start <= created);
        calm.span.contains(&cost.instant)
            && (is_of_its_whole_life || is_after_another())
            && !self.is_hinted_for_an_outage(cost, calm.span.start)
    }

    /// Whether a look that still has to do with an outage gives hints of it. A job that was changed before the outage has several chains that
    /// are broken; a pass decides of one, so that the record of the last may be written in calm: of the last occurrence that it covers, and of those
    /// up to the horizon, each pass gives another hint until then.
    fn is_hinted_for_an_outage(&self, cost: &Cost, start: i64) -> bool {
        let from_before = self.records.range((cost.job, i64::MIN, 0)..(cost.job, start, 0));
        let outages = from_before.filter(|(_, record)| record.covers_until.is_some());
        let looked_at = outages.filter_map(|(_, record)| Some(record.written_at? + LOOKED_AT_AGAIN));
        looked_at.filter(|at| start < *at).any(|at| cost.instant < at + HINTED_AHEAD)
    }

    fn job_of(&self, cost: &Cost) -> Option<&Job> {
        self.account.jobs.iter().find(|job| job.job == cost.job)
    }

    /// The occurrence of its job before this one.
    fn before(&self, cost: &Cost) -> Option<&Cost> {
        let before = self.costs.range((cost.job, i64::MIN, 0)..(cost.job, cost.instant, 0)).next_back();
        before.map(|(_, before)| *before)
    }

    /// Each change puts the timers up to the horizon anew, and that of what comes next, and hints what is near.
    fn changes_around(&self, cost: &Cost) -> u32 {
        let job = self.job_of(cost);
        let from = self.before(cost).map_or(cost.instant, |before| before.instant) - HINTED_AHEAD;
        let near = |version: &&crate::Version| (from..=cost.instant + HINTED_AHEAD).contains(&version.at);
        let count = job.map_or(0, |job| job.versions.iter().filter(near).count());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn was_skipped(&self, job: u32, t: i64) -> bool {
        self.records.get(&(job, t, 0)).is_some_and(|record| record.status == "skipped")
    }

    fn cost(&self, job: u32, t: i64) -> Option<&Cost> {
        self.costs.get(&(job, t, 0)).copied()
    }
}

/// An occurrence that was undoubtedly in force, in a calm that had begun long enough before, and until when both last.
struct Due {
    at: i64,
    until: i64,
    /// How late it may still start.
    window: i64,
}

fn in_force(job: &Job, calm: &Calm) -> Vec<Due> {
    let ends = |n: usize| job.heads.get(n + 1).map_or(i64::MAX, |next| next.since.min(next.decided) - CHANGE_TOLERANCE);
    let begins = |head: &Head| head.in_force_from() + CHANGE_TOLERANCE;
    let active = job.heads.iter().enumerate().filter(|(_, head)| head.status == Status::Active);
    let spans = active.map(|(n, head)| (head, begins(head).max(calm.span.start)..ends(n).min(calm.span.end)));
    let due = |(head, span): (&Head, Range<i64>)| {
        let (until, window) = (span.end, head.catch_up.window());
        head.schedule.instants(span.start, until).into_iter().map(move |at| Due { at, until, window })
    };
    spans.flat_map(due).collect()
}
