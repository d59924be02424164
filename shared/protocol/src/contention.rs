//! Contention: several writers change one item at once. One of them is first, and the others read it anew.

use std::time::Duration;

use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;

/// Within what a second try waits at least, and within how often what the first one took; each one more within twice as long.
const FIRST: Duration = Duration::from_millis(10);
const TRIES_LONG: u32 = 2;
const DOUBLINGS: u32 = 4;
/// Within no more than this, however long a try took: a writer that slept in one has no other to wait for.
const LONGEST: Duration = Duration::from_secs(2);

/// The tries of one of them.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    tried: u32,
    /// By what is steady.
    begun: Duration,
}

impl Contention {
    /// Before each try, the first included: a writer that was not first pauses for a moment of its own length, so that not all of them come at once again.
    pub(crate) async fn let_others_pass<D: Ports>(&mut self, ports: &D) {
        if self.tried > 0 {
            let took = ports.clock().steady().saturating_sub(self.begun);
            let within = FIRST.max(took.min(LONGEST) * TRIES_LONG) * 2_u32.pow((self.tried - 1).min(DOUBLINGS));
            let within = within.min(LONGEST);
            let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX).max(1);
            ports.clock().pause(Duration::from_millis(ports.chance().number() % millis)).await;
        }
        (self.tried, self.begun) = (self.tried + 1, ports.clock().steady());
    }
}
