//! Bells: one for each pool for which somebody waits, so that what is offered in one wakes nobody who waits for another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use minutehand_domain::pool::PoolId;
use tokio::sync::Notify;

/// With this many bells, those that nobody hears any more are put away.
const PUT_AWAY: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Bells(Mutex<HashMap<PoolId, Weak<Notify>>>);

impl Bells {
    /// Wakes all who wait: whoever is too late finds nothing and waits again.
    pub(super) fn ring(&self, pool: PoolId) {
        let bell = self.bells().get(&pool).and_then(Weak::upgrade);
        if let Some(bell) = bell {
            bell.notify_waiters();
        }
    }

    pub(super) fn heard(&self, pool: PoolId) -> impl Future<Output = ()> + Send + use<> {
        self.bell_of(pool).notified_owned()
    }

    fn bell_of(&self, pool: PoolId) -> Arc<Notify> {
        let mut bells = self.bells();
        if let Some(bell) = bells.get(&pool).and_then(Weak::upgrade) {
            return bell;
        }
        if bells.len() >= PUT_AWAY {
            bells.retain(|_, bell| bell.strong_count() > 0);
        }
        let bell = Arc::new(Notify::new());
        bells.insert(pool, Arc::downgrade(&bell));
        bell
    }

    fn bells(&self) -> MutexGuard<'_, HashMap<PoolId, Weak<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use minutehand_domain::id::Tenant;

    use super::*;

    fn pool(name: &str) -> PoolId {
        PoolId::of(&Tenant::deployment(), &name.parse().unwrap())
    }

    /// Removed: the bell is told of when it is first polled. What rang before that was missed.
    #[test]
    fn a_bell_wakes_all_who_wait_for_its_pool_and_nobody_else() {
        let bells = Bells::default();
        let (one, two, other) = (bells.heard(pool("a")), bells.heard(pool("a")), bells.heard(pool("b")));

        bells.ring(pool("a"));

        assert_eq!([one, two, other].map(|heard| heard.now_or_never().is_some()), [true, true, false]);
        assert!(bells.heard(pool("a")).now_or_never().is_none(), "it rang before anybody listened");
    }

    #[test]
    fn bells_that_nobody_hears_are_put_away() {
        let bells = Bells::default();

        for number in 0..3 * PUT_AWAY {
            drop(bells.heard(pool(&number.to_string())));
        }

        assert!(bells.bells().len() <= PUT_AWAY);
    }
}
