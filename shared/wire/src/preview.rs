//! What a schedule means, in words and in instants.

use minutehand_domain::Moment;
use minutehand_domain::limits::{CALENDAR_STEPS_OF_A_REQUEST, PREVIEW_FIRES};
use minutehand_domain::schedule::cron::Note;
use minutehand_domain::schedule::{Patience, Schedule, Spread, When};
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
    /// Nothing fires after these. Where it does not say so and there are fewer than asked for, the calendars leave so little that nobody
    /// looked further, or the schedule follows another job, whose runs nobody foretells.
    pub exhausted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FireView {
    pub at: Instant,
    /// When it starts: later than `at` by the schedule's jitter, or where a calendar takes `at` and it moves.
    pub effective_at: Instant,
    /// What the zone's clock shows at `at`.
    pub local: String,
    #[schemars(with = "Option<NoteWord>")]
    pub note: Option<Word<Note>>,
}

impl PreviewRequest {
    /// What a job with this schedule would fire after `from`, if it were made now, or at `from` where that is earlier. `H`
    /// and jitter are shown as nobody's: a job of one's own has its own place.
    pub fn checked(self, now: Moment) -> Result<CheckedPreview, RequestRefusal> {
        let count = bounded("/count", self.count)?;
        let (made_at, from) = self.from.map_or((now, now.just_before()), |from| (from.0.min(now), from.0));
        let mut errors = FieldErrors::default();
        let schedule = self.schedule.checked(Spread::default(), made_at, &mut errors);
        let schedule = errors.settle(schedule)?;
        Ok(CheckedPreview { schedule, from, count })
    }
}

/// What is to be shown.
pub struct CheckedPreview {
    /// It may name calendars of which it is not known yet what they say.
    pub schedule: Schedule,
    pub from: Moment,
    pub count: usize,
}

impl CheckedPreview {
    pub fn shown(&self) -> PreviewView {
        let Self { schedule, from, count } = self;
        // What is strictly after `from` is the instant it says; jitter comes on top of that.
        let after = schedule.after_jitter(*from);
        let next = |t: Moment, patience: &mut Patience| {
            let next = schedule.next_within(t, patience)?;
            Some((next, schedule.nominal(next)))
        };
        PreviewView::walk(schedule, after, *from, *count, next)
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
    /// The first `count` of the instants that `next` leads to from `t` on, seen from `now`; each with what the schedule names for it.
    pub fn walk(
        schedule: &Schedule,
        t: Moment,
        now: Moment,
        count: usize,
        next: impl Fn(Moment, &mut Patience) -> Option<(Moment, Moment)>,
    ) -> Self {
        let (mut fires, mut patience) = (Vec::with_capacity(count), Patience::of(CALENDAR_STEPS_OF_A_REQUEST));
        let mut upcoming = next(t, &mut patience);
        while let Some((at, nominal)) = upcoming.filter(|_| fires.len() < count) {
            fires.push(FireView::new(schedule, at, nominal));
            upcoming = next(at, &mut patience);
        }
        let is_foretold = !matches!(schedule.when, When::Follows { .. });
        let exhausted = upcoming.is_none() && !patience.is_spent() && is_foretold;
        Self { description: schedule.describe(now), fires, exhausted }
    }

    /// For a job that fires nothing as it stands.
    pub fn silent(schedule: &Schedule, now: Moment, exhausted: bool) -> Self {
        Self { description: schedule.describe(now), fires: Vec::new(), exhausted }
    }
}

impl FireView {
    /// Of the occurrence that fires at `t`, where its schedule names `at`.
    pub(crate) fn new(schedule: &Schedule, t: Moment, at: Moment) -> Self {
        let is_moved = at != schedule.before_jitter(t);
        let note = if is_moved { Some(Note::Moved) } else { schedule.note_at(t) };
        Self { at: Instant(at), effective_at: Instant(t), local: schedule.local(at), note: note.map(Word::from) }
    }
}
