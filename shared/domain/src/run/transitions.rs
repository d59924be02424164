//! What a run becomes: [`Run::after`], one table seen whole, and below it what each row does.

use std::time::Duration;

use super::attempt::Ended;
use super::{
    Attempt, AttemptError, CancelAsked, Claimant, Ending, ErrorCode, Event, Failure, Graph, Holder, Judgement, Lease,
    MadeUp, Outcome, Refusal, Run, Skip, State, Stop, Taker, Tasks, TasksEnded, Tending, Waiting, Word,
};
use crate::Moment;
use crate::access::{By, SecretHash};
use crate::body::Body;
use crate::limits::{ATTEMPTS_INSIDE, BACKOFF_SECONDS, ERROR_CHARS, LOST_IN_A_ROW};
use crate::order::Terms;
use crate::pace;
use crate::workflow::definition::NoAnswer;
use crate::workflow::plan::Phase;

/// A failure faster than this is an instant one.
const INSTANT: Duration = Duration::from_secs(1);

/// Whether another attempt may follow a failed one, and how long the target asked to be left alone.
#[derive(Clone, Copy)]
enum Retry {
    After(Duration),
    Never,
}

impl Retry {
    fn may(may: bool, wish: Option<Duration>) -> Self {
        if may { Self::After(wish.unwrap_or_default()) } else { Self::Never }
    }
}

impl Event<'_> {
    /// Whether it is for a run whose time has come.
    const fn begins(&self) -> bool {
        use Event::{Ask, AwaitSlot, Claim, MakeUp, Offer, Postpone, Take, Unfold, Unmake, Yield};

        matches!(
            self,
            Claim { .. }
                | Offer { .. }
                | Take { .. }
                | Unfold { .. }
                | Ask { .. }
                | AwaitSlot
                | Yield(_)
                | Postpone { .. }
                | MakeUp { .. }
                | Unmake(_)
        )
    }
}

/// How long a run waits that was handed back, or lost, each of the last times.
const HANDED_AROUND: Duration = Duration::from_secs(30);

impl Run {
    /// What this run becomes when `event` happens to it at `now`; or why it means nothing.
    pub fn after(&self, event: &Event<'_>, now: Moment) -> Result<Self, Refusal> {
        let next = self.next(event, now)?.outlasting_its_timer(self);
        // A store extends a lease without having read the run, and so without having looked at its SLA.
        Ok(if matches!(event, Event::Heartbeat { .. }) { next } else { next.timed(now) })
    }

