//! What becomes of missed occurrences, as it is asked for and as it is shown.

use std::time::Duration;

use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::limits::{
    CATCH_UP_RUNS, CATCH_UP_WINDOW_SECONDS, DEFAULT_CATCH_UP_RUNS, DEFAULT_CATCH_UP_WINDOW_SECONDS,
    LEAST_CATCH_UP_WINDOW_SECONDS, RATE_PER_MINUTE,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::FieldErrors;
use crate::whole_number::whole_number;
use crate::word::Word;

/// What becomes of occurrences that an outage kept from starting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CatchUpRequest", deny_unknown_fields)]
pub struct CatchUpSpec {
    #[schemars(with = "Option<CatchUpPolicy>", extend("default" = CatchUpPolicy::default()))]
    pub policy: Option<Word<CatchUpPolicy>>,
    /// At most so many of the newest are made up for. It goes with `all`.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = CATCH_UP_RUNS), extend("default" = DEFAULT_CATCH_UP_RUNS))]
    pub max_runs: Option<u64>,
    /// What is later than this is never made up for. It does not go with `none`.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(
        range(min = LEAST_CATCH_UP_WINDOW_SECONDS, max = CATCH_UP_WINDOW_SECONDS),
        extend("default" = DEFAULT_CATCH_UP_WINDOW_SECONDS)
    )]
    pub window_seconds: Option<u64>,
    /// Of what is made up for at most so many begin in a minute, whatever its tenant's quota allows beyond that. It goes with `all`.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = RATE_PER_MINUTE))]
    pub rate_per_minute: Option<u64>,
}

/// `last`: the last one fires, for all of them. `none`: nothing that is more than five minutes late. `all`: each fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CatchUpPolicy {
    #[default]
    Last,
    None,
    All,
}

impl CatchUpPolicy {
    /// The fields that say nothing under this policy.
    pub fn goes_without(self) -> &'static [&'static str] {
        match self {
            Self::Last => &["max_runs", "rate_per_minute"],
            Self::None => &["max_runs", "window_seconds", "rate_per_minute"],
            Self::All => &[],
        }
    }
}

impl CatchUpSpec {
    pub fn checked(&self, errors: &mut FieldErrors) -> CatchUp {
        let found = errors.count();
        let policy = errors.word("/catch_up/policy", self.policy.as_ref()).unwrap_or_default();
        if errors.count() > found {
            // Nothing can be said of what goes with it.
            return CatchUp::default();
        }
        for (field, given) in [
            ("max_runs", self.max_runs),
            ("window_seconds", self.window_seconds),
            ("rate_per_minute", self.rate_per_minute),
        ] {
            if given.is_some() && policy.goes_without().contains(&field) {
                errors.add(format!("/catch_up/{field}"), goes_with(field));
            }
        }
        match policy {
            CatchUpPolicy::Last => CatchUp::Last { window: self.window(errors) },
            CatchUpPolicy::None => CatchUp::None,
            CatchUpPolicy::All => CatchUp::All {
                window: self.window(errors),
                max_runs: self.max_runs(errors),
                per_minute: self.per_minute(errors),
            },
        }
    }

    /// With what it was given for want of a wish.
    pub fn of(catch_up: &CatchUp) -> Self {
        let (policy, window, max_runs) = match catch_up {
            CatchUp::Last { window } => (CatchUpPolicy::Last, Some(window), None),
            CatchUp::None => (CatchUpPolicy::None, None, None),
            CatchUp::All { window, max_runs, .. } => (CatchUpPolicy::All, Some(window), Some(*max_runs)),
        };
        Self {
            policy: Some(policy.into()),
            max_runs: max_runs.map(u64::from),
            window_seconds: window.map(Duration::as_secs),
            rate_per_minute: catch_up.per_minute().map(u64::from),
        }
    }

    fn window(&self, errors: &mut FieldErrors) -> Duration {
        let Some(seconds) = self.window_seconds else { return CatchUp::DEFAULT_WINDOW };
        let range = LEAST_CATCH_UP_WINDOW_SECONDS..=CATCH_UP_WINDOW_SECONDS;
        Duration::from_secs(errors.in_range("/catch_up/window_seconds", seconds, range))
    }

    fn per_minute(&self, errors: &mut FieldErrors) -> Option<u32> {
        let rate = errors.in_range("/catch_up/rate_per_minute", self.rate_per_minute?, 1..=RATE_PER_MINUTE);
        u32::try_from(rate).ok()
    }

    fn max_runs(&self, errors: &mut FieldErrors) -> u32 {
        let Some(runs) = self.max_runs else { return CatchUp::DEFAULT_RUNS };
        let runs = errors.in_range("/catch_up/max_runs", runs, 1..=u64::from(CATCH_UP_RUNS));
        u32::try_from(runs).unwrap_or(CATCH_UP_RUNS)
    }
}

fn goes_with(field: &str) -> &'static str {
    if field == "window_seconds" { "goes with the policies last and all" } else { "goes with the policy all" }
}
