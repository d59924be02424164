//! Lag: where the time of a run went, from the instant it was due until it ended, or until now. The stages lie end to end, so that their sum
//! is the whole.
//!
//! They are told from the run's own record, which keeps what it waits for now, and not all that it once waited for: what was not kept is
//! said not to have been.

use std::time::Duration;

use super::{Attempt, Ending, Run, State, Waiting};
use crate::Moment;

/// What begins so long after it could have says when it was dispatched.
const LATE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    pub due: Moment,
    /// In order, each from the end of the one before.
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    pub kind: StageKind,
    /// Which attempt it is, or leads to.
    pub attempt: Option<u32>,
    pub from: Moment,
    pub until: Moment,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StageKind {
    /// It was due, and nobody had been told.
    Dispatch,
    /// It could have been claimed.
    Queued,
    /// It stood in a line for a place.
    Place,
    /// Its rate had put a later instant by for it.
    Rate,
    /// It is made up for, and waited for its turn.
    CatchUp,
    /// It was claimed, called, and had not ended.
    Attempt,
    /// An attempt had failed, and the next one was not claimed.
    Backoff,
    /// Whoever had it was gone, and nobody had noticed.
    Recovery,
    /// Its tasks were carried out.
    Tasks,
    /// Somebody was asked.
    Answer,
    /// It was due, and nobody had decided yet that it does not fire.
    Undecided,
}

impl StageKind {
    pub const ALL: [Self; 11] = [
        Self::Dispatch,
        Self::Queued,
        Self::Place,
        Self::Rate,
        Self::CatchUp,
        Self::Attempt,
        Self::Backoff,
        Self::Recovery,
        Self::Tasks,
        Self::Answer,
        Self::Undecided,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Queued => "queued",
            Self::Place => "place",
            Self::Rate => "rate",
            Self::CatchUp => "catch_up",
            Self::Attempt => "attempt",
            Self::Backoff => "backoff",
            Self::Recovery => "recovery",
            Self::Tasks => "tasks",
            Self::Answer => "answer",
            Self::Undecided => "undecided",
        }
    }

    /// Whether it is what was wanted of the run, rather than a wait for it.
    pub const fn is_work(self) -> bool {
        match self {
            Self::Attempt | Self::Tasks | Self::Answer => true,
            Self::Dispatch
            | Self::Queued
            | Self::Place
            | Self::Rate
            | Self::CatchUp
            | Self::Backoff
            | Self::Recovery
            | Self::Undecided => false,
        }
    }
}

impl Stage {
    pub fn took(&self) -> Duration {
        self.until.since(self.from)
    }
}

impl Lag {
    /// From due until it began, or until now or its end where it never did.
    pub fn before_it_began(&self) -> Duration {
        self.stages.iter().take_while(|stage| !stage.kind.is_work()).map(Stage::took).sum()
    }

    pub fn whole(&self) -> Duration {
        self.stages.iter().map(Stage::took).sum()
    }

    fn end(&self) -> Moment {
        self.stages.last().map_or(self.due, |stage| stage.until)
    }

    /// Goes on until `until`. What took no time is left out, but for what the run was for. Clocks are apart: one that began before it was
    /// due began when it was.
    fn goes_on(&mut self, until: Moment, kind: StageKind, attempt: Option<u32>, detail: impl Into<String>) {
        let from = self.end();
        let until = until.max(from);
        if until > from || kind.is_work() {
            self.stages.push(Stage { kind, attempt, from, until, detail: detail.into() });
        }
    }
}

impl Run {
    /// The same, about to be claimed by a hint that was sent then. What begins in time does not say it: it would be one more number in each
    /// record.
    #[must_use]
    pub fn hinted(self, sent: Option<Moment>, now: Moment) -> Self {
        let is_late = matches!(&self.state, State::Scheduled { due } if now.since(*due) >= LATE);
        Self { dispatched: sent.filter(|_| is_late), ..self }
    }

    /// Where its time went until `now`, with all its attempts, oldest first.
    pub fn lag(&self, attempts: &[Attempt], now: Moment) -> Lag {
        let mut lag = Lag { due: self.could_begin_at(), stages: Vec::new() };
        let mut former = None;
        for attempt in attempts {
            self.waited_for(&mut lag, attempt, former);
            let until = attempt.ended.as_ref().map_or(now, |ended| ended.at);
            lag.goes_on(until, StageKind::Attempt, Some(attempt.number), carried_out(attempt));
            former = Some(attempt);
        }
        match (former, self.started_at) {
            (None, Some(began)) => self.waited_below(&mut lag, began, now),
            (former, _) => self.waits(&mut lag, former, now),
        }
        lag
    }

    /// Until an attempt was claimed.
    fn waited_for(&self, lag: &mut Lag, attempt: &Attempt, former: Option<&Attempt>) {
        let (until, number) = (attempt.started_at, Some(attempt.number));
        match former {
            None => self.was_queued(lag, until, number),
            Some(former) if is_lost(former) => {
                lag.goes_on(until, StageKind::Recovery, number, "until another took over");
            }
            Some(_) => self.was_backed_off(lag, until, number),
        }
    }

