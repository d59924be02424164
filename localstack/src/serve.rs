//! `minutehand serve`: the API, the sweeper and the executor in one process, over a file or memory.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use minutehand_api::{Api, Keyring, TargetCheck, router};
use minutehand_domain::id::Tenant;
use minutehand_io::Fault;
use minutehand_io::store::embedded::{Embedded, Engine, FileStore, MemoryStore, OpenError};
use minutehand_io::targets::Callers;
use minutehand_io::targets::http::{HttpCaller, Reach, check_target};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::admin_key::{AdminKey, KeyError};
use crate::arguments::Serve;
use crate::drain::{self, Drain};
use crate::executing::executing;
use crate::local::Local;
use crate::sweeping::{start_over, sweeping};
use crate::welcome::welcome;

/// Whose the admin key is: one machine has one tenant until it is told of more.
const TENANT: &str = "default";

/// On one machine targets on loopback and in private networks are what people try first.
const REACH: Reach = Reach::Local;

#[derive(Debug, Error)]
pub(crate) enum ServeError {
    #[error("cannot use the store in {directory}: {why}", directory = directory.display())]
    Store { directory: PathBuf, why: OpenError },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("cannot listen on {address}: {why}")]
    Listen { address: SocketAddr, why: io::Error },
    #[error("stopped, because the store can no longer be written: {0}")]
    StoreFailed(String),
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs until SIGTERM or ctrl-c, or until the store fails.
pub(crate) async fn serve(wanted: &Serve) -> Result<(), ServeError> {
    if wanted.memory {
        let key = AdminKey::settle(wanted.key.as_deref(), None)?;
        let keeps = "everything in memory: it is gone when this process ends";
        return host(Arc::new(MemoryStore::in_memory()), wanted, &key, keeps, std::future::pending()).await;
    }
    let directory = &wanted.data;
    let opened = FileStore::open(directory).map_err(|why| ServeError::Store { directory: directory.clone(), why })?;
    let store = Arc::new(opened);
    let key = AdminKey::settle(wanted.key.as_deref(), Some(directory))?;
    let failed = { Arc::clone(&store) };
    let keeps = format!("everything in {}", directory.display());
    host(store, wanted, &key, &keeps, async move { failed.failed().await }).await
}

/// Hosts the three handlers on one store.
async fn host<E: Engine>(
    store: Arc<Embedded<E>>,
    wanted: &Serve,
    key: &AdminKey,
    keeps: &str,
    failed: impl Future<Output = String>,
) -> Result<(), ServeError> {
    let listener = listen(wanted.listen).await?;
    let doors = Arc::new(Local::new(store, Callers::new(HttpCaller::new(REACH)?)));
    start_over(&doors).await?;
    writeln!(io::stdout(), "{}", welcome(listener.local_addr()?, key, keeps))?;

    let (signal, drain) = drain::signal();
    let handlers = tokio::spawn(handle(doors, listener, key.key.clone(), wanted.at_once, drain));
    tokio::select! {
        why = failed => return Err(ServeError::StoreFailed(why)),
        told = told_to_stop() => told?,
    }
    tracing::info!(seconds = wanted.drain_seconds, "draining: running attempts may finish");
    signal.go(Duration::from_secs(wanted.drain_seconds));
    tokio::select! {
        // What was handed back must be written, too: give that as long again.
        () = tokio::time::sleep(Duration::from_secs(2 * wanted.drain_seconds + 1)) => {
            tracing::warn!("some attempts would not end; their leases will");
        }
        _ended = handlers => {}
        told = told_to_stop() => told?,
    }
    Ok(())
}

async fn handle<E: Engine>(
    doors: Arc<Local<Embedded<E>>>,
    listener: TcpListener,
    key: String,
    at_once: u32,
    drain: Drain,
) {
    let keys = Keyring::single(&key, Tenant::new(TENANT).expect("a word"));
    let api = Api { doors: Arc::clone(&doors), keys, target_check: TargetCheck::new(|target| check_target(target, REACH)) };
    let stop = drain.clone();
    let serving = axum::serve(listener, router(api)).with_graceful_shutdown(async move { stop.draining().await });
    let executing = executing(Arc::clone(&doors), at_once, drain.clone());
    let (served, (), ()) = tokio::join!(serving, executing, sweeping(doors, drain));
    if let Err(error) = served {
        tracing::error!(%error, "the HTTP API has ended");
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|why| ServeError::Listen { address, why })
}

async fn told_to_stop() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _term = terminate.recv() => Ok(()),
        interrupt = tokio::signal::ctrl_c() => interrupt,
    }
}
