//! Durable: a file, or a directory, is only found again after a power cut if the directory that it lies in is on the disk too.

use std::fs;
use std::io;
use std::path::Path;

pub fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { fs::File::open(directory)?.sync_all() } else { Ok(()) }
}

/// The directory that this lies in; the one that the process works in, where the path is a name alone.
pub fn sync_directory_of(path: &Path) -> io::Result<()> {
    sync_directory(path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new(".")))
}

/// A directory that may be new itself, and the one above it; who may not look into that did not make it.
pub(super) fn sync_directories(directory: &Path) -> io::Result<()> {
    sync_directory(directory)?;
    if let Some(above) = fs::canonicalize(directory)?.parent() {
        drop(sync_directory(above));
    }
    Ok(())
}
