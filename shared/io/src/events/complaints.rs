//! Complaints: whose runs an alarm is about. Alarms count all tenants together, and what they count is told of here, a line a minute for each tenant and
//! kind, so that whoever is woken finds a tenant and a run to look at.

use std::sync::LazyLock;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{Origin, RunKey, Tenant};
use minutehand_domain::pool::PoolName;
use minutehand_domain::run::{Run, Skip, State};

use super::seldom::Seldom;
use super::{Event, SPOKEN_FOR};
use crate::metrics::measured::{begins_attempt, has_lost_its_holder, lost_the_one_before};

/// As the alarms have it that tell of late starts.
const LATE: Duration = Duration::from_secs(5);

/// Lines a minute: each is an example, and many processes may tell of the same outage.
const MOST: usize = 20;

static TOLD: LazyLock<Seldom<(Tenant, &'static str)>> = LazyLock::new(|| Seldom::at_most(MOST));

struct Complaint<'a> {
    tenant: &'a Tenant,
    run: RunKey,
    /// Where it waits, where that is what there is to tell.
    pool: Option<&'a PoolName>,
    what: &'static str,
    now: Moment,
}

/// Tells of an event, where it is one of those that alarms count, and nothing was told of the like for a minute.
pub(super) fn complain(event: &Event<'_>) {
    let Some(Complaint { tenant, run, pool, what, now }) = complaint(event) else { return };
    if TOLD.is_to_be_told((tenant.clone(), what), now) {
        tracing::warn!(
            tenant = tenant.as_str(), job = %run.job, %run, pool = pool.map(PoolName::as_str),
            "{what}; no more of this is told for a minute"
        );
    }
}

fn complaint<'a>(event: &Event<'a>) -> Option<Complaint<'a>> {
    let (tenant, run, pool, what, now) = match *event {
        Event::Run { run, from, was, now } => (&run.tenant, run.key, None, of_a_run(run, from, was, now)?, now),
        Event::Reached { tenant, run, since, now, .. } if now.since(since) > LATE => {
            (tenant, run, None, LATE_START, now)
        }
        Event::AwaitsWorker { run, pool, now, .. } => (&run.tenant, run.key, Some(pool), AWAITS_WORKER, now),
        _ => return None,
    };
    Some(Complaint { tenant, run, pool, what, now })
}

const LATE_START: &str = "a run was come to more than 5 s late";
const MISSED: &str = "an occurrence was missed for good";
const DEAD: &str = "a run came to nothing, and is a dead letter";
const UNTOLD: &str = "a message of a notification rule was given up";
const HOLDER_LOST: &str = "nothing was heard of who held a run, and its lease ran out";
const AWAITS_WORKER: &str = "a run waits for a worker, though its pool has some";
const TAKEN_UP: &str = "an attempt was lost, and its run was taken up again";

fn of_a_run(run: &Run, from: &str, was: Option<&Run>, now: Moment) -> Option<&'static str> {
    let has_just_ended = run.is_finished() && !was.is_some_and(Run::is_finished);
    match &run.state {
        State::Failed { .. } | State::TimedOut { .. } if has_just_ended && run.key.origin == Origin::Notification => {
            Some(UNTOLD)
        }
        State::Skipped { why: Skip::Missed, .. } if has_just_ended && from != SPOKEN_FOR => Some(MISSED),
        _ if has_just_ended && run.is_dead_letter() => Some(DEAD),
        _ => was.and_then(|was| of_a_lost_attempt(run, was, now)),
    }
}

/// A worker or a target that lets its lease run out has an alarm of its own, and so a line of its own.
fn of_a_lost_attempt(run: &Run, was: &Run, now: Moment) -> Option<&'static str> {
    if has_lost_its_holder(run, was, now) {
        return Some(HOLDER_LOST);
    }
    is_taken_up_again(run, was).then_some(TAKEN_UP)
}

