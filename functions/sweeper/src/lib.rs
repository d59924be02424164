//! The sweeper: a reconciler that takes no input. However it is woken, by a tick, by hand or twice, it looks at what is
//! there and does what is due.

pub mod group;
pub mod handing_out;

use std::ops::Range;

use futures_util::StreamExt as _;
use futures_util::stream;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::sweep::{Pass, sweep};

pub use group::Group;
pub use handing_out::tick_in_groups;

/// Shards swept at once. Each handles up to 64 timers at once, so that eight keep at most 512 requests open: half of the
/// 1,024 files a Lambda function may have.
const SHARDS_AT_ONCE: usize = 8;

/// One pass over every shard.
pub async fn tick<D: Ports>(ports: &D) -> Result<Pass, Fault> {
    sweep_shards(ports, 0..ports.store().shards()).await
}

/// One pass over these shards. A shard that fails does not keep the others from being swept; the first fault is told.
pub async fn sweep_shards<D: Ports>(ports: &D, shards: Range<u16>) -> Result<Pass, Fault> {
    let mut passes = stream::iter(shards)
        .map(|shard| async move { (shard, sweep(ports, shard).await) })
        .buffer_unordered(SHARDS_AT_ONCE);
    let (mut whole, mut fault) = (Pass::default(), None);
    while let Some((shard, pass)) = passes.next().await {
        match pass {
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
