//! Dead letters: which are asked for, what is done to them, and how they are shown in groups.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Origin, RunKey};
use minutehand_domain::json_patch::{Patch, Pointer, Step};
use minutehand_domain::letters::Group;
use minutehand_domain::limits::{
    LETTERS_AT_ONCE, NOTE_CHARS, PAGE, PATCH_STEPS, PAYLOAD_BYTES, POINTER_CHARS, WORD_CHARS,
};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Edit, Run, State};
use minutehand_domain::{body, secret};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::body::Json;
use crate::decision_request::NoteRequest;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::job_request::payload_of;
use crate::object::maybe_object;
use crate::page::DEFAULT_LIMIT;
use crate::problem::Problem;
use crate::run_view::RunView;
use crate::texts::{CursorText, JobIdText, Line, RunIdText};
use crate::words::{OriginWord, PriorityWord};

/// How a run ended that is a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LetterStatus {
    Failed,
    TimedOut,
}

/// Which dead letters are meant. All that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LetterFilter {
    /// Of this job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<JobIdText>")]
    pub job_id: Option<String>,
    /// Of jobs that bear this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub tag: Option<String>,
    /// Whose last attempt went wrong like this; where no attempt says it, this is the run's `reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<LetterStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OriginWord>")]
    pub origin: Option<Origin>,
    /// Of runs due then or later: thirty days before `to` if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Of runs due before: now if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Instant>,
}

macro_rules! query {
    ($(#[$said:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$said])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$of])* pub $field: $type,)*
            /// Of this job.
            #[schemars(with = "Option<JobIdText>")]
            pub job_id: Option<String>,
            /// Of jobs that bear this tag.
            #[schemars(with = "Option<Line<WORD_CHARS>>")]
            pub tag: Option<String>,
            /// Whose last attempt went wrong like this; where no attempt says it, this is the run's `reason`.
            #[schemars(with = "Option<Line<WORD_CHARS>>")]
            pub error: Option<String>,
            pub status: Option<LetterStatus>,
            #[schemars(with = "Option<PriorityWord>")]
            pub priority: Option<Priority>,
            #[schemars(with = "Option<OriginWord>")]
            pub origin: Option<Origin>,
            /// Of runs due then or later: thirty days before `to` if it is not given.
            pub from: Option<Instant>,
            /// Of runs due before: now if it is not given.
            pub to: Option<Instant>,
        }

        impl $name {
            pub fn filter(&self) -> LetterFilter {
                let Self { job_id, tag, error, status, priority, origin, from, to, .. } = self.clone();
                LetterFilter { job_id, tag, error, status, priority, origin, from, to }
            }
        }
    };
}

query! {
    /// Which dead letters a list is asked for.
    LettersQuery {
        /// How many at most.
        #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
        limit: Option<usize>,
        #[schemars(with = "Option<CursorText>")]
        cursor: Option<String>,
    }
}

query! {
    /// Which dead letters are grouped.
    GroupsQuery {
        /// How many groups at most.
        #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
        limit: Option<usize>,
    }
}

/// A filter that was read: what it asks of a run by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letters {
    pub job: Option<JobId>,
    pub tag: Option<String>,
    pub error: Option<String>,
    pub status: Option<LetterStatus>,
    pub priority: Option<Priority>,
    pub origin: Option<Origin>,
}

impl LetterFilter {
    /// `before`: what stands before a field's name in what is said of it.
    pub fn checked(&self, before: &str) -> Result<Letters, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let job = self.job_id.as_ref().map(|text| text.parse::<JobId>());
        if matches!(job, Some(Err(_))) {
            errors.add(format!("{before}job_id"), "is not a job's id");
        }
        for (name, word) in [("tag", &self.tag), ("error", &self.error)] {
            if let Some(word) = word {
                errors.line(format!("{before}{name}"), word, WORD_CHARS);
            }
        }
        let Self { tag, error, status, priority, origin, .. } = self.clone();
        errors.settle(Some(Letters { job: job.and_then(Result::ok), tag, error, status, priority, origin }))
    }
}

