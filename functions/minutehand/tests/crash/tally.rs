//! The tally: counts what a history contained, so that the test cannot become empty.

use std::collections::BTreeMap;
use std::fmt;

use minutehand_judge::{Account, Status};

use crate::asked::Asked;

/// How much of what there was, and how much there must at least have been in a round: so little that a machine with much else to do gets as
/// far. Which changes there are is chance.
#[derive(Clone, Debug)]
pub(crate) struct Tally(BTreeMap<&'static str, Count>);

#[derive(Clone, Copy, Debug)]
struct Count {
    found: usize,
    least: f64,
}

impl Tally {
    /// `taken_over` are attempts whose process died.
    pub(crate) fn of(account: &Account, asked_for: &[Asked], taken_over: usize) -> Self {
        let changes_to = |wanted: Status| {
            let changes = asked_for.iter().flat_map(|asked| &asked.changes);
            changes.filter(|(_, status)| *status == wanted).count()
        };
        let reason = |wanted: &str| {
            let records = account.records.iter();
            records.filter(|record| record.reason.as_deref() == Some(wanted)).count()
        };
        let sum = |count: fn(&Asked) -> u32| asked_for.iter().map(|asked| count(asked) as usize).sum();
        let called_again = account.calls.iter().filter(|call| call.fence > 1).count();
        let counts = [
            ("jobs", account.jobs.len(), 8.0),
            ("records", account.records.len(), 12.0),
            ("calls", account.calls.len(), 12.0),
            ("called again", called_again, 1.0),
            ("taken over", taken_over, 0.2),
            ("lost, being at most once", reason("lost"), 0.0),
            ("coalesced", reason("coalesced"), 0.0),
            ("unanswered", sum(|asked| asked.unanswered), 0.2),
            // Whose answer a kill cut off between the commit and the socket: one in seven rounds had none of them.
            ("creations answered again", sum(|asked| asked.replays), 0.02),
            ("run now", asked_for.iter().map(|asked| asked.runs.len()).sum(), 0.2),
            ("pauses", changes_to(Status::Paused), 0.0),
            ("resumes", changes_to(Status::Active), 0.0),
            ("deletes", changes_to(Status::Cancelled), 0.0),
        ];
        Self(counts.into_iter().map(|(what, found, least)| (what, Count { found, least })).collect())
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a history of seconds")]
    pub(crate) fn assert_not_empty(&self, rounds: u64) {
        for (what, Count { found, least }) in &self.0 {
            let least = least * rounds as f64;
            assert!(*found as f64 >= least.floor(), "{found} {what}, and not {least}: {self}");
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> = self.0.iter().map(|(what, count)| format!("{} {what}", count.found)).collect();
        f.write_str(&counts.join(", "))
    }
}
