//! Running a job because somebody asked: the run's timer, its record, its hint. Two askings are two runs, unless they bear
//! the same idempotency key: then who asked first has named the run before it was made.

use minutehand_domain::access::By;
use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint, Missing};
use minutehand_domain::job::{Job, JobRefusal, Status};
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::priority::Priority;
use minutehand_domain::retention::outlived_by_runs;
use minutehand_domain::run::{NotToRedo, Run, Said, Skip, State};
use minutehand_domain::timer::TimerKey;
use minutehand_domain::trace::TraceContext;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::aftermath::{Made, Try, try_again};
use crate::bodies::{self, BodyOf};
use crate::born::{born, quota_bound};
use crate::contention::Contention;
use crate::lookup::job_of;
use crate::timers::hinting::hint;
use crate::timers::promise::promise;

/// Tries against others who do something to the run that is to be tried again.
const TRIES: u32 = 8;

/// What somebody asks for.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// In place of the job's own.
    pub payload: Option<Json>,
    pub by: By,
    /// Why another try is asked for.
    pub note: Option<String>,
    /// The trace that it is asked for in: a run of a job keeps it. Another try is in no trace but that of the run that it is a try at.
    pub trace: Option<TraceContext>,
    /// The idempotency key it bears, and what it is the key of.
    pub once: Option<(AskedName, Fingerprint)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    Queued(Run),
    /// The same request made it before.
    Replayed(Run),
    /// The idempotency key belongs to another request.
    Taken,
    /// Nobody can tell whether the run that the idempotency key names has been.
    Unsure,
    Refused(JobRefusal),
    NotToRedo(NotToRedo),
    NotFound,
    /// This asker slept so long that its promise was given up as an orphan: ask again.
    TooSlow,
}

/// Queues a run of the job now. A paused job may be asked.
pub async fn run_now<D: Ports>(ports: &D, tenant: &Tenant, id: JobId, request: RunRequest) -> Result<Answered, Fault> {
    run_now_at(ports, tenant, id, None, request).await
}

/// The same, as urgent as it is asked for: as its job where that is not said.
pub async fn run_now_at<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    id: JobId,
    priority: Option<Priority>,
    request: RunRequest,
) -> Result<Answered, Fault> {
    let Some(job) = job_of(ports, tenant, id).await? else { return Ok(Answered::NotFound) };
    let run = job.run(RunKey::manual(id, ports.clock().now(), ports.chance().number().max(1)));
    let run = Run { priority: priority.unwrap_or(run.priority), ..run };
    let answered = make_run(ports, &job, run, None, &request).await?;
    answered.ok_or_else(|| Fault::unavailable("run", "somebody was faster, where nobody could be"))
}

/// Queues another try at a run that came to nothing, as the caller has seen it: recorded, or spoken for by another's record.
/// It is given its own payload, unless the request has one. Where it has a record, that says so: rules of [`aftermath`](crate::aftermath).
pub async fn redrive<D: Ports>(ports: &D, of: &Run, request: RunRequest) -> Result<Answered, Fault> {
    let mut contention = Contention::default();
    for _ in 0..TRIES {
        contention.let_others_pass(ports).await;
        let Some(job) = job_of(ports, &of.tenant, of.key.job).await? else { return Ok(Answered::NotFound) };
        let seen = ports.store().get::<Run>(&of.tenant, of.key).await?;
        let before = seen.as_ref().map_or(of, |seen| &seen.item);
        let key = RunKey::redrive(of.key.job, ports.clock().now(), ports.chance().number().max(1));
        let run = match before.redriven(key) {
            Ok(run) => run,
            Err(why) => return Ok(Answered::NotToRedo(why)),
        };
        if let Some(answered) = make_run(ports, &job, run, seen.as_ref(), &request).await? {
            return Ok(answered);
        }
    }
    Err(Fault::unavailable("run", "it is being changed by too many at once"))
}

