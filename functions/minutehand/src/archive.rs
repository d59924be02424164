//! The archive: a directory that gets what is over before it is deleted. A file for each tenant, day and process, `TENANT/YYYY/MM/DD/*.jsonl.gz`,
//! by the day of each run's end: lines of JSON, each a run as the API shows it.
//!
//! Rule **archived before deleted**: a batch is on the disk, with the directories that lead to it, before the first run of it is deleted. So
//! whoever dies in between archives it again: each run is there at least once, and who reads takes its first line.
//!
//! A file is only ever appended to, a whole member of gzip at a time, by the process that made it. So what a crash tears is the end of a file,
//! and nothing is written behind it.

mod listing;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use minutehand_api::archive::{ENDING, Record, member};
use minutehand_domain::Moment;
use minutehand_io::store::embedded::{durable, owner_only};

pub(crate) use self::listing::list;

#[derive(Debug)]
pub(crate) struct Archive {
    directory: PathBuf,
    /// What this process calls its files: no other has the same.
    name: String,
    /// Those that nothing may be appended to any more: what is torn, or perhaps not on the disk, stays the end of its file.
    spoilt: BTreeMap<PathBuf, u32>,
}

/// Why something was not appended.
struct Unappended {
    why: io::Error,
    /// Nobody knows what the file's end is now.
    spoils: bool,
}

impl Archive {
    /// Makes the directory where it is missing, so that a wrong one is told of at the start and not in a month.
    pub(crate) fn open(directory: &Path, now: Moment, process: u64) -> io::Result<Self> {
        owner_only::make_directory(directory)?;
        durable::sync_directory_of(directory)?;
        let name = format!("{}-{process:016x}", now.to_string().replace(':', ""));
        Ok(Self { directory: directory.to_owned(), name, spoilt: BTreeMap::new() })
    }

    /// On the disk when it returns, but for those of the folders that it names, which could not be written into: one tenant's keeps nobody else's.
    pub(crate) fn keep(&mut self, records: &[Record]) -> BTreeMap<PathBuf, io::Error> {
        let mut by_folder: BTreeMap<PathBuf, Vec<&Record>> = BTreeMap::new();
        for record in records {
            by_folder.entry(record.folder().into()).or_default().push(record);
        }
        let appended = by_folder.into_iter().map(|(folder, records)| (self.append(&folder, &records), folder));
        appended.filter_map(|(appended, folder)| Some((folder, appended.err()?))).collect()
    }

    fn append(&mut self, folder: &Path, records: &[&Record]) -> io::Result<()> {
        make_durably(&self.directory, folder)?;
        let member = member(records.iter().map(|record| record.line.as_str()))?;
        let spoilt = self.spoilt.get(folder).copied().unwrap_or_default();
        let again = if spoilt == 0 { String::new() } else { format!("-{spoilt}") };
        let folder_here = self.directory.join(folder);
        let path = folder_here.join(format!("{}{again}{ENDING}", self.name));
        let appended = append_durably(&path, &member);
        if appended.as_ref().is_err_and(|failed| failed.spoils) {
            self.spoilt.insert(folder.to_owned(), spoilt + 1);
        }
        appended.map_err(|failed| failed.why)?;
        durable::sync_directory(&folder_here)
    }
}

/// A disk that is full stays so for hours, and what could not be kept comes again each minute: what fitted of it is taken back, or the pieces would
/// take the rest of the disk.
fn append_durably(path: &Path, bytes: &[u8]) -> Result<(), Unappended> {
    let as_it_was = |why| Unappended { why, spoils: false };
    let mut file = owner_only::open(fs::OpenOptions::new().create(true).append(true), path).map_err(as_it_was)?;
    let length = file.metadata().map_err(as_it_was)?.len();
    let (written, synced) = match file.write_all(bytes) {
        Ok(()) => (Ok(()), file.sync_all()),
        failed => (failed, Ok(())),
    };
    let spoils = synced.is_err();
    let Err(why) = written.and(synced) else { return Ok(()) };
    Err(Unappended { why, spoils: take_back(path, &file, length).is_err() || spoils })
}

fn take_back(path: &Path, file: &fs::File, length: u64) -> io::Result<()> {
    if length == 0 { fs::remove_file(path) } else { file.set_len(length) }
}

