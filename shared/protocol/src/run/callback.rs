//! Telling of a run's end. What is owed was pinned when the run was born; each debt is a run of its own, promised before it is put where
//! none is, so that twice is once; and the run that it tells of is over by then, so that it holds up nothing.
//!
//! Rule **derive**: the timer of a callback comes after an end, which is final: its look makes the run. What is told is read from the run
//! that it tells of, at each try.

use minutehand_domain::body::Json;
use minutehand_domain::callback::{Callback, CallbackOwner, End};
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{Event as RunEvent, Run};
use minutehand_domain::timer::{Timer, TimerKey};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_wire::run_view::{Bodies, result_of};
use minutehand_wire::{BodyView, RunToldView, RunView};

use crate::bodies;
use crate::born::born;
use crate::timers::hinting::hint;
use crate::timers::promise::promise_task;

/// Makes the runs that tell of this end, where they are not there yet. Says how many it made.
pub(crate) async fn call_back<D: Ports>(ports: &D, of: &Run) -> Result<u32, Fault> {
    let mut made = 0;
    for callback in of.callbacks_owed() {
        if lacks(ports, of, callback).await? {
            bear(ports, of, callback).await?;
            made += 1;
        }
    }
    Ok(made)
}

/// Whether a run is over of whose end somebody is still to be told.
pub(crate) async fn is_untold<D: Ports>(ports: &D, of: &Run) -> Result<bool, Fault> {
    for callback in of.callbacks_owed() {
        if lacks(ports, of, callback).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn lacks<D: Ports>(ports: &D, of: &Run, callback: &Callback) -> Result<bool, Fault> {
    let key = RunKey::callback(of.key, callback.place);
    Ok(ports.store().get::<Run>(&of.tenant, key).await?.is_none())
}

/// Promised, put where none is, hinted.
async fn bear<D: Ports>(ports: &D, of: &Run, callback: &Callback) -> Result<(), Fault> {
    let now = ports.clock().now();
    let run = of.telling(callback.place, now);
    let timer = promise_task(ports, &run.tenant, TimerKey::run(run.key, now), of.key).await?;
    if born(ports, &run, "none", now).await?.is_written() {
        let lane = Lane::of(run.priority, &Callback::terms());
        let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), now).await;
    }
    Ok(())
}

/// Makes the run of a callback whose timer alone is there: whoever promised it died. One that is not owed is recorded as cancelled. False
/// where the run that it was to tell of is gone.
pub(crate) async fn derive<D: Ports>(ports: &D, timer: &Timer, from: RunKey, key: RunKey) -> Result<bool, Fault> {
    let Some(of) = ports.store().get::<Run>(&timer.tenant, from).await?.map(|seen| seen.item) else { return Ok(false) };
    let now = ports.clock().now();
    let named = of.callbacks.iter().find(|callback| RunKey::callback(of.key, callback.place) == key);
    let Some(callback) = named else { return Ok(false) };
    let run = of.telling(callback.place, now);
    let is_owed = of.callbacks_owed().any(|owed| owed.place == callback.place);
    let run = if is_owed { run } else { run.after(&RunEvent::Cancel { by: None }, now).unwrap_or(run) };
    born(ports, &run, "none", now).await.map(|_a_record_is_there_now| true)
}

/// Who gives a callback its order: the run that it tells of, as it is now.
pub(crate) async fn owner_of<D: Ports>(ports: &D, callback: &Run, of: RunKey) -> Result<Option<CallbackOwner>, Fault> {
    let of = ports.store().get::<Run>(&callback.tenant, of).await?;
    Ok(of.and_then(|of| CallbackOwner::of(&of.item, callback.key)))
}

/// What is told of an end: the run as a list shows it, with its result whole.
pub(crate) async fn told_of<D: Ports>(ports: &D, of: &Run) -> Result<Json, Fault> {
    let now = ports.clock().now();
    let result = match result_of(of) {
        Some(result) => bodies::fetch_of(ports, of, result).await?,
        None => None,
    };
    let payload = of.payload.as_ref().map_or(BodyView::LeftOut, BodyView::inside);
    let view = RunView::of(of, &of.attempts, Bodies { payload, result: BodyView::of(result.as_ref()) }, now);
    let end = End::of(&of.state).map_or("ended", End::as_str);
    Ok(data(&RunToldView::of(end, of.finished_at().unwrap_or(now), view)))
}

/// Compact, so that no reference in what a run was given is one here: what a secret says is told to nobody but the target.
pub(super) fn data(told: &RunToldView) -> Json {
    Json::compact(minutehand_wire::Json::of(told).raw())
}
