//! The keeper: a thread with a runtime of its own that keeps the worker's leases, whatever the handlers do to theirs.

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::Hands;
use super::held::Held;
use crate::client::Client;

/// The thread ends with it.
pub(super) struct Keeper {
    runtime: Handle,
    client: Client,
    _alive: oneshot::Sender<()>,
}

impl Keeper {
    /// With connections of its own: those of another runtime stand still when that one does.
    pub(super) fn start(client: Client) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("the operating system gives a runtime");
        let handle = runtime.handle().clone();
        let (alive, is_over) = oneshot::channel();
        thread::Builder::new()
            .name("minutehand-leases".to_owned())
            .spawn(move || runtime.block_on(is_over))
            .expect("the operating system gives a thread");
        Self { runtime: handle, client, _alive: alive }
    }

    /// Keeps it until it has ended, and takes it out of the worker's hands.
    pub(super) fn keep(&self, held: Arc<Held>, hands: Arc<Hands>) {
        let client = self.client.clone();
        self.runtime.spawn(async move {
            held.live(&client).await;
            hands.leave(&held);
        });
    }
}
