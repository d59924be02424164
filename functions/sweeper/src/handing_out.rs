//! Handing out: a minute too large for one invocation is swept by several, a group of shards each.

use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::sweep::Pass;

use crate::group::{Group, groups};
use crate::sweep_shards;

/// Groups on their way to other invocations at once.
const HANDED_OUT_AT_ONCE: usize = 16;

/// One pass over the first group; every other is handed out to another invocation, before this one begins its own. What
/// could not be handed out is swept here: late rather than not at all. A group that gets lost on the way waits for the
/// next tick, as after a tick that was missed.
pub async fn tick_in_groups<D, H, F>(ports: &D, shards_per_sweep: u16, hand_out: H) -> Result<Pass, Fault>
where
    D: Ports,
    H: Fn(Group) -> F,
    F: Future<Output = Result<(), Fault>>,
{
    let mut groups = groups(ports.store().shards(), shards_per_sweep);
    let Some(first) = groups.next() else { return Ok(Pass::default()) };
    let kept = hand_out_all(groups, hand_out).await;
    let (mut whole, mut fault) = (Pass::default(), None);
    for group in [first].into_iter().chain(kept) {
        match sweep_shards(ports, group.shards()).await {
            Ok(pass) => whole = whole.and(pass),
            Err(why) => fault = fault.or(Some(why)),
        }
    }
    fault.map_or(Ok(whole), Err)
}

/// The groups that nobody took.
async fn hand_out_all<H, F>(groups: impl Iterator<Item = Group>, hand_out: H) -> Vec<Group>
where
    H: Fn(Group) -> F,
    F: Future<Output = Result<(), Fault>>,
{
    let handing_out = groups.map(|group| {
        let handed_out = hand_out(group);
        async move { (group, handed_out.await) }
    });
    let answers: Vec<_> = stream::iter(handing_out).buffer_unordered(HANDED_OUT_AT_ONCE).collect().await;
    let mut kept = Vec::new();
    for (group, answer) in answers {
        if let Err(why) = answer {
            tracing::warn!(?group, %why, "not handed out; it is swept here");
            kept.push(group);
        }
    }
    kept
}
