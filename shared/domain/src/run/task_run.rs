//! The run of a task: where it stands below the run of its workflow, and what people decided about it.

use super::{Run, State};
use crate::Moment;
use crate::access::By;
use crate::body::Body;
use crate::id::{Origin, RunKey};
use crate::workflow::edge::Ended;
use crate::workflow::parts;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRun {
    /// The run that it is a task of: a workflow's, or a `for_each`'s.
    pub parent: RunKey,
    /// How many workflows it is inside of, from 1.
    pub depth: u8,
    /// A failure that nobody allowed lies before it.
    pub tainted: bool,
    /// Where the run of this task stands in the run that is resumed, if that has one: its first try.
    pub before: Option<RunKey>,
    /// The one there that did this already.
    pub reused: Option<RunKey>,
    /// How somebody answered, where it is an approval.
    pub answer: Option<Judgement>,
    /// What an operator made of its failure, where that was held.
    pub verdict: Option<Judgement>,
}

/// Which task of its parent a run is of, and which try at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskPlace {
    pub node: u16,
    /// Of a `for_each`, from 0. None: the task itself, or the `for_each` as a whole.
    pub branch: Option<u16>,
    /// From 1; another for each retry that an operator asks for.
    pub turn: u16,
}

/// What somebody decided, who and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub word: Word,
    pub by: By,
    pub at: Moment,
    pub note: Option<String>,
    /// What the task answers with, where it is to count as a success.
    pub result: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// Of an approval: it succeeds.
    Approve,
    /// Of an approval: it fails.
    Reject,
    /// Of a held failure: another try at the same task.
    Retry,
    /// Of a held failure: as if it had been skipped.
    Skip,
    /// Of a held failure: as if it had succeeded.
    Succeed,
    /// Of a held failure: it is one.
    Fail,
}

impl Word {
    pub const ALL: [Self; 6] = [Self::Approve, Self::Reject, Self::Retry, Self::Skip, Self::Succeed, Self::Fail];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::Succeed => "succeed",
            Self::Fail => "fail",
        }
    }

    /// Whether it answers an approval; the others are verdicts on a held failure.
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Approve | Self::Reject)
    }
}

impl TaskPlace {
    pub fn task(node: u16) -> Self {
        Self { node, branch: None, turn: 1 }
    }

    pub fn branch(node: u16, branch: u16) -> Self {
        Self { node, branch: Some(branch), turn: 1 }
    }

    /// The same, tried again.
    #[must_use]
    pub fn again(self) -> Self {
        Self { turn: self.turn.saturating_add(1), ..self }
    }

    /// The run that stands here below `parent`, whose tasks lie in so many parts.
    pub fn key(self, parent: RunKey, parts: u8) -> RunKey {
        let job = parts::place(parent, parts::part_of(self.node, self.branch, parts));
        RunKey { job, at: parent.at, origin: Origin::Task, discriminator: self.discriminator() }
    }

    /// What tells it from the others of its part: they sort by task, branch and try.
    pub fn discriminator(self) -> u64 {
        let branch = self.branch.map_or(0, |branch| u64::from(branch) + 1);
        u64::from(self.node) << 48 | branch << 24 | u64::from(self.turn)
    }

    /// Where a run stands below its parent.
    pub fn of(key: RunKey) -> Option<Self> {
        let part = |shift: u32, bits: u32| u16::try_from(key.discriminator >> shift & ((1 << bits) - 1)).ok();
        let (node, branch, turn) = (part(48, 16)?, part(24, 24)?, part(0, 24)?);
        (key.origin == Origin::Task).then_some(Self { node, branch: branch.checked_sub(1), turn })
    }
}

impl TaskRun {
    pub fn new(parent: RunKey, depth: u8, tainted: bool) -> Self {
        Self { parent, depth, tainted, before: None, reused: None, answer: None, verdict: None }
    }
}

