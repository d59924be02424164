//! Why: what became of one instant of a job, or will, and which rule decided. [`Question::decide`] is that, one `match` of what is known;
//! [`rule`] has the words for programs and [`told`] the sentence for people.
//!
//! Records say what happened, the job says what is to happen. Of the time before the schedules that a job remembers nothing is guessed.

mod rule;
mod told;

use std::time::Duration;

pub use self::rule::{Rule, Verdict};
use crate::Moment;
use crate::id::RunKey;
use crate::job::{Job, NotAdmitted, Status};
use crate::run::{Run, Skip, SkippedSpan, State, Waiting};
use crate::schedule::cron::Turned;
use crate::schedule::{Schedule, Silence};
use crate::slot::Bound;

#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub job: &'a Job,
    /// The instant that is asked about: one that a schedule names, or the one to which jitter moves that.
    pub at: Moment,
    /// What was on record before then may have expired.
    pub on_record_since: Moment,
    pub now: Moment,
}

/// What is on record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The run, or the record, of one of the instants that may be meant.
    pub run: Option<&'a Run>,
    /// The records before it, newest first: as many as anybody looks through.
    pub earlier: &'a [Run],
    /// The run by which a backfill has made up for it.
    pub backfilled: Option<&'a Run>,
    /// The place that the run waits for, and how many of those are taken.
    pub place: Option<(&'a Bound, usize)>,
}

