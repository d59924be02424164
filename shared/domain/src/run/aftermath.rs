//! The aftermath of a run that came to nothing. One that failed or timed out for good is a dead letter until somebody tries it again or
//! dismisses it: one of the two, written into the run itself, so that whoever comes second is told who was first.

use thiserror::Error;

use super::{Made, Remark, Remarked, Run, State};
use crate::Moment;
use crate::access::By;
use crate::body::Body;
use crate::id::{Origin, RunKey};
use crate::operation::OperationId;

/// What became of a run that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aftermath {
    /// There is another try at it: the newest, where there are several.
    Redriven {
        run: RunKey,
        /// What that is given, where it is not what this one was given.
        payload: Option<Body>,
        /// The operation that asked for it, where one did.
        by: Option<OperationId>,
    },
    /// It is not to be tried again.
    Dismissed,
}

/// Who does something to a dead letter, where that is known, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said<'a> {
    pub by: Option<&'a By>,
    pub note: Option<&'a str>,
}

/// Why a run is no dead letter that anything could be done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotALetter {
    #[error("the run is under way: it may still succeed")]
    UnderWay,
    #[error("the run did not fail: only one that failed or timed out for good is a dead letter")]
    DidNotFail,
    #[error(
        "this is the run of a task: where its failure is held, its workflow's run takes a verdict; a run that has ended is resumed"
    )]
    OfATask,
    #[error("this told of the end of another run, or was to: it is not tried again")]
    OfACallback,
    #[error("it was tried again as {0}")]
    Redriven(RunKey),
    #[error("it was dismissed")]
    Dismissed,
}

impl Run {
    /// Whether it failed or timed out for good, and nobody has done anything about that. The failure of a task is its workflow's, and that
    /// of a callback is shown with the run that it tells of.
    pub fn is_dead_letter(&self) -> bool {
        self.letter().is_ok()
    }

    /// Nothing where it is a dead letter, or why it is none.
    pub fn letter(&self) -> Result<(), NotALetter> {
        match (&self.state, &self.aftermath) {
            (State::Scheduled { .. } | State::Waiting(_) | State::Running(_), _) => Err(NotALetter::UnderWay),
            (State::Succeeded { .. } | State::Cancelled { .. } | State::Skipped { .. }, _) => {
                Err(NotALetter::DidNotFail)
            }
            (State::Failed { .. } | State::TimedOut { .. }, _) if self.task.is_some() => Err(NotALetter::OfATask),
            (State::Failed { .. } | State::TimedOut { .. }, _) if self.callback_of.is_some() => {
                Err(NotALetter::OfACallback)
            }
            (State::Failed { .. } | State::TimedOut { .. }, Some(Aftermath::Redriven { run, .. })) => {
                Err(NotALetter::Redriven(*run))
            }
            (State::Failed { .. } | State::TimedOut { .. }, Some(Aftermath::Dismissed)) => Err(NotALetter::Dismissed),
            (State::Failed { .. } | State::TimedOut { .. }, None) => Ok(()),
        }
    }

    /// The newest try at it.
    pub fn redriven_as(&self) -> Option<RunKey> {
        match self.aftermath {
            Some(Aftermath::Redriven { run, .. }) => Some(run),
            Some(Aftermath::Dismissed) | None => None,
        }
    }

    /// The same, dismissed.
    pub fn dismissed(&self, said: Said<'_>, now: Moment) -> Result<Self, NotALetter> {
        self.letter()?;
        Ok(Self { aftermath: Some(Aftermath::Dismissed), ..self.remarked_by(Remarked::Dismissed, said, now) })
    }

    /// The same, tried again under this key; `payload`: in place of its own.
    #[must_use]
    pub fn tried_again(&self, run: RunKey, payload: Option<Body>, said: Said<'_>, now: Moment) -> Self {
        let aftermath = Some(Aftermath::Redriven { run, payload, by: None });
        Self { aftermath, ..self.remarked_by(Remarked::Redriven, said, now) }
    }