impl Letters {
    /// Whether a run is one of them, but for its job's tags.
    pub fn admits(&self, run: &Run) -> bool {
        let is = |status| match status {
            LetterStatus::Failed => matches!(run.state, State::Failed { .. }),
            LetterStatus::TimedOut => matches!(run.state, State::TimedOut { .. }),
        };
        let died_of = |word: &String| run.error().is_some_and(|(code, _)| code == word) || run.reason() == Some(word);
        run.is_dead_letter()
            && self.job.is_none_or(|job| run.key.job == job)
            && self.status.is_none_or(is)
            && self.priority.is_none_or(|priority| run.priority == priority)
            && self.origin.is_none_or(|origin| run.key.origin == origin)
            && self.error.as_ref().is_none_or(died_of)
    }

    /// Whether it asks for anything at all.
    pub fn wants_all(&self) -> bool {
        *self == Self::default()
    }
}

/// One step of a JSON patch (RFC 6902).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchStep {
    pub op: PatchOp,
    /// Where, by RFC 6901: `/lines/0/amount`.
    #[schemars(length(max = POINTER_CHARS))]
    pub path: String,
    /// From where: of `move` and `copy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = POINTER_CHARS))]
    pub from: Option<String>,
    /// Any JSON: of `add`, `replace` and `test`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchOp {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
}

/// A value that is null is given too.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Another try at a dead letter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedriveRequest {
    /// Any JSON, in place of what the run was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    pub payload: Option<Json>,
    /// Or a JSON patch of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = PATCH_STEPS))]
    pub patch: Option<Vec<PatchStep>>,
    /// Why: it stands in the events of both runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
}

/// Another try at each of several dead letters: those that are named, or those that a filter finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedriveManyRequest {
    /// Each is answered on its own; an id that is named twice is answered once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LETTERS_AT_ONCE))]
    pub run_ids: Option<Vec<String>>,
    /// The newest hundred of these.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub filter: Option<LetterFilter>,
    /// Of a filter: where the answer before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    /// Any JSON, in place of what each of the runs was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    pub payload: Option<Json>,
    /// Or a JSON patch of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = PATCH_STEPS))]
    pub patch: Option<Vec<PatchStep>>,
    /// Why: it stands in the events of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
}

/// Several dead letters are to be left at that: those that are named, or those that a filter finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DismissManyRequest {
    /// Each is answered on its own; an id that is named twice is answered once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = LETTERS_AT_ONCE))]
    pub run_ids: Option<Vec<String>>,
    /// The newest hundred of these.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub filter: Option<LetterFilter>,
    /// Of a filter: where the answer before ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    /// Why: it stands in the events of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
}

/// What brings a run about that can be a dead letter. The failure of a task is its workflow's, and what tells of others is never told of.
pub const ORIGINS: [Origin; 6] =
    [Origin::Schedule, Origin::Manual, Origin::Backfill, Origin::Redrive, Origin::Resume, Origin::Follow];

/// Which letters a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// A text that is no run's id names none.
    Named(Vec<(String, Option<RunKey>)>),
    Found(LetterFilter, Option<String>),
}

impl RedriveRequest {
    pub fn checked(self) -> Result<(Edit, Option<String>), RequestRefusal> {
        let note = NoteRequest { note: self.note }.checked()?;
        Ok((edit_of(self.payload.as_ref(), self.patch)?, note))
    }
}

impl RedriveManyRequest {
    pub fn checked(self) -> Result<(Which, Edit, Option<String>), RequestRefusal> {
        let which = which(self.run_ids, self.filter, self.cursor)?;
        let note = NoteRequest { note: self.note }.checked()?;
        Ok((which, edit_of(self.payload.as_ref(), self.patch)?, note))
    }
}

impl DismissManyRequest {
    pub fn checked(self) -> Result<(Which, Option<String>), RequestRefusal> {
        let which = which(self.run_ids, self.filter, self.cursor)?;
        Ok((which, NoteRequest { note: self.note }.checked()?))
    }
}

