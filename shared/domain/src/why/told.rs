//! The sentence for people. Instants are UTC, as everywhere; a local time is said to be one.

use super::{
    Known, Moment, NotAdmitted, Occurrence, Question, Run, Silence, Skip, State, Status, Turned, Waiting, Why,
    tells_of_a_gap,
};
use crate::id::Origin;
use crate::workflow::waits::{of_place, of_run};

/// Whoever asks about a minute means what is in it.
const MINUTE_MILLIS: i64 = 60_000;

impl Question<'_> {
    pub(super) fn told(&self, why: &Why<'_>, known: &Known<'_>, around: [Option<Occurrence>; 2]) -> String {
        let of_itself = self.told_of_it(why, known, around);
        match known.backfilled {
            Some(run) => {
                format!("{of_itself}; a backfill makes up for it by {}, which is {}", run.key, run.status(self.now))
            }
            None => of_itself,
        }
    }

    fn told_of_it(&self, why: &Why<'_>, known: &Known<'_>, around: [Option<Occurrence>; 2]) -> String {
        let more = |words: String| [words, self.jittered(), self.turned_in_words()].concat();
        match why {
            Why::Recorded(run) => more(self.of_record(run, known) + &self.what_brought_it(run)),
            Why::Covered(record, why) => {
                format!("did not fire: {}; {} tells of it{}", said_of(*why), record.key, spanned(record))
            }
            Why::Coming => more("fires when its time comes".to_owned()),
            Why::Unclaimed => more(match (known.place, self.occurrence()) {
                (Some((bound, taken)), Some(due)) => of_place(bound, taken, due.effective, self.now),
                _nothing_keeps_it_back => "is due, and nobody has claimed it yet".to_owned(),
            }),
            Why::TooLate => {
                let window = self.job.definition.catch_up.window().as_secs();
                format!(
                    "was not begun within the {window} s of its job's catch_up, and will not be; its record comes with the next look"
                )
            }
            Why::Expired => format!(
                "what was on record from before {} has expired: nobody can tell whether it ran",
                self.on_record_since
            ),
            Why::Refused(why) => self.of_refusal(*why),
            Why::BeforeCreation => format!("not an occurrence: the job was made at {}", self.job.created_at),
            Why::Forgotten { since, before } => forgotten(*since, *before),
            Why::NotInForce { since, is_former: true } => {
                format!(
                    "not an occurrence: the schedule that named it was in force until {since}{}",
                    nearest(self.at, around)
                )
            }
            Why::NotInForce { since, is_former: false } => {
                let near = nearest(self.at, around);
                format!("not an occurrence: the schedule that names it is in force only since {since}{near}")
            }
            Why::Silent(silence) => {
                format!("not an occurrence: {}{}", self.of_silence(silence), nearest(self.at, around))
            }
        }
    }

    fn of_record(&self, run: &Run, known: &Known<'_>) -> String {
        let key = run.key;
        let late = late(run);
        match &run.state {
            State::Scheduled { due } if fires_in_time(run) && self.now < *due => {
                format!("fires at {due} as {key}")
            }
            State::Scheduled { due: since } | State::Waiting(Waiting::Slot { since }) => {
                let waits = match known.place {
                    Some((bound, taken)) => Some(of_place(bound, taken, *since, self.now)),
                    None => of_run(run, None, self.now),
                };
                format!("{key} {}", waits.unwrap_or_default())
            }
            State::Waiting(Waiting::Tasks(_)) => format!("fired as {key}{late}, and its tasks are under way"),
            State::Waiting(Waiting::Answer { .. }) => format!("fired as {key}{late}, and waits for an answer"),
            State::Running(_) => format!("fired as {key}{late}, and is under way"),
            State::Succeeded { .. } => format!("fired as {key}{late}, and succeeded"),
            State::Failed { why, .. } => format!("fired as {key}{late}, and failed: {}", why.as_str()),
            State::TimedOut { .. } => format!("fired as {key}{late}, and timed out"),
            State::Cancelled { at } if run.started_at.is_none() => {
                format!("{key} was cancelled at {at}, before it began")
            }
            State::Cancelled { .. } => format!("fired as {key}{late}, and was cancelled"),
            State::Skipped { at, why, .. } => {
                let why = run.told.as_deref().unwrap_or_else(|| said_of(*why));
                format!("did not fire: {why}; recorded at {at} as {key}{}", spanned(run))
            }
        }
    }

    fn of_refusal(&self, why: NotAdmitted) -> String {
        let changed = self.job.changed_at;
        match (why, self.job.status) {
            (NotAdmitted::Paused, _) if self.is_ahead() => {
                format!(
                    "does not fire unless the job is resumed before: it is paused, and was last changed at {changed}"
                )
            }
            (NotAdmitted::Paused, _) => {
                format!("did not fire: the job is paused, and was last changed at {changed}")
            }
            (NotAdmitted::Cancelled, _) => format!("does not fire: the job was deleted at {changed}"),
            (NotAdmitted::Superseded, Status::Active | Status::Paused | Status::Cancelled) => {
                format!("does not fire: another schedule is in force since {}", self.job.since)
            }
            (NotAdmitted::Excluded, _) => format!("does not fire: {}", self.taken()),
        }
    }

    fn of_silence(&self, silence: &Silence) -> String {
        match silence {
            Silence::OnDemand => "the job runs only when it is asked to".to_owned(),
            Silence::Follows(job, on) => format!("the job follows {job}, on {}", on.as_str()),
            Silence::NotStarted(start) => format!("nothing fires before start_at, {start}"),
            Silence::Ended(end) => format!("nothing fires at end_at or later, which is {end}"),
            Silence::UsedUp { max_fires, last } => format!("the last of max_fires, {max_fires}, was at {last}"),
            Silence::Taken => self.taken(),
            Silence::Turned(turned) => self.of_turn(turned, false),
            Silence::Unnamed => "the schedule does not name it".to_owned(),
        }
    }

    fn turned_in_words(&self) -> String {
        self.turned().map_or_else(String::new, |turned| format!("; {}", self.of_turn(&turned, true)))
    }

    fn of_turn(&self, turned: &Turned, fires: bool) -> String {
        let zone = self.in_force().map_or_else(String::new, |(schedule, _)| schedule.zone().name().to_owned());
        match turned {
            Turned::Skipped { local, resumes, fires: true } => {
                format!("the clock of {zone} skips {local} there, and by dst_gap that fires at {resumes}")
            }
            Turned::Skipped { local, fires: false, .. } => {
                format!("the clock of {zone} skips {local} there, and by dst_gap that does not fire")
            }
            Turned::Shifted => {
                format!(
                    "the clock of {zone} skipped what was to fire, and by dst_gap it fires here, where the clock resumes"
                )
            }
            Turned::Twice { local, pass } => {
                let pass = pass.as_str();
                let chosen = if fires { "fires" } else { "does not fire" };
                format!("the clock of {zone} shows {local} twice, and by dst_overlap it {chosen} the {pass} time")
            }
        }
    }

    /// Of what is on record.
    fn what_brought_it(&self, run: &Run) -> String {
        match run.follows {
            Some(follows) if run.key.origin == Origin::Follow => format!("; it follows {}", follows.run),
            // A calendar took it, or a gap: no schedule names it, and there it is.
            _ if self.occurrence().is_some() || self.is_taken() || tells_of_a_gap(run) => String::new(),
            _ => "; no schedule that the job remembers for then names it".to_owned(),
        }
    }

    /// Which calendar takes the instant, and why.
    fn taken(&self) -> String {
        let taken = self.in_force().and_then(|(schedule, _)| schedule.taken_by(self.at));
        taken.map_or_else(|| "a calendar".to_owned(), |(name, reason)| format!("calendar {name} ({reason})"))
    }

    fn jittered(&self) -> String {
        match self.occurrence() {
            Some(Occurrence { nominal, effective }) if self.job.moved_from(effective).is_some() => {
                let taken = self.schedules().find_map(|(schedule, _)| schedule.taken_by(nominal));
                let by = taken.map_or_else(String::new, |(name, reason)| format!(", by calendar {name} ({reason})"));
                format!("; meant for {nominal}, and moved to {effective}{by}")
            }
            Some(Occurrence { nominal, effective }) if nominal != effective => {
                format!("; meant for {nominal}, and moved to {effective} by its jitter")
            }
            _as_named => String::new(),
        }
    }
}

