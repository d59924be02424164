//! Bodies: where a payload or a result goes that is too large for its item, and how it comes back.
//!
//! A job's lies beside the job. What a run was given and what came of it lies beneath the run and goes with it; where another run is given the
//! same, it has one of its own. Before, all of them lay beside the job: those are still found there.

use minutehand_domain::Moment;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::{JobId, Owner, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::retention::RENEWED_AFTER;
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Beneath, Guard, KeptBody, Put, RunBody, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::lookup::job_of;

/// The run that a body is of, which may not be born yet.
#[derive(Clone, Copy, Debug)]
pub struct BodyOf<'a> {
    pub tenant: &'a Tenant,
    pub run: RunKey,
    /// Until when it is needed at the most, as far as one can tell now.
    pub until: Moment,
}

impl<'a> BodyOf<'a> {
    pub fn run(run: &'a Run, now: Moment) -> Self {
        Self { tenant: &run.tenant, run: run.key, until: run.needs_until(now) }
    }
}

/// Keeps a job's `json` inside its item if it has at most `limit` bytes; else writes it apart first. Content names it, so that
/// racing writers cannot overwrite each other's.
pub async fn keep<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: JobId,
    json: Option<Json>,
    limit: usize,
) -> Result<Body, Fault> {
    let Some(json) = json else { return Ok(Body::Empty) };
    let (body, apart) = Body::split(json, limit);
    if let Some(json) = apart {
        put_beside(ports, tenant, job, json).await?;
    }
    Ok(body)
}

/// Where it stands already it is the same; but a former life of the job may have left it, and then it goes before long: so it is written again.
async fn put_beside<D: Ports>(ports: &D, tenant: &Tenant, job: JobId, json: Json) -> Result<(), Fault> {
    let (key, body) = ((job, json.digest()), KeptBody { json });
    let mut guard = Guard::Absent;
    while let Put::Conflict(there) = ports.store().put(tenant, key, &body, guard).await? {
        guard = there.map_or(Guard::Absent, |there| there.guard());
    }
    Ok(())
}

/// Lets the payload of a deleted job go when nobody can need it any more. Only behind the head that says so, or a delete that is refused would
/// take what runs of a live job are given; and not by whoever slept until the job is gone, when another of its id may have been given the same.
/// Who dies before it leaves it there for ever.
pub(crate) async fn let_go<D: Ports>(ports: &D, job: &Job) -> Result<(), Fault> {
    let (Some(until), Body::Apart(digest)) = (job.payload_expires_at(), &job.definition.payload) else { return Ok(()) };
    let key = (job.id, *digest);
    let Some(seen) = ports.store().get::<KeptBody>(&job.tenant, key).await? else { return Ok(()) };
    if job.expires_at() > Some(ports.clock().now()) {
        let (guard, body) = (seen.guard(), Beneath::until(seen.item, until));
        let _or_it_is_gone = ports.store().put(&job.tenant, key, &body, guard).await?;
    }
    Ok(())
}

/// The same of a run's.
pub async fn keep_of<D: Ports>(ports: &D, of: BodyOf<'_>, json: Option<Json>, limit: usize) -> Result<Body, Fault> {
    let Some(json) = json else { return Ok(Body::Empty) };
    let (body, apart) = Body::split(json, limit);
    if let Some(json) = apart {
        put(ports, of, json).await?;
    }
    Ok(body)
}

/// Where it stands already it is the same, but maybe for less long.
async fn put<D: Ports>(ports: &D, of: BodyOf<'_>, json: Json) -> Result<(), Fault> {
    let (key, body) = ((of.run, json.digest()), RunBody { json, until: of.until });
    let mut guard = Guard::Absent;
    loop {
        match ports.store().put(of.tenant, key, &body, guard).await? {
            Put::Conflict(Some(there)) if there.item.until < body.until => guard = there.guard(),
            Put::Written(_) | Put::Conflict(Some(_)) => return Ok(()),
            Put::Conflict(None) => guard = Guard::Absent,
        }
    }
}

