//! Behind another job: which, and for which ends of its runs; and of a run, what it followed and what follows it.

use std::collections::BTreeMap;

use minutehand_domain::follow::{Comes, Follower};
use minutehand_domain::id::JobId;
use minutehand_domain::run::Run;
use minutehand_domain::workflow::edge::On;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::field_errors::FieldErrors;
use crate::texts::{JobIdText, RunIdText};
use crate::word::Word;
use crate::words::OnWord;

/// Behind which job's runs it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AfterRequest", deny_unknown_fields)]
pub struct AfterSpec {
    /// A job of the same tenant; that of a workflow's own too.
    #[schemars(with = "JobIdText")]
    pub job: String,
    /// For which ends: `success` if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OnWord>", extend("default" = On::default()))]
    pub on: Option<Word<On>>,
    /// What a later server says more; in a request there is none.
    #[serde(flatten)]
    #[schemars(skip)]
    pub others: BTreeMap<String, Value>,
}

impl AfterSpec {
    pub fn of(job: JobId, on: On) -> Self {
        Self { job: job.to_string(), on: Some(on.into()), others: BTreeMap::new() }
    }

    pub(crate) fn checked(&self, errors: &mut FieldErrors) -> Option<(JobId, On)> {
        for name in self.others.keys() {
            let at = format!("/schedule/after/{}", name.replace('~', "~0").replace('/', "~1"));
            errors.add(at, "is not known here: there are `job` and `on`");
        }
        let on = errors.word("/schedule/after/on", self.on.as_ref()).unwrap_or_default();
        match self.job.parse() {
            Ok(job) => Some((job, on)),
            Err(_not_an_id) => {
                errors.add("/schedule/after/job".to_owned(), format!("`{}` is not a job id", self.job));
                None
            }
        }
    }
}

/// A job that follows a run, and what came of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FollowedBy")]
pub struct FollowedByView {
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    #[schemars(with = "OnWord")]
    pub on: Word<On>,
    /// Its run, or the record of why there is none; null until the run in front has ended, and where that end is none that it waits for.
    #[schemars(with = "Option<RunIdText>")]
    pub run_id: Option<String>,
}

impl FollowedByView {
    pub(crate) fn all_of(run: &Run) -> Vec<Self> {
        let made = run.followed_by();
        let of = |follower: &Follower| {
            let key = made.get(&follower.job).filter(|_| follower.comes_of(run) != Comes::Nothing);
            Self { job_id: follower.job.to_string(), on: follower.on.into(), run_id: key.map(ToString::to_string) }
        };
        run.followers.iter().map(of).collect()
    }
}
