//! A calendar as its tenant's jobs share it: which version its name stands for by now, whether all who heed it are pinned to that, and who
//! they are.

use std::fmt;

use super::{CalendarName, CalendarVersion};
use crate::Moment;
use crate::id::{JobId, Tenant};

/// What a calendar's name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    pub tenant: Tenant,
    pub name: CalendarName,
    /// Grows with every change.
    pub generation: u64,
    pub version: CalendarVersion,
    pub created_at: Moment,
    pub changed_at: Moment,
    /// Whoever changes it pins its jobs anew, one after the other; none where all are.
    pub walk: Option<Walk>,
}

/// How far somebody came who takes a change of a calendar to the jobs that heed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The last job that heeds it by now.
    pub past: Option<JobId>,
    /// The calendar goes. Nobody is pinned to it any more, and a job that heeds it holds that up, or is made to heed it no longer.
    pub goes: Option<Goes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goes {
    /// Unless a job heeds it.
    IfUnused,
    /// And its jobs go on without it.
    InAnyCase,
}

/// As what a calendar's writer has seen what he writes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsSeen {
    /// It may be anything.
    Any,
    /// There was none of its name.
    Absent,
    As(Writing),
}

/// One writing of a calendar: no other is called so, neither of the same calendar nor of one that has its name once it is deleted. It is the `ETag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    made_at: Moment,
    generation: u64,
}

impl fmt::Display for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.generation, self.made_at.millis())
    }
}

/// That a job heeds a calendar, or is about to: put before the calendar is read for it, so that whoever changes the calendar knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarUse {
    pub job: JobId,
    /// When it was put last.
    pub written: Moment,
}

impl Shared {
    pub fn new(tenant: Tenant, name: CalendarName, version: CalendarVersion, now: Moment) -> Self {
        Self { tenant, name, generation: 1, version, created_at: now, changed_at: now, walk: Some(Walk::of_a_change()) }
    }

    pub fn writing(&self) -> Writing {
        Writing { made_at: self.created_at, generation: self.generation }
    }

    /// Whether jobs may name it.
    pub fn is_there(&self) -> bool {
        self.walk.is_none_or(|walk| walk.goes.is_none())
    }

    /// As it is once it says something else.
    #[must_use]
    pub fn changed(&self, version: CalendarVersion, now: Moment) -> Self {
        let walk = Some(Walk::of_a_change());
        Self { generation: self.generation + 1, version, changed_at: now, walk, ..self.clone() }
    }

    /// As it is while it goes.
    #[must_use]
    pub fn going(&self, goes: Goes, now: Moment) -> Self {
        let walk = Some(Walk { past: None, goes: Some(goes) });
        Self { generation: self.generation + 1, changed_at: now, walk, ..self.clone() }
    }

    /// As it is where its walk came so far; none where that has come to its end.
    #[must_use]
    pub fn walked(&self, walk: Option<Walk>) -> Self {
        Self { walk, ..self.clone() }
    }
}

impl AsSeen {
    /// For who has read this writing, or that there is none.
    pub fn just(writing: Option<Writing>) -> Self {
        writing.map_or(Self::Absent, Self::As)
    }

    /// Whether it may be written over this writing, or where there is none.
    pub fn admits(self, writing: Option<Writing>) -> bool {
        self == Self::Any || self == Self::just(writing)
    }
}

impl Walk {
    pub const fn of_a_change() -> Self {
        Self { past: None, goes: None }
    }
}
