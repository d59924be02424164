//! A remark on a run: what somebody did to it, or what was noticed of it, where no state says so. Few are kept, the newest.

use super::Run;
use crate::Moment;
use crate::access::By;
use crate::limits::REMARKS;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub at: Moment,
    /// Who did it; none where it was noticed.
    pub by: Option<By>,
    pub what: Remarked,
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remarked {
    /// Somebody asked to cancel it, with a note; or once more, which its `finally` needs.
    CancelAsked,
    /// Somebody went on with a run that had failed: this is the one that goes on.
    Resumed,
    /// Nothing of it goes on, and nothing is awaited.
    Stalled,
    /// It came to nothing, and somebody asked for another try.
    Redriven,
    /// It came to nothing, and is to be left at that.
    Dismissed,
    /// This is the other try that somebody asked for, with a note.
    AskedAgain,
}

impl Remarked {
    pub const ALL: [Self; 6] =
        [Self::CancelAsked, Self::Resumed, Self::Stalled, Self::Redriven, Self::Dismissed, Self::AskedAgain];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CancelAsked => "cancel_asked",
            Self::Resumed => "resumed",
            Self::Stalled => "stalled",
            Self::Redriven => "redriven",
            Self::Dismissed => "dismissed",
            Self::AskedAgain => "asked_again",
        }
    }
}

impl Run {
    #[must_use]
    pub fn remarked(mut self, remark: Remark) -> Self {
        self.remarks.push(remark);
        let too_many = self.remarks.len().saturating_sub(REMARKS);
        self.remarks.drain(..too_many);
        self
    }

    /// The last time that something of this kind was remarked.
    pub fn last_remark(&self, what: Remarked) -> Option<&Remark> {
        self.remarks.iter().rev().find(|remark| remark.what == what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{JobId, RunKey, Tenant};
    use crate::priority::Priority;

    #[test]
    fn the_newest_remarks_are_kept() {
        let key = RunKey::occurrence(JobId::from_bytes([1; 16]), Moment::EPOCH);
        let run = Run::new(Tenant::deployment(), key, Priority::Normal);
        let remark = |second, what| Remark { at: Moment::from_secs(second), by: None, what, note: None };

        let run = (0..20).fold(run, |run, second| run.remarked(remark(second, Remarked::Stalled)));
        let run = run.remarked(remark(20, Remarked::CancelAsked));

        assert_eq!(run.remarks.len(), REMARKS);
        assert_eq!(run.last_remark(Remarked::Stalled).map(|remark| remark.at), Some(Moment::from_secs(19)));
        assert_eq!(run.last_remark(Remarked::Resumed), None);
    }
}
