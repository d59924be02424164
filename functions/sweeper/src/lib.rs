//! The sweeper: a reconciler that takes no input. However it is woken, by a tick, by hand or twice, it looks at what is
//! there and does what is due.

use minutehand_io::store::Store as _;
use minutehand_io::{Doors, Fault};
use minutehand_protocol::sweep::{Pass, sweep};

/// One pass over every shard. A shard that fails does not keep the others from being swept; the first fault is told.
pub async fn tick<D: Doors>(doors: &D) -> Result<Pass, Fault> {
    let (mut whole, mut fault) = (Pass::default(), None);
    for shard in 0..doors.store().shards() {
        match sweep(doors, shard).await {
            Ok(pass) => whole = whole.and(pass),
            Err(why) => {
                tracing::warn!(shard, %why, "a shard was not swept; the next pass starts where this one did");
                fault = fault.or(Some(why));
            }
        }
    }
    if whole.unreadable > 0 {
        tracing::error!(timers = whole.unreadable, "timers point at what cannot be read; their buckets are kept");
    }
    fault.map_or(Ok(whole), Err)
}
