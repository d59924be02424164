//! Tidying: what has expired is deleted from the embedded store, a little at a time. DynamoDB does that by itself.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use minutehand_api::archive::Record;
use minutehand_domain::Moment;
use minutehand_domain::cursor::Cursor;
use minutehand_domain::id::Tenant;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::{Embedded, Engine, Expired};
use minutehand_io::{Fault, Ports as _};
use tokio::sync::Mutex;
use tokio::time::timeout;

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

/// For how long a pass waits for one write: a disk that works takes seconds, and one of another machine that is away keeps the thread for as long as it is.
const ARCHIVED_WITHIN: Duration = Duration::from_secs(60);

/// For how long a run stays behind its time of which something cannot be read: it is counted each time, by which `CorruptItems` rings.
const WAITS_FOR_A_MEND: Duration = Duration::from_secs(7 * 86_400);

/// Deletes what has expired until the process drains.
pub(crate) async fn tidying<E: Engine>(ports: Arc<Local<Embedded<E>>>, archive: Option<Archive>, drain: Drain) {
    let archive = archive.map(|archive| Arc::new(Mutex::new(archive)));
    let (mut behind, mut unhurried) = (None, Unhurried::beginning(ports.clock().now(), Instant::now()));
    loop {
        let now = unhurried.follow(ports.clock().now(), Instant::now());
        let pass = async {
            let began = Instant::now();
            let next = tidy(&ports, archive.as_ref(), behind.take(), now).await.unwrap_or_else(|fault| {
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

/// The time by which things are deleted: what a clock takes away that is days ahead, nobody brings back when it is set right. So a clock that goes faster
/// than time goes by for this process is believed once it has been ahead for an hour, as behind a machine that slept; until then it counts for twice
/// that time.
#[derive(Debug)]
struct Unhurried {
    now: Moment,
    read_at: Instant,
    ahead_since: Option<Instant>,
}

/// Of the process's time.
const BELIEVED_AFTER: Duration = Duration::from_secs(3600);

impl Unhurried {
    fn beginning(now: Moment, read_at: Instant) -> Self {
        Self { now, read_at, ahead_since: None }
    }

    fn follow(&mut self, now: Moment, read_at: Instant) -> Moment {
        let at_most = self.now + 2 * read_at.duration_since(self.read_at);
        let since = self.ahead_since.unwrap_or(read_at);
        let is_believed = now <= at_most || read_at.duration_since(since) >= BELIEVED_AFTER;
        *self = if is_believed {
            Self::beginning(now, read_at)
        } else {
            Self { now: at_most, read_at, ahead_since: Some(since) }
        };
        self.now
    }
}

/// Deletes some of what has expired, behind what a page before may have left, and says where the next begins. Rule **outlasts its timer**: a
/// record that is gone while a timer leads to it still would be made again, so that nothing expires past what the sweep has looked at.
async fn tidy<E: Engine>(
    ports: &Local<Embedded<E>>,
    archive: Option<&Arc<Mutex<Archive>>>,
    behind: Option<Vec<u8>>,
    now: Moment,
) -> Result<Option<Vec<u8>>, Fault> {
    let Some(cursor) = ports.store().get::<Cursor>(&Tenant::deployment(), 0).await? else { return Ok(None) };
    let page = ports.store().expired(cursor.item.expires_to(now), behind, AT_ONCE)?;
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
        let refused = write(archive, records).await?;
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

/// What a run is shown with may be damaged, as the head of its job is: then somebody is told, and has a week to mend it, or no run of such a job would
/// ever go.
async fn record<E: Engine>(ports: &Local<Embedded<E>>, expired: &Expired) -> Result<Option<Record>, Fault> {
    let Some(run) = ports.store().expired_run(expired)? else { return Ok(None) };
    let (now, until) = (ports.clock().now(), run.expires_at());
    match Record::of(ports, run.clone()).await {
        Err(why @ Fault::Unreadable { .. }) if until.is_some_and(|until| now.since(until) > WAITS_FOR_A_MEND) => {
            tracing::error!(run = %run.key, %why, "a run is archived without what it is shown with");
            Record::listed(&run, now)
        }
        record => record,
    }
}

/// Those of the folders that were not written into, and why: all of them where the archive does not answer.
async fn write(archive: &Arc<Mutex<Archive>>, records: Vec<Record>) -> Result<BTreeMap<PathBuf, io::Error>, Fault> {
    if records.is_empty() {
        return Ok(BTreeMap::new());
    }
    let folders: Vec<PathBuf> = records.iter().map(|record| record.folder().into()).collect();
    let kept = in_time(archive, move |archive| archive.keep(&records)).await?;
    let unanswered = |folder| (folder, io::Error::new(io::ErrorKind::TimedOut, "the archive does not answer"));
    Ok(kept.unwrap_or_else(|| folders.into_iter().map(unanswered).collect()))
}

/// On a thread that may wait for a disk; none where that takes too long. What hangs goes on, and nothing else is begun until it has come to its end: each would
/// hang beside it.
async fn in_time<T: Send + 'static>(
    archive: &Arc<Mutex<Archive>>,
    act: impl FnOnce(&mut Archive) -> T + Send + 'static,
) -> Result<Option<T>, Fault> {
    let Ok(mut archive) = Arc::clone(archive).try_lock_owned() else { return Ok(None) };
    let acting = tokio::task::spawn_blocking(move || act(&mut archive));
    match timeout(ARCHIVED_WITHIN, acting).await {
        Ok(done) => done.map(Some).map_err(|why| Fault::unavailable(PORT, why.to_string())),
        Err(_hangs) => Ok(None),
    }
}

const PORT: &str = "the archive";

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use minutehand_domain::head::Head;
    use minutehand_domain::id::{JobId, RunKey};
    use minutehand_domain::job::{Definition, Job};
    use minutehand_domain::pace;
    use minutehand_domain::pool::presence::Presence;
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::{Run, State};
    use minutehand_domain::schedule::{Plan, Schedule};
    use minutehand_io::clock::SystemClock;
    use minutehand_io::events::Log;
    use minutehand_io::metrics::Unmeasured;
    use minutehand_io::metrics::measured::Measured;
    use minutehand_io::spans::Spanned;
    use minutehand_io::store::Guard;
    use minutehand_io::store::embedded::MemoryStore;
    use minutehand_io::targets::http::{HttpCaller, Reach};
    use minutehand_io::vault::key_file::KeyFile;
    use tempfile::TempDir;

    use super::*;
    use crate::targets::Services;

    const JOB: JobId = JobId::from_bytes([7; 16]);
    const MONTH: Duration = Duration::from_secs(31 * 86_400);

    fn opened() -> (TempDir, Arc<Mutex<Archive>>) {
        let directory = tempfile::tempdir().unwrap();
        let archive = Archive::open(directory.path(), SystemClock.now(), 7).unwrap();
        (directory, Arc::new(Mutex::new(archive)))
    }

    /// A run and a worker's presence that have expired, as far as has been swept.
    async fn expired(now: Moment) -> (Local<MemoryStore>, RunKey) {
        let (store, tenant, key) =
            (MemoryStore::in_memory(), Tenant::deployment(), RunKey::manual(JOB, now - MONTH, 0));
        let schedule = Schedule::new(&Plan { on_demand: true, ..Plan::default() }, key.at).unwrap();
        let job = Job::new(tenant.clone(), JOB, schedule, Definition::default(), 0, key.at);
        let run = Run { state: State::Cancelled { at: key.at }, ..Run::new(tenant.clone(), key, Priority::Normal) };
        let presence = gone(key.at);
        assert!(store.put(&tenant, JOB, &Head::Job(job), Guard::Absent).await.unwrap().is_written());
        assert!(store.put(&tenant, key, &run, Guard::Absent).await.unwrap().is_written());
        assert!(store.put(&tenant, presence.key(), &presence, Guard::Absent).await.unwrap().is_written());
        let cursor = Cursor::starting_at(pace::minute_of(now));
        assert!(store.put(&tenant, 0, &cursor, Guard::Absent).await.unwrap().is_written());
        let http = HttpCaller::new(Reach::Public).unwrap();
        let events = Measured::new(Spanned::new(Log, None), Arc::new(Unmeasured));
        (Local::new(Arc::new(store), http, Services::default(), KeyFile::in_memory(), events), key)
    }

    fn gone(at: Moment) -> Presence {
        Presence {
            tenant: Tenant::deployment(),
            pool: "web1".parse().unwrap(),
            worker: "web1-a".parse().unwrap(),
            first_seen: at,
            last_seen: at,
            lease: Duration::from_secs(60),
            slots: None,
            handlers: None,
            draining_since: None,
            holds: Vec::new(),
        }
    }

    /// Removed, one after the other: the bound of a write, and that none is begun beside one that hangs. The first waited for ever; and each pass had a thread
    /// more that nobody gives back.
    #[tokio::test(start_paused = true)]
    async fn a_write_that_hangs_is_left_alone_and_none_is_begun_beside_it() {
        let (_directory, archive) = opened();
        let (release, released) = mpsc::channel::<()>();

        let hanging = in_time(&archive, move |_| released.recv().is_err());
        let (hung, ()) = tokio::join!(hanging, tokio::time::advance(ARCHIVED_WITHIN + Duration::from_secs(1)));
        let beside = in_time(&archive, |_| ()).await;
        drop(release);
        drop(archive.lock().await);
        let behind = in_time(&archive, |_| ()).await;

        assert!(matches!((hung, beside), (Ok(None), Ok(None))));
        assert!(matches!(behind, Ok(Some(()))));
    }

    /// Removed: that what hangs is not waited for. Nothing was deleted any more, in silence.
    #[tokio::test]
    async fn beside_an_archive_that_hangs_what_is_no_run_goes_and_runs_stay_until_it_answers() {
        let now = SystemClock.now();
        let ((_directory, archive), (ports, run)) = (opened(), expired(now).await);
        let (tenant, worker) = (Tenant::deployment(), gone(now).key());
        let left = async || {
            let run = ports.store().get::<Run>(&tenant, run).await.unwrap();
            let presence = ports.store().get::<Presence>(&tenant, worker.clone()).await.unwrap();
            (run.is_some(), presence.is_some())
        };

        let hangs = Arc::clone(&archive).lock_owned().await;
        tidy(&ports, Some(&archive), None, now).await.unwrap();
        let beside = left().await;
        drop(hangs);
        tidy(&ports, Some(&archive), None, now).await.unwrap();

        assert_eq!((beside, left().await), ((true, false), (false, false)));
    }

    /// Removed: it is the clock's. All that expires within two days was gone within a minute.
    #[test]
    fn a_clock_that_is_days_ahead_for_minutes_deletes_no_more_than_minutes() {
        let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
        let (at, begun) = (Moment::from_secs(1_800_000_000), Instant::now());
        let mut unhurried = Unhurried::beginning(at, begun);
        let rows = [
            (at + minute, minute, at + minute),
            // Set two days ahead, and right three minutes later.
            (at + 48 * hour, 2 * minute, at + 3 * minute),
            (at + 48 * hour + minute, 3 * minute, at + 5 * minute),
            (at + 4 * minute, 4 * minute, at + 4 * minute),
            // The machine slept for two hours, in which no time went by for the process.
            (at + 2 * hour, 5 * minute, at + 6 * minute),
            (at + 2 * hour + 59 * minute, 64 * minute, at + 124 * minute),
            (at + 3 * hour, 65 * minute, at + 3 * hour),
        ];
        for (now, elapsed, deletes_by) in rows {
            assert_eq!(unhurried.follow(now, begun + elapsed), deletes_by, "after {elapsed:?}");
        }
    }

    /// Asked at once for the next page instead, what expires in bulk would have the disk to itself.
    #[test]
    fn a_tenth_of_the_time_goes_into_deleting_however_much_expires() {
        let took = Duration::from_secs(2);
        assert_eq!(rest(took, true), Duration::from_secs(18));
        assert_eq!(rest(took, false), EVERY);
    }
}
