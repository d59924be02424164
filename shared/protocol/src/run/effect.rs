//! Claiming an effect of a run before it is made, and saying what came of it. Only who has the run may do either.
//!
//! Guard **effect once**: a claim is put where none stands, so that of all that are made at once one is the first.

use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::effect::{Answer, Asking, Effect, EffectName, EffectOf, EffectRefusal, Wish};
use minutehand_domain::run::{Refusal, Run};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Beneath, Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::lease::{Said, is_holders};

/// What is answered to whoever shows this token.
pub async fn effect<D: Ports>(
    ports: &D,
    of: EffectOf<'_>,
    token: &str,
    wish: &Wish,
) -> Result<Said<Result<Answer, EffectRefusal>>, Fault> {
    let Some(Seen { item: run, .. }) = ports.store().get::<Run>(of.tenant, of.run).await? else {
        return Ok(Said::NotFound);
    };
    match run.lease() {
        Some(_) if is_holders(ports, &run, token).await? => answer(ports, of, &run, wish).await.map(Said::Taken),
        Some(_another_holds_it) => Ok(Said::NotYours),
        None if run.is_finished() => Ok(Said::Refused(Refusal::Finished, run)),
        None => Ok(Said::Refused(Refusal::NotHeld, run)),
    }
}

async fn answer<D: Ports>(
    ports: &D,
    of: EffectOf<'_>,
    run: &Run,
    wish: &Wish,
) -> Result<Result<Answer, EffectRefusal>, Fault> {
    let key = (of.run, of.name.clone());
    let mut seen = ports.store().get::<Effect>(of.tenant, key.clone()).await?;
    loop {
        let (there, by) = (seen.as_ref().map(|seen| &seen.item), Asking { at: ports.clock().now(), fence: run.fence });
        let answer = match Effect::answer(there, of, by, wish) {
            Ok(answer) if Some(answer.effect()) != there => answer,
            as_it_stands => return Ok(as_it_stands),
        };
        let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
        let written = Beneath::of(run, answer.effect().clone(), by.at);
        match ports.store().put(of.tenant, key.clone(), &written, guard).await? {
            Put::Written(_) => {
                if let Answer::Before(effect) = &answer {
                    ports.events().emit(&Event::EffectPrevented { effect });
                }
                return Ok(Ok(answer));
            }
            Put::Conflict(now_there) => seen = now_there.map(Seen::alone),
        }
    }
}

/// A run's effects by name, from behind this one on, at most so many.
pub async fn effects<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    run: RunKey,
    past: Option<EffectName>,
    most: usize,
) -> Result<Vec<Effect>, Fault> {
    let past = past.map(|name| (run, name));
    Ok(ports.store().list::<Effect>(tenant, run, past, most).await?.items)
}
