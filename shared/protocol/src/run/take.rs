//! Taking: a worker elsewhere claims what is offered in its pool, by the same guarded write as any claim. What it is told of the run, and
//! what it must show to say anything about it, stands in the lease.
//!
//! Guard **claim's condition** holds here too: of any number of workers one gets a run. The claim comes before the offer goes: a process
//! that dies between the two leaves an offer that the next one finds meaningless.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::access::SecretHash;
use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::lane::Lane;
use minutehand_domain::order::Order;
use minutehand_domain::owner::Undertaking;
use minutehand_domain::pool::{HandlerName, Offer, PoolId, PoolName, WorkerName, pick};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::logbook::Checkpoint;
use minutehand_domain::run::{Event as RunEvent, Refusal, Run, Taker};
use minutehand_domain::target::WorkerTarget;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Line, OfferKey, Put, Store as _, Version};
use minutehand_io::{Fault, Ports};

use super::claim::{Reading, Ready, claimed, erase_what_is_left, payload, put, read};
use super::lease::{LeaseId, new_token};
use super::offer::given_up;
use crate::timers::hinting::hint;

/// Offers that one look reads of a line at least: some may be over, taken, or for handlers that the asker does not know.
const PAGE: usize = 100;
/// And no more than so many, however many handlers there are.
const MOST: usize = 4_000;
/// What the payloads of one answer have, before nothing more is taken: a function's answer has at most 6 MB.
const BYTES: usize = 3 << 20;
/// Looks at what is offered for one request: of many workers that ask at once, each look gives at least one of them something.
const LOOKS: u32 = 16;

/// A request for something to do.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub pool: PoolName,
    pub worker: WorkerName,
    /// What it can do; none: whatever there is.
    pub handlers: Option<BTreeSet<HandlerName>>,
    pub max: usize,
    pub lease: Duration,
}

/// A run that is a worker's now.
#[derive(Clone, Debug)]
pub struct Taken {
    pub lease: LeaseId,
    /// What the worker shows. Only its hash is kept.
    pub token: String,
    pub run: Run,
    pub order: Order,
    pub handler: HandlerName,
    pub payload: Option<Json>,
    /// What the holder before kept.
    pub checkpoint: Option<Json>,
}

impl Taken {
    /// What it takes of an answer.
    fn bytes(&self) -> usize {
        [&self.payload, &self.checkpoint].into_iter().flatten().map(Json::len).sum()
    }
}

impl Wanted {
    fn understands(&self, handler: &HandlerName) -> bool {
        self.handlers.as_ref().is_none_or(|handlers| handlers.contains(handler))
    }
}

/// What a request for something to do came to.
#[derive(Clone, Debug)]
pub struct Took {
    pub taken: Vec<Taken>,
    /// Nothing else was offered that could have been taken.
    pub is_all: bool,
}

/// Takes what there is, up to what is wanted. Whoever was offered only what is over, or what others were faster with, looks again, since
/// behind that there may be more.
///
/// What was taken is told of whatever breaks after that: nobody else knows its tokens.
pub async fn take<D: Ports>(ports: &D, tenant: &Tenant, wanted: &Wanted) -> Result<Took, Fault> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    for _ in 0..LOOKS {
        let offers = match offered(ports, tenant, wanted).await {
            Ok(offers) => offers,
            Err(_fault) if !taken.is_empty() => break,
            Err(fault) => return Err(fault),
        };
        if offers.iter().all(Vec::is_empty) {
            return Ok(Took { taken, is_all: true });
        }
        let (now, chance) = (ports.clock().now(), ports.chance().number());
        for offer in pick(offers, usize::MAX, now, chance) {
            match take_one(ports, tenant, wanted, &offer).await {
                Ok(one) => {
                    bytes += one.as_ref().map_or(0, Taken::bytes);
                    taken.extend(one);
                }
                // Its timer stands, and the look that it leads to meets the same and puts it off.
                Err(fault) if fault.is_of_an_item() => withdraw(ports, tenant, &offer).await?,
                Err(_fault) if !taken.is_empty() => return Ok(Took { taken, is_all: false }),
                Err(fault) => return Err(fault),
            }
            if taken.len() == wanted.max || bytes >= BYTES {
                return Ok(Took { taken, is_all: false });
            }
        }
    }
    Ok(Took { taken, is_all: false })
}

/// What waits in the lines of the pool that the asker can do, of each line the first.
async fn offered<D: Ports>(ports: &D, tenant: &Tenant, wanted: &Wanted) -> Result<[Vec<Offer>; 4], Fault> {
    let pool = PoolId::of(tenant, &wanted.pool);
    let of = |priority| line(ports, tenant, Line { pool, priority }, wanted);
    let [critical, high, normal, low] = Priority::ALL.map(of);
    let (critical, high, normal, low) = futures_util::try_join!(critical, high, normal, low)?;
    Ok([critical, high, normal, low])
}