/// What an instant of a job comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why<'a> {
    /// It has a record of its own.
    Recorded(&'a Run),
    /// The record of an earlier occurrence tells of it.
    Covered(&'a Run, Skip),
    /// It fires when its time comes.
    Coming,
    /// Its time has come, and nobody has claimed it.
    Unclaimed,
    /// Its time passed so long ago that nobody will begin it.
    TooLate,
    /// It was to be so long ago that what was on record of it would have expired.
    Expired,
    /// Its job is paused, or was deleted.
    Refused(NotAdmitted),
    /// The job was made later.
    BeforeCreation,
    /// Another schedule was in force then, and is not remembered. The newest record before it, where there is one.
    Forgotten { since: Moment, before: Option<&'a Run> },
    /// A schedule of the job names it, and was not in force then.
    NotInForce { since: Moment, is_former: bool },
    /// The schedule in force does not fire then.
    Silent(Silence),
}

/// An occurrence: what its schedule names, and when it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub nominal: Moment,
    pub effective: Moment,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Verdict,
    pub rule: Rule,
    /// The run, or the record that tells of it.
    pub run: Option<RunKey>,
    /// None where the instant is no occurrence, or nobody knows.
    pub occurrence: Option<Occurrence>,
    /// What else the record stands for, where nothing fired.
    pub span: Option<SkippedSpan>,
    /// From when it was due until it began, or has waited by now.
    pub lag: Option<Duration>,
    /// Where the instant is no occurrence: those around it.
    pub previous: Option<Occurrence>,
    pub next: Option<Occurrence>,
    /// All of it in a sentence.
    pub detail: String,
}

impl<'a> Question<'a> {
    /// The instants whose record would be the answer: the one that is asked about, where calendars and jitter move it by the schedules that the job knows,
    /// and where what a gap of its zone's clock takes is on record.
    pub fn instants(&self) -> Vec<Moment> {
        let mut instants = vec![self.at];
        let spread = |schedule: &Schedule| [schedule.effective(self.at), schedule.after_jitter(self.at)];
        let spread = self.schedules().flat_map(|(schedule, _)| spread(schedule));
        let before = self.job.before.iter().filter_map(|before| before.carried);
        let carried = self.job.carried.into_iter().chain(before).filter(|carried| carried.nominal == self.at);
        let carried = carried.map(|carried| carried.at);
        for at in spread.chain(carried).chain(self.told_of_its_gap_at()) {
            if !instants.contains(&at) {
                instants.push(at);
            }
        }
        instants
    }

    /// Whether this record, of one of these instants, is about the one that is asked about.
    pub fn is_about(&self, run: &Run) -> bool {
        let tells_of_its_gap = || tells_of_a_gap(run) && self.told_of_its_gap_at() == Some(run.key.at);
        run.key.at == self.at || run.nominal() == self.at || tells_of_its_gap()
    }

    /// Where a gap took the instant: the last one before the clock was put forward, where the record of the whole gap is.
    fn told_of_its_gap_at(&self) -> Option<Moment> {
        match self.silence() {
            Silence::Turned(Turned::Skipped { resumes, fires: false, .. }) => Some(resumes.just_before()),
            _no_gap_took_it => None,
        }
    }

    /// The occurrence that is meant, by the schedule that is, or was, in force then.
    pub fn occurrence(&self) -> Option<Occurrence> {
        let effective = self.instants().into_iter().find(|t| {
            let is_meant = *t == self.at || self.nominal(*t) == self.at;
            is_meant && self.job.in_force_at(*t)
        })?;
        Some(Occurrence { nominal: self.nominal(effective), effective })
    }

    /// What the instant comes to.
    pub fn decide(&self, known: &Known<'a>) -> Why<'a> {
        let teller = |at| {
            let tellers = known.earlier.iter().filter_map(move |run| Some((run, told_by(run, at, self.now)?)));
            tellers.max_by_key(|(run, _)| run.skipped_span().map(|span| span.until))
        };
        let Some(occurrence) = self.occurrence() else {
            return match (known.run, teller(self.recorded_at())) {
                (Some(run), _) => Why::Recorded(run),
                (None, Some((record, Skip::Calendar))) if self.is_taken() => Why::Covered(record, Skip::Calendar),
                (None, _) => self.no_occurrence(known),
            };
        };
        let teller = teller(occurrence.effective);
        match (known.run, teller, self.job.admits(occurrence.effective)) {
            (Some(run), _, _) => Why::Recorded(run),
            (None, Some((record, why)), _) => Why::Covered(record, why),
            (None, None, _) if occurrence.effective < self.on_record_since => Why::Expired,
            (None, None, Err(why)) => Why::Refused(why),
            (None, None, Ok(())) if self.now < occurrence.effective => Why::Coming,
            (None, None, Ok(())) if self.job.is_too_late(occurrence.effective, self.now) => Why::TooLate,
            (None, None, Ok(())) => Why::Unclaimed,
        }
    }

    /// Why the instant is none.
    fn no_occurrence(&self, known: &Known<'a>) -> Why<'a> {
        let remembered = self.schedules().map(|(_, since)| since).min().unwrap_or(self.job.since);
        match self.in_force() {
            None if self.at < self.job.created_at => Why::BeforeCreation,
            None => {
                let before = known.earlier.iter().find(|run| run.key.is_occurrence());
                Why::Forgotten { since: remembered, before }
            }
            Some(_) if self.is_taken() => Why::Silent(Silence::Taken),
            Some((_, in_force)) => match self.schedules().find(|(schedule, _)| self.is_named_by(schedule)) {
                Some((_, since)) => {
                    let is_former = since < in_force;
                    Why::NotInForce { since: if is_former { in_force } else { since }, is_former }
                }
                None => Why::Silent(self.silence()),
            },
        }
    }

    /// Whether the schedule in force would name it, and a calendar takes that.
    fn is_taken(&self) -> bool {
        self.silence() == Silence::Taken
    }

    /// Where a record of it would lie.
    pub fn recorded_at(&self) -> Moment {
        let taken = || if self.is_taken() { self.taken_occurrence().effective } else { self.at };
        self.occurrence().map_or_else(taken, |occurrence| occurrence.effective)
    }

    /// What a calendar took, where it would have fired.
    fn taken_occurrence(&self) -> Occurrence {
        let effective = self.in_force().map_or(self.at, |(schedule, _)| schedule.after_jitter(self.at));
        Occurrence { nominal: self.at, effective }
    }

    fn silence(&self) -> Silence {
        self.in_force().map_or(Silence::Unnamed, |(schedule, _)| schedule.silence_at(self.at))
    }

    /// Today's schedule, and those before it that the job remembers; each with when it came into force.
    fn schedules(&self) -> impl Iterator<Item = (&'a Schedule, Moment)> + use<'a> {
        self.job.schedules().map(|in_force| (in_force.schedule, in_force.since))
    }

    /// The schedule that is, or was, in force at the instant.
    fn in_force(&self) -> Option<(&'a Schedule, Moment)> {
        self.schedules().find(|(_, since)| self.at >= *since)
    }

    fn is_named_by(&self, schedule: &Schedule) -> bool {
        let effective = schedule.effective(self.at);
        schedule.fires_at(self.at) || (schedule.fires_at(effective) && schedule.nominal(effective) == self.at)
    }

    fn nominal(&self, effective: Moment) -> Moment {
        if let Some(nominal) = self.job.moved_from(effective) {
            return nominal;
        }
        let in_force = self.schedules().find(|(_, since)| effective >= *since);
        in_force.map_or(effective, |(schedule, _)| schedule.nominal(effective))
    }

    /// The last occurrence before the instant, and the first after it.
    fn neighbours(&self) -> [Option<Occurrence>; 2] {
        let remembered = self.schedules().map(|(_, since)| since).min().unwrap_or(self.job.since);
        let before = (remembered < self.at).then(|| self.job.newest(1, remembered, self.at.just_before())).flatten();
        let of = |effective| Occurrence { nominal: self.nominal(effective), effective };
        [before.map(of), self.job.next_after(self.at).map(of)]
    }

    /// Whether it is an occurrence whose time has not come.
    fn is_ahead(&self) -> bool {
        self.occurrence().is_some_and(|occurrence| self.now < occurrence.effective)
    }

    /// What a turn of the clock has to do with the occurrence.
    fn turned(&self) -> Option<Turned> {
        let Occurrence { nominal, effective } = self.occurrence()?;
        let in_force = self.schedules().find(|(_, since)| effective >= *since);
        in_force.and_then(|(schedule, _)| schedule.turned_at(nominal))
    }

    /// The answer, with all there is to say.
    pub fn answer(&self, known: &Known<'a>) -> Answer {
        let why = self.decide(known);
        let verdict = self.verdict(&why);
        let recorded = |run: &Run| Occurrence { nominal: run.nominal(), effective: run.key.at };
        let occurrence = match &why {
            Why::Recorded(run) => Some(recorded(run)),
            Why::Covered(_, Skip::Calendar) => self.occurrence().or_else(|| Some(self.taken_occurrence())),
            Why::Covered(..) | Why::Coming | Why::Unclaimed | Why::TooLate | Why::Expired | Why::Refused(_) => {
                self.occurrence()
            }
            Why::BeforeCreation | Why::Forgotten { .. } | Why::NotInForce { .. } | Why::Silent(_) => None,
        };
        let [previous, next] = if occurrence.is_none() { self.neighbours() } else { [None, None] };
        let run = match &why {
            Why::Recorded(run) | Why::Covered(run, _) | Why::Forgotten { before: Some(run), .. } => Some(*run),
            _nothing_is_recorded => None,
        };
        let detail = self.told(&why, known, [previous, next]);
        Answer {
            verdict,
            rule: self.rule(&why, known),
            run: run.map(|run| run.key),
            occurrence,
            span: run.filter(|_| occurrence.is_some()).and_then(Run::skipped_span),
            lag: self.lag(&why, verdict),
            previous,
            next,
            detail,
        }
    }

    /// Of what has begun, or waits.
    fn lag(&self, why: &Why<'_>, verdict: Verdict) -> Option<Duration> {
        let until = match (why, verdict) {
            (Why::Recorded(run), Verdict::Fired | Verdict::Running | Verdict::Waiting) => {
                let ended = run.finished_at().unwrap_or(self.now);
                return Some(run.started_at.unwrap_or(ended).since(run.key.at));
            }
            (Why::Unclaimed, _) => self.now,
            _neither => return None,
        };
        self.occurrence().map(|occurrence| until.since(occurrence.effective))
    }
}

/// Why the occurrence at `t` did not fire, where this record of an earlier one tells of it.
fn tells_of_a_gap(run: &Run) -> bool {
    matches!(run.state, State::Skipped { why: Skip::DstGap, .. })
}

fn told_by(run: &Run, t: Moment, now: Moment) -> Option<Skip> {
    match &run.state {
        State::Skipped { why, .. } if run.key.is_occurrence() && run.tells_of(t, now) => Some(*why),
        _not_of_this => None,
    }
}

#[cfg(test)]
mod tests;