    #[expect(clippy::too_many_lines, reason = "a state machine is one match that is seen whole")]
    fn next(&self, event: &Event<'_>, now: Moment) -> Result<Self, Refusal> {
        use Event::{
            Ask, AwaitSlot, Cancel, Claim, Entrust, Finish, HandBack, Heartbeat, Judge, MakeUp, NotCalled, Offer,
            Postpone, Take, Tend, Unfold, Unmake, Veto, Yield,
        };
        use State::{Cancelled, Failed, Running, Scheduled, Skipped, Succeeded, TimedOut};
        use Waiting::{Answer, Slot, Tasks};

        match (&self.state, event) {
            (Scheduled { due }, event) if event.begins() && now < *due => Err(Refusal::TooEarly { due: *due }),
            (Scheduled { .. } | State::Waiting(Slot { .. }), Claim { by, terms }) => {
                Ok(self.claimed(Lease::of_process(*by, terms, now), now))
            }
            (Scheduled { .. } | State::Waiting(Slot { .. }), Offer { .. }) => Ok(self.clone()),
            (Scheduled { .. } | State::Waiting(Slot { .. }), Take { taker, terms, .. }) => {
                Ok(self.claimed(Lease::of_taker(taker, terms, now), now))
            }
            (Scheduled { .. } | State::Waiting(Slot { .. }), Unfold { graph, deadline }) => {
                Ok(self.unfolded(graph, *deadline, now))
            }
            (Scheduled { .. } | State::Waiting(Slot { .. }), Ask { until }) => Ok(self.asked(*until, now)),
            (Scheduled { .. } | State::Waiting(Slot { .. }), Unmake(told)) => Ok(self.unmade(told, now)),
            (Scheduled { .. } | State::Waiting(Slot { .. }), Postpone { until }) => Ok(self.postponed(*until)),
            (Scheduled { .. } | State::Waiting(Slot { .. }), MakeUp { turn, per_minute }) => {
                Ok(self.made_up_for(*turn, *per_minute, now))
            }
            (Scheduled { .. } | State::Waiting(Slot { .. }), Yield(told)) => Ok(self.yielded(told, now)),
            (Scheduled { .. }, AwaitSlot) => Ok(self.in_state(State::Waiting(Slot { since: now }))),
            (
                Scheduled { .. } | State::Waiting(_),
                Finish { .. } | Veto { .. } | HandBack { .. } | NotCalled { .. } | Heartbeat { .. } | Entrust { .. },
            ) => Err(Refusal::NotHeld),
            (Scheduled { .. } | State::Waiting(Slot { .. } | Answer { .. }), Cancel { by }) => {
                Ok(self.cancel_asked(*by, now).in_state(Cancelled { at: now }))
            }
            (State::Waiting(Slot { .. }), AwaitSlot)
            | (
                State::Waiting(Tasks(_) | Answer { .. }),
                Claim { .. }
                | Offer { .. }
                | Take { .. }
                | Unfold { .. }
                | Ask { .. }
                | AwaitSlot
                | Yield(_)
                | Postpone { .. }
                | MakeUp { .. }
                | Unmake(_),
            ) => Err(Refusal::Waiting),
            (State::Waiting(Tasks(tasks)), Cancel { by }) => {
                self.cancel_asked(*by, now).stopped(tasks, Stop::Cancelled)
            }
            (State::Waiting(Tasks(tasks)), Tend(Tending::Stop(stop))) if tasks.heeds(*stop, now) => {
                self.stopped(tasks, *stop)
            }
            (State::Waiting(Tasks(tasks)), Tend(Tending::Finally { outcome, deadline }))
                if tasks.phase == Phase::Main =>
            {
                Ok(self.in_finally(*outcome, *deadline))
            }
            (State::Waiting(Tasks(_)), Tend(Tending::End(ended))) => Ok(self.tasks_ended(ended, now)),
            (State::Waiting(Answer { until }), Tend(Tending::Unanswered(default))) if *until <= now => {
                Ok(self.unanswered(*default, now))
            }
            (Scheduled { .. } | State::Waiting(Tasks(_) | Answer { .. } | Slot { .. }), Tend(_))
            | (
                Running(_),
                Unfold { .. }
                | Ask { .. }
                | AwaitSlot
                | Yield(_)
                | Postpone { .. }
                | MakeUp { .. }
                | Unmake(_)
                | Tend(_),
            ) => Err(Refusal::NotWaiting),
            (State::Waiting(Answer { until }), Judge(judgement)) if now < *until => self.answered(judgement, now),
            (Scheduled { .. } | State::Waiting(_) | Running(_), Judge(_)) => Err(Refusal::NotAsked),
            (Running(lease), Claim { by, .. } | Offer { by, .. } | Take { by, .. }) if !lease.is_over(now, *by) => {
                Err(Refusal::Held { until: lease.until })
            }
            (Running(lease), Claim { by, terms }) => {
                Ok(self.ran_out(lease, terms, now).claimed_if_open(Lease::of_process(*by, terms, now), now))
            }
            (Running(lease), Offer { terms, .. }) => Ok(self.ran_out(lease, terms, now)),
            (Running(lease), Take { taker, terms, .. }) => {
                Ok(self.ran_out(lease, terms, now).claimed_if_open(Lease::of_taker(taker, terms, now), now))
            }
            (
                Running(_),
                Finish { fence, .. }
                | Veto { fence, .. }
                | HandBack { fence, .. }
                | NotCalled { fence }
                | Heartbeat { fence, .. }
                | Entrust { fence, .. },
            ) if *fence != self.fence => Err(Refusal::Fenced { offered: *fence, current: self.fence }),
            (Running(lease), Finish { outcome, terms, .. }) => Ok(self.finished(lease, outcome, terms, now)),
            (Running(lease), Veto { told, .. }) => Ok(self.vetoed(lease, told, now)),
            (Running(lease), HandBack { terms, .. }) => Ok(self.handed_back(lease, terms, now)),
            (Running(lease), NotCalled { .. }) => Ok(self.not_called(lease, now)),
            (Running(lease), Heartbeat { until, .. }) => Ok(self.in_state(Running(lease.extended(*until)))),
            (Running(lease), Entrust { token, terms, .. }) => Ok(self.entrusted(lease, *token, terms, now)),
            (Running(lease), Cancel { by }) => Ok(self.cancel_asked(*by, now).in_state(Running(lease.cancelled(now)))),
            (Failed { .. } | TimedOut { .. }, Judge(judgement)) => self.judged(judgement),
            (Succeeded { .. } | Failed { .. } | TimedOut { .. } | Cancelled { .. } | Skipped { .. }, _) => {
                Err(Refusal::Finished)
            }
        }
    }

