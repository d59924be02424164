//! The newest runs of a job: one bounded query, from which its last run is shown and its health.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::health::Health;
use minutehand_domain::job::Job;
use minutehand_domain::limits::HEALTH_RUNS;
use minutehand_domain::run::Run;
use minutehand_io::store::{Discard, RunsOf, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::{Lying, lying_at, on_record_since_for};
use minutehand_wire::{Expand, JobHealthView, JobView, ListedJobView, RunView};

/// Queries of one page of jobs that are under way at a time: with their hundred runs each they are half a megabyte.
const AT_ONCE: usize = 8;

/// Runs whose time has come, newest first: without occurrences that were cancelled before they were due.
pub(crate) struct Newest {
    pub(super) runs: Vec<Run>,
    /// How many lie among them that nobody can read.
    corrupt: usize,
    /// Nothing lies among them that a later release wrote, and that may say anything.
    is_whole: bool,
}

impl Newest {
    /// As many as a job's health is made of.
    pub(crate) async fn for_health<D: Ports>(ports: &D, job: &Job, now: Moment) -> Result<Self, Fault> {
        Self::read(ports, job, HEALTH_RUNS, now).await
    }

    async fn read<D: Ports>(ports: &D, job: &Job, most: usize, now: Moment) -> Result<Self, Fault> {
        let until_now = RunsOf { job: job.id, window: Moment::EPOCH..now.just_after() };
        let page = ports.store().list::<Run>(&job.tenant, until_now, None, most).await?;
        let corrupt = page.unreadable.iter().filter(|left| Discard::Corrupt.admits(&left.why)).count();
        Ok(Self { runs: page.items, corrupt, is_whole: page.unreadable.len() == corrupt })
    }

    pub(super) async fn health<D: Ports>(&self, ports: &D, job: &Job, now: Moment) -> Result<JobHealthView, Fault> {
        Ok(JobHealthView::of(&self.judged(ports, job, now).await?))
    }

    /// What cannot be read may be the record of an occurrence that seems to be overdue: what lies there is asked. And its record may have
    /// expired.
    pub(crate) async fn judged<D: Ports>(&self, ports: &D, job: &Job, now: Moment) -> Result<Health, Fault> {
        let (mut unread, mut on_record) = (Vec::new(), None);
        loop {
            let health = Health::of(job, &self.runs, &unread, on_record.unwrap_or(Moment::EPOCH), now);
            match health.overdue_since {
                Some(_) if !self.is_whole => return Ok(Health { overdue_since: None, ..health }),
                Some(t) if on_record.is_none() => on_record = Some(on_record_since_for(ports, job, t).await?),
                Some(t) if unread.len() < self.corrupt && matches!(lying_at(ports, job, t).await?, Lying::Corrupt) => {
                    unread.push(t);
                }
                Some(_) | None => return Ok(health),
            }
        }
    }
}

/// The jobs of a page with what was asked for beside them: a query for each job.
pub(super) async fn expanded<D: Ports>(
    ports: &D,
    jobs: Vec<Job>,
    expand: Option<Expand>,
    now: Moment,
) -> Result<Vec<ListedJobView>, Fault> {
    let listed = jobs.into_iter().map(|job| listed(ports, job, expand, now));
    stream::iter(listed).buffered(AT_ONCE).try_collect().await
}

async fn listed<D: Ports>(ports: &D, job: Job, expand: Option<Expand>, now: Moment) -> Result<ListedJobView, Fault> {
    let newest = match expand {
        Some(Expand::LastRun) => Some(Newest::read(ports, &job, 1, now).await?),
        Some(Expand::Health) => Some(Newest::for_health(ports, &job, now).await?),
        None => None,
    };
    let last_run = newest.as_ref().and_then(|newest| newest.runs.first()).map(|run| RunView::listed(run, now));
    let view = match newest.filter(|_| expand == Some(Expand::Health)) {
        Some(newest) => JobView::listed(&job, now).with_health(newest.health(ports, &job, now).await?),
        None => JobView::listed(&job, now),
    };
    Ok(ListedJobView { job: view, last_run })
}
