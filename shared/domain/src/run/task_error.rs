//! What went wrong with a task, as the tasks behind it are told: a word to act on and a sentence to read.

use serde_json::json;

use super::{Attempt, Failure, Run, State};
use crate::body::Json;

/// The longest sentence: a cleanup is told what happened, not given all that was answered.
pub const TOLD_CHARS: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    /// An attempt's code such as `http_5xx`, or why the run failed where no attempt says it: `rejected`, `task`, `unmade`.
    pub kind: String,
    pub message: String,
}

impl TaskError {
    /// `{"kind": …, "message": …}`.
    pub fn as_json(&self) -> Json {
        Json::of(&json!({ "kind": self.kind, "message": self.message }))
    }
}

impl Run {
    /// What went wrong; none of a run that did not fail, or has not ended.
    pub fn task_error(&self) -> Option<TaskError> {
        let (word, sentence) = match &self.state {
            State::Failed { why, .. } => (why.as_str(), sentence(*why)),
            State::TimedOut { .. } => ("timed_out", "it took longer than it may"),
            State::Scheduled { .. }
            | State::Waiting(_)
            | State::Running(_)
            | State::Succeeded { .. }
            | State::Cancelled { .. }
            | State::Skipped { .. } => return None,
        };
        let last = self.attempts.last().and_then(Attempt::error);
        let message = last.map(|error| error.message.as_str()).or(self.told.as_deref()).unwrap_or(sentence);
        let kind = match (&self.state, last) {
            (State::Failed { why: Failure::Error, .. } | State::TimedOut { .. }, Some(error)) => error.code.clone(),
            _said_by_its_state => word.into(),
        };
        Some(TaskError { kind: kind.into_owned(), message: message.chars().take(TOLD_CHARS).collect() })
    }
}

fn sentence(why: Failure) -> &'static str {
    match why {
        Failure::Error => "it failed",
        Failure::Lost => "nobody knows how far it came, and it may not be tried twice",
        Failure::Poison => "whoever carried it out did not come back, time after time",
        Failure::Instant => "it failed at once, time after time",
        Failure::Task => "a task or a branch of it failed",
        Failure::Rejected => "somebody said no",
        Failure::Unmade => "what it was to be given cannot be made",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moment;
    use crate::id::{JobId, RunKey, Tenant, Worker};
    use crate::priority::Priority;
    use crate::run::attempt::Ended;
    use crate::run::{Ending, ErrorCode};

    fn run(state: State) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([1; 16]), Moment::from_secs(60));
        Run { state, ..Run::new(Tenant::deployment(), key, Priority::Normal) }
    }

    fn failed(why: Failure) -> Run {
        run(State::Failed { at: Moment::from_secs(61), why })
    }

    fn tried(run: Run, error: crate::run::AttemptError) -> Run {
        let at = Moment::from_secs(61);
        let ended = Some(Ended { at, how: Ending::Failed(error) });
        let attempt = Attempt { number: 1, worker: Worker(1), started_at: at, ended };
        Run { attempts: vec![attempt], ..run }
    }

    #[test]
    fn a_failure_says_its_kind_and_a_sentence_and_nothing_else_does() {
        let at = Moment::from_secs(61);
        let answered = ErrorCode::Http4xx.error("400 Bad Request");
        let rows = [
            (tried(failed(Failure::Error), answered.clone()), Some(("http_4xx", "400 Bad Request"))),
            (tried(failed(Failure::Instant), answered), Some(("instant_failures", "400 Bad Request"))),
            (failed(Failure::Rejected), Some(("rejected", "somebody said no"))),
            (Run { told: Some("when: no".to_owned()), ..failed(Failure::Unmade) }, Some(("unmade", "when: no"))),
            (run(State::TimedOut { at }), Some(("timed_out", "it took longer than it may"))),
            (run(State::Cancelled { at }), None),
            (run(State::Scheduled { due: at }), None),
        ];
        for (run, expected) in rows {
            let said = run.task_error();
            let said = said.as_ref().map(|error| (error.kind.as_str(), error.message.as_str()));
            assert_eq!(said, expected, "{:?}", run.state);
        }
    }

    #[test]
    fn what_is_told_is_bounded() {
        let told = Run { told: Some("ä".repeat(10_000)), ..failed(Failure::Unmade) };

        assert_eq!(told.task_error().unwrap().message.chars().count(), TOLD_CHARS);
    }
}
