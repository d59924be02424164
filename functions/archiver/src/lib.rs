//! The archiver: what DynamoDB has deleted of runs since they expired is put into a bucket, as the API showed it: `TENANT/YYYY/MM/DD/*.jsonl.gz`, as
//! `minutehand serve --archive` lays it into a directory.
//!
//! DynamoDB deletes by itself, and tells of it by the table's stream, which keeps what stood there for a day. Rule **archived before forgotten**: a
//! batch of the stream is done with when all of it is in the bucket; until then it comes again, whole or in halves. So each run is there at least
//! once, and who reads takes one line of each. A batch that comes again as it was replaces what it wrote before.
//!
//! What lies beneath a run (long payloads and results, earlier attempts, logs) outlives its record, and is read from the table. Whoever deletes a
//! run by other means wants it gone: it is not archived, nor is what expired of a tenant that has been erased since.
//!
//! One thing that nobody can read holds up nothing else: what can be told of its run is, or it is kept as it lay.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_api::archive::{ENDING, Record, day_of, member};
use minutehand_domain::id::Tenant;
use minutehand_domain::operation::{Erasing, OperationHead};
use minutehand_domain::run::Run;
use minutehand_domain::{Moment, pace};
use minutehand_io::bucket::Bucket;
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::store::Store as _;
use minutehand_io::store::dynamo::{Image, run_in};
use minutehand_io::{Fault, Ports};
use serde::Deserialize;
use serde_json::Value;

/// Who deletes what has expired, by the stream's own word.
const EXPIRY: &str = "dynamodb.amazonaws.com";

/// Where what cannot be read is kept as it lay, by tenant; none is called so.
const UNREADABLE: &str = "_unreadable";
const NOBODY: &str = "_nobody";

/// What a later release wrote beneath a run is waited for so long: until it is back. The stream keeps it for a day.
const WAITS_FOR_A_RELEASE: Duration = Duration::from_secs(12 * 3600);

/// Changes that are read in one go: of the longest payloads and results 50 MB.
const IN_ONE_GO: usize = 100;

/// What has been read waits to be put until it is so much, or all of a batch: each tenant and day has an object of its own, and each costs a request.
const IN_ONE_LOAD: usize = 8 << 20;

/// Runs that are read, or objects that are put, side by side.
const AT_ONCE: usize = 16;

/// Where objects are put.
pub trait Shelf: Sync {
    fn put(&self, name: &str, object: Vec<u8>) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    pub runs: usize,
    /// Of those, how many without what lay beneath them, which nobody can read.
    pub partial: usize,
    pub unreadable: usize,
    pub objects: usize,
}

/// A batch of the stream.
#[derive(Clone, Debug, Deserialize)]
pub struct Batch {
    #[serde(rename = "Records")]
    changes: Vec<Value>,
}

/// What stood where something has expired, and when that was deleted.
#[derive(Debug)]
struct Gone<'a> {
    image: Image,
    raw: &'a Value,
    at: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Whole,
    Partial,
    Unreadable,
}

/// What is kept of an item: in which folder, and as which line.
#[derive(Debug)]
struct Kept {
    folder: String,
    line: String,
    how: How,
}

/// Until when what ended is to be forgotten, of the tenants that were erased.
type Erased = BTreeMap<Tenant, Moment>;

/// What is put together: the lines of each folder.
#[derive(Debug, Default)]
struct Load {
    folders: BTreeMap<String, Vec<String>>,
    bytes: usize,
}

/// Puts all runs of a batch that have expired where they are kept.
pub async fn archive<D: Ports>(ports: &D, shelf: &impl Shelf, batch: &Batch) -> Result<Archived, Fault> {
    let (mut archived, mut load, mut begin, mut end) = (Archived::default(), Load::default(), 0, 0);
    for changes in batch.changes.chunks(IN_ONE_GO) {
        end += changes.len();
        for kept in kept_of(ports, changes).await? {
            archived.count(kept.how);
            load.add(kept);
        }
        if load.bytes >= IN_ONE_LOAD || end == batch.changes.len() {
            archived.objects += load.folders.len();
            load.put(shelf, &name_of(&batch.changes[begin..end])).await?;
            (load, begin) = (Load::default(), end);
        }
    }
    Ok(archived)
}

impl Load {
    fn add(&mut self, Kept { folder, line, .. }: Kept) {
        self.bytes += line.len();
        self.folders.entry(folder).or_default().push(line);
    }

    async fn put(self, on: &impl Shelf, name: &str) -> Result<(), Fault> {
        let puts = stream::iter(self.folders).map(|(folder, lines)| async move {
            let object = member(lines.iter().map(String::as_str)).map_err(|why| unpacked(&why))?;
            on.put(&format!("{folder}/{name}{ENDING}"), object).await
        });
        puts.buffer_unordered(AT_ONCE).try_collect().await
    }
}

impl Archived {
    const fn count(&mut self, how: How) {
        match how {
            How::Whole => self.runs += 1,
            How::Partial => (self.runs, self.partial) = (self.runs + 1, self.partial + 1),
            How::Unreadable => self.unreadable += 1,
        }
    }
}

