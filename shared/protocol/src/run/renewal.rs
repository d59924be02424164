//! Renewal: a store may delete by the clock alone, and what lies beneath a run says until when it is of use as of when it was written. Of a run
//! that is not over for months it is written again.
//!
//! Guard **renewed**: an effect that was forgotten would be made anew, and a checkpoint that was lost begins from nothing.

use futures_util::future::join3;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::retention::RENEWED_AFTER;
use minutehand_domain::run::Run;
use minutehand_domain::run::effect::Effect;
use minutehand_domain::run::logbook::{Checkpoint, Logbook};
use minutehand_io::store::item::Item;
use minutehand_io::store::{Beneath, Store as _};
use minutehand_io::{Fault, Ports};

use super::effect::effects;
use crate::bodies::renew_bodies;

/// Effects that are read at once.
const EFFECTS: usize = 100;
/// And written side by side.
const AT_ONCE: usize = 16;

/// Keeps for longer what a run needs that is a month old and not over. Whoever looks after the run does so, and whoever says how an attempt of it
/// went, since a run whose attempts all end in time is never looked at; and goes on where that fails: there are months for it. `before`: when the
/// timer was written that led here, which was then the last time that anybody could.
pub(crate) async fn renew<D: Ports>(ports: &D, run: &Run, before: Moment, now: Moment) {
    if run.is_finished() || run.could_begin_at() + RENEWED_AFTER > now {
        return;
    }
    // Apart: few live for so long.
    if let Err(fault) = Box::pin(renew_each(ports, run, before, now)).await {
        tracing::warn!(tenant = run.tenant.as_str(), run = %run.key, %fault, "what lies beneath a run is kept no longer");
    }
}

/// What a body says of itself bounds how often it is written. Nobody is told that of the others: they are written once a month. One that cannot be read
/// keeps no other from it.
async fn renew_each<D: Ports>(ports: &D, run: &Run, before: Moment, now: Moment) -> Result<(), Fault> {
    let bodies = renew_bodies(ports, run, now).await;
    if !run.is_another_month_old(before, now) {
        return bodies;
    }
    let checkpoint = renew_one::<D, Checkpoint>(ports, run, run.key, now);
    let logbook = renew_one::<D, Logbook>(ports, run, run.key, now);
    let (effects, checkpoint, logbook) = join3(renew_effects(ports, run, now), checkpoint, logbook).await;
    bodies.and(effects).and(checkpoint).and(logbook)
}

async fn renew_effects<D: Ports>(ports: &D, run: &Run, now: Moment) -> Result<(), Fault> {
    let mut past = None;
    loop {
        let page = effects(ports, &run.tenant, run.key, past, EFFECTS).await?;
        let Some(last) = page.last() else { return Ok(()) };
        past = Some(last.name.clone());
        let renew = |effect: Effect| renew_one::<D, Effect>(ports, run, (run.key, effect.name), now);
        stream::iter(page).map(renew).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    }
}

/// Whoever writes it meanwhile renews it.
async fn renew_one<D: Ports, T: Item>(ports: &D, run: &Run, key: T::Key, now: Moment) -> Result<(), Fault> {
    let Some(seen) = ports.store().get::<T>(&run.tenant, key.clone()).await? else { return Ok(()) };
    let (guard, renewed) = (seen.guard(), Beneath::of(run, seen.item, now));
    let _or_its_holder_does = ports.store().put(&run.tenant, key, &renewed, guard).await?;
    Ok(())
}
