//! The queues of a world: hints on their way, lost, doubled, late and hidden as badly as a queue does it.

use std::collections::{BTreeMap, VecDeque};

use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::lane::{Lane, Length};
use minutehand_io::queues::{Delivery, embedded};

use crate::setting::{Host, Lambda};
use crate::world::World;

/// How long a delivered hint stays invisible before the claim says otherwise, where a process takes it.
const VISIBILITY: i64 = 60_000;
/// Deliveries before a hint goes to the dead letters.
const MOST_RECEIVES: u32 = 8;
const HOUR: i64 = 3_600_000;
/// What one process sends inside so many milliseconds travels together, ten at most.
const TOGETHER: i64 = 20;
const MOST_TOGETHER: u32 = 10;

#[derive(Debug, Default)]
pub(crate) struct Queues {
    messages: BTreeMap<u64, Message>,
    /// Visible and waiting for somebody who takes them; a message may be here twice, and be taken once.
    ready: [VecDeque<u64>; Lane::ALL.len()],
    /// Whatever is given to them now is lost.
    losing: bool,
    /// The batch of sends that is being broken: whose, until when, how many more of them.
    broken: Option<(u64, i64, u32)>,
    sent: u64,
    deliveries: u64,
}

#[derive(Clone, Debug)]
struct Message {
    hint: Hint,
    lane: Lane,
    visible_at: i64,
    receipt: u64,
    receives: u32,
}

/// Names one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    Of {
        message: u64,
        delivery: u64,
    },
    /// By the queues of one machine.
    Embedded(embedded::Receipt),
}

impl Receipt {
    /// Of a hint that no queue knows any more: it was delivered twice, or by hand.
    pub const EXPIRED: Self = Self::Of { message: 0, delivery: 0 };
}

/// The giving end.
impl World {
    /// Puts a hint on its queue, as badly as the queue does it.
    pub fn send(&self, lane: Lane, hint: &Hint, due: i64) {
        let sim = self.sim();
        self.witness_hint(hint);
        for _ in 0..self.copies_of(hint) {
            // Delays are whole seconds, so that a hint becomes visible up to a second early.
            let whole = (due - sim.now()).max(0) / 1000 * 1000;
            let visible_at = sim.now() + whole + self.delay("hint");
            self.enqueue(self.lane_for(lane), hint.clone(), visible_at);
        }
    }

    /// One machine has a hand for each hint, so that long calls need no lane of their own.
    pub fn lane_for(&self, lane: Lane) -> Lane {
        match self.setting().host {
            Host::Process | Host::Machine => Lane { length: Length::Short, ..lane },
            Host::Lambda(_) => lane,
        }
    }

    pub(crate) fn witness_hint(&self, hint: &Hint) {
        let now = self.sim().now();
        self.seen().hints.push((now, hint.run));
        self.spend(hint.run, |spent| spent.hints += 1);
    }

    /// How many of a hint arrive. Where fate spares them, no run loses a second one.
    fn copies_of(&self, hint: &Hint) -> u32 {
        let lost_before = self.seen().spent.get(&hint.run).is_some_and(|spent| spent.lost_hints > 0);
        if lost_before && self.sim().rates().lose_once {
            return 1;
        }
        let copies = self.copies("hint");
        if copies == 0 {
            self.spend(hint.run, |spent| spent.lost_hints += 1);
        }
        copies
    }

    /// How many of a message arrive.
    pub(crate) fn copies(&self, what: &str) -> u32 {
        let (sim, rates) = (self.sim(), self.sim().rates());
        let spared = rates.lose_once && what == "group";
        if self.queues().losing || !spared && sim.dice(|dice| dice.chance(rates.lose_hint)) {
            sim.count(format!("{what} lost"));
            0
        } else if sim.dice(|dice| dice.chance(rates.double_hint)) {
            sim.count(format!("{what} doubled"));
            2
        } else {
            1
        }
    }

    /// How many milliseconds a message takes.
    pub(crate) fn delay(&self, what: &str) -> i64 {
        let (sim, rates) = (self.sim(), self.sim().rates());
        let swift = sim.dice(|dice| dice.within(5..80));
        if !sim.dice(|dice| dice.chance(rates.late_hint)) {
            return swift;
        }
        sim.count(format!("{what} late"));
        if sim.dice(|dice| dice.chance(0.02)) {
            sim.count(format!("{what} hours late"));
            return swift + sim.dice(|dice| dice.within(HOUR..3 * HOUR));
        }
        swift + sim.dice(|dice| dice.within(0..480_000))
    }

    /// Sends travel in batches of which some fail and the others do not. Whether this one does.
    pub fn breaks(&self, process: u64) -> bool {
        let (sim, now, rate) = (self.sim(), self.sim().now(), self.sim().rates().partial_batch);
        let begins = sim.dice(|dice| dice.chance(rate));
        let mut queues = self.queues();
        if begins {
            queues.broken = Some((process, now + TOGETHER, MOST_TOGETHER));
        }
        let Some((whose, until, left)) = &mut queues.broken else { return false };
        if *whose != process || now > *until || *left == 0 {
            return false;
        }
        *left -= 1;
        drop(queues);
        let fails = sim.dice(|dice| dice.chance(0.5));
        sim.count(if fails { "send of a partial batch failed" } else { "send of a partial batch went through" });
        fails
    }

