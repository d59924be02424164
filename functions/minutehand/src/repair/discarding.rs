//! `--discard`: an item that nobody can read is taken out of the store. Rule **kept before it goes**: its bytes are on the disk in a file beside the store
//! before they are deleted there, so that nothing is lost that somebody may yet make out.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use minutehand_domain::Moment;
use minutehand_domain::id::base32;
use minutehand_io::store::embedded::owner_only::DISCARDED;
use minutehand_io::store::embedded::{Corrupt, FileStore, durable, owner_only};
use serde_json::json;

use crate::serve_error::ServeError;

/// Of `2026-11-26T08:25:00.000Z`, the day.
const DAY_CHARS: usize = 10;

pub(super) async fn discard(
    store: &FileStore,
    directory: &Path,
    corrupt: &Corrupt,
    now: Moment,
) -> Result<(), ServeError> {
    let file = keep(directory, corrupt, now)?;
    let is_gone = store.discard_corrupt(corrupt).await?;
    let said = if is_gone { "discarded, and kept in" } else { "written since, and left; as it was, it is kept in" };
    writeln!(io::stdout(), "{}: {said} {}", corrupt.key(), file.display())?;
    if is_gone && corrupt.is_of_a_run() {
        writeln!(io::stdout(), "nothing says any more that it ran: its job may begin that occurrence once more")?;
    }
    Ok(())
}

/// As a line of JSON, in the file of the day.
fn keep(directory: &Path, corrupt: &Corrupt, now: Moment) -> io::Result<PathBuf> {
    let at = now.to_string();
    let path = directory.join(format!("{DISCARDED}{}.jsonl", &at[..DAY_CHARS]));
    let why = corrupt.why().to_string();
    let line = json!({"at": at, "key": corrupt.key(), "value": base32(corrupt.value()), "why": why});
    let mut file = owner_only::open(OpenOptions::new().create(true).append(true), &path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    durable::sync_directory_of(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use minutehand_domain::cursor::Cursor;
    use minutehand_domain::id::{Tenant, from_base32};
    use minutehand_io::store::embedded::Codec;
    use minutehand_io::store::{Guard, Store as _};
    use serde_json::Value;

    use super::*;

    /// Removed (the file is made anew for each): what was discarded first was lost.
    #[tokio::test]
    async fn what_is_kept_is_the_bytes_that_lay_there_and_what_was_kept_before_stays() {
        let data = tempfile::tempdir().unwrap();
        let store = FileStore::open(data.path()).unwrap();
        let damaging = store.seen_through(Codec::Damaging);
        for shard in [0, 1] {
            let cursor = Cursor::starting_at(7);
            let put = damaging.put(&Tenant::deployment(), shard, &cursor, Guard::Absent).await.unwrap();
            assert!(put.is_written());
        }
        let found = ["0000", "000g"].map(|key| store.corrupt_at(&format!("cursors:{key}")).unwrap());

        for corrupt in &found {
            discard(&store, data.path(), corrupt, Moment::from_secs(1_800_000_000)).await.unwrap();
        }

        let kept = std::fs::read_to_string(data.path().join("discarded-2027-01-15.jsonl")).unwrap();
        let lines: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let values: Vec<_> = lines.iter().map(|line| from_base32(line["value"].as_str().unwrap()).unwrap()).collect();
        assert_eq!(values, found.map(|corrupt| corrupt.value().to_vec()));
    }
}
