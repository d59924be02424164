//! The tenants of the queues: what each has in flight, and whether it may have more.

use std::collections::{BTreeSet, HashMap};

use minutehand_domain::id::Tenant;

/// A tenant may have this many times as many hints in flight as hands are free. So one alone has 8/9 of the hands, two have
/// 8/17 each, and whoever comes new always finds some free: hands that were kept for each tenant would lie idle, and hands
/// that are kept for nobody are all taken by whoever comes first.
pub(super) const SHARE: usize = 8;

/// Stands for a tenant in the places of its hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TenantNumber(u32);

/// The tenants that have hints in the queues, or a limit. One without either is forgotten.
#[derive(Debug, Default)]
pub(super) struct Tenants {
    numbers: HashMap<Tenant, TenantNumber>,
    accounts: HashMap<TenantNumber, Account>,
    /// Who is held back because too few hands are free, by what they have in flight: who has least is let in first.
    crowded: BTreeSet<(usize, TenantNumber)>,
    last_number: u32,
}

#[derive(Debug)]
struct Account {
    tenant: Tenant,
    /// In the queues and in flight.
    hints: usize,
    in_flight: usize,
    /// As many as may be in flight.
    limit: Option<usize>,
}

impl Tenants {
    /// A tenant has one hint more.
    pub(super) fn gains(&mut self, tenant: &Tenant) -> TenantNumber {
        let number = self.number(tenant);
        self.change(number, |account| account.hints += 1);
        number
    }

    /// One of its hints is gone.
    pub(super) fn loses(&mut self, number: TenantNumber) {
        self.change(number, |account| account.hints -= 1);
        self.forget_if_idle(number);
    }

    /// One of its hints has been delivered.
    pub(super) fn begins(&mut self, number: TenantNumber) {
        self.change(number, |account| account.in_flight += 1);
    }

    /// One of its hints is no longer in flight.
    pub(super) fn ends(&mut self, number: TenantNumber) {
        self.change(number, |account| account.in_flight -= 1);
    }

    pub(super) fn limit(&mut self, tenant: &Tenant, limit: Option<usize>) -> TenantNumber {
        let number = self.number(tenant);
        self.change(number, |account| account.limit = limit);
        self.forget_if_idle(number);
        number
    }

    pub(super) fn tenant(&self, number: TenantNumber) -> Option<Tenant> {
        self.accounts.get(&number).map(|account| account.tenant.clone())
    }

    /// Whether one more of its hints may be in flight. Where it may not for want of hands, it waits until enough are free;
    /// where it has reached its limit, it waits for one of its own.
    pub(super) fn admits(&mut self, number: TenantNumber, free: usize) -> bool {
        let Some(account) = self.accounts.get(&number).filter(|account| account.is_below_its_limit()) else {
            return false;
        };
        let admitted = fits(account.in_flight, free);
        if !admitted {
            self.crowded.insert((account.in_flight, number));
        }
        admitted
    }

    /// The next who was held back for want of hands, and for whom there are enough now.
    pub(super) fn next_to_let_in(&mut self, free: usize) -> Option<TenantNumber> {
        let (in_flight, number) = self.crowded.first().copied().filter(|(in_flight, _)| fits(*in_flight, free))?;
        self.crowded.remove(&(in_flight, number));
        Some(number)
    }

    /// Their hints are gone; their limits stay.
    pub(super) fn purge(&mut self) {
        self.crowded.clear();
        self.accounts.retain(|_, account| account.limit.is_some());
        for account in self.accounts.values_mut() {
            (account.hints, account.in_flight) = (0, 0);
        }
        let accounts = &self.accounts;
        self.numbers.retain(|_, number| accounts.contains_key(number));
    }

    fn number(&mut self, tenant: &Tenant) -> TenantNumber {
        if let Some(number) = self.numbers.get(tenant) {
            return *number;
        }
        let number = self.unused_number();
        self.numbers.insert(tenant.clone(), number);
        self.accounts.insert(number, Account { tenant: tenant.clone(), hints: 0, in_flight: 0, limit: None });
        number
    }

    /// Numbers begin again after four thousand million tenants: some of the first may still be here.
    fn unused_number(&mut self) -> TenantNumber {
        loop {
            self.last_number = self.last_number.wrapping_add(1);
            let number = TenantNumber(self.last_number);
            if !self.accounts.contains_key(&number) {
                return number;
            }
        }
    }

    /// Who is held back stands where what is in flight says.
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
            self.numbers.remove(&account.tenant);
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

fn fits(in_flight: usize, free: usize) -> bool {
    in_flight < free.saturating_mul(SHARE)
}
