//! The sweeper: a reconciler that takes no input. However it is woken, by a tick, by hand, twice or by the dead man's switch, it looks at
//! what is there and does what is due.

pub mod group;
pub mod handing_out;
pub mod letters;
pub mod round;
pub mod waking;

use std::time::Duration;

use futures_util::future::ready;
use minutehand_domain::Moment;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::sweep::Pass;

pub use group::Group;
pub use handing_out::{sweep_shards, tick_in_groups};
pub use letters::tell_of_the_oldest_letter;
pub use waking::{Waking, tell_of_a_push};

/// What is left of an invocation when nothing more is begun: requests under way end, tries and all, the cursors are written,
/// and what is left is handed out.
pub const RESERVE: Duration = Duration::from_secs(20);

/// Until when an invocation begins something that its host ends at `deadline`.
pub fn until(deadline: Moment) -> Moment {
    deadline - RESERVE
}

/// One pass over every shard, to its end.
pub async fn tick<D: Ports>(ports: &D) -> Result<Pass, Fault> {
    tick_until(ports, Moment::END).await
}

/// The same, as far as it comes by then: the next one begins with every shard again. A shard with more to do than there is time for would else keep
/// all others waiting.
pub async fn tick_until<D: Ports>(ports: &D, until: Moment) -> Result<Pass, Fault> {
    let alone = |_group| ready(Err(Fault::unavailable("the sweeps", "nobody else sweeps")));
    sweep_shards(ports, (0..ports.store().shards()).collect(), until, alone).await
}
