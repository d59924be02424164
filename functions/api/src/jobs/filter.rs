//! The filter of a list of jobs.

use minutehand_domain::Moment;
use minutehand_domain::job::Job;
use minutehand_domain::priority::Priority;
use minutehand_wire::{JobStatus, JobsQuery};

use crate::problem::Problem;

/// A cursor is bound to this filter by its `Debug` form.
#[derive(Debug)]
pub(crate) struct JobFilter {
    tag: Option<String>,
    status: Option<JobStatus>,
    priority: Option<Priority>,
    name: Option<String>,
    owner: Option<String>,
}

impl JobFilter {
    pub(crate) fn of(query: &JobsQuery) -> Result<Self, Problem> {
        query.checked()?;
        Ok(Self {
            tag: query.tag.clone(),
            status: query.status,
            priority: query.priority,
            name: query.name.clone(),
            owner: query.owner.clone(),
        })
    }

    pub(crate) fn wants_all(&self) -> bool {
        self.tag.is_none()
            && self.status.is_none()
            && self.priority.is_none()
            && self.name.is_none()
            && self.owner.is_none()
    }

    /// Whether it is what was deleted that is asked for.
    pub(crate) fn wants_deleted(&self) -> bool {
        self.status == Some(JobStatus::Cancelled)
    }

    pub(crate) fn admits(&self, job: &Job, now: Moment) -> bool {
        let definition = &job.definition;
        let begins = |name: &str| definition.name.as_deref().is_some_and(|whole| whole.starts_with(name));
        self.tag.as_ref().is_none_or(|tag| definition.tags.contains(tag))
            && self.priority.is_none_or(|priority| definition.priority == priority)
            && self.name.as_deref().is_none_or(begins)
            && self.owner.as_ref().is_none_or(|owner| definition.owner.as_ref() == Some(owner))
            // Last, since it asks the schedule.
            && self.status.is_none_or(|status| JobStatus::of(job, now) == status)
    }
}