/// Whether it is on record, and waits for nothing but its time.
pub(super) fn fires_in_time(run: &Run) -> bool {
    run.fence == 0 && run.admission.turn.is_none() && run.made_up.is_none()
}

/// Why it did not fire.
const fn said_of(why: Skip) -> &'static str {
    match why {
        Skip::Coalesced => "several were missed, and a later one fires in their stead",
        Skip::Missed => "it was too late to make up for it when somebody looked",
        Skip::Paused => "its job was paused",
        Skip::Cancelled => "its job was deleted",
        Skip::Superseded => "its job was paused meanwhile, or its schedule changed",
        Skip::Abandoned => "whoever promised it never wrote it",
        Skip::Upstream => "what it depends on did not end as it asks",
        Skip::Condition => "its condition is not true",
        Skip::Overlap => "others of its job were under way",
        Skip::Calendar => "a calendar took it",
        Skip::DstGap => "its zone's clock was put forward past it",
        Skip::Cycle => "more runs stood one behind the other than may, as in a cycle",
        Skip::Vetoed => "whoever is asked before it said that it is not to be",
        Skip::Cooldown => "its rule had told of something shortly before",
    }
}

/// What else the record stands for.
fn spanned(record: &Run) -> String {
    match record.skipped_span() {
        Some(span) => match span.count {
            // What a gap takes has no instants of its own.
            Some(count) if span.until == record.key.at => format!(", for {count}"),
            Some(count) => format!(", for {count} until {}", span.until),
            None => format!(", for all until {}", span.until),
        },
        None => String::new(),
    }
}

fn late(run: &Run) -> String {
    let late = run.started_at.map_or(0, |began| began.since(run.key.at).as_millis());
    if late == 0 { String::new() } else { format!(", {}.{:03} s after it was due", late / 1000, late % 1000) }
}

fn forgotten(since: Moment, before: Option<&Run>) -> String {
    let before = match before {
        Some(run) => {
            let how = run.reason().map_or_else(String::new, |reason| format!(", for the reason {reason}"));
            format!("; the newest record before it, {}, is {}{how}", run.key, run.status(run.key.at))
        }
        None => String::new(),
    };
    format!(
        "nothing is recorded of it, and what the job's schedule was before {since}, or whether it was paused, is not kept{before}"
    )
}

/// The occurrence that was probably meant, where one is in the same minute.
fn nearest(at: Moment, around: [Option<Occurrence>; 2]) -> String {
    let minute = |t: Moment| t.millis() / MINUTE_MILLIS;
    let is_meant = |t: &Moment| minute(*t) == minute(at);
    let instants = around.into_iter().flatten().flat_map(|it| [it.nominal, it.effective]).filter(is_meant);
    match instants.min_by_key(|t| (t.millis() - at.millis()).abs()) {
        Some(near) => format!("; the nearest, in the same minute, is at {near}"),
        None => String::new(),
    }
}
