//! Places: the open connections, and who holds them: a tenant, once a request has shown a key of it; before, the source.
//!
//! While there are free places nobody is asked for theirs. When all are taken, a new connection takes the place of the one
//! without a request that has been so for the longest, of the client that holds the most of those. And so that there is always one
//! without a request, a tenant may have requests under way on a part of all connections only: an answer that waits to be read keeps its place for
//! a tenant within that part, and for nobody else.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_api::{Seat, Source};
use minutehand_domain::id::Tenant;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// While every connection has a request, how soon after one of them has none the next new connection is let in.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

pub(super) struct Places {
    all: u32,
    free: Arc<Semaphore>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Connection>,
}

struct Connection {
    holder: Holder,
    /// A request is under way.
    is_busy: bool,
    /// Since when that is so, or not.
    since: Instant,
    /// Its place was given to another, and it is told to go.
    is_given_up: bool,
    told: Arc<Notify>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Source(Source),
    Tenant(Tenant),
}

/// One connection's, until it is dropped.
pub(super) struct Place {
    id: u64,
    places: Arc<Places>,
    told: Arc<Notify>,
    /// Its request is of a tenant that has no more of them under way than it may.
    is_within_share: AtomicBool,
    /// Of its answer nothing more comes than what waits to be written.
    is_whole: AtomicBool,
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(all: u32) -> Arc<Self> {
        Arc::new(Self { all, free: Arc::new(Semaphore::new(all as usize)), open: Mutex::default() })
    }

    /// A place for a new connection; while all have requests under way it waits.
    pub(super) async fn enter(self: &Arc<Self>, source: Source) -> Place {
        let permit = self.permit().await;
        let told = Arc::new(Notify::new());
        let connection = Connection {
            holder: Holder::Source(source),
            is_busy: false,
            since: Instant::now(),
            is_given_up: false,
            told: Arc::clone(&told),
        };
        let id = self.locked().add(connection);
        let (places, is_within_share, is_whole) = (Arc::clone(self), AtomicBool::new(false), AtomicBool::new(false));
        Place { id, places, told, is_within_share, is_whole, _permit: permit }
    }

    async fn permit(&self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                return permit;
            }
            self.locked().make_room();
            if let Ok(permit) = timeout(LOOK_AGAIN, Arc::clone(&self.free).acquire_owned()).await {
                return permit.expect("nobody closes it");
            }
        }
    }

    /// Until all are gone.
    pub(super) async fn empty(&self) {
        let _all_of_them = self.free.acquire_many(self.all).await;
    }

    /// Requests under way of one tenant: three quarters, so that there is always room for another's.
    fn share(&self) -> usize {
        (self.all as usize * 3 / 4).max(1)
    }

    fn locked(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn add(&mut self, connection: Connection) -> u64 {
        self.next += 1;
        self.connections.insert(self.next, connection);
        self.next
    }

    fn make_room(&mut self) {
        if self.connections.values().any(|connection| connection.is_given_up) {
            return;
        }
        if let Some(victim) = self.victim().and_then(|id| self.connections.get_mut(&id)) {
            victim.is_given_up = true;
            victim.told.notify_one();
        }
    }

    /// Of the client that holds the most without a request, the one that has been so for the longest.
    fn victim(&self) -> Option<u64> {
        let idle = || self.connections.iter().filter(|(_, connection)| !connection.is_busy);
        let mut held = HashMap::<&Holder, usize>::new();
        for (_, connection) in idle() {
            *held.entry(&connection.holder).or_default() += 1;
        }
        let most = held.values().copied().max()?;
        let of_the_most = idle().filter(|(_, connection)| held.get(&connection.holder) == Some(&most));
        of_the_most.map(|(id, connection)| (connection.since, *id)).min().map(|(_, id)| id)
    }

    /// How many requests of this holder are under way.
    fn busy(&self, holder: &Holder) -> usize {
        self.connections.values().filter(|connection| connection.is_busy && connection.holder == *holder).count()
    }
}

impl Place {
    /// A request has come: the connection stays until it is answered. Of the answer before some may still wait to be written.
    pub(super) fn request_begins(&self) {
        self.is_within_share.store(false, Ordering::Relaxed);
        self.is_whole.store(false, Ordering::Relaxed);
        self.with(|connection| {
            (connection.is_busy, connection.since, connection.is_given_up) = (true, Instant::now(), false);
        });
    }

    /// An answer without a key, or past its tenant's share, keeps no place: clients that read none of their answers would hold all places.
    pub(super) fn answer_begins(&self) {
        if !self.is_within_share.load(Ordering::Relaxed) {
            self.request_is_answered();
        }
    }

    pub(super) fn answer_is_whole(&self) {
        self.is_whole.store(true, Ordering::Relaxed);
    }

    /// All that there was is written: where that was the whole answer, the connection is without a request.
    pub(super) fn all_is_written(&self) {
        if self.is_whole.swap(false, Ordering::Relaxed) {
            self.request_is_answered();
        }
    }

    fn request_is_answered(&self) {
        self.with(|connection| (connection.is_busy, connection.since) = (false, Instant::now()));
    }

