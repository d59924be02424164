//! Keeping a run's logbook: what its holder says beside that it is alive, and what came too late to count. None of it decides what becomes of
//! the run, so that whoever says it need not wait for the run's own item.
//!
//! Guard **fence**: who had the run before is not heard any more.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::Run;
use minutehand_domain::run::logbook::{Checkpoint, Entry, LateAnswer, LateWord, Lines, LogPiece, Logbook};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Beneath, Guard, LogFrom, Put, Seen, Store as _, Version};
use minutehand_io::{Fault, Ports};

use crate::amend::amend;

/// Pieces of a log that are deleted side by side.
const AT_ONCE: usize = 16;

/// Writes down what the holder of a run says.
pub async fn enter<D: Ports>(ports: &D, run: &Run, entry: &Entry) -> Result<(), Fault> {
    let (tenant, key, fence) = (&run.tenant, run.key, run.fence);
    let mut seen = ports.store().get::<Logbook>(tenant, key).await?;
    if book_of(seen.as_ref(), run).after(fence, entry).is_err() {
        return Ok(());
    }
    if entry.checkpoint.is_some() {
        keep(ports, run, entry).await?;
    }
    let piece = if entry.lines.is_empty() {
        None
    } else {
        let first = book_of(seen.as_ref(), run).lines.next;
        Some(append(ports, run, entry.piece(key, fence, first, ports.clock().now())).await?)
    };
    loop {
        let book = book_of(seen.as_ref(), run);
        let Ok(next) = book.after(fence, entry) else { return Ok(()) };
        let lines = match &piece {
            Some(piece) => within_bounds(ports, tenant, key, next.lines.with(piece)).await?,
            None => next.lines,
        };
        let guard = seen.as_ref().map_or(Guard::Absent, Seen::guard);
        let book = Beneath::of(run, Logbook { lines, ..next }, ports.clock().now());
        match ports.store().put(tenant, key, &book, guard).await? {
            Put::Written(_) => return Ok(()),
            Put::Conflict(there) => seen = there.map(Seen::alone),
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
    let now = ports.clock().now();
    let answer = LateAnswer { at: now, fence, word };
    let blank = Beneath::of(run, Logbook::blank(tenant.clone(), run.key), now);
    amend::<D, Beneath<Logbook>>(ports, tenant, run.key, |book| {
        book.unwrap_or(&blank).item.after_late(&answer).map(|book| Beneath::of(run, book, now))
    })
    .await
    .map(drop)
}

fn book_of(seen: Option<&Seen<Logbook>>, run: &Run) -> Logbook {
    seen.map_or_else(|| Logbook::blank(run.tenant.clone(), run.key), |seen| seen.item.clone())
}

/// For the next holder, unless that one has kept something itself by now.
async fn keep<D: Ports>(ports: &D, run: &Run, entry: &Entry) -> Result<(), Fault> {
    let Some(value) = entry.checkpoint.clone() else { return Ok(()) };
    let (key, fence, at) = (run.key, run.fence, ports.clock().now());
    let checkpoint = Beneath::of(run, Checkpoint { run: key, fence, at, value }, at);
    let is_earlier = |there: Option<&Beneath<Checkpoint>>| there.is_none_or(|there| there.item.fence <= fence);
    amend(ports, &run.tenant, key, |there| is_earlier(there).then(|| checkpoint.clone())).await.map(drop)
}

/// Puts some lines behind those that are there: also behind those whose writer died before they were counted.
async fn append<D: Ports>(ports: &D, run: &Run, mut piece: LogPiece) -> Result<LogPiece, Fault> {
    loop {
        let written = Beneath::of(run, piece.clone(), ports.clock().now());
        match ports.store().put(&run.tenant, (piece.run, piece.first), &written, Guard::Absent).await? {
            Put::Written(_) => return Ok(piece),
            Put::Conflict(Some(there)) if there.item.item == piece => return Ok(piece),
            Put::Conflict(Some(there)) => piece.first = there.item.item.next(),
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
