//! `minutehand archive list`: what lies in an archive, file by file. Each file is read through, so that what is said of it is so.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use minutehand_api::archive::ENDING;
use serde::{Deserialize, Serialize};

use crate::arguments::ArchiveList;
use crate::compact::bytes;
use crate::serve_error::ServeError;

/// A file of an archive, by where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: PathBuf,
    tenant: String,
    /// `YYYY-MM-DD`.
    day: String,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Held {
    day: String,
    tenant: String,
    /// Each counted once, though it may have more than one line.
    runs: usize,
    bytes: u64,
    file: PathBuf,
    /// Its end is missing: whoever wrote it died, and archived what was to follow in another file.
    torn: bool,
}

/// All that is read of a line.
#[derive(Deserialize)]
struct Line {
    run_id: String,
}

pub(crate) fn list(asked: &ArchiveList) -> Result<(), ServeError> {
    if !asked.archive.is_dir() {
        return Err(ServeError::NoArchive(asked.archive.clone()));
    }
    let files = files(&asked.archive)?.into_iter().filter(|file| asked.names(&file.tenant, &file.day));
    let held = files.map(|file| held(&file)).collect::<io::Result<Vec<_>>>()?;
    for torn in held.iter().filter(|held| held.torn) {
        eprintln!("minutehand: {} has lost its end; its first {} runs are whole", torn.file.display(), torn.runs);
    }
    let mut out = io::stdout().lock();
    if asked.json {
        for held in &held {
            writeln!(out, "{}", serde_json::to_string(held).expect("a file can be written down"))?;
        }
        return Ok(());
    }
    write!(out, "{}", table(&held))?;
    Ok(())
}

/// The table is for people; what reads it reads the JSON.
fn table(held: &[Held]) -> String {
    let row = |day: &str, tenant: &str, runs: &str, size: &str, file: &str| {
        format!("{day:10}  {tenant:16}  {runs:>8}  {size:>10}  {file}\n")
    };
    let rows = held.iter().map(|held| {
        let file = held.file.display().to_string();
        row(&held.day, &held.tenant, &held.runs.to_string(), &bytes(held.bytes), &file)
    });
    std::iter::once(row("DAY", "TENANT", "RUNS", "SIZE", "FILE")).chain(rows).collect()
}

/// All files, by tenant, day and name. What is none of ours is passed over.
pub(super) fn files(directory: &Path) -> io::Result<Vec<File>> {
    let tenants = inside_each(&[directory.to_owned()])?;
    let months = inside_each(&inside_each(&tenants)?)?;
    let files = inside_each(&inside_each(&months)?)?.into_iter();
    Ok(files.filter(|path| path.is_file() && name(path).ends_with(ENDING)).map(File::at).collect())
}

fn inside_each(folders: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    Ok(folders.iter().map(|folder| inside(folder)).collect::<io::Result<Vec<_>>>()?.concat())
}

impl File {
    /// In the folder of its tenant, year, month and day.
    fn at(path: PathBuf) -> Self {
        let mut above = path.ancestors().skip(1).map(name);
        let [day, month, year, tenant] = std::array::from_fn(|_| above.next().unwrap_or_default());
        Self { path, tenant, day: format!("{year}-{month}-{day}") }
    }
}

/// What lies in a folder, by name; nothing in what is none.
fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut inside: Vec<_> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    inside.sort();
    Ok(inside)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn held(file: &File) -> io::Result<Held> {
    let bytes = fs::metadata(&file.path)?.len();
    let mut lines = BufReader::new(MultiGzDecoder::new(fs::File::open(&file.path)?));
    let (mut runs, mut torn, mut line) = (BTreeSet::new(), false, Vec::new());
    loop {
        line.clear();
        match lines.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(_cut_short) => {
                torn = true;
                break;
            }
        }
        match serde_json::from_slice::<Line>(&line) {
            Ok(line) => drop(runs.insert(line.run_id)),
            Err(_cut_short) => torn = true,
        }
    }
    let (day, tenant) = (file.day.clone(), file.tenant.clone());
    Ok(Held { day, tenant, runs: runs.len(), bytes, file: file.path.clone(), torn })
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;
    use minutehand_domain::id::Tenant;

    use super::super::{Archive, Record};
    use super::*;

    #[test]
    fn a_file_says_its_runs_once_each_and_that_it_has_lost_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(directory.path(), Moment::from_secs(1_800_000_000), 7).unwrap();
        let of = |run: &str| Record {
            tenant: Tenant::new("acme").unwrap(),
            ended: Moment::from_secs(1_800_000_000),
            line: format!("{{\"run_id\":\"{run}\",\"result\":\"{}\"}}", "x".repeat(200)),
        };
        assert!(archive.keep(&[of("a"), of("b")]).is_empty());
        assert!(archive.keep(&[of("b"), of("c")]).is_empty());
        let file = files(directory.path()).unwrap().remove(0);

        let whole = held(&file).unwrap();
        let first = fs::read(&file.path).unwrap();
        fs::write(&file.path, &first[..first.len() - 20]).unwrap();
        let torn = held(&file).unwrap();

        assert_eq!((whole.runs, whole.torn, whole.day.as_str()), (3, false, "2027-01-15"));
        assert_eq!((torn.runs, torn.torn), (2, true), "what is whole is whole still");
    }
}
