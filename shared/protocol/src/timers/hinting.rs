//! Hinting: telling a queue that a run may be due. A hint decides nothing; the timer behind it stays.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::lane::Lane;
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::queues::Queues as _;
use minutehand_io::{Fault, Ports};

use super::promise::written_now;

/// Sends a hint. The queue may lose it: the timer behind it stays. Who knows a run and not its terms sends it as of a short
/// call: the claim of a long one sends it on.
pub async fn hint<D: Ports>(ports: &D, lane: Lane, hint: &Hint, at: Moment) -> Result<(), Fault> {
    let sent = Some(ports.clock().now());
    ports.queues().send(lane, &Hint { sent, ..hint.clone() }, at).await
}

/// A hint without a timer of its own: the one that stands behind the run is found by its look.
pub async fn nudge<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey, lane: Lane) {
    nudge_at(ports, tenant, run, lane, ports.clock().now()).await;
}

/// The same, for then.
pub async fn nudge_at<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey, lane: Lane, at: Moment) {
    let timer = written_now(ports, tenant, TimerKey::run(run, at), 0);
    let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), at).await;
}
