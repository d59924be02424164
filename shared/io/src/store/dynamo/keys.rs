//! Keys: where an item lies. The only room that writes a `#`.
//!
//! | item | table | partition | sort |
//! |---|---|---|---|
//! | head of a job | state | `{tenant}#{hash(job) % 64}` | `{job}` |
//! | run | state | `{tenant}#{job}` | `run#{instant}#{origin}#{discriminator}` |
//! | attempt that stands outside | state | `{tenant}#{job}` | `attempt#{run's}#{number}` |
//! | body kept apart | state | `{tenant}#{job}` | `body#{digest}` |
//! | timer | timers | `{minute}#{shard}` | `{instant}#{kind}#{job}…` |
//! | cursor | timers | `cursor#{shard}` | `cursor` |
//!
//! Instants are written as the wire writes them, always 24 characters, so that they sort and can be read. A part that may
//! be missing comes last, and a separator sorts before every letter and digit that could follow.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::body::Digest;
use minutehand_domain::id::{JobId, Origin, RunKey, Tenant};
use minutehand_domain::pace;
use minutehand_domain::timer::{Thing, TimerKey};
use sha2::{Digest as _, Sha256};

use crate::store::Bucket;

/// Partitions that a tenant's jobs are spread over, for ever: listing meets no hot key.
pub(super) const JOB_PARTITIONS: u16 = 64;
/// Partitions of one hour of a tenant's runs in the index: at a thousand writes a second each, 16,000 runs a second.
const INDEX_PARTITIONS: u16 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Jobs, runs, attempts, bodies.
    State,
    /// The minute buckets and the cursors: can be made again from `state`.
    Timers,
}

/// Where one item lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) table: Table,
    pub(super) partition: String,
    pub(super) sort: String,
}

/// The items of a partition from `from` to `to`, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) table: Table,
    pub(super) partition: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) order: Order,
    /// One end that is known already, and not asked for again.
    pub(super) but: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Forward,
    Backward,
}

pub(super) fn head(tenant: &Tenant, job: JobId) -> Key {
    let partition = hash(job.as_bytes()) % JOB_PARTITIONS;
    state(jobs_partition(tenant, partition), job.to_string())
}

/// The heads of one of a tenant's partitions, by id, after `after`.
pub(super) fn heads(tenant: &Tenant, partition: u16, after: Option<JobId>) -> Span {
    let from = after.map_or_else(|| "job_".to_owned(), |job| job.to_string());
    let but = after.map(|job| job.to_string());
    span(Table::State, jobs_partition(tenant, partition), from, "job_~".to_owned(), but)
}

pub(super) fn run(tenant: &Tenant, key: RunKey) -> Key {
    state(history(tenant, key.job), format!("run#{}", within_history(key)))
}

/// A job's runs whose instant lies in `window`, newest first, older than `before`.
pub(super) fn runs(tenant: &Tenant, job: JobId, window: &Range<Moment>, before: Option<RunKey>) -> Span {
    let bound = |at: Moment| format!("run#{at}");
    let end = bound(window.end);
    let (to, but) = match before {
        Some(before) if before.job < job => (String::new(), None),
        Some(before) if before.job == job && run(tenant, before).sort < end => {
            let before = run(tenant, before).sort;
            (before.clone(), Some(before))
        }
        _ => (end, None),
    };
    Span { order: Order::Backward, ..span(Table::State, history(tenant, job), bound(window.start), to, but) }
}

pub(super) fn attempt(tenant: &Tenant, run: RunKey, number: u32) -> Key {
    state(history(tenant, run.job), format!("attempt#{}#{number:010}", within_history(run)))
}

/// A run's attempts, oldest first.
pub(super) fn attempts(tenant: &Tenant, run: RunKey) -> Span {
    let of_run = format!("attempt#{}#", within_history(run));
    span(Table::State, history(tenant, run.job), of_run.clone(), of_run + "~", None)
}

pub(super) fn body(tenant: &Tenant, job: JobId, digest: Digest) -> Key {
    state(history(tenant, job), format!("body#{digest}"))
}

pub(super) fn timer(key: &TimerKey, shards: u16) -> Key {
    let bucket = Bucket { minute: key.minute(), shard: key.thing.shard(shards) };
    Key { table: Table::Timers, partition: bucket_partition(bucket), sort: within_bucket(key) }
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
    Some(span(Table::Timers, bucket_partition(bucket), from, format!("{until}#~"), after))
}

pub(super) fn cursor(shard: u16) -> Key {
    Key { table: Table::Timers, partition: format!("cursor#{shard:02}"), sort: "cursor".to_owned() }
}