    /// Until another attempt was claimed after one that had failed.
    fn was_backed_off(&self, lag: &mut Lag, until: Moment, attempt: Option<u32>) {
        if let Some(sent) = self.dispatched_before(until).filter(|sent| *sent > lag.end()) {
            let what = "the wait between two attempts, and until a hint of the next was sent";
            lag.goes_on(sent, StageKind::Backoff, attempt, what);
            return lag.goes_on(until, StageKind::Queued, attempt, "until it was claimed");
        }
        let what = "the wait between two attempts, and until the next was claimed";
        lag.goes_on(until, StageKind::Backoff, attempt, what);
    }

    /// What was claimed and is not carried out by itself.
    fn waited_below(&self, lag: &mut Lag, began: Moment, now: Moment) {
        self.was_queued(lag, began, None);
        let until = self.finished_at().unwrap_or(now);
        if self.graph.is_some() {
            lag.goes_on(until, StageKind::Tasks, None, "its tasks were carried out");
        } else {
            lag.goes_on(until, StageKind::Answer, None, "somebody was asked");
        }
    }

    /// Behind its last attempt, or before its first: what it waits for, or how it ended.
    fn waits(&self, lag: &mut Lag, former: Option<&Attempt>, now: Moment) {
        let next = Some(self.fence + 1);
        let (kind, word) = match former {
            Some(_) => (StageKind::Backoff, "until it may be tried again"),
            None => (StageKind::Queued, "until somebody found it"),
        };
        match &self.state {
            State::Scheduled { due } if self.admission.turn == Some(*due) => {
                lag.goes_on(now.min(*due), StageKind::Rate, next, "until its turn by its rate");
                lag.goes_on(now, StageKind::Queued, next, "its turn has come, and nobody has claimed it");
            }
            State::Scheduled { due } if self.is_put_off() => {
                let (since, a_minute) = self.made_up.map_or((*due, 0), |made_up| (made_up.since, made_up.per_minute));
                lag.goes_on(since, kind, next, word);
                let words = format!("until its turn in catching up, of which there are {a_minute} a minute");
                lag.goes_on(now.min(*due), StageKind::CatchUp, next, words);
                lag.goes_on(now, StageKind::Queued, next, "its turn has come, and nobody has claimed it");
            }
            State::Scheduled { due } => {
                lag.goes_on(now.min(*due), kind, next, word);
                lag.goes_on(now, StageKind::Queued, next, "nobody has claimed it");
            }
            State::Waiting(Waiting::Slot { since }) => {
                lag.goes_on(now.min(*since), kind, next, word);
                lag.goes_on(now, StageKind::Place, next, format!("for a free place of {}", self.shared()));
            }
            State::Skipped { at, .. } => {
                lag.goes_on(*at, StageKind::Undecided, None, "until it was recorded that it does not fire");
            }
            State::Succeeded { at, .. }
            | State::Failed { at, .. }
            | State::TimedOut { at }
            | State::Cancelled { at } => match former {
                Some(former) if is_lost(former) => {
                    lag.goes_on(*at, StageKind::Recovery, None, "until its lease was found to be over");
                }
                Some(_) => lag.goes_on(*at, StageKind::Backoff, None, "until it was ended instead of tried again"),
                None => lag.goes_on(*at, StageKind::Queued, None, "it was ended before it began"),
            },
            // Its attempt, or its tasks, are the last stage.
            State::Running(_) | State::Waiting(Waiting::Tasks(_) | Waiting::Answer { .. }) => {}
        }
    }

    /// Until it was claimed for the first time.
    fn was_queued(&self, lag: &mut Lag, until: Moment, attempt: Option<u32>) {
        if let Some(sent) = self.dispatched_before(until) {
            lag.goes_on(sent, StageKind::Dispatch, attempt, "until a hint of it was sent");
        }
        lag.goes_on(until, StageKind::Queued, attempt, self.queued());
    }

    /// When the hint was sent of the claim at `claimed`, where that was the last one and late.
    fn dispatched_before(&self, claimed: Moment) -> Option<Moment> {
        self.dispatched.filter(|sent| *sent <= claimed)
    }

    /// Where it is over or under way, what it waited for before is not on its record.
    fn queued(&self) -> String {
        if self.admission.places.is_empty() {
            return "until it was claimed".to_owned();
        }
        format!("until it was claimed; how much of it was a wait for a place of {} is not kept", self.shared())
    }

    /// With whom it shares a limit.
    fn shared(&self) -> String {
        let names: Vec<String> = self.admission.places.iter().map(|bound| bound.slot.to_string()).collect();
        if names.is_empty() { "its workflow".to_owned() } else { names.join(" and ") }
    }
}

fn is_lost(attempt: &Attempt) -> bool {
    attempt.ended.as_ref().is_some_and(|ended| ended.how == Ending::Lost)
}

fn carried_out(attempt: &Attempt) -> String {
    let by = attempt.worker;
    match (attempt.outcome(), attempt.error()) {
        (Some(outcome), Some(error)) => format!("by {by}: {outcome}, {}", error.code),
        (Some(outcome), None) => format!("by {by}: {outcome}"),
        (None, _) => format!("by {by}, and has not ended"),
    }
}

#[cfg(test)]
#[path = "lag_tests.rs"]
mod tests;
