//! The admin's key: given, found, or made at the first start. Only its owner may read its file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use minutehand_domain::id::base32;
use minutehand_io::chance::{Chance as _, SystemChance};
use minutehand_io::store::embedded::owner_only;
use thiserror::Error;

pub(crate) const FILE: &str = "admin.key";
/// A key shorter than this could be guessed.
const LEAST_CHARS: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AdminKey {
    pub(crate) key: String,
    pub(crate) origin: Origin,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Given by the operator.
    Given,
    /// Found in the data directory.
    Found(PathBuf),
    /// Made at this start and shown once; kept in the file, if there is one.
    Made(Option<PathBuf>),
}

#[derive(Debug, Error)]
pub(crate) enum KeyError {
    #[error("the admin key must have at least {LEAST_CHARS} characters, all of them visible ASCII")]
    Weak,
    #[error("the admin key in {path} cannot be used: {why}")]
    Unusable { path: PathBuf, why: io::Error },
    #[error("the admin key in {path} cannot be used: it is empty or damaged; remove the file to get a new one")]
    Damaged { path: PathBuf },
}

impl AdminKey {
    /// The given key; else the key of the directory, if there is one; else a new key.
    pub(crate) fn settle(given: Option<&str>, directory: Option<&Path>) -> Result<Self, KeyError> {
        if let Some(key) = given {
            return if is_strong(key) { Ok(Self::of(key, Origin::Given)) } else { Err(KeyError::Weak) };
        }
        let Some(path) = directory.map(|directory| directory.join(FILE)) else {
            return Ok(Self::of(&make(), Origin::Made(None)));
        };
        match fs::read_to_string(&path) {
            Ok(text) if is_strong(text.trim()) => Ok(Self::of(text.trim(), Origin::Found(path))),
            Ok(_) => Err(KeyError::Damaged { path }),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Self::keep_new(path),
            Err(why) => Err(KeyError::Unusable { path, why }),
        }
    }

    fn keep_new(path: PathBuf) -> Result<Self, KeyError> {
        let key = make();
        match owner_only::write_whole(&path, &format!("{key}\n")) {
            Ok(()) => Ok(Self::of(&key, Origin::Made(Some(path)))),
            Err(why) => Err(KeyError::Unusable { path, why }),
        }
    }

    fn of(key: &str, origin: Origin) -> Self {
        Self { key: key.to_owned(), origin }
    }
}

fn make() -> String {
    format!("mh_{}", base32(&SystemChance.bytes()))
}

fn is_strong(key: &str) -> bool {
    key.len() >= LEAST_CHARS && key.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_made_at_the_first_start_is_found_at_the_second() {
        let directory = tempfile::tempdir().unwrap();

        let first = AdminKey::settle(None, Some(directory.path())).unwrap();
        let second = AdminKey::settle(None, Some(directory.path())).unwrap();

        assert_eq!(first.key, second.key);
        assert!(matches!((first.origin, second.origin), (Origin::Made(Some(_)), Origin::Found(_))));
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();

        AdminKey::settle(None, Some(directory.path())).unwrap();

        let mode = fs::metadata(directory.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_given_key_is_not_kept_and_a_weak_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();

        let given = AdminKey::settle(Some("correct-horse-battery"), Some(directory.path())).unwrap();

        assert_eq!(given.origin, Origin::Given);
        assert!(!directory.path().join(FILE).exists());
        assert!(matches!(AdminKey::settle(Some("short"), None), Err(KeyError::Weak)));
        assert!(matches!(AdminKey::settle(Some("has blanks in it, and more"), None), Err(KeyError::Weak)));
    }

    #[test]
    fn a_damaged_key_file_is_reported_and_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE), "\n").unwrap();

        assert!(matches!(AdminKey::settle(None, Some(directory.path())), Err(KeyError::Damaged { .. })));
    }
}
