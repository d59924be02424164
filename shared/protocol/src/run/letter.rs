//! Dead letters: a run that failed or timed out for good is tried again, or dismissed. Each may be asked for twice: what was done before is
//! answered as it was.

use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::{Job, JobRefusal, Status};
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::run::{Aftermath, Edit, NotALetter, NotEdited, Run, Said};
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use crate::aftermath::{Try, make_sure, try_again};
use crate::bodies::{self, BodyOf};
use crate::born::quota_bound;
use crate::contention::Contention;
use crate::lookup::job_of;

/// Tries against others who do something to the same run.
const TRIES: u32 = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redriven {
    /// This is the other try.
    Queued(Run),
    /// It was tried again before, as this.
    Already(Run),
    /// It was tried again before, as this, which is given something else than is asked for now.
    Otherwise(RunKey),
    Refused(NotALetter),
    /// What it is to be given cannot be made of what it was given.
    NotEdited(NotEdited),
    Job(JobRefusal),
    NotFound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dismissed {
    Done(Run),
    /// It was dismissed before.
    Already(Run),
    Refused(NotALetter),
    NotFound,
}

/// Tries a dead letter again, with its payload or an edited one. Rule **one of the two**: however often it is asked for, it is one run.
pub async fn redrive<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: RunKey,
    edit: &Edit,
    said: Said<'_>,
) -> Result<Redriven, Fault> {
    let mut contention = Contention::default();
    for _ in 0..TRIES {
        contention.let_others_pass(ports).await;
        let Some(seen) = ports.store().get::<Run>(tenant, key).await? else { return Ok(Redriven::NotFound) };
        match seen.item.letter() {
            Ok(()) => {}
            Err(NotALetter::Redriven(other)) if !is_given_that(ports, &seen.item, edit).await? => {
                return Ok(Redriven::Otherwise(other));
            }
            Err(NotALetter::Redriven(_)) => {
                let there = make_sure(ports, &seen.item).await?;
                return Ok(there.map_or(Redriven::NotFound, |made| Redriven::Already(made.run())));
            }
            Err(no) => return Ok(Redriven::Refused(no)),
        }
        let Some(job) = job_of(ports, tenant, key.job).await? else { return Ok(Redriven::NotFound) };
        if job.status == Status::Cancelled {
            return Ok(Redriven::Job(JobRefusal::Cancelled));
        }
        let other = RunKey::redrive(key.job, ports.clock().now(), ports.chance().number().max(1));
        let payload = match edited(ports, &job, &seen.item, edit, other).await? {
            Ok(payload) => payload,
            Err(no) => return Ok(Redriven::NotEdited(no)),
        };
        let lane = job.lane_at(seen.item.priority);
        let other = Try { key: other, payload: payload.as_ref(), said, operation: None, lane };
        // A look may have been faster, and have made what was asked for here.
        if let Some(made) = try_again(ports, &seen, other).await? {
            return Ok(Redriven::Queued(made.run()));
        }
    }
    Err(Fault::unavailable("run", "it is being changed by too many at once"))
}

/// Whether the other try that there is was given what is asked for now. Who asks for no other payload takes the try as it is.
async fn is_given_that<D: Ports>(ports: &D, run: &Run, edit: &Edit) -> Result<bool, Fault> {
    let Some(Aftermath::Redriven { payload, .. }) = &run.aftermath else { return Ok(true) };
    let former = match edit {
        Edit::AsItWas => return Ok(true),
        Edit::Payload(_) => None,
        Edit::Patch(_) => match job_of(ports, &run.tenant, run.key.job).await? {
            Some(job) => given(ports, &job, run).await?,
            // Nobody knows any more what was patched.
            None => return Ok(true),
        },
    };
    let Ok(asked) = edit.applied(former.as_ref()) else { return Ok(false) };
    let asked = asked.map(|json| Body::split(json, INLINE_PAYLOAD_BYTES).0);
    Ok(asked.as_ref() == payload.as_ref().or(run.payload.as_ref()))
}

/// What the other try is given in place of the same, kept where it is looked for.
async fn edited<D: Ports>(
    ports: &D,
    job: &Job,
    run: &Run,
    edit: &Edit,
    other: RunKey,
) -> Result<Result<Option<Body>, NotEdited>, Fault> {
    let given = match edit {
        Edit::Patch(_) => given(ports, job, run).await?,
        Edit::AsItWas | Edit::Payload(_) => None,
    };
    let json = match edit.applied(given.as_ref()) {
        Ok(json) => json,
        Err(no) => return Ok(Err(no)),
    };
    match json {
        None => Ok(Ok(None)),
        Some(json) => {
            let like_this_one = quota_bound(ports, run).await;
            let of = BodyOf { run: other, ..BodyOf::run(&like_this_one, ports.clock().now()) };
            let body = bodies::keep_of(ports, of, Some(json), INLINE_PAYLOAD_BYTES).await?;
            Ok(Ok(Some(body)))
        }
    }
}

/// What a run was given: its own, or its job's as it is by now.
pub async fn given<D: Ports>(ports: &D, job: &Job, run: &Run) -> Result<Option<Json>, Fault> {
    match &run.payload {
        Some(own) => bodies::fetch_of(ports, run, own).await,
        None => bodies::fetch(ports, &run.tenant, run.key.job, &job.definition.payload).await,
    }
}

/// Lets a dead letter rest. The first who does stands.
pub async fn dismiss<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey, said: Said<'_>) -> Result<Dismissed, Fault> {
    let mut contention = Contention::default();
    for _ in 0..TRIES {
        contention.let_others_pass(ports).await;
        let Some(seen) = ports.store().get::<Run>(tenant, key).await? else { return Ok(Dismissed::NotFound) };
        let dismissed = match seen.item.dismissed(said, ports.clock().now()) {
            Ok(dismissed) => dismissed,
            Err(NotALetter::Dismissed) => return Ok(Dismissed::Already(seen.item)),
            Err(no) => return Ok(Dismissed::Refused(no)),
        };
        if ports.store().put(tenant, key, &dismissed, seen.guard()).await?.is_written() {
            return Ok(Dismissed::Done(dismissed));
        }
    }
    Err(Fault::unavailable("run", "it is being changed by too many at once"))
}
