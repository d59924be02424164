//! The state of the queues: which hints are visible when, which are in flight until when, and whose turn it is. Time is an
//! argument.

use std::collections::{BTreeSet, HashMap};

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::lane::Lane;
use minutehand_domain::priority::Priority;

use super::packed::Packed;
use super::queue::{Position, Put, Queue};
use super::sleep::Sleep;
use super::tenants::{Free, TenantNumber, Tenants};
use super::{Delivery, VISIBILITY};
use crate::Fault;

/// Names one delivery of one hint. The next delivery of the same hint has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt(u64);

/// The hints of one queue, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Visible and not delivered.
    pub ready: usize,
    /// Visible later.
    pub delayed: usize,
    /// Delivered, and neither done nor given back.
    pub in_flight: usize,
}

#[derive(Debug)]
pub(super) enum Taken {
    Some(Vec<Delivery>),
    /// Nothing becomes visible before then.
    NothingBefore(Moment),
    /// Nothing becomes visible before something is sent.
    Nothing,
}

/// Which queue is offered each of sixteen deliveries first; where it is empty, the most urgent that is not. The most urgent
/// queue gets three quarters of the deliveries, so that a flood of less urgent hints hardly slows it, and no queue starves:
/// under a flood of urgent hints each of the lowest two still gets every sixteenth delivery.
const ROTATION: [Priority; 16] = {
    use Priority::{Critical, High, Low, Normal};
    [
        Critical, Critical, Critical, High, Critical, Critical, Critical, Normal, //
        Critical, Critical, Critical, High, Critical, Critical, Critical, Low,
    ]
};

#[derive(Debug, Default)]
pub(super) struct State {
    queues: [Queue; Priority::ALL.len()],
    tenants: Tenants,
    held: HashMap<Receipt, Held>,
    expiring: BTreeSet<(Moment, Receipt)>,
    in_flight: [usize; Priority::ALL.len()],
    /// How many deliveries all receivers together can work on at a time, where that is known.
    concurrency: Option<usize>,
    sleep: Sleep,
    /// Numbers positions and receipts.
    last_number: u64,
    turn: usize,
}

/// A hint in flight.
#[derive(Debug)]
struct Held {
    priority: Priority,
    position: Position,
    until: Moment,
    packed: Packed,
}

/// Whether waiting receivers must look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Wakes(pub(super) bool);

impl State {
    pub(super) fn send(&mut self, lane: Lane, hint: &Hint, at: Moment, now: Moment) -> Result<Wakes, Fault> {
        let packed = Packed::of(hint)?;
        let position =
            Position { tenant: self.tenants.add_hint(&hint.tenant, lane.is_look), at, number: self.next_number() };
        let queue = &mut self.queues[lane.priority.index()];
        let put = if at <= now { queue.put_visible(position, packed, now) } else { queue.put(position, packed) };
        Ok(self.counted(position, put))
    }

    /// Whether hints wait, and the process is to be looked at again.
    pub(super) fn pulse(&mut self, now: Moment) -> bool {
        let waiting = self.queues.iter().any(|queue| queue.len() > 0);
        if waiting {
            self.sleep.look(now, self.last_number);
        } else {
            self.sleep.look_no_more();
        }
        waiting
    }

    pub(super) fn take(&mut self, max: usize, now: Moment) -> Taken {
        self.sleep.notice(now, self.last_number);
        self.reappear(now);
        // A receiver that requests so many has so much capacity free, whatever became of earlier deliveries.
        let _this_receiver_looks_anyway = self.resume_fitting(self.free().at_least(max));
        let mut deliveries = Vec::new();
        while deliveries.len() < max {
            let free = self.free().at_least(max - deliveries.len());
            let Some((priority, position, packed)) = self.next(free, now) else { break };
            deliveries.extend(self.deliver(priority, position, packed, now));
        }
        if deliveries.is_empty() { self.nothing_visible() } else { Taken::Some(deliveries) }
    }

    /// None where the receipt is not of the hint's newest delivery.
    pub(super) fn done(&mut self, receipt: Receipt) -> Option<Wakes> {
        let (held, wakes) = self.release(receipt)?;
        self.tenants.remove_hint(held.position.tenant);
        Some(wakes)
    }

    /// None where the receipt is not of the hint's newest delivery.
    pub(super) fn give_back(&mut self, receipt: Receipt, at: Moment) -> Option<Wakes> {
        let (held, Wakes(others)) = self.release(receipt)?;
        // The hint keeps its turn unless it must wait longer.
        let position = Position { at: held.position.at.max(at), ..held.position };
        let Wakes(sooner) = self.put(held.priority, position, held.packed);
        Some(Wakes(others || sooner))
    }

    pub(super) fn hide(&mut self, receipt: Receipt, until: Moment) -> Wakes {
        let Some(held) = self.held.get_mut(&receipt) else { return Wakes(false) };
        let before = std::mem::replace(&mut held.until, until);
        self.expiring.remove(&(before, receipt));
        self.expiring.insert((until, receipt));
        Wakes(until < before)
    }

    pub(super) fn limit(&mut self, tenant: &Tenant, concurrent: Option<u32>) -> Wakes {
        let most = concurrent.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        let number = self.tenants.limit(tenant, most);
        self.readmit(number)
    }

    pub(super) fn reached_limit(&self, tenant: &Tenant) -> Option<u32> {
        self.tenants.reached_limit(tenant).map(|limit| u32::try_from(limit).unwrap_or(u32::MAX))
    }

