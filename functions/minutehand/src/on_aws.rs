//! On AWS: the same three handlers over DynamoDB, SQS and EventBridge, at the usual AWS settings or another endpoint. Other
//! processes and the deployed functions may do the same work at the same time.

use std::sync::Arc;
use std::time::Duration;

use minutehand_cloud::{Cloud, Environment, NoTargets, Settings, aws};
use minutehand_io::metrics::series::Series;
use minutehand_io::store::dynamo::DynamoStore;
use minutehand_io::targets::Callers;
use minutehand_io::targets::http::HttpCaller;
use minutehand_otel::Exporter;
use prometheus::Registry;

use crate::admin_key::AdminKey;
use crate::arguments::Serve;
use crate::drain::Drain;
use crate::exporting::{self, exporter};
use crate::host::{Drained, Host, listen};
use crate::metrics;
use crate::serve_error::ServeError;
use crate::sweeping::sweeping_each_minute;
use crate::targets::{self, Services};

const FLUSH_EACH: Duration = Duration::from_secs(1);

pub(crate) async fn on_aws(options: &Serve) -> Result<Drained, ServeError> {
    let environment = Environment::of_this_process();
    let settings = Settings { sampling: options.trace_ratio, ..Settings::read(&environment)? };
    let reach = environment.bounded(options.reach());
    let keeps = format!("everything in the tables {} and {}", settings.tables.state, settings.tables.timers);
    let key = AdminKey::settle(options.key.as_deref(), None)?;
    let listener = listen(options.listen).await?;
    let http = HttpCaller::new(reach)?;
    let (aws, declared) = (aws().await, targets::declared(options.targets.as_deref())?);
    let services = targets::calling(declared.clone(), &aws)?;
    let ports = Cloud::new(settings, &aws, NoTargets).calling(|store| Callers::with(http, services, store));
    let registry = Registry::new();
    let series = Arc::new(Series::of_a_host(&registry)?);
    let exporter = exporter(options, series.clone())?;
    let ports = Arc::new(ports.observed(series, exporter.as_ref().map(Exporter::spans)));
    let sweeper = Arc::clone(&ports);
    let sweeping = move |drain: Drain| async move {
        tokio::join!(sweeping_each_minute(Arc::clone(&sweeper), drain.clone()), flushing_events(sweeper, drain))
    };
    let metrics = metrics::exposed(registry, options, &*ports).await?;
    let exporting = exporter.map(|exporter| exporting::start(exporter, &ports, &metrics));
    let host = Host { options, key: &key, keeps: &keeps, reach, declared, metrics, backups: None };
    let ended = host.run(Arc::clone(&ports), listener, sweeping, std::future::pending()).await;
    ports.flush_events().await;
    exporting::stop(exporting, &ended).await;
    ended
}

/// Sends events to the bus until the process drains; later events are sent at the end.
async fn flushing_events(ports: Arc<Cloud<Callers<HttpCaller, DynamoStore, Services>>>, drain: Drain) {
    loop {
        tokio::select! {
            () = drain.draining() => return,
            () = tokio::time::sleep(FLUSH_EACH) => ports.flush_events().await,
        }
    }
}
