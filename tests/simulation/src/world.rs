//! The world of one history: the table, the lanes and the targets, and what the judge will be told of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Worker};
use minutehand_domain::pace;
use minutehand_domain::run::Claimant;
use minutehand_executor::{CarriedOut, carry_out};
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::store::{Cursor, Guard, Store as _};
use minutehand_judge::{Call, Head};

use crate::doors::SimDoors;
use crate::engine::{Process, Sim};
use crate::witness::at_once;

/// How long a delivered hint stays invisible before the claim says otherwise.
const VISIBILITY: i64 = 60_000;
/// Deliveries before a hint goes to the dead letters.
const MOST_RECEIVES: u32 = 8;
/// Clocks of processes are apart by at most this from the true one.
pub const SKEW: i64 = 2_000;

#[derive(Clone)]
pub struct World(Arc<Inner>);

struct Inner {
    sim: Sim,
    /// How far the clocks of this world's processes may be from the true one.
    skew: i64,
    store: Arc<MemoryStore>,
    lanes: Mutex<Lanes>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Lanes {
    messages: BTreeMap<u64, Message>,
    /// Whatever is given to them now is lost.
    losing: bool,
    sent: u64,
    receipts: u64,
}

#[derive(Clone, Debug)]
struct Message {
    hint: Hint,
    visible_at: i64,
    receipt: u64,
    receives: u32,
}

/// Names one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    message: u64,
    delivery: u64,
}

impl Receipt {
    /// Of a hint that no lane knows any more: it was delivered twice, or by hand.
    pub const STALE: Self = Self { message: 0, delivery: 0 };
}

/// What the judge will be told.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub jobs: BTreeMap<JobId, Told>,
    pub calls: Vec<Call>,
    /// Of each claim: when it was decided, and until when its holder has the run by the true clock.
    pub claims: BTreeMap<(RunKey, u32), (i64, i64)>,
    pub widest_sweep: i64,
    /// Each hint that was given: when, and for which run.
    pub hints: Vec<(i64, RunKey)>,
}

/// A job as the witness knows it: its number for the judge, how its target behaves, how it stood.
#[derive(Clone, Debug)]
pub struct Told {
    pub number: u32,
    pub behaviour: Behaviour,
    pub heads: Vec<Head>,
}

/// How the target of a job behaves.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    pub takes: i64,
    pub fails: f64,
}

impl World {
    pub fn new(sim: &Sim) -> Self {
        Self::with_clocks(sim, SKEW)
    }

    /// A world whose clocks are apart by at most `skew`.
    pub fn with_clocks(sim: &Sim, skew: i64) -> Self {
        let store = Arc::new(MemoryStore::in_memory());
        Self(Arc::new(Inner { sim: sim.clone(), skew, store, lanes: Mutex::default(), seen: Mutex::default() }))
    }

    pub fn sim(&self) -> &Sim {
        &self.0.sim
    }

