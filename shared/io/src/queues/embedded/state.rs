//! What lies in the queues: who is visible when, who is in flight until when, and whose turn it is. Time is an argument.

use std::collections::{BTreeSet, HashMap};

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::priority::Priority;

use super::packed::Packed;
use super::queue::{Place, Queue};
use super::tenants::{TenantNumber, Tenants};
use super::{Delivery, VISIBILITY};
use crate::Fault;

/// Names one delivery of one hint. The next delivery of the same hint has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt(u64);

/// How much lies in one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Visible, and delivered to nobody.
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

/// Whose queue is offered each of sixteen deliveries first; where it is empty, the most urgent that is not. The most urgent
/// queue has three quarters of what can be delivered, so that a flood below hardly slows it, and no queue waits for ever:
/// under a flood from above the lowest two still get every sixteenth delivery each.
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
    /// How many deliveries those who receive can work on at a time, where they have said so.
    hands: Option<usize>,
    /// Numbers places and receipts.
    last_number: u64,
    turn: usize,
}

/// A hint in flight.
#[derive(Debug)]
struct Held {
    priority: Priority,
    place: Place,
    until: Moment,
    packed: Packed,
}

/// Whether those who wait must look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Rings(pub(super) bool);

impl State {
    pub(super) fn send(&mut self, priority: Priority, hint: &Hint, at: Moment) -> Result<Rings, Fault> {
        let packed = Packed::of(hint)?;
        let place = Place { tenant: self.tenants.gains(&hint.tenant), at, number: self.next_number() };
        Ok(Rings(self.queue(priority).put(place, packed)))
    }

    pub(super) fn take(&mut self, max: usize, now: Moment) -> Taken {
        self.reappear(now);
        // Who asks for so many has so many hands free, whatever became of earlier deliveries.
        let _looking_now = self.let_in(self.free().max(max));
        let mut deliveries = Vec::new();
        while deliveries.len() < max {
            let free = self.free().max(max - deliveries.len());
            let Some((priority, place, packed)) = self.next(free, now) else { break };
            deliveries.extend(self.deliver(priority, place, packed, now + VISIBILITY));
        }
        if deliveries.is_empty() { self.nothing() } else { Taken::Some(deliveries) }
    }

    /// Nothing where it was no longer this delivery's.
    pub(super) fn done(&mut self, receipt: Receipt) -> Option<Rings> {
        let (held, rings) = self.let_go(receipt)?;
        self.tenants.loses(held.place.tenant);
        Some(rings)
    }

    /// Nothing where it was no longer this delivery's.
    pub(super) fn give_back(&mut self, receipt: Receipt, at: Moment) -> Option<Rings> {
        let (held, Rings(others)) = self.let_go(receipt)?;
        // It keeps its turn unless it is told to wait.
        let place = Place { at: held.place.at.max(at), ..held.place };
        let sooner = self.queue(held.priority).put(place, held.packed);
        Some(Rings(others || sooner))
    }

    pub(super) fn hide(&mut self, receipt: Receipt, until: Moment) -> Rings {
        let Some(held) = self.held.get_mut(&receipt) else { return Rings(false) };
        let before = std::mem::replace(&mut held.until, until);
        self.expiring.remove(&(before, receipt));
        self.expiring.insert((until, receipt));
        Rings(until < before)
    }

    pub(super) fn limit(&mut self, tenant: &Tenant, concurrent: Option<u32>) -> Rings {
        let most = concurrent.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        let number = self.tenants.limit(tenant, most);
        self.readmit(number)
    }

    pub(super) fn hands(&mut self, count: u32) -> Rings {
        self.hands = Some(usize::try_from(count).unwrap_or(usize::MAX));
        let free = self.free();
        self.let_in(free)
    }

    /// Numbers go on, so that no old receipt ever names a new delivery.
    pub(super) fn purge(&mut self) {
        let mut tenants = std::mem::take(&mut self.tenants);
        tenants.purge();
        *self = Self { tenants, hands: self.hands, last_number: self.last_number, ..Self::default() };
    }

