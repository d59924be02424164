//! The tenants of the queues: how many hints each has in flight, and whether one more is admitted.

use std::collections::{BTreeSet, HashMap};

use minutehand_domain::id::Tenant;

/// A tenant may have this many times as many hints in flight as there is free capacity. So one tenant alone gets 8/9 of the
/// capacity, two get 8/17 each, and a newcomer always finds some free: capacity reserved for each tenant would lie idle, and
/// without any reserve the first tenant would take all of it. The free capacity shrinks with each tenant that takes its share; the last of it
/// is for those that have nothing in flight.
pub(super) const SHARE: usize = 8;
/// That is one part of so many, and one at least of a capacity of so many.
const KEPT: usize = 32;
const KEPT_FROM: usize = 16;

/// What is free of the capacity, and how much of that is kept for those that have nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    hands: usize,
    kept: usize,
}

impl Free {
    /// Where the receivers' concurrency is unknown.
    pub(super) const UNBOUNDED: Self = Self { hands: usize::MAX, kept: 0 };

    pub(super) fn of(capacity: usize, held: usize) -> Self {
        let kept = (capacity / KEPT).max(usize::from(capacity >= KEPT_FROM));
        Self { hands: capacity.saturating_sub(held), kept }
    }

    /// A receiver that asks for so many has so much free, whatever became of what it took before.
    pub(super) fn at_least(self, hands: usize) -> Self {
        Self { hands: self.hands.max(hands), ..self }
    }

    fn fits(self, in_flight: usize) -> bool {
        let is_left = if in_flight == 0 { self.hands > 0 } else { self.hands > self.kept };
        is_left && in_flight < self.hands.saturating_mul(SHARE)
    }
}

/// Names a tenant in the positions of its hints, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TenantNumber(u32);

/// The tenants that have hints in the queues or a limit. A tenant with neither is forgotten. One whose hints are calls and looks counts as two, with turns of
/// its own for each: what only is looked at must not wait until a call ends.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    numbers: HashMap<(Tenant, bool), TenantNumber>,
    accounts: HashMap<TenantNumber, Account>,
    /// The tenants that are held back for want of free capacity, by their hints in flight: the fewest are resumed first.
    crowded: BTreeSet<(usize, TenantNumber)>,
    last_number: u32,
}

#[derive(Debug)]
struct Account {
    tenant: Tenant,
    is_of_looks: bool,
    /// In the queues and in flight.
    hints: usize,
    in_flight: usize,
    /// How many may be in flight.
    limit: Option<usize>,
}

impl Tenants {
    /// Counts one more hint of a tenant.
    pub(super) fn add_hint(&mut self, tenant: &Tenant, is_look: bool) -> TenantNumber {
        let number = self.number(tenant, is_look);
        self.change(number, |account| account.hints += 1);
        number
    }

    /// Counts one hint less.
    pub(super) fn remove_hint(&mut self, number: TenantNumber) {
        self.change(number, |account| account.hints -= 1);
        self.forget_if_idle(number);
    }

    /// Counts one more hint in flight.
    pub(super) fn delivery_begins(&mut self, number: TenantNumber) {
        self.change(number, |account| account.in_flight += 1);
    }

    /// Counts one hint less in flight.
    pub(super) fn delivery_ends(&mut self, number: TenantNumber) {
        self.change(number, |account| account.in_flight -= 1);
    }

    /// Of its calls.
    pub(super) fn limit(&mut self, tenant: &Tenant, limit: Option<usize>) -> TenantNumber {
        let number = self.number(tenant, false);
        self.change(number, |account| account.limit = limit);
        self.forget_if_idle(number);
        number
    }

    /// The limit of a tenant, where none of its hints is admitted by that.
    pub(super) fn reached_limit(&self, tenant: &Tenant) -> Option<usize> {
        let account = self.accounts.get(self.numbers.get(&(tenant.clone(), false))?)?;
        account.limit.filter(|_| !account.is_below_its_limit())
    }

    /// Whose hints these are, and whether they are looks.
    pub(super) fn account(&self, number: TenantNumber) -> Option<(Tenant, bool)> {
        self.accounts.get(&number).map(|account| (account.tenant.clone(), account.is_of_looks))
    }

    /// Whether one more hint of the tenant may be in flight. For want of free capacity the tenant waits until there is
    /// enough; at its own limit it waits until one of its own deliveries ends.
    pub(super) fn admits(&mut self, number: TenantNumber, free: Free) -> bool {
        let Some(account) = self.accounts.get(&number).filter(|account| account.is_below_its_limit()) else {
            return false;
        };
        let admitted = free.fits(account.in_flight);
        if !admitted {
            self.crowded.insert((account.in_flight, number));
        }
        admitted
    }

    /// The next tenant that was held back for want of free capacity and fits now.
    pub(super) fn next_fitting(&mut self, free: Free) -> Option<TenantNumber> {
        let (in_flight, number) = self.crowded.first().copied().filter(|(in_flight, _)| free.fits(*in_flight))?;
        self.crowded.remove(&(in_flight, number));
        Some(number)
    }

    /// Forgets the hints and keeps the limits.
    pub(super) fn purge(&mut self) {
        self.crowded.clear();
        self.accounts.retain(|_, account| account.limit.is_some());
        for account in self.accounts.values_mut() {
            (account.hints, account.in_flight) = (0, 0);
        }
        let accounts = &self.accounts;
        self.numbers.retain(|_, number| accounts.contains_key(number));
    }

    fn number(&mut self, tenant: &Tenant, is_of_looks: bool) -> TenantNumber {
        let key = (tenant.clone(), is_of_looks);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.unused_number();
        self.numbers.insert(key, number);
        let account = Account { tenant: tenant.clone(), is_of_looks, hints: 0, in_flight: 0, limit: None };
        self.accounts.insert(number, account);
        number
    }

    /// The numbering wraps after four thousand million tenants, and some of the first may still be here.
    fn unused_number(&mut self) -> TenantNumber {
        loop {
            self.last_number = self.last_number.wrapping_add(1);
            let number = TenantNumber(self.last_number);
            if !self.accounts.contains_key(&number) {
                return number;
            }
        }
    }

    /// Changes an account, and keeps `crowded` in the order of hints in flight.
    fn change(&mut self, number: TenantNumber, change: impl FnOnce(&mut Account)) {
        let Some(account) = self.accounts.get_mut(&number) else { return };
        let before = account.in_flight;
        change(account);
        if before != account.in_flight && self.crowded.remove(&(before, number)) {
            self.crowded.insert((account.in_flight, number));
        }
    }

    fn forget_if_idle(&mut self, number: TenantNumber) {
        if self.accounts.get(&number).is_some_and(Account::is_idle)
            && let Some(account) = self.accounts.remove(&number)
        {
            self.numbers.remove(&(account.tenant, account.is_of_looks));
            self.crowded.remove(&(account.in_flight, number));
        }
    }
}

impl Account {
    fn is_below_its_limit(&self) -> bool {
        self.limit.is_none_or(|limit| self.in_flight < limit)
    }

    fn is_idle(&self) -> bool {
        self.hints == 0 && self.limit.is_none()
    }
}
