//! The end of a window: its digest is closed, and what it says is told in one message, a run that is made once: its key is the window.
//!
//! Rule **closed first**: the items of a digest are closed before they are read for the message, so that it says all that is in them. Rule
//! **born once**: the message is put where none is; whoever comes second finds it, with what it says.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::limits::{INLINE_PAYLOAD_BYTES, PAGE};
use minutehand_domain::notification::{
    Digest, DigestKey, Entry, Message, Node, Rule, Sample, Window, each_failure_once,
};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Run, Skip, State};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{CloseDigest, RunsOf, Store as _, Updated};
use minutehand_io::{Fault, Ports};

use crate::bodies::{self, BodyOf};
use crate::born::{born, quota_bound};
use crate::lookup::{if_readable, job_of, rule_of};

/// What a look at a message that has no record comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digested {
    /// It has a record now, or somebody has given it one.
    Born,
    /// Its window is not over.
    NotYet(Moment),
    /// Nothing happened in its window.
    Empty,
    /// It is of no window.
    NotADigest,
}

/// Makes the message of a window that is over, where anything is to be told of it.
pub async fn tell_of_window<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Digested, Fault> {
    let Some(window) = Window::told_by(key) else { return Ok(Digested::NotADigest) };
    if ports.clock().now() < key.at {
        return Ok(Digested::NotYet(key.at));
    }
    let closed = closed(ports, tenant, key.job, window).await?;
    // A failure that is told again may have a row only then, since an earlier run of its job has failed in between.
    let entries: Vec<Entry> = each_failure_once(closed).into_iter().collect();
    if entries.is_empty() {
        return Ok(Digested::Empty);
    }
    let run = message(ports, tenant, key, window, entries).await?;
    let _whoever_was_faster_made_the_same = born(ports, &run, "none", ports.clock().now()).await?;
    Ok(Digested::Born)
}

/// Closes a digest, from its root to wherever it is full, and answers with all that is in it, oldest first.
async fn closed<D: Ports>(ports: &D, tenant: &Tenant, rule: JobId, window: Window) -> Result<BTreeSet<Entry>, Fault> {
    let (root, mut entries) = (DigestKey::root(rule, window), BTreeSet::new());
    let mut nodes = vec![Node::ROOT];
    while let Some(node) = nodes.pop() {
        let key = root.at(node);
        let closing = CloseDigest { expires_at: key.expires_at() };
        let digest: Digest = match ports.store().update(tenant, key, &closing).await? {
            Updated::Done(seen) | Updated::Refused(Some(seen)) => seen.item,
            Updated::Refused(None) => return Err(Fault::unavailable("store", "a digest came and went")),
        };
        entries.extend(digest.entries());
        if digest.is_full() {
            nodes.extend(node.children());
        }
    }
    Ok(entries)
}

/// The message as it is born: to be sent; or on record that it is not, and why.
async fn message<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: RunKey,
    window: Window,
    entries: Vec<Entry>,
) -> Result<Run, Fault> {
    let now = ports.clock().now();
    let unborn = |priority| Run::new(tenant.clone(), key, priority);
    let Some(rule) = rule_of(ports, tenant, key.job).await?.filter(Rule::is_in_force) else {
        return Ok(unborn(Priority::Normal).skipped(Skip::Cancelled, None, now));
    };
    let run = unborn(rule.order().priority);
    if is_cooling_down(ports, &rule, key).await? {
        return Ok(run.skipped(Skip::Cooldown, None, now));
    }
    let samples = samples(ports, tenant, Message::named(&entries)).await?;
    let body = Message::Digest { window, entries, samples }.body(&rule);
    let run = quota_bound(ports, &run).await;
    let payload = bodies::keep_of(ports, BodyOf::run(&run, now), Some(body), INLINE_PAYLOAD_BYTES).await?;
    Ok(Run { payload: Some(payload), ..run })
}

/// Whether a message went out so shortly before this one that the rule is silent. One that failed told nobody.
async fn is_cooling_down<D: Ports>(ports: &D, rule: &Rule, key: RunKey) -> Result<bool, Fault> {
    if rule.cooldown.is_zero() {
        return Ok(false);
    }
    let window = (key.at - rule.cooldown).just_after()..key.at;
    let mut past = None;
    loop {
        let within = RunsOf { job: rule.id, window: window.clone() };
        let page = ports.store().list::<Run>(&rule.tenant, within, past, PAGE).await?.items;
        if page.iter().any(is_told) {
            return Ok(true);
        }
        match page.last() {
            Some(last) if page.len() == PAGE => past = Some(last.key),
            Some(_) | None => return Ok(false),
        }
    }
}

/// Whether a message of a window has told somebody, or is about to.
fn is_told(run: &Run) -> bool {
    let is_open_or_told = match run.state {
        State::Scheduled { .. } | State::Waiting(_) | State::Running(_) | State::Succeeded { .. } => true,
        State::Failed { .. } | State::TimedOut { .. } | State::Cancelled { .. } | State::Skipped { .. } => false,
    };
    is_open_or_told && Window::told_by(run.key).is_some()
}

/// What is known of those that a message names, as they stand by now. What nobody can read keeps nobody from being told of the others.
async fn samples<D: Ports>(ports: &D, tenant: &Tenant, named: &[Entry]) -> Result<Vec<Sample>, Fault> {
    let (mut jobs, mut samples) = (BTreeMap::<JobId, Option<Job>>::new(), Vec::new());
    for entry in named {
        let run = if_readable(ports.store().get::<Run>(tenant, entry.run).await)?.map(|seen| seen.item);
        let job = match jobs.get(&entry.run.job) {
            Some(job) => job.clone(),
            None => if_readable(job_of(ports, tenant, entry.run.job).await)?,
        };
        samples.push(Sample::of(*entry, run.as_ref(), job.as_ref()));
        jobs.insert(entry.run.job, job);
    }
    Ok(samples)
}
