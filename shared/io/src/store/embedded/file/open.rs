//! Opening: finding or making the file, making sure that it is ours and that nobody else has it, and saying in one clear
//! sentence what is wrong where it cannot be opened.

use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use minutehand_domain::run::Run;
use redb::{
    Builder, CommitError, Database, DatabaseError, ReadableDatabase, ReadableTable as _, ReadableTableMetadata as _,
    StorageBackend, StorageError, TableDefinition, TableError, TableHandle as _, TransactionError, WriteTransaction,
};
use thiserror::Error;

use super::durable::sync_directories;
use super::overlay::Overlay;
use super::{definition, owner_only};
use crate::store::Seen;
use crate::store::embedded::codec::Codec;
use crate::store::embedded::engine::Table;
use crate::store::embedded::keys;
use crate::store::item::{Indexed, Item as _};

pub(super) const FILE: &str = "minutehand.redb";
/// A store being made: it gets its name when it is whole, so that a crash at first start leaves nothing half made.
const UNFINISHED: &str = "minutehand.redb.new";
/// A store that is being made of a backup. Where a restore died it stays, and nothing but another restore may go on there: an empty
/// store in its place would look like one that lost everything.
pub(super) const RESTORING: &str = "minutehand.redb.restoring";
pub(super) const LOCK: &str = "minutehand.lock";

/// Pages kept in memory: what claims, sweeps and finishes touch is the runs and timers of a few minutes, with the pages
/// that lead to them. redb's own default, 1 GiB, is more than a small machine has.
const CACHE_BYTES: usize = 256 * 1024 * 1024;

/// The format of the file that this release writes; it reads every earlier one. 1 was dc7fa05's, whose values were all in
/// their kinds' first shapes; 2 adds tables, and a shape's number to each value; 3 has jobs, keys and cursors in their second
/// shapes, secrets and acts on record. An older release refuses a newer format, so that it never meets a value that it cannot
/// read: a change that adds a shape or a kind raises the format, and the version with it, by whose name it is refused.
pub(super) const FORMAT: u64 = 3;
pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub(super) const FORMAT_KEY: &str = "format";
/// In words: which release wrote the file last.
pub(super) const ABOUT: TableDefinition<'_, &str, &str> = TableDefinition::new("about");
pub(super) const RELEASE_KEY: &str = "written by";
pub(super) const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// What a backup calls a release that is not said.
const BEFORE_ANY_SAID_SO: &str = "before 0.2";
/// Stands where every dead letter is in the list of them. It came without a new format: whoever does not know it leaves letters in it that somebody
/// has seen to, and others out.
pub(super) const LETTERS_LISTED: &str = "letters listed";

#[derive(Debug, Error)]
pub enum OpenError {
    #[error(
        "another process has this store open; stop it, or use another data directory. While it goes on it can be asked: `repair --server`, and `backup` without --data"
    )]
    Locked,
    #[error("the store's file is damaged, or is not a Minutehand store: {why}")]
    Damaged { why: String },
    #[error(
        "the store was written by Minutehand {release} (format {found}); this is Minutehand {RELEASE}, which reads formats up to {FORMAT}: use that release"
    )]
    LaterFormat { found: u64, release: String },
    #[error(
        "a restore into this directory was not carried to its end: restore again, or remove {RESTORING} in it to begin with an empty store"
    )]
    HalfRestored,
    #[error("the data directory cannot be written to: {0}")]
    Unwritable(io::Error),
    #[error("the disk is full: {0}")]
    DiskFull(io::Error),
    #[error("the store cannot be opened: {0}")]
    Io(io::Error),
}

/// An open database, and what keeps others out of its directory for as long as it is held.
pub(super) struct Opened {
    pub(super) database: Database,
    pub(super) lock: Option<Lock>,
}

