//! On AWS: the same three handlers over DynamoDB, SQS and EventBridge, at the usual AWS settings or an endpoint that stands
//! for them. Other processes, and the deployed functions, may do the same work beside this one.

use std::sync::Arc;
use std::time::Duration;

use minutehand_api::Metrics;
use minutehand_cloud::{Cloud, Environment, NoTargets, Settings, aws};
use minutehand_io::store::dynamo::DynamoStore;
use minutehand_io::targets::Callers;
use minutehand_io::targets::http::HttpCaller;
use prometheus::Registry;

use crate::admin_key::AdminKey;
use crate::arguments::Serve;
use crate::drain::Drain;
use crate::host::{Host, listen};
use crate::serve_error::ServeError;
use crate::sweeping::sweeping_each_minute;

const TELL_EACH: Duration = Duration::from_secs(1);

pub(crate) async fn on_aws(wanted: &Serve) -> Result<(), ServeError> {
    let environment = Environment::of_this_process();
    let (settings, reach) = (Settings::read(&environment)?, environment.reach()?);
    let keeps = format!("everything in the tables {} and {}", settings.tables.state, settings.tables.timers);
    let key = AdminKey::settle(wanted.key.as_deref(), None)?;
    let listener = listen(wanted.listen).await?;
    let http = HttpCaller::new(reach)?;
    let ports = Cloud::new(settings, &aws().await, NoTargets).calling(|store| Callers::new(http, store));
    let ports = Arc::new(ports);
    let sweeper = Arc::clone(&ports);
    let sweeping = move |drain: Drain| async move {
        tokio::join!(sweeping_each_minute(Arc::clone(&sweeper), drain.clone()), telling(sweeper, drain))
    };
    let host = Host { wanted, key: &key, keeps: &keeps, reach, metrics: Metrics::new(Registry::new())? };
    host.run(Arc::clone(&ports), listener, sweeping, std::future::pending()).await?;
    ports.tell().await;
    Ok(())
}

/// What was told goes to the bus, until the process drains; what is told after that goes there at the end.
async fn telling(ports: Arc<Cloud<Callers<DynamoStore>>>, drain: Drain) {
    loop {
        tokio::select! {
            () = drain.draining() => return,
            () = tokio::time::sleep(TELL_EACH) => ports.tell().await,
        }
    }
}
