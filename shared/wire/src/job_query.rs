//! Which jobs a list is asked for.

use minutehand_domain::limits::{NAME_CHARS, NOTE_CHARS, PAGE, WORD_CHARS};
use minutehand_domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decision_request::NoteRequest;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::job_view::JobStatus;
use crate::page::DEFAULT_LIMIT;
use crate::texts::{CursorText, Line};
use crate::words::PriorityWord;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    /// Those that bear it.
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub tag: Option<String>,
    pub status: Option<JobStatus>,
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Priority>,
    /// What the name begins with.
    #[schemars(with = "Option<Line<NAME_CHARS>>")]
    pub name: Option<String>,
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub owner: Option<String>,
    /// What each job is shown with, beside what it is. A page has fifty jobs then at most: each costs a reading of its own.
    pub expand: Option<Expand>,
}

/// How a job is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteJobQuery {
    /// Why: the job, which stays to be read, shows it.
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
}

impl DeleteJobQuery {
    pub fn checked(self) -> Result<Option<String>, RequestRefusal> {
        NoteRequest { note: self.note }.checked_at("?note")
    }
}

/// What a list of jobs reads more than the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expand {
    /// `last_run`: its newest run whose time has come.
    LastRun,
    /// `health`, and `last_run`, which the same reading shows.
    Health,
}

impl JobsQuery {
    pub fn checked(&self) -> Result<(), RequestRefusal> {
        let mut errors = FieldErrors::default();
        for (pointer, word, most) in
            [("?tag", &self.tag, WORD_CHARS), ("?owner", &self.owner, WORD_CHARS), ("?name", &self.name, NAME_CHARS)]
        {
            if let Some(word) = word {
                errors.line(pointer, word, most);
            }
        }
        errors.settle(Some(()))
    }
}