/// The hold on a directory. It is let go of in words, as redb lets go of its own: a process that is started at this moment has a copy of every open
/// file until it becomes another program, and the copy would keep the lock.
pub(super) struct Lock(fs::File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Where it fails, closing the file lets go of it too.
        drop(self.0.unlock());
    }
}

pub(super) fn in_directory(directory: &Path) -> Result<Opened, OpenError> {
    owner_only::make_directory(directory)?;
    let lock = lock(directory)?;
    let path = directory.join(FILE);
    if !path.try_exists()? {
        if directory.join(RESTORING).try_exists()? {
            return Err(OpenError::HalfRestored);
        }
        make(directory)?;
    }
    let database = undamaged(|| adopted(builder().open(path)?))?;
    Ok(Opened { database, lock: Some(lock) })
}

/// The store in a directory as it lies, of whatever release: nothing there is changed. Says its format, and which release wrote it.
fn to_read(directory: &Path) -> Result<(Opened, u64, String), OpenError> {
    let lock = lock_that_stands(directory)?;
    let overlay = Overlay::over(fs::File::open(directory.join(FILE))?)?;
    let (database, found, release) = undamaged(|| {
        let database = builder().create_with_backend(overlay)?;
        let (found, release) = written_in(&database)?;
        make_tables(&database)?;
        Ok((database, found, release))
    })?;
    Ok((Opened { database, lock }, found, release.unwrap_or_else(|| BEFORE_ANY_SAID_SO.to_owned())))
}

/// The same, once each of its pages is known to be as it was written.
pub(super) fn whole_to_read(directory: &Path) -> Result<(Opened, u64, String), OpenError> {
    undamaged(|| {
        let mut read = to_read(directory)?;
        if read.0.database.check_integrity().map_err(redb::Error::from)? {
            return Ok(read);
        }
        Err(OpenError::Damaged { why: "a page is not as it was written".to_owned() })
    })
}

/// The same, to look through it as this release reads it: what this release changes in a store that it opens, and whatever is written to it, is
/// kept in memory and gone at the end.
pub(super) fn to_look(directory: &Path) -> Result<Opened, OpenError> {
    let lock = lock_that_stands(directory)?;
    let overlay = Overlay::over(fs::File::open(directory.join(FILE))?)?;
    let database = undamaged(|| adopted(builder().create_with_backend(overlay)?))?;
    Ok(Opened { database, lock })
}

pub(super) fn on_backend(backend: impl StorageBackend) -> Result<Opened, OpenError> {
    let database = undamaged(|| {
        let database = builder().create_with_backend(backend)?;
        if format(&database)?.is_none() {
            initialise(&database)?;
        }
        adopted(database)
    })?;
    Ok(Opened { database, lock: None })
}

/// A store that opens and says that it is ours. redb asserts what it believes of its own pages, and a damaged file can
/// prove it wrong: that is no reason to end with a back trace.
fn undamaged<T>(open: impl FnOnce() -> Result<T, OpenError>) -> Result<T, OpenError> {
    let contradiction = |_| Err(OpenError::Damaged { why: "it contradicts itself".to_owned() });
    panic::catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(contradiction)
}

/// redb locks its own file; this lock also covers the time in which there is none yet.
pub(super) fn lock(directory: &Path) -> Result<Lock, OpenError> {
    let mut opening = fs::OpenOptions::new();
    taken(owner_only::open(opening.create(true).truncate(false).write(true), &directory.join(LOCK))?)
}

