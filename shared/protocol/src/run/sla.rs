//! The SLA of a run to which nothing has happened since it was missed: a look finds it, and says so once. Whatever else is written of a run
//! says it too.

use minutehand_domain::Moment;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::Job;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::notifications::telling::tell;
use crate::timers::promise::move_to_next_hint;

/// Writes down that a run has missed its SLA, where nobody has. None where somebody was faster: the next look sees what became of it.
pub(crate) async fn note_missed_sla<D: Ports>(ports: &D, seen: Seen<Run>) -> Result<Option<Seen<Run>>, Fault> {
    let run = seen.item.clone().timed(ports.clock().now());
    if run.sla == seen.item.sla {
        return Ok(Some(seen));
    }
    match ports.store().put(&run.tenant, run.key, &run, seen.guard()).await? {
        Put::Written(version) => {
            ports.events().emit(&Event::SlaMissed { run: &run });
            let _its_end_tells_it_again = tell(ports, &run).await;
            Ok(Some(Seen { item: run, version }))
        }
        Put::Conflict(_) => Ok(None),
    }
}

/// Moves the timer of an occurrence that nobody has claimed to when it is hinted the next time. It has no record that could say that its SLA
/// is missed: the timer that is moved after the end of that says that it was told of.
pub(crate) async fn await_claim<D: Ports>(ports: &D, timer: &Timer, job: &Job, key: RunKey) -> Result<Timer, Fault> {
    let now = ports.clock().now();
    let run = job.run(key).timed(now);
    if run.sla_missed().is_some() && told_of(job.run(key), &timer.key, timer.stamp).sla_missed().is_none() {
        ports.events().emit(&Event::SlaMissed { run: &run });
    }
    move_to_next_hint(ports, timer, key.at, None).await // where the look at the next link expects it
}

/// Tells of an occurrence that is made up for, where its timer was promised so late that whoever finds it takes that for told.
pub(crate) fn tell_of_a_late_promise<D: Ports>(ports: &D, promised: &Timer, job: &Job, t: Moment) {
    let run = told_of(job.run(RunKey::occurrence(job.id, t)), &promised.key, promised.stamp);
    if run.sla_missed().is_some() {
        ports.events().emit(&Event::SlaMissed { run: &run });
    }
}

/// An occurrence without a record, as the timer behind it knows of its SLA: whoever moves it after the end of that tells.
pub(crate) fn told_of(unborn: Run, timer: &TimerKey, stamp: TimerStamp) -> Run {
    match timer.obligation {
        Obligation::MovedOccurrence(..) => unborn.timed(stamp.written),
        Obligation::Occurrence(_) | Obligation::Run(_) | Obligation::Calendar(_) | Obligation::Operation(_) => unborn,
    }
}
