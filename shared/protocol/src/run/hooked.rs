//! What a hook is told of a run whose target is about to be called, and what it answers with.

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::run::Run;
use minutehand_wire::run_view::Bodies;
use minutehand_wire::{BodyView, RunToldView, RunView};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::callback::data;

/// A text as long as this is what is kept of an answer that was no JSON, or of one that was longer than what is read.
const CUT_BYTES: usize = 4_000;

/// The run, and what it would be given.
pub fn told_before(run: &Run, payload: Option<&Json>, now: Moment) -> Json {
    let bodies = Bodies { payload: BodyView::of(payload), result: BodyView::Null };
    let view = RunView::of(run, &run.attempts, bodies, now);
    data(&RunToldView::of("starting", now, view))
}

/// What an answer gives the run in the place of what it would be given: the field `payload` of an object, if there is one; also where the
/// answer did not say that it is JSON, and so is known as a text. An answer of which only the beginning is known gives nobody knows what.
#[expect(clippy::result_unit_err, reason = "nothing is known of what cannot be known")]
pub fn given_by(answer: &Json) -> Result<Option<Json>, ()> {
    #[derive(Deserialize)]
    struct Gives<'a> {
        #[serde(borrow)]
        payload: Option<&'a RawValue>,
    }

    if answer.as_str().starts_with('"') && answer.len() >= CUT_BYTES {
        return Err(());
    }
    let text = serde_json::from_str::<String>(answer.as_str()).ok();
    let said = text.as_deref().unwrap_or(answer.as_str()).trim_start();
    // Of a list serde would read the fields in their order.
    let gives = said.starts_with('{').then(|| serde_json::from_str::<Gives<'_>>(said).ok()).flatten();
    Ok(gives.and_then(|gives| gives.payload).map(Json::compact))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_gives_the_payload_that_it_has() {
        let given = |answer| given_by(&Json::of(&answer));

        assert_eq!(given(json!({"payload": {"a": 1.50}, "more": 1})), Ok(Some(Json::of(&json!({"a": 1.50})))));
        assert_eq!(given(json!({"payload": null})), Ok(None));
        assert_eq!(given(json!({"ok": true})), Ok(None));
        assert_eq!(given(json!("OK")), Ok(None));
        assert_eq!(
            given(json!("\n{\"payload\": {\"a\": 1}}")),
            Ok(Some(Json::of(&json!({"a": 1})))),
            "it did not say that it is JSON"
        );
        assert_eq!(given(json!("{\"payload\": ")), Ok(None));
        assert_eq!(given(json!("[{\"payload\": 1}]")), Ok(None));
        assert_eq!(given(json!([{"payload": 1}])), Ok(None));
        assert_eq!(given(json!("x".repeat(CUT_BYTES))), Err(()));
    }
}
