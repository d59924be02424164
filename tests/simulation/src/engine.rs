//! The engine: processes as futures, run by one thread under a virtual clock. Time passes only when nobody can go on.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use minutehand_judge::Violation;

use crate::clocks::{Clock, Step as ClockStep};
use crate::dice::Dice;
use crate::fate::{Fate, Fates, Step};
use crate::history::Verdict;

/// A handle on the one world that everything in a history shares.
#[derive(Clone)]
pub struct Sim(Arc<Shared>);

struct Shared {
    traced: bool,
    state: Mutex<State>,
    ready: Arc<Ready>,
}

struct State {
    now: i64,
    /// Of each computer.
    clocks: Vec<Clock>,
    /// Whoever sleeps by a clock looks at it now and then.
    clocks_may_be_set: bool,
    agenda: BinaryHeap<Reverse<Entry>>,
    entries: u64,
    tasks: Vec<Option<Task>>,
    free: Vec<usize>,
    dice: Dice,
    fates: Fates,
    tally: BTreeMap<String, u64>,
    steps: u64,
}

/// One process: what it is called, how wrong its clock is, and whether it still lives.
#[derive(Debug)]
pub struct Process {
    pub name: &'static str,
    pub number: u64,
    pub skew: i64,
    /// The computer it runs on.
    computer: usize,
    dead: AtomicBool,
    /// Nothing of it goes on before.
    asleep_until: AtomicI64,
    /// For how long its machine was suspended: what is steady stands still then.
    suspended: AtomicI64,
}

struct Task {
    process: Arc<Process>,
    future: Pin<Box<dyn Future<Output = ()> + Send>>,
    waker: Waker,
}

type Act = Box<dyn FnOnce(&Sim) + Send>;

struct Entry {
    at: i64,
    order: u64,
    what: What,
}

enum What {
    Wake(Waker),
    Do(Act),
}

impl Sim {
    pub fn new(seed: u64, now: i64, fates: Fates) -> Self {
        let state = State {
            now,
            clocks: vec![Clock::default()],
            clocks_may_be_set: false,
            agenda: BinaryHeap::new(),
            entries: 0,
            tasks: Vec::new(),
            free: Vec::new(),
            dice: Dice::new(seed),
            fates,
            tally: BTreeMap::new(),
            steps: 0,
        };
        Self(Arc::new(Shared {
            traced: std::env::var_os("SIMULATION_TRACE").is_some(),
            state: Mutex::new(state),
            ready: Arc::default(),
        }))
    }

    /// The true time, which no process knows.
    pub fn now(&self) -> i64 {
        self.state().now
    }

    /// From now on everybody's clock is ahead by so much, or behind.
    pub fn set_clocks(&self, ahead: i64) {
        let (before, computers) = {
            let state = self.state();
            (state.clocks[0].ahead(), state.clocks.len())
        };
        (0..computers).for_each(|computer| self.set_clock(computer, ahead));
        self.count(if ahead > before { "clocks set forward" } else { "clocks set back" });
    }

    /// From now on the clock of one computer is.
    pub fn set_clock(&self, computer: usize, ahead: i64) {
        let mut state = self.state();
        let step = ClockStep { at: state.now, ahead };
        state.clocks[computer].set(step);
    }

    /// Processes run on so many computers, whose clocks will be set.
    pub fn let_clocks_be_set(&self, computers: usize) {
        let mut state = self.state();
        (state.clocks, state.clocks_may_be_set) = (vec![Clock::default(); computers], true);
    }

    pub fn clocks_may_be_set(&self) -> bool {
        self.state().clocks_may_be_set
    }

    /// How far the clock is ahead that a process goes by, beside its skew.
    pub fn clock_is_ahead(&self, process: &Process) -> i64 {
        self.state().clocks[process.computer].ahead()
    }

    /// When the clock that a process goes by showed this, no later than now.
    pub fn clock_showed(&self, process: &Process, millis: i64) -> i64 {
        let state = self.state();
        state.clocks[process.computer].showed(millis, state.now)
    }

