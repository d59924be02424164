//! A round: each shard has its turn. One that has more to do than its turn allows has another in the next round, so that no
//! shard waits for what its neighbours have to do; and each minute another one is the first, so that none is always the last.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use minutehand_domain::{Moment, pace};
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::sweep::{Allowance, Pass, Swept, sweep};

/// Shards swept at once. Each handles up to 64 timers at once, so that eight ask for up to 512 things at once, of which the store lets 400 be open: a
/// Lambda function may have 1,024 files.
const SHARDS_AT_ONCE: usize = 8;
/// Timers that a shard's turn is about where others wait: a few seconds of them.
const TURN: u64 = 4000;

/// What a round came to.
#[derive(Clone, Debug, Default)]
pub struct Round {
    pub pass: Pass,
    /// Shards with more to do, and those whose turn did not come.
    pub left: Vec<u16>,
    /// Whether any turn came to its end without a fault.
    pub went_well: bool,
    /// The first fault. A shard that fails does not keep the others from being swept; the next tick looks at what failed again.
    pub fault: Option<Fault>,
}

impl Round {
    /// A turn for each of these shards; none begins from `until` on.
    pub async fn sweep<D: Ports>(ports: &D, shards: &[u16], until: Moment) -> Self {
        let now = ports.clock().now();
        let turn_of = &Turn::of(shards.len(), until, now);
        let mut turns = stream::iter(beginning_elsewhere(shards, now))
            .map(|shard| async move { (shard, turn_of.take(ports, shard).await) })
            .buffer_unordered(SHARDS_AT_ONCE);
        let mut round = Self::default();
        while let Some((shard, pass)) = turns.next().await {
            round.note(shard, pass, turn_of.is_shared());
        }
        round
    }

    fn note(&mut self, shard: u16, swept: Option<Swept>, with_others: bool) {
        let Some(Swept { pass, fault }) = swept else { return self.left.push(shard) };
        self.pass = self.pass.and(pass);
        // One that fails has a turn of its own where the shared one was too short, and no third one before the next tick.
        self.left.extend((pass.unfinished > 0 && (fault.is_none() || with_others)).then_some(shard));
        let Some(why) = fault else { return self.went_well = true };
        tracing::warn!(shard, %why, "not all of a shard was swept; the next pass looks at what failed again");
        self.fault.get_or_insert(why);
    }
}

/// What each shard's turn may take.
struct Turn {
    until: Moment,
    /// Its share of the time that is left.
    lasts: Duration,
    timers: u64,
}

impl Turn {
    fn of(shards: usize, until: Moment, now: Moment) -> Self {
        let rounds = shards.div_ceil(SHARDS_AT_ONCE).max(1);
        // Also where nothing ends it: the last shards are swept before what the round before has hinted of them is over.
        let left = if rounds > 1 { until.since(now).min(pace::HORIZON) } else { until.since(now) };
        let lasts = left / u32::try_from(rounds).unwrap_or(u32::MAX);
        Self { until, lasts, timers: if shards > 1 { TURN } else { u64::MAX } }
    }

    fn is_shared(&self) -> bool {
        self.timers < u64::MAX
    }

    /// None where no time is left.
    async fn take<D: Ports>(&self, ports: &D, shard: u16) -> Option<Swept> {
        let now = ports.clock().now();
        if now >= self.until {
            return None;
        }
        let allowance = Allowance { until: self.until.min(now + self.lasts), timers: self.timers };
        Some(sweep(ports, shard, &allowance).await)
    }
}

/// The shards in their order, from another one on each minute: where the time suffices for no more than are swept at once,
/// those of the next minute are others.
fn beginning_elsewhere(shards: &[u16], now: Moment) -> Vec<u16> {
    let mut shards = shards.to_vec();
    let (minute, all) = (usize::try_from(pace::minute_of(now)).unwrap_or(0), shards.len().max(1));
    // Once all have been among the first eight, others of each eight are the first.
    let begun = if all > SHARDS_AT_ONCE { minute * SHARDS_AT_ONCE } else { minute };
    let first = (begun + begun / all) % all;
    shards.rotate_left(first);
    shards
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Removed: the end of a round that nothing ends. Of 64 shards with much to make up for the last ones were swept a quarter of an hour later.
    #[test]
    fn a_round_of_many_shards_ends_while_what_was_hinted_before_lasts() {
        let lasts = |shards, until| Turn::of(shards, until, Moment::EPOCH).lasts;
        let soon = Moment::EPOCH + Duration::from_secs(80);

        assert_eq!(lasts(64, Moment::END), pace::HORIZON / 8);
        assert_eq!(lasts(64, soon), Duration::from_secs(10));
        assert_eq!(lasts(8, Moment::END), Moment::END.since(Moment::EPOCH), "all of them are swept at once");
    }

    #[test]
    fn each_minute_another_shard_is_the_first_and_in_an_hour_each_was() {
        for shards in [1, 2, 5, 12, 16, 64] {
            let all: Vec<u16> = (0..shards).collect();
            let orders = (0..64).map(|minute| beginning_elsewhere(&all, Moment::from_secs(60 * minute)));
            let orders: Vec<Vec<u16>> = orders.collect();

            assert!(all.iter().all(|shard| orders.iter().any(|order| order[0] == *shard)), "{shards}");
            for mut order in orders {
                order.sort_unstable();
                assert_eq!(order, all);
            }
        }
        assert!(beginning_elsewhere(&[], Moment::EPOCH).is_empty());
    }

    #[test]
    fn what_one_minute_has_no_time_for_is_among_the_first_of_the_next_ones() {
        let all: Vec<u16> = (0..64).collect();
        let firsts = (0..8).flat_map(|minute| {
            beginning_elsewhere(&all, Moment::from_secs(60 * minute)).into_iter().take(SHARDS_AT_ONCE)
        });

        let mut begun: Vec<u16> = firsts.collect();
        begun.sort_unstable();
        begun.dedup();

        assert_eq!(begun.len(), 64, "in eight minutes each was among the eight that are swept first");
    }
}
