//! The executor: queue, claim, target, record. A refusal consumes the hint; a fault gives it back.

pub mod batch;
mod hook;

use std::borrow::Cow;
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::future::{Either, select};
use minutehand_domain::Moment;
use minutehand_domain::access::SecretHash;
use minutehand_domain::body::{Body, Json};
use minutehand_domain::hook::Given;
use minutehand_domain::limits::{INLINE_PAYLOAD_BYTES, INLINE_RESULT_BYTES};
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::run::{Event, Outcome, Refusal};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event as Happened, Events as _, Layer};
use minutehand_io::queues::{Delivery, Queues};
use minutehand_io::targets::{Answer, Call, Material, Targets as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::bodies::{self, BodyOf};
use minutehand_protocol::run::claim::{Claim, ClaimedRun, Dropped, claim, hook_material_again, material_again};
use minutehand_protocol::run::finish::{self, Finished, hand_back, veto};

use self::hook::Said;

/// How long to wait before the record of an attempt is tried again; the last one over and over, while it is worth it.
const RECORD_AGAIN_AFTER: [Duration; 3] = [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(5)];

/// For how long whoever is about to go tries to write how it went: a table that is throttled refuses at once, and is asked three times in this.
const LAST_TRIES: Duration = Duration::from_millis(1500);

/// What a call takes is read once more behind more than this: with as long as a secret is known before, that makes the five seconds in which a rotation
/// is everywhere.
const MATERIAL_LASTS: Duration = Duration::from_secs(1);

/// The receipt of a delivery on these ports' queues.
pub type Receipt<D> = <<D as Ports>::Queues as Queues>::Receipt;

/// What carrying out a hint came to. Whatever it was, the hint is used up, unless it says when it is to come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    Attempted(Finished),
    /// There was nothing to claim.
    Dropped(Dropped),
    /// Its run is another's until then. If that one died, nobody else may come for long.
    ComeAgain(Moment),
    /// Claimed, and not called: so late that the call could not have ended inside the lease, or without what it takes.
    GaveUp,
}

/// Carries out one hint. `leaving` resolves when this process must go away: a call still running then is handed back.
pub async fn execute<D: Ports>(
    ports: &D,
    delivery: &Delivery<Receipt<D>>,
    leaving: impl Future<Output = ()> + Send,
) -> Result<Executed, Fault> {
    match claim_or_tell(ports, delivery, Moment::END).await? {
        Claim::Mine(claimed) => execute_claimed(ports, &claimed, &delivery.receipt, leaving, Moment::END).await,
        Claim::Dropped(why) => Ok(dropped(ports, why)),
        Claim::NotYet(then) => Ok(Executed::ComeAgain(then)),
    }
}

/// A claim; and where something that cannot be reached is in its way, somebody hears of it: such a hint comes again.
pub(crate) async fn claim_or_tell<D: Ports>(
    ports: &D,
    delivery: &Delivery<Receipt<D>>,
    leaving: Moment,
) -> Result<Claim, Fault> {
    let claimed = claim(ports, &delivery.hint, delivery.lane, leaving).await;
    if let Err(Fault::Unavailable { .. }) = &claimed {
        ports.events().emit(&Happened::GivenBack);
    }
    claimed
}

/// Nothing was to be claimed; where that is because somebody has it, or had, it would have been done twice.
pub(crate) fn dropped<D: Ports>(ports: &D, why: Dropped) -> Executed {
    if matches!(why, Dropped::Finished | Dropped::Held | Dropped::Faster | Dropped::Waits) {
        ports.events().emit(&Happened::Prevented { by: Layer::Claim });
    }
    Executed::Dropped(why)
}

/// Carries out what is claimed. After `gone` nothing is tried again but to say how it went.
async fn execute_claimed<D: Ports>(
    ports: &D,
    claimed: &ClaimedRun,
    receipt: &Receipt<D>,
    leaving: impl Future<Output = ()> + Send,
    gone: Moment,
) -> Result<Executed, Fault> {
    hide_until_the_lease_ends(ports, claimed, receipt).await;
    if !may_still_call(ports, claimed) {
        return give_up(ports, claimed, gone).await;
    }
    let mut leaving = pin!(leaving);
    let (material, given) = match unless(leaving.as_mut(), ask_before(ports, claimed)).await {
        Some(Asked::GoOn(material, given)) => (material, given),
        Some(Asked::Ended(ended)) => return record(ports, claimed, ended, gone).await.map(Executed::Attempted),
        // Whoever leaves has asked whether to call, and has not called.
        Some(Asked::TooLate) | None => return give_up(ports, claimed, gone).await,
    };
    let called = call(ports, claimed, &material, given.as_ref().or(claimed.payload.as_ref()));
    let finished = match unless(leaving, called).await {
        Some(answer) => record(ports, claimed, Ended::Answered(answer, given), gone).await?,
        None => hand_back_claimed(ports, claimed, gone).await?,
    };
    Ok(Executed::Attempted(finished))
}

