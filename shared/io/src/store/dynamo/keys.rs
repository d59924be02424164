//! Keys: where an item lies. The only room that writes a `#`.
//!
//! | item | table | partition | sort |
//! |---|---|---|---|
//! | head of a job | state | `{tenant}#{hash(job) % 64}` | `{job}` |
//! | run | state | `{tenant}#{job}` | `run#{instant}#{origin}#{discriminator}` |
//! | attempt that stands outside | state | `{tenant}#{job}` | `attempt#{run's}#{number}` |
//! | body of a job, kept apart | state | `{tenant}#{job}` | `body#{digest}` |
//! | body of a run, kept apart | state | `{tenant}#{job}` | `runbody#{run's}#{digest}` |
//! | document, operation | state | `{tenant}#{kind}` | `{name}` |
//! | what else belongs to a job | state | `{tenant}#{job}` | `{kind}#…` |
//! | timer | timers | `{minute}#{shard}` | `{instant}#{kind}#{job}…` |
//! | cursor | timers | `cursor#{shard}` | `cursor` |
//!
//! A run is also listed, in the indexes of the state:
//!
//! | index | which runs | partition | sort |
//! |---|---|---|---|
//! | by hour | all, where [`Listing::ByHour`](super::Listing) | `{tenant}#{hour}#{hash(run) % 16}` | `{instant, job, origin, discriminator}` |
//! | attention | failed and timed out | `{tenant}#{hash(run) % 16}` | the same |
//! | attention | of these, tried again or dismissed | `{tenant}#seen-to#{hash(run) % 16}` | the same |
//! | letters | everybody's of which nobody has done either | `{hash(run) % 16}` | the same |
//!
//! Instants are written as the wire writes them, always 24 characters, so that they sort and can be read. A part that may
//! be missing comes last, and a separator sorts before every letter and digit that could follow. Only what an index sorts by
//! is packed, in the alphabet of ids: it stands in every run, beside a sort key that says the same and can be read.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Origin, RunKey, Tenant, base32, from_base32};
use minutehand_domain::pace;
use minutehand_domain::timer::{Obligation, TimerKey};
use sha2::{Digest as _, Sha256};

use crate::store::item::{Attention, Item};
use crate::store::place::{self, Order, Part, Partition, Place};
use crate::store::{Across, Bucket};

/// Partitions that a tenant's jobs are spread over, for ever: listing meets no hot key.
pub(super) const JOB_PARTITIONS: u16 = 64;
/// Partitions of one hour of a tenant's runs in the index: at a thousand writes a second each, 16,000 runs a second.
pub(super) const INDEX_PARTITIONS: u16 = 16;
const HOUR_MILLIS: i64 = 3_600_000;
/// Six bytes hold every moment we speak of.
const INSTANT_BYTES: usize = 6;

const SEPARATOR: &str = "#";
/// The least part there is, and what sorts after all of them.
const FIRST_VISIBLE: &str = "!";
const PAST_VISIBLE: &str = "\u{7f}";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Jobs, runs, attempts, bodies, documents.
    State,
    /// The minute buckets and the cursors: can be made again from `state`.
    Timers,
}

/// An index of the state. It is written a moment after its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    RunsByHour,
    Attention,
    Letters,
}

/// What can be asked, as an IAM policy names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    Table(Table),
    Index(Index),
}

/// Where one item lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) table: Table,
    pub(super) partition: String,
    pub(super) sort: String,
}

/// The items of a partition from `from` to `to`, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) resource: Resource,
    pub(super) partition: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) order: Order,
    /// One end that is known already, and not asked for again.
    pub(super) but: Option<String>,
}