/// Where there is none nobody serves the directory: whoever does makes one first.
fn lock_that_stands(directory: &Path) -> Result<Option<Lock>, OpenError> {
    match fs::File::open(directory.join(LOCK)) {
        Ok(lock) => taken(lock).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn taken(file: fs::File) -> Result<Lock, OpenError> {
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked),
        // Some network file systems know no locks; redb's own is then all there is.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(Lock(file)),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Makes an empty store under another name, and names it when it is whole and on the disk.
fn make(directory: &Path) -> Result<(), OpenError> {
    let unfinished = directory.join(UNFINISHED);
    if unfinished.try_exists()? {
        fs::remove_file(&unfinished)?;
    }
    let mut making = fs::OpenOptions::new();
    let file = owner_only::open(making.read(true).write(true).create_new(true), &unfinished)?;
    let database = builder().create_file(file)?;
    initialise(&database)?;
    drop(database);
    fs::rename(&unfinished, directory.join(FILE))?;
    Ok(sync_directories(directory)?)
}

pub(super) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder.set_repair_callback(|repair| {
        tracing::info!(progress = repair.progress(), "the store was not closed properly; checking it");
    });
    builder
}

/// Makes every table that is not there yet, and says which format and release this is.
fn initialise(database: &Database) -> Result<(), OpenError> {
    let transaction = database.begin_write()?;
    for table in Table::ALL {
        transaction.open_table(definition(table))?;
    }
    if transaction.open_table(META)?.get(LETTERS_LISTED)?.is_none() {
        list_letters(&transaction)?;
        transaction.open_table(META)?.insert(LETTERS_LISTED, 1)?;
    }
    transaction.open_table(META)?.insert(FORMAT_KEY, FORMAT)?;
    transaction.open_table(ABOUT)?.insert(RELEASE_KEY, RELEASE)?;
    transaction.commit()?;
    Ok(())
}

/// Looks at every run there is, once.
fn list_letters(transaction: &WriteTransaction) -> Result<(), OpenError> {
    let (runs, mut letters) =
        (transaction.open_table(definition(Table::Runs))?, transaction.open_table(definition(Table::Letters))?);
    let count = runs.len()?;
    if count > 0 {
        tracing::info!(runs = count, "the store has no list of dead letters yet: looking at every run, once");
    }
    for entry in runs.iter()? {
        let (key, value) = entry?;
        // What this release cannot read is another's to list.
        let Ok(Seen { item: run, .. }) = Codec::Ours.decode::<Run>(value.value()) else { continue };
        if run.index().is_some_and(Indexed::is_letter) {
            letters.insert(keys::letter(&run.tenant, run.key).as_slice(), key.value())?;
        }
    }
    Ok(())
}

fn make_tables(database: &Database) -> Result<(), OpenError> {
    let transaction = database.begin_write()?;
    for table in Table::ALL {
        transaction.open_table(definition(table))?;
    }
    Ok(transaction.commit()?)
}

/// Takes a store over from the release that wrote it last. Without making its tables, dc7fa05's file is called damaged; without
/// a new format, that release would open the file again and answer 503 for what this one has written.
fn adopted(database: Database) -> Result<Database, OpenError> {
    let (found, release) = written_in(&database)?;
    let is_ours = found == FORMAT && release.as_deref() == Some(RELEASE);
    if is_ours && has_all_tables(&database)? && has_all_letters(&database)? {
        return Ok(database);
    }
    initialise(&database)?;
    if found < FORMAT {
        tracing::info!(from = found, to = FORMAT, "the store has the format of this release now; older ones refuse it");
    }
    Ok(database)
}

/// A format that this release reads, and which release wrote the store last.
fn written_in(database: &Database) -> Result<(u64, Option<String>), OpenError> {
    let (format, release) = (format(database)?, release(database)?);
    match format {
        None => Err(OpenError::Damaged { why: "it says no format".to_owned() }),
        Some(found) if found > FORMAT => {
            Err(OpenError::LaterFormat { found, release: release.unwrap_or_else(|| "of a later release".to_owned()) })
        }
        Some(found) => Ok((found, release)),
    }
}

/// A commit between two releases may have known fewer.
fn has_all_tables(database: &Database) -> Result<bool, OpenError> {
    let transaction = database.begin_read()?;
    let names: Vec<_> = transaction.list_tables()?.map(|table| table.name().to_owned()).collect();
    Ok(Table::ALL.iter().all(|table| names.iter().any(|name| name == table.name())))
}

fn has_all_letters(database: &Database) -> Result<bool, OpenError> {
    Ok(database.begin_read()?.open_table(META)?.get(LETTERS_LISTED)?.is_some())
}

/// Which release wrote the store last; none where that was before any said so.
fn release(database: &Database) -> Result<Option<String>, OpenError> {
    match database.begin_read()?.open_table(ABOUT) {
        Ok(about) => Ok(about.get(RELEASE_KEY)?.map(|release| release.value().to_owned())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Which format the store says it has.
fn format(database: &Database) -> Result<Option<u64>, OpenError> {
    match database.begin_read()?.open_table(META) {
        Ok(meta) => Ok(meta.get(FORMAT_KEY)?.map(|format| format.value())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory
            | ErrorKind::AlreadyExists => Self::Unwritable(error),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::DiskFull(error),
            // How redb says that a file is none of its own, and that it ends too early.
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Self::Damaged { why: error.to_string() },
            _ => Self::Io(error),
        }
    }
}

impl From<redb::Error> for OpenError {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::DatabaseAlreadyOpen => Self::Locked,
            redb::Error::Io(error) => error.into(),
            error => Self::Damaged { why: error.to_string() },
        }
    }
}

/// All that redb can say while a store is opened says the same through its widest error.
macro_rules! opening_fails_with {
    ($($error:ty),*) => {
        $(impl From<$error> for OpenError {
            fn from(error: $error) -> Self {
                redb::Error::from(error).into()
            }
        })*
    };
}

opening_fails_with!(DatabaseError, TransactionError, TableError, StorageError, CommitError);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use minutehand_domain::Moment;
    use minutehand_domain::id::{JobId, RunKey, Tenant};
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::State;

    use super::*;
    use crate::store::embedded::FileStore;
    use crate::store::{Guard, Store as _};

    const DUE: Moment = Moment::from_secs(1_800_000_000);

    /// As the releases before the list of letters left it. Removed: that the runs are looked at.
    #[tokio::test]
    async fn letters_of_a_store_that_has_no_list_of_them_are_found_once() {
        let there = tempfile::tempdir().unwrap();
        let store = FileStore::open(there.path()).unwrap();
        for (number, state) in [(1, State::Cancelled { at: DUE }), (2, State::TimedOut { at: DUE })] {
            let key = RunKey::occurrence(JobId::from_bytes([number; 16]), DUE + Duration::from_secs(number.into()));
            let run = Run { state, ..Run::new(Tenant::new("acme").unwrap(), key, Priority::Normal) };
            assert!(store.put(&run.tenant, key, &run, Guard::Absent).await.unwrap().is_written());
        }
        store.close();
        let database = builder().open(there.path().join(FILE)).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.delete_table(definition(Table::Letters)).unwrap();
        transaction.open_table(META).unwrap().remove(LETTERS_LISTED).unwrap();
        transaction.commit().unwrap();
        drop(database);

        let store = FileStore::open(there.path()).unwrap();

        assert_eq!(store.oldest_letter().await, Ok(Some(DUE + Duration::from_secs(2))));
    }

    /// A copy of the file as a process has it that is being started. Removed (`unlock`): the directory stays locked for as long as the copy is open.
    #[test]
    fn a_directory_is_let_go_of_though_a_starting_process_has_a_copy_of_its_lock() {
        let there = tempfile::tempdir().unwrap();
        let held = lock(there.path()).unwrap();
        let copy = held.0.try_clone().unwrap();
        assert!(matches!(lock(there.path()), Err(OpenError::Locked)));

        drop(held);

        assert!(lock(there.path()).is_ok());
        drop(copy);
    }

    /// With the one raised and not the other, a refusal would send its reader to the release that refuses.
    #[test]
    fn the_format_and_the_version_are_raised_together() {
        assert_eq!((FORMAT, env!("CARGO_PKG_VERSION_MINOR")), (3, "2"));
    }
}
