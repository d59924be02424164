//! One queue: its hints by tenant and instant, and whose turn it is. Tenants with something visible take turns, so that one
//! with a hundred thousand hints delays nobody else's by more than one; inside a tenant the oldest comes first.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;

use minutehand_domain::Moment;

use super::packed::Packed;
use super::tenants::TenantNumber;

/// Hints counted at a time while others wait: less than 0.1 ms.
const COUNT_STEP: usize = 2_048;

/// What becomes visible at an instant is not moved from one place to another just then, be it a million: it is enough that
/// its tenant joins the ring.
#[derive(Debug, Default)]
pub(super) struct Queue {
    hints: BTreeMap<Place, Packed>,
    /// Where each tenant stands that has hints here.
    standing: HashMap<TenantNumber, Standing>,
    /// Whose first becomes visible later, by when.
    sleeping: BTreeSet<(Moment, TenantNumber)>,
    /// Who has something visible, in the order of their turns.
    ring: VecDeque<TenantNumber>,
}

/// Where a hint stands in its queue: with its tenant's, by instant, and in the order they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) tenant: TenantNumber,
    pub(super) at: Moment,
    pub(super) number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Sleeping(Moment),
    InTheRing,
    /// It has something visible, and must not have it yet.
    HeldBack,
}

impl Queue {
    /// Says whether it is now the first to become visible: those who wait may wait too long.
    pub(super) fn put(&mut self, place: Place, packed: Packed) -> bool {
        self.hints.insert(place, packed);
        match self.standing.get(&place.tenant) {
            Some(Standing::InTheRing | Standing::HeldBack) => false,
            Some(Standing::Sleeping(until)) if *until <= place.at => false,
            Some(Standing::Sleeping(until)) => {
                self.sleeping.remove(&(*until, place.tenant));
                self.sleep(place.tenant, place.at)
            }
            None => self.sleep(place.tenant, place.at),
        }
    }

    /// Takes the oldest visible hint of the tenant whose turn it is. Who may not have it is held back until it is resumed.
    pub(super) fn next(
        &mut self,
        now: Moment,
        mut may_begin: impl FnMut(TenantNumber) -> bool,
    ) -> Option<(Place, Packed)> {
        self.wake(now);
        while let Some(tenant) = self.ring.pop_front() {
            if !may_begin(tenant) {
                self.standing.insert(tenant, Standing::HeldBack);
                continue;
            }
            let first = self.first_of(tenant).filter(|first| first.at <= now);
            let taken = first.and_then(|first| self.hints.remove_entry(&first));
            self.settle(tenant, now);
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Says whether it was held back here. Its turn comes after those of all who are in the ring.
    pub(super) fn resume(&mut self, tenant: TenantNumber) -> bool {
        let Some(standing) = self.standing.get_mut(&tenant) else { return false };
        if *standing != Standing::HeldBack {
            return false;
        }
        *standing = Standing::InTheRing;
        self.ring.push_back(tenant);
        true
    }

    /// When the next who sleeps wakes.
    pub(super) fn wakes_at(&self) -> Option<Moment> {
        self.sleeping.first().map(|(until, _)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.hints.len()
    }

    /// Counts some of what is visible, from a place on, and says where to go on.
    pub(super) fn count_ready(&self, mut from: Option<Place>, now: Moment) -> (usize, Option<Place>) {
        let (mut counted, mut places) = (0, self.places_after(from));
        for _ in 0..COUNT_STEP {
            let Some(place) = places.next() else { return (counted, None) };
            if place.at <= now {
                (counted, from) = (counted + 1, Some(place));
            } else {
                // Nothing of the same tenant behind it is visible.
                from = Some(Place { at: Moment::END, number: u64::MAX, ..place });
                places = self.places_after(from);
            }
        }
        (counted, from)
    }

    fn places_after(&self, place: Option<Place>) -> impl Iterator<Item = Place> {
        let after = place.map_or(Bound::Unbounded, Bound::Excluded);
        self.hints.range((after, Bound::Unbounded)).map(|(place, _)| *place)
    }

    fn wake(&mut self, now: Moment) {
        while let Some(&(until, tenant)) = self.sleeping.first()
            && until <= now
        {
            self.sleeping.pop_first();
            self.join(tenant);
        }
    }

    /// After its turn a tenant joins the ring again, or sleeps, or has nothing left here.
    fn settle(&mut self, tenant: TenantNumber, now: Moment) {
        match self.first_of(tenant) {
            None => _ = self.standing.remove(&tenant),
            Some(first) if first.at <= now => self.join(tenant),
            Some(first) => _ = self.sleep(tenant, first.at),
        }
    }

    fn join(&mut self, tenant: TenantNumber) {
        self.standing.insert(tenant, Standing::InTheRing);
        self.ring.push_back(tenant);
    }

    /// Says whether it is the first to wake.
    fn sleep(&mut self, tenant: TenantNumber, until: Moment) -> bool {
        self.standing.insert(tenant, Standing::Sleeping(until));
        self.sleeping.insert((until, tenant));
        self.sleeping.first() == Some(&(until, tenant))
    }

    fn first_of(&self, tenant: TenantNumber) -> Option<Place> {
        let from = Place { tenant, at: Moment::EPOCH, number: 0 };
        self.hints.range(from..).next().map(|(place, _)| *place).filter(|place| place.tenant == tenant)
    }
}
