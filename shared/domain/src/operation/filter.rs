//! Which jobs, or which runs, an operation is about: what the lists are asked for, and said in the same words.

use std::ops::Range;

use crate::Moment;
use crate::id::JobId;
use crate::job::{Job, Status};
use crate::priority::Priority;
use crate::run::Run;

/// Which jobs. A cursor of a list is bound to it by its `Debug` form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Those that bear it.
    pub tag: Option<String>,
    /// `active`, `paused`, `completed` or `cancelled`.
    pub status: Option<String>,
    pub priority: Option<Priority>,
    /// What the name begins with.
    pub name: Option<String>,
    pub owner: Option<String>,
}

/// Which runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFilter {
    pub job: Option<JobId>,
    /// What the job of it bears.
    pub tag: Option<String>,
    /// A status in the words of the wire; none for those to which the act can be done.
    pub status: Option<String>,
    pub priority: Option<Priority>,
    pub window: Range<Moment>,
}

impl JobFilter {
    pub fn wants_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it is what was deleted that is asked for.
    pub fn wants_deleted(&self) -> bool {
        self.status.as_deref() == Some("cancelled")
    }

    pub fn admits(&self, job: &Job, now: Moment) -> bool {
        let definition = &job.definition;
        let begins = |name: &str| definition.name.as_deref().is_some_and(|whole| whole.starts_with(name));
        self.tag.as_ref().is_none_or(|tag| definition.tags.contains(tag))
            && self.priority.is_none_or(|priority| definition.priority == priority)
            && self.name.as_deref().is_none_or(begins)
            && self.owner.as_ref().is_none_or(|owner| definition.owner.as_ref() == Some(owner))
            // Last, since it asks the schedule.
            && self.status.as_ref().is_none_or(|status| job.status_word(now) == status)
    }
}

impl Job {
    /// How it stands, in a word: `completed` where no occurrence is left to start.
    pub fn status_word(&self, now: Moment) -> &'static str {
        match self.status {
            Status::Active if self.is_completed(now) => "completed",
            Status::Active => "active",
            Status::Paused => "paused",
            Status::Cancelled => "cancelled",
        }
    }
}

impl RunFilter {
    /// Whether a run is one of them, as far as the run itself says.
    pub fn admits(&self, run: &Run) -> bool {
        self.job.is_none_or(|job| run.key.job == job)
            && self.priority.is_none_or(|priority| run.priority == priority)
            && self.window.contains(&run.key.at)
    }

    /// Whether it says how they stand.
    pub fn names_a_status(&self) -> bool {
        self.status.is_some()
    }

    /// Whether its job is asked as well.
    pub fn asks_the_job(&self) -> bool {
        self.tag.is_some()
    }

    pub fn admits_job(&self, job: &Job) -> bool {
        self.tag.as_ref().is_none_or(|tag| job.definition.tags.contains(tag))
    }
}