fn which(
    run_ids: Option<Vec<String>>,
    filter: Option<LetterFilter>,
    cursor: Option<String>,
) -> Result<Which, RequestRefusal> {
    let mut errors = FieldErrors::default();
    let which = match (run_ids, filter) {
        (Some(ids), None) => {
            if !(1..=LETTERS_AT_ONCE).contains(&ids.len()) {
                errors.add("/run_ids", format!("names from 1 to {LETTERS_AT_ONCE} runs"));
            }
            if cursor.is_some() {
                errors.add("/cursor", "goes with a filter");
            }
            let mut seen = BTreeSet::new();
            let ids = ids.into_iter().filter(|id| seen.insert(id.clone()));
            Which::Named(ids.map(|id| (id.clone(), id.parse().ok())).collect())
        }
        (None, Some(filter)) => {
            filter.checked("/filter/")?;
            Which::Found(filter, cursor)
        }
        (Some(_), Some(_)) => {
            errors.add("/filter", "name `run_ids` or a filter, and not both");
            Which::Named(Vec::new())
        }
        (None, None) => {
            errors.add("", "name `run_ids` or a `filter`");
            Which::Named(Vec::new())
        }
    };
    errors.settle(Some(which))
}

fn edit_of(payload: Option<&Json>, patch: Option<Vec<PatchStep>>) -> Result<Edit, RequestRefusal> {
    let mut errors = FieldErrors::default();
    match (payload, patch) {
        (Some(_), Some(_)) => errors.add("/patch", "give a `payload` or a `patch` of it, and not both"),
        (None, None) => return Ok(Edit::AsItWas),
        (Some(_), None) => {
            let (payload, _secrets) = payload_of("/payload", payload)?;
            return Ok(payload.map_or(Edit::AsItWas, Edit::Payload));
        }
        (None, Some(steps)) => {
            let read: Vec<_> =
                steps.into_iter().enumerate().filter_map(|(at, step)| step.checked(at, &mut errors)).collect();
            match Patch::new(read) {
                Ok(patch) => return errors.settle(Some(Edit::Patch(patch))),
                Err(_) if errors.count() > 0 => {}
                Err(no) => errors.add("/patch", no.to_string()),
            }
        }
    }
    errors.settle(None)
}

impl PatchStep {
    fn checked(self, at: usize, errors: &mut FieldErrors) -> Option<Step> {
        let mut pointer = |name: &str, text: &str| {
            Pointer::parse(text).map_err(|no| errors.add(format!("/patch/{at}/{name}"), no.to_string())).ok()
        };
        let path = pointer("path", &self.path);
        let from = self.from.as_ref().and_then(|from| pointer("from", from));
        let (takes_from, takes_value) = match self.op {
            PatchOp::Add | PatchOp::Replace | PatchOp::Test => (false, true),
            PatchOp::Remove => (false, false),
            PatchOp::Move | PatchOp::Copy => (true, false),
        };
        for (name, takes, is_given) in
            [("from", takes_from, self.from.is_some()), ("value", takes_value, self.value.is_some())]
        {
            if takes != is_given {
                let detail = if takes { "is required by this `op`" } else { "means nothing to this `op`" };
                errors.add(format!("/patch/{at}/{name}"), detail);
            }
        }
        let (path, value) = (path?, self.value.map(|json| body::Json::compact(json.raw())));
        Some(match self.op {
            PatchOp::Add => Step::Add { path, value: value? },
            PatchOp::Replace => Step::Replace { path, value: value? },
            PatchOp::Test => Step::Test { path, value: value? },
            PatchOp::Remove => Step::Remove { path },
            PatchOp::Move => Step::Move { from: from?, path },
            PatchOp::Copy => Step::Copy { from: from?, path },
        })
    }
}

/// The secrets that what comes of an edit names.
pub fn secrets_of(json: Option<&body::Json>) -> BTreeSet<secret::SecretName> {
    json.map(secret::named_in).unwrap_or_default()
}