    /// Loses every hint that is on its way.
    pub fn purge(&self) {
        self.sim().count("queue purged");
        self.queues().messages.clear();
    }

    /// From now on the queues lose whatever they are given, or no longer.
    pub fn lose_hints(&self, losing: bool) {
        self.queues().losing = losing;
    }

    fn enqueue(&self, lane: Lane, hint: Hint, visible_at: i64) {
        let mut queues = self.queues();
        queues.sent += 1;
        let id = queues.sent;
        queues.messages.insert(id, Message { hint, lane, visible_at, receipt: 0, receives: 0 });
        drop(queues);
        self.visible_from(id, visible_at);
    }
}

/// The taking end.
impl World {
    pub fn hide(&self, receipt: Receipt, until: i64) {
        let mut queues = self.queues();
        if let Some((id, message)) = queues.delivered(receipt) {
            message.visible_at = until;
            drop(queues);
            self.visible_from(id, until);
        }
    }

    /// The hint was used up.
    pub(crate) fn used_up(&self, receipt: Receipt) {
        let mut queues = self.queues();
        if let Some((id, _)) = queues.delivered(receipt) {
            queues.messages.remove(&id);
        }
    }

    /// Up to `most` hints that wait on a queue; from now on nobody else sees them for a while.
    pub(crate) fn take(&self, queue: Lane, most: usize) -> Vec<Delivery<Receipt>> {
        let mut taken = Vec::new();
        while taken.len() < most {
            let Some(id) = self.next_ready(queue) else { break };
            taken.extend(self.deliver(id));
        }
        taken
    }

    fn next_ready(&self, queue: Lane) -> Option<u64> {
        match self.setting().host {
            Host::Lambda(Lambda { fair: true, .. }) => self.queues().next_of_the_quietest(queue, self.sim().now()),
            Host::Lambda(_) | Host::Process | Host::Machine => self.queues().ready[queue.index()].pop_front(),
        }
    }

    pub(crate) fn waiting(&self, queue: Lane) -> usize {
        self.queues().ready[queue.index()].len()
    }

    fn deliver(&self, id: u64) -> Option<Delivery<Receipt>> {
        let now = self.sim().now();
        let visibility = self.visibility();
        let mut queues = self.queues();
        queues.deliveries += 1;
        let delivery = queues.deliveries;
        let message = queues.messages.get_mut(&id).filter(|message| message.visible_at <= now)?;
        message.receives += 1;
        if message.receives > MOST_RECEIVES {
            queues.messages.remove(&id);
            drop(queues);
            self.sim().count("hint to the dead letters");
            return None;
        }
        (message.receipt, message.visible_at) = (delivery, now + visibility);
        let receipt = Receipt::Of { message: id, delivery };
        let delivery = Delivery { hint: message.hint.clone(), lane: message.lane, receipt };
        drop(queues);
        self.visible_from(id, now + visibility);
        self.may_be_forgotten(receipt, visibility);
        Some(delivery)
    }

    /// Sometimes a queue forgets early that a hint was delivered, whatever it was told since.
    fn may_be_forgotten(&self, receipt: Receipt, visibility: i64) {
        let (sim, rates) = (self.sim(), self.sim().rates());
        if !sim.dice(|dice| dice.chance(rates.early_again)) {
            return;
        }
        let world = self.clone();
        let early = sim.now() + sim.dice(|dice| dice.within(100..visibility));
        sim.at(early, move |sim| {
            let mut queues = world.queues();
            if let Some((id, message)) = queues.delivered(receipt) {
                message.visible_at = sim.now();
                drop(queues);
                sim.count("visibility expired early");
                world.visible_from(id, sim.now());
            }
        });
    }

    fn visible_from(&self, id: u64, at: i64) {
        let world = self.clone();
        self.sim().at(at, move |sim| {
            let mut queues = world.queues();
            let visible = queues.messages.get(&id).filter(|message| message.visible_at <= sim.now());
            let Some(queue) = visible.map(|message| message.lane) else { return };
            queues.ready[queue.index()].push_back(id);
            drop(queues);
            world.somebody_takes(queue);
        });
    }

    fn visibility(&self) -> i64 {
        match self.setting().host {
            Host::Process | Host::Machine => VISIBILITY,
            Host::Lambda(lambda) => lambda.timeout,
        }
    }
}

impl Queues {
    /// The oldest of the tenant with the fewest hints of this queue in flight.
    fn next_of_the_quietest(&mut self, queue: Lane, now: i64) -> Option<u64> {
        let mut in_flight: BTreeMap<&Tenant, u32> = BTreeMap::new();
        for message in self.messages.values().filter(|message| message.lane == queue && message.visible_at > now) {
            *in_flight.entry(&message.hint.tenant).or_default() += u32::from(message.receives > 0);
        }
        let ready = &self.ready[queue.index()];
        let busy = |id: &u64| self.messages.get(id).and_then(|message| in_flight.get(&message.hint.tenant).copied());
        let (place, _) = ready.iter().enumerate().min_by_key(|(_, id)| busy(id).unwrap_or_default())?;
        self.ready[queue.index()].remove(place)
    }

    /// The message of a delivery, if it has not been delivered again since.
    fn delivered(&mut self, receipt: Receipt) -> Option<(u64, &mut Message)> {
        let Receipt::Of { message, delivery } = receipt else { return None };
        self.messages.get_mut(&message).filter(|message| message.receipt == delivery).map(|found| (message, found))
    }
}