    /// The same, where an operation tries it again.
    #[must_use]
    pub fn tried_again_by(&self, operation: OperationId, run: RunKey, said: Said<'_>, now: Moment) -> Self {
        let aftermath = Some(Aftermath::Redriven { run, payload: None, by: Some(operation) });
        Self { aftermath, ..self.remarked_by(Remarked::Redriven, said, now) }
    }

    /// When something was last done about it, if anything was.
    pub fn seen_to_at(&self) -> Option<Moment> {
        let is_about_that = |remark: &&Remark| matches!(remark.what, Remarked::Redriven | Remarked::Dismissed);
        self.aftermath.as_ref()?;
        self.remarks.iter().rev().find(is_about_that).map(|remark| remark.at)
    }

    /// The try that it says there is, as it is born: of whom asked for it, and why, this one has kept the word.
    pub fn other_try(&self, now: Moment) -> Option<Self> {
        let Some(Aftermath::Redriven { run: key, payload, by }) = &self.aftermath else { return None };
        let run = self.redriven(*key).ok()?;
        let asked = self.last_remark(Remarked::Redriven);
        let asked_by = asked.and_then(|remark| remark.by.clone());
        let payload = payload.clone().or_else(|| run.payload.clone());
        let made = by.map(|by| Made { by, at: now });
        let again = Self { payload, asked_by, made, ..run };
        let noted = asked.filter(|remark| remark.note.is_some()).cloned();
        match (key.origin, noted) {
            // Its key is as old as the run that it goes on with.
            (Origin::Resume, _) => Some(again.resumed_at(asked, now)),
            (_, Some(remark)) => Some(again.remarked(Remark { what: Remarked::AskedAgain, ..remark })),
            (_, None) => Some(again),
        }
    }

    fn resumed_at(self, asked: Option<&Remark>, now: Moment) -> Self {
        let remark = Remark { at: now, by: None, note: None, what: Remarked::Resumed };
        let remark = asked.map_or(remark, |asked| Remark { what: Remarked::Resumed, ..asked.clone() });
        let sla = self.sla_from(now);
        Self { state: State::Scheduled { due: now }, sla, ..self.remarked(remark) }
    }

    fn remarked_by(&self, what: Remarked, Said { by, note }: Said<'_>, now: Moment) -> Self {
        let note = note.map(ToOwned::to_owned);
        self.clone().remarked(Remark { at: now, by: by.cloned(), what, note })
    }

