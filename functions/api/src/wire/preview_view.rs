//! What a schedule means, in words and in instants.

use minutehand_domain::Moment;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::schedule::cron::Note;
use schemars::JsonSchema;
use serde::Serialize;

use super::instant::Instant;
use super::words::NoteWord;

#[derive(Serialize, JsonSchema)]
pub(crate) struct PreviewView {
    /// The schedule in words.
    description: String,
    fires: Vec<FireView>,
    /// Nothing fires after these.
    exhausted: bool,
}

#[derive(Serialize, JsonSchema)]
struct FireView {
    at: Instant,
    /// When it starts: later than `at` by the schedule's jitter.
    effective_at: Instant,
    /// What the zone's clock shows at `at`.
    local: String,
    #[schemars(with = "Option<NoteWord>")]
    note: Option<Note>,
}

impl PreviewView {
    /// The first `count` of the instants that `next` leads to from `t` on, seen from `now`.
    pub(crate) fn walk(
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
    pub(crate) fn silent(schedule: &Schedule, now: Moment, exhausted: bool) -> Self {
        Self { description: schedule.describe(now), fires: Vec::new(), exhausted }
    }
}

impl FireView {
    fn new(schedule: &Schedule, t: Moment) -> Self {
        let at = schedule.nominal(t);
        Self { at: Instant(at), effective_at: Instant(t), local: schedule.local(at), note: schedule.note_at(t) }
    }
}
