//! Handing out: a minute too large for one invocation is swept by several, a group of shards each; and a shard too large for
//! its turn by one of its own.

use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream;
use minutehand_domain::{Moment, pace};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::sweep::Pass;
use minutehand_protocol::sweep::search::search;

use crate::group::{Group, groups};
use crate::round::Round;

/// Groups on their way to other invocations at once.
const HANDED_OUT_AT_ONCE: usize = 16;

/// One pass over a group, each minute over another, so that the dead man's switch hangs on none of them; every other is handed out to another
/// invocation, before this one begins its own. What
/// could not be handed out is swept here: late rather than not at all. A group that gets lost on the way waits for the
/// next tick, as after a tick that was missed.
pub async fn tick_in_groups<D, H, F>(
    ports: &D,
    shards_per_sweep: u16,
    until: Moment,
    hand_out: H,
) -> Result<Pass, Fault>
where
    D: Ports,
    H: Fn(Group) -> F,
    F: Future<Output = Result<(), Fault>>,
{
    let mut groups: Vec<Group> = groups(ports.store().shards(), shards_per_sweep).collect();
    if groups.is_empty() {
        return Ok(Pass::default());
    }
    let own = groups.remove(own_of(groups.len(), ports.clock().now()));
    let kept = hand_out_all(groups, &hand_out).await;
    let shards = [own].into_iter().chain(kept).flat_map(Group::shards).collect();
    sweep_shards(ports, shards, until, hand_out).await
}

/// Sweeps these shards in rounds until nothing is left of them or no time. Of several with more to do than their turn allows
/// this invocation goes on with one, and the others go to invocations of their own; and so does all that is left in the end.
///
/// It fails where each turn does. What fails beside others is counted and no more: a shard that fails for hours is no reason to fire the dead
/// man's switch while all others are swept.
pub async fn sweep_shards<D, H, F>(ports: &D, shards: Vec<u16>, until: Moment, hand_out: H) -> Result<Pass, Fault>
where
    D: Ports,
    H: Fn(Group) -> F,
    F: Future<Output = Result<(), Fault>>,
{
    let (mut left, mut whole, mut fault) = (shards, Pass::default(), None);
    let mut went_well = false;
    while !left.is_empty() {
        let round = Round::sweep(ports, &left, until).await;
        whole = whole.and(round.pass);
        fault = fault.or(round.fault);
        went_well |= round.went_well;
        let is_late = ports.clock().now() >= until;
        let mut mine: Vec<u16> = round.left;
        let others = mine.split_off(usize::from(!is_late).min(mine.len()));
        let kept = hand_out_all(others.into_iter().map(Group::of_one).collect(), &hand_out).await;
        if is_late {
            whole.unfinished = kept.len() as u64;
            break;
        }
        whole.unfinished = 0; // what is left is gone on with, or is others'
        left = mine.into_iter().chain(kept.into_iter().flat_map(Group::shards)).collect();
    }
    if let Some(since) = whole.searching {
        let searched = search(ports, since, until).await;
        fault = fault.or(searched.err());
    }
    if whole.later + whole.corrupt > 0 {
        // The template's alarms count what these fields say at this level.
        let Pass { later, corrupt, .. } = whole;
        tracing::error!(later, corrupt, "timers, or what they point at, cannot be read");
    }
    let Some(why) = fault else { return Ok(whole) };
    ports.events().emit(&Event::SweepFailed);
    if went_well {
        tracing::warn!(%why, "a sweep left something undone; the next one looks at it again");
        Ok(whole)
    } else {
        Err(why)
    }
}

/// Which of so many groups a tick sweeps itself.
fn own_of(groups: usize, now: Moment) -> usize {
    usize::try_from(pace::minute_of(now)).unwrap_or(0) % groups
}

/// The groups that nobody took.
async fn hand_out_all<H, F>(groups: Vec<Group>, hand_out: &H) -> Vec<Group>
where
    H: Fn(Group) -> F,
    F: Future<Output = Result<(), Fault>>,
{
    let handing_out = groups.into_iter().map(|group| {
        let handed_out = hand_out(group);
        async move { (group, handed_out.await) }
    });
    let answers: Vec<_> = stream::iter(handing_out).buffer_unordered(HANDED_OUT_AT_ONCE).collect().await;
    let mut kept = Vec::new();
    for (group, answer) in answers {
        if let Err(why) = answer {
            tracing::debug!(?group, %why, "not handed out; it is swept here, or by the next tick");
            kept.push(group);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Removed: the minute. The dead man's switch hung on the first group alone, and fired where a shard of that one failed for minutes.
    #[test]
    fn each_minute_another_group_is_the_ticks_own() {
        for groups in [1, 5, 64] {
            let own: BTreeSet<_> =
                (100..100 + 64).map(|minute| own_of(groups, Moment::from_secs(60 * minute))).collect();
            assert_eq!(own, (0..groups).collect());
        }
    }
}