    /// The attempt that the next claim pushes out of the run, to be written whole as an item of its own before.
    pub fn displaced_by_next_claim(&self) -> Option<&Attempt> {
        (self.attempts.len() >= ATTEMPTS_INSIDE).then(|| self.attempts.first()).flatten()
    }

    fn unfolded(&self, graph: &Graph, deadline: Moment, now: Moment) -> Self {
        let begun = self.begun(Waiting::Tasks(Tasks::until(deadline)), now);
        Self { graph: Some(graph.clone()), ..begun }
    }

    /// Its places stay its own until then.
    fn postponed(&self, until: Moment) -> Self {
        let mut next = self.in_state(State::Scheduled { due: until });
        next.admission.turn = Some(until);
        next
    }

    fn made_up_for(&self, turn: Moment, per_minute: u32, now: Moment) -> Self {
        let since = self.made_up.map_or(now, |made_up| made_up.since);
        let made_up = Some(MadeUp { since, turn, per_minute });
        Self { made_up, ..self.in_state(State::Scheduled { due: turn }) }
    }

    fn asked(&self, until: Moment, now: Moment) -> Self {
        self.begun(Waiting::Answer { until }, now)
    }

    /// Claimed as any other, so that a fence says which claim's it is; but nobody holds it.
    fn begun(&self, waiting: Waiting, now: Moment) -> Self {
        let started_at = Some(self.started_at.unwrap_or(now));
        let mut next = self.in_state(State::Waiting(waiting));
        next.admission.turn = None;
        Self { fence: self.fence + 1, started_at, made_up: None, ..next }
    }

    fn unmade(&self, told: &str, now: Moment) -> Self {
        let told = Some(told.chars().take(ERROR_CHARS).collect());
        Self { told, ..self.in_state(State::Failed { at: now, why: Failure::Unmade }) }
    }

    fn yielded(&self, told: &str, now: Moment) -> Self {
        Self { told: Some(told.to_owned()), ..self.clone().skipped(Skip::Overlap, None, now) }
    }

    /// The first word stands.
    fn stopped(&self, tasks: &Tasks, stop: Stop) -> Result<Self, Refusal> {
        if tasks.stop.is_some() {
            return Err(Refusal::Stopping);
        }
        Ok(self.in_state(State::Waiting(Waiting::Tasks(Tasks { stop: Some(stop), ..*tasks }))))
    }

    /// Whoever asked to stop the tasks before did not ask to stop these.
    fn in_finally(&self, outcome: Option<Stop>, deadline: Moment) -> Self {
        let tasks = Tasks { outcome, phase: Phase::Finally, ..Tasks::until(deadline) };
        self.in_state(State::Waiting(Waiting::Tasks(tasks)))
    }

    fn tasks_ended(&self, ended: &TasksEnded, now: Moment) -> Self {
        match ended {
            TasksEnded::Succeeded { result } => self.in_state(State::Succeeded { at: now, result: result.clone() }),
            TasksEnded::Failed { why, told } => {
                Self { told: told.clone(), ..self.in_state(State::Failed { at: now, why: *why }) }
            }
            TasksEnded::Cancelled => self.in_state(State::Cancelled { at: now }),
            TasksEnded::TimedOut => self.in_state(State::TimedOut { at: now }),
        }
    }

    fn unanswered(&self, default: NoAnswer, now: Moment) -> Self {
        self.in_state(match default {
            NoAnswer::Approve => State::Succeeded { at: now, result: Body::Empty },
            NoAnswer::Reject => State::Failed { at: now, why: Failure::Rejected },
            NoAnswer::Fail => State::TimedOut { at: now },
        })
    }

