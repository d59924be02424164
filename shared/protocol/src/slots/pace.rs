//! The pace of a rate: each attempt puts an instant by for itself, behind the one before. Who is too early is due then, and nobody polls.

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::slot::{Pace, Rate};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

/// Tries against others that put an instant by at the same time: each try that fails is one that another had. Some requests of workers may
/// be at it at once, each with some claims.
const TRIES: u32 = 256;

/// The instant at which an attempt of this rate may begin. It is nobody else's, whether it is used or not. `missed`: it had one, and came
/// too late for it.
pub async fn put_by<D: Ports>(ports: &D, tenant: &Tenant, rate: &Rate, missed: bool) -> Result<Moment, Fault> {
    let id = rate.id(tenant);
    let mut there = ports.store().get::<Pace>(tenant, id).await?;
    for _ in 0..TRIES {
        let guard = there.as_ref().map_or(Guard::Absent, Seen::guard);
        let pace = there.map(|seen| seen.item);
        let now = ports.clock().now();
        let (at, next) = pace.unwrap_or(Pace::from(now)).after(missed, now, rate.interval());
        match ports.store().put(tenant, id, &next, guard).await? {
            Put::Written(_) => return Ok(at),
            Put::Conflict(now_there) => there = now_there,
        }
    }
    Err(Fault::unavailable("the pace of a key", "it is taken by too many at once"))
}