async fn kept_of<D: Ports>(ports: &D, changes: &[Value]) -> Result<Vec<Kept>, Fault> {
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for change in changes {
        match Gone::of(change) {
            Ok(expired) => gone.extend(expired),
            Err(why) => kept.push(as_it_lay(None, change, &why, ports.clock().now())),
        }
    }
    let erased = &erased(ports, &gone).await?;
    let told = stream::iter(&gone).map(|gone| gone.kept(ports, erased)).buffered(AT_ONCE);
    kept.extend(told.try_collect::<Vec<Option<Kept>>>().await?.into_iter().flatten());
    Ok(kept)
}

/// By the marks of erasures that were begun: a name may be used again, and what ends under it then is kept.
async fn erased<D: Ports>(ports: &D, gone: &[Gone<'_>]) -> Result<Erased, Fault> {
    let mut erased = Erased::new();
    for tenant in gone.iter().filter_map(|gone| gone.image.tenant()).collect::<BTreeSet<_>>() {
        match erased_until(ports, &tenant).await {
            Ok(until) => erased.extend(until.map(|until| (tenant, until))),
            Err(why) if why.is_of_an_item() => tracing::error!(%why, "whether a tenant was erased cannot be read"),
            Err(fault) => return Err(fault),
        }
    }
    Ok(erased)
}

async fn erased_until<D: Ports>(ports: &D, tenant: &Tenant) -> Result<Option<Moment>, Fault> {
    let Some(mark) = ports.store().get::<Erasing>(&Tenant::deployment(), tenant.clone()).await? else {
        return Ok(None);
    };
    let mark = mark.item;
    let there = ports.store().get::<OperationHead>(&mark.of, mark.operation).await?.map(|seen| seen.item);
    Ok(mark.is_heeded(there.as_ref(), ports.clock().now()).then(|| mark.since + pace::ERASED_QUIET))
}

impl<'a> Gone<'a> {
    /// None where it has not expired. The error: a change that is none, or does not show what stood there.
    fn of(change: &'a Value) -> Result<Option<Self>, Fault> {
        let by = change.pointer("/userIdentity/principalId").and_then(Value::as_str);
        if by != Some(EXPIRY) || change["eventName"] != "REMOVE" {
            return Ok(None);
        }
        let raw = &change["dynamodb"]["OldImage"];
        let image = Image::read(raw)?;
        let at = change["dynamodb"]["ApproximateCreationDateTime"].as_f64().unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, reason = "an instant of this age")]
        Ok(Some(Self { image, raw, at: Moment::from_millis((at * 1000.0) as i64) }))
    }

    /// None of what is no run's record, of no run that ended, and of what has been erased.
    async fn kept<D: Ports>(&self, ports: &D, erased: &Erased) -> Result<Option<Kept>, Fault> {
        let tenant = self.image.tenant();
        let forgotten = tenant.as_ref().and_then(|tenant| erased.get(tenant));
        match run_in(&self.image) {
            Ok(Some(run)) if forgotten.is_some_and(|until| run.finished_at() < Some(*until)) => Ok(None),
            Ok(Some(run)) => self.told(ports, run).await,
            Ok(None) => Ok(None),
            Err(_unreadable) if forgotten.is_some_and(|until| self.at < *until) => Ok(None),
            Err(why) => Ok(Some(as_it_lay(tenant.as_ref(), self.raw, &why, ports.clock().now()))),
        }
    }

    async fn told<D: Ports>(&self, ports: &D, run: Run) -> Result<Option<Kept>, Fault> {
        let now = ports.clock().now();
        match Record::of(ports, run.clone()).await {
            Ok(record) => Ok(record.map(|record| in_folder(record, How::Whole))),
            Err(fault @ Fault::Later { .. }) if now.since(self.at) < WAITS_FOR_A_RELEASE => Err(fault),
            Err(fault) if fault.is_of_an_item() || matches!(fault, Fault::Illegal { .. }) => {
                tracing::error!(run = %run.key, %fault, "a run is archived without what lay beneath it");
                Ok(Record::listed(&run, now)?.map(|record| in_folder(record, How::Partial)))
            }
            Err(fault) => Err(fault),
        }
    }
}

fn in_folder(record: Record, how: How) -> Kept {
    Kept { folder: record.folder(), line: record.line, how }
}

/// It is gone from the table, and must not hold up what comes behind it.
fn as_it_lay(tenant: Option<&Tenant>, raw: &Value, why: &Fault, now: Moment) -> Kept {
    let tenant = tenant.map_or(NOBODY, Tenant::as_str);
    let [partition, sort] = ["pk", "sk"].map(|key| raw[key]["S"].as_str().unwrap_or_default());
    tracing::error!(tenant, partition, sort, %why, "what nobody can read is archived as it lay");
    Kept { folder: format!("{UNREADABLE}/{tenant}/{}", day_of(now)), line: raw.to_string(), how: How::Unreadable }
}

/// Of changes that come again as they were it is the same. With their number: half of a batch begins with the same change, and must not replace
/// the whole before the other half is there.
fn name_of(changes: &[Value]) -> String {
    let first = changes.first().and_then(|first| first["eventID"].as_str()).unwrap_or_default();
    format!("{}-{}", first.chars().filter(char::is_ascii_alphanumeric).collect::<String>(), changes.len())
}

fn unpacked(why: &io::Error) -> Fault {
    Fault::unavailable("the archive", why.to_string())
}

impl Shelf for Bucket {
    async fn put(&self, name: &str, object: Vec<u8>) -> Result<(), Fault> {
        Bucket::put(self, name, object, SystemClock.now()).await
    }
}
