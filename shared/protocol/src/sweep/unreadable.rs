//! What cannot be read: timers, and what they point at. Nobody may keep a bucket for longer than it takes promises, or each pass
//! would begin there; so it is put off as it is, again and again, and said each time. What a later release wrote is put off by no
//! more than each pass sees ahead: a release reads a shape before any release writes it, so that somebody will read it. What is
//! corrupt nobody will, until an operator looks at it.

use minutehand_domain::Moment;
use minutehand_domain::pace;
use minutehand_domain::timer::TimerKey;
use minutehand_io::store::{Store as _, Unreadable};
use minutehand_io::{Fault, Ports};

use super::Pass;

/// Whether a bucket is not left as long as this lies in it. What lies under no key of ours has no time, and is nobody's; a later
/// release's may be.
pub(super) fn keeps_its_bucket(left: &Unreadable) -> bool {
    left.timer.is_some() || matches!(left.why, Fault::Later { .. })
}

/// Until when a timer is put off that cannot be read, or points at what cannot. What is a later release's has as long as its
/// bucket takes promises: processes of that release may be at it.
pub(super) fn put_off_until(key: &TimerKey, why: &Fault, now: Moment) -> Option<Moment> {
    if let Fault::Later { .. } = why {
        (pace::leave_line(key.minute()) <= now).then(|| now + pace::LATER)
    } else {
        (key.due + pace::OVERDUE <= now).then(|| now + pace::CORRUPT)
    }
}

/// Says of a timer that it cannot be read, and counts it.
pub(super) fn say(left: &Unreadable, pass: &mut Pass) {
    if let Fault::Later { why, .. } = &left.why {
        tracing::warn!(key = left.key, why, "a timer waits for a later release");
        pass.later += 1;
    } else {
        tracing::error!(key = left.key, why = %left.why, "a timer that nobody can read");
        pass.corrupt += 1;
    }
}

/// Puts a timer off as it is: copied there first, erased here after.
pub(super) async fn put_off<D: Ports>(ports: &D, left: &Unreadable, now: Moment) -> Result<(), Fault> {
    let Some(key) = left.timer else { return Ok(()) };
    let Some(until) = put_off_until(&key, &left.why, now) else { return Ok(()) };
    let copy = key.moved_to(until);
    ports.store().copy_timer(&key, &copy).await?;
    ports.store().discard_timer(&key, &copy).await.map(|_discarded| ())
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::JobId;

    use super::*;

    #[test]
    fn what_lies_under_no_key_of_ours_keeps_its_bucket_only_where_a_later_release_wrote_it() {
        let key = TimerKey::occurrence(JobId::from_bytes([7; 16]), Moment::from_secs(60));
        let (later, corrupt) = (Fault::later("store", "shape 9"), Fault::unreadable("store", "cut short"));
        for (timer, why, keeps) in
            [(Some(key), &later, true), (Some(key), &corrupt, true), (None, &later, true), (None, &corrupt, false)]
        {
            let left = Unreadable { key: String::new(), timer, why: why.clone() };
            assert_eq!(keeps_its_bucket(&left), keeps, "{left:?}");
        }
    }
}
