//! How failure is treated, as it is asked for and as it is shown.

use std::time::Duration;

use minutehand_domain::limits::{BACKOFF_SECONDS, RETRIES, SPAN_SECONDS};
use minutehand_domain::retry::{Backoff, Jitter, RetryPolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::FieldErrors;
use crate::whole_number::whole_number;
use crate::word::Word;
use crate::words::{BackoffWord, JitterWord};

/// How failure is treated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RetryRequest", deny_unknown_fields)]
pub struct RetrySpec {
    /// How often a run is tried again after it failed or timed out.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = RETRIES), extend("default" = RetryPolicy::default().max_retries))]
    pub max_retries: Option<u64>,
    #[schemars(with = "Option<BackoffWord>", extend("default" = RetryPolicy::default().backoff))]
    pub backoff: Option<Word<Backoff>>,
    /// The delay before the first retry.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = BACKOFF_SECONDS), extend("default" = RetryPolicy::default().initial_delay.as_secs()))]
    pub initial_delay_seconds: Option<u64>,
    /// No delay is longer: at least the first one.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(max = BACKOFF_SECONDS), extend("default" = RetryPolicy::default().max_delay.as_secs()))]
    pub max_delay_seconds: Option<u64>,
    #[schemars(with = "Option<JitterWord>", extend("default" = RetryPolicy::default().jitter))]
    pub jitter: Option<Word<Jitter>>,
    /// No attempt starts later than this after the first one did.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = SPAN_SECONDS))]
    pub give_up_after_seconds: Option<u64>,
    /// So many failures in a row, each under a second, end the run.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1, max = RETRIES))]
    pub break_after_instant_failures: Option<u64>,
}

impl RetrySpec {
    /// What is not asked for is the default's; the ceiling is at least the first delay.
    pub fn checked(&self, errors: &mut FieldErrors) -> RetryPolicy {
        let usual = RetryPolicy::default();
        let initial_delay = self.initial_delay(errors).unwrap_or(usual.initial_delay);
        RetryPolicy {
            max_retries: self.max_retries(errors).unwrap_or(usual.max_retries),
            backoff: errors.word("/retry/backoff", self.backoff.as_ref()).unwrap_or(usual.backoff),
            initial_delay,
            max_delay: self.max_delay(initial_delay, errors).unwrap_or(usual.max_delay.max(initial_delay)),
            jitter: errors.word("/retry/jitter", self.jitter.as_ref()).unwrap_or(usual.jitter),
            give_up_after: self.give_up_after(errors),
            break_after_instant_failures: self.break_after(errors),
        }
    }

    pub fn of(policy: &RetryPolicy) -> Self {
        Self {
            max_retries: Some(policy.max_retries.into()),
            backoff: Some(policy.backoff.into()),
            initial_delay_seconds: Some(policy.initial_delay.as_secs()),
            max_delay_seconds: Some(policy.max_delay.as_secs()),
            jitter: Some(policy.jitter.into()),
            give_up_after_seconds: policy.give_up_after.map(|span| span.as_secs()),
            break_after_instant_failures: policy.break_after_instant_failures.map(u64::from),
        }
    }

    fn max_retries(&self, errors: &mut FieldErrors) -> Option<u16> {
        count(errors, "/retry/max_retries", self.max_retries?, 0)
    }

    fn break_after(&self, errors: &mut FieldErrors) -> Option<u16> {
        count(errors, "/retry/break_after_instant_failures", self.break_after_instant_failures?, 1)
    }

    fn initial_delay(&self, errors: &mut FieldErrors) -> Option<Duration> {
        Some(seconds(errors, "/retry/initial_delay_seconds", self.initial_delay_seconds?, 0, BACKOFF_SECONDS))
    }

    fn max_delay(&self, initial: Duration, errors: &mut FieldErrors) -> Option<Duration> {
        let least = initial.as_secs().min(BACKOFF_SECONDS);
        Some(seconds(errors, "/retry/max_delay_seconds", self.max_delay_seconds?, least, BACKOFF_SECONDS))
    }

    fn give_up_after(&self, errors: &mut FieldErrors) -> Option<Duration> {
        Some(seconds(errors, "/retry/give_up_after_seconds", self.give_up_after_seconds?, 1, SPAN_SECONDS))
    }
}

fn count(errors: &mut FieldErrors, pointer: &'static str, value: u64, least: u64) -> Option<u16> {
    u16::try_from(errors.in_range(pointer, value, least..=u64::from(RETRIES))).ok()
}

fn seconds(errors: &mut FieldErrors, pointer: &'static str, value: u64, least: u64, most: u64) -> Duration {
    Duration::from_secs(errors.in_range(pointer, value, least..=most))
}
