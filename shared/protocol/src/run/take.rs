//! Taking: a worker elsewhere claims what is offered in its pool, by the same guarded write as any claim. What it is told of the run, and
//! what it must show to say anything about it, stands in the lease.
//!
//! Guard **claim's condition** holds here too: of any number of workers one gets a run. The offer goes while the claim is written, as the worker
//! waits for both: one that stays is found meaningless by the next, and where the claim breaks the run is offered and hinted again.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{join, join_all};
use minutehand_domain::access::SecretHash;
use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::Tenant;
use minutehand_domain::lane::Lane;
use minutehand_domain::order::Order;
use minutehand_domain::owner::Undertaking;
use minutehand_domain::pace;
use minutehand_domain::pool::{HandlerName, Offer, PoolId, PoolName, WorkerName, pick, understands};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::lease_id::lease_token;
use minutehand_domain::run::logbook::Checkpoint;
use minutehand_domain::run::{Event as RunEvent, Refusal, Run, State, Taker, Waiting};
use minutehand_domain::target::WorkerTarget;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _, Layer};
use minutehand_io::store::{Guard, Line, OfferKey, Store as _};
use minutehand_io::{Fault, Ports};

use super::claim::{
    Dropped, Reading, Ready, WrittenClaim, claimed, entered, erase_what_is_left, payload, promise_end_of_lease,
    quota_of_pulled, read, write_claim,
};
use super::entry::{Entered, Entrant, NotIn};
use super::lease::LeaseId;
use super::offer::{have_room, shared_places};
use super::withdrawal::{offer_anew, withdraw};
use crate::timers::hinting::hint;

/// Offers that one look reads of a line at least: some may be over, taken, or for handlers that the asker does not know.
const PAGE: usize = 100;
/// And no more than so many, however many handlers there are.
const MOST: usize = 4_000;
/// For how long whoever stands before a run in a line is left to take the place that there is.
const ON_ITS_WAY: Duration = Duration::from_secs(30);
/// Of those that nobody who asks can do, so many of the oldest are looked at where they hide all others.
const LOOKED_AT: usize = 64;
/// What the payloads of one answer have, before nothing more is taken: a function's answer has at most 6 MB.
const BYTES: usize = 3 << 20;
/// Runs of one request that are claimed side by side.
const AT_ONCE: usize = 32;
/// Looks at what is offered for one request: of many workers that ask at once, each look gives at least one of them something.
const LOOKS: u32 = 16;
/// For how long a request looks on that has something: whoever asked waits for it.
const SOME: Duration = Duration::from_secs(2);
/// And one that has nothing: what lies there may all have to wait for others, and whoever answers requests may be killed after 29 s.
const NONE: Duration = Duration::from_secs(5);

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
        bytes_of([self.payload.as_ref(), self.checkpoint.as_ref()])
    }
}

fn bytes_of(parts: [Option<&Json>; 2]) -> usize {
    parts.into_iter().flatten().map(Json::len).sum()
}

impl Wanted {
    fn understands(&self, handler: &HandlerName) -> bool {
        understands(self.handlers.as_ref(), handler)
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
/// What was taken is told of whatever breaks after that, and soon, however much lies there that may not begin yet: nobody else knows its
/// tokens.
pub async fn take<D: Ports>(ports: &D, tenant: &Tenant, wanted: &Wanted) -> Result<Took, Fault> {
    let (mut taken, begun) = (Vec::new(), ports.clock().now());
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
        let mut picked = pick(offers, usize::MAX, now, chance).into_iter().peekable();
        while picked.peek().is_some() {
            let most = AT_ONCE.min(wanted.max - taken.len());
            let some: Vec<Offer> = picked.by_ref().take(most).collect();
            let is_whole = match take_some(ports, tenant, wanted, &some, &mut taken).await {
                Ok(is_whole) => is_whole,
                Err(_fault) if !taken.is_empty() => false,
                Err(fault) => return Err(fault),
            };
            let patience = if taken.is_empty() { NONE } else { SOME };
            let is_long = ports.clock().now().since(begun) >= patience;
            if taken.len() == wanted.max || !is_whole || is_long {
                return Ok(Took { taken, is_all: false });
            }
        }
    }
    Ok(Took { taken, is_all: false })
}

/// Takes of these what can be had, side by side: the claims wait for the disk together. False where an answer has room for no more. A fault
/// of one keeps nothing from the others, and is told when all that was claimed beside it is in `taken`.
async fn take_some<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    wanted: &Wanted,
    offers: &[Offer],
    taken: &mut Vec<Taken>,
) -> Result<bool, Fault> {
    let (mut bytes, mut is_whole, mut broken) = (taken.iter().map(Taken::bytes).sum::<usize>(), true, None);
    let mut at_hand = Vec::new();
    for one in join_all(offers.iter().map(|offer| at_hand_of(ports, tenant, wanted, offer))).await {
        match one {
            Ok(Some(one)) if bytes < BYTES => {
                bytes += one.bytes();
                at_hand.push(one);
            }
            Ok(Some(_)) => is_whole = false,
            Ok(None) => {}
            Err(fault) => broken = Some(fault),
        }
    }
    for one in join_all(at_hand.into_iter().map(|one| take_one(ports, tenant, wanted, one))).await {
        match one {
            Ok(one) => taken.extend(one),
            Err(fault) => broken = Some(fault),
        }
    }
    broken.map_or(Ok(is_whole), Err)
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
    let (mut found, mut for_others, mut read, mut past) = (Vec::new(), Vec::new(), 0, None);
    let page = wanted.max.max(PAGE);
    loop {
        let offers = ports.store().list::<Offer>(tenant, line, past, page).await?.items;
        let is_last = offers.len() < page;
        read += offers.len();
        past = offers.last().map(|offer| OfferKey::of(tenant, offer));
        let (fitting, others): (Vec<Offer>, Vec<Offer>) =
            offers.into_iter().partition(|offer| wanted.understands(&offer.handler));
        found.extend(fitting);
        for_others.extend(others.into_iter().take(LOOKED_AT.saturating_sub(for_others.len())));
        if is_last || found.len() >= wanted.max {
            return Ok(found);
        }
        if read >= MOST {
            clear(ports, tenant, &for_others).await?;
            return Ok(found);
        }
    }
}

