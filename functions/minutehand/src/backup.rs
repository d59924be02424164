//! `minutehand backup` and `minutehand restore`: all that a process keeps, in one file, from the process while it goes on or from a data
//! directory that nobody serves; and back again into an empty directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use minutehand_client::calls;
use minutehand_io::chance::{Chance as _, SystemChance};
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::store::embedded::{
    self, BackupError, FileStore, OpenError, RestoreError, Restored, check_backup, durable, owner_only, restore_backup,
};
use thiserror::Error;

use crate::arguments::{Backup, Restore};
use crate::client::{Failure, Session};

#[derive(Debug, Error)]
pub(crate) enum BackupFailure {
    #[error(transparent)]
    Client(#[from] Failure),
    #[error("{file} is there already; --force writes over it", file = .0.display())]
    Exists(PathBuf),
    #[error("{file} is a directory: name the file in it that the backup is to be", file = .0.display())]
    Directory(PathBuf),
    #[error("cannot write {file}: {why}", file = file.display())]
    Unwritable { file: PathBuf, why: io::Error },
    #[error("there is no store in {}", .0.display())]
    NoStore(PathBuf),
    #[error("cannot use the store in {directory}: {why}", directory = directory.display())]
    Store { directory: PathBuf, why: OpenError },
    #[error("the backup was not made: {0}")]
    Unmade(#[from] BackupError),
    #[error(transparent)]
    Unsound(#[from] RestoreError),
}

/// Writes beside the file, looks whether it can be read to its end, and only then gives it its name.
pub(crate) async fn backup(options: &Backup) -> Result<(), BackupFailure> {
    let path = &options.file;
    if path.is_dir() {
        return Err(BackupFailure::Directory(path.clone()));
    }
    if !options.force && path.exists() {
        return Err(BackupFailure::Exists(path.clone()));
    }
    let unfinished = Unfinished::beside(path)?;
    match &options.data {
        Some(directory) => of_a_directory(directory, unfinished.open()?)?,
        None => of_a_server(&Session::open(&options.connection)?, unfinished.open()?, path).await?,
    }
    let checked = check_backup(&unfinished.path)?;
    unfinished.name(path, options.force)?;
    say(&format!("{}: {}", path.display(), told(&checked)), options.connection.json, &checked, path)
}

fn of_a_directory(directory: &Path, file: File) -> Result<(), BackupFailure> {
    let unusable = |why| BackupFailure::Store { directory: directory.to_owned(), why };
    if !FileStore::is_in(directory).map_err(unusable)? {
        return Err(BackupFailure::NoStore(directory.to_owned()));
    }
    let backup = embedded::Backup::of_directory(directory, SystemClock.now()).map_err(unusable)?;
    backup.write(BufWriter::new(file))?;
    Ok(())
}

async fn of_a_server(session: &Session, mut file: File, path: &Path) -> Result<(), BackupFailure> {
    let mut download = session.client().download(&calls::backup()).await.map_err(Failure::from)?;
    while let Some(piece) = download.next().await.map_err(Failure::from)? {
        file.write_all(&piece).map_err(|why| BackupFailure::Unwritable { file: path.to_owned(), why })?;
    }
    Ok(())
}

pub(crate) fn restore(options: &Restore) -> Result<(), BackupFailure> {
    let restored = restore_backup(&options.file, &options.data)?;
    let said = format!("restored {} into {}", told(&restored), options.data.display());
    say(&said, false, &restored, &options.data)
}

fn told(Restored { of, items }: &Restored) -> String {
    format!("{items} items as of {} (Minutehand {})", of.taken(), of.release)
}

fn say(text: &str, as_json: bool, what: &Restored, path: &Path) -> Result<(), BackupFailure> {
    let json = serde_json::json!({
        "file": path, "items": what.items, "as_of": what.of.taken().to_string(), "release": what.of.release
    });
    let line = if as_json { json.to_string() } else { text.to_owned() };
    writeln!(io::stdout(), "{line}").map_err(|why| Failure::Io(why).into())
}

/// A backup that is being written: removed where it comes to nothing.
struct Unfinished {
    path: PathBuf,
    is_named: bool,
}

impl Unfinished {
    fn beside(path: &Path) -> Result<Self, BackupFailure> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        if name.is_empty() {
            let why = io::Error::new(io::ErrorKind::IsADirectory, "this is no name of a file");
            return Err(BackupFailure::Unwritable { file: path.to_owned(), why });
        }
        name.push(format!(".{:016x}.unfinished", SystemChance.number()));
        Ok(Self { path: path.with_file_name(name), is_named: false })
    }

    /// For its owner only: it holds what every tenant keeps.
    fn open(&self) -> Result<File, BackupFailure> {
        let opened = owner_only::open(OpenOptions::new().write(true).create_new(true), &self.path);
        opened.map_err(|why| self.unwritable(why))
    }

    /// On the disk before it has its name. Without force, what came to stand there meanwhile stays.
    fn name(mut self, path: &Path, force: bool) -> Result<(), BackupFailure> {
        File::open(&self.path).and_then(|file| file.sync_all()).map_err(|why| self.unwritable(why))?;
        if !force {
            reserve(path)?;
        }
        if let Err(why) = fs::rename(&self.path, path) {
            if !force {
                let _it_is_empty = fs::remove_file(path);
            }
            return Err(self.unwritable(why));
        }
        self.is_named = true;
        durable::sync_directory_of(path).map_err(|why| self.unwritable(why))
    }

    fn unwritable(&self, why: io::Error) -> BackupFailure {
        BackupFailure::Unwritable { file: self.path.clone(), why }
    }
}

/// Takes the name for a file that is to come: whoever was faster keeps his. It is written over at once, which every file system can do; not every one
/// has a second name for a file, or a renaming that refuses.
fn reserve(path: &Path) -> Result<(), BackupFailure> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_empty) => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(BackupFailure::Exists(path.to_owned())),
        Err(why) => Err(BackupFailure::Unwritable { file: path.to_owned(), why }),
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_named {
            let _it_may_never_have_been_made = fs::remove_file(&self.path);
        }
    }
}
