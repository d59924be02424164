//! One queue: its hints by tenant and instant, and the order of the tenants' turns. Tenants with visible hints take turns,
//! so that a tenant with a hundred thousand hints delays another's by at most one; inside a tenant the oldest comes first.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;

use super::doubles::Doubles;
use super::packed::Packed;
use super::tenants::TenantNumber;

/// Hints counted while the lock is held: less than 0.1 ms.
const COUNT_STEP: usize = 2_048;

/// When hints become visible, none of them is moved, even if there are a million: it is enough that their tenant joins
/// `ready`.
#[derive(Debug, Default)]
pub(super) struct Queue {
    hints: BTreeMap<Position, Packed>,
    doubles: Doubles,
    /// The state of each tenant that has hints here.
    tenants: HashMap<TenantNumber, TenantState>,
    /// Tenants whose first hint becomes visible later, by when.
    sleeping: BTreeSet<(Moment, TenantNumber)>,
    /// Tenants with a visible hint, in the order of their turns.
    ready: VecDeque<TenantNumber>,
}

/// A hint's position in its queue: by tenant, by instant, and in the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub(super) tenant: TenantNumber,
    pub(super) at: Moment,
    pub(super) number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TenantState {
    Sleeping(Moment),
    Ready,
    /// It has a visible hint that must not be delivered yet.
    HeldBack,
}

/// What putting a hint came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Put {
    /// It is now the first to become visible: waiting receivers may otherwise wait too long.
    pub(super) sooner: bool,
    /// The same hint, or one of the same run, waited here already: one of the two stands, at the earlier turn.
    pub(super) was_double: bool,
}

impl Queue {
    pub(super) fn put(&mut self, position: Position, packed: Packed) -> Put {
        let said = self.doubles.said(position.tenant, &packed);
        let candidate = self.doubles.candidate(said, position.tenant);
        let double = candidate.filter(|waiting| self.hints.get(waiting) == Some(&packed));
        let was_double = double.is_some();
        if double.is_some_and(|waiting| waiting < position) {
            return Put { sooner: false, was_double };
        }
        double.and_then(|later| self.remove(later));
        self.doubles.waits(said, position);
        self.hints.insert(position, packed);
        Put { sooner: self.settle_for(position), was_double }
    }

    /// Puts what can be taken `now`. Where such a hint of the same run waits, that keeps its turn and says what the newer of the two does: each look at a
    /// backlog hints all of it, behind timers that it has just moved. One that was put by a clock that was ahead is none of those.
    pub(super) fn put_visible(&mut self, position: Position, packed: Packed, now: Moment) -> Put {
        let Some((run, written)) = packed.run() else { return self.put(position, packed) };
        let visible = self.waiting_of(position.tenant, run).filter(|(waiting, _)| waiting.at <= now);
        let Some((waiting, before)) = visible else {
            return self.put_first_of(run, position, packed);
        };
        if before <= written {
            self.say(waiting, packed);
        }
        Put { sooner: false, was_double: true }
    }

    /// Where a hint of this run waits, and when its timer was written.
    fn waiting_of(&self, tenant: TenantNumber, run: RunKey) -> Option<(Position, Moment)> {
        let waiting = self.doubles.candidate(self.doubles.of_run(tenant, run), tenant)?;
        let (of, written) = self.hints.get(&waiting)?.run()?;
        (of == run).then_some((waiting, written))
    }

    fn put_first_of(&mut self, run: RunKey, position: Position, packed: Packed) -> Put {
        let said = self.doubles.said(position.tenant, &packed);
        let put = self.put(position, packed);
        if let Some(standing) = self.doubles.candidate(said, position.tenant) {
            self.doubles.waits(self.doubles.of_run(position.tenant, run), standing);
        }
        put
    }

    /// Has the hint there say something else. When it was sent stays: since then the run has waited for hands.
    fn say(&mut self, position: Position, packed: Packed) {
        let Some(waiting) = self.hints.get_mut(&position) else { return };
        self.doubles.waits_no_more(self.doubles.said(position.tenant, waiting), position);
        *waiting = packed.sent_as(waiting);
        self.doubles.waits(self.doubles.said(position.tenant, waiting), position);
    }

    /// True if what was put there is now the first to become visible.
    fn settle_for(&mut self, position: Position) -> bool {
        match self.tenants.get(&position.tenant) {
            Some(TenantState::Ready | TenantState::HeldBack) => false,
            Some(TenantState::Sleeping(until)) if *until <= position.at => false,
            Some(TenantState::Sleeping(until)) => {
                self.sleeping.remove(&(*until, position.tenant));
                self.sleep(position.tenant, position.at)
            }
            None => self.sleep(position.tenant, position.at),
        }
    }

