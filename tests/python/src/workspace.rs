//! Paths: the checkout, and cargo's target folder.

use std::env;
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
