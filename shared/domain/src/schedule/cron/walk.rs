//! The walk: the next instant at which an expression fires, across gaps and overlaps of its zone's clock.
//!
//! Civil time only ever moves forward through the masks. Two cases need more: a local time inside a gap fires at the instant
//! the clock resumes, or is skipped (`dst_gap`); and in an overlap the fires of the second pass have smaller local times than
//! those already seen (`dst_overlap`).

use chrono::{DateTime, NaiveDateTime, Utc};

use super::clock::{self, Overlap, Shown};
use super::{Cron, DstGap, DstOverlap, Kind, Manner, Note};
use crate::moment::Moment;

impl Cron {
    /// The first occurrence strictly after `t`; none where it never fires again before the year 10000.
    pub fn next_after(&self, t: Moment) -> Option<Moment> {
        let now = t.to_utc();
        let next = match Overlap::around(self.zone(), now) {
            None => self.first_shown(self.fields.after(self.local_at(now))?),
            Some(overlap) if now < overlap.turn => self.next_from_first_pass(now, &overlap),
            Some(overlap) => self.next_from_second_pass(now, &overlap),
        };
        next.filter(|next| *next <= Moment::END.to_utc()).map(Moment::from)
    }

    /// The effect of daylight saving on the occurrence at `t`; none without an effect or without an occurrence.
    pub fn note_at(&self, t: Moment) -> Option<Note> {
        let at = t.to_utc();
        if self.next_after(t.just_before()) != Some(t) {
            return None;
        }
        if !self.fields.matches(self.local_at(at)) {
            return Some(Note::Shifted);
        }
        let in_second_pass = Overlap::around(self.zone(), at).is_some_and(|overlap| at >= overlap.turn);
        in_second_pass.then_some(Note::Repeated)
    }

    fn next_from_first_pass(&self, now: DateTime<Utc>, overlap: &Overlap) -> Option<DateTime<Utc>> {
        let ahead = self.fields.after(self.local_at(now));
        match ahead.filter(|local| *local < overlap.end) {
            Some(local) if self.fires_in_first_pass() => Some(self.shown(local).first()),
            _ if self.fires_in_second_pass() => {
                self.shown_from_second_pass(self.fields.at_or_after(overlap.begin)?, overlap)
            }
            _ => self.first_shown(ahead?),
        }
    }

    fn next_from_second_pass(&self, now: DateTime<Utc>, overlap: &Overlap) -> Option<DateTime<Utc>> {
        if self.fires_in_second_pass() {
            return self.shown_from_second_pass(self.fields.after(self.local_at(now))?, overlap);
        }
        self.first_shown(self.fields.at_or_after(overlap.end)?)
    }

    fn shown_from_second_pass(&self, local: NaiveDateTime, overlap: &Overlap) -> Option<DateTime<Utc>> {
        if local < overlap.end { Some(self.shown(local).last()) } else { self.first_shown(local) }
    }

    /// When the clock shows this local time; or a later one, where it never does and gaps are skipped.
    fn first_shown(&self, mut local: NaiveDateTime) -> Option<DateTime<Utc>> {
        loop {
            match self.shown(local) {
                Shown::Skipped { resumes } if self.manner.gap == DstGap::Skip => {
                    local = self.fields.at_or_after(self.local_at(resumes))?;
                }
                shown => return Some(self.manner.counting(shown)),
            }
        }
    }

    fn fires_in_first_pass(&self) -> bool {
        match self.manner.overlap {
            DstOverlap::ByKind | DstOverlap::First | DstOverlap::Both => true,
            DstOverlap::Second => false,
        }
    }

    fn fires_in_second_pass(&self) -> bool {
        match (self.manner.overlap, self.kind) {
            (DstOverlap::Second | DstOverlap::Both, _) | (DstOverlap::ByKind, Kind::Interval) => true,
            (DstOverlap::First, _) | (DstOverlap::ByKind, Kind::Fixed) => false,
        }
    }

    fn local_at(&self, at: DateTime<Utc>) -> NaiveDateTime {
        clock::local(self.zone(), at)
    }

    fn shown(&self, local: NaiveDateTime) -> Shown {
        Shown::at(self.zone(), local)
    }
}

impl Manner {
    /// When the zone's clock shows this local time; none where it never does and gaps are skipped.
    pub(in super::super) fn instant_of(self, local: NaiveDateTime) -> Option<Moment> {
        match Shown::at(self.zone, local) {
            Shown::Skipped { .. } if self.gap == DstGap::Skip => None,
            shown => Some(Moment::from(self.counting(shown))).filter(|at| at.to_utc() == self.counting(shown)),
        }
    }

    /// The first time that counts.
    fn counting(self, shown: Shown) -> DateTime<Utc> {
        match self.overlap {
            DstOverlap::Second => shown.last(),
            DstOverlap::ByKind | DstOverlap::First | DstOverlap::Both => shown.first(),
        }
    }
}

#[cfg(test)]
mod facts;
#[cfg(test)]
mod properties;
