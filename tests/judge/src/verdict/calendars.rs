//! The rules of calendars: what one takes is on record as taken, nothing else is, and what has moved begins once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Verdict, around};
use crate::{CHANGE_TOLERANCE, Job, Record, Status};

/// Whether it is the record of what a calendar took.
pub(super) fn is_of_one(record: &Record) -> bool {
    record.reason.as_deref() == Some("calendar")
}

impl Verdict<'_> {
    /// Whoever claims the fire behind what calendars took of the same schedule puts that on record.
    pub(super) fn what_calendars_take_is_on_record(&mut self, job: &Job) {
        let begun = self.begun_of(job);
        for (n, head) in job.heads.iter().enumerate().filter(|(_, head)| head.status == Status::Active) {
            let (certain, schedule) = (self.certain(&job.heads, n), &head.schedule);
            // Of what moves the run at the end of the stretch tells.
            let taken = if schedule.is_moved() { Vec::new() } else { schedule.taken(certain.start, certain.end) };
            for t in taken {
                let next = schedule.instants(t, certain.end).first().copied();
                let has_its_own = self.records.contains_key(&(job.job, t, 0));
                // What began by a clock that was ahead may have begun before its calendar was changed.
                let has_begun = |next| begun.get(&next).is_some_and(|at| certain.start <= *at);
                if next.is_some_and(has_begun) && !has_its_own && !self.is_told_as_taken(job.job, t) {
                    self.report("what calendars take is on record", job.job, t, "the fire behind it has begun");
                }
            }
        }
    }

    /// The occurrences of a job that were called, and when they were first.
    fn begun_of(&self, job: &Job) -> BTreeMap<i64, i64> {
        let calls = self.account.calls.iter().filter(|call| (call.job, call.number) == (job.job, 0));
        let mut begun = BTreeMap::new();
        for call in calls {
            let first = begun.entry(call.instant).or_insert(call.at);
            *first = call.at.min(*first);
        }
        begun
    }

    fn is_told_as_taken(&self, job: u32, t: i64) -> bool {
        // By a clock that was ahead it had another end, before calendars were changed about it.
        self.spanning(job, t).any(|record| is_of_one(record) || self.may_be_of_a_clock_ahead(t))
    }

    /// Whether the record of what a calendar took spans it.
    pub(super) fn is_in_a_calendars_record(&self, job: u32, t: i64) -> bool {
        self.spanning(job, t).any(is_of_one)
    }

    fn spanning(&self, job: u32, t: i64) -> impl Iterator<Item = &Record> {
        let earlier = self.records.range((job, i64::MIN, 0)..=(job, t, 0)).map(|(_, record)| *record);
        earlier.filter(move |record| record.covers_until.unwrap_or(record.instant) >= t)
    }

    fn may_be_of_a_clock_ahead(&self, t: i64) -> bool {
        t <= self.account.reached() && self.account.furthest_ahead() > 0
    }

    /// What the record of a calendar begins and ends with was named by a schedule that was in force, and taken.
    pub(super) fn the_record_of_a_calendar_covers_what_one_took(&mut self, job: &Job) {
        let records = self.account.records.iter().filter(|record| record.job == job.job && is_of_one(record));
        let ends = records.flat_map(|record| [record.instant, record.covers_until.unwrap_or(record.instant)]);
        for t in ends.collect::<BTreeSet<_>>() {
            // Such a clock has put down what calendars have been changed about since.
            let was_ahead = self.may_be_of_a_clock_ahead(t);
            let then: Vec<_> = around(&job.heads, t).into_iter().map(|head| &head.schedule).collect();
            if !was_ahead && !then.iter().any(|schedule| schedule.taken(t, t + 1) == [t]) {
                let detail = format!("no calendar took it, by {then:?}");
                self.report("the record of a calendar covers what one took", job.job, t, detail);
            }
        }
    }

    /// Whatever its calendars have said, a job whose schedules name one instant begins at one.
    pub(super) fn what_has_one_instant_begins_once(&mut self, job: &Job) {
        if !self.account.wrong_clocks.is_empty() {
            return; // who changes its schedule by a clock that is behind, before that instant, has it come anew
        }
        let named: BTreeSet<_> = job.heads.iter().map(|head| head.schedule.names_once()).collect();
        let [Some(named)] = named.into_iter().collect::<Vec<_>>()[..] else { return };
        let begun = self.begun_of(job);
        if begun.keys().filter(|at| !begins_beside_a_change(job, **at)).count() > 1 {
            self.report("what has one instant begins once", job.job, named, format!("at {:?}", begun.keys()));
        }
        let stays = job.heads.iter().all(|head| head.status == Status::Active);
        let was_to_come = job.heads.first().is_some_and(|head| head.in_force_from() + CHANGE_TOLERANCE <= named);
        let recorded = self.records.range((job.job, i64::MIN, 0)..(job.job, i64::MAX, 0)).any(|((_, _, n), _)| *n == 0);
        let last = job.heads.last().map(|head| head.schedule.instants(named, i64::MAX));
        let is_over = last.is_some_and(|left| left.iter().all(|at| *at < self.account.end - super::UNSETTLED));
        if stays && was_to_come && is_over && !recorded {
            self.report("what has one instant begins once", job.job, named, "nothing is recorded of it");
        }
    }
}

/// Whether it began as it was before a change that was on its way: that has it begin once more, where it moved it.
fn begins_beside_a_change(job: &Job, at: i64) -> bool {
    job.heads.windows(2).any(|heads| {
        let was_to_come = heads[1].decided <= at && at <= heads[1].in_force_from() + CHANGE_TOLERANCE;
        was_to_come && heads[0].schedule.instants(at, at + 1) == [at]
    })
}