    fn answered(&self, judgement: &Judgement, now: Moment) -> Result<Self, Refusal> {
        let state = match judgement.word {
            Word::Approve => State::Succeeded { at: now, result: judgement.result.clone() },
            Word::Reject => State::Failed { at: now, why: Failure::Rejected },
            Word::Retry | Word::Skip | Word::Succeed | Word::Fail => return Err(Refusal::NotAsked),
        };
        let mut next = self.in_state(state);
        if let Some(task) = &mut next.task {
            task.answer = Some(judgement.clone());
        }
        Ok(next)
    }

    /// The first verdict stands.
    fn judged(&self, judgement: &Judgement) -> Result<Self, Refusal> {
        let mut next = self.clone();
        match &mut next.task {
            Some(_) if judgement.word.is_answer() => Err(Refusal::NotAsked),
            Some(task) if task.verdict.is_none() => {
                task.verdict = Some(judgement.clone());
                Ok(next)
            }
            Some(_) => Err(Refusal::Decided),
            None => Err(Refusal::NotAsked),
        }
    }

    fn claimed(&self, lease: Lease, now: Moment) -> Self {
        let mut next = self.clone();
        next.fence += 1;
        next.started_at.get_or_insert(now);
        if next.attempts.len() >= ATTEMPTS_INSIDE {
            next.attempts.remove(0);
        }
        next.attempts.push(Attempt { number: next.fence, worker: lease.holder.worker(), started_at: now, ended: None });
        next.state = State::Running(lease);
        next.admission.turn = None; // the next attempt asks for another
        next.made_up = None;
        next
    }

    /// What waits out a backoff after its time was up is not claimed at once.
    fn claimed_if_open(&self, lease: Lease, now: Moment) -> Self {
        match &self.state {
            State::Scheduled { due } if *due <= now => self.claimed(lease, now),
            _finished_or_not_due => self.clone(),
        }
    }

    /// Nobody of ours waits for it any more: its holder lives on whatever becomes of our processes.
    fn entrusted(&self, lease: &Lease, token: SecretHash, terms: &Terms, now: Moment) -> Self {
        let until = self.deadline(terms).unwrap_or(lease.until);
        let entrusted =
            Lease { holder: Holder::Target(lease.holder.worker()), until, cancelled: false, token: Some(token) };
        self.in_state(State::Running(if lease.cancelled { entrusted.cancelled(now) } else { entrusted }))
    }

    /// The lease ran out. Where it was somebody's elsewhere for as long as the attempt may take, its time is up; a target's lasts for as
    /// long as an attempt might take when it took the run on.
    fn ran_out(&self, lease: &Lease, terms: &Terms, now: Moment) -> Self {
        let is_up = match lease.holder {
            Holder::Process(_) => false,
            Holder::Target(_) => !lease.cancelled,
            Holder::Remote(_) => {
                let deadline = self.deadline(terms).filter(|_| lease.token.is_some());
                deadline.is_some_and(|deadline| deadline <= lease.until)
            }
        };
        if is_up { self.timed_out(lease, terms, now) } else { self.lost(lease, terms, now) }
    }

    /// Nobody knows how far the attempt got.
    fn lost(&self, lease: &Lease, terms: &Terms, now: Moment) -> Self {
        let mut next = self.attempt_ended(Ending::Lost, lease.until.min(now));
        next.tally.lost_in_a_row = self.tally.lost_in_a_row.saturating_add(1);
        next.state = match terms.delivery {
            _ if lease.cancelled => State::Cancelled { at: now },
            delivery if !delivery.may_repeat() => State::Failed { at: now, why: Failure::Lost },
            _ if next.tally.lost_in_a_row >= LOST_IN_A_ROW => State::Failed { at: now, why: Failure::Poison },
            _ => State::Scheduled { due: now },
        };
        next
    }

    /// As a lost lease, but known at once and no sign of poison. Nothing bounds how often that may be: who hands back whatever it takes is given
    /// it again in a while.
    fn handed_back(&self, lease: &Lease, terms: &Terms, now: Moment) -> Self {
        let mut next = self.lost(lease, terms, now);
        if let State::Failed { why: Failure::Poison, .. } = next.state {
            next.state = State::Scheduled { due: now };
        }
        next.tally.lost_in_a_row = self.tally.lost_in_a_row;
        match next.state {
            State::Scheduled { .. } if next.is_handed_around() => {
                next.in_state(State::Scheduled { due: now + HANDED_AROUND })
            }
            _ => next,
        }
    }