    pub fn dice<T>(&self, roll: impl FnOnce(&mut Dice) -> T) -> T {
        roll(&mut self.state().dice)
    }

    pub fn set_fates(&self, fates: Fates) {
        self.state().fates = fates;
    }

    pub fn rates(&self) -> crate::fate::Rates {
        self.state().fates.rates()
    }

    /// Counts that something happened: a suite asserts least counts, so that it cannot become empty.
    pub fn count(&self, what: impl Into<String>) {
        *self.state().tally.entry(what.into()).or_default() += 1;
    }

    pub fn tally(&self) -> BTreeMap<String, u64> {
        self.state().tally.clone()
    }

    /// Writes a line about what happens to standard error, where `SIMULATION_TRACE` asks for it.
    pub fn trace(&self, process: &Process, line: impl FnOnce() -> String) {
        if self.0.traced {
            let (now, minute) = (self.now(), self.now() / 60_000 % 1440);
            let clock = format!("{:02}:{:02}:{:05}", minute / 60, minute % 60, now % 60_000);
            eprintln!("{clock} {now} {}-{:04x}: {}", process.name, process.number & 0xffff, line());
        }
    }

    pub fn steps(&self) -> u64 {
        self.state().steps
    }

    /// What a history came to where this is what was wrong. Nothing of it goes on: tasks and the agenda hold the world that holds them, and would outlive it.
    pub fn verdict(&self, violations: Vec<Violation>) -> Verdict {
        let (tally, steps, left) = {
            let mut state = self.state();
            state.free.clear();
            (state.tally.clone(), state.steps, (std::mem::take(&mut state.tasks), std::mem::take(&mut state.agenda)))
        };
        drop(left);
        Verdict { violations, tally, steps }
    }

    /// A new process, its clock wrong by up to `skew`.
    pub fn process(&self, name: &'static str, skew: i64) -> Arc<Process> {
        let mut state = self.state();
        let skew = if skew == 0 { 0 } else { state.dice.within(-skew..skew + 1) };
        let number = state.dice.number();
        let computers = state.clocks.len();
        let all: Vec<usize> = (0..computers).collect();
        let computer = if computers == 1 { 0 } else { state.dice.pick(&all) };
        Arc::new(Process {
            name,
            number,
            skew,
            computer,
            dead: AtomicBool::new(false),
            asleep_until: AtomicI64::new(0),
            suspended: AtomicI64::new(0),
        })
    }

    /// Starts a task of a process now; it dies with the process.
    pub fn spawn(&self, process: &Arc<Process>, future: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state();
        let id = state.free.pop().unwrap_or(state.tasks.len());
        let waker = Waker::from(Arc::new(TaskWaker { id, ready: self.0.ready.clone() }));
        let task = Task { process: process.clone(), future: Box::pin(future), waker };
        if id == state.tasks.len() {
            state.tasks.push(Some(task));
        } else {
            state.tasks[id] = Some(task);
        }
        drop(state);
        self.0.ready.push(id);
    }

    /// Ends a process in the middle of whatever it does.
    pub fn kill(&self, process: &Arc<Process>) {
        if !process.is_dead() {
            process.die();
            self.bury(process);
        }
    }

    /// Drops whatever a dead process was doing.
    pub fn bury(&self, process: &Arc<Process>) {
        let is_its = |task: &Option<Task>| task.as_ref().is_some_and(|task| Arc::ptr_eq(&task.process, process));
        let mut state = self.state();
        let its: Vec<usize> = (0..state.tasks.len()).filter(|id| is_its(&state.tasks[*id])).collect();
        let dropped: Vec<_> = its.iter().map(|id| state.tasks[*id].take()).collect();
        state.free.extend(its);
        drop(state);
        drop(dropped); // outside of the lock: what a task holds may have something to say at its end
    }

    /// Whether a process has something under way.
    pub fn is_at_work(&self, process: &Arc<Process>) -> bool {
        self.state().tasks.iter().flatten().any(|task| Arc::ptr_eq(&task.process, process))
    }

