//! Repair: what `state` says must have a timer gets one. Timers and cursors are pointers; where they were lost, damaged or left
//! behind, they are made again from the jobs and runs, by the same functions as ever; so is that of a run that is over, where its parent
//! waits for what that end should have brought about. Safe beside everybody else, and twice: a
//! timer too many is looked at and erased.
//!
//! It goes through the table in parts, a page of each at a time, and says how far it came, so that it may take as many calls as
//! it likes. What is written meanwhile has timers of its own writer.

pub(super) mod gaps;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::try_join_all;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::calendar::Shared;
use minutehand_domain::cursor::Cursor;
use minutehand_domain::head::Head;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::job::{Change, Job, Status};
use minutehand_domain::limits::{CALENDARS, DIGEST_SECONDS, PAGE};
use minutehand_domain::notification::may_be_told_of;
use minutehand_domain::operation::OperationHead;
use minutehand_domain::pace;
use minutehand_domain::repair::{Finding, Found, Subject, Summary};
use minutehand_domain::run::{Look, Run};
use minutehand_domain::timer::TimerKey;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Discard, Everything, FirstBucket, Part, Store as _, Unreadable};
use minutehand_io::{Fault, Ports};

use super::forget_hints;
use crate::graph::owed::{is_unpaid, owes};
use crate::graph::stop::promise_look_at;
use crate::job::change::{Want, change};
use crate::lookup::knowing;
use crate::notifications::telling::tell;
use crate::timers::promise::{is_promised, promise, promise_task};

/// Parts of the table that are read side by side.
const PARTS: usize = 4;
/// Jobs and runs looked after at once.
const AT_ONCE: usize = 64;
/// A call that has found so much says so: its answer has a bound.
const MOST_FINDINGS: usize = 1000;

/// For so long after its end a run's executor, or the next look, may still be paying what it owes.
const SETTLING: Duration = Duration::from_secs(120);
/// For so long after an end a repair sees to it that its digest is told: the longest window that a rule may have.
const TELLING: Duration = Duration::from_secs(DIGEST_SECONDS);

/// What one call may do.
#[derive(Clone, Copy, Debug)]
pub struct Repair {
    /// Whether nothing is changed.
    pub check: bool,
    /// Nothing is begun from then on.
    pub until: Moment,
}

/// How far a repair came: of each part behind what it goes on, none where it is through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position(pub Vec<Option<String>>);

/// What one call did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    pub summary: Summary,
    pub findings: Vec<Finding>,
    /// Where the next call goes on; none at the end.
    pub next: Option<Position>,
}

impl Default for Position {
    fn default() -> Self {
        Self(vec![Some(String::new()); PARTS])
    }
}

impl Position {
    fn is_at_the_end(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}

/// Goes on from there: a page of each part at least. At the end of all parts come the cursors.
pub async fn repair<D: Ports>(ports: &D, from: Position, call: Repair) -> Result<Repaired, Fault> {
    let (mut repairing, mut position) =
        (Repairing { ports, call, repaired: Repaired::default(), asked: BTreeSet::new() }, from);
    loop {
        repairing.pages(&mut position).await?;
        if position.is_at_the_end() {
            repairing.cursors().await?;
            return Ok(repairing.repaired);
        }
        if ports.clock().now() >= call.until || repairing.repaired.findings.len() >= MOST_FINDINGS {
            return Ok(Repaired { next: Some(position), ..repairing.repaired });
        }
    }
}

/// Writes a dead letter as it is once more: with that it is listed. A conflict is a writer that has listed it meanwhile.
async fn list_letter<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<(), Fault> {
    let Some(seen) = ports.store().get::<Run>(tenant, key).await? else { return Ok(()) };
    let _put = ports.store().put(tenant, key, &seen.item, seen.guard()).await?;
    Ok(())
}

struct Repairing<'a, D> {
    ports: &'a D,
    call: Repair,
    repaired: Repaired,
    /// The tenants whose operations and calendars were asked for.
    asked: BTreeSet<Tenant>,
}

