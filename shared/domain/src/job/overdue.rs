//! What a job owes by now: the run that was to begin, and has not.

use super::{Job, Status};
use crate::Moment;
use crate::run::{Run, State};

impl Job {
    /// Since when its next run is overdue, by the newest runs that are on record: the earliest of those that have not begun, or else the
    /// first occurrence behind them all. None where nothing is, and of a job that is not to fire.
    pub fn overdue_since(&self, newest: &[Run], now: Moment) -> Option<Moment> {
        let waiting = newest.iter().filter_map(|run| match &run.state {
            State::Scheduled { due } if *due <= now => Some(*due),
            _later_begun_or_over => None,
        });
        let last = newest.iter().filter(|run| run.key.is_occurrence()).map(|run| run.key.at).max();
        let from = last.filter(|last| *last >= self.since).unwrap_or(self.since.just_before());
        let unborn = self.next_after(from).filter(|next| *next <= now && self.status == Status::Active);
        waiting.chain(unborn).min()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{START, at, each_minute};
    use super::*;
    use crate::id::RunKey;
    use crate::job::Change;
    use crate::priority::Priority;

    #[test]
    fn a_run_is_overdue_from_when_it_was_to_begin_until_it_has_begun() {
        let job = each_minute();
        let run = |seconds, state| Run {
            state,
            ..Run::new(job.tenant.clone(), RunKey::occurrence(job.id, at(seconds)), Priority::Normal)
        };
        let done = |seconds| run(seconds, State::Cancelled { at: at(seconds) });
        let retried = |seconds, due| run(seconds, State::Scheduled { due: at(due) });
        let paused = job.after(&Change::Pause, at(61)).unwrap();
        let rows = [
            ("nothing was due", &job, vec![], START.just_before(), None),
            ("the first one", &job, vec![], at(5), Some(START)),
            ("all have begun", &job, vec![done(60), done(0)], at(119), None),
            ("one is missing", &job, vec![done(60), done(0)], at(125), Some(at(120))),
            ("one waits out a backoff", &job, vec![retried(60, 130), done(0)], at(119), None),
            ("its backoff is over", &job, vec![done(120), retried(60, 130)], at(140), Some(at(130))),
            ("paused", &paused, vec![done(60), done(0)], at(300), None),
        ];
        for (what, job, newest, now, wanted) in rows {
            assert_eq!(job.overdue_since(&newest, now), wanted, "{what}");
        }
    }
}