    /// Does something at a time; at once if that is past.
    pub fn at(&self, at: i64, act: impl FnOnce(&Self) + Send + 'static) {
        self.state().schedule(at, What::Do(Box::new(act)));
    }

    pub fn sleep_until(&self, at: i64) -> Sleep {
        Sleep { sim: self.clone(), at, registered: false }
    }

    /// Everything until `end`, in order.
    pub fn run_until(&self, end: i64) {
        loop {
            self.run_ready();
            let mut state = self.state();
            let due = state.agenda.peek().is_some_and(|Reverse(entry)| entry.at <= end);
            if !due {
                state.now = state.now.max(end);
                return;
            }
            let Some(Reverse(entry)) = state.agenda.pop() else { return };
            state.now = state.now.max(entry.at);
            drop(state);
            match entry.what {
                What::Wake(waker) => waker.wake(),
                What::Do(act) => act(self),
            }
        }
    }

    /// A step of a process at a port: passes some time, and whatever fate has in store. True where the call fails.
    pub async fn step(&self, process: &Process, step: Step<'_>) -> bool {
        let (fate, pause) = {
            let mut state = self.state();
            state.steps += 1;
            let State { fates, dice, .. } = &mut *state;
            (fates.at(step, dice), dice.within(1..13))
        };
        let pause = match fate {
            Fate::Go | Fate::Fault | Fate::Crash => pause,
            Fate::Stall(pause) => i64::try_from(pause.as_millis()).unwrap_or(i64::MAX),
        };
        if fate != Fate::Go {
            self.trace(process, || format!("{fate:?} {:?} {}", step.phase, step.port));
            let word = match fate {
                Fate::Crash => "crash",
                Fate::Stall(_) => "stall",
                Fate::Fault | Fate::Go => "fault",
            };
            self.count(format!("{word} {:?} {}", step.phase, step.port));
        }
        self.sleep_until(self.now() + pause).await;
        if fate == Fate::Crash {
            process.die();
            std::future::pending::<()>().await;
        }
        fate == Fate::Fault
    }

    fn run_ready(&self) {
        while let Some(id) = self.0.ready.pop() {
            let Some(mut task) = self.state().tasks.get_mut(id).and_then(Option::take) else { continue };
            let waker = task.waker.clone();
            let awake = task.process.asleep_until.load(Ordering::Relaxed);
            if awake > self.now() {
                let mut state = self.state();
                state.tasks[id] = Some(task);
                state.schedule(awake, What::Wake(waker));
                continue;
            }
            let done = task.process.is_dead() || task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
            if done || task.process.is_dead() {
                drop(task);
                self.state().free.push(id);
            } else {
                self.state().tasks[id] = Some(task);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn schedule(&mut self, at: i64, what: What) {
        self.entries += 1;
        let order = self.entries;
        self.agenda.push(Reverse(Entry { at, order, what }));
    }
}

impl Process {
    pub fn die(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    /// Stops it from now until then, or suspends its machine: its clock goes on, and it knows nothing of that.
    pub fn sleep(&self, now: i64, until: i64, is_suspended: bool) {
        self.asleep_until.store(until, Ordering::Relaxed);
        if is_suspended {
            self.suspended.fetch_add(until - now, Ordering::Relaxed);
        }
    }

    /// For how long it has been at it by what no clock is set to.
    pub fn steady(&self, sim: &Sim) -> i64 {
        sim.now() - self.suspended.load(Ordering::Relaxed)
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }
}

/// Waits for the true clock.
pub struct Sleep {
    sim: Sim,
    at: i64,
    registered: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.sim.state();
        if state.now >= self.at {
            return Poll::Ready(());
        }
        if !self.registered {
            state.schedule(self.at, What::Wake(context.waker().clone()));
            drop(state);
            self.registered = true;
        }
        Poll::Pending
    }
}

#[derive(Default)]
struct Ready(Mutex<VecDeque<usize>>);

impl Ready {
    fn push(&self, id: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(id);
    }

    fn pop(&self) -> Option<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

struct TaskWaker {
    id: usize,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.push(self.id);
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sim at {}", self.now())
    }
}
