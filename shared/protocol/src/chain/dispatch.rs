//! Dispatch: turning the timers of occurrences into hints.
//!
//! Rule **successor first**: the timer of the next occurrence stands before this one is hinted, so a chain is never
//! without a timer. Creator, changer, sweeper and canceller share this one function.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::{Job, NotAdmitted};
use minutehand_domain::pace;
use minutehand_domain::timer::Timer;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};

use crate::chain::followed::Followed;
use crate::chain::successor::promise_successor;
use crate::lookup::job_of;
use crate::slots::turns::Turns;
use crate::timers::hinting::hint;

/// What one pass has done: the occurrences that it has fired already, since a chain that a short interval leads far ahead is met again there;
/// how far it has followed what is on record; and the turns that it has put by.
#[derive(Debug, Default)]
pub struct Dispatched {
    fired: Mutex<BTreeSet<(JobId, Moment)>>,
    /// From where the pass is to go along a chain, once it has come to everybody's.
    left: Mutex<Vec<(Moment, Timer)>>,
    pub followed: Followed,
    pub(crate) turns: Turns,
}

impl Dispatched {
    /// Whether nobody in this pass has before.
    pub(crate) fn add(&self, job: JobId, t: Moment) -> bool {
        self.fired.lock().unwrap_or_else(PoisonError::into_inner).insert((job, t))
    }

    pub(crate) fn leave(&self, t: Moment, timer: Timer) {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push((t, timer));
    }

    pub(crate) fn take_left(&self) -> Vec<(Moment, Timer)> {
        std::mem::take(&mut self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn contains(&self, job: JobId, t: Moment) -> bool {
        self.fired.lock().unwrap_or_else(PoisonError::into_inner).contains(&(job, t))
    }
}

/// How the firing of a timer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Hinted up to the horizon.
    Done,
    /// The successor's bucket is past its write line: stopped without hinting, the next look decides.
    SuccessorTooLate,
    /// This is no occurrence, or there is no job.
    Nothing(NothingToDispatch),
}

/// Why a timer has nothing to fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingToDispatch {
    Absent,
    NotAdmitted(NotAdmitted),
}

/// Fires the occurrence at `t` and those after it up to `horizon`.
pub async fn dispatch<D: Ports>(
    ports: &D,
    t: Moment,
    timer: &Timer,
    horizon: Moment,
    dispatched: &Dispatched,
) -> Result<Dispatch, Fault> {
    let job_id = timer.key.run_key().job;
    let (mut t, mut timer) = (t, timer.clone());
    loop {
        dispatched.add(job_id, t);
        let job = match admitted(ports, &timer, t).await? {
            Ok(job) => job,
            Err(nothing) => return Ok(Dispatch::Nothing(nothing)),
        };
        let Some(next) = job.next_after(t) else {
            hint(ports, job.lane(), &Hint::behind(&timer, RunKey::occurrence(job_id, t), job.generation), t).await?;
            return Ok(Dispatch::Done);
        };
        let Some(successor) = promise_successor(ports, &job, next).await? else {
            return Ok(Dispatch::SuccessorTooLate);
        };
        hint(ports, job.lane(), &Hint::behind(&timer, RunKey::occurrence(job_id, t), job.generation), t).await?;
        if next > horizon || dispatched.contains(job_id, next) {
            return Ok(Dispatch::Done);
        }
        (t, timer) = (next, successor);
    }
}

/// What a creator does with an occurrence inside the horizon; later ones are the sweeper's. Guard **creator's hint**:
/// without it the occurrence would wait until a sweeper finds it overdue. All of them up to the horizon, of a job of every second three hundred: with
/// fewer, a sweep that stands for less than that made a new job late, which it does to no other. That is also why a fault here is nobody's:
/// the job is created, and its timer stands.
pub async fn dispatch_if_near<D: Ports>(ports: &D, job: &Job, t: Moment, timer: &Timer) {
    let horizon = ports.clock().now() + pace::HORIZON;
    if t > horizon {
        return;
    }
    // Nobody can have changed what this creator has just written and knows: a single occurrence needs no further read.
    if job.next_after(t).is_none() {
        let _lost_hints_are_found =
            hint(ports, job.lane(), &Hint::behind(timer, RunKey::occurrence(job.id, t), job.generation), t).await;
        return;
    }
    let _lost_hints_are_found = dispatch(ports, t, timer, horizon, &Dispatched::default()).await;
}

/// The job of a timer, if `t` is an occurrence of it.
pub async fn admitted<D: Ports>(ports: &D, timer: &Timer, t: Moment) -> Result<Result<Job, NothingToDispatch>, Fault> {
    let Some(job) = job_of(ports, &timer.tenant, timer.key.run_key().job).await? else {
        return Ok(Err(NothingToDispatch::Absent));
    };
    Ok(match job.admits(t) {
        Ok(()) => Ok(job),
        Err(why) => Err(NothingToDispatch::NotAdmitted(why)),
    })
}
