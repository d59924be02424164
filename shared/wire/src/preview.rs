//! What a schedule means, in words and in instants.

use minutehand_domain::Moment;
use minutehand_domain::limits::PREVIEW_FIRES;
use minutehand_domain::schedule::cron::Note;
use minutehand_domain::schedule::{Schedule, Spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::object::object;
use crate::schedule::ScheduleSpec;
use crate::whole_number::whole_number;
use crate::word::Word;
use crate::words::NoteWord;

/// How many fires are shown where nobody says how many.
const DEFAULT_FIRES: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    #[serde(deserialize_with = "object")]
    pub schedule: ScheduleSpec,
    /// Fires strictly after this are shown: from now on if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// How many at most.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = PREVIEW_FIRES), extend("default" = DEFAULT_FIRES))]
    pub count: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PREVIEW_FIRES), extend("default" = DEFAULT_FIRES))]
    pub count: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewView {
    /// The schedule in words.
    pub description: String,
    pub fires: Vec<FireView>,
    /// Nothing fires after these.
    pub exhausted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FireView {
    pub at: Instant,
    /// When it starts: later than `at` by the schedule's jitter.
    pub effective_at: Instant,
    /// What the zone's clock shows at `at`.
    pub local: String,
    #[schemars(with = "Option<NoteWord>")]
    pub note: Option<Word<Note>>,
}

impl PreviewRequest {
    /// What a job with this schedule would fire after `from`, if it were made now, or at `from` where that is earlier. `H`
    /// and jitter are shown as nobody's: a job of one's own has its own place.
    pub fn checked(self, now: Moment) -> Result<PreviewView, RequestRefusal> {
        let count = bounded("/count", self.count)?;
        let (made_at, from) = self.from.map_or((now, now.just_before()), |from| (from.0.min(now), from.0));
        let mut errors = FieldErrors::default();
        let schedule = self.schedule.checked(Spread::default(), made_at, &mut errors);
        let schedule = errors.settle(schedule)?;
        // What is strictly after `from` is the instant it says; jitter comes on top of that.
        Ok(PreviewView::walk(&schedule, schedule.effective(from), from, count, |t| schedule.next_after(t)))
    }
}

impl NextQuery {
    pub fn checked(&self) -> Result<usize, RequestRefusal> {
        bounded("?count", self.count)
    }
}

fn bounded(pointer: &'static str, count: Option<usize>) -> Result<usize, RequestRefusal> {
    let mut errors = FieldErrors::default();
    let count = errors.in_range(pointer, count.unwrap_or(DEFAULT_FIRES), 1..=PREVIEW_FIRES);
    errors.settle(Some(count))
}

impl PreviewView {
    /// The first `count` of the instants that `next` leads to from `t` on, seen from `now`.
    pub fn walk(
        schedule: &Schedule,
        t: Moment,
        now: Moment,
        count: usize,
        next: impl Fn(Moment) -> Option<Moment>,
    ) -> Self {
        let mut fires = Vec::with_capacity(count);
        let mut upcoming = next(t);
        while let Some(at) = upcoming.filter(|_| fires.len() < count) {
            fires.push(FireView::new(schedule, at));
            upcoming = next(at);
        }
        Self { description: schedule.describe(now), fires, exhausted: upcoming.is_none() }
    }

    /// For a job that fires nothing as it stands.
    pub fn silent(schedule: &Schedule, now: Moment, exhausted: bool) -> Self {
        Self { description: schedule.describe(now), fires: Vec::new(), exhausted }
    }
}

impl FireView {
    /// Of the occurrence that fires at `t`.
    pub(crate) fn new(schedule: &Schedule, t: Moment) -> Self {
        let at = schedule.nominal(t);
        Self {
            at: Instant(at),
            effective_at: Instant(t),
            local: schedule.local(at),
            note: schedule.note_at(t).map(Word::from),
        }
    }
}