/// Where an item lies.
pub(super) fn item<T: Item>(tenant: &Tenant, key: &T::Key) -> Key {
    let Place { partition, sort } = T::place(key);
    let (table, name) = match (partition, sort.first()) {
        (Partition::Jobs, Some(Part::Job(job))) => {
            (Table::State, jobs_partition(tenant, hash(job.as_bytes()) % JOB_PARTITIONS))
        }
        (partition, _) => partition_of(tenant, T::KIND, partition),
    };
    Key { table, partition: name, sort: joined(T::KIND, partition, &sort) }
}

/// A span of one kind. What is spread over partitions has a span in each.
pub(super) fn spans(tenant: &Tenant, kind: &str, span: &place::Span) -> Vec<Span> {
    match span.partition {
        Partition::Jobs => (0..JOB_PARTITIONS)
            .map(|number| span_in(Table::State, jobs_partition(tenant, number), kind, span))
            .collect(),
        partition => {
            let (table, name) = partition_of(tenant, kind, partition);
            vec![span_in(table, name, kind, span)]
        }
    }
}

fn span_in(table: Table, partition: String, kind: &str, span: &place::Span) -> Span {
    let within = joined(kind, span.partition, &span.within);
    let before_parts = if within.is_empty() { within } else { within + SEPARATOR };
    let bound = |part: Option<&Part>, end: &str| before_parts.clone() + &part.map_or_else(|| end.to_owned(), said);
    let (mut from, mut to) = (bound(span.from.as_ref(), FIRST_VISIBLE), bound(span.to.as_ref(), PAST_VISIBLE));
    let past = span.past.as_ref().map(|parts| joined(kind, span.partition, parts));
    let but = past.filter(|past| match span.order {
        Order::Forward => *past >= from,
        Order::Backward => *past < to,
    });
    match (&but, span.order) {
        (Some(past), Order::Forward) => from.clone_from(past),
        (Some(past), Order::Backward) => to.clone_from(past),
        (None, _) => {}
    }
    Span { resource: Resource::Table(table), partition, from, to, order: span.order, but }
}

fn partition_of(tenant: &Tenant, kind: &str, partition: Partition) -> (Table, String) {
    match partition {
        // Spread by the item, or asked for one by one.
        Partition::Jobs => (Table::State, jobs_partition(tenant, 0)),
        Partition::History(job) => (Table::State, history(tenant, job)),
        Partition::Kind => (Table::State, kind_partition(tenant, kind)),
        Partition::Shard(shard) => (Table::Timers, format!("{kind}#{shard:02}")),
    }
}

/// Where kinds lie together each says its own before all else.
fn joined(kind: &str, partition: Partition, parts: &[Part]) -> String {
    let kind = match partition {
        Partition::Jobs | Partition::Kind => None,
        Partition::History(_) | Partition::Shard(_) => Some(kind.to_owned()),
    };
    kind.into_iter().chain(parts.iter().map(said)).collect::<Vec<_>>().join(SEPARATOR)
}

/// A part in letters that sort as it does.
fn said(part: &Part) -> String {
    match part {
        Part::Job(job) => job.to_string(),
        Part::Instant(at) => at.to_string(),
        Part::Code(code) => code.to_string(),
        Part::Discriminator(number) => format!("{number:016x}"),
        Part::Number(number) => format!("{number:010}"),
        Part::Digest(digest) => digest.to_string(),
        Part::Word(word) => word.clone(),
    }
}

pub(super) fn timer(key: &TimerKey, shards: u16) -> Key {
    let bucket = Bucket { minute: key.minute(), shard: key.obligation.shard(shards) };
    Key { table: Table::Timers, partition: bucket_partition(bucket), sort: within_bucket(key) }
}

/// A place in one of the tables, in one word.
pub(super) fn in_table(table: Table, place: &str) -> String {
    match table {
        Table::State => format!("s{place}"),
        Table::Timers => format!("t{place}"),
    }
}

pub(super) fn table_in(text: &str) -> Option<(Table, &str)> {
    let of = |letter, table| text.strip_prefix(letter).map(|place| (table, place));
    of('s', Table::State).or_else(|| of('t', Table::Timers))
}

