//! What lies in the lanes: who is visible when, who is in flight until when, and whose turn it is. Time is an argument.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::priority::Priority;

use super::{Delivery, VISIBILITY};
use crate::Fault;

/// Names one delivery of one hint. The next delivery of the same hint has another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt(u64);

/// How much lies in one lane.
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

/// Whose lane is offered each of sixteen deliveries first; where it is empty, the most urgent that is not. The most urgent
/// lane has three quarters of what can be delivered, so that a flood below hardly slows it, and no lane waits for ever:
/// under a flood from above the lowest two still get every sixteenth delivery each.
const ROTATION: [Priority; 16] = {
    use Priority::{Critical, High, Low, Normal};
    [
        Critical, Critical, Critical, High, Critical, Critical, Critical, Normal, //
        Critical, Critical, Critical, High, Critical, Critical, Critical, Low,
    ]
};

/// Hints counted at a time while others wait: less than 0.1 ms.
const COUNT_STEP: usize = 2_048;

#[derive(Debug, Default)]
pub(super) struct State {
    /// By when they are visible: what is ready is simply the front of it, so that a million that become visible at one
    /// instant are not moved from one place to another just then.
    lanes: [BTreeMap<Place, Packed>; Priority::ALL.len()],
    held: HashMap<Receipt, Held>,
    expiring: BTreeSet<(Moment, Receipt)>,
    in_flight: [usize; Priority::ALL.len()],
    /// Numbers places and receipts.
    last_number: u64,
    turn: usize,
}

/// Where a hint stands in its lane: by instant, and in the order they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    at: Moment,
    number: u64,
}

/// A hint in the bytes it needs, without padding and without a string of its own: millions of them may wait at a time.
/// A million delayed ones took 145 bytes each, place and tree included.
#[derive(Debug)]
struct Packed(Box<[u8]>);

/// A hint in flight.
#[derive(Debug)]
struct Held {
    priority: Priority,
    place: Place,
    until: Moment,
    packed: Packed,
}

impl State {
    /// Says whether it is now the first of its lane: those who wait may wait too long.
    pub(super) fn send(&mut self, priority: Priority, hint: &Hint, at: Moment) -> Result<bool, Fault> {
        let packed = Packed::of(hint)?;
        let place = Place { at, number: self.next_number() };
        let lane = &mut self.lanes[priority.index()];
        lane.insert(place, packed);
        Ok(lane.first_key_value().is_some_and(|(first, _)| *first == place))
    }

    pub(super) fn take(&mut self, max: usize, now: Moment) -> Taken {
        self.reappear(now);
        let mut deliveries = Vec::new();
        while deliveries.len() < max {
            let Some((priority, place, packed)) = self.next(now) else { break };
            // What cannot be read is lost, as a hint may be.
            let Some(hint) = packed.unpack() else { continue };
            let until = now + VISIBILITY;
            let receipt = self.hold(Held { priority, place, until, packed });
            deliveries.push(Delivery { hint, priority, receipt });
        }
        if deliveries.is_empty() { self.nothing() } else { Taken::Some(deliveries) }
    }

    pub(super) fn done(&mut self, receipt: Receipt) -> bool {
        self.let_go(receipt).is_some()
    }

    pub(super) fn give_back(&mut self, receipt: Receipt, at: Moment) -> bool {
        let Some(held) = self.let_go(receipt) else { return false };
        // It keeps its turn unless it is told to wait.
        let place = Place { at: held.place.at.max(at), ..held.place };
        self.lanes[held.priority.index()].insert(place, held.packed);
        true
    }

    /// Says whether it is visible sooner than before.
    pub(super) fn hide(&mut self, receipt: Receipt, until: Moment) -> bool {
        let Some(held) = self.held.get_mut(&receipt) else { return false };
        let before = std::mem::replace(&mut held.until, until);
        self.expiring.remove(&(before, receipt));
        self.expiring.insert((until, receipt));
        until < before
    }

    /// Numbers go on, so that no old receipt ever names a new delivery.
    pub(super) fn purge(&mut self) {
        *self = Self { last_number: self.last_number, ..Self::default() };
    }

    /// Counts some of what is visible, from a place on, and says where to go on.
    pub(super) fn count_ready(&self, priority: Priority, from: Option<Place>, now: Moment) -> (usize, Option<Place>) {
        let from = from.map_or(Bound::Unbounded, Bound::Excluded);
        let end = Bound::Included(Place { at: now, number: u64::MAX });
        let mut places = self.lanes[priority.index()].range((from, end)).map(|(place, _)| *place);
        let mut counted = 0;
        let last = places.by_ref().take(COUNT_STEP).inspect(|_| counted += 1).last();
        (counted, last.filter(|_| counted == COUNT_STEP))
    }

    pub(super) fn depth(&self, priority: Priority, ready: usize) -> Depth {
        let waiting = self.lanes[priority.index()].len();
        let ready = ready.min(waiting);
        Depth { ready, delayed: waiting - ready, in_flight: self.in_flight[priority.index()] }
    }

    /// Takes the next visible hint out of the lane whose turn it is.
    fn next(&mut self, now: Moment) -> Option<(Priority, Place, Packed)> {
        let offered = ROTATION[self.turn];
        let priority = [offered].into_iter().chain(Priority::ALL).find(|lane| self.is_ready(*lane, now))?;
        self.turn = (self.turn + 1) % ROTATION.len();
        let (place, packed) = self.lanes[priority.index()].pop_first()?;
        Some((priority, place, packed))
    }

    fn is_ready(&self, priority: Priority, now: Moment) -> bool {
        self.lanes[priority.index()].first_key_value().is_some_and(|(place, _)| place.at <= now)
    }

    fn hold(&mut self, held: Held) -> Receipt {
        let receipt = Receipt(self.next_number());
        self.expiring.insert((held.until, receipt));
        self.in_flight[held.priority.index()] += 1;
        self.held.insert(receipt, held);
        receipt
    }

    fn let_go(&mut self, receipt: Receipt) -> Option<Held> {
        let held = self.held.remove(&receipt)?;
        self.expiring.remove(&(held.until, receipt));
        self.in_flight[held.priority.index()] -= 1;
        Some(held)
    }

    /// Puts back what its receivers neither finished nor hid for longer.
    fn reappear(&mut self, now: Moment) {
        while let Some(&(until, receipt)) = self.expiring.first() {
            if until > now || !self.give_back(receipt, until) {
                return;
            }
        }
    }

    fn nothing(&self) -> Taken {
        let sent = self.lanes.iter().filter_map(|lane| lane.first_key_value()).map(|(place, _)| place.at);
        let held = self.expiring.first().map(|(until, _)| *until);
        sent.chain(held).min().map_or(Taken::Nothing, Taken::NothingBefore)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

impl Packed {
    fn of(hint: &Hint) -> Result<Self, Fault> {
        let bytes = postcard::to_stdvec(hint).map_err(|error| Fault::unavailable("the lanes", error.to_string()))?;
        Ok(Self(bytes.into_boxed_slice()))
    }

    fn unpack(&self) -> Option<Hint> {
        postcard::from_bytes(&self.0).ok()
    }
}
