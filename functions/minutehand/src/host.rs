//! The host: runs the three handlers in one process until it is stopped, and then until running attempts have ended or are
//! given back.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use minutehand_api::{Api, Backups, Keyring, Metrics, TargetCheck, router};
use minutehand_domain::id::Tenant;
use minutehand_io::Ports;
use minutehand_io::queues::Inbox;
use minutehand_io::targets::Declared;
use minutehand_io::targets::http::{Reach, check_target};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::admin_key::AdminKey;
use crate::arguments::Serve;
use crate::drain::{self, Drain};
use crate::executing::executing;
use crate::front::{self, Bounds};
use crate::limiting::limit_tenants;
use crate::proxied;
use crate::serve_error::ServeError;
use crate::tls::{self, Tls};
use crate::welcome::welcome;

/// How a process came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    Whole,
    /// Somebody asked twice.
    CutShort,
}

/// One process that hosts the three handlers.
pub(crate) struct Host<'a> {
    pub(crate) options: &'a Serve,
    pub(crate) key: &'a AdminKey,
    pub(crate) keeps: &'a str,
    /// The addresses that targets may have.
    pub(crate) reach: Reach,
    /// What jobs may call by an alias.
    pub(crate) declared: Declared,
    pub(crate) metrics: Metrics,
    /// None where nothing is kept in a file.
    pub(crate) backups: Option<Backups>,
}

impl Host<'_> {
    pub(crate) async fn run<D, S>(
        &self,
        ports: Arc<D>,
        listener: TcpListener,
        sweeping: impl FnOnce(Drain) -> S,
        failed: impl Future<Output = String>,
    ) -> Result<Drained, ServeError>
    where
        D: Ports,
        D::Queues: Inbox,
        S: Future<Output: Send> + Send + 'static,
    {
        let tls = self.options.tls_files().map(Tls::read).transpose()?.map(Arc::new);
        limit_tenants(&*ports).await?;
        let address = listener.local_addr()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        // Before anybody is told that it is there: whoever reads that may stop it at once.
        let mut stop = Stop::listened_for()?;
        if tls.is_none() && !address.ip().to_canonical().is_loopback() {
            tracing::warn!(
                "the API speaks plain HTTP, and other machines reach it: whoever is on the way reads keys. Start it with --tls-cert and \
                 --tls-key, or put a proxy before it that speaks TLS"
            );
        }
        writeln!(io::stdout(), "{}", welcome(&format!("{scheme}://{address}"), self.key, self.keeps, self.reach))?;
        let (signal, drain) = drain::signal();
        let (sweeping, key, at_once) = (sweeping(drain.clone()), self.key.key.as_str(), self.options.at_once);
        let router = self.router(Arc::clone(&ports), key);
        let mut handlers = tokio::spawn(async move {
            let _each_at_its_end = tokio::join!(
                front::answering(listener, router, Bounds::of_this_process(), tls.clone(), drain.clone()),
                tls::watching(tls.clone(), drain.clone()),
                executing(ports, at_once, drain),
                sweeping
            );
        });
        if let Err(why) = until_asked(&mut handlers, failed, &mut stop).await {
            handlers.abort();
            signal.go(Duration::ZERO); // nor is what connections and attempts under way would say now
            return Err(why);
        }
        let patience = self.options.drain_seconds;
        tracing::info!(seconds = patience, "draining: running attempts may finish");
        signal.go(Duration::from_secs(patience));
        tokio::select! {
            // Attempts that are given back must be recorded, too: allow as long again.
            () = tokio::time::sleep(Duration::from_secs(2 * patience + 2)) => {
                tracing::warn!("some attempts would not end; their leases will");
            }
            ended = handlers => ended.map_err(ServeError::Panicked)?,
            () = stop.comes() => return Ok(Drained::CutShort),
        }
        Ok(Drained::Whole)
    }

    fn router<D: Ports>(&self, ports: Arc<D>, key: &str) -> Router {
        let (reach, keys) = (self.reach, Keyring::single(key, Tenant::deployment()));
        let target_check = TargetCheck::new(move |target| check_target(target, reach)).declaring(self.declared.clone());
        let router = router(Api {
            ports,
            keys,
            target_check,
            metrics: Some(self.metrics.clone()),
            backups: self.backups.clone(),
        });
        if self.options.assumes_that_its_users_are_here() { proxied::warned_of(router) } else { router }
    }
}

/// Serves until somebody asks the process to end, or until it cannot go on. Handlers end by themselves only where one of them panics, and the others
/// with it: a process that then stayed would answer nobody and keep its store from the next.
async fn until_asked(
    handlers: &mut JoinHandle<()>,
    failed: impl Future<Output = String>,
    stop: &mut Stop,
) -> Result<(), ServeError> {
    tokio::select! {
        why = failed => Err(ServeError::StoreFailed(why)),
        ended = handlers => ended.map_err(ServeError::Panicked),
        () = stop.comes() => Ok(()),
    }
}

/// What asks a process to end: a signal that comes from now on is heard whenever somebody waits for it.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
    /// Where a file may grow no more the writer is told so, and says it; unheard, this signal ends a process without a word.
    _file_limit: Signal,
}

/// `SIGXFSZ`.
const FILE_LIMIT: i32 = 25;

impl Stop {
    fn listened_for() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _file_limit: signal(SignalKind::from_raw(FILE_LIMIT))?,
        })
    }

    async fn comes(&mut self) {
        tokio::select! {
            _term = self.terminate.recv() => {}
            _int = self.interrupt.recv() => {}
        }
    }
}

/// The next one that comes.
pub(crate) async fn stop_signal() -> io::Result<()> {
    Stop::listened_for()?.comes().await;
    Ok(())
}

pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|why| ServeError::Listen { address, why })
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// Without the arm that waits for the handlers this waits for a signal, and for ever.
    #[tokio::test]
    async fn a_process_whose_handlers_panic_ends_and_says_so() {
        let mut stop = Stop::listened_for().unwrap();
        let mut handlers = tokio::spawn(async { panic!("one of them met what cannot be") });
        let ended = until_asked(&mut handlers, pending(), &mut stop).await;
        let why = ended.expect_err("nobody asked for it").to_string();
        assert!(why.contains("one of them met what cannot be"), "{why}");
    }

    #[tokio::test]
    async fn a_process_whose_store_fails_ends_and_says_why() {
        let mut stop = Stop::listened_for().unwrap();
        let mut handlers = tokio::spawn(pending());
        let ended = until_asked(&mut handlers, async { "no space left".to_owned() }, &mut stop).await;
        assert!(matches!(ended, Err(ServeError::StoreFailed(why)) if why == "no space left"));
    }
}