/// What comes before a call.
enum Asked<'a> {
    /// With what the call takes; and what a hook gave it in the place of its payload.
    GoOn(Cow<'a, Material>, Option<Json>),
    /// The attempt is over without a call.
    Ended(Ended),
    /// The hook took so long that what is left of the lease does not cover the call; or what the call takes could not be read once more.
    TooLate,
}

/// What an attempt came to.
#[derive(Clone)]
enum Ended {
    /// By the target's answer, or because of why it was not called; and what a hook gave it in the place of its payload.
    Answered(Answer, Option<Json>),
    Vetoed(String),
    NotCalled,
}

async fn ask_before<'a, D: Ports>(ports: &D, claimed: &'a ClaimedRun) -> Asked<'a> {
    let given = match &claimed.order.before {
        None => None,
        Some(before) => {
            let Ok(material) = hook_material_now(ports, claimed).await else { return Asked::TooLate };
            match hook::ask(ports, claimed, before, &material).await {
                Said::GoOn(given) => given,
                Said::Veto(told) => return Asked::Ended(Ended::Vetoed(told)),
                Said::Fail(error) => {
                    return Asked::Ended(Ended::Answered(Answer::Failed { error, retry_after: None }, None));
                }
            }
        }
    };
    let Ok(material) = material_now(ports, claimed).await else { return Asked::TooLate };
    let now = ports.clock().now();
    if !claimed.run.lease().is_some_and(|lease| lease.covers_a_call(now, &claimed.order.terms)) {
        return Asked::TooLate;
    }
    Asked::GoOn(material, given)
}

/// What the call takes. A slow hook, or a slow table, may have taken so long since it was read before the claim that a secret says something else.
async fn material_now<'a, D: Ports>(ports: &D, claimed: &'a ClaimedRun) -> Result<Cow<'a, Material>, Fault> {
    if claimed.prepared_at.is_older_than(MATERIAL_LASTS, ports.clock()) {
        return material_again(ports, claimed).await.map(Cow::Owned);
    }
    Ok(Cow::Borrowed(&claimed.material))
}

/// The same of the call of whoever is asked before.
async fn hook_material_now<'a, D: Ports>(ports: &D, claimed: &'a ClaimedRun) -> Result<Cow<'a, Material>, Fault> {
    if claimed.prepared_at.is_older_than(MATERIAL_LASTS, ports.clock()) {
        return hook_material_again(ports, claimed).await.map(Cow::Owned);
    }
    Ok(Cow::Borrowed(&claimed.hook))
}

/// What comes of something; none where this process must go away before.
async fn unless<T>(leaving: Pin<&mut impl Future<Output = ()>>, of: impl Future<Output = T>) -> Option<T> {
    match select(pin!(of), leaving).await {
        Either::Left((came, _)) => Some(came),
        Either::Right(((), _)) => None,
    }
}

/// The call was made; a store that is away must not make us forget how it went. It is told for as long as the lease is
/// ours: given up sooner, three calls that succeeded while a table was throttled would count as three lost leases.
async fn record<D: Ports>(ports: &D, claimed: &ClaimedRun, ended: Ended, gone: Moment) -> Result<Finished, Fault> {
    while_it_is_ours(ports, claimed, gone + LAST_TRIES, || try_to_record(ports, claimed, ended.clone())).await
}

/// Tries a write again and again where the store is away, for as long as the lease is ours and this process is there.
async fn while_it_is_ours<D: Ports, F: Future<Output = Result<Finished, Fault>>>(
    ports: &D,
    claimed: &ClaimedRun,
    gone: Moment,
    write: impl Fn() -> F,
) -> Result<Finished, Fault> {
    let until = claimed.run.lease().map_or(gone, |lease| lease.until.min(gone));
    let last = RECORD_AGAIN_AFTER[RECORD_AGAIN_AFTER.len() - 1];
    let mut pauses = RECORD_AGAIN_AFTER.into_iter().chain(std::iter::repeat(last));
    loop {
        let written = write().await;
        let again = pauses.next().map_or(Moment::END, |pause| ports.clock().now() + pause);
        match written {
            Err(Fault::Unavailable { .. }) if again < until => ports.clock().sleep_until(again).await,
            written => return written,
        }
    }
}

/// Nobody has called: the next one may at once, and the run is no step closer to its end by it.
async fn give_up<D: Ports>(ports: &D, claimed: &ClaimedRun, gone: Moment) -> Result<Executed, Fault> {
    record(ports, claimed, Ended::NotCalled, gone).await?;
    Ok(Executed::GaveUp)
}

