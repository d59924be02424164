//! An erasure: all that lies under a tenant is gone through and erased, again and again, until a walk that began long enough after the last
//! thing was found finds nothing.
//!
//! Nobody who writes for a tenant asks first whether it is being erased: that would be a read more for each run there is. Those who are at it when
//! an erasure begins are bounded instead. Its keys are erased before anything else, so that no request begins; its jobs and runs are, so that
//! nothing is claimed any more; and who holds a lease already writes until its end at most. What they leave behind is found by a later walk, and
//! each find has the erasure wait anew for as long as any of them may still be at it.
//!
//! Only who makes a key asks, and is answered by [`Erasing`], a mark that is put before the operation.

use std::time::Duration;

use super::{Operation, OperationHead, OperationId};
use crate::Moment;
use crate::id::Tenant;
use crate::pace;

/// For how long a find that is on record covers those behind it: part of what [`pace::ERASED_QUIET`] has to spare.
const TOLD_FOR: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Whose things.
    pub tenant: Tenant,
    /// Behind what the walk goes on; none at its start.
    pub behind: Option<String>,
    /// When the walk under way began; none between two.
    pub began: Option<Moment>,
    /// What it has found so far.
    pub found: u64,
    /// What the walk before it found; none before the first was through.
    pub left: Option<u64>,
    /// When anything was found last, or the erasure was asked for.
    pub last_found: Moment,
}

/// That a tenant is being erased, by its name among the deployment's own. It is put before the operation and stays when that is over: only the
/// operation says what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasing {
    pub tenant: Tenant,
    /// Whose operation it is.
    pub of: Tenant,
    pub operation: OperationId,
    pub since: Moment,
}

/// What such a mark comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marked {
    UnderWay(Box<Operation>),
    /// Whoever put the mark has not written the operation yet, or died before: anybody may begin it under this id.
    Unbegun(OperationId),
    /// Nothing is being erased any more.
    Past,
}

impl Erasing {
    /// By what stands where its operation is to be. One that nobody has written for so long that it may have been given up is begun under another
    /// id.
    pub fn comes_to(&self, there: Option<OperationHead>, now: Moment) -> Marked {
        match there {
            Some(OperationHead::Operation(operation)) if !operation.is_over() => Marked::UnderWay(operation),
            None if now.since(self.since) < pace::ORPHAN => Marked::Unbegun(self.operation),
            Some(OperationHead::Operation(_) | OperationHead::Tombstone { .. }) | None => Marked::Past,
        }
    }

    /// Whether its operation was written, or may be still. A mark alone is no erasure: whoever put it may have died before he had written that, and the
    /// tenant lives on.
    pub fn is_heeded(&self, there: Option<&OperationHead>, now: Moment) -> bool {
        match there {
            Some(OperationHead::Operation(_)) => true,
            Some(OperationHead::Tombstone { .. }) => false,
            None => now.since(self.since) < pace::ORPHAN,
        }
    }
}

/// What a step of a walk came to: it looked at some pages from `from` on, and was through with it at `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    pub from: Moment,
    pub to: Moment,
    pub erased: u64,
    /// Behind what the next page begins; none at the end.
    pub next: Option<String>,
}

impl Erasure {
    pub fn new(tenant: Tenant, now: Moment) -> Self {
        Self { tenant, behind: None, began: None, found: 0, left: None, last_found: now }
    }

    /// Rule **told before erased**: whether a find of now is on record, so that who erases it may die before he has said so. Whoever wrote it may
    /// be at it still.
    pub fn is_told(&self, now: Moment) -> bool {
        now.since(self.last_found) < TOLD_FOR
    }

    /// A walk that began at `from` at the latest has met something at `now`, and erased so much of it so far.
    #[must_use]
    pub fn told(&self, from: Moment, now: Moment, erased: u64, behind: Option<String>) -> Self {
        let (began, found) = (Some(self.begun_by(from, now)), self.found + erased);
        Self { began, found, behind, last_found: now, ..self.clone() }
    }

