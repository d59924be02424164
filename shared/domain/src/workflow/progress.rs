//! Progress: how far a task is, as whoever watches a run is told. Of a task that has a run its run says so, and what an operator made of
//! its failure; of one that has none yet, its edges do.

use super::edge::{Ended, On};
use super::plan::{Phase, Plan};
use crate::Moment;
use crate::run::{Lease, Run, State, TaskPlace, Waiting, Word};

/// One word for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress {
    /// None of its edges has closed.
    Pending,
    /// Some of its edges have closed; or its run waits: for an answer, for its own tasks, for a place.
    Waiting,
    Scheduled,
    Queued,
    Running,
    /// It failed, and waits for somebody's verdict.
    Held,
    Succeeded,
    Failed,
    TimedOut,
    /// Somebody cancelled it; or the run ended before it began.
    Cancelled,
    Skipped,
}

impl Progress {
    pub const ALL: [Self; 11] = [
        Self::Pending,
        Self::Waiting,
        Self::Scheduled,
        Self::Queued,
        Self::Running,
        Self::Held,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Skipped,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Waiting => "waiting",
            Self::Scheduled => "scheduled",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Held => "held",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// Of the last try at a task. `holds`: its failures wait for a verdict.
    pub fn of_run(run: &Run, holds: bool, now: Moment) -> Self {
        match &run.state {
            State::Scheduled { due } if now < *due => Self::Scheduled,
            State::Scheduled { .. } => Self::Queued,
            State::Waiting(_) => Self::Waiting,
            State::Running(_) => Self::Running,
            State::Succeeded { .. } => Self::Succeeded,
            State::Failed { .. } => Self::of_failure(Self::Failed, holds, run.verdict()),
            State::TimedOut { .. } => Self::of_failure(Self::TimedOut, holds, run.verdict()),
            State::Cancelled { .. } => Self::Cancelled,
            State::Skipped { .. } => Self::Skipped,
        }
    }

    const fn of_failure(failure: Self, holds: bool, verdict: Option<Word>) -> Self {
        match verdict {
            None if holds => Self::Held,
            Some(Word::Retry) if holds => Self::Queued, // the next try is being made
            Some(Word::Skip) if holds => Self::Skipped,
            Some(Word::Succeed) if holds => Self::Succeeded,
            _it_is_one => failure,
        }
    }

    /// Of a task without a run. `goes_on`: its parent may still start it; `closed`: how many of its edges have.
    pub const fn of_unborn(goes_on: bool, closed: usize) -> Self {
        match (goes_on, closed) {
            (false, _) => Self::Cancelled,
            (true, 0) => Self::Pending,
            (true, _) => Self::Waiting,
        }
    }
}

/// An edge of a task, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeNow {
    pub from: u16,
    pub on: On,
    /// How the task it comes from ended, if it has.
    pub ended: Option<Ended>,
}

impl EdgeNow {
    /// Whether it holds; none while it is open.
    pub fn holds(self) -> Option<bool> {
        self.ended.map(|ended| self.on.holds_for(ended))
    }
}

impl Plan {
    /// The edges of a task. `runs`: the last try at each task that has one.
    pub fn edges_now<'a>(
        &'a self,
        node: u16,
        runs: impl Fn(u16) -> Option<&'a Run> + 'a,
    ) -> impl Iterator<Item = EdgeNow> + 'a {
        let parents = self.node(node).map(|node| node.parents.as_slice()).unwrap_or_default();
        parents.iter().map(move |parent| {
            let holds = self.holds_failures(TaskPlace::task(parent.node));
            let ended = runs(parent.node).and_then(|run| run.ended(holds));
            EdgeNow { from: parent.node, on: parent.on, ended }
        })
    }
}

impl Run {
    /// Whether a task of this phase that has no run may still get one: the run goes on, and has not left the phase behind.
    pub fn may_still_start(&self, phase: Phase) -> bool {
        self.tasks().is_some_and(|tasks| phase >= tasks.phase && (tasks.stop.is_none() || phase > tasks.phase))
    }

    /// When it last became anything else, as far as its record says. What stands in the future has not happened.
    pub fn changed_at(&self, now: Moment) -> Moment {
        let task = self.task.as_ref();
        let judged = task.and_then(|task| task.verdict.as_ref()).map(|verdict| verdict.at);
        let last = self.attempts.last();
        let instants = [
            self.finished_at(),
            judged,
            self.started_at,
            last.map(|attempt| attempt.ended.as_ref().map_or(attempt.started_at, |ended| ended.at)),
            match &self.state {
                State::Scheduled { due } => Some(*due),
                State::Waiting(Waiting::Slot { since }) => Some(*since),
                State::Waiting(Waiting::Answer { until }) | State::Running(Lease { until, .. }) => Some(*until),
                _over_or_waiting_for_tasks => None,
            },
        ];
        instants.into_iter().flatten().filter(|at| *at <= now).max().unwrap_or(self.key.at)
    }