    /// Whether none of the attempts that it holds came to an end of its own.
    fn is_handed_around(&self) -> bool {
        let is_lost = |attempt: &Attempt| attempt.ended.as_ref().is_some_and(|ended| ended.how == Ending::Lost);
        self.attempts.len() >= ATTEMPTS_INSIDE && self.attempts.iter().all(is_lost)
    }

    /// It is free for the next one, also where it may run once at the most: nothing has begun.
    fn not_called(&self, lease: &Lease, now: Moment) -> Self {
        let state = if lease.cancelled { State::Cancelled { at: now } } else { State::Scheduled { due: now } };
        let why = ErrorCode::Unavailable
            .error("not called: its lease had too little left, or what the call takes could not be read");
        self.attempt_ended(Ending::Failed(why), lease.until.min(now)).in_state(state)
    }

    fn finished(&self, lease: &Lease, outcome: &Outcome, terms: &Terms, now: Moment) -> Self {
        match outcome {
            Outcome::Succeeded { result } => {
                let next = self.attempt_ended(Ending::Succeeded, now);
                next.in_state(State::Succeeded { at: now, result: result.clone() })
            }
            Outcome::Failed { error, retry_after } => {
                let next = self.attempt_ended(Ending::Failed(error.clone()), now).tallied();
                let may_retry = error.retryable && (terms.delivery.may_repeat() || !error.reached);
                next.after_failure(lease, terms, Retry::may(may_retry, *retry_after), now)
            }
            Outcome::TimedOut => self.timed_out(lease, terms, now),
        }
    }

    /// No failure of anybody: it counts as none. What was to be cancelled is.
    fn vetoed(&self, lease: &Lease, told: &str, now: Moment) -> Self {
        let error = ErrorCode::Vetoed.error(told);
        let next = Self { told: Some(error.message.clone()), ..self.attempt_ended(Ending::Failed(error), now) };
        if lease.cancelled {
            return next.in_state(State::Cancelled { at: now });
        }
        next.skipped(Skip::Vetoed, None, now)
    }

    fn timed_out(&self, lease: &Lease, terms: &Terms, now: Moment) -> Self {
        let had = match (lease.holder, self.attempts.last()) {
            (Holder::Target(_), Some(attempt)) => lease.until.since(attempt.started_at),
            (Holder::Process(_), _) => terms.call(),
            (Holder::Target(_) | Holder::Remote(_), _) => terms.timeout,
        };
        let next = self.attempt_ended(Ending::TimedOut(AttemptError::timed_out(had)), now).tallied();
        next.after_failure(lease, terms, Retry::may(terms.delivery.may_repeat(), None), now)
    }

    /// Another attempt after a backoff, or the end.
    fn after_failure(&self, lease: &Lease, terms: &Terms, retry: Retry, now: Moment) -> Self {
        let broken = terms.retry.break_after_instant_failures.is_some_and(|most| self.tally.instant_in_a_row >= most);
        let due = match retry {
            Retry::After(wish) if !broken => self.retry_due(terms, wish, now),
            Retry::After(_) | Retry::Never => None,
        };
        match due {
            _ if lease.cancelled => self.in_state(State::Cancelled { at: now }),
            Some(due) => self.in_state(State::Scheduled { due }),
            None if broken => self.in_state(State::Failed { at: now, why: Failure::Instant }),
            None => self.in_state(self.last_failure(now)),
        }
    }

    fn retry_due(&self, terms: &Terms, wish: Duration, now: Moment) -> Option<Moment> {
        if self.tally.failures > terms.retry.max_retries {
            return None;
        }
        let backoff = terms.retry.delay(self.tally.failures, |turn| self.key.chance(turn));
        let due = now + backoff.max(wish.min(Duration::from_secs(BACKOFF_SECONDS)));
        let last_start = terms.retry.give_up_after.zip(self.started_at).map(|(span, start)| start + span);
        last_start.is_none_or(|last| due <= last).then_some(due)
    }

    fn last_failure(&self, now: Moment) -> State {
        match self.attempts.last().and_then(|attempt| attempt.ended.as_ref()).map(|ended| &ended.how) {
            Some(Ending::TimedOut(_)) => State::TimedOut { at: now },
            _ => State::Failed { at: now, why: Failure::Error },
        }
    }