    /// After a step.
    #[must_use]
    pub fn stepped(&self, Looked { from, to, erased, next }: Looked) -> Self {
        let found = self.found + erased;
        let last_found = if erased > 0 { to } else { self.last_found };
        let began = Some(self.begun_by(from, to));
        let walking = Self { behind: next, began, found, last_found, ..self.clone() };
        match walking.behind {
            Some(_) => walking,
            None if walking.is_quiet() => Self { left: Some(0), ..walking },
            None => Self { began: None, found: 0, left: Some(found), ..walking },
        }
    }

    /// When the walk began, which is no later than now: by a clock that was set back since, what is found from now on would lie long before it.
    fn begun_by(&self, from: Moment, now: Moment) -> Moment {
        self.began.unwrap_or(from).min(now)
    }

    /// Whether nothing is left, and nobody is left who might still write anything.
    pub fn is_over(&self) -> bool {
        self.behind.is_none() && self.is_quiet()
    }

    /// Guard **quiet**: a walk that began earlier may have passed by what a slow writer left behind it. One that found something itself began before
    /// that.
    fn is_quiet(&self) -> bool {
        self.began.is_some_and(|began| began >= self.last_found + pace::ERASED_QUIET)
    }

    /// When the next step makes sense. A walk goes on at once; the next begins once nobody can be writing any more, since none before could be
    /// the last, and each costs as much as there is.
    pub fn rests_until(&self) -> Moment {
        let is_between_two = self.began.is_none() && self.left.is_some();
        if is_between_two { self.last_found + pace::ERASED_QUIET } else { Moment::EPOCH }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::By;
    use crate::operation::Work;

    const BEGIN: Moment = Moment::from_secs(1_800_000_000);

    fn new() -> Erasure {
        Erasure::new(Tenant::new("acme").unwrap(), BEGIN)
    }

    fn looked(at: Moment, erased: u64, next: Option<&str>) -> Looked {
        Looked { from: at, to: at, erased, next: next.map(str::to_owned) }
    }

    #[test]
    fn a_walk_goes_on_page_by_page_and_says_at_its_end_what_it_found() {
        let first = new().stepped(looked(BEGIN, 200, Some("a")));
        let second = first.stepped(looked(BEGIN, 30, None));

        assert_eq!((first.behind.as_deref(), first.left), (Some("a"), None));
        assert_eq!((second.behind.as_deref(), second.left, second.is_over()), (None, Some(230), false));
        assert_eq!((new().rests_until(), first.rests_until()), (Moment::EPOCH, Moment::EPOCH), "it goes on at once");
        assert_eq!(second.rests_until(), BEGIN + pace::ERASED_QUIET, "no walk before that could be the last");
    }

    #[test]
    fn an_erasure_is_over_when_a_walk_that_began_after_the_quiet_found_nothing() {
        let quiet = BEGIN + pace::ERASED_QUIET;
        let found = new().stepped(looked(BEGIN, 1, None));
        for (began, erased, is_over) in
            [(BEGIN, 0, false), (quiet.just_before(), 0, false), (quiet, 0, true), (quiet, 1, false)]
        {
            let walked = found.stepped(looked(began, erased, None));
            assert_eq!(walked.is_over(), is_over, "{began} {erased}");
            assert_eq!(walked.left, Some(erased));
        }
        assert_eq!(found.stepped(looked(BEGIN, 0, None)).rests_until(), quiet);
    }

    #[test]
    fn what_is_met_is_told_of_before_it_is_erased_and_has_it_wait_anew() {
        let late = BEGIN + pace::ERASED_QUIET;
        let walked = new().stepped(looked(BEGIN, 0, None));
        assert_eq!([walked.is_told(BEGIN), walked.is_told(late)], [true, false]);

        let told = walked.told(late, late, 0, None);

        assert!(told.is_told(late + Duration::from_secs(59)) && !told.is_told(late + Duration::from_secs(60)));
        let died = told.stepped(looked(late, 0, None));
        assert!(!died.is_over(), "what was met was erased by somebody who could not say so");
        assert_eq!(died.rests_until(), late + pace::ERASED_QUIET);
    }

    /// Removed: that a walk begins no later than now. This one would be the last, though it found everything there was.
    #[test]
    fn a_walk_through_which_the_clock_is_set_back_is_not_the_last() {
        let ahead = BEGIN + 2 * pace::ERASED_QUIET;
        let began = new().told(ahead, ahead, 0, None).stepped(looked(ahead, 200, Some("a")));
        let beside = new().stepped(Looked { from: ahead, ..looked(BEGIN, 200, None) });

        let walked = began.stepped(looked(BEGIN, 30, None));

        assert_eq!((walked.left, walked.is_over()), (Some(230), false));
        assert_eq!((beside.left, beside.is_over()), (Some(200), false));
    }

    #[test]
    fn what_is_found_late_has_it_wait_anew() {
        let late = BEGIN + pace::ERASED_QUIET;
        let found = new().stepped(looked(BEGIN, 0, None)).stepped(looked(late, 1, None));
        let again = found.stepped(looked(late, 0, None));

        assert!(!again.is_over());
        assert_eq!(again.rests_until(), late + pace::ERASED_QUIET);
        assert!(again.stepped(looked(late + pace::ERASED_QUIET, 0, None)).is_over());
    }

    /// Of an operation that is not there, is going on, is over, or was given up; asked a moment later, and when it may have been given up.
    #[test]
    fn a_mark_is_worth_what_its_operation_is() {
        let (deployment, id) = (Tenant::deployment(), OperationId::from_bytes([7; 16]));
        let mark = Erasing { tenant: new().tenant, of: deployment.clone(), operation: id, since: BEGIN };
        let going_on = Operation::new(deployment.clone(), id, Work::Erase(new()), By::host(), BEGIN);
        let over = going_on.clone().given_up("it is over", BEGIN);
        let there = |operation: &Operation| Some(OperationHead::Operation(Box::new(operation.clone())));
        let tombstone = Some(OperationHead::Tombstone { tenant: deployment, id });
        let (soon, late) = (BEGIN + pace::HEAD_START, BEGIN + pace::ORPHAN);
        for (there, now, comes_to) in [
            (None, soon, Marked::Unbegun(id)),
            (None, late, Marked::Past),
            (there(&going_on), soon, Marked::UnderWay(Box::new(going_on.clone()))),
            (there(&going_on), late, Marked::UnderWay(Box::new(going_on))),
            (there(&over), soon, Marked::Past),
            (tombstone, soon, Marked::Past),
        ] {
            assert_eq!(mark.comes_to(there, now), comes_to);
        }
    }

    #[test]
    fn an_operation_erases_the_tenant_that_it_names_until_it_is_over() {
        let (deployment, id) = (Tenant::deployment(), OperationId::from_bytes([7; 16]));
        let (acme, other) = (new().tenant, Tenant::new("acme2").unwrap());
        let going_on = Operation::new(deployment, id, Work::Erase(new()), By::host(), BEGIN);
        let over = going_on.clone().given_up("it is over", BEGIN);

        let asked = [(&going_on, &acme), (&going_on, &other), (&over, &acme)];
        assert_eq!(asked.map(|(operation, tenant)| operation.is_erasing(tenant)), [true, false, false]);
    }

    /// The walk began before the quiet was over, however long it took.
    #[test]
    fn a_long_walk_counts_from_its_beginning() {
        let quiet = BEGIN + pace::ERASED_QUIET;
        let walked = new().stepped(looked(BEGIN, 0, Some("a"))).stepped(looked(quiet + pace::ERASED_QUIET, 0, None));

        assert!(!walked.is_over());
    }
}