    /// Takes the oldest visible hint of the tenant whose turn it is. A tenant that is not admitted is held back until it is
    /// resumed.
    pub(super) fn next(
        &mut self,
        now: Moment,
        mut admits: impl FnMut(TenantNumber) -> bool,
    ) -> Option<(Position, Packed)> {
        self.wake(now);
        while let Some(tenant) = self.ready.pop_front() {
            if !admits(tenant) {
                self.tenants.insert(tenant, TenantState::HeldBack);
                continue;
            }
            let first = self.first_of(tenant).filter(|first| first.at <= now);
            let taken = first.and_then(|first| self.remove(first));
            self.settle(tenant, now);
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// True if the tenant was held back here. Its turn comes after those of all tenants in `ready`.
    pub(super) fn resume(&mut self, tenant: TenantNumber) -> bool {
        let Some(state) = self.tenants.get_mut(&tenant) else { return false };
        if *state != TenantState::HeldBack {
            return false;
        }
        *state = TenantState::Ready;
        self.ready.push_back(tenant);
        true
    }

    /// When the next sleeping tenant wakes.
    pub(super) fn wakes_at(&self) -> Option<Moment> {
        self.sleeping.first().map(|(until, _)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.hints.len()
    }

    /// Counts some of the visible hints from a position on; returns the count and the position to continue from.
    pub(super) fn count_ready(&self, mut from: Option<Position>, now: Moment) -> (usize, Option<Position>) {
        let (mut counted, mut positions) = (0, self.positions_after(from));
        for _ in 0..COUNT_STEP {
            let Some(position) = positions.next() else { return (counted, None) };
            if position.at <= now {
                (counted, from) = (counted + 1, Some(position));
            } else {
                // No later hint of the same tenant is visible.
                from = Some(Position { at: Moment::END, number: u64::MAX, ..position });
                positions = self.positions_after(from);
            }
        }
        (counted, from)
    }

    /// Since when the hint that has waited longest could be taken.
    pub(super) fn oldest(&self, now: Moment) -> Option<Moment> {
        let is_awake = |state: &TenantState| !matches!(state, TenantState::Sleeping(until) if *until > now);
        let awake = self.tenants.iter().filter(|(_, state)| is_awake(state));
        awake.filter_map(|(tenant, _)| self.first_of(*tenant)).map(|first| first.at).filter(|at| *at <= now).min()
    }

    fn remove(&mut self, position: Position) -> Option<(Position, Packed)> {
        let packed = self.hints.remove(&position)?;
        self.doubles.waits_no_more(self.doubles.said(position.tenant, &packed), position);
        if let Some((run, _)) = packed.run() {
            self.doubles.waits_no_more(self.doubles.of_run(position.tenant, run), position);
        }
        Some((position, packed))
    }

    fn positions_after(&self, position: Option<Position>) -> impl Iterator<Item = Position> {
        let after = position.map_or(Bound::Unbounded, Bound::Excluded);
        self.hints.range((after, Bound::Unbounded)).map(|(position, _)| *position)
    }

    fn wake(&mut self, now: Moment) {
        while let Some(&(until, tenant)) = self.sleeping.first()
            && until <= now
        {
            self.sleeping.pop_first();
            self.join(tenant);
        }
    }

    /// After its turn a tenant joins `ready` again, or sleeps, or has no hints left here.
    fn settle(&mut self, tenant: TenantNumber, now: Moment) {
        match self.first_of(tenant) {
            None => _ = self.tenants.remove(&tenant),
            Some(first) if first.at <= now => self.join(tenant),
            Some(first) => _ = self.sleep(tenant, first.at),
        }
    }

    fn join(&mut self, tenant: TenantNumber) {
        self.tenants.insert(tenant, TenantState::Ready);
        self.ready.push_back(tenant);
    }

    /// True if the tenant is the first to wake.
    fn sleep(&mut self, tenant: TenantNumber, until: Moment) -> bool {
        self.tenants.insert(tenant, TenantState::Sleeping(until));
        self.sleeping.insert((until, tenant));
        self.sleeping.first() == Some(&(until, tenant))
    }

    fn first_of(&self, tenant: TenantNumber) -> Option<Position> {
        let from = Position { tenant, at: Moment::EPOCH, number: 0 };
        self.hints.range(from..).next().map(|(position, _)| *position).filter(|position| position.tenant == tenant)
    }
}
