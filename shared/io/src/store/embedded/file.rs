//! The engine in one file. A reader sees the last commit, on its own thread; one thread writes, for everybody who
//! waits at once. A write is answered when fdatasync has returned, never before.

pub mod durable;
mod open;
mod overlay;
pub mod owner_only;
mod restore;
mod writer;

use std::fmt;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use minutehand_domain::Moment;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable as _, StorageBackend, TableDefinition};
use tokio::sync::{mpsc, oneshot, watch};

pub use self::open::OpenError;
use self::open::{Lock, Opened};
pub use self::restore::{RestoreError, Restored, check_backup, restore_backup};
use self::writer::{Request, Writer};
use super::backup::{BackupError, Header, Writing};
use super::engine::{Applied, Engine, Span, Table, Write};
use super::{Embedded, FileStore};
use crate::Fault;
use crate::chance::SystemChance;
use crate::store::Version;
use crate::store::place::Order;

const PORT: &str = "the store";

/// Who waits beyond this waits for a place in the queue first. Four commits' worth: the writer never finds it empty while
/// anybody waits, and a stuck disk is not answered with memory.
const QUEUE: usize = 4 * writer::BATCH;

pub struct File {
    /// None only while it is being dropped.
    queue: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    committed: Arc<Committed>,
    /// Why nothing is written any more.
    failure: watch::Receiver<Option<String>>,
}

/// What is durable, as readers see it.
struct Committed {
    snapshot: RwLock<Arc<Snapshot>>,
    commits: AtomicU64,
    // After the snapshot, so that it is closed when nobody reads from it any more; and before the lock, so that others
    // find it closed.
    database: Database,
    _lock: Option<Lock>,
}

/// What a store held at one instant, to be written into a backup. While it is held the file reuses none of its pages, and grows by what is
/// written meanwhile.
pub struct Backup {
    snapshot: Arc<Snapshot>,
    header: Header,
    /// Of a directory that nothing serves: nobody else may begin to meanwhile.
    _opened: Option<Opened>,
}

/// All tables as of one commit, opened once for all who read it.
struct Snapshot {
    tables: Vec<ReadOnlyTable<&'static [u8], &'static [u8]>>,
}

impl FileStore {
    /// Whether a directory has a store; one that a restore has begun and not ended has neither a store nor none.
    pub fn is_in(directory: &Path) -> Result<bool, OpenError> {
        let is_there = directory.join(open::FILE).is_file();
        if !is_there && directory.join(open::RESTORING).try_exists()? {
            return Err(OpenError::HalfRestored);
        }
        Ok(is_there)
    }

    /// Opens the store in a directory, and makes both where they are missing. The store is this process's alone.
    pub fn open(directory: &Path) -> Result<Self, OpenError> {
        File::start(open::in_directory(directory)?).map(Embedded::new)
    }

    /// Whether each page of a store is as it was written, which nothing serves. Where a page contradicts itself redb ends in the middle of what it is at
    /// and closes no file, and one that was not closed opens no more: so whoever is about to change a store looks first.
    pub fn look_through(directory: &Path) -> Result<(), OpenError> {
        open::whole_to_read(directory).map(drop)
    }

    /// Gives the file's free pages back to the disk, of a store that nobody has open; and says how many bytes it had, and has.
    pub fn compact(directory: &Path) -> Result<(u64, u64), OpenError> {
        Self::look_through(directory)?;
        let path = directory.join(open::FILE);
        let before = fs::metadata(&path)?.len();
        let Opened { lock: _held, mut database } = open::in_directory(directory)?;
        // A pass moves what it can; what is behind it then can be moved by the next.
        while database.compact().map_err(redb::Error::from)? {}
        drop(database);
        Ok((before, fs::metadata(&path)?.len()))
    }

    /// The store in a directory, of which nothing is changed whatever is written to it.
    pub fn to_look(directory: &Path) -> Result<Self, OpenError> {
        File::start(open::to_look(directory)?).map(Embedded::new)
    }

    /// Opens a store on something else than a file.
    pub fn with_backend(backend: impl StorageBackend) -> Result<Self, OpenError> {
        File::start(open::on_backend(backend)?).map(Embedded::new)
    }

    /// Completes when the store can no longer write, and says why. Nothing mends that but opening it again: the host tells
    /// the operator and ends.
    pub async fn failed(&self) -> String {
        let mut failure = self.engine.failure.clone();
        match failure.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_gone) => "the thread that writes has died".to_owned(),
        }
    }

    /// What was acknowledged before, and nothing that is written afterwards. Writers go on.
    pub fn snapshot(&self, now: Moment) -> Backup {
        let header = Header::new(open::FORMAT, open::RELEASE.to_owned(), now);
        Backup { snapshot: self.engine.committed.snapshot(), header, _opened: None }
    }

    /// Writes what is queued, and closes the file. Dropping does the same.
    pub fn close(self) {
        drop(self);
    }
}

