//! Recalling: what a clock that was ahead has put off, to a time that has not come, is looked at now. Only where one process has the store
//! to itself: its clock is the only one, and all its timers are at hand.

use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_domain::pace;
use minutehand_io::store::{Bucket, FirstBucket, Store as _};
use minutehand_io::{Fault, Ports};

use super::{AT_ONCE, PAGE};
use crate::timers::promise::move_there;

/// Goes through all timers that are to come, and moves what such a clock put off.
pub(super) async fn recall<D: Ports>(ports: &D, shard: u16, now: Moment) -> Result<(), Fault> {
    if !ports.me().exclusive_store {
        return Ok(());
    }
    let (mut recalled, mut minute) = (0, pace::minute_of(now));
    while let FirstBucket::At(first) = ports.store().first_bucket(shard, minute).await? {
        recalled += recall_bucket(ports, Bucket { minute: first, shard }, now).await?;
        minute = first + 1;
    }
    if recalled > 0 {
        tracing::warn!(shard, recalled, "timers were put off by a clock that was ahead: they are looked at now");
    }
    Ok(())
}

async fn recall_bucket<D: Ports>(ports: &D, bucket: Bucket, now: Moment) -> Result<usize, Fault> {
    let (mut after, mut recalled) = (None, 0);
    loop {
        let page = ports.store().timers(bucket, after, Moment::END, PAGE).await?;
        let (read, last) = (page.items.len(), page.items.last().map(|timer| timer.key));
        let put_off: Vec<_> = page.items.into_iter().filter_map(|timer| Some((timer.recalled(now)?, timer))).collect();
        for some in put_off.chunks(AT_ONCE) {
            try_join_all(some.iter().map(|(there, timer)| move_there(ports, timer, *there))).await?;
        }
        recalled += put_off.len();
        if read < PAGE {
            return Ok(recalled);
        }
        after = last;
    }
}