    pub(super) fn set_concurrency(&mut self, count: u32) -> Wakes {
        self.concurrency = Some(usize::try_from(count).unwrap_or(usize::MAX));
        let free = self.free();
        self.resume_fitting(free)
    }

    /// The numbering continues, so that no old receipt ever names a new delivery.
    pub(super) fn purge(&mut self) {
        let mut tenants = std::mem::take(&mut self.tenants);
        tenants.purge();
        *self = Self { tenants, concurrency: self.concurrency, last_number: self.last_number, ..Self::default() };
    }

    /// Counts some of the visible hints from a position on; returns the count and the position to continue from.
    pub(super) fn count_ready(
        &self,
        priority: Priority,
        from: Option<Position>,
        now: Moment,
    ) -> (usize, Option<Position>) {
        self.queues[priority.index()].count_ready(from, now)
    }

    pub(super) fn depth(&self, priority: Priority, ready: usize) -> Depth {
        let waiting = self.queues[priority.index()].len();
        let ready = ready.min(waiting);
        Depth { ready, delayed: waiting - ready, in_flight: self.in_flight[priority.index()] }
    }

    pub(super) fn oldest(&self, priority: Priority, now: Moment) -> Option<Moment> {
        self.queues[priority.index()].oldest(now)
    }

    /// Takes the next visible hint that may be delivered, from the queue whose turn it is.
    fn next(&mut self, free: Free, now: Moment) -> Option<(Priority, Position, Packed)> {
        let offered = ROTATION[self.turn];
        for priority in [offered].into_iter().chain(Priority::ALL) {
            let tenants = &mut self.tenants;
            let taken = self.queues[priority.index()].next(now, |tenant| tenants.admits(tenant, free));
            if let Some((position, packed)) = taken {
                self.turn = (self.turn + 1) % ROTATION.len();
                return Some((priority, position, packed));
            }
        }
        None
    }

    /// A hint that cannot be read is lost, which is allowed; so is one that a sleep has left to the sweep.
    fn deliver(&mut self, priority: Priority, position: Position, packed: Packed, now: Moment) -> Option<Delivery> {
        let account = self.tenants.account(position.tenant);
        let lane = Lane { is_look: account.as_ref().is_some_and(|(_, is_look)| *is_look), ..Lane::short(priority) };
        let hint = account.and_then(|(tenant, _)| packed.unpack(tenant));
        let Some(hint) = hint.filter(|hint| !self.sleep.took(position.number, &hint.timer, now)) else {
            self.tenants.remove_hint(position.tenant);
            return None;
        };
        let receipt = self.hold(Held { priority, position, until: now + VISIBILITY, packed });
        Some(Delivery { hint, lane, receipt })
    }

    fn hold(&mut self, held: Held) -> Receipt {
        let receipt = Receipt(self.next_number());
        self.expiring.insert((held.until, receipt));
        self.in_flight[held.priority.index()] += 1;
        self.tenants.delivery_begins(held.position.tenant);
        self.held.insert(receipt, held);
        receipt
    }

    fn release(&mut self, receipt: Receipt) -> Option<(Held, Wakes)> {
        let held = self.held.remove(&receipt)?;
        self.expiring.remove(&(held.until, receipt));
        self.in_flight[held.priority.index()] -= 1;
        self.tenants.delivery_ends(held.position.tenant);
        let wakes = self.readmit(held.position.tenant);
        Some((held, wakes))
    }

    /// After a delivery ended or a limit changed: resumes this tenant and others that are admitted now.
    fn readmit(&mut self, tenant: TenantNumber) -> Wakes {
        let free = self.free();
        let itself = self.tenants.admits(tenant, free) && self.resume(tenant);
        let Wakes(others) = self.resume_fitting(free);
        Wakes(itself || others)
    }

    fn resume_fitting(&mut self, free: Free) -> Wakes {
        let mut any = false;
        while let Some(tenant) = self.tenants.next_fitting(free) {
            any |= self.resume(tenant);
        }
        Wakes(any)
    }

    fn resume(&mut self, tenant: TenantNumber) -> bool {
        let resumed = self.queues.iter_mut().map(|queue| queue.resume(tenant));
        resumed.fold(false, |any, resumed| any | resumed)
    }

    /// Returns to the queues the hints whose receivers neither finished them nor hid them for longer.
    fn reappear(&mut self, now: Moment) {
        while let Some(&(until, receipt)) = self.expiring.first() {
            if until > now || self.give_back(receipt, until).is_none() {
                return;
            }
        }
    }

    /// When to look again. Tenants that are held back need no moment of their own: they are resumed when a delivery ends.
    fn nothing_visible(&self) -> Taken {
        let sent = self.queues.iter().filter_map(Queue::wakes_at);
        let held = self.expiring.first().map(|(until, _)| *until);
        sent.chain(held).min().map_or(Taken::Nothing, Taken::NothingBefore)
    }

    /// How many more deliveries the receivers can work on; unlimited where their concurrency is unknown.
    fn free(&self) -> Free {
        self.concurrency.map_or(Free::UNBOUNDED, |most| Free::of(most, self.held.len()))
    }

    fn put(&mut self, priority: Priority, position: Position, packed: Packed) -> Wakes {
        let put = self.queues[priority.index()].put(position, packed);
        self.counted(position, put)
    }

    /// Of two that say the same one is left, and counted.
    fn counted(&mut self, position: Position, Put { sooner, was_double }: Put) -> Wakes {
        if was_double {
            self.tenants.remove_hint(position.tenant);
        }
        Wakes(sooner)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}
