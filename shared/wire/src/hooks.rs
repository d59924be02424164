//! Who is asked before a run's target is called, and told after it, as it is asked for and as it is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use minutehand_domain::callback::{Callback, CallbackPlace, End};
use minutehand_domain::hook::{BeforeHook, Hooks, OnError};
use minutehand_domain::limits::{DEFAULT_HOOK_SECONDS, HEADER_BYTES, HEADERS, HOOK_SECONDS, TIMEOUT_SECONDS};
use minutehand_domain::order::Terms;
use minutehand_domain::target::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::callback::CallbackSpec;
use crate::component::AskedOrShown;
use crate::field_errors::FieldErrors;
use crate::object::maybe_object;
use crate::target::{HeaderSpec, HttpTarget, TargetCheck};
use crate::texts::UrlText;
use crate::whole_number::whole_number;
use crate::word::Word;
use crate::words::OnErrorWord;

type Headers = BTreeMap<String, HeaderSpec>;

/// Who is asked before a run, and told after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HooksSpec {
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeHookSpec>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub after: Option<AfterHookSpec>,
}

/// The same, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Hooks")]
pub struct HooksView {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BeforeHookSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<AfterHookSpec>,
}

/// Who is asked ahead of the target, inside the run's lease. A 2xx goes on, and the JSON field `payload` of its answer takes the place of
/// what the run would be given; a 409 ends the run as `skipped: vetoed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BeforeHookRequest", deny_unknown_fields)]
pub struct BeforeHookSpec {
    #[schemars(with = "AskedOrShown<UrlText, String>")]
    pub url: String,
    /// Its own time. It and `timeout_seconds` are at most 840 together.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = HOOK_SECONDS), extend("default" = DEFAULT_HOOK_SECONDS))]
    pub timeout_seconds: Option<u64>,
    #[serde(default)]
    #[schemars(with = "Option<OnErrorWord>", extend("default" = OnError::default()))]
    pub on_error: Option<Word<OnError>>,
    /// As those of a target.
    #[serde(default)]
    #[schemars(with = "AskedOrShown<Option<Headers>, Headers>")]
    #[schemars(extend("maxProperties" = HEADERS), extend("x-max-bytes" = HEADER_BYTES))]
    pub headers: Option<Headers>,
}

/// Who is told of every end of a run: a callback that is told of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AfterHookRequest", deny_unknown_fields)]
pub struct AfterHookSpec {
    #[schemars(with = "AskedOrShown<UrlText, String>")]
    pub url: String,
    /// As those of a target.
    #[serde(default)]
    #[schemars(with = "AskedOrShown<Option<Headers>, Headers>")]
    #[schemars(extend("maxProperties" = HEADERS), extend("x-max-bytes" = HEADER_BYTES))]
    pub headers: Option<Headers>,
}

impl HooksSpec {
    pub(crate) fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Hooks {
        Hooks {
            before: self.before.as_ref().and_then(|before| before.checked(check, errors)),
            after: self.after.as_ref().and_then(|after| after.checked(check, errors)),
        }
    }

    /// Puts what is there in the place of the masks that stand for it.
    pub(crate) fn unmask(&mut self, present: &Hooks) {
        if let (Some(asked), Some(present)) = (&mut self.before, &present.before) {
            let mut target = asked.as_target();
            target.unmask(&present.target);
            asked.headers = target.headers;
        }
        if let (Some(asked), Some(present)) = (&mut self.after, &present.after) {
            let mut callback = asked.as_callback();
            callback.unmask(present);
            asked.headers = callback.headers;
        }
    }
}

impl HooksView {
    /// None where there are none.
    pub(crate) fn of(hooks: &Hooks) -> Option<Self> {
        let before = hooks.before.as_ref().map(BeforeHookSpec::of);
        let after = hooks.after.as_ref().map(AfterHookSpec::of);
        (!hooks.is_empty()).then_some(Self { before, after })
    }
}

impl BeforeHookSpec {
    const AT: &'static str = "/hooks/before";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<BeforeHook> {
        let seconds = self.timeout_seconds.unwrap_or(DEFAULT_HOOK_SECONDS);
        let seconds = errors.in_range("/hooks/before/timeout_seconds", seconds, 1..=HOOK_SECONDS);
        let on_error = errors.word("/hooks/before/on_error", self.on_error.as_ref()).unwrap_or_default();
        let target = self.as_target().checked_at(Self::AT, check, errors)?;
        Some(BeforeHook { target, timeout: Duration::from_secs(seconds), on_error })
    }

    fn of(hook: &BeforeHook) -> Self {
        let HttpTarget { url, headers, .. } = HttpTarget::of(&hook.target);
        Self { url, headers, timeout_seconds: Some(hook.timeout.as_secs()), on_error: Some(hook.on_error.into()) }
    }

    fn as_target(&self) -> HttpTarget {
        HttpTarget { url: self.url.clone(), headers: self.headers.clone(), ..HttpTarget::default() }
    }
}