/// What was done to several dead letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeadLettersDone")]
pub struct LettersDoneView {
    /// In the order of the ids, each once; of a filter the newest first.
    pub results: Vec<LetterDoneView>,
    /// Of a filter: what leads to those that it finds beyond these.
    #[schemars(with = "Option<CursorText>")]
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeadLetterDone")]
pub struct LetterDoneView {
    /// The dead letter.
    pub run_id: String,
    /// What it would have been answered with alone.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
    /// The other try at it, as a list shows it; or the run itself, where it was dismissed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Dead letters by what they died of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeadLetterGroups")]
pub struct GroupsView {
    /// The largest first.
    pub items: Vec<GroupView>,
    /// How many letters were grouped.
    pub letters: usize,
    /// Whether these are all groups, of all letters of the window.
    pub complete: bool,
    /// Where it came to no end: letters of runs due before then were not read. Ask for them with it as `to`.
    pub read_back_to: Option<Instant>,
}

/// Letters of one job that died of the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeadLetterGroup")]
pub struct GroupView {
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    /// The code of the last attempt's error, or the run's `reason`, or `timed_out`.
    pub error: String,
    /// What was said of it, with `#` for numbers, ids and what stands in quotes.
    pub message: String,
    pub count: usize,
    /// When the first of them ended.
    pub first_at: Instant,
    /// When the last one did.
    pub last_at: Instant,
    /// The last one.
    #[schemars(with = "RunIdText")]
    pub sample_run_id: String,
}

impl GroupView {
    pub fn of(group: Group) -> Self {
        Self {
            job_id: group.job.to_string(),
            error: group.code,
            message: group.message,
            count: group.count,
            first_at: Instant(group.first),
            last_at: Instant(group.last),
            sample_run_id: group.sample.to_string(),
        }
    }
}

impl GroupsView {
    pub fn of(groups: Vec<Group>, limit: usize, read_back_to: Option<Moment>) -> Self {
        let letters = groups.iter().map(|group| group.count).sum();
        let complete = read_back_to.is_none() && groups.len() <= limit;
        let items = groups.into_iter().take(limit).map(GroupView::of).collect();
        Self { items, letters, complete, read_back_to: read_back_to.map(Instant) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redrive(text: &str) -> Result<Edit, Vec<String>> {
        let request: RedriveRequest = serde_json::from_str(text).unwrap();
        let pointers = |no: RequestRefusal| no.errors.into_iter().map(|error| error.pointer).collect();
        request.checked().map(|(edit, _)| edit).map_err(pointers)
    }

    #[test]
    fn an_edit_is_a_payload_or_a_patch() {
        assert_eq!(redrive("{}"), Ok(Edit::AsItWas));
        assert_eq!(
            redrive(r#"{"payload": {"a": 1}}"#),
            Ok(Edit::Payload(body::Json::of(&serde_json::json!({"a": 1}))))
        );
        assert!(matches!(redrive(r#"{"patch": [{"op": "add", "path": "/a", "value": null}]}"#), Ok(Edit::Patch(_))));
        for (text, pointers) in [
            (r#"{"payload": 1, "patch": [{"op": "remove", "path": "/a"}]}"#, &["/patch"][..]),
            (r#"{"patch": []}"#, &["/patch"]),
            (r#"{"patch": [{"op": "add", "path": "/a"}]}"#, &["/patch/0/value"]),
            (r#"{"patch": [{"op": "remove", "path": "/a", "value": 1}]}"#, &["/patch/0/value"]),
            (
                r#"{"patch": [{"op": "move", "path": "/a"}, {"op": "copy", "from": "x", "path": "~"}]}"#,
                &["/patch/0/from", "/patch/1/path", "/patch/1/from"],
            ),
            (r#"{"payload": {"secret": "no name"}}"#, &["/payload"]),
        ] {
            assert_eq!(redrive(text), Err(pointers.iter().map(|one| (*one).to_owned()).collect()), "{text}");
        }
    }

    #[test]
    fn many_are_named_or_found() {
        let which = |text: &str| {
            let request: DismissManyRequest = serde_json::from_str(text).unwrap();
            request.checked().map(|(which, _)| which).map_err(|no| no.errors[0].pointer.clone())
        };

        assert_eq!(which(r#"{"run_ids": ["a", "a"]}"#), Ok(Which::Named(vec![("a".to_owned(), None)])));
        assert_eq!(which(r#"{"filter": {}}"#), Ok(Which::Found(LetterFilter::default(), None)));
        for (text, pointer) in [
            ("{}", ""),
            (r#"{"run_ids": []}"#, "/run_ids"),
            (r#"{"run_ids": ["a"], "filter": {}}"#, "/filter"),
            (r#"{"run_ids": ["a"], "cursor": "x"}"#, "/cursor"),
            (r#"{"filter": {"job_id": "x"}}"#, "/filter/job_id"),
            (r#"{"filter": {"tag": ""}}"#, "/filter/tag"),
        ] {
            assert_eq!(which(text), Err(pointer.to_owned()), "{text}");
        }
    }
}
