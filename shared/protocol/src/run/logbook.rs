//! Keeping a run's logbook: what its holder says beside that it is alive, and what came too late to count. None of it decides what becomes of
//! the run, so that whoever says it need not wait for the run's own item.
//!
//! Guard **fence**: who had the run before is not heard any more.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::Run;
use minutehand_domain::run::logbook::{Checkpoint, Entry, LateAnswer, LateWord, Lines, LogPiece, Logbook};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, LogFrom, Put, Seen, Store as _, Version};
use minutehand_io::{Fault, Ports};

use crate::amend::amend;

/// Pieces of a log that are deleted side by side.
const AT_ONCE: usize = 16;

/// Writes down what the holder of this claim says.
pub async fn enter<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey, fence: u32, entry: &Entry) -> Result<(), Fault> {
    let mut seen = ports.store().get::<Logbook>(tenant, run).await?;
    if book_of(seen.as_ref(), tenant, run).after(fence, entry).is_err() {
        return Ok(());
    }
    if entry.checkpoint.is_some() {
        keep(ports, tenant, run, fence, entry).await?;
    }
    let piece = if entry.lines.is_empty() {
        None
    } else {
        let first = book_of(seen.as_ref(), tenant, run).lines.next;
        Some(append(ports, tenant, entry.piece(run, fence, first, ports.clock().now())).await?)
    };
    loop {
        let book = book_of(seen.as_ref(), tenant, run);
        let Ok(next) = book.after(fence, entry) else { return Ok(()) };
        let lines = match &piece {
            Some(piece) => within_bounds(ports, tenant, run, next.lines.with(piece)).await?,
            None => next.lines,
        };
        let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
        match ports.store().put(tenant, run, &Logbook { lines, ..next }, guard).await? {
            Put::Written(_) => return Ok(()),
            Put::Conflict(there) => seen = there,
        }
    }
}

/// Writes down what somebody said whose lease was over. What nobody can have meant is not.
pub async fn note_late<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    run: &Run,
    fence: u32,
    word: LateWord,
) -> Result<(), Fault> {
    if !run.is_late(fence) {
        return Ok(());
    }
    let answer = LateAnswer { at: ports.clock().now(), fence, word };
    let blank = Logbook::blank(tenant.clone(), run.key);
    amend::<D, Logbook>(ports, tenant, run.key, |book| book.unwrap_or(&blank).after_late(&answer)).await.map(drop)
}

fn book_of(seen: Option<&Seen<Logbook>>, tenant: &Tenant, run: RunKey) -> Logbook {
    seen.map_or_else(|| Logbook::blank(tenant.clone(), run), |seen| seen.item.clone())
}

/// For the next holder, unless that one has kept something itself by now.
async fn keep<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey, fence: u32, entry: &Entry) -> Result<(), Fault> {
    let Some(value) = entry.checkpoint.clone() else { return Ok(()) };
    let checkpoint = Checkpoint { run, fence, at: ports.clock().now(), value };
    let is_earlier = |there: Option<&Checkpoint>| there.is_none_or(|there| there.fence <= fence);
    amend(ports, tenant, run, |there| is_earlier(there).then(|| checkpoint.clone())).await.map(drop)
}

/// Puts some lines behind those that are there: also behind those whose writer died before they were counted.
async fn append<D: Ports>(ports: &D, tenant: &Tenant, mut piece: LogPiece) -> Result<LogPiece, Fault> {
    loop {
        match ports.store().put(tenant, (piece.run, piece.first), &piece, Guard::Absent).await? {
            Put::Written(_) => return Ok(piece),
            Put::Conflict(Some(there)) if there.item == piece => return Ok(piece),
            Put::Conflict(Some(there)) => piece.first = there.item.next(),
            Put::Conflict(None) => {}
        }
    }
}

/// Deletes the oldest lines of a log that has too many.
async fn within_bounds<D: Ports>(ports: &D, tenant: &Tenant, run: RunKey, lines: Lines) -> Result<Lines, Fault> {
    if !lines.is_over() {
        return Ok(lines);
    }
    let pieces = log(ports, tenant, run, 0, usize::MAX).await?;
    let (cut, left) = lines.cut(&pieces);
    let delete = async |piece: &LogPiece| {
        let _either_way_it_is_gone =
            ports.store().delete::<LogPiece>(tenant, (run, piece.first), Version::ONLY).await?;
        Ok::<_, Fault>(())
    };
    stream::iter(&pieces[..cut]).map(delete).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    Ok(left)
}

/// A run's log from the piece that begins at this line, at most so many pieces of it.
pub async fn log<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    run: RunKey,
    first: u32,
    most: usize,
) -> Result<Vec<LogPiece>, Fault> {
    Ok(ports.store().list::<LogPiece>(tenant, LogFrom { run, first }, None, most).await?.items)
}
