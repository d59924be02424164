//! A notice: an event as an outsider reads it, in a shape of the wire.

use minutehand_domain::Moment;
use minutehand_domain::run::Run;
use minutehand_wire::{JobNotice, RunNotice, SlaNotice, StallNotice};
use serde::Serialize;

use crate::events::Event;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// `job.created`, `run.succeeded` …
    pub(super) kind: String,
    pub(super) detail: String,
    pub(super) at: Moment,
}

impl Notice {
    /// The notice of an event that the bus is given.
    pub(super) fn of(event: &Event<'_>) -> Option<Self> {
        match *event {
            Event::Job { job, what } => Self::new(format!("job.{what}"), &JobNotice::of(job), job.changed_at),
            // What is decided about a run that is over was announced when it ended.
            Event::Run { was, .. } if was.is_some_and(Run::is_finished) => None,
            Event::Run { run, now, .. } => {
                let detail = RunNotice::of(run, now)?;
                Self::new(format!("run.{}", detail.status), &detail, detail.finished_at.0)
            }
            Event::SlaMissed { run } => {
                let detail = SlaNotice::of(run)?;
                Self::new("run.sla_missed".to_owned(), &detail, detail.missed_at.0)
            }
            // They are measured; the bus is for what becomes of jobs and runs.
            Event::EffectPrevented { .. }
            | Event::Reached { .. }
            | Event::Called { .. }
            | Event::Answered { .. }
            | Event::Sweeping { .. }
            | Event::SweepFailed
            | Event::Unreadable { .. }
            | Event::Archived { .. }
            | Event::Prevented { .. }
            | Event::Refused { .. }
            | Event::AwaitsWorker { .. }
            | Event::Unattended { .. }
            | Event::GivenBack => None,
            Event::Stalled { run, since, edge } => {
                Self::new("run.stalled".to_owned(), &StallNotice::of(run, since, edge), since)
            }
        }
    }

    fn new(kind: String, detail: &impl Serialize, at: Moment) -> Option<Self> {
        let detail = serde_json::to_string(detail)
            .inspect_err(|error| tracing::error!(%kind, %error, "a change is not announced"));
        Some(Self { detail: detail.ok()?, kind, at })
    }

    /// As EventBridge counts: the names, the detail, and fourteen for the time.
    pub(super) fn bytes(&self) -> usize {
        super::SOURCE.len() + self.kind.len() + self.detail.len() + 14
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::attempt::Ended;
    use minutehand_domain::run::{Attempt, AttemptError, Ending, Failure, Holder, Lease, State};

    use super::*;

    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn run(state: State) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([7; 16]), AT);
        Run { state, ..Run::new(Tenant::new("acme").unwrap(), key, Priority::High) }
    }

    fn notice(run: &Run) -> Option<Notice> {
        Notice::of(&Event::Run { run, from: "running", was: None, now: AT })
    }

    #[test]
    fn a_run_that_has_not_ended_is_not_announced() {
        let lease = Lease { holder: Holder::Process(Worker(1)), until: AT, cancelled: true, token: None };
        for state in [State::Scheduled { due: AT }, State::Running(lease)] {
            assert_eq!(notice(&run(state)), None);
        }
    }

    /// Removed: who looks at what the run was. A verdict on a failure that was held announced the failure once more.
    #[test]
    fn what_is_decided_about_a_run_that_is_over_announces_its_end_no_second_time() {
        let [due, failed] = [State::Scheduled { due: AT }, State::Failed { at: AT, why: Failure::Error }].map(run);
        let notice = |was| Notice::of(&Event::Run { run: &failed, from: "failed", was, now: AT });

        assert!(notice(Some(&due)).is_some());
        assert_eq!(notice(Some(&failed)), None);
    }

    #[test]
    fn a_stall_is_announced_with_the_edge_that_is_waited_for() {
        let run = run(State::Scheduled { due: AT });

        let notice = Notice::of(&Event::Stalled { run: &run, since: AT, edge: "`join` has not begun" }).unwrap();

        assert_eq!((notice.kind.as_str(), notice.at), ("run.stalled", AT));
        assert!(notice.detail.contains(r#""waits_for":"`join` has not begun""#), "{}", notice.detail);
    }

    #[test]
    fn a_failed_run_is_announced_without_what_its_target_said() {
        let error = AttemptError::new("http_500", "the password is swordfish");
        let ended = Some(Ended { at: AT, how: Ending::Failed(error) });
        let attempts = vec![Attempt { number: 3, worker: Worker(1), started_at: AT, ended }];
        let failed = State::Failed { at: AT, why: Failure::Error };
        let failed = Run { attempts, fence: 3, started_at: Some(AT), ..run(failed) };

        let notice = notice(&failed).unwrap();

        assert_eq!((notice.kind.as_str(), notice.at), ("run.failed", AT));
        let expected = r#"{"tenant":"acme","job_id":"job_0w3ge1r70w3ge1r70w3ge1r70w","run_id":"RUN","status":"failed","reason":"error","error_code":"http_500","origin":"schedule","priority":"high","scheduled_at":"2027-01-15T08:00:00.000Z","started_at":"2027-01-15T08:00:00.000Z","finished_at":"2027-01-15T08:00:00.000Z","attempts":3}"#;
        assert_eq!(notice.detail, expected.replace("RUN", &failed.key.to_string()));
    }
}
