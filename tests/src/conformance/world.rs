//! The world of the facts: things to keep, as plain as the domain allows, that differ by a number.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Attempt, Failure, Run, State};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::Fault;
use minutehand_io::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use minutehand_io::store::place::{Partition, Place, Span};
use minutehand_io::store::{Bucket, Filed, Guard, KeptBody, Put, RunsOf, Store, Version};
use serde::{Deserialize, Serialize};

/// The full minute at which everything begins.
pub const START: Moment = Moment::from_secs(1_800_000_000);

/// A document as plain as can be. Its fields are called as what a store may keep beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub name: String,
    pub version: u64,
}

/// Of another kind, whose word begins as a note's does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notebook {
    pub name: String,
}

macro_rules! document {
    ($type:ty, $kind:literal) => {
        impl Item for $type {
            const KIND: &'static str = $kind;

            type Key = String;

            fn place(name: &String) -> Place {
                Place::named(name)
            }
        }

        impl Listed for $type {
            type Within = ();

            fn span((): &(), past: Option<&String>) -> Option<Span> {
                Some(Span::all(Partition::Kind, past.map(Self::place)))
            }
        }

        impl Stored for $type {
            fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
                writer.shape(1, &Filed { document: self })
            }

            fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
                match shape {
                    1 => reader.shape().map(|Filed { document }| document),
                    later => Err(later_shape::<Self>(later)),
                }
            }
        }
    };
}

document!(Note, "note");
document!(Notebook, "notebook");

pub async fn write_head<S: Store>(store: &S, head: &Head, guard: Guard) -> Result<Put<Head>, Fault> {
    store.put(head.tenant(), head.id(), head, guard).await
}

pub async fn write_run<S: Store>(store: &S, run: &Run, guard: Guard) -> Result<Put<Run>, Fault> {
    store.put(&run.tenant, run.key, run, guard).await
}

pub async fn write_note<S: Store>(store: &S, tenant: &Tenant, note: &Note, guard: Guard) -> Result<Put<Note>, Fault> {
    store.put(tenant, note.name.clone(), note, guard).await
}

/// Which writing it was, where nobody else writes.
pub fn written<T: Debug>(put: Put<T>) -> Version {
    match put {
        Put::Written(version) => version,
        Put::Conflict(standing) => panic!("nobody else writes here, but there is {standing:?}"),
    }
}

/// Written once: where it stands already it is the same.
pub async fn write_attempt<S: Store>(store: &S, tenant: &Tenant, run: RunKey, attempt: &Attempt) -> Result<(), Fault> {
    store.put(tenant, (run, attempt.number), attempt, Guard::Absent).await.map(drop)
}

pub async fn write_body<S: Store>(store: &S, tenant: &Tenant, job: JobId, json: &Json) -> Result<(), Fault> {
    store.put(tenant, (job, json.digest()), &KeptBody { json: json.clone() }, Guard::Absent).await.map(drop)
}

/// A tenant's jobs by id.
pub async fn jobs<S: Store>(store: &S, tenant: &Tenant, past: Option<JobId>, limit: usize) -> Result<Vec<Job>, Fault> {
    let heads = store.list::<Head>(tenant, (), past, limit).await?.whole()?;
    Ok(heads.into_iter().filter_map(Head::into_job).collect())
}

/// A job's runs, newest first.
pub async fn runs_of<S: Store>(
    store: &S,
    tenant: &Tenant,
    job: JobId,
    window: Range<Moment>,
    before: Option<RunKey>,
    limit: usize,
) -> Result<Vec<Run>, Fault> {
    store.list::<Run>(tenant, RunsOf { job, window }, before, limit).await?.whole()
}

pub async fn notes<S: Store>(store: &S, tenant: &Tenant, past: Option<&str>, limit: usize) -> Result<Vec<Note>, Fault> {
    store.list::<Note>(tenant, (), past.map(ToOwned::to_owned), limit).await?.whole()
}

pub async fn timers_in<S: Store>(
    store: &S,
    bucket: Bucket,
    after: Option<TimerKey>,
    until: Moment,
    limit: usize,
) -> Result<Vec<Timer>, Fault> {
    store.timers(bucket, after, until, limit).await?.whole()
}

pub fn note(name: &str, version: u64) -> Note {
    Note { name: name.to_owned(), version }
}

pub fn at(seconds: u64) -> Moment {
    START + Duration::from_secs(seconds)
}

pub fn tenant() -> Tenant {
    named("acme")
}

pub fn named(tenant: &str) -> Tenant {
    Tenant::new(tenant).expect("a test names its tenants well")
}

pub fn job_id(number: u8) -> JobId {
    JobId::from_bytes([number; 16])
}

pub fn job(tenant: &Tenant, number: u8) -> Job {
    let plan = Plan { every_seconds: Some(60), start_at: Some(START), ..Plan::default() };
    let schedule = Schedule::new(&plan, START).expect("a minute is a schedule");
    Job::new(tenant.clone(), job_id(number), schedule, definition(), 0, START)
}

pub fn head(number: u8) -> Head {
    Head::Job(job(&tenant(), number))
}

/// The same job as somebody else would have written it.
pub fn head_by(number: u8, writer: u64) -> Head {
    Head::Job(Job { generation: writer, ..job(&tenant(), number) })
}

pub fn tombstone(number: u8) -> Head {
    Head::Tombstone { tenant: tenant(), id: job_id(number), epoch: 1 }
}

pub fn run(number: u8, seconds: u64) -> Run {
    run_of(&tenant(), RunKey::occurrence(job_id(number), at(seconds)))
}

pub fn run_of(tenant: &Tenant, key: RunKey) -> Run {
    Run::new(tenant.clone(), key, Priority::Normal)
}

/// The same run, as it is after it failed.
pub fn failed(run: Run) -> Run {
    Run { state: State::Failed { at: run.key.at, why: Failure::Error }, ..run }
}

pub fn attempt(number: u32) -> Attempt {
    Attempt { number, worker: Worker(7), started_at: at(u64::from(number)), ended: None }
}

pub fn timer(number: u8, seconds: u64) -> Timer {
    let key = TimerKey::occurrence(job_id(number), at(seconds));
    Timer { key, tenant: tenant(), stamp: stamp(1), parent: None }
}

pub fn stamp(generation: u64) -> TimerStamp {
    TimerStamp { generation, written: START }
}

fn definition() -> Definition {
    let tags = BTreeSet::from(["billing".to_owned()]);
    Definition { name: Some("report".to_owned()), tags, ..Definition::default() }
}
