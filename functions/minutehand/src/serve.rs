//! `minutehand serve`: the API, the sweeper and the executor in one process, over a file, memory, or AWS.

use std::path::Path;
use std::sync::Arc;

use minutehand_api::Backups;
use minutehand_io::chance::{Chance as _, SystemChance};
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::events::Log;
use minutehand_io::metrics::measured::Measured;
use minutehand_io::metrics::series::Series;
use minutehand_io::spans::Spanned;
use minutehand_io::store::embedded::{Embedded, Engine, FileStore, MemoryStore, owner_only};
use minutehand_io::targets::http::HttpCaller;
use minutehand_io::vault::key_file::KeyFile;
use minutehand_otel::Exporter;
use prometheus::Registry;

use crate::admin_key::AdminKey;
use crate::archive::Archive;
use crate::arguments::Serve;
use crate::backing_up::backups;
use crate::drain::Drain;
use crate::exporting::{self, exporter};
use crate::host::{Drained, Host, listen};
use crate::local::Local;
use crate::metrics;
#[cfg(feature = "aws")]
use crate::on_aws::on_aws;
use crate::open_files;
use crate::serve_error::ServeError;
use crate::sweeping::{begin_anew, sweeping};
use crate::targets;
use crate::tidying::tidying;

/// Runs until SIGTERM or ctrl-c, or until the store fails.
pub(crate) async fn serve(options: &Serve) -> Result<Drained, ServeError> {
    open_files::raise_their_limit();
    if options.aws {
        #[cfg(feature = "aws")]
        return on_aws(options).await;
        #[cfg(not(feature = "aws"))]
        return Err(ServeError::NoAws);
    }
    if options.memory {
        let key = AdminKey::settle(options.key.as_deref(), None)?;
        let keeps = "everything in memory: it is gone when this process ends";
        let store = Arc::new(MemoryStore::in_memory());
        return embedded(store, KeyFile::in_memory(), options, &key, keeps, (None, std::future::pending())).await;
    }
    let directory = &options.data;
    let opened = FileStore::open(directory).map_err(|why| ServeError::Store { directory: directory.clone(), why })?;
    let store = Arc::new(opened);
    let backups = Some(backups(&store));
    let key = AdminKey::settle(options.key.as_deref(), Some(directory))?;
    let failed = { Arc::clone(&store) };
    let keeps = format!("everything in {}", directory.display());
    let vault = KeyFile::beside(directory);
    embedded(store, vault, options, &key, &keeps, (backups, async move { failed.failed().await })).await
}

async fn embedded<E: Engine>(
    store: Arc<Embedded<E>>,
    vault: KeyFile,
    options: &Serve,
    key: &AdminKey,
    keeps: &str,
    (backups, failed): (Option<Backups>, impl Future<Output = String>),
) -> Result<Drained, ServeError> {
    let listener = listen(options.listen).await?;
    let registry = Registry::new();
    let http = HttpCaller::new(options.reach())?;
    let declared = targets::declared(options.targets.as_deref())?;
    let services = targets::calling_if_any(&declared).await?;
    let series = Arc::new(Series::of_a_host(&registry)?);
    let exporter = exporter(options, series.clone())?;
    let spans = exporter.as_ref().map(Exporter::spans);
    let events = Measured::new(Spanned::new(Log, spans), series);
    let ports = Arc::new(Local::new(store, http, services, vault, events).sampling(options.trace_ratio));
    metrics::watch(&registry, &ports)?;
    begin_anew(&ports).await?;
    if !options.memory {
        owner_only::warn_of_wider(&options.data);
    }
    let metrics = metrics::exposed(registry, options, &*ports).await?;
    let exporting = exporter.map(|exporter| exporting::start(exporter, &ports, &metrics));
    let host = Host { options, key, keeps, reach: options.reach(), declared, metrics, backups };
    let archive = options.archive.as_deref().map(archive).transpose()?;
    let swept = Arc::clone(&ports);
    let sweeping = |drain: Drain| async move {
        tokio::join!(sweeping(Arc::clone(&swept), drain.clone()), tidying(swept, archive, drain));
    };
    let ended = host.run(ports, listener, sweeping, failed).await;
    exporting::stop(exporting, &ended).await;
    ended
}

fn archive(directory: &Path) -> Result<Archive, ServeError> {
    let opened = Archive::open(directory, SystemClock.now(), SystemChance.number());
    opened.map_err(|why| ServeError::Archive { directory: directory.to_owned(), why })
}