/// Whether a partition of the state is a tenant's.
pub(super) fn is_of(partition: &str, tenant: &Tenant) -> bool {
    partition.strip_prefix(tenant.as_str()).is_some_and(|rest| rest.starts_with(SEPARATOR))
}

/// A bucket's timers due at `until` or earlier, in the order of their keys, after `after`. None where the bucket lies
/// outside of time or of the shards.
pub(super) fn timers(bucket: Bucket, shards: u16, after: Option<TimerKey>, until: Moment) -> Option<Span> {
    let minutes = 0..=pace::minute_of(Moment::END);
    if bucket.shard >= shards || !minutes.contains(&bucket.minute) {
        return None;
    }
    let begin = pace::end_of(bucket.minute - 1).to_string();
    let after = after.map(|key| within_bucket(&key)).filter(|after| *after >= begin);
    let from = after.clone().unwrap_or(begin);
    Some(span(Resource::Table(Table::Timers), bucket_partition(bucket), from, format!("{until}#~"), after))
}

/// Under which hour of its tenant a run is listed.
pub(super) fn hour(tenant: &Tenant, key: RunKey) -> String {
    hour_partition(tenant, hour_of(key.at), index_partition(key))
}

/// Under which name what failed is listed.
pub(super) fn attention(tenant: &Tenant, key: RunKey, attention: Attention) -> String {
    attention_partition(tenant, attention, index_partition(key))
}

/// Under which name it stands among everybody's dead letters.
pub(super) fn letter(key: RunKey) -> String {
    letters_partition(index_partition(key))
}

/// Where everybody's dead letters stand, the oldest first.
pub(super) fn letters() -> impl Iterator<Item = Span> {
    let of = |partition| {
        span(
            Resource::Index(Index::Letters),
            letters_partition(partition),
            FIRST_VISIBLE.to_owned(),
            PAST_VISIBLE.to_owned(),
            None,
        )
    };
    (0..INDEX_PARTITIONS).map(of)
}

/// Where a run stands among all its tenant's: by instant, then by key.
pub(super) fn listed_at(key: RunKey) -> String {
    let bytes = key.to_bytes();
    let (job, rest) = bytes.split_at(key.job.as_bytes().len());
    let (at, rest) = rest.split_at(INSTANT_BYTES);
    let (origin, discriminator) = rest.split_at(1);
    let told = if key.discriminator == 0 { &[] } else { discriminator };
    base32(&[at, job, origin, told].concat())
}

/// The run that is listed so.
pub(super) fn run_listed_at(listed_at: &str) -> Option<RunKey> {
    let bytes = from_base32(listed_at)?;
    let (at, rest) = bytes.split_at_checked(INSTANT_BYTES)?;
    let (job, rest) = rest.split_at_checked(size_of::<JobId>())?;
    let left_out = [0; size_of::<u64>()]; // a discriminator of zero
    RunKey::from_bytes([job, at, rest, &left_out].concat().first_chunk()?)
}

/// Sorts before all that is listed at this instant, and after all that is listed before it.
fn listed_from(at: Moment) -> String {
    let bytes = at.millis().to_be_bytes();
    base32(&bytes[bytes.len() - INSTANT_BYTES..])
}

