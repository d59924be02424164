//! The filter of a list of jobs.

use minutehand_domain::Moment;
use minutehand_domain::job::Job;
use minutehand_domain::limits::{NAME_CHARS, PAGE, WORD_CHARS};
use minutehand_domain::priority::Priority;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::field_errors::FieldErrors;
use crate::params::DEFAULT_LIMIT;
use crate::problem::Problem;
use crate::wire::job_view::{JobStatus, status_of};
use crate::wire::texts::{CursorText, Line};
use crate::wire::words::PriorityWord;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobsParams {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    /// Those that bear it.
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    tag: Option<String>,
    status: Option<JobStatus>,
    #[schemars(with = "Option<PriorityWord>")]
    priority: Option<Priority>,
    /// What the name begins with.
    #[schemars(with = "Option<Line<NAME_CHARS>>")]
    name: Option<String>,
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    owner: Option<String>,
}

/// A cursor is bound to this filter by its `Debug` form.
#[derive(Debug)]
pub(super) struct JobFilter {
    tag: Option<String>,
    status: Option<JobStatus>,
    priority: Option<Priority>,
    name: Option<String>,
    owner: Option<String>,
}

impl JobsParams {
    pub(super) fn filter(&self) -> Result<JobFilter, Problem> {
        let mut errors = FieldErrors::default();
        for (pointer, word, most) in
            [("?tag", &self.tag, WORD_CHARS), ("?owner", &self.owner, WORD_CHARS), ("?name", &self.name, NAME_CHARS)]
        {
            if let Some(word) = word {
                errors.line(pointer, word, most);
            }
        }
        errors.settle(Some(JobFilter {
            tag: self.tag.clone(),
            status: self.status,
            priority: self.priority,
            name: self.name.clone(),
            owner: self.owner.clone(),
        }))
    }
}

impl JobFilter {
    pub(super) fn wants_all(&self) -> bool {
        self.tag.is_none()
            && self.status.is_none()
            && self.priority.is_none()
            && self.name.is_none()
            && self.owner.is_none()
    }

    pub(super) fn admits(&self, job: &Job, now: Moment) -> bool {
        let definition = &job.definition;
        let begins = |name: &str| definition.name.as_deref().is_some_and(|whole| whole.starts_with(name));
        self.tag.as_ref().is_none_or(|tag| definition.tags.contains(tag))
            && self.priority.is_none_or(|priority| definition.priority == priority)
            && self.name.as_deref().is_none_or(begins)
            && self.owner.as_ref().is_none_or(|owner| definition.owner.as_ref() == Some(owner))
            // Last, because it walks the schedule.
            && self.status.is_none_or(|status| status_of(job, now) == status)
    }
}