    /// The word for what it failed of, and a sentence: its last attempt's error, or what ended it where no attempt says that.
    pub fn error(&self) -> Option<(&str, &str)> {
        let (State::Failed { .. } | State::TimedOut { .. }) = self.state else { return None };
        let attempt = self.attempts.last().and_then(|attempt| attempt.error());
        let of_attempt = attempt.map(|error| (&*error.code, error.message.as_str()));
        let word = self.reason().unwrap_or("timed_out");
        Some(of_attempt.unwrap_or((word, self.told.as_deref().unwrap_or_default())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Json;
    use crate::id::{JobId, Tenant};
    use crate::priority::Priority;
    use crate::run::attempt::Ended;
    use crate::run::{Attempt, Ending, ErrorCode, Failure, Skip, TaskRun};

    const JOB: JobId = JobId::from_bytes([1; 16]);
    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn run() -> Run {
        Run::new(Tenant::deployment(), RunKey::occurrence(JOB, AT), Priority::High)
    }

    fn failed() -> Run {
        Run { state: State::Failed { at: AT, why: Failure::Error }, ..run() }
    }

    fn again() -> RunKey {
        RunKey::redrive(JOB, Moment::from_secs(1_800_000_060), 7)
    }

    fn said(by: &By) -> Said<'_> {
        Said { by: Some(by), note: Some("the disk is free again") }
    }

    #[test]
    fn a_run_that_failed_for_good_is_a_dead_letter_until_something_is_done_about_it() {
        let task = TaskRun::new(run().key, 1, false);
        let redriven = Aftermath::Redriven { run: again(), payload: None, by: None };
        for (run, is) in [
            (failed(), Ok(())),
            (Run { state: State::TimedOut { at: AT }, ..run() }, Ok(())),
            (run(), Err(NotALetter::UnderWay)),
            (Run { state: State::Succeeded { at: AT, result: Body::Empty }, ..run() }, Err(NotALetter::DidNotFail)),
            (Run { state: State::Cancelled { at: AT }, ..run() }, Err(NotALetter::DidNotFail)),
            (run().skipped(Skip::Missed, None, AT), Err(NotALetter::DidNotFail)),
            (Run { task: Some(task), ..failed() }, Err(NotALetter::OfATask)),
            (Run { aftermath: Some(redriven), ..failed() }, Err(NotALetter::Redriven(again()))),
            (Run { aftermath: Some(Aftermath::Dismissed), ..failed() }, Err(NotALetter::Dismissed)),
        ] {
            assert_eq!(run.letter(), is, "{run:?}");
        }
    }

    #[test]
    fn what_is_dismissed_says_who_did_it_and_why_and_is_dismissed_once() {
        let by = By::host();
        let dismissed = failed().dismissed(said(&by), AT).unwrap();

        let remark = dismissed.last_remark(Remarked::Dismissed).unwrap();
        assert_eq!((remark.by.as_ref(), remark.note.as_deref()), (Some(&by), Some("the disk is free again")));
        assert_eq!(dismissed.dismissed(said(&by), AT), Err(NotALetter::Dismissed));
        assert_eq!(run().dismissed(said(&by), AT), Err(NotALetter::UnderWay));
    }

    #[test]
    fn the_other_try_is_made_of_what_the_first_has_kept() {
        let (by, own, other) = (By::host(), Body::Inside(Json::null()), Body::Inside(Json::of(&7.into())));
        let letter = Run { payload: Some(own.clone()), ..failed() };
        let edited = letter.tried_again(again(), Some(other.clone()), said(&by), AT);
        let as_it_was = letter.tried_again(again(), None, Said { by: Some(&by), note: None }, AT);

        let made = edited.other_try(AT).unwrap();
        assert_eq!((made.key, made.redrive_of, edited.redriven_as()), (again(), Some(letter.key), Some(again())));
        assert_eq!((made.payload, made.asked_by, made.priority), (Some(other), Some(by.clone()), Priority::High));
        assert_eq!(made.remarks[0].note.as_deref(), Some("the disk is free again"));
        let made = as_it_was.other_try(AT).unwrap();
        assert_eq!((made.payload, made.remarks), (Some(own), vec![]));
        let resumed = letter.tried_again(RunKey::resuming(letter.key), None, said(&by), AT);
        let made = resumed.other_try(Moment::END).unwrap();
        assert_eq!((&made.state, made.remarks[0].what), (&State::Scheduled { due: Moment::END }, Remarked::Resumed));
        assert_eq!(letter.other_try(AT), None);
    }

    #[test]
    fn an_error_is_that_of_the_last_attempt_or_of_what_ended_it() {
        let ended = Some(Ended { at: AT, how: Ending::Failed(ErrorCode::Http5xx.error("503 Busy")) });
        let attempt = Attempt { number: 1, worker: crate::id::Worker(1), started_at: AT, ended };
        let told = Some("`load` failed".to_owned());

        assert_eq!(Run { attempts: vec![attempt], ..failed() }.error(), Some(("http_5xx", "503 Busy")));
        let of_a_workflow = Run { told, state: State::Failed { at: AT, why: Failure::Task }, ..run() };
        assert_eq!(of_a_workflow.error(), Some(("task", "`load` failed")));
        assert_eq!(Run { state: State::TimedOut { at: AT }, ..run() }.error(), Some(("timed_out", "")));
        assert_eq!(run().error(), None);
    }
}
