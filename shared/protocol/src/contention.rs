//! Contention: several who change one item at once. One of them is first, and the others read it anew.

use std::time::Duration;

use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;

/// Within what a second try waits; each one more within twice as long.
const FIRST: Duration = Duration::from_millis(10);
const DOUBLINGS: u32 = 5;

/// Before the try of this number, from zero on: whoever was not first waits for a moment that others do not wait for, so that not all of them come at
/// once again.
pub(crate) async fn let_others_pass<D: Ports>(ports: &D, tried: u32) {
    let Some(doublings) = tried.checked_sub(1) else { return };
    let within = FIRST * 2_u32.pow(doublings.min(DOUBLINGS));
    let millis = ports.chance().number() % u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    ports.clock().sleep_until(ports.clock().now() + Duration::from_millis(millis)).await;
}