/// A tenant's runs whose instant lies in `window`, before `before`, as they are listed: from the newest hour back, all the
/// spans of one hour at once, each newest first. What failed lies in no hours.
pub(super) fn listed(
    tenant: &Tenant,
    which: Across,
    window: &Range<Moment>,
    before: Option<RunKey>,
) -> impl Iterator<Item = Vec<Span>> + use<> {
    let before = before.filter(|key| key.at < window.end);
    let newest = hour_of(before.map_or_else(|| window.end.just_before(), |key| key.at));
    let oldest = match which {
        Across::All => hour_of(window.start),
        Across::Failed | Across::NeedingAttention => newest,
    };
    let but = before.map(listed_at);
    let (from, to) = (listed_from(window.start), but.clone().unwrap_or_else(|| listed_from(window.end)));
    let hours = if from < to { oldest..newest + 1 } else { newest..newest };
    let tenant = tenant.clone();
    hours.rev().map(move |hour| {
        let tenant = &tenant;
        let failed = |how| move |partition| (Index::Attention, attention_partition(tenant, how, partition));
        let partitions: Vec<(Index, String)> = match which {
            Across::All => {
                let of_the_hour = |partition| (Index::RunsByHour, hour_partition(tenant, hour, partition));
                (0..INDEX_PARTITIONS).map(of_the_hour).collect()
            }
            Across::NeedingAttention => (0..INDEX_PARTITIONS).map(failed(Attention::Letter)).collect(),
            Across::Failed => [Attention::Letter, Attention::SeenTo]
                .into_iter()
                .flat_map(|how| (0..INDEX_PARTITIONS).map(failed(how)))
                .collect(),
        };
        let span_of = |(index, partition)| {
            let ends = span(Resource::Index(index), partition, from.clone(), to.clone(), but.clone());
            Span { order: Order::Backward, ..ends }
        };
        partitions.into_iter().map(span_of).collect()
    })
}

impl Span {
    /// No key can lie in it, and AWS refuses to be asked.
    pub(super) fn is_empty(&self) -> bool {
        self.from > self.to
    }

    /// What is left of it behind `last`.
    pub(super) fn past(self, last: String) -> Self {
        let but = Some(last.clone());
        match self.order {
            Order::Forward => Self { from: last, but, ..self },
            Order::Backward => Self { to: last, but, ..self },
        }
    }
}

impl Resource {
    pub const fn table(self) -> Table {
        match self {
            Self::Table(table) => table,
            Self::Index(Index::RunsByHour | Index::Attention | Index::Letters) => Table::State,
        }
    }
}

impl Index {
    /// As the template calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunsByHour => "runs_by_hour",
            Self::Attention => "attention",
            Self::Letters => "letters",
        }
    }
}

fn span(resource: Resource, partition: String, from: String, to: String, but: Option<String>) -> Span {
    Span { resource, partition, from, to, order: Order::Forward, but }
}

fn jobs_partition(tenant: &Tenant, partition: u16) -> String {
    format!("{}#{partition:02}", tenant.as_str())
}

fn history(tenant: &Tenant, job: JobId) -> String {
    format!("{}#{job}", tenant.as_str())
}

fn kind_partition(tenant: &Tenant, kind: &str) -> String {
    format!("{}#{kind}", tenant.as_str())
}

/// `acme#2026-11-20T12#07`
fn hour_partition(tenant: &Tenant, hour: i64, partition: u16) -> String {
    let begin = Moment::from_millis(hour * HOUR_MILLIS).to_string();
    format!("{}#{}#{partition:02}", tenant.as_str(), &begin[.."2026-11-20T12".len()])
}

fn attention_partition(tenant: &Tenant, attention: Attention, partition: u16) -> String {
    match attention {
        Attention::Letter => format!("{}#{partition:02}", tenant.as_str()),
        Attention::SeenTo => format!("{}#seen-to#{partition:02}", tenant.as_str()),
    }
}

fn letters_partition(partition: u16) -> String {
    format!("{partition:02}")
}

fn index_partition(key: RunKey) -> u16 {
    hash(&key.to_bytes()) % INDEX_PARTITIONS
}

/// Hours since 1970.
fn hour_of(moment: Moment) -> i64 {
    moment.millis() / HOUR_MILLIS
}

fn bucket_partition(bucket: Bucket) -> String {
    let begin = pace::end_of(bucket.minute - 1).to_string();
    format!("{}#{:02}", &begin[.."2026-11-20T12:30".len()], bucket.shard)
}

