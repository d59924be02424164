//! A worker: takes runs of one pool, carries them out by functions of its own, and says how they went.
//!
//! ```no_run
//! use minutehand_client::Client;
//! use minutehand_client::worker::{Context, NotDone, Worker};
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! #[derive(Deserialize)]
//! struct Invoice {
//!     invoice: u64,
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://127.0.0.1:8080", "a key")?;
//! let worker = Worker::new(client, "web1").job("invoice.send", async |ctx: Context| {
//!     let Invoice { invoice } = ctx.payload()?;
//!     ctx.log(&format!("sending invoice {invoice}"));
//!     if invoice == 0 {
//!         return Err(NotDone::failed("no_such_invoice", "there is no invoice 0").for_good());
//!     }
//!     Ok(json!({ "sent": true }))
//! });
//! worker.run().await?;
//! # Ok(())
//! # }
//! ```
//!
//! What a handler returns is the run's result. An error fails the attempt, which is tried again as the job says; [`NotDone`] says
//! more. A handler is called again after a crash: what it does elsewhere is guarded by [`Context::idempotency_key`] or
//! [`Context::fence`].
//!
//! Leases are kept by a thread of the worker's own (`keeper`), so a handler that keeps the runtime's threads busy keeps its lease; it
//! keeps the runtime from everything else, though, and what computes for long belongs in [`tokio::task::spawn_blocking`].

mod context;
mod effect;
mod held;
mod keeper;
mod not_done;

use std::collections::BTreeMap;
use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use minutehand_wire::{LeaseRequest, LeaseView};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

pub use self::context::{Context, Inline};
pub use self::effect::Effect;
pub use self::not_done::NotDone;

use self::held::{Ended, Held};
use self::keeper::Keeper;
use crate::call::Call;
use crate::client::Client;
use crate::error::ClientError;

/// What the server gives at once.
const MOST_LEASES: usize = 100;
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Nothing but a poll takes longer than this.
const REQUEST: Duration = Duration::from_secs(10);
/// The largest body of a request that the server takes.
const BODY_BYTES: usize = 320 * 1024;

type Carried = Pin<Box<dyn Future<Output = Result<Box<RawValue>, NotDone>> + Send>>;
type Handler = Arc<dyn Fn(Context) -> Carried + Send + Sync>;

/// Takes runs of one pool and carries them out, some at a time.
#[must_use]
pub struct Worker {
    client: Client,
    pool: String,
    handlers: BTreeMap<String, Handler>,
    settings: Settings,
    stage: watch::Sender<Stage>,
}

#[derive(Clone, Debug)]
struct Settings {
    name: String,
    slots: usize,
    lease: Duration,
    wait: Duration,
    drain: Duration,
    grace: Duration,
}

/// How far it is with stopping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Working,
    /// No more runs are taken.
    Draining,
    /// Handlers are not waited for any more.
    Leaving,
}

/// Asks a worker to stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<Stage>);

/// What the worker has, and a bell for each change.
struct Hands {
    held: Mutex<Vec<Arc<Held>>>,
    changed: watch::Sender<usize>,
}

impl Worker {
    /// Its name is that of this machine and process, it has four slots, and a worker that is gone loses its runs after 30 s.
    pub fn new(client: Client, pool: &str) -> Self {
        let settings = Settings {
            name: usual_name(),
            slots: 4,
            lease: Duration::from_secs(30),
            wait: Duration::from_secs(5),
            drain: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        };
        let (stage, _) = watch::channel(Stage::Working);
        Self { client, pool: pool.to_owned(), handlers: BTreeMap::new(), settings, stage }
    }

