//! A great minute: more timers than one invocation of the sweeper can handle, over 64 shards, in a table that takes its time for
//! each call. The real sweeper under the virtual clock; 50,000 timers with every test run, a million by `GREAT_MINUTE=1000000
//! cargo test --release -p minutehand-simulation --test great_minute`.
//!
//! Its shards are too small for a page that is full; `guards/great_minutes.rs` has fewer and larger ones.

use std::collections::BTreeMap;

use minutehand_simulation::great_minute::{Setting, play};

#[test]
fn a_great_minute_is_through_in_the_time_that_its_calls_take() {
    let timers = std::env::var("GREAT_MINUTE").ok().and_then(|text| text.parse().ok()).unwrap_or(50_000);

    let played = play(Setting { timers, ..Setting::default() });

    eprintln!("{timers} timers at 5 ms a call: {played:?}");
    assert_eq!(played.hints, BTreeMap::from([(1, timers)]));
    assert_eq!(played.without_progress(), []);
    // Eight shards at once, 64 timers each: a million in 20 s at two calls each, and the pages.
    assert!(played.took <= 2 + i64::from(timers) * 2 * 5 / 512 / 500, "{} s", played.took);
}

/// A table ten times as slow, and invocations of half a minute: none can finish what it begins.
#[test]
fn a_great_minute_that_no_invocation_can_finish_is_through_in_time_all_the_same() {
    let timers = 50_000;

    let played = play(Setting { timers, call: 50, timeout: 32_000, at_once: 1, ..Setting::default() });

    eprintln!("{timers} timers at 50 ms a call, invocations of 32 s: {played:?}");
    assert_eq!(played.hints.values().sum::<u32>(), timers);
    assert!(played.hints.keys().all(|hints| (1..=2).contains(hints)), "{:?}", played.hints);
    assert_eq!(played.without_progress(), []);
    assert!(played.took < 120, "{} s", played.took);
    assert_eq!(played.killed, 0, "each stopped in time");
}