/// What heads a line may be over, or called otherwise by now, and nobody come any more who would find that out: then it hides for ever what waits
/// behind it. Whoever finds no more looks at the oldest.
async fn clear<D: Ports>(ports: &D, tenant: &Tenant, oldest: &[Offer]) -> Result<(), Fault> {
    let looked_at = join_all(oldest.iter().map(async |offer| {
        let Ok(reading) = read(ports, &offer.hint).await? else { return withdraw(ports, tenant, offer).await };
        match reading.owner.undertaking() {
            Undertaking::Offer(target) if (&target.pool, &target.handler) == (&offer.pool, &offer.handler) => Ok(()),
            _something_else_by_now => offer_anew(ports, tenant, offer, reading.owner.lane()).await,
        }
    }));
    let broken = looked_at.await.into_iter().filter_map(Result::err).find(|fault| !fault.is_of_an_item());
    broken.map_or(Ok(()), Err)
}

/// An offer whose run can be claimed, and all that is told of it then: a fault by now costs no lease.
struct AtHand<'a> {
    offer: &'a Offer,
    reading: Reading,
    handler: HandlerName,
    payload: Option<Json>,
    checkpoint: Option<Json>,
}

impl AtHand<'_> {
    fn bytes(&self) -> usize {
        bytes_of([self.payload.as_ref(), self.checkpoint.as_ref()])
    }
}

/// None where there is nothing to claim.
async fn at_hand_of<'a, D: Ports>(
    ports: &D,
    tenant: &Tenant,
    wanted: &Wanted,
    offer: &'a Offer,
) -> Result<Option<AtHand<'a>>, Fault> {
    match read_offered(ports, tenant, wanted, offer).await {
        // Its timer stands, and the look that it leads to meets the same and puts it off.
        Err(fault) if fault.is_of_an_item() => withdraw(ports, tenant, offer).await.map(|()| None),
        read => read,
    }
}

async fn read_offered<'a, D: Ports>(
    ports: &D,
    tenant: &Tenant,
    wanted: &Wanted,
    offer: &'a Offer,
) -> Result<Option<AtHand<'a>>, Fault> {
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
    let (payload, checkpoint) = (payload(ports, told, &reading).await?, checkpoint(ports, told, &reading).await?);
    Ok(Some(AtHand { offer, reading, handler, payload, checkpoint }))
}

async fn take_one<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    wanted: &Wanted,
    AtHand { offer, reading, handler, payload, checkpoint }: AtHand<'_>,
) -> Result<Option<Taken>, Fault> {
    let told = &offer.hint;
    let token = lease_token(ports.chance().bytes());
    let taker = Taker { worker: wanted.worker.worker(tenant), token: SecretHash::of(&token), lease: wanted.lease };
    match claim_offered(ports, offer, reading, &taker).await {
        Ok(Claimed::Mine(run, order, looked_at)) => {
            let lease = LeaseId::of(looked_at.as_ref().unwrap_or(told), run.fence);
            Ok(Some(Taken { lease, token, run: *run, order, handler, payload, checkpoint }))
        }
        Ok(Claimed::NotNow | Claimed::Withdrawn) => Ok(None),
        Ok(Claimed::NotToBeHad) => withdraw(ports, tenant, offer).await.map(|()| None),
        Ok(Claimed::AwaitsSlot(lane)) => {
            withdraw(ports, tenant, offer).await?;
            nudge_if_there_is_room(ports, told, lane).await.map(|()| None)
        }
        Err(fault) if fault.is_of_an_item() => withdraw(ports, tenant, offer).await.map(|()| None),
        Err(fault) => Err(fault),
    }
}