    /// Whether it goes on by itself or by what it awaits: a call, an answer, a verdict, a place, a retry that is due later, tasks of
    /// its own, which are looked after for themselves.
    pub fn is_awaited(&self, holds: bool, now: Moment) -> bool {
        match &self.state {
            State::Scheduled { due } => now < *due,
            State::Waiting(Waiting::Answer { until }) => now < *until,
            State::Waiting(Waiting::Tasks(_) | Waiting::Slot { .. }) => true,
            State::Running(lease) => now < lease.until,
            State::Failed { .. } | State::TimedOut { .. } => holds && self.verdict().is_none(),
            State::Succeeded { .. } | State::Cancelled { .. } | State::Skipped { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::By;
    use crate::body::Body;
    use crate::id::{JobId, RunKey, Tenant, Worker};
    use crate::priority::Priority;
    use crate::run::{Failure, Holder, Judgement, Stop, TaskRun, Tasks};

    const NOW: Moment = Moment::from_secs(1000);

    fn at(seconds: i64) -> Moment {
        Moment::from_secs(seconds)
    }

    fn run(state: State, verdict: Option<Word>) -> Run {
        let parent = RunKey::occurrence(JobId::from_bytes([1; 16]), at(1));
        let verdict =
            verdict.map(|word| Judgement { word, by: By::host(), at: at(900), note: None, result: Body::Empty });
        let task = Some(TaskRun { verdict, ..TaskRun::new(parent, 1, false) });
        Run { state, task, ..Run::new(Tenant::deployment(), TaskPlace::task(0).key(parent, 1), Priority::Normal) }
    }

    fn failed() -> State {
        State::Failed { at: at(500), why: Failure::Error }
    }

    fn running(until: i64) -> State {
        State::Running(Lease { holder: Holder::Process(Worker(1)), until: at(until), cancelled: false, token: None })
    }

    #[test]
    fn a_task_is_as_its_run_says_and_as_an_operator_made_of_its_failure() {
        let rows = [
            (State::Scheduled { due: at(1001) }, None, false, Progress::Scheduled),
            (State::Scheduled { due: NOW }, None, false, Progress::Queued),
            (State::Waiting(Waiting::Answer { until: at(2000) }), None, true, Progress::Waiting),
            (running(2000), None, true, Progress::Running),
            (failed(), None, false, Progress::Failed),
            (failed(), None, true, Progress::Held),
            (failed(), Some(Word::Retry), true, Progress::Queued),
            (failed(), Some(Word::Skip), true, Progress::Skipped),
            (failed(), Some(Word::Succeed), true, Progress::Succeeded),
            (failed(), Some(Word::Fail), true, Progress::Failed),
            (State::TimedOut { at: at(500) }, Some(Word::Fail), true, Progress::TimedOut),
            (State::TimedOut { at: at(500) }, None, true, Progress::Held),
            (State::Cancelled { at: at(500) }, None, true, Progress::Cancelled),
        ];
        for (state, verdict, holds, progress) in rows {
            assert_eq!(Progress::of_run(&run(state.clone(), verdict), holds, NOW), progress, "{state:?} {verdict:?}");
        }
    }

    #[test]
    fn a_task_that_has_no_run_may_get_one_while_its_phase_goes_on() {
        let (main, finally) = (Tasks::until(at(2000)), Tasks { phase: Phase::Finally, ..Tasks::until(at(2000)) });
        let stopped = |tasks| Tasks { stop: Some(Stop::Cancelled), ..tasks };
        let rows = [
            (Some(main), [true, true]),
            (Some(stopped(main)), [false, true]),
            (Some(finally), [false, true]),
            (Some(stopped(finally)), [false, false]),
            (None, [false, false]),
        ];
        for (tasks, may) in rows {
            let state = tasks.map_or(State::Cancelled { at: NOW }, |tasks| State::Waiting(Waiting::Tasks(tasks)));
            let parent = run(state, None);
            assert_eq!([Phase::Main, Phase::Finally].map(|phase| parent.may_still_start(phase)), may, "{tasks:?}");
        }
        assert_eq!(
            [(true, 0), (true, 1), (false, 1)].map(|(goes_on, closed)| Progress::of_unborn(goes_on, closed)),
            [Progress::Pending, Progress::Waiting, Progress::Cancelled]
        );
    }

    #[test]
    fn what_is_awaited_and_what_changed_last_are_read_off_the_record() {
        let rows = [
            (State::Scheduled { due: at(1500) }, None, true, 1),
            (State::Scheduled { due: at(700) }, None, false, 700),
            (running(1500), None, true, 1),
            (running(800), None, false, 800),
            (State::Waiting(Waiting::Answer { until: at(1500) }), None, true, 1),
            (State::Waiting(Waiting::Answer { until: at(600) }), None, false, 600),
            (State::Waiting(Waiting::Slot { since: at(300) }), None, true, 300),
            (State::Waiting(Waiting::Tasks(Tasks::until(at(1500)))), None, true, 1),
            (failed(), None, true, 500),
            (failed(), Some(Word::Retry), false, 900),
            (State::Succeeded { at: at(400), result: Body::Empty }, None, false, 400),
        ];
        for (state, verdict, awaited, changed) in rows {
            let run = run(state.clone(), verdict);
            assert_eq!((run.is_awaited(true, NOW), run.changed_at(NOW)), (awaited, at(changed)), "{state:?}");
        }
        assert!(!run(failed(), None).is_awaited(false, NOW), "a failure that is not held is an end");
    }
}
