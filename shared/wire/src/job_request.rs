//! A job as it is asked for: every field has a bound and a default; one that is null is one that is not given.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::{self, Body};
use minutehand_domain::health::Extent;
use minutehand_domain::id::JobId;
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::limits::{
    DEFAULT_RETENTION_DAYS, DEFAULT_TIMEOUT_SECONDS, IDEMPOTENCY_KEY_CHARS, NAME_CHARS, PAYLOAD_BYTES, RETENTION_DAYS,
    SECRETS_OF_A_CALL, SLA_SECONDS, TAGS, WORD_CHARS, WORKFLOW_SECONDS,
};
use minutehand_domain::order::Delivery;
use minutehand_domain::priority::Priority;
use minutehand_domain::retention::Retention;
use minutehand_domain::schedule::{Schedule, Spread};
use minutehand_domain::secret::{SecretName, marked};
use minutehand_domain::target::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::Json;
use crate::bounds::{ConcurrencySpec, RateSpec, bounds};
use crate::callback::CallbackSpec;
use crate::catch_up::CatchUpSpec;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::hooks::{HooksSpec, with_time_for};
use crate::object::maybe_object;
use crate::overlap::OverlapSpec;
use crate::problem::FieldError;
use crate::retry::RetrySpec;
use crate::schedule::ScheduleSpec;
use crate::target::{TargetCheck, TargetSpec, asked};
use crate::texts::Line;
use crate::whole_number::whole_number;
use crate::words::{DeliveryWord, HealthExtentWord, PriorityWord};

/// A job as it is asked for. What is null is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// For people, and to be listed by.
    #[schemars(with = "Option<Line<NAME_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whom to ask about it; lists filter by it.
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Words that lists filter by.
    #[schemars(with = "Option<Vec<Line<WORD_CHARS>>>", length(max = TAGS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Once, now, if it is not given.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleSpec>,
    #[serde(deserialize_with = "asked")]
    pub target: TargetSpec,
    /// Any JSON, given to the target as it is written here.
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    #[schemars(with = "Option<PriorityWord>", extend("default" = Priority::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// How long an attempt may take: at most 840, a week for a worker and for an HTTP target that takes its runs on. A run of a workflow may
    /// take as long as the workflow says, or less where it is said here.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = WORKFLOW_SECONDS), extend("default" = DEFAULT_TIMEOUT_SECONDS))]
    pub timeout_seconds: Option<u64>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySpec>,
    #[schemars(with = "Option<DeliveryWord>", extend("default" = Delivery::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUpSpec>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapSpec>,
    /// Who is told of the end of a run.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackSpec>,
    /// Who is asked before a run, and told after it.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksSpec>,
    /// What `health` of the job is made of.
    #[schemars(with = "Option<HealthExtentWord>", extend("default" = Extent::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Extent>,
    /// How long after it was due a run is to have ended. One that has not goes on; it is told of, and shows it.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = SLA_SECONDS))]
    pub sla_seconds: Option<u64>,
    /// For how many days what is over of it is kept: its runs, with all they left. The tenant's quota stands for what is not said, and bounds what
    /// is.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = RETENTION_DAYS), extend("default" = DEFAULT_RETENTION_DAYS))]
    pub retention_days: Option<u64>,
    /// How many runs that share a key may be under way at once. Runs beyond that wait for a place.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<ConcurrencySpec>,
    /// How many attempts that share a key may begin in a minute. Those beyond that begin later.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSpec>,
    /// The same as the header `Idempotency-Key`, and its only form inside a batch.
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// What a request means, seen from one instant.
pub struct CheckedJob {
    pub schedule: Schedule,
    /// Its payload is empty still.
    pub definition: Definition,
    pub payload: Option<body::Json>,
    /// The secrets that its calls need.
    pub secrets: BTreeSet<SecretName>,
}

impl JobRequest {
    /// The same request of a job that is there, whose credentials were shown as masks.
    #[must_use]
    pub fn unmasked(mut self, present: &Definition) -> Self {
        self.target.unmask(&present.target);
        if let (Some(asked), Some(present)) = (&mut self.callback, &present.callback) {
            asked.unmask(present);
        }
        if let Some(asked) = &mut self.hooks {
            asked.unmask(&present.hooks);
        }
        self
    }

    /// As the wish for the job of this id.
    pub fn checked(mut self, id: JobId, now: Moment, check: TargetCheck<'_>) -> Result<CheckedJob, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let schedule = self.schedule.take().unwrap_or_default().checked(Spread::of(id), now, &mut errors);
        self.checked_beside(schedule, check, errors)
    }

    /// The same of a job that is there.
    pub fn checked_over(
        mut self,
        job: &Job,
        now: Moment,
        check: TargetCheck<'_>,
    ) -> Result<CheckedJob, RequestRefusal> {
        let (mut errors, asked) = (FieldErrors::default(), self.schedule.take().unwrap_or_default());
        let schedule = asked.checked_over(&job.schedule, Spread::of(job.id), now, &mut errors);
        self.checked_beside(schedule, check, errors)
    }

