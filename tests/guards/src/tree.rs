//! The copy of the working tree in which the guards can be removed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::instrument::Sources;

/// The files of the working tree as they are on disk, committed or not, by their path below the root.
pub fn files(root: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()?;
    if !listed.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&listed.stderr).into_owned()));
    }
    let names = String::from_utf8_lossy(&listed.stdout);
    // A file that was deleted and not yet committed is listed too.
    Ok(names.split_terminator('\0').map(PathBuf::from).filter(|file| root.join(file).is_file()).collect())
}

pub fn sources(root: &Path, files: &BTreeSet<PathBuf>) -> io::Result<Sources> {
    let rust = files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|file| Ok((file.clone(), fs::read_to_string(root.join(file))?))).collect()
}

/// Makes the copy what it has to be. What already is so is left alone, so that cargo builds only what has changed since.
pub fn write(root: &Path, tree: &Path, files: &BTreeSet<PathBuf>, written: &Sources) -> io::Result<()> {
    remove_all_but(tree, Path::new(""), files)?;
    for file in files {
        let wanted = match written.get(file) {
            Some(code) => code.clone().into_bytes(),
            None => fs::read(root.join(file))?,
        };
        let copy = tree.join(file);
        if !fs::read(&copy).is_ok_and(|there| there == wanted) {
            fs::create_dir_all(copy.parent().unwrap_or(tree))?;
            fs::write(&copy, wanted)?;
        }
    }
    Ok(())
}

fn remove_all_but(tree: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    fs::create_dir_all(tree.join(folder))?;
    for entry in fs::read_dir(tree.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_all_but(tree, &path, files)?;
        } else if !files.contains(&path) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