    fn attempt_ended(&self, how: Ending, at: Moment) -> Self {
        let mut next = self.clone();
        if let Some(attempt) = next.attempts.last_mut() {
            attempt.ended = Some(Ended { at, how });
        }
        next
    }

    fn tallied(mut self) -> Self {
        let instant = self.attempts.last().is_some_and(|attempt| {
            attempt.ended.as_ref().is_some_and(|ended| ended.at.since(attempt.started_at) < INSTANT)
        });
        self.tally.failures = self.tally.failures.saturating_add(1);
        self.tally.lost_in_a_row = 0;
        self.tally.instant_in_a_row = if instant { self.tally.instant_in_a_row.saturating_add(1) } else { 0 };
        self
    }

    /// The first who asks is remembered.
    fn cancel_asked(&self, by: Option<&By>, now: Moment) -> Self {
        let asked = by.map(|by| CancelAsked { at: now, by: by.clone() });
        Self { cancel: self.cancel.clone().or(asked), ..self.clone() }
    }

    /// As it stands at `soon`, where a clock that was ahead has said that it is due later, or that a worker elsewhere has it for longer: it asks anew
    /// for the turn that it had, and is the worker's for as long as that was given it. None where nothing of it is to be taken back.
    pub fn recalled(&self, soon: Moment) -> Option<Self> {
        match &self.state {
            State::Scheduled { due } if *due > soon && !self.waits_out_what_ended_by(soon) => Some(self.due_anew(soon)),
            State::Running(lease) if matches!(lease.holder, Holder::Remote(_)) => self.held_anew(lease, soon),
            _as_it_is => None,
        }
    }

    /// Whether it waits for nothing but its next try, and a clock that is right has said until when: its last one had ended by then.
    fn waits_out_what_ended_by(&self, soon: Moment) -> bool {
        let ended = self.attempts.last().and_then(|attempt| attempt.ended.as_ref());
        let by_itself = ended.is_some_and(|ended| ended.how != Ending::Lost && ended.at <= soon);
        by_itself && self.admission.turn.is_none() && self.made_up.is_none()
    }

    /// Its attempt counts from then as well, so that twice is once. What ends before it began was said by a clock that is right: by whoever cancelled it.
    fn held_anew(&self, lease: &Lease, soon: Moment) -> Option<Self> {
        let began = self.attempts.last()?.started_at;
        let given = (soon < began && began < lease.until).then(|| lease.until.since(began))?;
        let mut next = self.in_state(State::Running(Lease { until: soon + given, ..*lease }));
        if let Some(attempt) = next.attempts.last_mut() {
            attempt.started_at = soon;
        }
        Some(next)
    }

    fn due_anew(&self, due: Moment) -> Self {
        let mut next = self.in_state(State::Scheduled { due });
        next.admission.turn = None;
        next.made_up = self.made_up.map(|made_up| made_up.gone_by(due));
        next
    }

    fn in_state(&self, state: State) -> Self {
        Self { state, ..self.clone() }
    }
}

impl Lease {
    /// A process has a run for as long as its call may take.
    fn of_process(by: Claimant, terms: &Terms, now: Moment) -> Self {
        let until = now + terms.lease();
        Self { holder: Holder::Process(by.worker), until, cancelled: false, token: None }
    }

    /// A worker elsewhere has it from one sign of life to the next, and never for longer than an attempt may take.
    fn of_taker(taker: &Taker, terms: &Terms, now: Moment) -> Self {
        let until = now + taker.lease.min(terms.timeout);
        Self { holder: Holder::Remote(taker.worker), until, cancelled: false, token: Some(taker.token) }
    }

    /// A process ends its call in its own time; a worker elsewhere hears of it with its next heartbeat, and has a grace to stop, however
    /// short its lease is. One that is over already has none.
    fn cancelled(&self, now: Moment) -> Self {
        let until = match self.holder {
            Holder::Remote(_) | Holder::Target(_) if !self.cancelled && now < self.until => now + pace::CANCEL_GRACE,
            Holder::Remote(_) | Holder::Target(_) | Holder::Process(_) => self.until,
        };
        Self { cancelled: true, until, ..*self }
    }
}

#[cfg(test)]
#[path = "diagram_tests.rs"]
mod diagram_tests;
#[cfg(test)]
#[path = "transitions_tests.rs"]
mod tests;
