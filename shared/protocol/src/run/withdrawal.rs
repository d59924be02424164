//! Withdrawing: an offer leaves its line when its run is taken or called off, or when its job names another pool or handler.
//!
//! An offer is a hint, so that none of this must succeed: a worker that takes one that stayed finds it meaningless, and a run that no worker was
//! offered is found by its next look.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::id::{Owner, Tenant};
use minutehand_domain::job::{Job, Status};
use minutehand_domain::lane::Lane;
use minutehand_domain::owner::Undertaking;
use minutehand_domain::pool::{Offer, PoolId};
use minutehand_domain::run::{Run, State, Waiting};
use minutehand_domain::target::{Target, WorkerTarget};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Line, OfferKey, Store as _, Version};
use minutehand_io::{Fault, Ports};

use crate::lookup::owner_of;
use crate::timers::hinting::hint;

/// Offers of a line that are looked through for those of one job, oldest first. What waits behind so many is found by its next look.
const LOOKED_THROUGH: usize = 1_000;
/// Of these so many go side by side: who changes the job waits for them.
const AT_ONCE: usize = 32;

/// Takes an offer out of its line.
pub(super) async fn withdraw<D: Ports>(ports: &D, tenant: &Tenant, offer: &Offer) -> Result<(), Fault> {
    withdraw_at(ports, tenant, OfferKey::of(tenant, offer)).await
}

async fn withdraw_at<D: Ports>(ports: &D, tenant: &Tenant, key: OfferKey) -> Result<(), Fault> {
    let _either_way_it_is_gone = ports.store().delete::<Offer>(tenant, key, Version::ONLY).await?;
    Ok(())
}

/// Its job says something else by now: it goes where that is offered.
pub(super) async fn offer_anew<D: Ports>(ports: &D, tenant: &Tenant, offer: &Offer, lane: Lane) -> Result<(), Fault> {
    withdraw(ports, tenant, offer).await?;
    let _a_lost_hint_is_found_overdue = hint(ports, lane, &offer.hint, ports.clock().now()).await;
    Ok(())
}

/// Takes the offer of a run that has been called off out of its line.
pub(super) async fn withdraw_called_off<D: Ports>(ports: &D, before: &Run) -> Result<(), Fault> {
    if offered_since(before, ports.clock().now()).is_none() {
        return Ok(());
    }
    match owner_of(ports, before).await?.map(|owner| owner.undertaking()) {
        Some(Undertaking::Offer(target)) => withdraw_from(ports, &target, before).await,
        _offered_to_nobody => Ok(()),
    }
}

/// The same, where it is known who was to carry it out.
pub(crate) async fn withdraw_from<D: Ports>(ports: &D, target: &WorkerTarget, before: &Run) -> Result<(), Fault> {
    let Some(since) = offered_since(before, ports.clock().now()) else { return Ok(()) };
    let line = Line { pool: PoolId::of(&before.tenant, &target.pool), priority: before.priority };
    withdraw_at(ports, &before.tenant, OfferKey { line, since, run: before.key }).await
}

/// Since when a run may lie where workers look.
fn offered_since(run: &Run, now: Moment) -> Option<Moment> {
    match &run.state {
        State::Scheduled { due } => Some(*due).filter(|due| *due <= now),
        State::Waiting(Waiting::Slot { since }) => Some(*since),
        _under_way_or_over => None,
    }
}

/// What waits where the job's workers were goes where they are now. Of a deleted job it is looked at, and ends.
pub(crate) async fn follow_its_job<D: Ports>(ports: &D, before: &Job, job: &Job) -> Result<(), Fault> {
    let Target::Worker(WorkerTarget { pool, .. }) = &before.definition.target else { return Ok(()) };
    if job.definition.target == before.definition.target && job.status != Status::Cancelled {
        return Ok(());
    }
    let (tenant, priority) = (&before.tenant, before.definition.priority);
    let line = Line { pool: PoolId::of(tenant, pool), priority };
    let offers = ports.store().list::<Offer>(tenant, line, None, LOOKED_THROUGH).await?.items;
    let of_the_job = offers.iter().filter(|offer| offer.hint.run.owner() == Owner::Job(before.id));
    let going: Vec<_> = of_the_job.map(|offer| offer_anew(ports, tenant, offer, job.lane())).collect();
    stream::iter(going).buffer_unordered(AT_ONCE).try_collect().await
}