async fn line<D: Ports>(ports: &D, tenant: &Tenant, line: Line, wanted: &Wanted) -> Result<Vec<Offer>, Fault> {
    let (mut found, mut read, mut past) = (Vec::new(), 0, None);
    let page = wanted.max.max(PAGE);
    loop {
        let offers = ports.store().list::<Offer>(tenant, line, past, page).await?.items;
        let is_last = offers.len() < page;
        read += offers.len();
        past = offers.last().map(|offer| OfferKey::of(tenant, offer));
        found.extend(offers.into_iter().filter(|offer| wanted.understands(&offer.handler)));
        if is_last || found.len() >= wanted.max || read >= MOST {
            return Ok(found);
        }
    }
}

async fn take_one<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    wanted: &Wanted,
    offer: &Offer,
) -> Result<Option<Taken>, Fault> {
    let told = &offer.hint;
    let Ok(reading) = read(ports, told).await? else {
        return withdraw(ports, tenant, offer).await.map(|()| None);
    };
    let handler = match reading.owner.undertaking() {
        Undertaking::Offer(WorkerTarget { pool, handler }) if pool == wanted.pool => handler,
        _something_else_by_now => return offer_anew(ports, tenant, offer, reading.owner.lane()).await.map(|()| None),
    };
    if !wanted.understands(&handler) {
        return offer_anew(ports, tenant, offer, reading.owner.lane()).await.map(|()| None);
    }
    // Read before the claim: a fault now costs no lease.
    let (payload, checkpoint) = (payload(ports, told, &reading).await?, checkpoint(ports, told, &reading).await?);
    let token = new_token(ports.chance().bytes());
    let taker = Taker { worker: wanted.worker.worker(tenant), token: SecretHash::of(&token), lease: wanted.lease };
    let claimed = claim_offered(ports, told, reading, &taker).await?;
    if !matches!(claimed, Claimed::NotNow) {
        let _one_that_stays_is_found_meaningless = withdraw(ports, tenant, offer).await;
    }
    Ok(match claimed {
        Claimed::Mine(run, order) => {
            let lease = LeaseId { run: run.key, fence: run.fence, timer: told.timer, stamp: told.stamp };
            Some(Taken { lease, token, run: *run, order, handler, payload, checkpoint })
        }
        Claimed::NotNow | Claimed::NotToBeHad => None,
    })
}

/// What was kept for the next holder, if there was one before.
async fn checkpoint<D: Ports>(ports: &D, told: &Hint, reading: &Reading) -> Result<Option<Json>, Fault> {
    if reading.run.as_ref().is_none_or(|seen| seen.item.fence == 0) {
        return Ok(None);
    }
    Ok(ports.store().get::<Checkpoint>(&told.tenant, told.run).await?.map(|seen| seen.item.value))
}

/// How a claim of what is offered went.
enum Claimed {
    Mine(Box<Run>, Order),
    /// Whoever offered it has a clock that is ahead of ours, or it was read too long ago: it stays, and is looked at again.
    NotNow,
    /// It is another's, or over, or not wanted any more.
    NotToBeHad,
}

async fn claim_offered<D: Ports>(ports: &D, told: &Hint, reading: Reading, taker: &Taker) -> Result<Claimed, Fault> {
    let now = ports.clock().now();
    if reading.is_stale(now) {
        return Ok(Claimed::NotNow);
    }
    let Ok(Ready { owner, run, guard }) = reading.ready(told, now) else { return Ok(Claimed::NotToBeHad) };
    let take = RunEvent::Take { by: ports.me(), taker, terms: owner.terms() };
    let next = match claimed(&run, &take, owner.carries_on(), now) {
        Ok(next) => next,
        Err(Refusal::TooEarly { .. }) => return Ok(Claimed::NotNow),
        Err(Refusal::Finished) => {
            erase_what_is_left(ports, told, &run).await?;
            return Ok(Claimed::NotToBeHad);
        }
        Err(_another_has_it) => return Ok(Claimed::NotToBeHad),
    };
    if next.lease().is_none() {
        // The worker before lost it for good, or another attempt comes later.
        let _somebody_was_faster = given_up(ports, told, &owner, (&run, &next), guard).await?;
        return Ok(Claimed::NotToBeHad);
    }
    let Put::Written(_) = put(ports, &run, &next, guard, now).await? else { return Ok(Claimed::NotToBeHad) };
    Ok(Claimed::Mine(Box::new(next), owner.order()))
}

/// Takes an offer out of its line.
async fn withdraw<D: Ports>(ports: &D, tenant: &Tenant, offer: &Offer) -> Result<(), Fault> {
    let _either_way_it_is_gone =
        ports.store().delete::<Offer>(tenant, OfferKey::of(tenant, offer), Version::ONLY).await?;
    Ok(())
}

/// Its job says something else by now: it goes where that is offered.
async fn offer_anew<D: Ports>(ports: &D, tenant: &Tenant, offer: &Offer, lane: Lane) -> Result<(), Fault> {
    withdraw(ports, tenant, offer).await?;
    let _a_lost_hint_is_found_overdue = hint(ports, lane, &offer.hint, ports.clock().now()).await;
    Ok(())
}
