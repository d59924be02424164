//! The archiver: what DynamoDB has deleted of runs since they expired is put into a bucket, as the API showed it: `TENANT/YYYY/MM/DD/*.jsonl.gz`, as
//! `minutehand serve --archive` lays it into a directory.
//!
//! DynamoDB deletes by itself, and tells of it by the table's stream, which keeps what stood there for a day. Rule **archived before forgotten**: a
//! batch of the stream is done with when all of it is in the bucket; until then it comes again, whole or in halves. So each run is there at least
//! once, and who reads takes one line of each. A batch that comes again as it was replaces what it wrote before.
//!
//! What lies beneath a run (long payloads and results, earlier attempts, logs) outlives its record, and is read from the table. Whoever deletes a
//! run by other means, such as by erasing its tenant, wants it gone: it is not archived.

use std::collections::BTreeMap;
use std::io;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_api::archive::{ENDING, Record, member};
use minutehand_io::bucket::Bucket;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::dynamo::{Image, run_in};
use minutehand_io::{Fault, Ports};
use serde::Deserialize;
use serde_json::Value;

/// Who deletes what has expired, by the stream's own word.
const EXPIRY: &str = "dynamodb.amazonaws.com";

/// Where what cannot be read is kept as it lay, by tenant; none is called so.
const UNREADABLE: &str = "_unreadable";

/// Changes that are put in one go: of the longest payloads and results 50 MB.
const IN_ONE_GO: usize = 100;

/// Runs that are read side by side.
const AT_ONCE: usize = 16;

/// Where objects are put.
pub trait Shelf: Sync {
    fn put(&self, name: &str, object: Vec<u8>) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Archived {
    pub runs: usize,
    pub unreadable: usize,
    pub objects: usize,
}

/// A batch of the stream.
#[derive(Debug, Deserialize)]
pub struct Batch {
    #[serde(rename = "Records")]
    changes: Vec<Change>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    #[serde(rename = "eventID")]
    id: String,
    event_name: String,
    #[serde(default)]
    user_identity: Option<Identity>,
    dynamodb: Images,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    principal_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Images {
    #[serde(default)]
    old_image: Option<Value>,
}

/// What is kept of an item: in which folder, and as which line.
#[derive(Debug)]
struct Kept {
    folder: String,
    line: String,
    is_readable: bool,
}

/// Puts all runs of a batch that have expired where they are kept.
pub async fn archive<D: Ports>(ports: &D, shelf: &impl Shelf, batch: &Batch) -> Result<Archived, Fault> {
    let mut archived = Archived::default();
    for changes in batch.changes.chunks(IN_ONE_GO) {
        archive_some(ports, shelf, changes, &mut archived).await?;
    }
    Ok(archived)
}

async fn archive_some<D: Ports>(
    ports: &D,
    shelf: &impl Shelf,
    changes: &[Change],
    archived: &mut Archived,
) -> Result<(), Fault> {
    let gone = changes.iter().filter_map(Change::expired);
    let kept: Vec<Option<Kept>> =
        stream::iter(gone).map(|image| kept_of(ports, image)).buffered(AT_ONCE).try_collect().await?;
    let mut folders = BTreeMap::<String, Vec<String>>::new();
    for Kept { folder, line, is_readable } in kept.into_iter().flatten() {
        *(if is_readable { &mut archived.runs } else { &mut archived.unreadable }) += 1;
        folders.entry(folder).or_default().push(line);
    }
    for (folder, lines) in folders {
        let object = member(lines.iter().map(String::as_str)).map_err(|why| unpacked(&why))?;
        shelf.put(&format!("{folder}/{}{ENDING}", name_of(changes)), object).await?;
        archived.objects += 1;
    }
    Ok(())
}

impl Change {
    fn expired(&self) -> Option<&Value> {
        let by_expiry = self.user_identity.as_ref().is_some_and(|by| by.principal_id == EXPIRY);
        self.dynamodb.old_image.as_ref().filter(|_| by_expiry && self.event_name == "REMOVE")
    }
}

/// Of changes that come again as they were it is the same. With their number: half of a batch begins with the same change, and must not replace
/// the whole before the other half is there.
fn name_of(changes: &[Change]) -> String {
    let first = changes.first().map(|first| first.id.chars().filter(char::is_ascii_alphanumeric).collect::<String>());
    format!("{}-{}", first.unwrap_or_default(), changes.len())
}

/// None of what is no run's record, or of no run that ended. What a later release wrote, or nobody can read, is kept as it is: it is gone from the
/// table, and must not hold up what comes behind it.
async fn kept_of<D: Ports>(ports: &D, image: &Value) -> Result<Option<Kept>, Fault> {
    match record_of(ports, image).await {
        Ok(record) => Ok(record.map(|record| Kept { folder: record.folder(), line: record.line, is_readable: true })),
        Err(fault) if fault.is_of_an_item() => {
            let tenant = Image::read(image).ok().and_then(|image| image.tenant());
            let tenant = tenant.map_or_else(|| "_nobody".to_owned(), |tenant| tenant.as_str().to_owned());
            let folder = format!("{UNREADABLE}/{tenant}/{}", today(ports));
            Ok(Some(Kept { folder, line: image.to_string(), is_readable: false }))
        }
        Err(fault) => Err(fault),
    }
}

async fn record_of<D: Ports>(ports: &D, image: &Value) -> Result<Option<Record>, Fault> {
    match run_in(&Image::read(image)?)? {
        Some(run) => Record::of(ports, run).await,
        None => Ok(None),
    }
}

fn today<D: Ports>(ports: &D) -> String {
    ports.clock().now().to_string().get(..10).unwrap_or_default().replace('-', "/")
}

fn unpacked(why: &io::Error) -> Fault {
    Fault::unavailable("the archive", why.to_string())
}

impl Shelf for Bucket {
    async fn put(&self, name: &str, object: Vec<u8>) -> Result<(), Fault> {
        Bucket::put(self, name, object, minutehand_io::clock::SystemClock.now()).await
    }
}