    /// Under which it is known: the same name is the same worker.
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.settings.name);
        self
    }

    /// How many runs it carries out at a time.
    pub fn slots(mut self, slots: usize) -> Self {
        self.settings.slots = slots.max(1);
        self
    }

    /// For how long a run is its own after each heartbeat, in whole seconds.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// For how long it asks where there is nothing, in whole seconds; so long its end may take.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// When it is asked to stop, running handlers have `drain` to finish and, once they are told to stop, `grace` more.
    pub fn patience(mut self, drain: Duration, grace: Duration) -> Self {
        (self.settings.drain, self.settings.grace) = (drain, grace);
        self
    }

    /// The function carries out the runs of this handler.
    pub fn job<F, Fut, R>(mut self, handler: &str, carry_out: F) -> Self
    where
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, NotDone>> + Send + 'static,
        R: Serialize,
    {
        let boxed = move |ctx| -> Carried {
            let carrying = carry_out(ctx);
            Box::pin(async move {
                let result = carrying.await?;
                to_raw_value(&result).map_err(|error| NotDone::failed("result_not_json", &error.to_string()).for_good())
            })
        };
        self.handlers.insert(handler.to_owned(), Arc::new(boxed));
        self
    }

    /// Carries a handler out here and now, without a server, for your own tests.
    ///
    /// # Panics
    ///
    /// Where there is no such handler.
    pub async fn run_inline(
        &self,
        handler: &str,
        payload: &impl Serialize,
        checkpoint: Option<&RawValue>,
    ) -> (Result<Box<RawValue>, NotDone>, Inline) {
        let carry_out = self.handlers.get(handler).unwrap_or_else(|| panic!("there is no handler {handler}"));
        let payload = to_raw_value(payload).ok();
        let (ctx, notes) = Context::inline(handler, payload, checkpoint.map(ToOwned::to_owned));
        let done = carry_out(ctx).await;
        (done, notes.noted())
    }

    /// What asks it to stop, from anywhere.
    pub fn stop(&self) -> Stop {
        Stop(self.stage.clone())
    }

    /// Works until SIGTERM or SIGINT, then takes no more, lets handlers finish and hands the rest back. An error where the server
    /// will not have this worker.
    pub async fn run(self) -> Result<(), ClientError> {
        let stop = self.stop();
        let listening = tokio::spawn(stop_at_signals(stop));
        let done = self.run_until_stopped().await;
        listening.abort();
        done
    }

    /// The same, but only [`Stop`] stops it.
    pub async fn run_until_stopped(self) -> Result<(), ClientError> {
        if self.handlers.is_empty() {
            return Err(ClientError::Unsendable("a worker without a handler has nothing to do".to_owned()));
        }
        let hands = Arc::new(Hands { held: Mutex::default(), changed: watch::channel(0).0 });
        let keeper = Keeper::start(self.client.apart()?);
        let mut stage = self.stage.subscribe();
        let (taken, is_taking) = oneshot::channel::<()>();
        let taking = async {
            let refused = self.take(&hands, &keeper).await;
            drop(taken);
            self.stop().at_least(Stage::Draining);
            refused
        };
        let draining = async {
            let _stopped = stage.wait_for(|stage| *stage > Stage::Working).await.is_ok();
            self.let_finish(&hands, is_taking).await;
        };
        let (refused, ()) = tokio::join!(taking, draining);
        // What came with the last answer was handed back by the keeper.
        hands.until_empty(REQUEST).await;
        refused.map_or(Ok(()), Err)
    }

    /// Asks for runs until it is stopped, or the server will not have it.
    async fn take(&self, hands: &Arc<Hands>, keeper: &Keeper) -> Option<ClientError> {
        let (mut stage, mut wait) = (self.stage.subscribe(), FIRST_WAIT);
        loop {
            tokio::select! {
                biased;
                _ = stage.wait_for(|stage| *stage > Stage::Working) => return None,
                () = hands.room(self.settings.slots) => {}
            }
            // It is not given up when the worker is to stop: what its answer brings would be nobody's until its lease is over.
            let asked = tokio::select! {
                biased;
                _ = stage.wait_for(|stage| *stage == Stage::Leaving) => return None,
                asked = self.ask(self.settings.slots - hands.count()) => asked,
            };
            match asked {
                Ok(leases) => {
                    wait = FIRST_WAIT;
                    for lease in leases {
                        self.begin(lease, hands, keeper);
                    }
                }
                Err(why) if is_final(&why) => return Some(why),
                Err(why) => {
                    let pause = why
                        .retry_after()
                        .map_or(wait, Duration::from_secs)
                        .min(LONGEST_WAIT)
                        .mul_f64(1.0 + chance() / 4.0);
                    warn!(%why, seconds = pause.as_secs_f32(), "no answer, asked again");
                    let _stopped = timeout(pause, stage.wait_for(|stage| *stage > Stage::Working)).await.is_ok();
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
    }

    async fn ask(&self, free: usize) -> Result<Vec<LeaseView>, ClientError> {
        let request = LeaseRequest {
            handlers: Some(self.handlers.keys().cloned().collect()),
            max: Some(free.clamp(1, MOST_LEASES) as u64),
            wait_seconds: Some(self.settings.wait.as_secs()),
            lease_seconds: Some(self.settings.lease.as_secs()),
            ..self.request()
        };
        self.client.lease_runs(&request).await.map(|view| view.leases)
    }

    fn request(&self) -> LeaseRequest {
        LeaseRequest {
            pool: self.pool.clone(),
            worker_id: self.settings.name.clone(),
            handlers: None,
            max: None,
            wait_seconds: None,
            lease_seconds: None,
            slots: Some(self.settings.slots as u64),
            draining: false,
        }
    }

    fn begin(&self, lease: LeaseView, hands: &Arc<Hands>, keeper: &Keeper) {
        let handler = self.handlers.get(&lease.handler).filter(|_| *self.stage.borrow() == Stage::Working).cloned();
        let held = Arc::new(Held::new(lease, self.settings.lease));
        hands.take(&held);
        keeper.keep(Arc::clone(&held), Arc::clone(hands));
        match handler {
            Some(handler) => drop(tokio::spawn(carry_out(handler, held, self.client.clone(), self.settings.grace))),
            // It came when nobody was to have it any more.
            None => held.end(Ended::HandedBack),
        }
    }

    /// Lets handlers finish, tells those that do not to stop, and hands back what is left.
    async fn let_finish(&self, hands: &Hands, is_taking: oneshot::Receiver<()>) {
        info!(runs = hands.count(), "stopping: no more runs are taken");
        let saying = self.say_draining();
        let finishing = async {
            self.patiently(hands, self.settings.drain).await;
            // The open request is over before anything is handed back, or it would bring just that.
            let _taken = is_taking.await.is_ok();
            hands.each(Held::leave);
            self.patiently(hands, self.settings.grace).await;
            hands.each(|held| held.end(Ended::HandedBack));
            hands.until_empty(REQUEST).await;
        };
        tokio::join!(saying, finishing);
    }

    /// Until nothing is held, or for so long, or until somebody asks again.
    async fn patiently(&self, hands: &Hands, most: Duration) {
        let mut stage = self.stage.subscribe();
        tokio::select! {
            () = hands.until_empty(most) => {}
            _ = stage.wait_for(|stage| *stage == Stage::Leaving) => {}
        }
    }

    async fn say_draining(&self) {
        let request = LeaseRequest { draining: true, ..self.request() };
        if let Ok(Err(why)) = timeout(REQUEST, self.client.lease_runs(&request)).await {
            info!(%why, "that this worker is draining could not be said");
        }
    }
}

impl Stop {
    /// No more runs are taken, and those under way may finish. A second time: they are handed back now.
    pub fn stop(&self) {
        let next = if *self.0.borrow() == Stage::Working { Stage::Draining } else { Stage::Leaving };
        self.at_least(next);
    }

    fn at_least(&self, stage: Stage) {
        self.0.send_if_modified(|now| {
            let is_later = stage > *now;
            *now = stage.max(*now);
            is_later
        });
    }
}

impl Hands {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) -> usize {
        self.lock().len()
    }

    fn take(&self, held: &Arc<Held>) {
        self.lock().push(Arc::clone(held));
        self.changed.send_replace(self.count());
    }

    fn leave(&self, held: &Arc<Held>) {
        self.lock().retain(|other| !Arc::ptr_eq(other, held));
        self.changed.send_replace(self.count());
    }

    fn each(&self, tell: impl Fn(&Held)) {
        let all = self.lock().clone();
        for held in all {
            tell(&held);
        }
    }

    async fn room(&self, slots: usize) {
        let mut changed = self.changed.subscribe();
        let _there = changed.wait_for(|count| *count < slots).await.is_ok();
    }

    async fn until_empty(&self, most: Duration) {
        let mut changed = self.changed.subscribe();
        let _in_time = timeout(most, changed.wait_for(|count| *count == 0)).await.is_ok();
    }
}

/// Carries one run out and says how it went. One whose lease is lost and that does not stop by itself is dropped.
async fn carry_out(handler: Handler, held: Arc<Held>, client: Client, grace: Duration) {
    let mut carrying = tokio::spawn(handler(held.context(client)));
    let given_up = async {
        held.lost().await;
        sleep(grace).await;
    };
    let ended = tokio::select! {
        done = &mut carrying => match done {
            Ok(done) => held.outcome(done),
            Err(panic) => held.outcome(Err(NotDone::failed("panic", &panic.to_string()))),
        },
        () = given_up => {
            carrying.abort();
            Ended::HandedBack
        }
    };
    held.end(ended);
}

/// Sends it. The server refuses a larger one before it has read it, and closes the connection: that would look like a broken network.
async fn send<T: DeserializeOwned>(client: &Client, call: &Call<T>) -> Result<T, ClientError> {
    let bytes = call.body().map_or(0, str::len);
    if bytes > BODY_BYTES {
        let why = format!("a request has at most {BODY_BYTES} bytes, and this one has {bytes}");
        return Err(ClientError::Unsendable(why));
    }
    client.send(call).await?.read()
}

/// The server would say so again.
fn is_final(why: &ClientError) -> bool {
    match why {
        ClientError::Refused(no) => !matches!(no.problem.status, 408 | 429 | 500..),
        ClientError::Unsendable(_) => true,
        ClientError::Unreachable { .. } | ClientError::Unreadable { .. } => false,
    }
}

/// From 0 to 1, so that workers do not ask all at once. The standard library seeds its hashes by chance.
fn chance() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(0) >> 32).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

/// Each of them asks once.
#[cfg(unix)]
async fn stop_at_signals(stop: Stop) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return;
    };
    loop {
        tokio::select! {
            _ = term.recv() => stop.stop(),
            _ = int.recv() => stop.stop(),
        }
    }
}

#[cfg(not(unix))]
async fn stop_at_signals(stop: Stop) {
    while tokio::signal::ctrl_c().await.is_ok() {
        stop.stop();
    }
}

/// Of this machine and process.
fn usual_name() -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| std::env::var("HOSTNAME"));
    let host: String = host.unwrap_or_default().trim().chars().filter(kept).take(48).collect();
    format!("{}-{}", if host.is_empty() { "worker" } else { &host }, std::process::id())
}