/// Reads a job's body wherever it is.
pub async fn fetch<D: Ports>(ports: &D, tenant: &Tenant, job: JobId, body: &Body) -> Result<Option<Json>, Fault> {
    match body {
        Body::Empty => Ok(None),
        Body::Inside(json) => Ok(Some(json.clone())),
        Body::Apart(digest) => match ports.store().get::<KeptBody>(tenant, (job, *digest)).await? {
            Some(seen) => Ok(Some(seen.item.json)),
            None => Err(not_there()),
        },
    }
}

fn not_there() -> Fault {
    Fault::unreadable("store", "a body that was written first is not there")
}

/// The same of a run's.
pub async fn fetch_of<D: Ports>(ports: &D, run: &Run, body: &Body) -> Result<Option<Json>, Fault> {
    fetch_by(ports, &run.tenant, run.key, body).await
}

/// What a run was given, for people to see. A run that is over may be kept for longer than its job and what lay beside that: the parameters of a
/// workflow's run, which are its job's. Whoever goes on with it needs them, and is not told that there are none.
pub async fn shown_of<D: Ports>(ports: &D, run: &Run, given: &Body) -> Result<Option<Json>, Fault> {
    match fetch_of(ports, run, given).await {
        Err(why) if why == not_there() && run.is_finished() && outlives_its_job(ports, run).await? => Ok(None),
        fetched => fetched,
    }
}

/// Whether its job is gone, though another of the same id may have been made since.
async fn outlives_its_job<D: Ports>(ports: &D, run: &Run) -> Result<bool, Fault> {
    let Owner::Job(id) = run.key.owner() else { return Ok(false) };
    Ok(job_of(ports, &run.tenant, id).await?.is_none_or(|job| run.could_begin_at() < job.created_at))
}

/// The same of a run of which no more is known.
pub async fn fetch_by<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey, body: &Body) -> Result<Option<Json>, Fault> {
    if let Body::Apart(digest) = body
        && let Some(seen) = ports.store().get::<RunBody>(tenant, (run, *digest)).await?
    {
        return Ok(Some(seen.item.json));
    }
    fetch(ports, tenant, run.job, body).await
}

/// What a run is given that is another try at one is given to it before it is born: the other goes by its own retention. One that was given
/// something else has that already; and nothing is born that could never begin.
pub(crate) async fn hand_on<D: Ports>(ports: &D, run: &Run, now: Moment) -> Result<(), Fault> {
    let (Some(of), Some(payload @ Body::Apart(digest))) = (run.redrive_of, &run.payload) else { return Ok(()) };
    match ports.store().get::<RunBody>(&run.tenant, (of, *digest)).await? {
        Some(Seen { item: RunBody { json, .. }, .. }) => put(ports, BodyOf::run(run, now), json).await,
        None => fetch_of(ports, run, payload).await.map(|_it_is_there| ()),
    }
}

/// What a run of a workflow is given, as the schema of its parameters has it: its own, or its job's, which lies beside the job already. That is so where
/// the schema has left it as it was given: another that lies there may be of a former life of the job, and go before long.
pub(crate) async fn keep_params<D: Ports>(
    ports: &D,
    run: &Run,
    given: Option<Json>,
    is_as_given: bool,
    now: Moment,
) -> Result<Body, Fault> {
    let is_its_jobs = |json: &&Json| is_as_given && run.payload.is_none() && json.len() > INLINE_PAYLOAD_BYTES;
    if let Some(digest) = given.as_ref().filter(is_its_jobs).map(Json::digest)
        && ports.store().get::<KeptBody>(&run.tenant, (run.key.job, digest)).await?.is_some()
    {
        return Ok(Body::Apart(digest));
    }
    keep_of(ports, BodyOf::run(run, now), given, INLINE_PAYLOAD_BYTES).await
}

/// Keeps for longer what a run was given and what came of it, where that might go before long.
pub(crate) async fn renew_bodies<D: Ports>(ports: &D, run: &Run, now: Moment) -> Result<(), Fault> {
    let until = BodyOf::run(run, now).until;
    for digest in run.bodies().filter_map(Body::digest) {
        let Some(seen) = ports.store().get::<RunBody>(&run.tenant, (run.key, digest)).await? else { continue };
        if seen.item.until + RENEWED_AFTER <= until {
            let (guard, body) = (seen.guard(), RunBody { until, ..seen.item });
            let _or_somebody_else_does = ports.store().put(&run.tenant, (run.key, digest), &body, guard).await?;
        }
    }
    Ok(())
}
