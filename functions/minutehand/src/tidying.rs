//! Tidying: what has expired is deleted from the embedded store, a little at a time. DynamoDB does that by itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use minutehand_api::shown;
use minutehand_domain::cursor::Cursor;
use minutehand_domain::id::Tenant;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::{Embedded, Engine, Expired};
use minutehand_io::{Fault, Ports as _};

use crate::archive::{Archive, Record};
use crate::drain::Drain;
use crate::local::Local;

/// What has expired is deleted so much at a time.
const AT_ONCE: usize = 1000;

/// How often it is asked whether anything has expired: what lives for days need not go within seconds.
const EVERY: Duration = Duration::from_secs(60);

/// How long it rests for each second that it deletes: whoever is due has nine tenths of the disk, however much expires.
const REST: u32 = 9;

/// Runs that are archived in one write: of the longest payloads and results 50 MB.
const ARCHIVED_AT_ONCE: usize = 100;

/// Deletes what has expired until the process drains.
pub(crate) async fn tidying<E: Engine>(ports: Arc<Local<Embedded<E>>>, archive: Option<Archive>, drain: Drain) {
    let archive = archive.map(|archive| Arc::new(Mutex::new(archive)));
    loop {
        let pass = async {
            let began = Instant::now();
            let rest = match tidy(&ports, archive.as_ref()).await {
                Ok(found) if found == AT_ONCE => began.elapsed() * REST,
                Ok(_all) => EVERY,
                Err(fault) => {
                    tracing::warn!(%fault, "what has expired was not deleted; the next pass tries again");
                    EVERY
                }
            };
            tokio::time::sleep(rest).await;
        };
        tokio::select! {
            biased;
            () = drain.draining() => return,
            () = pass => {}
        }
    }
}

/// Deletes some of what has expired, and says how much was found. Rule **outlasts its timer**: a record that is gone while a timer leads to it
/// still would be made again, so that nothing expires past what the sweep has looked at.
async fn tidy<E: Engine>(ports: &Local<Embedded<E>>, archive: Option<&Arc<Mutex<Archive>>>) -> Result<usize, Fault> {
    let Some(cursor) = ports.store().get::<Cursor>(&Tenant::deployment(), 0).await? else { return Ok(0) };
    let expired = ports.store().expired(cursor.item.expires_to(ports.clock().now()), AT_ONCE)?;
    let found = expired.len();
    let expired = match archive {
        Some(archive) => archived(ports, archive, expired).await?,
        None => expired,
    };
    let deleted = ports.store().delete_expired(expired).await?;
    if deleted > 0 {
        tracing::debug!(deleted, "what has expired is deleted");
    }
    Ok(found)
}

/// Archives the runs among what has expired, and says what may be deleted: all but what cannot be read.
async fn archived<E: Engine>(
    ports: &Local<Embedded<E>>,
    archive: &Arc<Mutex<Archive>>,
    expired: Vec<Expired>,
) -> Result<Vec<Expired>, Fault> {
    let mut kept = Vec::with_capacity(expired.len());
    for some in expired.chunks(ARCHIVED_AT_ONCE) {
        let mut records = Vec::new();
        for each in some {
            match record(ports, each).await {
                Ok(record) => records.extend(record),
                Err(why) if why.is_of_an_item() => {
                    tracing::warn!(%why, "a run that cannot be read is neither archived nor deleted");
                    continue;
                }
                Err(fault) => return Err(fault),
            }
            kept.push(each.clone());
        }
        write(Arc::clone(archive), records).await?;
    }
    Ok(kept)
}

async fn record<E: Engine>(ports: &Local<Embedded<E>>, expired: &Expired) -> Result<Option<Record>, Fault> {
    let Some(run) = ports.store().expired_run(expired)? else { return Ok(None) };
    let Some(ended) = run.finished_at() else { return Ok(None) };
    let tenant = run.tenant.clone();
    let line = serde_json::to_string(&shown(ports, run).await?);
    let line = line.map_err(|why| Fault::unreadable(PORT, why.to_string()))?;
    Ok(Some(Record { tenant, ended, line }))
}

/// On a thread that may wait for a disk.
async fn write(archive: Arc<Mutex<Archive>>, records: Vec<Record>) -> Result<(), Fault> {
    if records.is_empty() {
        return Ok(());
    }
    let writing = move || archive.lock().unwrap_or_else(PoisonError::into_inner).keep(&records);
    let written = tokio::task::spawn_blocking(writing).await;
    let why = match written {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why.to_string(),
        Err(why) => why.to_string(),
    };
    Err(Fault::unavailable(PORT, why))
}

const PORT: &str = "the archive";
