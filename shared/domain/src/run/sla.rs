//! The SLA of a run: by when it is to have ended, as its job said when it was born. A run that misses it goes on as it would; it is told of,
//! once.

use super::{Run, State};
use crate::Moment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sla {
    /// By when the run is to have ended.
    pub until: Moment,
    /// When it was found not to have.
    pub missed: Option<Moment>,
}

impl Run {
    /// The run as it is at `now`: one that has not ended in time has missed its SLA. What was skipped was never to run.
    #[must_use]
    pub fn timed(mut self, now: Moment) -> Self {
        let ended = self.finished_at().unwrap_or(now);
        let is_skipped = matches!(self.state, State::Skipped { .. });
        if let Some(sla) = &mut self.sla
            && sla.missed.is_none()
            && ended > sla.until
            && !is_skipped
        {
            sla.missed = Some(now);
        }
        self
    }

    /// The SLA of one that does the same again and is due then.
    pub fn sla_from(&self, due: Moment) -> Option<Sla> {
        self.sla.map(|sla| Sla { until: due + sla.until.since(self.could_begin_at()), missed: None })
    }

    /// When it was found to have missed its SLA.
    pub fn sla_missed(&self) -> Option<Moment> {
        self.sla.and_then(|sla| sla.missed)
    }

    /// When somebody is to look who would not before `at`.
    pub fn looked_at_by(&self, at: Moment) -> Moment {
        self.sla_ends().map_or(at, |end| end.min(at))
    }

    /// When it is known whether it has kept its SLA, where it is not known yet.
    pub fn sla_ends(&self) -> Option<Moment> {
        match self.sla {
            Some(Sla { until, missed: None }) => Some(until.just_after()),
            Some(Sla { missed: Some(_), .. }) | None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::body::Body;
    use crate::id::{JobId, RunKey, Tenant, Worker};
    use crate::order::Terms;
    use crate::priority::Priority;
    use crate::run::{Claimant, Event, Look, Outcome, Skip};

    const DUE: Moment = Moment::from_secs(1_000);
    const BY: Claimant = Claimant { worker: Worker(1), exclusive_store: false };

    fn at(second: u64) -> Moment {
        DUE + Duration::from_secs(second)
    }

    /// Due at 0, and to have ended by 60.
    fn run() -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([1; 16]), DUE);
        let sla = Some(Sla { until: at(60), missed: None });
        Run { sla, ..Run::new(Tenant::deployment(), key, Priority::Normal) }
    }

    fn claimed(second: u64) -> Run {
        run().after(&Event::Claim { by: BY, terms: &Terms::default() }, at(second)).unwrap()
    }

    fn succeeded(run: &Run, second: u64) -> Run {
        let (terms, outcome) = (Terms::default(), Outcome::Succeeded { result: Body::Empty });
        run.after(&Event::Finish { fence: 1, outcome: &outcome, terms: &terms }, at(second)).unwrap()
    }

    #[test]
    fn whatever_happens_to_a_run_says_whether_it_has_missed_its_sla() {
        let rows = [
            ("begun and ended in time", succeeded(&claimed(0), 60), None),
            ("begun in time, ended late", succeeded(&claimed(0), 61), Some(at(61))),
            ("begun late", claimed(90), Some(at(90))),
            ("and ended", succeeded(&claimed(90), 95), Some(at(90))),
            ("cancelled in time", run().after(&Event::Cancel { by: None }, at(5)).unwrap(), None),
            ("cancelled when it was late", run().after(&Event::Cancel { by: None }, at(70)).unwrap(), Some(at(70))),
            ("found late by a look", claimed(0).timed(at(75)), Some(at(75))),
            ("looked at long after it had ended in time", succeeded(&claimed(0), 60).timed(at(900)), None),
            ("skipped", run().skipped(Skip::Missed, None, at(900)).timed(at(900)), None),
            ("of a job that says nothing of it", Run { sla: None, ..run() }.timed(at(900)), None),
        ];
        for (what, run, missed) in rows {
            assert_eq!(run.sla_missed(), missed, "{what}");
        }
    }

    #[test]
    fn a_run_that_may_miss_its_sla_is_looked_at_when_that_is_known() {
        let by = Claimant { worker: Worker(2), exclusive_store: false };
        let long = Terms { timeout: Duration::from_secs(600), ..Terms::default() };
        let carried_out = run().after(&Event::Claim { by: BY, terms: &long }, at(0)).unwrap();

        assert_eq!(carried_out.inspect_overdue(at(30), by), Look::Later(at(60).just_after()));
        assert_eq!(carried_out.timed(at(61)).inspect_overdue(at(61), by), Look::Later(at(630)));
    }
}