/// As rescues are counted: an attempt begins, and the one before it was lost, by a process that died or by anything that handed the run back.
fn is_taken_up_again(run: &Run, was: &Run) -> bool {
    run.key.origin != Origin::Notification && begins_attempt(run, Some(was)) && lost_the_one_before(run)
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::{JobId, Worker};
    use minutehand_domain::order::Terms;
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::{AttemptError, Claimant, Event as RunEvent, Outcome};

    use super::*;
    use crate::logged::Logged;
    use crate::metrics::LEASES_RESCUED;
    use crate::metrics::measured::measure;

    const DUE: Moment = Moment::from_secs(1_800_000_000);

    fn run(tenant: &str, origin: Origin) -> Run {
        let key = RunKey { origin, ..RunKey::occurrence(JobId::from_bytes([7; 16]), DUE) };
        Run::new(Tenant::new(tenant).unwrap(), key, Priority::Normal)
    }

    /// A run that has failed, and as it was before.
    fn failed(born: &Run) -> (Run, Run) {
        let by = Claimant { worker: Worker(1), exclusive_store: false };
        let terms = Terms {
            retry: minutehand_domain::retry::RetryPolicy { max_retries: 0, ..Default::default() },
            ..Terms::default()
        };
        let was = born.after(&RunEvent::Claim { by, terms: &terms }, DUE).unwrap();
        let outcome = Outcome::Failed { error: AttemptError::new("http_4xx", "no"), retry_after: None };
        let run = was.after(&RunEvent::Finish { fence: was.fence, outcome: &outcome, terms: &terms }, DUE).unwrap();
        (was, run)
    }

    fn claimed(run: &Run, now: Moment) -> Run {
        let by = Claimant { worker: Worker(1), exclusive_store: false };
        run.after(&RunEvent::Claim { by, terms: &Terms::default() }, now).unwrap()
    }

    #[test]
    fn what_alarms_count_is_told_of_with_its_tenant() {
        let (was, dead) = failed(&run("acme", Origin::Schedule));
        let (unsent, untold) = failed(&run("acme", Origin::Notification));
        let missed = run("acme", Origin::Schedule).skipped(Skip::Missed, None, DUE);
        let paused = run("acme", Origin::Schedule).skipped(Skip::Paused, None, DUE);
        let pool = "web1".parse().unwrap();
        let changed = |run, from, was| Event::Run { run, from, was, now: DUE };
        let reached = |late| {
            let (tenant, run, priority) = (&was.tenant, was.key, was.priority);
            Event::Reached { tenant, run, priority, since: DUE, now: DUE + late }
        };
        let rows = [
            (changed(&dead, "running", Some(&was)), Some(DEAD)),
            (changed(&dead, "failed", Some(&dead)), None),
            (changed(&untold, "running", Some(&unsent)), Some(UNTOLD)),
            (changed(&missed, "none", None), Some(MISSED)),
            (changed(&missed, SPOKEN_FOR, None), None),
            (changed(&paused, "none", None), None),
            (reached(LATE), None),
            (reached(LATE * 2), Some(LATE_START)),
            (Event::AwaitsWorker { run: &was, pool: &pool, waited: LATE, now: DUE }, Some(AWAITS_WORKER)),
        ];
        for (event, told) in rows {
            assert_eq!(complaint(&event).map(|complaint| complaint.what), told, "{event:?}");
        }
    }

    #[test]
    fn a_line_names_whose_it_is_and_comes_once_a_minute() {
        let (was, dead) = failed(&run("told-once", Origin::Schedule));
        let lines = Logged::default();
        lines.see(|| {
            for _ in 0..3 {
                complain(&Event::Run { run: &dead, from: "running", was: Some(&was), now: DUE });
            }
        });

        let told = lines.text();
        assert_eq!(told.matches(DEAD).count(), 1, "{told}");
        assert!(told.contains(" WARN ") && told.contains("tenant=\"told-once\""), "{told}");
        assert!(told.contains(&format!("run={}", dead.key)), "{told}");
    }

    #[test]
    fn a_run_that_waits_for_busy_workers_is_named_with_its_pool_once_a_minute() {
        let (waiting, pool) = (run("waits", Origin::Schedule), "web1".parse().unwrap());
        let lines = Logged::default();
        lines.see(|| {
            for _ in 0..3 {
                complain(&Event::AwaitsWorker { run: &waiting, pool: &pool, waited: LATE, now: DUE });
            }
        });

        let told = lines.text();
        assert_eq!(told.matches(AWAITS_WORKER).count(), 1, "{told}");
        assert!(told.contains("tenant=\"waits\"") && told.contains("pool=\"web1\""), "{told}");
        assert!(told.contains(&format!("run={}", waiting.key)), "{told}");
    }

    /// Of these the alarm's metric is asked as well, so that the two go by one rule.
    #[test]
    fn a_run_is_named_where_a_rescue_is_counted() {
        for (origin, is_counted) in [(Origin::Schedule, true), (Origin::Notification, false)] {
            let born = run("acme", origin);
            let first = claimed(&born, DUE);
            let lost_at = first.lease().unwrap().until + Duration::from_secs(60);
            let again = claimed(&first, lost_at);

            for (run, was, is_told) in [(&first, &born, false), (&again, &first, is_counted), (&again, &again, false)] {
                let event = Event::Run { run, from: "running", was: Some(was), now: lost_at };
                let mut rescues = 0;
                measure(&event, &mut |metric, _, _| rescues += u32::from(metric.name == LEASES_RESCUED.name));

                assert_eq!(rescues, u32::from(is_told), "{event:?}");
                let told = complaint(&event).map(|complaint| complaint.what);
                assert_eq!(told, is_told.then_some(TAKEN_UP), "{event:?}");
            }
        }
    }
}