/// Rule **relook**, of an offer: a place may have been given back before the offer of the run that waits for it was gone, and then whoever was to
/// offer it found it offered, and took it out of its line.
async fn nudge_if_there_is_room<D: Ports>(ports: &D, told: &Hint, lane: Lane) -> Result<(), Fault> {
    let Some(seen) = ports.store().get::<Run>(&told.tenant, told.run).await? else { return Ok(()) };
    let State::Waiting(Waiting::Slot { since }) = seen.item.state else { return Ok(()) };
    if have_room(ports, &seen.item, since, &shared_places(&seen.item)).await? {
        // Whoever stands before it in the line may be on its way.
        let then = ports.clock().now() + ON_ITS_WAY;
        let _a_lost_hint_is_found_overdue = hint(ports, lane, told, then).await;
    }
    Ok(())
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
    /// With the timer of a look that was promised for it.
    Mine(Box<Run>, Order, Option<Hint>),
    /// Whoever offered it has a clock that is ahead of ours, or it was read too long ago: it stays, and is looked at again.
    NotNow,
    /// It is another's, or over, or not wanted any more.
    NotToBeHad,
    /// The same, and its offer is gone.
    Withdrawn,
    /// It waits for a place, and stands in its line.
    AwaitsSlot(Lane),
}

async fn claim_offered<D: Ports>(ports: &D, offer: &Offer, reading: Reading, taker: &Taker) -> Result<Claimed, Fault> {
    let told = &offer.hint;
    let quota = quota_of_pulled(ports, &told.tenant).await;
    let now = ports.clock().now();
    if reading.is_stale(ports.clock()) {
        return Ok(Claimed::NotNow);
    }
    let Ok(Ready { owner, run, guard, read_at }) = reading.ready(told, now) else { return Ok(Claimed::NotToBeHad) };
    let entrant = Entrant { run, guard, read_at };
    let Entered { run, guard, places } = match entered(ports, told, &owner, quota, entrant).await? {
        Ok(entered) => entered,
        Err(NotIn::Stale) => return Ok(Claimed::NotNow),
        Err(NotIn::Dropped(Dropped::AwaitsSlot)) => return Ok(Claimed::AwaitsSlot(owner.lane())),
        Err(NotIn::Dropped(_it_is_due_later)) => return Ok(Claimed::NotToBeHad),
    };
    let now = ports.clock().now();
    let take = RunEvent::Take { by: ports.me(), taker, terms: owner.terms() };
    let next = match claimed(&run, &take, owner.carries_on(), now) {
        Ok(next) => next,
        // A clock that is behind by more than that is nobody's: it is due later, and its timer stands.
        Err(Refusal::TooEarly { due }) if due.since(now) > pace::SKEW => return Ok(Claimed::NotToBeHad),
        Err(Refusal::TooEarly { .. }) => return Ok(Claimed::NotNow),
        Err(Refusal::Finished) => {
            erase_what_is_left(ports, told, &run).await?;
            prevented(ports);
            return Ok(Claimed::NotToBeHad);
        }
        Err(_another_has_it) => {
            prevented(ports);
            return Ok(Claimed::NotToBeHad);
        }
    };
    let looked_at = promise_end_of_lease(ports, told, &run, &next).await?.map(|timer| Hint::of(&timer));
    let writing = write_claim(ports, told, &owner, (&run, &next), guard, &places);
    let withdrawing = withdraw(ports, &told.tenant, offer);
    // What takes more than one write is over before its offer goes: nobody would look for what dies between them.
    let written = if run.displaced_by_next_claim().is_none() && next.lease().is_some() {
        join(writing, withdrawing).await.0
    } else {
        let written = writing.await;
        let _one_that_stays_is_found_meaningless = withdrawing.await;
        written
    };
    match written {
        Ok(WrittenClaim::Held(_version)) => Ok(Claimed::Mine(Box::new(next), owner.order(), looked_at)),
        Ok(WrittenClaim::Ended) => Ok(Claimed::Withdrawn),
        Ok(WrittenClaim::Faster) => {
            prevented(ports);
            Ok(Claimed::Withdrawn)
        }
        Err(fault) => {
            let (tenant, key) = (&told.tenant, OfferKey::of(&told.tenant, offer));
            let _put_back = ports.store().put(tenant, key, offer, Guard::Absent).await;
            let _and_the_queue_may_work_where_the_store_does_not = hint(ports, owner.lane(), told, now).await;
            Err(fault)
        }
    }
}

/// Somebody has it, or had: it would have been done twice.
fn prevented<D: Ports>(ports: &D) {
    ports.events().emit(&Event::Prevented { by: Layer::Claim });
}
