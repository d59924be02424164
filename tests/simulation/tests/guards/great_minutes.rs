//! Great minutes whose shards hold several full pages and more than one turn: how a pass is cut short, and who goes on with it.
//! `tests/great_minute.rs` has as many shards as a deployment, and more timers.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_simulation::great_minute::{RESERVE, Setting, play};

/// Timers of a page.
const PAGE: u32 = 1_000;
/// Timers of a turn.
const TURN: u32 = 4_000;

/// Two shards, each with five full pages: a turn ends before them, and then there is enough for two invocations.
///
/// Removed (`turns-end`): a shard's turn has no end where others wait. Each shard was swept to its end in its first turn.
/// Removed (`groups-of-what-is-full`): what is full is kept. The tick's invocation swept all of it, and nobody helped.
#[test]
fn of_two_shards_that_are_full_after_their_turns_one_is_handed_out() {
    let timers = 11_000;

    let played = play(Setting { shards: 2, timers, ..Setting::default() });

    assert_eq!(played.hints, BTreeMap::from([(1, timers)]));
    assert!(
        played.hinted.values().all(|hinted| *hinted > TURN + PAGE),
        "full pages behind a turn: {:?}",
        played.hinted
    );
    let turns = played.hinted_by_pass();
    let [(0, TURN), (0, TURN), (0, kept), (1, handed_out)] = turns[..] else { panic!("{turns:?}") };
    assert_eq!(kept + handed_out, timers - 2 * TURN);
}

/// Four seconds of a table that takes 50 ms for a call: no shard is through with its third page.
///
/// Removed (`groups-of-what-is-left`): what is left when no time is left is not handed out. It waited for the tick of the next
/// minute, and for that of the one after it.
#[test]
fn what_is_left_when_no_time_is_left_is_gone_on_with_at_once() {
    let timers = 2 * 4 * PAGE;

    let played = play(Setting { shards: 2, timers, call: 50, timeout: RESERVE + 4_000, ..Setting::default() });

    assert_eq!(played.hints, BTreeMap::from([(1, timers)]));
    assert_eq!((played.without_progress(), played.killed), (vec![], 0), "each pass came further, and stopped in time");
    assert!(played.passes.iter().filter(|pass| pass.had_work).count() >= 4, "{:?}", played.passes);
    assert!(played.took < 30, "before the next tick: {} s", played.took);
}

/// Each invocation dies amid its third page, and cannot say how far it came.
///
/// Removed (`steps-saved`): how far a pass came is told at its end alone. Each began at the first timer: 2,500 were hinted by
/// each pass, and what lies behind them by none.
/// Removed (`steps-gone-on-behind`): what is told says nothing of the pages that were handled. The same.
#[test]
fn a_pass_that_is_killed_is_gone_on_with_behind_its_last_page() {
    let timers = 5 * PAGE;

    let played = play(Setting { shards: 1, timers, call: 50, dies_after: Some(5_000), ..Setting::default() });

    assert_eq!(played.hints.values().sum::<u32>(), timers);
    assert_eq!(played.without_progress(), []);
    assert!(played.killed >= 2, "{}", played.killed);
    let again = played.hints.iter().filter(|(hints, _)| **hints > 1);
    let again: Vec<_> = again.map(|(hints, timers)| (*hints, *timers)).collect();
    assert!(matches!(again[..], [(2, timers)] if timers < played.killed * PAGE), "a page at most: {:?}", played.hints);
}

/// The part of the table where eight of the shards lie hardly answers, a call there takes all the time there is, and nobody can
/// be handed anything: eight are swept at once.
///
/// Removed (`begins-at-another-shard`): each pass begins at the same shard. The eight that answer were never looked at.
#[test]
fn shards_that_take_all_the_time_are_not_the_first_of_each_minute() {
    let (timers, timeout) = (320, RESERVE + 12_000);
    let setting = Setting { shards: 16, timers, slow: 0..8, slow_call: 15_000, timeout, ..Setting::default() };

    let played = play(Setting { takes_no_groups: true, ..setting });

    let well: u32 = (8..16).filter_map(|shard| played.hinted.get(&shard)).sum();
    let firsts = played.firsts();
    assert!(well > 100, "{:?}", played.hinted);
    assert_eq!(played.hints, BTreeMap::from([(1, well)]), "none of the others was read in time");
    assert_eq!(firsts.iter().collect::<BTreeSet<_>>().len(), 4, "another one in each of four minutes: {firsts:?}");
}
