//! The bookmark of a pass: the cursor as it stands in the table, and how much further the pass has come since.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::cursor::{Cursor, Step};
use minutehand_domain::id::Tenant;
use minutehand_domain::survey::Survey;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, FirstBucket, Guard, Put, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use super::recall::recall;
use crate::read_at::ReadAt;

/// Buckets left before the table is told in the middle of a pass: after an outage of days no pass may live long enough to
/// tell it at the end.
const SAVE_AFTER: i64 = 16;
/// Buckets to go through at which it is worth asking which of them is not empty.
const FAR: i64 = 16;
/// So long after the last pass a clock may as well be wrong.
const LONG: Duration = Duration::from_secs(3600);

pub(super) struct Bookmark {
    shard: u16,
    /// When the pass began.
    began: ReadAt,
    cursor: Cursor,
    guard: Guard,
    /// The oldest bucket that the table knows of.
    saved: i64,
    /// Timers that something was done about and the table does not know of.
    unsaved: u64,
    overtaken: bool,
    /// A hint could not be given: what the table is told goes no further.
    held: bool,
}

impl Bookmark {
    /// Where the last pass came to. What is missing, or was written by a clock that was ahead, is made anew, and loudly: it is in
    /// the table before anything is swept, so that it is said once.
    pub(super) async fn find<D: Ports>(ports: &D, shard: u16, began: ReadAt) -> Result<Self, Fault> {
        let now = began.moment;
        let Some(seen) = read(ports, shard).await? else {
            tracing::info!(shard, "a shard without a cursor: its sweep begins at the first timer");
            return Self::begin(ports, shard, Guard::Absent, began).await;
        };
        // Without this, `a_clock_that_was_ahead_and_is_set_back_takes_nothing_with_it` sweeps nothing for two hours.
        if !seen.item.is_honest(now) {
            let Cursor { hinted_to, swept_at, oldest, .. } = &seen.item;
            tracing::error!(
                shard, %now, %hinted_to, %swept_at, oldest,
                "the cursor of a shard is of a time that has not come: a clock was ahead. Its hints are forgotten, and its \
                 sweep begins at the first timer"
            );
            recall(ports, shard, now).await?; // while the cursor still says that there may be something
            return Self::begin(ports, shard, seen.guard(), began).await;
        }
        let guard = seen.guard();
        let mut bookmark = Self::of(shard, began, seen.item, guard);
        bookmark.find_first(ports, now).await?;
        bookmark.reach_back(ports).await?;
        Ok(bookmark)
    }

    fn of(shard: u16, began: ReadAt, cursor: Cursor, guard: Guard) -> Self {
        Self { shard, began, saved: cursor.oldest, cursor, guard, unsaved: 0, overtaken: false, held: false }
    }

    async fn begin<D: Ports>(ports: &D, shard: u16, guard: Guard, began: ReadAt) -> Result<Self, Fault> {
        let now = began.moment;
        let cursor = unknown(ports, shard, now).await?;
        let (guard, cursor) = match ports.store().put(&Tenant::deployment(), shard, &cursor, guard).await? {
            Put::Written(version) => (Guard::Seen(version), cursor),
            Put::Conflict(Some(there)) if there.item.is_honest(now) => (there.guard(), there.item),
            Put::Conflict(_) => (guard, cursor),
        };
        Ok(Self::of(shard, began, cursor, guard))
    }

    /// A search that is done says where the shard begins.
    async fn find_first<D: Ports>(&mut self, ports: &D, now: Moment) -> Result<(), Fault> {
        let Some(since) = self.cursor.searching else { return Ok(()) };
        let Some(survey) = ports.store().get::<Survey>(&Tenant::deployment(), ()).await? else { return Ok(()) };
        if survey.item.is_done() && survey.item.serves(since, now) {
            let found = self.cursor.clone().found(survey.item.first.get(&self.shard).copied());
            tracing::warn!(shard = self.shard, oldest = found.oldest, "the first bucket of a shard was found");
            self.write(ports, found).await?;
        }
        Ok(())
    }

    /// A clock that was behind for a moment has promised what lies in buckets that were left. Where one process has the store to
    /// itself its clock is the only one, and the first timer is at hand: the pass begins there.
    async fn reach_back<D: Ports>(&mut self, ports: &D) -> Result<(), Fault> {
        if !ports.me().exclusive_store {
            return Ok(());
        }
        match ports.store().first_bucket(self.shard, 0).await? {
            FirstBucket::At(first) if first < self.cursor.oldest => {
                let oldest = self.cursor.oldest;
                tracing::warn!(
                    shard = self.shard,
                    first,
                    oldest,
                    "timers stand in buckets that were left: a clock was behind"
                );
                self.cursor.oldest = first;
            }
            FirstBucket::At(_) | FirstBucket::Nowhere | FirstBucket::Unknown => {}
        }
        Ok(())
    }