    fn checked_beside(
        self,
        schedule: Option<Schedule>,
        check: TargetCheck<'_>,
        mut errors: FieldErrors,
    ) -> Result<CheckedJob, RequestRefusal> {
        let (pointer, payload) = self.target.given(self.payload.as_ref(), &mut errors);
        let (payload, mut secrets) = payload_of(pointer, payload)?;
        self.words(&mut errors);
        let terms = self.target.terms(self.timeout_seconds, self.retry.as_ref(), self.delivery, &mut errors);
        let bounds = bounds(self.concurrency.as_ref(), self.rate.as_ref(), &mut errors);
        let catch_up = self.catch_up.as_ref().map(|catch_up| catch_up.checked(&mut errors)).unwrap_or_default();
        let overlap = self.overlap.as_ref().map(|overlap| overlap.checked(&mut errors)).unwrap_or_default();
        let sla = sla(self.sla_seconds, &mut errors);
        let retention = retention(self.retention_days, &mut errors);
        let target = self.target.checked(check, &mut errors);
        let callback = self.callback.as_ref().and_then(|callback| callback.checked("/callback", check, &mut errors));
        let hooks = self.hooks.as_ref().map(|hooks| hooks.checked(check, &mut errors)).unwrap_or_default();
        let terms = with_time_for(&hooks, target.as_ref(), terms, &mut errors);
        if let Some(target) = &target {
            can_claim_effects(target, terms.delivery, &mut errors);
        }
        fits(target.as_ref(), pointer, payload.as_ref(), &mut errors);
        secrets.extend(target.iter().flat_map(Target::secrets));
        if secrets.len() > SECRETS_OF_A_CALL {
            errors.add("", format!("a call needs at most {SECRETS_OF_A_CALL} secrets; this names {}", secrets.len()));
        }
        secrets.extend(callback.iter().flat_map(|callback| callback.target.secrets()).chain(hooks.secrets()));
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
            sla,
            bounds,
            overlap,
            callback,
            hooks,
            health: self.health.unwrap_or_default(),
            retention,
        };
        Ok(CheckedJob { schedule, definition, payload, secrets })
    }

    fn words(&self, errors: &mut FieldErrors) {
        if let Some(name) = &self.name {
            errors.line("/name", name, NAME_CHARS);
        }
        owner_and_tags(self.owner.as_deref(), self.tags.as_deref(), errors);
    }
}

/// How long after it was due a run is to have ended.
pub(crate) fn sla(seconds: Option<u64>, errors: &mut FieldErrors) -> Option<Duration> {
    seconds.map(|seconds| Duration::from_secs(errors.in_range("/sla_seconds", seconds, 1..=SLA_SECONDS)))
}

/// For how long what is over is kept.
pub(crate) fn retention(days: Option<u64>, errors: &mut FieldErrors) -> Option<Retention> {
    let days = errors.in_range("/retention_days", days?, 1..=u64::from(RETENTION_DAYS));
    u16::try_from(days).ok().and_then(Retention::of_days)
}

/// Effects are claimed with the token of a lease: what is given none can claim none.
pub(crate) fn can_claim_effects(target: &Target, delivery: Delivery, errors: &mut FieldErrors) {
    let is_given_a_token = matches!(target, Target::Http(_) | Target::Worker(_));
    if delivery == Delivery::EffectivelyOnce && !is_given_a_token {
        errors
            .add("/delivery", "`effectively_once` goes with the targets `http` and `worker`, which can claim effects");
    }
}

/// Whether the target takes so much.
fn fits(target: Option<&Target>, pointer: &str, payload: Option<&body::Json>, errors: &mut FieldErrors) {
    if let (Some(Target::Service(service)), Some(payload)) = (target, payload) {
        let (kind, most) = (service.asks.kind(), service.asks.kind().payload_bytes());
        if payload.len() > most {
            errors.add(pointer, format!("a target of the kind `{}` takes at most {most} bytes", kind.as_str()));
        }
    }
}

/// The words that lists filter by.
pub(crate) fn owner_and_tags(owner: Option<&str>, tags: Option<&[String]>, errors: &mut FieldErrors) {
    if let Some(owner) = owner {
        errors.line("/owner", owner, WORD_CHARS);
    }
    let tags = tags.unwrap_or_default();
    if tags.len() > TAGS {
        errors.add("/tags", format!("at most {TAGS} tags"));
        return;
    }
    for (index, tag) in tags.iter().enumerate() {
        errors.line(format!("/tags/{index}"), tag, WORD_CHARS);
    }
}

/// The payload's text, kept as it is but for white space and the marks of its references, and the secrets that these name; too
/// large is 413 wherever the body itself passed.
pub(crate) fn payload_of(
    pointer: &str,
    json: Option<&Json>,
) -> Result<(Option<body::Json>, BTreeSet<SecretName>), RequestRefusal> {
    let refused = |detail, too_large| {
        let errors = vec![FieldError { pointer: pointer.to_owned(), detail }];
        RequestRefusal { errors, too_large }
    };
    let Some(payload) = json.map(|json| body::Json::compact(json.raw())) else { return Ok((None, BTreeSet::new())) };
    if payload.len() > PAYLOAD_BYTES {
        return Err(refused(format!("a payload has at most {PAYLOAD_BYTES} bytes"), true));
    }
    let (payload, secrets) =
        marked(&payload).map_err(|why| refused(format!("{{\"secret\": …}} in it names none: {why}"), false))?;
    if secrets.len() > SECRETS_OF_A_CALL {
        return Err(refused(format!("a call needs at most {SECRETS_OF_A_CALL} secrets"), false));
    }
    Ok((Some(payload), secrets))
}
