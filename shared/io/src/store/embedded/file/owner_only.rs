//! Owner only: whatever lies in the data directory, or is taken out of it, is for the user who runs the process. What is made here is narrow from its
//! first byte on, whatever the umask; what was there before stays as it is, and the operator is told what to change.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::durable::sync_directory_of;

const DIRECTORY: u32 = 0o700;
const FILE: u32 = 0o600;
/// Of a file's mode: what it lets its group and everybody else do.
const OTHERS: u32 = 0o077;
/// A directory with this bit is everybody's on purpose, like `/tmp`: nothing is to be said about it, only about our files.
const STICKY: u32 = 0o1000;
/// What the files begin with that keep what was discarded from the store.
pub const DISCARDED: &str = "discarded-";
/// What a file of ours is called: `minutehand.redb`, its lock and its unfinished forms; the keys beside it, and what was discarded.
const OURS: [fn(&Path) -> bool; 3] = [
    |name| name.file_stem().is_some_and(|stem| stem == "minutehand" || stem == "minutehand.redb"),
    |name| name.extension().is_some_and(|it| it == "key"),
    |name| name.file_name().is_some_and(|it| it.to_string_lossy().starts_with(DISCARDED)),
];

/// Makes the directory and those above it where they are missing.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIRECTORY);
    builder.create(directory)
}

/// Makes a file with `options`, or opens it where they allow that.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, FILE);
    options.open(path)
}

/// Makes a file of this text, whole and on the disk or not at all: it is written aside, and put in its place only where nothing is.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let aside = path.with_added_extension("new");
    let _what_was_left = fs::remove_file(&aside);
    let written = write_aside(&aside, text).and_then(|()| put(&aside, path)).and_then(|()| sync_directory_of(path));
    let _nothing_to_remove = fs::remove_file(&aside);
    written
}

/// Where the file system knows no links, a file that comes there at the same moment may be written over.
fn put(aside: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(aside, path) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists && !path.exists() => fs::rename(aside, path),
        put => put,
    }
}

fn write_aside(aside: &Path, text: &str) -> io::Result<()> {
    let mut file = open(OpenOptions::new().write(true).create_new(true), aside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Something in the data directory, or the directory, that others may use.
#[derive(Debug, PartialEq, Eq)]
struct Wider {
    path: PathBuf,
    mode: u32,
    wanted: u32,
}

/// Says what others may use, once a start has come so far: where it fails it says why in one line. It is not changed: a group that may read may be how the operator makes copies.
pub fn warn_of_wider(directory: &Path) {
    for Wider { path, mode, wanted } in wider(directory) {
        let path = path.display();
        tracing::warn!(
            "other users of this machine may use {path} (mode {mode:03o}), and the secrets in it: chmod {wanted:03o} {path}"
        );
    }
}

/// Whatever cannot be looked at is not told: it is not what others may use.
fn wider(directory: &Path) -> Vec<Wider> {
    let itself = wider_than(DIRECTORY, directory).filter(|it| it.mode & STICKY == 0);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| OURS.iter().any(|is_ours| is_ours(&entry.path())));
    let mut files: Vec<_> = ours.filter_map(|entry| wider_than(FILE, &entry.path())).collect();
    files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    itself.into_iter().chain(files).collect()
}

#[cfg(unix)]
fn wider_than(wanted: u32, path: &Path) -> Option<Wider> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & OTHERS != 0).then(|| Wider { path: path.to_owned(), mode, wanted })
}

#[cfg(not(unix))]
fn wider_than(_wanted: u32, _path: &Path) -> Option<Wider> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn with_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_made_is_for_its_owner_only() {
        let there = tempfile::tempdir().unwrap();
        let (directory, file) = (there.path().join("a/b"), there.path().join("a/b/minutehand.redb"));

        make_directory(&directory).unwrap();
        open(OpenOptions::new().write(true).create_new(true), &file).unwrap();

        let modes = [&there.path().join("a"), &directory, &file].map(|path| mode_of(path));
        assert_eq!(modes, [0o700, 0o700, 0o600]);
        assert_eq!(wider(&directory), []);
    }

    /// Removed: the text is written where it is to stand. Who died between the two found a file without a text at each start from then on.
    #[test]
    fn a_text_is_written_whole_over_what_a_crash_left_and_never_over_another() {
        let there = tempfile::tempdir().unwrap();
        let (path, aside) = (there.path().join("admin.key"), there.path().join("admin.key.new"));
        fs::write(&aside, "ha").unwrap();

        write_whole(&path, "one").unwrap();
        let again = write_whole(&path, "two");

        assert!(again.is_err_and(|why| why.kind() == io::ErrorKind::AlreadyExists));
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), aside.exists()), ("one", false));
        assert_eq!(mode_of(&path), 0o600);
    }

    #[test]
    fn what_others_may_use_is_found_and_left_as_it_is() {
        let there = tempfile::tempdir().unwrap();
        let paths =
            ["admin.key", "minutehand.lock", "minutehand.redb", "notes.txt"].map(|name| there.path().join(name));
        for (path, mode) in paths.iter().zip([0o640, 0o600, 0o604, 0o666]) {
            fs::write(path, "").unwrap();
            with_mode(path, mode);
        }
        with_mode(there.path(), 0o755);

        let found = wider(there.path());

        let told = |path: &Path, mode, wanted| Wider { path: path.to_owned(), mode, wanted };
        let all = [told(there.path(), 0o755, 0o700), told(&paths[0], 0o640, 0o600), told(&paths[2], 0o604, 0o600)];
        assert_eq!(found, all);
        assert_eq!((mode_of(there.path()), mode_of(&paths[0])), (0o755, 0o640));
        with_mode(there.path(), 0o1777);
        assert_eq!(wider(there.path()), all[1..]);
    }

    #[test]
    fn a_directory_that_is_missing_is_nobodys() {
        assert_eq!(wider(Path::new("/nowhere/at/all")), []);
    }
}
