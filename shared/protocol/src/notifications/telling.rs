//! Telling: an end is put into the digest of each rule that it concerns. Twice is once: what is told is a word of a set.
//!
//! Rule **promise**: the timer of a digest stands before anything is in it. Rule **closed**: nothing goes into a digest that is closed; what
//! comes too late for its own goes into the first one after it that is open, and whoever tells it again finds it there.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::RunKey;
use minutehand_domain::job::Job;
use minutehand_domain::lane::Lane;
use minutehand_domain::limits::PAGE;
use minutehand_domain::notification::digest::Found;
use minutehand_domain::notification::{
    Digest, DigestKey, Entry, Rule, Told, Window, are_failures_in_a_row, each_failure_once, may_be_told_of,
};
use minutehand_domain::pace;
use minutehand_domain::run::Run;
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{RunsOf, Store as _, TellOf};
use minutehand_io::{Fault, Ports};

use crate::lookup::job_of;
use crate::timers::hinting::hint;
use crate::timers::promise::promise;

/// Runs that are read at first beside those that a row asks for: some of them were skipped, cancelled, or are under way.
const BESIDE: usize = 50;
/// Runs before an end that are read for a row, at most: a job of each minute may hang for sixteen hours and skip all the others.
const READ_FOR_A_ROW: usize = PAGE;

/// Tells whom it concerns of a run, as it stands: of its end, or that it is late. False where that could not be done: whoever has the timer
/// behind it leaves it there. Most runs concern nobody, and cost nothing.
pub async fn tell<D: Ports>(ports: &D, run: &Run) -> bool {
    if !may_be_told_of(run) || ports.rules().knows_none(&run.tenant, ports.clock().now()) {
        return true;
    }
    match Box::pin(tell_all(ports, run)).await {
        Ok(()) => true,
        Err(fault) => {
            tracing::warn!(tenant = run.tenant.as_str(), run = %run.key, %fault, "nobody is told of it yet");
            false
        }
    }
}

async fn tell_all<D: Ports>(ports: &D, run: &Run) -> Result<(), Fault> {
    let rules = ports.rules().of(ports.store(), &run.tenant, ports.clock().now()).await?;
    let mut known = Known::default();
    for rule in &*rules {
        for entry in known.entries(ports, rule, run).await? {
            put_down(ports, rule, &entry).await?;
        }
    }
    Ok(())
}

/// What was read for one end, for all rules.
#[derive(Default)]
struct Known {
    /// None where it is not there, or was not asked for.
    job: Option<Job>,
    has_asked_for_job: bool,
    before: Before,
}

/// The newest runs before it, as far as they were read.
#[derive(Default)]
struct Before {
    runs: Vec<Run>,
    /// There are no more, or no more are read.
    is_all: bool,
}

impl Known {
    /// What a rule tells of it, now that its job and the runs before it are asked.
    async fn entries<D: Ports>(&mut self, ports: &D, rule: &Rule, run: &Run) -> Result<BTreeSet<Entry>, Fault> {
        let mut entries = BTreeSet::new();
        for told in rule.tells(run) {
            if self.concerns(ports, rule, run).await? && self.has_row(ports, run, told).await? {
                entries.insert(told.entry(run.key));
            }
        }
        Ok(each_failure_once(entries))
    }

    async fn concerns<D: Ports>(&mut self, ports: &D, rule: &Rule, run: &Run) -> Result<bool, Fault> {
        if !rule.whose.asks_the_job() {
            return Ok(rule.whose.may_be(run.key.job));
        }
        if !self.has_asked_for_job {
            self.job = job_of(ports, &run.tenant, run.key.job).await?;
            self.has_asked_for_job = true;
        }
        Ok(self.job.as_ref().is_some_and(|job| rule.whose.is(job)))
    }

    /// Whether so many of its job's runs before it failed, one after the other.
    async fn has_row<D: Ports>(&mut self, ports: &D, run: &Run, told: Told) -> Result<bool, Fault> {
        let wanted = usize::from(told.failures_before);
        loop {
            if let Some(has_row) = are_failures_in_a_row(&self.before.runs, wanted) {
                return Ok(has_row);
            }
            if self.before.is_all {
                return Ok(false);
            }
            self.before.read_on(ports, run, wanted + BESIDE).await?;
        }
    }
}

impl Before {
    /// Reads a page, at least so long. Each is as long as all before it, so that few are read where many runs were skipped.
    async fn read_on<D: Ports>(&mut self, ports: &D, run: &Run, least: usize) -> Result<(), Fault> {
        let limit = self.runs.len().max(least).min(READ_FOR_A_ROW - self.runs.len());
        let within = RunsOf { job: run.key.job, window: Moment::EPOCH..run.key.at.just_after() };
        let past = self.runs.last().map_or(run.key, |last| last.key);
        let page = ports.store().list::<Run>(&run.tenant, within, Some(past), limit).await?.items;
        let is_last = page.len() < limit;
        self.runs.extend(page);
        self.is_all = is_last || self.runs.len() >= READ_FOR_A_ROW;
        Ok(())
    }
}

/// Puts an entry into the digest of its window, or of the first one after it that is open.
async fn put_down<D: Ports>(ports: &D, rule: &Rule, entry: &Entry) -> Result<(), Fault> {
    for window in Window::of(entry.at, rule.digest).and_later() {
        if put_into(ports, rule, window, entry).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// False where that one is closed without it.
async fn put_into<D: Ports>(ports: &D, rule: &Rule, window: Window, entry: &Entry) -> Result<bool, Fault> {
    let mut key = DigestKey::root(rule.id, window);
    loop {
        let there = ports.store().get::<Digest>(&rule.tenant, key).await?.map(|seen| seen.item);
        if there.is_none() && key == DigestKey::root(rule.id, window) {
            promise_message(ports, rule, window.run(rule.id)).await?;
        }
        let is_open = there.as_ref().is_none_or(|digest| !digest.is_closed());
        match there.map_or(Found::Room, |digest| digest.finds(entry)) {
            // Seldom asked twice: by who settles again, and by a repair, which may have lost the timer.
            Found::Told if is_open => return promise_message(ports, rule, window.run(rule.id)).await.map(|()| true),
            Found::Told => return Ok(true),
            Found::Closed => return Ok(false),
            Found::Full => {
                let Some(below) = key.node.below(entry) else {
                    tracing::warn!(rule = rule.name.as_str(), run = %entry.run, "a digest is full: this is told to nobody");
                    return Ok(true);
                };
                key = key.at(below);
            }
            Found::Room => {
                let telling = TellOf { entry: *entry, expires_at: key.expires_at() };
                // Where it is refused, somebody was faster: what stands there now says which way it goes.
                let _updated = ports.store().update(&rule.tenant, key, &telling).await?;
            }
        }
    }
}

/// The timer of a message; and its hint, where it is due before a sweeper would give it one.
async fn promise_message<D: Ports>(ports: &D, rule: &Rule, run: RunKey) -> Result<(), Fault> {
    let timer = promise(ports, &rule.tenant, TimerKey::run(run, run.at), 0).await?;
    if timer.key.due <= ports.clock().now() + pace::HORIZON {
        let order = rule.order();
        let lane = Lane::of(order.priority, &order.terms);
        let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), timer.key.due).await;
    }
    Ok(())
}
