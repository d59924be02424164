//! A callback: who is told of a run's end. It is a run of its own, named by the run that it tells of, so that it has tries, a record and a
//! place of its own, and never holds up what it tells of.
//!
//! Rule **pinned**: what is owed is said when the run is born. A job that is changed or deleted meanwhile changes nothing about it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::body::Body;
use crate::id::RunKey;
use crate::limits::CALLBACK_SECONDS;
use crate::order::{Delivery, Order, Terms};
use crate::retry::{Backoff, Jitter, RetryPolicy};
use crate::run::{Run, State};
use crate::target::{HttpTarget, Target};
use crate::trace::Traced;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    pub place: CallbackPlace,
    pub target: HttpTarget,
    /// The ends that it is told of; never none.
    pub on: BTreeSet<End>,
}

/// Which of the callbacks of a run it is: a run has one of each at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallbackPlace {
    /// What its job names under `callback`.
    Callback,
    /// What its job names under `hooks.after`.
    After,
}

/// How a run ended, as far as callbacks tell ends apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    Skipped,
}

/// The first try and two more: whoever is told of an end can also ask for it.
const RETRIES: u16 = 2;
const FIRST_DELAY: Duration = Duration::from_secs(10);
const LONGEST_DELAY: Duration = Duration::from_secs(300);

impl CallbackPlace {
    pub const ALL: [Self; 2] = [Self::Callback, Self::After];

    /// What tells the runs of a run's callbacks apart; for ever.
    pub const fn code(self) -> u64 {
        match self {
            Self::Callback => 0,
            Self::After => 1,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Callback => "callback",
            Self::After => "after",
        }
    }
}

impl End {
    pub const ALL: [Self; 5] = [Self::Succeeded, Self::Failed, Self::TimedOut, Self::Cancelled, Self::Skipped];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// None while the run goes on.
    pub const fn of(state: &State) -> Option<Self> {
        match state {
            State::Scheduled { .. } | State::Waiting(_) | State::Running(_) => None,
            State::Succeeded { .. } => Some(Self::Succeeded),
            State::Failed { .. } => Some(Self::Failed),
            State::TimedOut { .. } => Some(Self::TimedOut),
            State::Cancelled { .. } => Some(Self::Cancelled),
            State::Skipped { .. } => Some(Self::Skipped),
        }
    }
}

impl Callback {
    /// On which terms every callback is called.
    pub fn terms() -> Terms {
        let retry = RetryPolicy {
            max_retries: RETRIES,
            backoff: Backoff::Exponential,
            initial_delay: FIRST_DELAY,
            max_delay: LONGEST_DELAY,
            jitter: Jitter::Equal,
            give_up_after: None,
            break_after_instant_failures: None,
        };
        let timeout = Duration::from_secs(CALLBACK_SECONDS);
        Terms { timeout, retry, delivery: Delivery::AtLeastOnce, before: Duration::ZERO }
    }
}

/// What the run that it tells of says of a callback's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackOwner {
    pub order: Order,
    /// The run that it tells of.
    pub of: Box<Run>,
    /// Whether that run ended as the callback asks. One that is not owed is not carried out.
    pub is_owed: bool,
}

impl CallbackOwner {
    /// None where the run names no callback of this key.
    pub fn of(of: &Run, key: RunKey) -> Option<Self> {
        let callback = of.callbacks.iter().find(|callback| RunKey::callback(of.key, callback.place) == key)?;
        let target = Target::Http(callback.target.clone());
        let order = Order {
            target,
            terms: Callback::terms(),
            payload: Body::Empty,
            priority: of.priority,
            task: None,
            before: None,
        };
        let is_owed = of.callbacks_owed().any(|owed| owed.place == callback.place);
        Some(Self { order, of: Box::new(of.clone()), is_owed })
    }
}

impl Run {
    /// The callbacks that are to tell of its end; none while it goes on, and none of a callback's own run.
    pub fn callbacks_owed(&self) -> impl Iterator<Item = &Callback> {
        let end = End::of(&self.state);
        self.callbacks.iter().filter(move |callback| end.is_some_and(|end| callback.on.contains(&end)))
    }

    /// The run of a callback of this run, not yet begun.
    #[must_use]
    pub fn telling(&self, place: CallbackPlace, now: crate::Moment) -> Self {
        let key = RunKey::callback(self.key, place);
        let born = Self::new(self.tenant.clone(), key, self.priority);
        let kept = self.kept.outlasting(self);
        let trace = Traced::after(self);
        Self { state: State::Scheduled { due: now }, callback_of: Some(self.key), kept, trace, ..born }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moment;
    use crate::id::{JobId, Origin, Tenant};
    use crate::priority::Priority;
    use crate::run::{Failure, Skip};
    use crate::target::{Method, Timeouts};

    const AT: Moment = Moment::from_secs(100);

    fn run(state: State, on: &[End]) -> Run {
        let target = HttpTarget {
            url: "https://example.com/".to_owned(),
            method: Method::Post,
            headers: [].into(),
            timeouts: Timeouts::default(),
        };
        let callback = Callback { place: CallbackPlace::Callback, target, on: on.iter().copied().collect() };
        let key = RunKey::occurrence(JobId::from_bytes([1; 16]), AT);
        Run { state, callbacks: vec![callback], ..Run::new(Tenant::deployment(), key, Priority::High) }
    }

    #[test]
    fn an_end_is_told_of_where_it_was_asked_for() {
        let ends = [
            (State::Succeeded { at: AT, result: Body::Empty }, Some(End::Succeeded)),
            (State::Failed { at: AT, why: Failure::Lost }, Some(End::Failed)),
            (State::TimedOut { at: AT }, Some(End::TimedOut)),
            (State::Cancelled { at: AT }, Some(End::Cancelled)),
            (State::Skipped { at: AT, why: Skip::Paused, span: None }, Some(End::Skipped)),
            (State::Scheduled { due: AT }, None),
        ];
        for (state, end) in ends {
            for asked in End::ALL {
                let run = run(state.clone(), &[asked]);
                assert_eq!(run.callbacks_owed().count(), usize::from(end == Some(asked)), "{state:?}, {asked:?}");
                let key = RunKey::callback(run.key, CallbackPlace::Callback);
                let owner = CallbackOwner::of(&run, key).unwrap();
                assert_eq!(owner.is_owed, end == Some(asked), "{state:?}, {asked:?}");
            }
        }
    }

    #[test]
    fn a_callbacks_run_lies_in_a_place_of_its_own_and_tells_of_nothing_itself() {
        let of = run(State::TimedOut { at: AT }, &End::ALL);

        let [callback, after] = CallbackPlace::ALL.map(|place| of.telling(place, AT));

        let keys = [callback.key, after.key, RunKey::asking(of.key)];
        assert_eq!(BTreeSet::from(keys).len(), 3);
        assert_eq!((callback.key.job, callback.key.origin), (after.key.job, Origin::Callback));
        assert_ne!(callback.key.job, of.key.job);
        assert_eq!((callback.callback_of, callback.callbacks.len()), (Some(of.key), 0));
        assert_eq!(CallbackOwner::of(&of, after.key), None, "its run names no such callback");
    }

    #[test]
    fn a_callback_has_three_tries() {
        assert_eq!(Callback::terms().retry.max_retries + 1, 3);
    }
}
