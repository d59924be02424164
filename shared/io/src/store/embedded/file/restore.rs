//! Restoring: a store is made of a backup, in a directory that has none. The backup is read to its end before anything is written; the
//! store is made under another name and named when it is whole, so that a restore which died is known as such: nothing opens the
//! directory until one was carried to its end, or given up by removing what it left.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use redb::Database;
use thiserror::Error;

use super::durable::sync_directories;
use super::open::{ABOUT, FILE, FORMAT, FORMAT_KEY, LOCK, META, RELEASE_KEY, RESTORING, builder, lock};
use super::{OpenError, definition, owner_only};
use crate::store::embedded::backup::{BackupError, Header, Lying, Reading};
use crate::store::embedded::engine::Table;

/// Entries in one commit, and their bytes: what is written lies in memory until then.
const BATCH: usize = 20_000;
const BATCH_BYTES: usize = 16 * 1024 * 1024;

#[derive(Debug, Error)]
pub enum RestoreError {
    #[error("cannot read the backup {file}: {why}", file = file.display())]
    Backup { file: PathBuf, why: BackupError },
    #[error("{directory} holds {found} already: a backup is restored into an empty directory (keys may lie in it)", directory = directory.display())]
    NotEmpty { directory: PathBuf, found: String },
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    pub of: Header,
    pub items: u64,
}

/// Reads a backup to its end: it is whole.
pub fn check_backup(file: &Path) -> Result<Restored, RestoreError> {
    let of_the_file = |why| RestoreError::Backup { file: file.to_owned(), why };
    let mut items = 0;
    let mut reading = begin(file)?;
    while reading.entry().map_err(of_the_file)?.is_some() {
        items += 1;
    }
    Ok(Restored { of: reading.header, items })
}

/// Makes a store of a backup in a directory that has none.
pub fn restore_backup(file: &Path, directory: &Path) -> Result<Restored, RestoreError> {
    let checked = check_backup(file)?;
    owner_only::make_directory(directory).map_err(OpenError::from)?;
    let _lock = lock(directory)?;
    refuse_what_is_there(directory)?;
    let of_the_file = |why| RestoreError::Backup { file: file.to_owned(), why };
    let unfinished = directory.join(RESTORING);
    remove_if_there(&unfinished).map_err(OpenError::from)?;
    let mut making = fs::OpenOptions::new();
    let made =
        owner_only::open(making.read(true).write(true).create_new(true), &unfinished).map_err(OpenError::from)?;
    let database = builder().create_file(made).map_err(OpenError::from)?;
    let mut reading = begin(file)?;
    while let Some(batch) = batch_of(&mut reading).map_err(of_the_file)? {
        write(&database, batch)?;
    }
    say_whose(&database, &reading.header)?;
    drop(database);
    fs::rename(&unfinished, directory.join(FILE)).map_err(OpenError::from)?;
    sync_directories(directory).map_err(OpenError::from)?;
    Ok(checked)
}

/// What a later release has written may be of tables and kinds that this one does not know: that is said before it is taken for damage.
fn begin(file: &Path) -> Result<Reading<fs::File>, RestoreError> {
    let of_the_file = |why| RestoreError::Backup { file: file.to_owned(), why };
    let opened = fs::File::open(file).map_err(|why| of_the_file(why.into()))?;
    let reading = Reading::begin(opened).map_err(of_the_file)?;
    let Header { format, release, .. } = reading.header.clone();
    if format > FORMAT { Err(OpenError::LaterFormat { found: format, release }.into()) } else { Ok(reading) }
}

/// What a file system puts at the root of each volume.
const OF_THE_FILE_SYSTEM: &str = "lost+found";