/// Under which hour of its tenant a run is listed.
pub(super) fn hour(tenant: &Tenant, key: RunKey) -> String {
    let instant = key.at.to_string();
    let partition = hash(&key.to_bytes()) % INDEX_PARTITIONS;
    format!("{}#{}#{partition:02}", tenant.as_str(), &instant[.."2026-11-20T12".len()])
}

/// Under which name what needs attention is listed.
pub(super) fn attention(tenant: &Tenant, key: RunKey) -> String {
    format!("{}#{:02}", tenant.as_str(), hash(&key.to_bytes()) % INDEX_PARTITIONS)
}

impl Span {
    /// No key can lie in it, and AWS refuses to be asked.
    pub(super) fn is_empty(&self) -> bool {
        self.from > self.to
    }
}

fn state(partition: String, sort: String) -> Key {
    Key { table: Table::State, partition, sort }
}

fn span(table: Table, partition: String, from: String, to: String, but: Option<String>) -> Span {
    Span { table, partition, from, to, order: Order::Forward, but }
}

fn jobs_partition(tenant: &Tenant, partition: u16) -> String {
    format!("{}#{partition:02}", tenant.as_str())
}

fn history(tenant: &Tenant, job: JobId) -> String {
    format!("{}#{job}", tenant.as_str())
}

fn bucket_partition(bucket: Bucket) -> String {
    let begin = pace::end_of(bucket.minute - 1).to_string();
    format!("{}#{:02}", &begin[.."2026-11-20T12:30".len()], bucket.shard)
}

/// By instant, origin, discriminator: as run keys of one job compare.
fn within_history(key: RunKey) -> String {
    format!("{}#{}#{:016x}", key.at, digit(key.origin), key.discriminator)
}

/// By instant, then by thing: as timer keys compare.
fn within_bucket(key: &TimerKey) -> String {
    let due = key.due;
    match key.thing {
        Thing::Occurrence(job) => format!("{due}#0#{job}"),
        Thing::Again(job, at) => format!("{due}#1#{job}#{at}"),
        Thing::Run(run) => format!("{due}#2#{}#{}", run.job, within_history(run)),
    }
}

/// Origins by the order they compare in, whatever they are called.
const fn digit(origin: Origin) -> u8 {
    match origin {
        Origin::Schedule => 0,
        Origin::Manual => 1,
    }
}

fn hash(bytes: &[u8]) -> u16 {
    let digest = Sha256::digest(bytes);
    u16::from_be_bytes([digest[0], digest[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

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

        assert_eq!(run(&tenant(), run_key).partition, format!("acme#{JOB}"));
        assert_eq!(run(&tenant(), run_key).sort, "run#2027-01-15T08:00:00.000Z#1#00000000000000ff");
        assert_eq!(timer(&timer_key, 64).partition, format!("2027-01-15T08:00#{:02}", timer_key.thing.shard(64)));
        assert_eq!(timer(&timer_key, 64).sort, format!("2027-01-15T08:00:00.000Z#0#{JOB}"));
        assert!(hour(&tenant(), run_key).starts_with("acme#2027-01-15T08#"));
    }

    #[test]
    fn runs_of_a_job_sort_as_their_keys_do() {
        let mut keys = Vec::new();
        for seconds in [0, 1, 70] {
            keys.push(RunKey::occurrence(JOB, at(seconds)));
            keys.extend([1, 9, 10, u64::MAX].map(|number| RunKey::manual(JOB, at(seconds), number)));
        }
        for a in &keys {
            for b in &keys {
                assert_eq!(a.cmp(b), run(&tenant(), *a).sort.cmp(&run(&tenant(), *b).sort), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn timers_of_a_bucket_sort_as_their_keys_do() {
        let run = RunKey::manual(JOB, at(9), 5);
        let mut keys = Vec::new();
        for due in [at(0), at(1), at(59)] {
            for job in [JOB, JobId::from_bytes([8; 16])] {
                let things = [Thing::Occurrence(job), Thing::Again(job, at(1)), Thing::Again(job, at(2))];
                keys.extend(things.map(|thing| TimerKey { due, thing }));
            }
            keys.extend([TimerKey::run(run, due), TimerKey::run(RunKey::occurrence(JOB, at(9)), due)]);
        }
        for a in &keys {
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

        assert_ne!(head(&short, JOB).partition, head(&long, JOB).partition);
        assert!(!history(&long, JOB).starts_with(&history(&short, JOB)));
    }
}