    /// Counts some of what is visible, from a place on, and says where to go on.
    pub(super) fn count_ready(&self, priority: Priority, from: Option<Place>, now: Moment) -> (usize, Option<Place>) {
        self.queues[priority.index()].count_ready(from, now)
    }

    pub(super) fn depth(&self, priority: Priority, ready: usize) -> Depth {
        let waiting = self.queues[priority.index()].len();
        let ready = ready.min(waiting);
        Depth { ready, delayed: waiting - ready, in_flight: self.in_flight[priority.index()] }
    }

    /// Takes the next visible hint that may be delivered out of the queue whose turn it is.
    fn next(&mut self, free: usize, now: Moment) -> Option<(Priority, Place, Packed)> {
        let offered = ROTATION[self.turn];
        for priority in [offered].into_iter().chain(Priority::ALL) {
            let tenants = &mut self.tenants;
            let taken = self.queues[priority.index()].next(now, |tenant| tenants.admits(tenant, free));
            if let Some((place, packed)) = taken {
                self.turn = (self.turn + 1) % ROTATION.len();
                return Some((priority, place, packed));
            }
        }
        None
    }

    /// What cannot be read is lost, as a hint may be.
    fn deliver(&mut self, priority: Priority, place: Place, packed: Packed, until: Moment) -> Option<Delivery> {
        let hint = self.tenants.tenant(place.tenant).and_then(|tenant| packed.unpack(tenant));
        let Some(hint) = hint else {
            self.tenants.loses(place.tenant);
            return None;
        };
        let receipt = self.hold(Held { priority, place, until, packed });
        Some(Delivery { hint, priority, receipt })
    }

    fn hold(&mut self, held: Held) -> Receipt {
        let receipt = Receipt(self.next_number());
        self.expiring.insert((held.until, receipt));
        self.in_flight[held.priority.index()] += 1;
        self.tenants.begins(held.place.tenant);
        self.held.insert(receipt, held);
        receipt
    }

    fn let_go(&mut self, receipt: Receipt) -> Option<(Held, Rings)> {
        let held = self.held.remove(&receipt)?;
        self.expiring.remove(&(held.until, receipt));
        self.in_flight[held.priority.index()] -= 1;
        self.tenants.ends(held.place.tenant);
        let rings = self.readmit(held.place.tenant);
        Some((held, rings))
    }

    /// A hand is free again, or a limit is another: perhaps its tenant is no longer held back, or somebody else is not.
    fn readmit(&mut self, tenant: TenantNumber) -> Rings {
        let free = self.free();
        let itself = self.tenants.admits(tenant, free) && self.resume(tenant);
        let Rings(others) = self.let_in(free);
        Rings(itself || others)
    }

    fn let_in(&mut self, free: usize) -> Rings {
        let mut any = false;
        while let Some(tenant) = self.tenants.next_to_let_in(free) {
            any |= self.resume(tenant);
        }
        Rings(any)
    }

    fn resume(&mut self, tenant: TenantNumber) -> bool {
        let resumed = self.queues.iter_mut().map(|queue| queue.resume(tenant));
        resumed.fold(false, |any, resumed| any | resumed)
    }

    /// Puts back what its receivers neither finished nor hid for longer.
    fn reappear(&mut self, now: Moment) {
        while let Some(&(until, receipt)) = self.expiring.first() {
            if until > now || self.give_back(receipt, until).is_none() {
                return;
            }
        }
    }

    /// Who is held back is let in when a hand is free again: nobody need wait for a moment for that.
    fn nothing(&self) -> Taken {
        let sent = self.queues.iter().filter_map(Queue::wakes_at);
        let held = self.expiring.first().map(|(until, _)| *until);
        sent.chain(held).min().map_or(Taken::Nothing, Taken::NothingBefore)
    }

    /// As many as are free by what is known of them; where nothing is, there is no end to them.
    fn free(&self) -> usize {
        self.hands.map_or(usize::MAX, |hands| hands.saturating_sub(self.held.len()))
    }

    fn queue(&mut self, priority: Priority) -> &mut Queue {
        &mut self.queues[priority.index()]
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}
