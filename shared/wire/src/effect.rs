//! An effect of a run on the wire: claimed before it is made, with what came of it.

use minutehand_domain::body;
use minutehand_domain::limits::{OUTCOME_BYTES, PAGE};
use minutehand_domain::run::effect::{Answer, Effect, EffectName, NotAnEffectName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::{BodyView, Json};
use crate::field_errors::RequestRefusal;
use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::problem::FieldError;
use crate::texts::{CursorText, EffectText, TokenText};

/// The holder of a run is about to make an effect, or says what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectRequest {
    /// What the run calls it.
    #[schemars(with = "EffectText")]
    pub key: String,
    /// Of the run's lease.
    #[schemars(with = "TokenText")]
    pub token: String,
    /// What came of it: any JSON but null. Without one the effect is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = OUTCOME_BYTES))]
    pub outcome: Option<Json>,
}

/// The same of an effect that the path names.
// Written out, and not flattened into the one above: serde would buffer the outcome, whose text is to be kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectByPathRequest {
    /// Of the run's lease.
    #[schemars(with = "TokenText")]
    pub token: String,
    /// What came of it: any JSON but null. Without one the effect is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = OUTCOME_BYTES))]
    pub outcome: Option<Json>,
}

/// What is known of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Effect")]
pub struct EffectView {
    /// What the run calls it.
    #[schemars(with = "EffectText")]
    pub key: String,
    pub claimed_at: Instant,
    /// The attempt that claimed it.
    pub attempt: u32,
    /// What came of it; null where nobody has said so, and it was made perhaps.
    pub outcome: BodyView,
    /// When that was said.
    pub said_at: Option<Instant>,
    /// How often somebody was about to make it again, and was told of it instead.
    pub prevented: u32,
}

/// What the holder of a run is answered.
// Not flattened: serde would buffer the outcome, and a JSON text that is kept as it is cannot be read out of a buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EffectAnswer")]
pub struct EffectAnswerView {
    /// Whether the effect is to be made now. Where it is not, it was claimed before: the outcome says what came of it, or nobody did.
    pub first: bool,
    /// What the run calls it.
    #[schemars(with = "EffectText")]
    pub key: String,
    pub claimed_at: Instant,
    /// The attempt that claimed it.
    pub attempt: u32,
    /// What came of it; null where nobody has said so, and it was made perhaps.
    pub outcome: BodyView,
    /// When that was said.
    pub said_at: Option<Instant>,
    /// How often somebody was about to make it again, and was told of it instead.
    pub prevented: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

impl EffectRequest {
    /// Which effect, and what came of it, where that is said.
    pub fn checked(&self) -> Result<(EffectName, Option<body::Json>), RequestRefusal> {
        let no_name = |why: NotAnEffectName| {
            let errors = vec![FieldError { pointer: "/key".to_owned(), detail: why.to_string() }];
            RequestRefusal { errors, too_large: false }
        };
        Ok((self.key.parse().map_err(no_name)?, short_enough(self.outcome.as_ref())?))
    }
}

impl EffectByPathRequest {
    /// What came of it, where that is said.
    pub fn checked(&self) -> Result<Option<body::Json>, RequestRefusal> {
        short_enough(self.outcome.as_ref())
    }
}

fn short_enough(outcome: Option<&Json>) -> Result<Option<body::Json>, RequestRefusal> {
    let outcome = outcome.map(|json| body::Json::compact(json.raw()));
    if outcome.as_ref().is_some_and(|json| json.len() > OUTCOME_BYTES) {
        let detail = format!("an outcome has at most {OUTCOME_BYTES} bytes");
        let errors = vec![FieldError { pointer: "/outcome".to_owned(), detail }];
        return Err(RequestRefusal { errors, too_large: true });
    }
    Ok(outcome)
}

impl EffectView {
    pub fn of(effect: &Effect) -> Self {
        Self {
            key: effect.name.to_string(),
            claimed_at: Instant(effect.claimed.at),
            attempt: effect.claimed.fence,
            outcome: BodyView::of(effect.outcome.as_ref().map(|told| &told.outcome)),
            said_at: effect.outcome.as_ref().map(|told| Instant(told.at)),
            prevented: effect.prevented,
        }
    }
}

impl EffectAnswerView {
    pub fn of(answer: &Answer) -> Self {
        let EffectView { key, claimed_at, attempt, outcome, said_at, prevented } = EffectView::of(answer.effect());
        Self { first: matches!(answer, Answer::First(_)), key, claimed_at, attempt, outcome, said_at, prevented }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let text = r#"{"first":false,"key":"charge","claimed_at":"2027-01-15T08:00:00.000Z","attempt":1,"outcome":{"id":"ch_1"},"said_at":null,"prevented":2}"#;

        let answer: EffectAnswerView = serde_json::from_str(text).unwrap();

        assert_eq!((answer.outcome.text(), answer.prevented), (Some(r#"{"id":"ch_1"}"#), 2));
        assert_eq!(serde_json::to_string(&answer).unwrap(), text);
    }
}
