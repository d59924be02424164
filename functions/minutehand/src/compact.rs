//! `minutehand compact`: a store's file gives back what it has no use for. What has expired leaves free pages, which what comes is written into:
//! a file grows no further than it was at its fullest, and shrinks only here.

use std::io::{self, Write as _};
use std::path::Path;

use minutehand_io::store::embedded::FileStore;

use crate::serve_error::ServeError;

/// Of a directory that nobody serves.
pub(crate) fn compact_directory(directory: &Path) -> Result<(), ServeError> {
    let unusable = |why| ServeError::Store { directory: directory.to_owned(), why };
    // To look for a store must not make one.
    if !FileStore::is_in(directory).map_err(unusable)? {
        return Err(ServeError::NoDirectory(directory.to_owned()));
    }
    let (before, after) = FileStore::compact(directory).map_err(unusable)?;
    writeln!(io::stdout(), "{}", said(directory, before, after))?;
    Ok(())
}

fn said(directory: &Path, before: u64, after: u64) -> String {
    let (from, to) = (bytes(before), bytes(after));
    let directory = directory.display();
    if after < before {
        format!("the store in {directory} had {from}, and has {to}")
    } else {
        format!("the store in {directory} has {to}: there was nothing to give back")
    }
}

/// With one digit behind the point, from a kilobyte on.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    let mut tenths = u128::from(bytes) * 10;
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let mut unit = UNITS[0];
    for larger in UNITS {
        unit = larger;
        tenths /= 1000;
        if tenths < 10_000 {
            break;
        }
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_unit_that_says_them_in_few_digits() {
        let rows = [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (999_999, "999.9 kB"),
            (1_589_248, "1.5 MB"),
            (12_345_678_901, "12.3 GB"),
            (u64::MAX, "18446744.0 TB"),
        ];
        for (of, said) in rows {
            assert_eq!(bytes(of), said);
        }
    }
}