impl<D: Ports> Repairing<'_, D> {
    /// The next page of each part.
    async fn pages(&mut self, position: &mut Position) -> Result<(), Fault> {
        let of = position.0.len();
        let left = position.0.iter().enumerate().filter_map(|(number, behind)| Some((number, behind.clone()?)));
        let ports = self.ports;
        let reading = left.map(|(number, behind)| async move {
            let behind = Some(behind).filter(|behind| !behind.is_empty());
            Ok((number, ports.store().everything(Part { number, of }, behind).await?))
        });
        for (number, page) in try_join_all(reading).await? {
            position.0[number].clone_from(&page.next);
            self.page(page).await?;
        }
        Ok(())
    }

    async fn page(&mut self, page: Everything) -> Result<(), Fault> {
        let (ports, check) = (self.ports, self.call.check);
        page.unreadable.iter().for_each(|left| self.list(left));
        if !check {
            let listing = page.unlisted.into_iter().map(async |(tenant, key)| list_letter(ports, &tenant, key).await);
            stream::iter(listing).buffered(AT_ONCE).try_collect::<()>().await?;
        }
        let jobs: Vec<Job> = page.heads.into_iter().filter_map(Head::into_job).collect();
        if !check {
            for job in &jobs {
                self.promise_what_goes_on(&job.tenant).await?;
            }
        }
        let (over, runs): (Vec<Run>, Vec<Run>) = page.runs.into_iter().partition(Run::is_finished);
        self.repaired.summary.jobs += jobs.len() as u64;
        self.repaired.summary.runs += runs.len() as u64;
        let looking = jobs.into_iter().map(|job| async move {
            let subject = Subject::Job(job.tenant.clone(), job.id);
            let found = async { repair_job(ports, &knowing(ports, job).await?, check).await };
            (subject, found.await)
        });
        let found: Vec<_> = stream::iter(looking).buffered(AT_ONCE).collect().await;
        found.into_iter().try_for_each(|(subject, found)| self.note(&subject, found))?;
        let looking = runs.into_iter().map(|run| async move {
            let found = repair_run(ports, &run, check).await.map(|found| found.into_iter().collect());
            (Subject::Run(run.tenant, run.key), found)
        });
        let found: Vec<_> = stream::iter(looking).buffered(AT_ONCE).collect().await;
        found.into_iter().try_for_each(|(subject, found)| self.note(&subject, found))?;
        let is_to_see_to = |run: &Run| owes(run) || run.redriven_as().is_some() || may_be_told_of(run);
        let looking = over.into_iter().filter(is_to_see_to).map(|run| async move {
            let found = repair_end(ports, &run, check).await.map(|found| found.into_iter().collect());
            (Subject::Run(run.tenant, run.key), found)
        });
        let found: Vec<_> = stream::iter(looking).buffered(AT_ONCE).collect().await;
        found.into_iter().try_for_each(|(subject, found)| self.note(&subject, found))
    }

    /// Once in a call.
    async fn promise_what_goes_on(&mut self, tenant: &Tenant) -> Result<(), Fault> {
        if self.asked.insert(tenant.clone()) {
            promise_operations(self.ports, tenant).await?;
            promise_walks(self.ports, tenant).await?;
        }
        Ok(())
    }

    /// Hints are given again, from the first timer on where the store knows it. Not before all timers are there.
    async fn cursors(&mut self) -> Result<(), Fault> {
        let (store, deployment) = (self.ports.store(), Tenant::deployment());
        if !self.call.check {
            // Erasures are its operations, and of whom they erase there may be no job any more.
            self.promise_what_goes_on(&deployment).await?;
        }
        let what = if self.ports.me().exclusive_store { Discard::Unreadable } else { Discard::Corrupt };
        for shard in 0..store.shards() {
            match store.get::<Cursor>(&deployment, shard).await {
                Err(why) if why.is_of_an_item() => {
                    let discarded = !self.call.check && what.admits(&why);
                    self.list(&Unreadable { key: format!("cursors {shard}"), timer: None, why });
                    if discarded {
                        store.discard::<Cursor>(&deployment, shard, what).await?;
                    }
                }
                read => {
                    read?;
                    if !self.call.check {
                        let first = match store.first_bucket(shard, 0).await? {
                            FirstBucket::At(minute) => Some(pace::end_of(minute - 1)),
                            FirstBucket::Nowhere | FirstBucket::Unknown => None,
                        };
                        forget_hints(self.ports, shard, first).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What is wrong with one item stops nothing beside it.
    fn note(&mut self, subject: &Subject, found: Result<Vec<Found>, Fault>) -> Result<(), Fault> {
        let found = match found {
            Err(Fault::Later { why, .. }) => vec![Found::Later(why)],
            Err(Fault::Unreadable { why, .. }) => vec![Found::Corrupt(why)],
            found => found?,
        };
        for found in found {
            self.repaired.summary.note(&found);
            self.repaired.findings.push(Finding { subject: subject.clone(), found });
        }
        Ok(())
    }

    fn list(&mut self, left: &Unreadable) {
        let found = match &left.why {
            Fault::Later { why, .. } => Found::Later(why.clone()),
            why => Found::Corrupt(why.to_string()),
        };
        self.repaired.summary.note(&found);
        self.repaired.findings.push(Finding { subject: Subject::Item(left.key.clone()), found });
    }
}

/// Of the operations of a tenant, those that go on are looked at now, whether their timers stand or not: what finds nothing to do erases its timer.
/// Of tenants without a job the deployment alone is asked: there is nothing to do but to erase.
async fn promise_operations<D: Ports>(ports: &D, tenant: &Tenant) -> Result<(), Fault> {
    let newest = ports.store().list::<OperationHead>(tenant, (), None, PAGE).await?.items;
    for operation in newest.iter().filter_map(OperationHead::as_operation).filter(|operation| operation.goes_on()) {
        promise(ports, tenant, TimerKey::operation(operation.id, ports.clock().now()), 0).await?;
    }
    Ok(())
}

/// Of the calendars of a tenant, those whose change has not come to all who heed them: whoever took it to them may have died.
async fn promise_walks<D: Ports>(ports: &D, tenant: &Tenant) -> Result<(), Fault> {
    let calendars = ports.store().list::<Shared>(tenant, (), None, CALENDARS).await?.items;
    for calendar in calendars.iter().filter(|calendar| calendar.walk.is_some()) {
        let key = TimerKey::calendar(calendar.name.place(tenant), ports.clock().now() + pace::PROMISE_AGAIN);
        promise(ports, tenant, key, calendar.generation).await?;
    }
    Ok(())
}

/// Looks after a job; changes nothing where it is only checked. Says of each kind of finding the first.
async fn repair_job<D: Ports>(ports: &D, job: &Job, check: bool) -> Result<Vec<Found>, Fault> {
    let now = ports.clock().now();
    if job.status == Status::Cancelled {
        return Ok(Vec::new());
    }
    if let Some(since) = ahead_of(job, now) {
        if !check {
            change(ports, &job.tenant, job.id, &NotAhead(now)).await?;
        }
        return Ok(vec![Found::Ahead(since)]);
    }
    if job.status == Status::Paused {
        return Ok(Vec::new());
    }
    let (mut overdue, mut without_timer) = (None, None);
    for at in gaps::without_a_record(ports, job).await? {
        let key = TimerKey::occurrence(job.id, at);
        if now < pace::leave_line(key.minute()) && is_promised(ports, &key).await? {
            continue;
        }
        if !check {
            promise(ports, &job.tenant, key, job.generation).await?;
        }
        if at > now { without_timer = without_timer.or(Some(at)) } else { overdue = overdue.or(Some(at)) }
    }
    Ok(overdue.map(Found::Overdue).into_iter().chain(without_timer.map(Found::WithoutTimer)).collect())
}

/// Since when a job counts that counts from an instant that has not come.
fn ahead_of(job: &Job, now: Moment) -> Option<Moment> {
    Some(job.since).filter(|since| *since > now + pace::APART).or_else(|| job.schedule.ahead_of(now))
}

/// That a job counts from now, as by a change of its schedule: of the schedule that it has by then.
struct NotAhead(Moment);

impl Want for NotAhead {
    type No = Fault;

    async fn of(&self, job: &Job) -> Result<Option<Change>, Fault> {
        Ok(ahead_of(job, self.0).map(|_since| Change::reschedule(job.schedule.not_ahead_of(self.0))))
    }
}

/// Looks after a run that is not over.
async fn repair_run<D: Ports>(ports: &D, run: &Run, check: bool) -> Result<Option<Found>, Fault> {
    let now = ports.clock().now();
    let (due, is_overdue) = match run.inspect_overdue(now, ports.me()) {
        Look::Erase => return Ok(None),
        Look::Later(due) => (due, due <= now),
        Look::Claimable { .. } => (now + pace::PROMISE_AGAIN, true),
        // When it is looked at next is nowhere said. A look too many costs a read or two.
        Look::Tend | Look::Unanswered if check => return Ok(None),
        Look::Tend | Look::Unanswered => {
            promise(ports, &run.tenant, TimerKey::run(run.key, now + pace::PROMISE_AGAIN), 0).await?;
            return Ok(None);
        }
    };
    let (own, link) = (TimerKey::run(run.key, due), TimerKey::occurrence(run.key.job, run.key.at));
    let links = run.key.is_occurrence().then_some([link, link.moved_to(due)]);
    // A timer that stands where there would be no SLA finds its end in time, or somewhat later.
    let later = match (Run { sla: None, ..run.clone() }).inspect_overdue(now, ports.me()) {
        Look::Later(due) => Some(TimerKey::run(run.key, due)),
        Look::Erase | Look::Claimable { .. } | Look::Tend | Look::Unanswered => None,
    };
    for key in [own].into_iter().chain(later).chain(links.into_iter().flatten()) {
        if now < pace::leave_line(key.minute()) && is_promised(ports, &key).await? {
            return Ok(None);
        }
    }
    if !check {
        promise(ports, &run.tenant, own, 0).await?;
    }
    Ok(Some(if is_overdue { Found::Overdue(due) } else { Found::WithoutTimer(due) }))
}

/// Looks after a run that is over: whoever settles it now may be at it still, and a while later nobody is. Asked twice, since what goes on
/// beside it looks like it for a moment. What has expired may be there for days, and what came of it may not.
async fn repair_end<D: Ports>(ports: &D, run: &Run, check: bool) -> Result<Option<Found>, Fault> {
    let now = ports.clock().now();
    if run.expires_at().is_some_and(|until| until <= now) {
        return Ok(None);
    }
    let Some(over) = run.finished_at().filter(|over| now.since(*over) > SETTLING) else { return Ok(None) };
    if let Some(other) = lacking_try(ports, run).await? {
        if !check {
            promise_task(ports, &run.tenant, TimerKey::run(other, now + pace::PROMISE_AGAIN), run.key).await?;
        }
        return Ok(Some(Found::Unsettled(over)));
    }
    if !check && now.since(over) < TELLING {
        let _whoever_asks_again_tells_it = tell(ports, run).await; // a digest whose timer is lost is promised again
    }
    if !is_unpaid(ports, run).await? || !is_unpaid(ports, run).await? {
        return Ok(None);
    }
    if !check {
        promise_look_at(ports, run, now + pace::PROMISE_AGAIN).await?;
    }
    Ok(Some(Found::Unsettled(over)))
}

/// The other try that a run says there is, where it is not there.
async fn lacking_try<D: Ports>(ports: &D, run: &Run) -> Result<Option<RunKey>, Fault> {
    let Some(other) = run.redriven_as() else { return Ok(None) };
    let is_there = ports.store().get::<Run>(&run.tenant, other).await?.is_some();
    Ok((!is_there).then_some(other))
}