/// A lease that is not given back is lost, and three of those end a run.
async fn hand_back_claimed<D: Ports>(ports: &D, claimed: &ClaimedRun, gone: Moment) -> Result<Finished, Fault> {
    let (fence, terms) = (claimed.run.fence, &claimed.order.terms);
    while_it_is_ours(ports, claimed, gone + LAST_TRIES, || {
        hand_back(ports, claimed.as_claimed(), fence, terms, Some(&claimed.hint))
    })
    .await
}

/// A large result is written apart before the record that names it, and so is what a hook gave.
async fn try_to_record<D: Ports>(ports: &D, claimed: &ClaimedRun, ended: Ended) -> Result<Finished, Fault> {
    let ClaimedRun { run, order, hint, .. } = claimed;
    let (seen, fence, terms) = (claimed.as_claimed(), run.fence, &order.terms);
    let (answer, given) = match ended {
        Ended::Answered(answer, given) => (answer, given),
        Ended::Vetoed(told) => return veto(ports, seen, fence, &told, terms, Some(hint)).await,
        Ended::NotCalled => {
            return finish::record(ports, seen, None, &Event::NotCalled { fence }, terms, Some(hint)).await;
        }
    };
    let of = BodyOf::run(run, ports.clock().now());
    let given = match given {
        Some(json) => {
            let payload = bodies::keep_of(ports, of, Some(json), INLINE_PAYLOAD_BYTES).await?;
            Some(Given { attempt: fence, payload })
        }
        None => None,
    };
    let outcome = match answer {
        // Whoever is told of an end has nothing to take on.
        Answer::Accepted { .. } if run.callback_of.is_some() => Outcome::Succeeded { result: Body::Empty },
        Answer::Accepted { token } => {
            let entrusted = Event::Entrust { fence, token: SecretHash::of(&token), terms };
            return finish::record(ports, seen, given.as_ref(), &entrusted, terms, None).await;
        }
        Answer::Succeeded { result } => {
            let result = bodies::keep_of(ports, of, result, INLINE_RESULT_BYTES).await?;
            Outcome::Succeeded { result }
        }
        Answer::Failed { error, retry_after } => Outcome::Failed { error, retry_after },
        Answer::TimedOut => Outcome::TimedOut,
    };
    let finished = Event::Finish { fence, outcome: &outcome, terms };
    finish::record(ports, seen, given.as_ref(), &finished, terms, Some(hint)).await
}

/// Rule **visibility is the lease's outer clock**: if this executor dies, the hint reappears just when the lease is
/// over. It decides nothing, so that a queue that will not do it costs only time.
async fn hide_until_the_lease_ends<D: Ports>(ports: &D, claimed: &ClaimedRun, receipt: &Receipt<D>) {
    if let Some(lease) = claimed.run.lease() {
        let _the_sweep_stands_behind_it = ports.queues().hide(receipt, lease.until).await;
    }
}

/// Rule **late claim**, its end: just before the call, what is left of the lease must cover it, and whoever is asked before.
fn may_still_call<D: Ports>(ports: &D, claimed: &ClaimedRun) -> bool {
    let now = ports.clock().now();
    claimed.run.lease().is_some_and(|lease| lease.covers_all(now, &claimed.order.terms))
}

async fn call<D: Ports>(ports: &D, claimed: &ClaimedRun, material: &Material, payload: Option<&Json>) -> Answer {
    let ClaimedRun { run, ready, order, hint, .. } = claimed;
    let now = ports.clock().now();
    ports.events().emit(&Happened::Called { run, ready: *ready, sent: hint.sent, now });
    let call = Call {
        target: &order.target,
        tenant: &run.tenant,
        run: run.key,
        attempt: run.fence,
        scheduled_at: run.nominal(),
        now,
        payload,
        follows: run.follows.map(|follows| follows.run),
        trace: &run.attempt_context(run.fence),
        task: order.task.as_ref(),
        material,
        timeout: order.terms.call(),
        lease: LeaseId::of(hint, run.fence),
    };
    let answer = ports.targets().call(call).await;
    let took = ports.clock().now().since(now);
    ports.events().emit(&Happened::Answered { target: order.target.kind(), outcome: answer.word(), took });
    answer
}

impl Executed {
    /// Whether the attempt's outcome became the run's.
    pub fn is_recorded(&self) -> bool {
        matches!(self, Self::Attempted(Finished::Recorded(_)))
    }

    /// Whether somebody else had the run by the time this attempt ended.
    pub fn was_fenced(&self) -> bool {
        matches!(self, Self::Attempted(Finished::Refused(Refusal::Fenced { .. })))
    }
}
