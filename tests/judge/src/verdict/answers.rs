//! The rules of answers: what a client was told of a change is what stands, and stays.

use std::collections::BTreeSet;

use super::Verdict;
use crate::{Job, Status};

impl Verdict<'_> {
    /// Each answer shows a job as it was written, and no later writing goes back behind it.
    pub(super) fn what_was_answered_stands(&mut self, job: &Job) {
        for answer in &job.answers {
            if !job.versions.iter().any(|version| version.stands == answer.stands) {
                let detail = format!("{:?} was never written", answer.stands);
                self.report("what was answered was written", job.job, answer.at, detail);
            }
            let behind = |version: &&crate::Version| {
                version.at > answer.at && version.stands.generation < answer.stands.generation
            };
            if let Some(version) = job.versions.iter().find(behind) {
                let detail = format!("generation {} after {:?}", version.stands.generation, answer.stands);
                self.report("what was answered is not taken back", job.job, version.at, detail);
            }
        }
    }

    /// A delete is answered without a body: what the job is when somebody has that answer, and from then on, says whether it was true.
    pub(super) fn what_was_deleted_stays_deleted(&mut self, job: &Job) {
        for answered in &job.deletes {
            let stood = job.versions.iter().rfind(|version| version.at <= *answered);
            let later = job.versions.iter().filter(|version| version.at > *answered);
            let mut seen = stood.into_iter().chain(later);
            if stood.is_none() || seen.any(|version| version.stands.status != Status::Cancelled) {
                let detail = format!("it was {stood:?} then");
                self.report("what was deleted stays deleted", job.job, *answered, detail);
            }
        }
    }

    pub(super) fn an_answer_shows_what_was_asked(&mut self, job: &Job) {
        for answer in &job.answers {
            for (field, asked, shown) in &answer.fields {
                if asked != shown {
                    let detail = format!("{field} was to be {asked} and is {shown}");
                    self.report("an answer shows what was asked", job.job, answer.at, detail);
                }
            }
        }
    }

    /// A generation names one state: who has seen it knows what it says.
    pub(super) fn generations_grow(&mut self, job: &Job) {
        for pair in job.versions.windows(2) {
            let (before, after) = (&pair[0].stands, &pair[1].stands);
            if after.generation < before.generation || after.generation == before.generation && after != before {
                let detail = format!("{before:?}, and then {after:?}");
                self.report("a generation names one state", job.job, pair[1].at, detail);
            }
        }
    }

    /// Page by page a list shows each job that had stood long enough, none twice, and nobody else's.
    pub(super) fn a_list_shows_each_job_once(&mut self) {
        for list in &self.account.lists {
            let mut shown = BTreeSet::new();
            for job in &list.shown {
                if !shown.insert(*job) {
                    self.report("a list shows a job once", *job, list.at, "on two pages");
                }
                if !list.own.contains(job) {
                    self.report("a list shows a tenant its own jobs", *job, list.at, "another's");
                }
            }
            let stood = |job: &&Job| {
                let since = job.versions.iter().rfind(|version| version.at <= list.at).map(|version| version.at);
                let last = job.versions.last();
                let settled = last.is_some_and(|version| version.at + list.lag <= list.at);
                settled && since.is_some() && last.is_some_and(|version| version.stands.status == Status::Active)
            };
            let jobs = self.account.jobs.iter().filter(|job| list.own.contains(&job.job));
            let missing: Vec<u32> = jobs.filter(stood).map(|job| job.job).filter(|job| !shown.contains(job)).collect();
            for job in missing {
                self.report("a list shows each job", job, list.at, "on no page");
            }
        }
    }
}