impl Backup {
    /// What a directory holds that nothing serves, as it lies there: whichever release wrote it, and however its process ended, nothing of it is
    /// changed.
    pub fn of_directory(directory: &Path, now: Moment) -> Result<Self, OpenError> {
        let (opened, format, release) = open::whole_to_read(directory)?;
        let snapshot = Arc::new(Snapshot::of(&opened.database)?);
        Ok(Self { snapshot, header: Header::new(format, release, now), _opened: Some(opened) })
    }

    /// Says how many items it holds. It takes its time, on the caller's thread.
    pub fn write(&self, to: impl io::Write) -> Result<u64, BackupError> {
        let mut writing = Writing::begin(to, &self.header)?;
        for table in Table::ALL {
            for entry in self.snapshot.table(table).iter().map_err(unavailable)? {
                let (key, value) = entry.map_err(unavailable)?;
                writing.entry(table, key.value(), value.value())?;
            }
        }
        writing.end()
    }
}

impl File {
    fn start(Opened { database, lock }: Opened) -> Result<Self, OpenError> {
        let snapshot = RwLock::new(Arc::new(Snapshot::of(&database)?));
        let committed = Arc::new(Committed { snapshot, commits: AtomicU64::new(0), database, _lock: lock });
        let (queue, requests) = mpsc::channel(QUEUE);
        let (failed, failure) = watch::channel(None);
        let writer = Writer::start(Arc::clone(&committed), requests, failed).map_err(OpenError::Io)?;
        Ok(Self { queue: Some(queue), writer: Some(writer), committed, failure })
    }

    fn fault(&self) -> Fault {
        let why = self.failure.borrow().clone();
        Fault::unavailable(PORT, why.unwrap_or_else(|| "the thread that writes is gone".to_owned()))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // The writer ends when the queue does, and has then answered everybody.
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            drop(writer.join());
        }
    }
}

impl Engine for File {
    fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        see: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let snapshot = self.committed.snapshot();
        let value = snapshot.table(table).get(key).map_err(unavailable)?;
        value.map(|value| see(value.value())).transpose()
    }

    fn walk(
        &self,
        table: Table,
        span: &Span,
        mut see: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Fault>,
    ) -> Result<(), Fault> {
        let snapshot = self.committed.snapshot();
        let mut range = snapshot.table(table).range(span.from.as_slice()..span.to.as_slice()).map_err(unavailable)?;
        let mut next = || match span.order {
            Order::Forward => range.next(),
            Order::Backward => range.next_back(),
        };
        while let Some(entry) = next() {
            let (key, value) = entry.map_err(unavailable)?;
            if see(key.value(), value.value())?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn apply(&self, write: Write) -> Result<Applied, Fault> {
        let (answer, answered) = oneshot::channel();
        let Some(queue) = &self.queue else { return Err(self.fault()) };
        queue.send(Request { write, answer }).await.map_err(|_| self.fault())?;
        answered.await.map_err(|_| self.fault())?
    }

    fn commits(&self) -> u64 {
        self.committed.commits.load(Ordering::Relaxed)
    }

    fn first_version(&self) -> Version {
        Version::drawn(&SystemChance)
    }
}

impl Committed {
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on, readers see the commit that was just made.
    fn advance(&self) -> Result<(), redb::Error> {
        let snapshot = Arc::new(Snapshot::of(&self.database)?);
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Snapshot {
    fn of(database: &Database) -> Result<Self, redb::Error> {
        let transaction = database.begin_read()?;
        let open = |table| transaction.open_table(definition(table)).map_err(redb::Error::from);
        Ok(Self { tables: Table::ALL.into_iter().map(open).collect::<Result<_, _>>()? })
    }

    fn table(&self, table: Table) -> &ReadOnlyTable<&'static [u8], &'static [u8]> {
        &self.tables[table.index()]
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("failure", &*self.failure.borrow()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Backup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backup").field("header", &self.header).finish_non_exhaustive()
    }
}

fn definition(table: Table) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(table.name())
}

fn unavailable(error: impl Into<redb::Error>) -> Fault {
    match error.into() {
        redb::Error::Corrupted(why) => Fault::unreadable(PORT, why),
        error => Fault::unavailable(PORT, error.to_string()),
    }
}
