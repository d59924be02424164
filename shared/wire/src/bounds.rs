//! With whom the runs of a job, or of a task, share a limit: as it is asked for and as it is shown.

use minutehand_domain::limits::{CONCURRENT_RUNS, LIMIT_KEY_CHARS, RATE_PER_MINUTE};
use minutehand_domain::slot::{Bounds, Concurrency, LimitKey, NotALimitKey, Rate};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::field_errors::FieldErrors;
use crate::texts::Line;
use crate::whole_number::whole_number;

/// At most so many runs that share the key at once, whichever jobs they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConcurrencyRequest", deny_unknown_fields, transform = all_are_required)]
pub struct ConcurrencySpec {
    /// What those who share the limit call it.
    #[schemars(with = "Line<LIMIT_KEY_CHARS>")]
    #[serde(default)]
    pub key: String,
    /// How many at once. A run is judged by what its own job says here.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(with = "u64", range(min = 1, max = CONCURRENT_RUNS))]
    pub limit: Option<u64>,
}

/// At most so many attempts that share the key begin in a minute, evenly apart, whichever jobs they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RateRequest", deny_unknown_fields, transform = all_are_required)]
pub struct RateSpec {
    /// What those who share the limit call it.
    #[schemars(with = "Line<LIMIT_KEY_CHARS>")]
    #[serde(default)]
    pub key: String,
    /// How many in a minute.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(with = "u64", range(min = 1, max = RATE_PER_MINUTE))]
    pub per_minute: Option<u64>,
}

/// A field that is missing is read as one that is wrong, so that all that is wrong is told at once; but none may be.
fn all_are_required(schema: &mut Schema) {
    let Some(Value::Object(fields)) = schema.get_mut("properties") else { return };
    for field in fields.values_mut().filter_map(Value::as_object_mut) {
        field.remove("default");
    }
    let names = fields.keys().cloned().map(Value::String).collect();
    schema.insert("required".to_owned(), Value::Array(names));
}

/// What both mean together.
pub(crate) fn bounds(
    concurrency: Option<&ConcurrencySpec>,
    rate: Option<&RateSpec>,
    errors: &mut FieldErrors,
) -> Bounds {
    let concurrency = concurrency.and_then(|concurrency| {
        let key = key("/concurrency/key", &concurrency.key, errors);
        let limit = number("/concurrency/limit", concurrency.limit, CONCURRENT_RUNS.into(), errors);
        key.zip(limit).map(|(key, limit)| Concurrency { key, limit })
    });
    let rate = rate.and_then(|rate| {
        let key = key("/rate/key", &rate.key, errors);
        let per_minute = number("/rate/per_minute", rate.per_minute, RATE_PER_MINUTE, errors);
        key.zip(per_minute).map(|(key, per_minute)| Rate { key, per_minute })
    });
    Bounds { concurrency, rate }
}

fn key(pointer: &'static str, key: &str, errors: &mut FieldErrors) -> Option<LimitKey> {
    key.parse().map_err(|not_a_key: NotALimitKey| errors.add(pointer, not_a_key.to_string())).ok()
}

fn number(pointer: &'static str, number: Option<u64>, most: u64, errors: &mut FieldErrors) -> Option<u32> {
    let Some(number) = number else {
        errors.add(pointer, format!("must be given, from 1 to {most}"));
        return None;
    };
    u32::try_from(errors.in_range(pointer, number, 1..=most)).ok()
}

impl ConcurrencySpec {
    pub fn of(bounds: &Bounds) -> Option<Self> {
        let Concurrency { key, limit } = bounds.concurrency.as_ref()?;
        Some(Self { key: key.to_string(), limit: Some((*limit).into()) })
    }
}

impl RateSpec {
    pub fn of(bounds: &Bounds) -> Option<Self> {
        let Rate { key, per_minute } = bounds.rate.as_ref()?;
        Some(Self { key: key.to_string(), per_minute: Some((*per_minute).into()) })
    }
}
