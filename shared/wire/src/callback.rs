//! Who is told of the end of a run, as it is asked for and as it is shown; and what is told.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use minutehand_domain::callback::{Callback, CallbackPlace, End};
use minutehand_domain::limits::{HEADER_BYTES, HEADERS};
use minutehand_domain::run::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::component::AskedOrShown;
use crate::field_errors::FieldErrors;
use crate::instant::Instant;
use crate::run_status::RunStatus;
use crate::run_view::RunView;
use crate::target::{HeaderSpec, HttpTarget, TargetCheck};
use crate::texts::{RunIdText, UrlText};
use crate::word::Word;
use crate::words::EndWord;

type Headers = BTreeMap<String, HeaderSpec>;

/// The ends that are told of where nobody says: all of what was begun.
const USUAL: [End; 4] = [End::Succeeded, End::Failed, End::TimedOut, End::Cancelled];

/// Who is told of the end of a run: a call of its own, signed as those of targets are, with three tries. It holds up nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CallbackRequest", deny_unknown_fields)]
pub struct CallbackSpec {
    #[schemars(with = "AskedOrShown<UrlText, String>")]
    pub url: String,
    /// The ends that it is told of. Without it all but `skipped`.
    #[serde(default)]
    #[schemars(with = "AskedOrShown<Option<Vec<EndWord>>, Vec<EndWord>>", length(min = 1))]
    pub on: Option<Vec<Word<End>>>,
    /// As those of a target.
    #[serde(default)]
    #[schemars(with = "AskedOrShown<Option<Headers>, Headers>")]
    #[schemars(extend("maxProperties" = HEADERS), extend("x-max-bytes" = HEADER_BYTES))]
    pub headers: Option<Headers>,
}

/// What a callback is given: what happened, when, and the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunTold")]
pub struct RunToldView {
    /// `run.` and how it ended; `run.starting` where a hook is asked before a call.
    #[serde(rename = "type")]
    pub kind: String,
    pub timestamp: Instant,
    pub data: RunView,
}

/// The run of a callback, as the run that it tells of shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CallbackRun")]
pub struct CallbackRunView {
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    #[schemars(with = "RunStatus")]
    pub status: Word<RunStatus>,
}

impl CallbackSpec {
    /// `at`: where it stands in the request.
    pub(crate) fn checked(&self, at: &str, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Callback> {
        let found = errors.count();
        let on = match &self.on {
            None => USUAL.into(),
            Some(words) if words.is_empty() => {
                errors.add(format!("{at}/on"), "must name at least one end; leave it out for all but `skipped`");
                return None;
            }
            Some(words) => {
                let word = |(index, word)| errors.word(&format!("{at}/on/{index}"), Some(word));
                words.iter().enumerate().filter_map(word).collect()
            }
        };
        let target = self.as_target().checked_at(at, check, errors)?;
        (errors.count() == found).then_some(Callback { place: CallbackPlace::Callback, target, on })
    }

    pub(crate) fn of(callback: &Callback) -> Self {
        let HttpTarget { url, headers, .. } = HttpTarget::of(&callback.target);
        Self { url, headers, on: Some(callback.on.iter().map(|end| (*end).into()).collect()) }
    }

    /// Puts what is there in the place of the masks that stand for it.
    pub(crate) fn unmask(&mut self, present: &Callback) {
        let mut target = self.as_target();
        target.unmask(&present.target);
        self.headers = target.headers;
    }

    fn as_target(&self) -> HttpTarget {
        HttpTarget { url: self.url.clone(), headers: self.headers.clone(), ..HttpTarget::default() }
    }
}

impl RunToldView {
    pub fn of(what: &str, at: Moment, run: RunView) -> Self {
        Self { kind: format!("run.{what}"), timestamp: Instant(at), data: run }
    }
}

impl CallbackRunView {
    pub fn of(run: &Run, now: Moment) -> Self {
        Self { run_id: run.key.to_string(), status: RunStatus::of(run, now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let mut errors = FieldErrors::default();
        let asked: CallbackSpec = serde_json::from_str(text).unwrap();
        assert_eq!(asked.checked("/callback", &|_| Ok(()), &mut errors), None, "{text}");
        format!("{:?}", errors.settle(Some(())).unwrap_err())
    }

    #[test]
    fn what_is_shown_asked_again_is_the_same() {
        for text in [
            r#"{"url": "https://example.com/"}"#,
            r#"{"url": "https://example.com/", "on": ["skipped", "failed"], "headers": {"x-a": "b", "x-key": {"secret": "s"}}}"#,
        ] {
            let mut errors = FieldErrors::default();
            let asked: CallbackSpec = serde_json::from_str(text).unwrap();

            let callback = asked.checked("/callback", &|_| Ok(()), &mut errors).unwrap();
            let again = CallbackSpec::of(&callback).checked("/callback", &|_| Ok(()), &mut errors);

            assert_eq!((again, errors.count()), (Some(callback), 0), "{text}");
        }
    }

    #[test]
    fn a_callback_names_ends_that_there_are() {
        assert!(refused(r#"{"url": "https://example.com/", "on": []}"#).contains("/callback/on"));
        assert!(refused(r#"{"url": "https://example.com/", "on": ["failed", "ended"]}"#).contains("/callback/on/1"));
        let bad = r#"{"url": "https://example.com/", "headers": {"x": {"secret": "no name"}}}"#;
        assert!(refused(bad).contains("/callback/headers/x"));
    }

    #[test]
    fn a_mask_that_comes_back_stands_for_what_is_there() {
        let mut errors = FieldErrors::default();
        let asked = r#"{"url": "https://example.com/", "headers": {"authorization": "Bearer 7"}}"#;
        let asked: CallbackSpec = serde_json::from_str(asked).unwrap();
        let present = asked.checked("/callback", &|_| Ok(()), &mut errors).unwrap();
        let mut shown = CallbackSpec::of(&present);

        assert!(!serde_json::to_string(&shown).unwrap().contains("Bearer"));
        shown.unmask(&present);
        assert_eq!(shown.checked("/callback", &|_| Ok(()), &mut errors), Some(present));
    }
}
