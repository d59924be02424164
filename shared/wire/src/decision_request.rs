//! What somebody asks of a workflow's run, or decides about one of its tasks.

use minutehand_domain::body;
use minutehand_domain::limits::{BRANCHES, NOTE_CHARS, PAYLOAD_BYTES};
use minutehand_domain::run::Word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::Json;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::problem::FieldError;
use crate::texts::Line;
use crate::whole_number::whole_number;

/// A note, for whoever reads later what was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteRequest {
    /// Why: it stands in the events of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
}

/// A decision after which a task counts as succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuccessRequest {
    /// Why: it stands in the events of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
    /// What the task answers to those after it: any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    pub result: Option<Json>,
}

/// One verdict on all branches of a `for_each` that are held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldRequest {
    pub verdict: HeldVerdict,
    /// The first branch that is looked at, from 0: where the answer before ended.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = BRANCHES), extend("default" = 0))]
    pub from: Option<u64>,
    /// Why: it stands in the events of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
}

/// What becomes of a failure that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldVerdict {
    /// Another try.
    Retry,
    /// As if it had been skipped.
    Skip,
    /// As if it had succeeded, without a result.
    Succeed,
    /// It is one.
    Fail,
}

impl From<HeldVerdict> for Word {
    fn from(verdict: HeldVerdict) -> Self {
        match verdict {
            HeldVerdict::Retry => Self::Retry,
            HeldVerdict::Skip => Self::Skip,
            HeldVerdict::Succeed => Self::Succeed,
            HeldVerdict::Fail => Self::Fail,
        }
    }
}

impl HeldRequest {
    /// The verdict, the first branch that is looked at, and the note.
    pub fn checked(self) -> Result<(Word, u16, Option<String>), RequestRefusal> {
        let note = NoteRequest { note: self.note }.checked()?;
        let mut errors = FieldErrors::default();
        let most = u64::try_from(BRANCHES).unwrap_or(u64::MAX);
        let from = errors.in_range("/from", self.from.unwrap_or(0), 0..=most);
        errors.settle(u16::try_from(from).ok()).map(|from| (self.verdict.into(), from, note))
    }
}

impl NoteRequest {
    pub fn checked(self) -> Result<Option<String>, RequestRefusal> {
        self.checked_at("/note")
    }

    pub(crate) fn checked_at(self, pointer: &'static str) -> Result<Option<String>, RequestRefusal> {
        let mut errors = FieldErrors::default();
        if let Some(note) = &self.note {
            errors.line(pointer, note, NOTE_CHARS);
        }
        errors.settle(Some(self.note))
    }
}

impl SuccessRequest {
    pub fn checked(self) -> Result<(Option<String>, Option<body::Json>), RequestRefusal> {
        let note = NoteRequest { note: self.note }.checked()?;
        let result = self.result.map(|json| body::Json::compact(json.raw()));
        match result {
            Some(result) if result.len() > PAYLOAD_BYTES => {
                let detail = format!("a result has at most {PAYLOAD_BYTES} bytes");
                let errors = vec![FieldError { pointer: "/result".to_owned(), detail }];
                Err(RequestRefusal { errors, too_large: true })
            }
            result => Ok((note, result)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_a_line_and_a_result_has_a_bound() {
        let note = |text: &str| NoteRequest { note: Some(text.to_owned()) }.checked();
        let result = |bytes: usize| SuccessRequest { note: None, result: Some(Json::of(&"x".repeat(bytes))) }.checked();

        assert_eq!(note("so be it"), Ok(Some("so be it".to_owned())));
        for bad in ["", "a\nb", &"x".repeat(NOTE_CHARS + 1)] {
            assert_eq!(note(bad).unwrap_err().errors[0].pointer, "/note");
        }
        assert!(result(100).is_ok());
        assert!(result(PAYLOAD_BYTES).unwrap_err().too_large);
    }
}
