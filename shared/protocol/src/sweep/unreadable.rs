//! Timers that cannot be read. What a later release wrote is left where it is, and its bucket with it: a release reads a shape
//! before any release writes it, so that somebody will. What is corrupt nobody will ever read: so that its bucket can be left it
//! is put off by an hour, again and again, until an operator looks at it.

use minutehand_domain::Moment;
use minutehand_domain::pace;
use minutehand_io::store::{Store as _, Unreadable};
use minutehand_io::{Fault, Ports};

use super::Pass;

/// Whether a bucket is not left as long as this lies in it. What lies under no key of ours has no time, and is nobody's.
pub(super) fn keeps_its_bucket(left: &Unreadable) -> bool {
    left.timer.is_some() || matches!(left.why, Fault::Later { .. })
}

/// Puts off what is corrupt, once it is overdue: copied there first, erased here after.
pub(super) async fn put_off<D: Ports>(ports: &D, left: &Unreadable, now: Moment, pass: &mut Pass) -> Result<(), Fault> {
    if let Fault::Later { why, .. } = &left.why {
        tracing::warn!(key = left.key, why, "a timer waits for a later release");
        pass.later += 1;
        return Ok(());
    }
    tracing::error!(key = left.key, why = %left.why, "a timer that nobody can read");
    pass.corrupt += 1;
    let Some(key) = left.timer.filter(|key| key.due + pace::OVERDUE <= now) else { return Ok(()) };
    ports.store().copy_timer(&key, &key.moved_to(now + pace::CORRUPT)).await?;
    ports.store().discard_timer(&key).await.map(|_discarded| ())
}
