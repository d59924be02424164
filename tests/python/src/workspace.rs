//! Paths of the checkout and of cargo's target folder, and locks below it.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The workspace's root.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package stands two folders below the root").to_path_buf()
}

/// Cargo's target folder: tests write there, so that deleting it deletes everything.
pub fn target() -> PathBuf {
    // Joining an absolute path gives that path.
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A file's lock, with its folder where there is none yet. Others who ask for it, here and in other processes, wait until this is dropped.
pub fn locked(path: &Path) -> File {
    fs::create_dir_all(path.parent().expect("a lock lies in a folder")).expect("the target folder can be written");
    let lock = File::create(path).expect("a lock file can be made");
    lock.lock().expect("the lock is waited for");
    lock
}