impl AfterHookSpec {
    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Callback> {
        let callback = self.as_callback().checked("/hooks/after", check, errors)?;
        Some(Callback { place: CallbackPlace::After, on: End::ALL.into(), ..callback })
    }

    fn of(callback: &Callback) -> Self {
        let CallbackSpec { url, headers, .. } = CallbackSpec::of(callback);
        Self { url, headers }
    }

    fn as_callback(&self) -> CallbackSpec {
        CallbackSpec { url: self.url.clone(), headers: self.headers.clone(), on: None }
    }
}

/// Why nobody is asked before a workflow.
pub(crate) const NOT_BEFORE_A_WORKFLOW: &str =
    "does not go with a workflow, which is not called itself: let its first task ask";

/// With the time of whoever is asked before, which an executor must have room for beside that of the call.
pub(crate) fn with_time_for(hooks: &Hooks, target: Option<&Target>, terms: Terms, errors: &mut FieldErrors) -> Terms {
    let Some(before) = &hooks.before else { return terms };
    match target {
        Some(Target::Worker(_)) => {
            errors.add(
                "/hooks/before",
                "does not go with the target `worker`: a worker takes its run by itself, and asks whom it likes",
            );
        }
        Some(Target::Workflow(_)) => {
            errors.add("/hooks/before", NOT_BEFORE_A_WORKFLOW);
        }
        Some(Target::Http(_) | Target::Noop | Target::Service(_)) | None => {}
    }
    let most = Duration::from_secs(TIMEOUT_SECONDS);
    if before.timeout + terms.call() > most {
        let left = TIMEOUT_SECONDS - before.timeout.as_secs();
        errors
            .add("/timeout_seconds", format!("with a hook of {} s before it at most {left}", before.timeout.as_secs()));
    }
    Terms { before: before.timeout, ..terms }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOOKS: &str = r#"{"before": {"url": "https://example.com/", "on_error": "go_on", "headers": {"cookie": "c=1"}},
        "after": {"url": "https://example.com/", "headers": {"x-a": "b"}}}"#;

    fn checked(text: &str) -> (Hooks, FieldErrors) {
        let mut errors = FieldErrors::default();
        let hooks = serde_json::from_str::<HooksSpec>(text).unwrap().checked(&|_| Ok(()), &mut errors);
        (hooks, errors)
    }

    #[test]
    fn what_is_shown_asked_again_is_the_same() {
        let (hooks, _) = checked(HOOKS);
        let shown = serde_json::to_string(&HooksView::of(&hooks).unwrap()).unwrap();
        let mut again: HooksSpec = serde_json::from_str(&shown).unwrap();

        again.unmask(&hooks);

        let mut errors = FieldErrors::default();
        assert!(!shown.contains("c=1"), "{shown}");
        assert_eq!((again.checked(&|_| Ok(()), &mut errors), errors.count()), (hooks, 0));
    }

    #[test]
    fn a_hook_has_bounds() {
        for (text, pointer) in [
            (r#"{"before": {"url": "https://a.b/", "timeout_seconds": 31}}"#, "/hooks/before/timeout_seconds"),
            (r#"{"before": {"url": "https://a.b/", "timeout_seconds": 0}}"#, "/hooks/before/timeout_seconds"),
            (r#"{"before": {"url": "https://a.b/", "on_error": "retry"}}"#, "/hooks/before/on_error"),
            (r#"{"before": {"url": "https://a.b/", "headers": {"x": {"secret": ""}}}}"#, "/hooks/before/headers/x"),
            (r#"{"after": {"url": "https://a.b/", "headers": {"x": {"secret": ""}}}}"#, "/hooks/after/headers/x"),
        ] {
            let refused = checked(text).1.settle(Some(())).unwrap_err();
            assert!(format!("{refused:?}").contains(&format!("{pointer:?}")), "{text}: {refused:?}");
        }
        for text in [r#"{"between": {}}"#, r#"{"before": {"url": "https://a.b/", "on": []}}"#, r#"{"after": []}"#] {
            assert!(serde_json::from_str::<HooksSpec>(text).is_err(), "{text}");
        }
    }
}