/// The instant of the run that lies there.
pub(super) fn instant_of_run(sort: &str) -> Option<Moment> {
    Moment::parse(sort.strip_prefix("run#")?.split(SEPARATOR).next()?)
}

/// The word of the kind of the item that lies there in the state; none where no kind's can.
pub(super) fn kind_of<'a>(partition: &'a str, sort: &'a str) -> Option<&'a str> {
    let (_, last) = partition.split_once(SEPARATOR)?;
    if last.parse::<JobId>().is_ok() {
        return sort.split(SEPARATOR).next();
    }
    let is_of_jobs = last.len() == 2 && last.parse::<u16>().is_ok_and(|number| number < JOB_PARTITIONS);
    Some(if is_of_jobs { Head::KIND } else { last })
}

/// The same of what lies in the table of timers, outside of the buckets.
pub(super) fn kind_beside_timers(partition: &str) -> Option<&str> {
    partition.split_once(SEPARATOR).map(|(kind, _shard)| kind)
}

/// The number that a sort key ends with; 0 where it ends with something else.
pub(super) fn number_in(sort: &str) -> u32 {
    sort.rsplit(SEPARATOR).next().and_then(|last| last.parse().ok()).unwrap_or_default()
}

/// The bucket that a partition of the timers is; none where it is another's.
pub(super) fn bucket_of(partition: &str) -> Option<Bucket> {
    let (minute, shard) = partition.split_once(SEPARATOR)?;
    let begin = Moment::parse(&format!("{minute}:00.000Z"))?;
    Some(Bucket { minute: pace::minute_of(begin), shard: shard.parse().ok()? })
}

/// The timer that lies in a bucket under this; none where it is none of ours.
pub(super) fn timer_of(sort: &str) -> Option<TimerKey> {
    let mut parts = sort.split(SEPARATOR);
    let (due, kind, thing) = (Moment::parse(parts.next()?)?, parts.next()?, parts.next()?);
    let job = thing.parse();
    let obligation = match kind {
        "4" => Obligation::Operation(thing.parse().ok()?),
        kind => link_or_run(kind, job.ok()?, parts)?,
    };
    let key = TimerKey { due, obligation };
    (within_bucket(&key) == sort).then_some(key)
}

fn link_or_run<'a>(kind: &str, job: JobId, mut parts: impl Iterator<Item = &'a str>) -> Option<Obligation> {
    Some(match kind {
        "0" => Obligation::Occurrence(job),
        "1" => Obligation::MovedOccurrence(job, Moment::parse(parts.next()?)?),
        "2" => {
            let (at, origin) = (Moment::parse(parts.next()?)?, parts.next()?.parse().ok()?);
            let discriminator = u64::from_str_radix(parts.next()?, 16).ok()?;
            Obligation::Run(RunKey { job, at, origin: Origin::of_code(origin)?, discriminator })
        }
        "3" => Obligation::Calendar(job),
        _ => return None,
    })
}

/// By instant, origin, discriminator: as run keys of one job compare.
fn within_history(key: RunKey) -> String {
    format!("{}#{}#{:016x}", key.at, key.origin.code(), key.discriminator)
}

/// By instant, then by thing: as timer keys compare.
fn within_bucket(key: &TimerKey) -> String {
    let due = key.due;
    match key.obligation {
        Obligation::Occurrence(job) => format!("{due}#0#{job}"),
        Obligation::MovedOccurrence(job, at) => format!("{due}#1#{job}#{at}"),
        Obligation::Run(run) => format!("{due}#2#{}#{}", run.job, within_history(run)),
        Obligation::Calendar(place) => format!("{due}#3#{place}"),
        Obligation::Operation(id) => format!("{due}#4#{id}"),
    }
}

fn hash(bytes: &[u8]) -> u16 {
    let digest = Sha256::digest(bytes);
    u16::from_be_bytes([digest[0], digest[1]])
}