/// Keys may be put there before, the lock is anybody's who looked, and what another restore left is started over.
fn refuse_what_is_there(directory: &Path) -> Result<(), RestoreError> {
    for entry in fs::read_dir(directory).map_err(OpenError::from)? {
        let name = entry.map_err(OpenError::from)?.file_name();
        let is_a_key = Path::new(&name).extension() == Some(OsStr::new("key"));
        if !is_a_key && name != LOCK && name != RESTORING && name != OF_THE_FILE_SYSTEM {
            let found = name.to_string_lossy().into_owned();
            return Err(RestoreError::NotEmpty { directory: directory.to_owned(), found });
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// None at the end.
fn batch_of(reading: &mut Reading<fs::File>) -> Result<Option<Vec<Lying>>, BackupError> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH && bytes < BATCH_BYTES {
        let Some(lying) = reading.entry()? else { return Ok(Some(batch).filter(|batch| !batch.is_empty())) };
        bytes += lying.key.len() + lying.value.len();
        batch.push(lying);
    }
    Ok(Some(batch))
}

fn write(database: &Database, batch: Vec<Lying>) -> Result<(), OpenError> {
    let transaction = database.begin_write()?;
    {
        let tables = Table::ALL.into_iter().map(|table| transaction.open_table(definition(table)));
        let mut tables: Vec<_> = tables.collect::<Result<_, _>>()?;
        for Lying { table, key, value } in batch {
            tables[table.index()].insert(key.as_slice(), value.as_slice())?;
        }
    }
    Ok(transaction.commit()?)
}

/// Of the release that the backup was made by: who opens it takes it over from that one.
fn say_whose(database: &Database, Header { format, release, .. }: &Header) -> Result<(), OpenError> {
    let transaction = database.begin_write()?;
    for table in Table::ALL {
        transaction.open_table(definition(table))?;
    }
    transaction.open_table(META)?.insert(FORMAT_KEY, format)?;
    transaction.open_table(ABOUT)?.insert(RELEASE_KEY, release.as_str())?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;
    use minutehand_domain::cursor::Cursor;
    use minutehand_domain::id::Tenant;

    use super::*;
    use crate::store::embedded::FileStore;
    use crate::store::{Guard, Store as _};

    const TAKEN: Moment = Moment::from_secs(1_800_000_000);

    fn cursor(oldest: i64) -> Cursor {
        Cursor { hinted_to: TAKEN, swept_at: TAKEN, oldest, steps: Vec::new(), searching: None }
    }

    async fn put(store: &FileStore, shard: u16, oldest: i64) {
        let put = store.put(&Tenant::deployment(), shard, &cursor(oldest), Guard::Absent).await.unwrap();
        assert!(put.is_written());
    }

    async fn oldest(store: &FileStore, shard: u16) -> Option<i64> {
        let seen = store.get::<Cursor>(&Tenant::deployment(), shard).await.unwrap();
        seen.map(|seen| seen.item.oldest)
    }

    /// A store with a cursor, and a backup of it.
    async fn backed_up(there: &Path) -> (FileStore, PathBuf) {
        let (store, file) = (FileStore::open(&there.join("one")).unwrap(), there.join("backup"));
        put(&store, 0, 7).await;
        assert_eq!(store.snapshot(TAKEN).write(fs::File::create(&file).unwrap()).unwrap(), 1);
        (store, file)
    }

    #[tokio::test]
    async fn a_backup_holds_what_stood_when_it_was_taken_and_nothing_that_came_later() {
        let there = tempfile::tempdir().unwrap();
        let (store, file, two) = (
            FileStore::open(&there.path().join("one")).unwrap(),
            there.path().join("backup"),
            there.path().join("two"),
        );
        put(&store, 0, 7).await;
        let snapshot = store.snapshot(TAKEN);
        put(&store, 1, 8).await;

        snapshot.write(fs::File::create(&file).unwrap()).unwrap();
        let restored = restore_backup(&file, &two).unwrap();

        let store = FileStore::open(&two).unwrap();
        assert_eq!((oldest(&store, 0).await, oldest(&store, 1).await), (Some(7), None));
        assert_eq!((restored.items, restored.of.taken()), (1, TAKEN));
    }

    #[tokio::test]
    async fn a_directory_that_holds_anything_but_keys_is_refused_and_left_as_it_is() {
        let there = tempfile::tempdir().unwrap();
        let (store, file) = backed_up(there.path()).await;
        put(&store, 1, 8).await;
        store.close();
        let (one, two, three) = (there.path().join("one"), there.path().join("two"), there.path().join("three"));
        for (directory, name) in [(&two, "secrets.key"), (&three, "notes.txt")] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join(name), "mine").unwrap();
        }
        fs::create_dir(two.join(OF_THE_FILE_SYSTEM)).unwrap();

        for directory in [&one, &three] {
            let refused = restore_backup(&file, directory);
            assert!(matches!(refused, Err(RestoreError::NotEmpty { .. })), "{refused:?}");
        }

        assert_eq!(oldest(&FileStore::open(&one).unwrap(), 1).await, Some(8));
        restore_backup(&file, &two).unwrap();
        assert_eq!(fs::read_to_string(two.join("secrets.key")).unwrap(), "mine");
    }

    /// Removed: the look for what a restore left, at opening. An empty store is made beside it, and nobody is told.
    #[tokio::test]
    async fn what_a_restore_that_died_left_is_opened_by_nobody_and_restored_again() {
        let there = tempfile::tempdir().unwrap();
        let (_store, file) = backed_up(there.path()).await;
        let two = there.path().join("two");
        fs::create_dir(&two).unwrap();
        fs::write(two.join(RESTORING), "half of it").unwrap();

        let opened = FileStore::open(&two);

        assert!(matches!(opened, Err(OpenError::HalfRestored)));
        restore_backup(&file, &two).unwrap();
        assert_eq!(oldest(&FileStore::open(&two).unwrap(), 0).await, Some(7));
    }

    /// Removed: the reading to its end before anything is written.
    #[tokio::test]
    async fn a_damaged_backup_leaves_the_directory_as_it_was() {
        let there = tempfile::tempdir().unwrap();
        let (_store, file) = backed_up(there.path()).await;
        let whole = fs::read(&file).unwrap();
        fs::write(&file, &whole[..whole.len() - 10]).unwrap();
        let two = there.path().join("two");

        let refused = restore_backup(&file, &two);

        assert!(matches!(refused, Err(RestoreError::Backup { why: BackupError::CutShort, .. })), "{refused:?}");
        assert!(!two.exists());
    }

    /// Removed: the format is looked at before the entries. It was said to be damaged.
    #[tokio::test]
    async fn a_backup_of_a_later_store_is_refused_by_its_release() {
        use crate::store::embedded::backup::Writing;
        let there = tempfile::tempdir().unwrap();
        let file = there.path().join("backup");
        let header = Header::new(FORMAT + 1, "9.1.0".to_owned(), TAKEN);
        // It is cut short as well, behind its header: what else that release has written means nothing here.
        drop(Writing::begin(fs::File::create(&file).unwrap(), &header).unwrap());

        let restored = restore_backup(&file, &there.path().join("two")).unwrap_err();
        let checked = check_backup(&file).unwrap_err();

        for refused in [restored, checked] {
            assert!(refused.to_string().contains("written by Minutehand 9.1.0"), "{refused}");
        }
    }
}