/// None where somebody was faster to do something to the run that this one is another try at.
async fn make_run<D: Ports>(
    ports: &D,
    job: &Job,
    run: Run,
    of: Option<&Seen<Run>>,
    request: &RunRequest,
) -> Result<Option<Answered>, Fault> {
    let (run, named) = match request.once {
        Some((name, fingerprint)) => match agree(ports, job, run, name, fingerprint).await? {
            Agreed::Make(run) => (run, true),
            Agreed::Made(run) => return Ok(Some(Answered::Replayed(run))),
            Agreed::Taken => return Ok(Some(Answered::Taken)),
            Agreed::Unsure => return Ok(Some(Answered::Unsure)),
        },
        None => (run, false),
    };
    if job.status == Status::Cancelled {
        return Ok(Some(Answered::Refused(JobRefusal::Cancelled)));
    }
    let payload = match request.payload.clone() {
        Some(json) => {
            let unborn = quota_bound(ports, &run).await;
            let whose = BodyOf::run(&unborn, ports.clock().now());
            Some(bodies::keep_of(ports, whose, Some(json), INLINE_PAYLOAD_BYTES).await?)
        }
        None => None,
    };
    let Some(of) = of else {
        let payload = payload.or_else(|| run.payload.clone());
        let trace = run.trace.clone().asked(request.trace.clone());
        let run = Run { payload, asked_by: Some(request.by.clone()), trace, ..run }.sampled_by(ports.sampling());
        return queue(ports, job, run, named).await.map(Some);
    };
    let said = Said { by: Some(&request.by), note: request.note.as_deref() };
    let lane = job.lane_at(run.priority);
    let other = Try { key: run.key, payload: payload.as_ref(), said, operation: None, lane };
    Ok(try_again(ports, of, other).await?.map(|made| match made {
        Made::Before(run) if named => Answered::Replayed(run),
        // A look may have been faster, and have made what was asked for here.
        made => Answered::Queued(made.run()),
    }))
}

/// Promises the run, writes it and hints it. `named`: whoever asks for the same names the same run.
pub(crate) async fn queue<D: Ports>(ports: &D, job: &Job, run: Run, named: bool) -> Result<Answered, Fault> {
    let now = ports.clock().now();
    let timer = promise(ports, &run.tenant, TimerKey::run(run.key, now), job.generation).await?;
    match born(ports, &run, "none", now).await? {
        Put::Written(_) => {
            let lane = job.lane_at(run.priority);
            let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), now).await;
            Ok(Answered::Queued(run))
        }
        Put::Conflict(Some(Seen { item, .. })) if !was_given_up(&item) => Ok(if named {
            // Who bears the same idempotency key makes the same run; only a sweeper makes one that was given up.
            Answered::Replayed(item)
        } else {
            // Nobody else knows the run's key: this request has made it, and somebody has begun it since, while the answer was lost.
            Answered::Queued(item)
        }),
        Put::Conflict(_) => Ok(Answered::TooSlow),
    }
}

/// What those who bear the same idempotency key have agreed about.
enum Agreed {
    /// The run is to be made, by the first request that comes.
    Make(Run),
    Made(Run),
    Taken,
    Unsure,
}

/// The first to put the key's answer decides which run it names; a run that was given up is named anew.
async fn agree<D: Ports>(
    ports: &D,
    job: &Job,
    run: Run,
    name: AskedName,
    fingerprint: Fingerprint,
) -> Result<Agreed, Fault> {
    let now = ports.clock().now();
    let until = Some(run.kept.from(now + outlived_by_runs(&job.definition.terms)));
    let asked = Asked { name, fingerprint, run: run.key, until };
    let mut guard = Guard::Absent;
    loop {
        let there = match ports.store().put(&run.tenant, name, &asked, guard).await? {
            Put::Written(_) => return Ok(Agreed::Make(run)),
            Put::Conflict(None) => return Err(Fault::unavailable("store", "an answer came and went")),
            Put::Conflict(Some(there)) => there,
        };
        if there.item.fingerprint != fingerprint {
            return Ok(Agreed::Taken);
        }
        match ports.store().get::<Run>(&run.tenant, there.item.run).await?.map(|seen| seen.item) {
            None => match there.item.missing(now) {
                Missing::ToBeMade => return Ok(Agreed::Make(run.under(there.item.run))),
                Missing::Unsure => return Ok(Agreed::Unsure),
                Missing::Gone => guard = there.guard(),
            },
            Some(made) if !was_given_up(&made) => return Ok(Agreed::Made(made)),
            Some(_given_up) => guard = there.guard(),
        }
    }
}

fn was_given_up(run: &Run) -> bool {
    matches!(run.state, State::Skipped { why: Skip::Abandoned, .. })
}