#[cfg(test)]
mod tests {
    use minutehand_domain::access::{ApiKey, KeyId};
    use minutehand_domain::health::day::Day;
    use minutehand_domain::operation::OperationId;
    use minutehand_domain::run::{Attempt, Run};
    use minutehand_domain::signing::SigningSecrets;
    use minutehand_domain::survey::Survey;

    use super::*;
    use crate::store::Cursor;

    const JOB: JobId = JobId::from_bytes([7; 16]);

    fn tenant() -> Tenant {
        Tenant::new("acme").unwrap()
    }

    fn at(seconds: i64) -> Moment {
        Moment::from_secs(1_800_000_000 + seconds)
    }

    #[test]
    fn an_item_is_where_it_can_be_read_off_the_console() {
        let run_key = RunKey::manual(JOB, at(0), 255);
        let timer_key = TimerKey::occurrence(JOB, at(0));

        let run = item::<Run>(&tenant(), &run_key);

        assert_eq!(run.partition, format!("acme#{JOB}"));
        assert_eq!(run.sort, "run#2027-01-15T08:00:00.000Z#1#00000000000000ff");
        assert_eq!(timer(&timer_key, 64).partition, format!("2027-01-15T08:00#{:02}", timer_key.obligation.shard(64)));
        assert_eq!(timer(&timer_key, 64).sort, format!("2027-01-15T08:00:00.000Z#0#{JOB}"));
        assert!(hour(&tenant(), run_key).starts_with("acme#2027-01-15T08#"));
        let key = item::<ApiKey>(&tenant(), &KeyId::from_bytes([0; 10]));
        assert_eq!((&*key.partition, &*key.sort), ("acme#key", "key_0000000000000000"));
        assert_eq!(item::<Cursor>(&tenant(), &7).partition, "cursor#07");
    }

    #[test]
    fn the_kind_of_an_item_is_known_by_its_key() {
        let run = RunKey::occurrence(JOB, at(0));
        for (key, kind) in [
            (item::<Head>(&tenant(), &JOB), "head"),
            (item::<Run>(&tenant(), &run), "run"),
            (item::<Attempt>(&tenant(), &(run, 1)), "attempt"),
            (item::<Day>(&tenant(), &JOB), "day"),
            (item::<ApiKey>(&tenant(), &KeyId::from_bytes([0; 10])), "key"),
            (item::<SigningSecrets>(&tenant(), &()), "signing"),
        ] {
            assert_eq!(kind_of(&key.partition, &key.sort), Some(kind), "{key:?}");
        }
        for (key, kind) in [(item::<Survey>(&tenant(), &()), "survey"), (item::<Cursor>(&tenant(), &7), "cursor")] {
            assert_eq!(kind_beside_timers(&key.partition), Some(kind));
        }
        assert_eq!(kind_of("nobodys", "key"), None);
    }

    #[test]
    fn runs_of_a_job_sort_as_their_keys_do() {
        let mut keys = Vec::new();
        for seconds in [0, 1, 70] {
            keys.push(RunKey::occurrence(JOB, at(seconds)));
            keys.extend([1, 9, 10, u64::MAX].map(|number| RunKey::manual(JOB, at(seconds), number)));
            keys.extend([0, 1].map(|number| RunKey::redrive(JOB, at(seconds), number)));
        }
        for a in &keys {
            for b in &keys {
                assert_eq!(
                    a.cmp(b),
                    item::<Run>(&tenant(), a).sort.cmp(&item::<Run>(&tenant(), b).sort),
                    "{a:?} {b:?}"
                );
            }
        }
    }

