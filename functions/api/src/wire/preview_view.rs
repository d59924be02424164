//! What a schedule means, in words and in instants.

use minutehand_domain::Moment;
use minutehand_domain::schedule::cron::Note;
use minutehand_domain::schedule::{Schedule, When};
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
    /// What the zone's clock shows then.
    local: String,
    #[schemars(with = "Option<NoteWord>")]
    note: Option<Note>,
}

impl PreviewView {
    /// The first `count` of the instants that `next` leads to from `t` on.
    pub(crate) fn walk(schedule: &Schedule, t: Moment, count: usize, next: impl Fn(Moment) -> Option<Moment>) -> Self {
        let mut fires = Vec::with_capacity(count);
        let mut upcoming = next(t);
        while let Some(at) = upcoming.filter(|_| fires.len() < count) {
            fires.push(FireView::new(schedule, at));
            upcoming = next(at);
        }
        Self { description: describe(schedule), fires, exhausted: upcoming.is_none() }
    }

    /// For a job that fires nothing as it stands.
    pub(crate) fn silent(schedule: &Schedule, exhausted: bool) -> Self {
        Self { description: describe(schedule), fires: Vec::new(), exhausted }
    }
}

impl FireView {
    fn new(schedule: &Schedule, at: Moment) -> Self {
        match &schedule.when {
            When::Cron(cron) => Self { at: Instant(at), local: cron.local(at), note: cron.note_at(at) },
            When::Now { .. } | When::At { .. } | When::After { .. } | When::Every { .. } | When::OnDemand => {
                Self { at: Instant(at), local: at.to_string(), note: None }
            }
        }
    }
}

fn describe(schedule: &Schedule) -> String {
    let mut words = match &schedule.when {
        When::Now { .. } => "once, as soon as it is created".to_owned(),
        When::At { at } => format!("once, at {at}"),
        When::After { seconds, .. } => format!("once, {seconds} s after it is created"),
        When::Every { seconds, .. } => {
            if *seconds == 1 {
                "every second".to_owned()
            } else {
                format!("every {seconds} seconds")
            }
        }
        When::Cron(cron) => cron.describe(),
        When::OnDemand => "only when it is asked to run".to_owned(),
    };
    if let Some(start) = schedule.start_at {
        words = format!("{words}, from {start} on");
    }
    if let Some(end) = schedule.end_at {
        words = format!("{words}, until {end}");
    }
    match schedule.max_fires {
        Some(1) => format!("{words}, once at most"),
        Some(most) => format!("{words}, {most} times at most"),
        None => words,
    }
}
