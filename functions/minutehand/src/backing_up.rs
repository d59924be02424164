//! Backing up: the API's `GET /v1/backup` of a process that keeps a file. One thread reads the store as it was and packs it; what it
//! makes waits in a short queue for who takes it, so that a slow one takes no memory, and one who went away ends it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use minutehand_api::Backups;
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::store::embedded::{Backup, FileStore};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// Pieces that wait to be taken, of some 32 KiB each.
const QUEUE: usize = 8;

/// One at a time.
pub(crate) fn backups(store: &Arc<FileStore>) -> Backups {
    let (store, is_taken) = (Arc::clone(store), Arc::new(AtomicBool::new(false)));
    Backups::new(move || {
        let turn = Turn::take(&is_taken)?;
        Some(body_of(store.snapshot(SystemClock.now()), turn))
    })
}

fn body_of(backup: Backup, turn: Turn) -> Body {
    let (pieces, taken) = mpsc::channel(QUEUE);
    drop(spawn_blocking(move || {
        let _until_it_is_written = turn;
        match backup.write(Pieces(pieces.clone())) {
            Ok(items) => tracing::info!(items, "a backup was handed out"),
            Err(why) => {
                tracing::warn!(%why, "a backup was broken off");
                // Without this the answer would seem to have come to its end.
                let _whoever_took_it_went_away = pieces.blocking_send(Err(io::Error::other(why)));
            }
        }
    }));
    Body::from_stream(stream::unfold(taken, async |mut taken| taken.recv().await.map(|piece| (piece, taken))))
}

type Piece = io::Result<Bytes>;

struct Pieces(mpsc::Sender<Piece>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let gone = |_| io::Error::new(io::ErrorKind::BrokenPipe, "whoever asked for it went away");
        self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes))).map_err(gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The turn of who is taking a backup; over when it is dropped.
struct Turn(Arc<AtomicBool>);

impl Turn {
    fn take(is_taken: &Arc<AtomicBool>) -> Option<Self> {
        (!is_taken.swap(true, Ordering::AcqRel)).then(|| Self(Arc::clone(is_taken)))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
