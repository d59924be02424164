//! The rules of what is counted: each end of a job that asks for it is counted once, and its day is what ended in it.

use std::collections::{BTreeMap, BTreeSet};

use super::{UNFINISHED, Verdict};
use crate::{Counted, CountedEnd, Day, Record};

const HOUR: i64 = 3_600_000;
/// Others are ends that nobody judges.
const COUNTED: [&str; 3] = ["succeeded", "failed", "timed_out"];

impl Verdict<'_> {
    pub(super) fn an_end_is_counted_once(&mut self, counted: &Counted) {
        let mut ends: BTreeMap<(i64, u64), Vec<&CountedEnd>> = BTreeMap::new();
        for end in &counted.ends {
            ends.entry((end.instant, end.number)).or_default().push(end);
        }
        let its: Vec<&Record> = self.account.records.iter().filter(|record| record.job == counted.job).collect();
        for record in its {
            let found = ends.remove(&(record.instant, record.number)).unwrap_or_default();
            let said: Vec<(&str, Option<i64>)> = found.iter().map(|end| (end.how.as_str(), Some(end.at))).collect();
            let is_an_end = COUNTED.contains(&record.status.as_str());
            let is_settled = record.at.is_some_and(|at| at < self.account.end - UNFINISHED);
            let wanted = if is_an_end { vec![(record.status.as_str(), record.at)] } else { vec![] };
            if said != wanted && (is_settled || !said.is_empty()) {
                self.report("an end is counted once", counted.job, record.instant, format!("{said:?}, not {wanted:?}"));
            }
        }
        if let Some((instant, _)) = ends.into_keys().next() {
            self.report("an end is counted once", counted.job, instant, "no run has ended so");
        }
    }

    /// Where no clock was wrong: by one that is ahead a day may be counted before its ends are written down.
    pub(super) fn a_day_is_what_ended_in_it(&mut self, counted: &Counted) {
        let Some(day) = counted.day.as_ref().filter(|_| self.account.wrong_clocks.is_empty()) else { return };
        let Some(first) = day.hours.first_key_value().map(|(hour, _)| *hour) else { return };
        let ended = |hour: i64| {
            let within = |end: &&CountedEnd| (hour..hour + HOUR).contains(&end.at) && end.at < day.until;
            let of = |how| counted.ends.iter().filter(within).filter(|end| end.how == how).count();
            COUNTED.map(of)
        };
        let up_to_the_end = (first..day.until).step_by(usize::try_from(HOUR).unwrap_or(usize::MAX));
        let hours: BTreeSet<i64> = day.hours.keys().copied().chain(up_to_the_end).collect();
        for hour in hours {
            let (said, wanted) = (said(day, hour), ended(hour));
            if said != wanted {
                self.report("a day is what ended in it", counted.job, hour, format!("{said:?}, and {wanted:?} ended"));
            }
        }
    }
}

fn said(day: &Day, hour: i64) -> [usize; 3] {
    day.hours.get(&hour).copied().unwrap_or_default()
}
