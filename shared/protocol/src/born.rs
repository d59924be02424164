//! A run is born: it is put where nothing is, and told of. Whoever comes second is answered with what is there.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::keeping::Keepings;
use minutehand_domain::retention::Retention;
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Fault, Ports};

use crate::bodies::hand_on;

/// `from`: what stood for it until now, as an event says it.
pub(crate) async fn born<D: Ports>(ports: &D, run: &Run, from: &'static str, now: Moment) -> Result<Put<Run>, Fault> {
    let run = &quota_bound(ports, run).await.sampled_by(ports.sampling());
    hand_on(ports, run, now).await?;
    let put = ports.store().put(&run.tenant, run.key, run, Guard::Absent).await?;
    if put.is_written() {
        ports.events().emit(&Event::Run { run, from, was: None, now });
    }
    Ok(put)
}

/// A run that is about to be born, kept for as long as its tenant's quota lets it be.
pub(crate) async fn quota_bound<D: Ports>(ports: &D, run: &Run) -> Run {
    Run { kept: run.kept.bounded(retention_of(ports, &run.tenant).await), ..run.clone() }
}

/// A job as its tenant's quota lets it keep its runs.
pub(crate) async fn bounded<D: Ports>(ports: &D, job: Job) -> Job {
    let retention = Retention::of(job.definition.retention, retention_of(ports, &job.tenant).await);
    Job { definition: Definition { retention, ..job.definition }, ..job }
}

/// From when on the occurrences of a job that were on record are on record still.
pub(crate) async fn on_record_since<D: Ports>(ports: &D, job: &Job) -> Result<Moment, Fault> {
    Ok(job.on_record_since(keepings_of(ports, &job.tenant).await?, ports.clock().now()))
}

/// The same for a question about the occurrence at `t`: one that is too recent to have expired costs no read of a quota.
pub async fn on_record_since_for<D: Ports>(ports: &D, job: &Job, t: Moment) -> Result<Moment, Fault> {
    let quota = keepings_at(ports, &job.tenant, t).await?;
    Ok(quota.map_or(Moment::EPOCH, |quota| job.on_record_since(quota, ports.clock().now())))
}

/// What its quota says of how long the runs of a tenant are kept.
pub(crate) async fn keepings_of<D: Ports>(ports: &D, tenant: &Tenant) -> Result<Keepings, Fault> {
    ports.quotas().keepings_of(ports.store(), tenant, ports.clock().now()).await
}

/// The same where it matters. What was on record of most that is asked for is so still by whatever job and quota say, and costs no read of them.
pub(crate) async fn keepings_at<D: Ports>(ports: &D, tenant: &Tenant, t: Moment) -> Result<Option<Keepings>, Fault> {
    if t >= ports.clock().now() - Retention::LEAST.span() {
        return Ok(None);
    }
    keepings_of(ports, tenant).await.map(Some)
}

async fn retention_of<D: Ports>(ports: &D, tenant: &Tenant) -> Option<Retention> {
    ports.quotas().of(ports.store(), tenant, ports.clock().now()).await.retention
}
