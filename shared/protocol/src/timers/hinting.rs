//! Hinting: telling a queue that a run may be due. A hint decides nothing; the timer behind it stays.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::priority::Priority;
use minutehand_io::queues::Queues as _;
use minutehand_io::{Fault, Ports};

/// Sends a hint. The queue may lose it: the timer behind it stays.
pub async fn hint<D: Ports>(ports: &D, priority: Priority, hint: &Hint, at: Moment) -> Result<(), Fault> {
    ports.queues().send(priority, hint, at).await
}
