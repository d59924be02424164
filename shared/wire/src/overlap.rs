//! What becomes of a run whose job has others under way, as it is asked for and as it is shown.

use minutehand_domain::limits::{CONCURRENT_RUNS, QUEUED_RUNS};
use minutehand_domain::overlap::Overlap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::FieldErrors;
use crate::whole_number::whole_number;
use crate::word::Word;

/// What becomes of a run that comes while others of its job are under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OverlapRequest", deny_unknown_fields)]
pub struct OverlapSpec {
    #[schemars(with = "Option<OverlapPolicy>", extend("default" = OverlapPolicy::default()))]
    pub policy: Option<Word<OverlapPolicy>>,
    /// At most so many at once; the others wait. Any number if it is not given. It goes with `allow`.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = CONCURRENT_RUNS))]
    pub max: Option<u64>,
    /// At most so many wait for the one before; the others are skipped. It goes with `queue`.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = QUEUED_RUNS), extend("default" = 1))]
    pub max_waiting: Option<u64>,
}

/// `allow`: it begins beside them. `skip`: it does not run, and its record says so. `queue`: it waits for their end. `cancel_previous`:
/// they are asked to cancel, and it waits for their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OverlapPolicy {
    #[default]
    Allow,
    Skip,
    Queue,
    CancelPrevious,
}

impl OverlapPolicy {
    /// The fields that say nothing under this policy.
    pub fn goes_without(self) -> &'static [&'static str] {
        match self {
            Self::Allow => &["max_waiting"],
            Self::Queue => &["max"],
            Self::Skip | Self::CancelPrevious => &["max", "max_waiting"],
        }
    }
}

impl OverlapSpec {
    pub fn checked(&self, errors: &mut FieldErrors) -> Overlap {
        let found = errors.count();
        let policy = errors.word("/overlap/policy", self.policy.as_ref()).unwrap_or_default();
        if errors.count() > found {
            // Nothing can be said of what goes with it.
            return Overlap::default();
        }
        for (field, given, goes_with) in
            [("max", self.max, "the policy allow"), ("max_waiting", self.max_waiting, "the policy queue")]
        {
            if given.is_some() && policy.goes_without().contains(&field) {
                errors.add(format!("/overlap/{field}"), format!("goes with {goes_with}"));
            }
        }
        match policy {
            OverlapPolicy::Allow => {
                let most = u64::from(CONCURRENT_RUNS);
                Overlap::Allow { max: self.max.map(|max| number("/overlap/max", max, most, errors)) }
            }
            OverlapPolicy::Skip => Overlap::Skip,
            OverlapPolicy::Queue => {
                let waiting = self.max_waiting.unwrap_or(1);
                Overlap::Queue { waiting: number("/overlap/max_waiting", waiting, QUEUED_RUNS.into(), errors) }
            }
            OverlapPolicy::CancelPrevious => Overlap::CancelPrevious,
        }
    }

    /// None where a job has none of its own: its runs overlap.
    pub fn of(overlap: Overlap) -> Option<Self> {
        let (policy, max, max_waiting) = match overlap {
            Overlap::Allow { max: None } => return None,
            Overlap::Allow { max } => (OverlapPolicy::Allow, max, None),
            Overlap::Skip => (OverlapPolicy::Skip, None, None),
            Overlap::Queue { waiting } => (OverlapPolicy::Queue, None, Some(waiting)),
            Overlap::CancelPrevious => (OverlapPolicy::CancelPrevious, None, None),
        };
        Some(Self { policy: Some(policy.into()), max: max.map(u64::from), max_waiting: max_waiting.map(u64::from) })
    }
}

fn number(pointer: &'static str, number: u64, most: u64, errors: &mut FieldErrors) -> u32 {
    u32::try_from(errors.in_range(pointer, number, 1..=most)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_asked_again_is_the_same() {
        let all = [
            Overlap::Allow { max: Some(CONCURRENT_RUNS) },
            Overlap::Skip,
            Overlap::Queue { waiting: 1 },
            Overlap::Queue { waiting: QUEUED_RUNS },
            Overlap::CancelPrevious,
        ];
        for overlap in all {
            let mut errors = FieldErrors::default();
            let shown = OverlapSpec::of(overlap).expect("it is not the default");

            assert_eq!(shown.checked(&mut errors), overlap);
            assert_eq!(errors.count(), 0, "{overlap:?}");
        }
        assert_eq!(OverlapSpec::of(OverlapSpec::default().checked(&mut FieldErrors::default())), None);
    }

    #[test]
    fn what_does_not_go_with_a_policy_is_refused() {
        let rows = [
            (r#"{"policy": "skip", "max": 2}"#, "/overlap/max"),
            (r#"{"policy": "cancel_previous", "max_waiting": 2}"#, "/overlap/max_waiting"),
            (r#"{"max_waiting": 2}"#, "/overlap/max_waiting"),
            (r#"{"policy": "queue", "max": 2}"#, "/overlap/max"),
            (r#"{"max": 0}"#, "/overlap/max"),
            (r#"{"max": 1001}"#, "/overlap/max"),
            (r#"{"policy": "queue", "max_waiting": 0}"#, "/overlap/max_waiting"),
            (r#"{"policy": "queue", "max_waiting": 101}"#, "/overlap/max_waiting"),
            (r#"{"policy": "skipp"}"#, "/overlap/policy"),
        ];
        for (text, pointer) in rows {
            let mut errors = FieldErrors::default();

            let _default = serde_json::from_str::<OverlapSpec>(text).unwrap().checked(&mut errors);

            let refused = errors.settle(Some(())).unwrap_err();
            assert!(format!("{refused:?}").contains(&format!("{pointer:?}")), "{text}: {refused:?}");
        }
    }
}
