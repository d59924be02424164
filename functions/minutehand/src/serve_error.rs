//! Errors that keep `minutehand serve` from starting or end it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use minutehand_api::MOST_WATCHED;
use minutehand_io::Fault;
use minutehand_io::store::embedded::{NotDiscarded, OpenError};
use minutehand_io::targets::DeclarationError;
use thiserror::Error;
use tokio::task::JoinError;

use crate::admin_key::KeyError;
use crate::tls::TlsError;

#[derive(Debug, Error)]
pub(crate) enum ServeError {
    #[error("cannot use the store in {directory}: {why}", directory = directory.display())]
    Store { directory: PathBuf, why: OpenError },
    #[error("there is no store in {}", .0.display())]
    NoDirectory(PathBuf),
    #[error("{key} is not discarded: {why}")]
    NotDiscarded { key: String, why: NotDiscarded },
    #[error("there is no archive in {}", .0.display())]
    NoArchive(PathBuf),
    #[error("cannot use the archive in {directory}: {why}", directory = directory.display())]
    Archive { directory: PathBuf, why: io::Error },
    #[cfg(not(feature = "aws"))]
    #[error("this binary was built without AWS: `cargo run --features aws -- serve --aws` builds one with it")]
    NoAws,
    #[cfg(not(feature = "aws"))]
    #[error(
        "targets of AWS are declared, and this binary was built without AWS: `cargo build --release --features aws` builds one with it"
    )]
    TargetsWithoutAws,
    #[cfg(feature = "aws")]
    #[error(transparent)]
    Services(#[from] minutehand_cloud::ServicesError),
    #[error(transparent)]
    Targets(#[from] DeclarationError),
    #[error("cannot read the targets in {path}: {why}")]
    TargetsFile { path: String, why: io::Error },
    #[cfg(feature = "aws")]
    #[error(transparent)]
    Setting(#[from] minutehand_cloud::SettingError),
    #[error("{0} jobs are to be watched one by one: at most {MOST_WATCHED} may be, as each is a series of its own")]
    TooManyWatched(usize),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot listen on {address}: {why}")]
    Listen { address: SocketAddr, why: io::Error },
    #[error("stopped, because the store can no longer be written: {0}")]
    StoreFailed(String),
    #[error("stopped, because of a mistake in the program, which went on with nothing more: {0}")]
    Panicked(JoinError),
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error(transparent)]
    Metrics(#[from] prometheus::Error),
    #[error(transparent)]
    Export(#[from] minutehand_otel::ExportError),
    #[error(transparent)]
    ExportSetting(#[from] minutehand_otel::SettingError),
    #[error(transparent)]
    Io(#[from] io::Error),
}
