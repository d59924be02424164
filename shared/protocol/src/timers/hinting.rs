//! Hinting: telling a queue that a run may be due. A hint decides nothing; the timer behind it stays.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::lane::Lane;
use minutehand_io::queues::Queues as _;
use minutehand_io::{Fault, Ports};

/// Sends a hint. The queue may lose it: the timer behind it stays. Who knows a run and not its terms sends it as of a short
/// call: the claim of a long one sends it on.
pub async fn hint<D: Ports>(ports: &D, lane: Lane, hint: &Hint, at: Moment) -> Result<(), Fault> {
    ports.queues().send(lane, hint, at).await
}
