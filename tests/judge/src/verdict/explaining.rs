//! The rule of explanations: what somebody is told of an instant is what became of it, as the records and the states of its job say.

use super::{Verdict, around};
use crate::{Explanation, Head, Job, Record, SKEW, Status};

/// What an explanation may say, and why nothing else.
type Wanted = (Vec<&'static str>, &'static str);

impl Verdict<'_> {
    pub(super) fn an_explanation_is_true(&mut self, job: &Job) {
        for told in &job.explanations {
            let (wanted, why) = self.wanted(job, told);
            if !wanted.contains(&told.verdict.as_str()) {
                let detail = format!("{} by {}, and {why}", told.verdict, told.rule);
                self.report("an explanation is true", job.job, told.instant, detail);
            }
            self.a_reason_is_that_of_the_record(job, told);
        }
    }

    /// Of what did not fire the rule follows from the record's reason; where several tell of it, from one of theirs.
    fn a_reason_is_that_of_the_record(&mut self, job: &Job, told: &Explanation) {
        if !["skipped", "covered"].contains(&told.verdict.as_str()) {
            return;
        }
        let tellers = match self.recorded(job, told.instant) {
            Some(own) => vec![own],
            None => self.speaking_for(job.job, told.instant).collect(),
        };
        let reasons: Vec<_> = tellers.iter().filter_map(|record| record.reason.clone()).collect();
        let wanted = |reason: &String| match reason.as_str() {
            "coalesced" | "missed" => "catch_up",
            "superseded" => "schedule_change",
            other => other,
        } == told.rule;
        // What a calendar takes now may have been an occurrence once, of which another record tells as well.
        let is_taken = told.rule == "calendar" && self.is_in_a_calendars_record(job.job, told.instant);
        if !reasons.is_empty() && !reasons.iter().any(wanted) && !is_taken {
            let detail = format!("by {}, and the records say {reasons:?}", told.rule);
            self.report("an explanation says why", job.job, told.instant, detail);
        }
    }

    fn wanted(&self, job: &Job, told: &Explanation) -> Wanted {
        if let Some(record) = self.recorded(job, told.instant) {
            return of_record(record, told.at);
        }
        let then = around(&job.heads, told.instant);
        let fires = |head: &&&Head| head.schedule.fires_at(told.instant);
        let (firing, silent) = (then.iter().filter(fires).count(), then.iter().filter(|head| !fires(head)).count());
        let is_told_of = self.speaking_for(job.job, told.instant).next().is_some();
        let mut wanted = Vec::new();
        if firing > 0 && is_told_of {
            wanted.push("covered");
        }
        // That an occurrence has a record is another rule's: where it may have none, nobody has claimed it, or it is too late for that.
        if firing > 0 && !is_told_of {
            wanted.extend(["waiting", "skipped"]);
        }
        if firing > 0 && !is_told_of && job.heads.iter().any(|head| head.status != Status::Active) {
            wanted.push("will_not_fire");
        }
        if silent > 0 || then.is_empty() {
            wanted.push("not_an_occurrence");
        }
        if then.iter().any(|head| head.schedule.takes(told.instant)) {
            wanted.extend(["covered", "skipped"]);
        }
        // Two changes later nobody knows, nor after a resume.
        if job.heads.iter().any(|head| head.in_force_from() > told.instant - SKEW) {
            wanted.extend(["unknown", "not_an_occurrence"]);
        }
        (wanted, "nothing is recorded of it")
    }

    fn recorded(&self, job: &Job, instant: i64) -> Option<&Record> {
        self.records.get(&(job.job, instant, 0)).copied()
    }
}

/// Of a record as it stood when somebody asked.
fn of_record(record: &Record, asked_at: i64) -> Wanted {
    let was_over = record.at.is_some_and(|at| at < asked_at - SKEW);
    let words = match record.status.as_str() {
        "skipped" if was_over => vec!["skipped"],
        "cancelled" if was_over && record.fence == 0 => vec!["cancelled"],
        "succeeded" | "failed" | "timed_out" | "cancelled" if was_over => vec!["fired"],
        _under_way => vec!["fired", "running", "waiting", "skipped", "cancelled"],
    };
    (words, "its record says otherwise")
}
