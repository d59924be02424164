//! Tidying: what has expired is deleted from the embedded store, a little at a time. DynamoDB does that by itself.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use minutehand_api::archive::Record;
use minutehand_domain::cursor::Cursor;
use minutehand_domain::id::Tenant;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::{Embedded, Engine, Expired};
use minutehand_io::{Fault, Ports as _};

use crate::archive::Archive;
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
    let mut behind = None;
    loop {
        let pass = async {
            let began = Instant::now();
            let next = tidy(&ports, archive.as_ref(), behind.take()).await.unwrap_or_else(|fault| {
                tracing::warn!(%fault, "what has expired was not deleted; the next pass tries again");
                None
            });
            tokio::time::sleep(rest(began.elapsed(), next.is_some())).await;
            next
        };
        behind = tokio::select! {
            biased;
            () = drain.draining() => return,
            next = pass => next,
        };
    }
}

/// How long it rests behind a page that took so long.
fn rest(took: Duration, has_more: bool) -> Duration {
    if has_more { took * REST } else { EVERY }
}

/// Deletes some of what has expired, behind what a page before may have left, and says where the next begins. Rule **outlasts its timer**: a
/// record that is gone while a timer leads to it still would be made again, so that nothing expires past what the sweep has looked at.
async fn tidy<E: Engine>(
    ports: &Local<Embedded<E>>,
    archive: Option<&Arc<Mutex<Archive>>>,
    behind: Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Fault> {
    let Some(cursor) = ports.store().get::<Cursor>(&Tenant::deployment(), 0).await? else { return Ok(None) };
    let page = ports.store().expired(cursor.item.expires_to(ports.clock().now()), behind, AT_ONCE)?;
    let expired = match archive {
        Some(archive) => archived(ports, archive, page.found).await?,
        None => page.found,
    };
    let deleted = ports.store().delete_expired(expired).await?;
    if deleted > 0 {
        tracing::debug!(deleted, "what has expired is deleted");
    }
    Ok(page.next)
}

/// Archives the runs among what has expired, and says what may be deleted: all but what cannot be read, and what could not be written.
async fn archived<E: Engine>(
    ports: &Local<Embedded<E>>,
    archive: &Arc<Mutex<Archive>>,
    expired: Vec<Expired>,
) -> Result<Vec<Expired>, Fault> {
    let (mut may_go, mut unreadable) = (Vec::with_capacity(expired.len()), Vec::new());
    for some in expired.chunks(ARCHIVED_AT_ONCE) {
        let (mut of_no_run, mut of_runs, mut records) = (Vec::new(), Vec::new(), Vec::new());
        for each in some {
            match record(ports, each).await {
                Ok(None) => of_no_run.push(each.clone()),
                Ok(Some(record)) => {
                    of_runs.push((PathBuf::from(record.folder()), each.clone()));
                    records.push(record);
                }
                Err(why) if why.is_of_an_item() => unreadable.push(why),
                Err(fault) => return Err(fault),
            }
        }
        let refused = write(Arc::clone(archive), records).await?;
        for (folder, why) in &refused {
            tracing::warn!(folder = %folder.display(), %why, "runs could not be archived, and are not deleted");
        }
        let (stay, go): (Vec<_>, Vec<_>) = of_runs.into_iter().partition(|(folder, _)| refused.contains_key(folder));
        ports.events().emit(&Event::Archived { archived: go.len() as u64, refused: stay.len() as u64 });
        may_go.append(&mut of_no_run);
        may_go.extend(go.into_iter().map(|(_, each)| each));
    }
    if let Some(why) = unreadable.last() {
        // No timer leads to what is over, so that no sweep would meet it.
        let later = unreadable.iter().filter(|why| matches!(why, Fault::Later { .. })).count() as u64;
        ports.events().emit(&Event::Unreadable { later, corrupt: unreadable.len() as u64 - later });
        tracing::warn!(%why, "runs that cannot be read are neither archived nor deleted");
    }
    Ok(may_go)
}

async fn record<E: Engine>(ports: &Local<Embedded<E>>, expired: &Expired) -> Result<Option<Record>, Fault> {
    let Some(run) = ports.store().expired_run(expired)? else { return Ok(None) };
    Record::of(ports, run).await
}

/// On a thread that may wait for a disk.
async fn write(archive: Arc<Mutex<Archive>>, records: Vec<Record>) -> Result<BTreeMap<PathBuf, io::Error>, Fault> {
    if records.is_empty() {
        return Ok(BTreeMap::new());
    }
    let writing = move || archive.lock().unwrap_or_else(PoisonError::into_inner).keep(&records);
    tokio::task::spawn_blocking(writing).await.map_err(|why| Fault::unavailable(PORT, why.to_string()))
}

const PORT: &str = "the archive";

#[cfg(test)]
mod tests {
    use super::*;

    /// Asked at once for the next page instead, what expires in bulk would have the disk to itself.
    #[test]
    fn a_tenth_of_the_time_goes_into_deleting_however_much_expires() {
        let took = Duration::from_secs(2);
        assert_eq!(rest(took, true), Duration::from_secs(18));
        assert_eq!(rest(took, false), EVERY);
    }
}