    /// A pass that begins long after the last one says so before it does anything, where its clock is the only one: if that turns out to be
    /// ahead, what the pass has put off by it is recalled, even if nobody lived to write the pass's end.
    pub(super) async fn say_when<D: Ports>(&mut self, ports: &D) -> Result<(), Fault> {
        let now = self.began.moment;
        if ports.me().exclusive_store && now.since(self.cursor.swept_at) > LONG {
            self.write(ports, self.cursor.doubted(now)).await?;
        }
        Ok(())
    }

    /// Whether the clock, the only one, was set ahead while the pass went on: it began by one that was right, and would put off by the other
    /// what it meets.
    pub(super) fn is_in_doubt<D: Ports>(&self, ports: &D) -> bool {
        ports.me().exclusive_store && self.began.was_set_ahead(ports.clock())
    }

    pub(super) fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    pub(super) fn is_overtaken(&self) -> bool {
        self.overtaken
    }

    pub(super) fn unsaved(&self) -> u64 {
        self.unsaved
    }

    /// The pass has handled all timers up to there, and did something about so many of them.
    pub(super) fn came_to(&mut self, step: Step, worked: u64) {
        if worked > 0 && !self.held {
            self.cursor = self.cursor.came_to(step);
            self.unsaved += worked;
        }
    }

    /// From here on not every hint was given: the next pass gives all of them that lie behind what was told so far.
    pub(super) fn hold(&mut self) {
        self.held = true;
    }

    /// The pass is at its end.
    pub(super) async fn end<D: Ports>(&mut self, ports: &D, horizon: Moment) -> Result<(), Fault> {
        let swept = self.cursor.swept(self.began.moment, horizon);
        if self.held || self.is_in_doubt(ports) { self.save(ports).await } else { self.write(ports, swept).await }
    }

    pub(super) async fn leave<D: Ports>(&mut self, ports: &D, minute: i64) -> Result<(), Fault> {
        self.cursor.oldest = minute + 1;
        if self.cursor.oldest - self.saved >= SAVE_AFTER { self.save(ports).await } else { Ok(()) }
    }

    /// Behind an empty bucket of long ago nothing may lie for years. Where the store knows the next that holds anything, nothing is
    /// read in between: as far as no bucket takes promises any more.
    pub(super) async fn skip_empty<D: Ports>(&mut self, ports: &D, now: Moment) -> Result<(), Fault> {
        let latest = Cursor::of_first(None, now).oldest;
        if self.cursor.oldest + FAR > latest {
            return Ok(());
        }
        let first = match ports.store().first_bucket(self.shard, self.cursor.oldest).await? {
            FirstBucket::At(first) => first.min(latest),
            FirstBucket::Nowhere => latest,
            FirstBucket::Unknown => return Ok(()),
        };
        if first > self.cursor.oldest { self.leave(ports, first - 1).await } else { Ok(()) }
    }

    /// Tells the table how far the pass has come; where it is in doubt, that.
    pub(super) async fn save<D: Ports>(&mut self, ports: &D) -> Result<(), Fault> {
        let cursor = if self.is_in_doubt(ports) {
            self.cursor.doubted(ports.clock().now())
        } else if self.unsaved == 0 && self.cursor.oldest == self.saved {
            return Ok(());
        } else {
            self.cursor.clone()
        };
        self.write(ports, cursor).await
    }

    /// Only if no other pass moved it meanwhile: that one gave its hints too, and goes on.
    pub(super) async fn write<D: Ports>(&mut self, ports: &D, cursor: Cursor) -> Result<(), Fault> {
        match ports.store().put(&Tenant::deployment(), self.shard, &cursor, self.guard).await? {
            Put::Written(version) => {
                *self = Self { held: self.held, ..Self::of(self.shard, self.began, cursor, Guard::Seen(version)) };
            }
            Put::Conflict(_) => self.overtaken = true,
        }
        Ok(())
    }
}

/// The cursor; one that nobody can read is none. What a later release wrote is that one's to go by, unless this process has the
/// store to itself.
async fn read<D: Ports>(ports: &D, shard: u16) -> Result<Option<Seen<Cursor>>, Fault> {
    let what = if ports.me().exclusive_store { Discard::Unreadable } else { Discard::Corrupt };
    match ports.store().get::<Cursor>(&Tenant::deployment(), shard).await {
        Err(why) if what.admits(&why) => {
            tracing::error!(shard, %why, "the cursor of a shard cannot be read: it is made anew");
            ports.store().discard::<Cursor>(&Tenant::deployment(), shard, what).await?;
            Ok(None)
        }
        read => read,
    }
}

async fn unknown<D: Ports>(ports: &D, shard: u16, now: Moment) -> Result<Cursor, Fault> {
    Ok(match ports.store().first_bucket(shard, 0).await? {
        FirstBucket::At(first) => Cursor::of_first(Some(first), now),
        FirstBucket::Nowhere => Cursor::of_first(None, now),
        FirstBucket::Unknown => Cursor::searching(now),
    })
}
