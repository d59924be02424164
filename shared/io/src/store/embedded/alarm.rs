//! The alarm: wakes a host that sleeps until a timer when an earlier one is put. To the writer of a timer it is one comparison.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use minutehand_domain::Moment;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

#[derive(Debug)]
pub(super) struct Alarm {
    /// The latest moment anybody waits for, in milliseconds: what is put for later interests nobody.
    latest: AtomicI64,
    waited_for: Mutex<Vec<Moment>>,
    bell: Notify,
}

/// Somebody waits for a timer before `t`.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    alarm: &'a Alarm,
    t: Moment,
}

const NOBODY: i64 = i64::MIN;

impl Default for Alarm {
    fn default() -> Self {
        Self { latest: AtomicI64::new(NOBODY), waited_for: Mutex::default(), bell: Notify::new() }
    }
}

impl Alarm {
    /// A timer was put, and a look now sees it.
    pub(super) fn put(&self, due: Moment) {
        if due.millis() < self.latest.load(Ordering::SeqCst) {
            self.bell.notify_waiters();
        }
    }

    pub(super) fn set(&self, t: Moment) -> Waiting<'_> {
        let mut waited_for = self.waited_for();
        waited_for.push(t);
        self.set_latest(&waited_for);
        Waiting { alarm: self, t }
    }

    fn waited_for(&self) -> MutexGuard<'_, Vec<Moment>> {
        self.waited_for.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_latest(&self, waited_for: &[Moment]) {
        let latest = waited_for.iter().max().map_or(NOBODY, |t| t.millis());
        self.latest.store(latest, Ordering::SeqCst);
    }
}

impl Waiting<'_> {
    /// Completes when the alarm rings after this call, not only after the first poll.
    pub(super) fn rung(&self) -> Notified<'_> {
        self.alarm.bell.notified()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waited_for = self.alarm.waited_for();
        if let Some(place) = waited_for.iter().position(|t| *t == self.t) {
            waited_for.swap_remove(place);
        }
        self.alarm.set_latest(&waited_for);
    }
}
