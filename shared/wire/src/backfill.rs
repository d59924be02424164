//! A backfill, as it is asked for, and what is answered.

use minutehand_domain::Moment;
use minutehand_domain::job::Job;
use minutehand_domain::limits::{
    BACKFILL_COUNTED, BACKFILL_FIRES_SHOWN, BACKFILL_RUNS, DEFAULT_BACKFILL_RUNS, IDEMPOTENCY_KEY_CHARS, NOTE_CHARS,
};
use minutehand_domain::operation::{Backfill, Fires, OperationId};
use minutehand_domain::priority::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::preview::FireView;
use crate::texts::{JobIdText, Line, OperationIdText};
use crate::whole_number::whole_number;
use crate::word::Word;
use crate::words::PriorityWord;

/// What is to be made up for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackfillRequest {
    /// The first instant that may be among them.
    pub from: Instant,
    /// The first that may not any more. It must not lie in the future: what is to come is the schedule's.
    pub to: Instant,
    /// How many instants at most, from the first on.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = BACKFILL_RUNS), extend("default" = DEFAULT_BACKFILL_RUNS))]
    pub max_runs: Option<u64>,
    /// Of its runs: low if it is not given, so that they delay nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PriorityWord>")]
    pub priority: Option<Priority>,
    /// Why: it stands with the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<NOTE_CHARS>>")]
    pub note: Option<String>,
    /// Count what would be made and show the first, and make nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The same as the header `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    pub idempotency_key: Option<String>,
}

/// A backfill that was begun, or what one would make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Backfill")]
pub struct BackfillView {
    /// The operation; null where it was a dry run.
    #[schemars(with = "Option<OperationIdText>")]
    pub backfill_id: Option<String>,
    pub dry_run: bool,
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    /// How many instants it is about.
    pub runs: u32,
    /// The first of them.
    #[schemars(extend("maxItems" = BACKFILL_FIRES_SHOWN))]
    pub fires: Vec<FireView>,
    /// How many of them have run already and do not run again, as far as a reading of 1,000 runs shows: the operation counts them exactly.
    #[schemars(range(max = BACKFILL_COUNTED))]
    pub already: u32,
    /// Where the span has more instants than that: the first that is left, for another backfill.
    pub next_from: Option<Instant>,
    #[schemars(with = "PriorityWord")]
    pub priority: Word<Priority>,
}

impl BackfillRequest {
    /// The span, how many at most and how urgent, and the note.
    #[expect(clippy::type_complexity, reason = "four things, each of which its name says where it is taken")]
    pub fn checked(&self, now: Moment) -> Result<((Moment, Moment), u32, Priority, Option<String>), RequestRefusal> {
        let mut errors = FieldErrors::default();
        let (from, to) = (self.from.0, self.to.0);
        if from >= to {
            errors.add("/from", format!("must lie before {to}"));
        }
        if to > now {
            errors.add("/to", format!("must not lie after now, {now}: what is to come is the schedule's"));
        }
        if let Some(note) = &self.note {
            errors.line("/note", note, NOTE_CHARS);
        }
        let most = self.max_runs.unwrap_or(DEFAULT_BACKFILL_RUNS.into());
        let most = errors.in_range("/max_runs", most, 1..=BACKFILL_RUNS.into());
        let priority = self.priority.unwrap_or(Priority::Low);
        errors.settle(Some(((from, to), u32::try_from(most).unwrap_or(BACKFILL_RUNS), priority, self.note.clone())))
    }
}

impl BackfillView {
    /// Of an operation, or, without one, of what it would make.
    pub fn of(id: Option<OperationId>, job: &Job, backfill: &Backfill, fires: &Fires, already: u32) -> Self {
        Self {
            backfill_id: id.map(|id| id.to_string()),
            dry_run: id.is_none(),
            job_id: job.id.to_string(),
            runs: fires.count,
            fires: fires.first.iter().map(|at| FireView::new(&backfill.schedule, *at, job.nominal_of(*at))).collect(),
            already,
            next_from: fires.next.map(Instant),
            priority: backfill.priority.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    #[test]
    fn a_span_lies_in_the_past_and_is_bounded() {
        let (before, day) = (NOW - std::time::Duration::from_secs(86_400), 86_400);
        for (from, to, most, wrong) in [
            (before, NOW, None, None),
            (before, NOW, Some(10_000), None),
            (Moment::EPOCH, before, Some(1), None),
            (before, before, None, Some("/from")),
            (NOW, before, None, Some("/from")),
            (before, NOW + std::time::Duration::from_secs(day), None, Some("/to")),
            (before, NOW, Some(0), Some("/max_runs")),
            (before, NOW, Some(10_001), Some("/max_runs")),
        ] {
            let request = BackfillRequest {
                from: Instant(from),
                to: Instant(to),
                max_runs: most,
                priority: None,
                note: None,
                dry_run: false,
                idempotency_key: None,
            };

            let found = request.checked(NOW).err().map(|no| no.errors[0].pointer.clone());
            assert_eq!(found.as_deref(), wrong, "{from} {to} {most:?}");
        }
    }
}
