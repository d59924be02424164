//! The world of the facts: things to keep, as plain as the domain allows, that differ by a number.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::document::Document;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::job::{Definition, Job};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Attempt, Failure, Run, State};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
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

impl Document for Note {
    const KIND: &'static str = "note";

    fn name(&self) -> String {
        self.name.clone()
    }
}

impl Document for Notebook {
    const KIND: &'static str = "notebook";

    fn name(&self) -> String {
        self.name.clone()
    }
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
    Timer { key, tenant: tenant(), stamp: stamp(1) }
}

pub fn stamp(generation: u64) -> TimerStamp {
    TimerStamp { generation, written: START }
}

fn definition() -> Definition {
    let tags = BTreeSet::from(["billing".to_owned()]);
    Definition { name: Some("report".to_owned()), tags, ..Definition::default() }
}