    #[test]
    fn runs_of_all_jobs_are_listed_by_instant_and_then_as_their_keys_compare() {
        let mut keys = Vec::new();
        for job in [[0; 16], [7; 16], [8; 16], [0xff; 16]].map(JobId::from_bytes) {
            for instant in [Moment::EPOCH, at(0).just_before(), at(0), at(1), at(70), Moment::END] {
                keys.push(RunKey::occurrence(job, instant));
                keys.extend([1, u64::MAX].map(|number| RunKey::manual(job, instant, number)));
                keys.extend([0, 1].map(|number| RunKey::redrive(job, instant, number)));
            }
        }
        for a in &keys {
            for b in &keys {
                assert_eq!((a.at, a).cmp(&(b.at, b)), listed_at(*a).cmp(&listed_at(*b)), "{a:?} {b:?}");
                assert_eq!(a.at <= b.at, listed_from(a.at) < listed_at(*b), "{a:?} {b:?}");
            }
            assert_eq!(run_listed_at(&listed_at(*a)), Some(*a));
        }
    }

    #[test]
    fn a_list_goes_back_through_the_hours_of_its_window_and_no_further() {
        let hours = |from: i64, to: i64, before: Option<i64>| {
            let before = before.map(|seconds| RunKey::occurrence(JOB, at(seconds)));
            let spans = listed(&tenant(), Across::All, &(at(from)..at(to)), before);
            spans.map(|spans| spans[0].partition.clone()).collect::<Vec<_>>()
        };

        assert_eq!(hours(0, 3600, None), ["acme#2027-01-15T08#00"]);
        assert_eq!(hours(-1, 3601, None), ["09", "08", "07"].map(|hour| format!("acme#2027-01-15T{hour}#00")));
        assert_eq!(hours(0, 36_000, Some(7)), ["acme#2027-01-15T08#00"]);
        assert_eq!(hours(0, 7200, Some(36_000)), ["09", "08"].map(|hour| format!("acme#2027-01-15T{hour}#00")));
        assert!(hours(0, 0, None).is_empty() && hours(3600, 0, None).is_empty() && hours(7, 9, Some(1)).is_empty());
    }

    #[test]
    fn timers_of_a_bucket_sort_as_their_keys_do() {
        let run = RunKey::manual(JOB, at(9), 5);
        let mut keys = Vec::new();
        for due in [at(0), at(1), at(59)] {
            for job in [JOB, JobId::from_bytes([8; 16])] {
                let obligations = [
                    Obligation::Occurrence(job),
                    Obligation::MovedOccurrence(job, at(1)),
                    Obligation::MovedOccurrence(job, at(2)),
                ];
                keys.extend(obligations.map(|obligation| TimerKey { due, obligation }));
            }
            keys.extend([TimerKey::run(run, due), TimerKey::run(RunKey::occurrence(JOB, at(9)), due)]);
            keys.push(TimerKey { due, obligation: Obligation::Calendar(JOB) });
            keys.push(TimerKey::operation(OperationId::from_bytes([9; 16]), due));
        }
        for a in &keys {
            assert_eq!(timer_of(&timer(a, 1).sort), Some(*a));
            assert_eq!(bucket_of(&timer(a, 1).partition), Some(Bucket { minute: a.minute(), shard: 0 }));
            for b in &keys {
                assert_eq!(a.cmp(b), timer(a, 1).sort.cmp(&timer(b, 1).sort), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_bucket_lies_inside_of_time_and_of_the_shards() {
        let last = pace::minute_of(Moment::END);
        let asked = |minute, shard| timers(Bucket { minute, shard }, 64, None, Moment::END);

        assert!(asked(0, 0).is_some() && asked(last, 63).is_some());
        assert!(asked(last + 1, 0).is_none() && asked(-1, 0).is_none() && asked(0, 64).is_none());
    }

    #[test]
    fn no_tenant_has_anothers_partition() {
        let (short, long) = (Tenant::new("a").unwrap(), Tenant::new("a-").unwrap());

        assert_ne!(item::<Head>(&short, &JOB).partition, item::<Head>(&long, &JOB).partition);
        assert!(!history(&long, JOB).starts_with(&history(&short, JOB)));
    }
}