impl Run {
    /// How this run of a task counts for what waits for it; none while it goes on, or while its failure is held and nobody has
    /// decided. `holds`: its failures wait for an operator's verdict.
    pub fn ended(&self, holds: bool) -> Option<Ended> {
        match &self.state {
            State::Scheduled { .. } | State::Waiting(_) | State::Running(_) => None,
            State::Succeeded { .. } => Some(Ended::Succeeded),
            State::Cancelled { .. } => Some(Ended::Cancelled),
            State::Skipped { .. } => Some(Ended::Skipped),
            State::Failed { .. } | State::TimedOut { .. } if !holds => Some(Ended::Failed),
            State::Failed { .. } | State::TimedOut { .. } => match self.verdict()? {
                Word::Skip => Some(Ended::Skipped),
                Word::Succeed => Some(Ended::Succeeded),
                Word::Fail => Some(Ended::Failed),
                Word::Retry | Word::Approve | Word::Reject => None,
            },
        }
    }

    /// What it answers with to what comes after it: its own result, or that of whoever let its failure count as a success.
    pub fn result(&self) -> &Body {
        const NOTHING: &Body = &Body::Empty;
        match (&self.state, &self.task) {
            (State::Succeeded { result, .. }, _)
            | (_, Some(TaskRun { verdict: Some(Judgement { word: Word::Succeed, result, .. }), .. })) => result,
            _ => NOTHING,
        }
    }

    /// The run that this one goes on with, or that of its task there.
    pub fn before(&self) -> Option<RunKey> {
        match &self.task {
            Some(task) => task.before,
            None => self.redrive_of.filter(|_| self.key.origin == Origin::Resume),
        }
    }

    /// What an operator made of its failure.
    pub fn verdict(&self) -> Option<Word> {
        Some(self.task.as_ref()?.verdict.as_ref()?.word)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Failure;
    use super::*;
    use crate::id::{JobId, Tenant};
    use crate::priority::Priority;

    fn parent() -> RunKey {
        RunKey::occurrence(JobId::from_bytes([1; 16]), Moment::from_secs(60))
    }

    proptest! {
        #[test]
        fn a_key_says_where_its_task_stands(node: u16, branch in proptest::option::of(0..u16::MAX), turn: u16, parts in 1_u8..=16) {
            let place = TaskPlace { node, branch, turn };
            let key = place.key(parent(), parts);
            prop_assert_eq!(TaskPlace::of(key), Some(place));
            prop_assert_eq!(RunKey::from_bytes(&key.to_bytes()), Some(key));
        }
    }

    #[test]
    fn branches_and_tries_sort_behind_their_task() {
        let places = [
            TaskPlace::task(1),
            TaskPlace::task(1).again(),
            TaskPlace::branch(1, 0),
            TaskPlace::branch(1, 9),
            TaskPlace::task(2),
        ];
        let keys = places.map(|place| place.key(parent(), 1));

        assert!(keys.is_sorted());
        assert_eq!(TaskPlace::of(parent()), None);
    }

    #[test]
    fn a_failure_that_is_held_counts_as_an_operator_says() {
        let at = Moment::from_secs(100);
        let judged = |state: State, word: Option<Word>| {
            let verdict = word.map(|word| Judgement { word, by: By::host(), at, note: None, result: Body::Empty });
            let task = Some(TaskRun { verdict, ..TaskRun::new(parent(), 1, false) });
            let key = TaskPlace::task(0).key(parent(), 1);
            Run { state, task, ..Run::new(Tenant::deployment(), key, Priority::Normal) }
        };
        let failed = || State::Failed { at, why: Failure::Error };
        let rows = [
            (failed(), None, false, Some(Ended::Failed)),
            (failed(), None, true, None),
            (failed(), Some(Word::Retry), true, None),
            (failed(), Some(Word::Skip), true, Some(Ended::Skipped)),
            (failed(), Some(Word::Succeed), true, Some(Ended::Succeeded)),
            (State::TimedOut { at }, Some(Word::Fail), true, Some(Ended::Failed)),
            (State::Succeeded { at, result: Body::Empty }, None, true, Some(Ended::Succeeded)),
            (State::Cancelled { at }, None, true, Some(Ended::Cancelled)),
            (State::Scheduled { due: at }, None, false, None),
        ];
        for (state, word, holds, ended) in rows {
            assert_eq!(judged(state.clone(), word).ended(holds), ended, "{state:?}, {word:?}, {holds}");
        }
    }
}