    pub fn store(&self) -> &Arc<MemoryStore> {
        &self.0.store
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn doors(&self, process: &Arc<Process>) -> SimDoors {
        SimDoors::new(self.clone(), process.clone())
    }

    /// A new process of this name with its doors.
    pub fn process(&self, name: &'static str) -> (Arc<Process>, SimDoors) {
        let process = self.0.sim.process(name, self.0.skew);
        let doors = self.doors(&process);
        (process, doors)
    }

    /// As a deployment does: a first pass, so that the cursor is there before anything is created.
    pub fn deploy(&self) {
        let now = self.0.sim.now();
        let cursor = Cursor {
            hinted_to: Moment::from_millis(now) + pace::HORIZON,
            oldest: now / 60_000,
            swept_at: Moment::from_millis(now),
        };
        let put = at_once(self.0.store.put_cursor(0, &cursor, Guard::Absent));
        assert!(put.is_ok_and(|put| put.is_written()), "nobody deployed before");
    }

    /// Tells how the target of a job behaves, before the job exists.
    pub fn introduce(&self, job: JobId, number: u32, behaviour: Behaviour) {
        self.seen().jobs.insert(job, Told { number, behaviour, heads: Vec::new() });
    }

    pub fn claimant(process: &Process) -> Claimant {
        Claimant { worker: Worker(process.number), alone: false }
    }

    /// Puts a hint on its lane, as badly as the lane does it.
    pub fn send(&self, hint: &Hint, due: i64) {
        let sim = &self.0.sim;
        let rates = sim.rates();
        self.seen().hints.push((sim.now(), hint.run));
        let losing = self.lanes().losing;
        let copies = if losing || sim.dice(|dice| dice.chance(rates.lose_hint)) {
            sim.count("hint lost");
            0
        } else if sim.dice(|dice| dice.chance(rates.double_hint)) {
            sim.count("hint doubled");
            2
        } else {
            1
        };
        for _ in 0..copies {
            let now = sim.now();
            // Delays are whole seconds, so that a hint becomes visible up to a second early.
            let whole = (due - now).max(0) / 1000 * 1000;
            let mut visible_at = now + whole + sim.dice(|dice| dice.within(5..80));
            if sim.dice(|dice| dice.chance(rates.late_hint)) {
                sim.count("hint late");
                visible_at += sim.dice(|dice| dice.within(0..480_000));
            }
            self.enqueue(hint.clone(), visible_at);
        }
    }

    /// Loses every hint that is on its way.
    pub fn purge(&self) {
        self.0.sim.count("queue purged");
        self.lanes().messages.clear();
    }

    /// From now on the lanes lose whatever they are given, or no longer.
    pub fn lose_hints(&self, losing: bool) {
        self.lanes().losing = losing;
    }

    pub fn hide(&self, receipt: Receipt, until: i64) {
        if let Some(message) = self.lanes().messages.get_mut(&receipt.message).filter(|m| m.receipt == receipt.delivery)
        {
            message.visible_at = until;
        }
        self.deliver_at(receipt.message, until);
    }

    fn enqueue(&self, hint: Hint, visible_at: i64) {
        let mut lanes = self.lanes();
        lanes.sent += 1;
        let id = lanes.sent;
        lanes.messages.insert(id, Message { hint, visible_at, receipt: 0, receives: 0 });
        drop(lanes);
        self.deliver_at(id, visible_at);
    }

    fn deliver_at(&self, message: u64, at: i64) {
        let world = self.clone();
        self.0.sim.at(at, move |_| world.deliver(message));
    }

    fn deliver(&self, id: u64) {
        let now = self.0.sim.now();
        let mut lanes = self.lanes();
        lanes.receipts += 1;
        let delivery = lanes.receipts;
        let Some(message) = lanes.messages.get_mut(&id).filter(|message| message.visible_at <= now) else { return };
        message.receives += 1;
        if message.receives > MOST_RECEIVES {
            lanes.messages.remove(&id);
            drop(lanes);
            self.0.sim.count("hint to the dead letters");
            return;
        }
        message.receipt = delivery;
        message.visible_at = now + VISIBILITY;
        let hint = message.hint.clone();
        drop(lanes);
        self.deliver_at(id, now + self.visibility());
        self.execute(hint, Receipt { message: id, delivery });
    }

    /// Sometimes a lane forgets early that a hint was delivered.
    fn visibility(&self) -> i64 {
        let sim = &self.0.sim;
        let rates = sim.rates();
        if sim.dice(|dice| dice.chance(rates.early_again)) {
            sim.count("visibility expired early");
            return sim.dice(|dice| dice.within(100..VISIBILITY));
        }
        VISIBILITY
    }

    fn execute(&self, hint: Hint, receipt: Receipt) {
        let (process, doors) = self.process("executor");
        let world = self.clone();
        let leaves_at = self.leaving();
        self.0.sim.spawn(&process, async move {
            let leaving = world.0.sim.sleep_until(leaves_at);
            match carry_out(&doors, &hint, &receipt, leaving).await {
                Ok(done) => {
                    world.0.sim.count(word_for(&done));
                    world.settle(receipt, None);
                }
                Err(_fault) => world.settle(receipt, Some(Duration::from_secs(1))),
            }
        });
    }

    /// Now and then the process is told to go away in the middle of its work.
    fn leaving(&self) -> i64 {
        let sim = &self.0.sim;
        let rough = sim.rates().crash > 0.0;
        let pause = if rough && sim.dice(|dice| dice.chance(0.02)) {
            sim.dice(|dice| dice.magnitude(2.0, 5.0))
        } else {
            i64::MAX / 4
        };
        sim.now().saturating_add(pause)
    }

    /// A hint that was carried out is deleted, one that met a fault is given back.
    fn settle(&self, receipt: Receipt, back_in: Option<Duration>) {
        let now = self.0.sim.now();
        let mut lanes = self.lanes();
        let Some(message) = lanes.messages.get_mut(&receipt.message).filter(|m| m.receipt == receipt.delivery) else {
            return;
        };
        match back_in {
            None => drop(lanes.messages.remove(&receipt.message)),
            Some(pause) => {
                message.visible_at = now + i64::try_from(pause.as_millis()).unwrap_or_default();
                let at = message.visible_at;
                drop(lanes);
                self.deliver_at(receipt.message, at);
            }
        }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World of {:?}", self.0.sim)
    }
}

impl Process {
    /// What this process thinks the time is.
    pub fn now(&self, sim: &Sim) -> Moment {
        Moment::from_millis(sim.now() + self.skew)
    }
}

fn word_for(done: &CarriedOut) -> String {
    match done {
        CarriedOut::Attempted(_) if done.is_recorded() => "attempt recorded".to_owned(),
        CarriedOut::Attempted(_) if done.was_fenced() => "attempt fenced".to_owned(),
        CarriedOut::Attempted(_) => "attempt of a run that was over".to_owned(),
        CarriedOut::Dropped(why) => format!("dropped: {why:?}"),
        CarriedOut::GaveUp => "gave up before the call".to_owned(),
    }
}
