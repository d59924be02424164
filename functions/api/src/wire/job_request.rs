//! A job as it is asked for. Every field has a bound and a default; one that is null is one that is not given.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::JobId;
use minutehand_domain::job::Definition;
use minutehand_domain::limits::{
    DEFAULT_TIMEOUT_SECONDS, IDEMPOTENCY_KEY_CHARS, NAME_CHARS, PAYLOAD_BYTES, TAGS, TIMEOUT_SECONDS, WORD_CHARS,
};
use minutehand_domain::order::{Delivery, Terms};
use minutehand_domain::priority::Priority;
use minutehand_domain::schedule::{Schedule, Spread};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::catch_up_request::CatchUpRequest;
use super::object::{maybe_object, object};
use super::retry_request::RetryRequest;
use super::schedule_request::ScheduleRequest;
use super::target_request::TargetRequest;
use super::texts::Line;
use super::whole_number::whole_number;
use super::words::{DeliveryWord, PriorityWord};
use crate::app_state::TargetCheck;
use crate::field_errors::FieldErrors;
use crate::problem::{Kind, Problem};

/// A job as it is asked for. What is null is not given.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRequest<'a> {
    /// For people, and to be listed by.
    #[schemars(with = "Option<Line<NAME_CHARS>>")]
    name: Option<String>,
    /// Whom to ask about it; lists filter by it.
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    owner: Option<String>,
    /// Words that lists filter by.
    #[schemars(with = "Option<Vec<Line<WORD_CHARS>>>", length(max = TAGS))]
    tags: Option<Vec<String>>,
    /// Once, now, if it is not given.
    #[serde(default, deserialize_with = "maybe_object")]
    schedule: Option<ScheduleRequest>,
    #[serde(deserialize_with = "object")]
    target: TargetRequest,
    /// Any JSON, given to the target as it is written here.
    #[serde(borrow)]
    #[schemars(with = "Option<Value>", extend("x-max-bytes" = PAYLOAD_BYTES))]
    payload: Option<&'a RawValue>,
    #[schemars(with = "Option<PriorityWord>", extend("default" = Priority::default()))]
    priority: Option<Priority>,
    /// How long an attempt may take.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = TIMEOUT_SECONDS), extend("default" = DEFAULT_TIMEOUT_SECONDS))]
    timeout_seconds: Option<u64>,
    #[serde(default, deserialize_with = "maybe_object")]
    retry: Option<RetryRequest>,
    #[schemars(with = "Option<DeliveryWord>", extend("default" = Delivery::default()))]
    delivery: Option<Delivery>,
    #[serde(default, deserialize_with = "maybe_object")]
    catch_up: Option<CatchUpRequest>,
    /// The same as the header `Idempotency-Key`, and its only form inside a batch.
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    pub idempotency_key: Option<String>,
}

/// What a request means, seen from one instant.
pub(crate) struct Understood {
    pub schedule: Schedule,
    /// Its payload is empty still.
    pub definition: Definition,
    pub payload: Option<Json>,
}

impl JobRequest<'_> {
    /// As the wish for the job of this id.
    pub(crate) fn understood(mut self, id: JobId, now: Moment, check: &TargetCheck) -> Result<Understood, Problem> {
        let mut errors = FieldErrors::default();
        let schedule = self.schedule.take().unwrap_or_default().understood(Spread::of(id), now, &mut errors);
        self.understood_beside(schedule, check, errors)
    }

    /// With a schedule that was understood before.
    pub(crate) fn understood_with(self, schedule: Schedule, check: &TargetCheck) -> Result<Understood, Problem> {
        self.understood_beside(Some(schedule), check, FieldErrors::default())
    }

    fn understood_beside(
        self,
        schedule: Option<Schedule>,
        check: &TargetCheck,
        mut errors: FieldErrors,
    ) -> Result<Understood, Problem> {
        let payload = payload_of(self.payload)?;
        self.words(&mut errors);
        let terms = self.terms(&mut errors);
        let catch_up = self.catch_up.as_ref().map(|catch_up| catch_up.understood(&mut errors)).unwrap_or_default();
        let target = self.target.understood(check, &mut errors);
        let (schedule, target) = errors.settle(schedule.zip(target))?;
        let definition = Definition {
            name: self.name,
            owner: self.owner,
            tags: self.tags.unwrap_or_default().into_iter().collect::<BTreeSet<_>>(),
            target,
            payload: Body::Empty,
            priority: self.priority.unwrap_or_default(),
            terms,
            catch_up,
        };
        Ok(Understood { schedule, definition, payload })
    }

    fn words(&self, errors: &mut FieldErrors) {
        if let Some(name) = &self.name {
            errors.line("/name", name, NAME_CHARS);
        }
        if let Some(owner) = &self.owner {
            errors.line("/owner", owner, WORD_CHARS);
        }
        let tags = self.tags.as_deref().unwrap_or_default();
        if tags.len() > TAGS {
            errors.add("/tags", format!("at most {TAGS} tags"));
            return;
        }
        for (index, tag) in tags.iter().enumerate() {
            errors.line(format!("/tags/{index}"), tag, WORD_CHARS);
        }
    }

    fn terms(&self, errors: &mut FieldErrors) -> Terms {
        let timeout = self.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
        Terms {
            timeout: Duration::from_secs(errors.in_range("/timeout_seconds", timeout, 1..=TIMEOUT_SECONDS)),
            retry: self.retry.as_ref().map(|retry| retry.understood(errors)).unwrap_or_default(),
            delivery: self.delivery.unwrap_or_default(),
        }
    }
}

/// The payload's text, kept as it is but for white space; too large is 413 wherever the body itself passed.
pub(crate) fn payload_of(raw: Option<&RawValue>) -> Result<Option<Json>, Problem> {
    let payload = raw.map(Json::compact);
    if payload.as_ref().is_some_and(|json| json.len() > PAYLOAD_BYTES) {
        let detail = format!("a payload has at most {PAYLOAD_BYTES} bytes");
        return Err(Problem::field(Kind::TooLarge, "/payload", detail));
    }
    Ok(payload)
}