/// A folder is only found again after a power cut if those that lead to it are on the disk too: also one that was there already, whose maker may
/// have died before.
fn make_durably(directory: &Path, folder: &Path) -> io::Result<()> {
    owner_only::make_directory(&directory.join(folder))?;
    folder.ancestors().skip(1).try_for_each(|above| durable::sync_directory(&directory.join(above)))
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::Tenant;

    use super::*;

    const NOON: Moment = Moment::from_secs(1_800_014_400);

    fn record(tenant: &str, ended: Moment, line: &str) -> Record {
        Record { tenant: Tenant::new(tenant).unwrap(), ended, line: line.to_owned() }
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        listing::files(directory).unwrap().into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn a_run_lies_under_its_tenant_and_the_day_of_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(directory.path(), NOON, 7).unwrap();

        let refused = archive.keep(&[
            record("acme", NOON, "{}"),
            record("acme", Moment::from_secs(0), "{}"),
            record("b", NOON, "{}"),
        ]);

        let name = "2027-01-15T120000.000Z-0000000000000007.jsonl.gz";
        assert!(refused.is_empty(), "{refused:?}");
        let wanted = ["acme/1970/01/01", "acme/2027/01/15", "b/2027/01/15"];
        assert_eq!(files(directory.path()), wanted.map(|day| directory.path().join(day).join(name)));
    }

    #[test]
    fn a_folder_that_cannot_be_written_into_keeps_no_other_from_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(directory.path(), NOON, 7).unwrap();
        let (day, name) = (PathBuf::from("acme/2027/01/15"), format!("{}{ENDING}", archive.name));
        let in_the_way = directory.path().join(&day).join(&name);
        fs::create_dir_all(&in_the_way).unwrap();

        let refused = archive.keep(&[record("acme", NOON, "{}"), record("zebra", NOON, "{}")]);
        fs::remove_dir(&in_the_way).unwrap();
        let written = archive.keep(&[record("acme", NOON, "{}")]);

        assert_eq!((refused.into_keys().collect::<Vec<_>>(), written.len()), (vec![day.clone()], 0));
        let wanted = [day.join(&name), Path::new("zebra/2027/01/15").join(&name)];
        assert_eq!(files(directory.path()), wanted.map(|path| directory.path().join(path)), "the others' are there");
    }

    /// Removed: that it is taken back. Each minute of a full disk left another file, of as much as had fitted.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_did_not_fit_onto_the_disk_is_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(directory.path(), NOON, 7).unwrap();
        let day = directory.path().join("acme/2027/01/15");
        let file = day.join(format!("{}{ENDING}", archive.name));
        fs::create_dir_all(&day).unwrap();
        std::os::unix::fs::symlink("/dev/full", &file).unwrap();

        let refused = archive.keep(&[record("acme", NOON, "{}")]);
        let left = fs::read_dir(&day).unwrap().count();
        let written = archive.keep(&[record("acme", NOON, "{}")]);

        assert_eq!((refused.len(), left, written.len()), (1, 0, 0));
        assert_eq!(files(directory.path()), [file]);
    }

    /// What a failed write left may end in the middle of a member: nothing that is appended behind that could be read.
    #[test]
    fn nothing_is_written_behind_what_could_not_be_taken_back() {
        let directory = tempfile::tempdir().unwrap();
        let mut archive = Archive::open(directory.path(), NOON, 7).unwrap();
        assert!(archive.keep(&[record("acme", NOON, "{}")]).is_empty());
        let [first] = &files(directory.path())[..] else { panic!("one file") };
        let whole = fs::read(first).unwrap();
        fs::write(first, [&whole[..], &whole[..5]].concat()).unwrap();

        let file = fs::OpenOptions::new().append(true).open(first).unwrap();
        take_back(first, &file, whole.len() as u64).unwrap();
        assert_eq!(fs::read(first).unwrap(), whole);
        archive.spoilt.insert("acme/2027/01/15".into(), 1);
        assert!(archive.keep(&[record("acme", NOON, "{}")]).is_empty());

        assert_eq!((files(directory.path()).len(), fs::read(first).unwrap()), (2, whole));
    }

    /// What runs were given and answered is in them.
    #[cfg(unix)]
    #[test]
    fn an_archive_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let there = tempfile::tempdir().unwrap();
        let directory = there.path().join("archive");

        let mut archive = Archive::open(&directory, NOON, 7).unwrap();
        assert!(archive.keep(&[record("acme", NOON, "{}")]).is_empty());

        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            [mode(&directory), mode(&directory.join("acme")), mode(&files(&directory)[0])],
            [0o700, 0o700, 0o600]
        );
    }
}