    /// Until its place is given to another. A request that begins before it is told so keeps it.
    pub(super) async fn is_given_up(&self) {
        loop {
            self.told.notified().await;
            let mut is_given_up = false;
            self.with(|connection| is_given_up = connection.is_given_up);
            if is_given_up {
                return;
            }
        }
    }

    fn with(&self, act: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.places.locked().connections.get_mut(&self.id) {
            act(connection);
        }
    }
}

impl Seat for Place {
    fn is_taken_by(&self, tenant: &Tenant) -> bool {
        let holder = Holder::Tenant(tenant.clone());
        let mut open = self.places.locked();
        if let Some(connection) = open.connections.get_mut(&self.id) {
            connection.holder = holder.clone();
        }
        let is_within_share = open.busy(&holder) <= self.places.share();
        self.is_within_share.store(is_within_share, Ordering::Relaxed);
        is_within_share
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.locked().connections.remove(&self.id);
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} places are free", self.free.available_permits(), self.all)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn source(last: u8) -> Source {
        Source::of(Ipv4Addr::new(10, 0, 0, last).into())
    }

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    /// A connection with a request of this tenant under way.
    async fn busy(places: &Arc<Places>, name: &str) -> (Place, bool) {
        let place = places.enter(source(1)).await;
        place.request_begins();
        let may = place.is_taken_by(&tenant(name));
        (place, may)
    }

    /// A connection with a request of nobody's under way.
    async fn keyless(places: &Arc<Places>) -> Place {
        let place = places.enter(source(1)).await;
        place.request_begins();
        place
    }

    /// A connection whose one request of this tenant is over.
    async fn idle(places: &Arc<Places>, name: &str) -> Place {
        let (place, _) = busy(places, name).await;
        place.request_is_answered();
        tokio::time::advance(Duration::from_millis(1)).await;
        place
    }

    async fn must_go(place: &Place) -> bool {
        timeout(Duration::ZERO, place.is_given_up()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn of_whoever_holds_the_most_the_longest_idle_one_goes() {
        let places = Places::new(6);
        let quiet = [idle(&places, "quiet").await, idle(&places, "quiet").await];
        let mut noisy = Vec::new();
        for _ in 0..4 {
            noisy.push(idle(&places, "noisy").await);
        }
        noisy[0].request_begins();

        let entering = tokio::spawn({
            let places = Arc::clone(&places);
            async move { places.enter(source(2)).await }
        });
        tokio::task::yield_now().await;

        assert!(must_go(&noisy[1]).await);
        for stays in quiet.iter().chain([&noisy[0], &noisy[2], &noisy[3]]) {
            assert!(!must_go(stays).await);
        }
        drop(noisy.remove(1));
        assert_eq!(entering.await.unwrap().id, 7);
    }

    #[tokio::test(start_paused = true)]
    async fn who_shows_no_key_gives_way_to_newer_ones_of_the_same_source_first() {
        let places = Places::new(3);
        let silent = [places.enter(source(1)).await, places.enter(source(1)).await];
        let other = places.enter(source(2)).await;

        places.locked().make_room();

        assert!(must_go(&silent[0]).await);
        assert!(!must_go(&silent[1]).await && !must_go(&other).await);
        assert!(places.locked().victim().is_some());
    }

    /// Its client has not been told yet, so the request must be answered.
    #[tokio::test(start_paused = true)]
    async fn a_request_that_begins_just_before_keeps_its_place() {
        let places = Places::new(1);
        let place = idle(&places, "one").await;
        places.locked().make_room();

        place.request_begins();

        assert!(!must_go(&place).await);
        assert_eq!(places.locked().victim(), None);
    }

    /// Removed, one after the other: that answers without a key, past a share, and without a key on a connection that had shown one, keep no place.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_reads_keeps_its_place_for_a_tenant_within_its_share_only() {
        let places = Places::new(4);
        let mut within = Vec::new();
        for _ in 0..3 {
            within.push(busy(&places, "noisy").await.0);
        }
        let (past, may) = busy(&places, "noisy").await;
        assert!(!may);
        within.iter().chain([&past]).for_each(Place::answer_begins);
        assert_eq!(places.locked().victim(), Some(past.id));
        drop(past);

        let keyless = keyless(&places).await;
        assert_eq!(places.locked().victim(), None, "it is not answered yet");
        keyless.answer_begins();
        assert_eq!(places.locked().victim(), Some(keyless.id));
        drop(keyless);

        within[0].request_begins();
        within.iter().for_each(Place::answer_begins);
        assert_eq!(places.locked().victim(), Some(within[0].id));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_requests_under_way_on_three_quarters_of_the_connections_at_most() {
        let places = Places::new(8);
        let mut noisy = Vec::new();
        for _ in 0..7 {
            noisy.push(busy(&places, "noisy").await);
        }

        let may: Vec<bool> = noisy.iter().map(|(_, may)| *may).collect();
        assert_eq!(may, [true, true, true, true, true, true, false]);
        assert!(busy(&places, "quiet").await.1);
        noisy.truncate(5);
        assert!(busy(&places, "noisy").await.1);
    }
}
