//! The rule of explanations: what somebody is told of an instant is what became of it, as the records and the states of its job say.

use super::{Verdict, around, is_last};
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

    /// Of what did not fire the rule follows from the record's reason.
    fn a_reason_is_that_of_the_record(&mut self, job: &Job, told: &Explanation) {
        let teller = self.recorded(job, told.instant).or_else(|| self.teller(job, told.instant));
        let reason = teller.and_then(|record| record.reason.as_deref());
        let Some(reason) = reason.filter(|_| ["skipped", "covered"].contains(&told.verdict.as_str())) else { return };
        let wanted = match reason {
            "coalesced" | "missed" => "catch_up",
            "superseded" => "schedule_change",
            other => other,
        };
        if told.rule != wanted {
            let detail = format!("by {}, and the record says {reason}", told.rule);
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
        let is_told_of = self.teller(job, told.instant).is_some();
        let mut wanted = Vec::new();
        if firing > 0 && is_told_of {
            wanted.push("covered");
        }
        if firing > 0 && !is_told_of && job.heads.iter().any(|head| head.status != Status::Active) {
            wanted.extend(["skipped", "will_not_fire"]);
        }
        if silent > 0 || then.is_empty() {
            wanted.push("not_an_occurrence");
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

    /// The record of an earlier occurrence that spans this one.
    fn teller(&self, job: &Job, t: i64) -> Option<&Record> {
        let spans =
            |record: &Record| record.covers_until.is_some_and(|until| t < until || t == until && is_last(record));
        self.records
            .range((job.job, i64::MIN, 0)..(job.job, t, 0))
            .map(|(_, record)| *record)
            .rfind(|record| spans(record))
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
