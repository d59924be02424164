//! Finding: which jobs, runs or instants an operation acts on next. Those count that match when they are looked at, and none that came about after it
//! was asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::{Job, Status};
use minutehand_domain::limits::{OPERATION_DRY_LOOKS, OPERATION_LOOKS, OPERATION_SAMPLE};
use minutehand_domain::operation::{
    Found, JobAct, JobFilter, Operation, OperationId, Position, RunAct, RunFilter, Subject, Work,
};
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Across, RunsOf, RunsPage, Store as _};
use minutehand_io::{Fault, Ports};

use crate::lookup::{if_readable, job_of, knowing};

/// Hours of the index that one step goes back through, where they are empty.
const HOURS: usize = 72;
const HOUR: i64 = 3_600_000;
/// Jobs asked about at once.
const AT_ONCE: usize = 32;

/// What an operation would act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dry {
    pub count: usize,
    /// There are more than were looked at.
    pub more: bool,
    pub sample: Vec<Subject>,
}

/// Whether the runs of all jobs can be looked through at all: else a job is to be named.
pub async fn can_be_found<D: Ports>(ports: &D, tenant: &Tenant, work: &Work) -> Result<bool, Fault> {
    match work {
        Work::Runs { act, filter } if filter.job.is_none() => {
            let window = filter.window.start..filter.window.start;
            Ok(ports.store().runs_across(tenant, which(*act, filter), window, None, 1).await?.is_some())
        }
        Work::Jobs { .. } | Work::Runs { .. } | Work::Backfill(_) | Work::Erase(_) => Ok(true),
    }
}

/// Looks through what an operation would be about, and does nothing.
pub async fn dry<D: Ports>(ports: &D, tenant: &Tenant, work: Work) -> Result<Dry, Fault> {
    let now = ports.clock().now();
    let mut would = Operation::new(tenant.clone(), OperationId::from_bytes([0; 16]), work, By::overlap(), now);
    let mut dry = Dry { count: 0, more: true, sample: Vec::new() };
    for _ in 0..OPERATION_DRY_LOOKS / OPERATION_LOOKS {
        let Some(found) = find(ports, &would, OPERATION_LOOKS).await? else { break };
        dry.count += found.subjects.len();
        let room = OPERATION_SAMPLE - dry.sample.len();
        dry.sample.extend(found.subjects.into_iter().take(room));
        would.position = found.position;
        if would.position == Position::End {
            dry.more = false;
            break;
        }
    }
    Ok(dry)
}

/// The next ones, `most` at most. None where the list that they are found in is kept no more.
pub(super) async fn find<D: Ports>(ports: &D, operation: &Operation, most: usize) -> Result<Option<Found>, Fault> {
    match (&operation.work, operation.position) {
        (_, position) if most == 0 => Ok(Some(Found { subjects: Vec::new(), position })),
        (Work::Jobs { act, filter }, Position::Jobs { past }) => {
            jobs(ports, operation, (*act, filter), past, most).await.map(Some)
        }
        (Work::Runs { act, filter }, Position::Runs { end, before }) => {
            let search = Search { ports, operation, act: *act, filter, most };
            search.runs(end, before).await
        }
        (Work::Backfill(backfill), Position::Instants { past }) => {
            let (instants, is_last) = backfill.next(past, most);
            let past = instants.last().copied().unwrap_or(past);
            let position = if is_last { Position::End } else { Position::Instants { past } };
            Ok(Some(Found { subjects: instants.into_iter().map(Subject::Occurrence).collect(), position }))
        }
        _ => Ok(Some(Found { subjects: Vec::new(), position: Position::End })),
    }
}

async fn jobs<D: Ports>(
    ports: &D,
    operation: &Operation,
    (act, filter): (JobAct, &JobFilter),
    past: Option<JobId>,
    most: usize,
) -> Result<Found, Fault> {
    let now = ports.clock().now();
    let heads = ports.store().list::<Head>(&operation.tenant, (), past, OPERATION_LOOKS).await?.items;
    let (is_last, mut subjects, mut past) = (heads.len() < OPERATION_LOOKS, Vec::new(), past);
    for head in heads {
        if subjects.len() == most {
            return Ok(Found { subjects, position: Position::Jobs { past } });
        }
        past = Some(head.id());
        let Some(job) = head.into_job().filter(|job| is_meant(act, job) && operation.is_older(job.created_at)) else {
            continue;
        };
        // As in the list of jobs: one whose calendars nobody can read is left out.
        let job = if_readable(knowing(ports, job).await.map(Some))?;
        subjects.extend(job.filter(|job| filter.admits(job, now)).map(|job| Subject::Job(job.id, job.generation)));
    }
    let position = if is_last { Position::End } else { Position::Jobs { past } };
    Ok(Found { subjects, position })
}

/// Whether the act would change it. A workflow's own job is deleted as its workflow is.
fn is_meant(act: JobAct, job: &Job) -> bool {
    match act {
        JobAct::Pause => job.status == Status::Active,
        JobAct::Resume => job.status == Status::Paused,
        JobAct::Cancel => job.status != Status::Cancelled && job.workflow().is_none(),
    }
}

/// Which list they stand in.
fn which(act: RunAct, filter: &RunFilter) -> Across {
    match &filter.status {
        _ if act.is_of_letters(filter) => Across::NeedingAttention,
        Some(status) if has_failed(status) => Across::Failed,
        Some(_) | None => Across::All,
    }
}

fn has_failed(status: &str) -> bool {
    matches!(status, "failed" | "timed_out")
}

struct Search<'a, D> {
    ports: &'a D,
    operation: &'a Operation,
    act: RunAct,
    filter: &'a RunFilter,
    most: usize,
}

impl<D: Ports> Search<'_, D> {
    /// From the newest back. What is left out takes as many looks as what is not.
    async fn runs(&self, mut end: Moment, mut before: Option<RunKey>) -> Result<Option<Found>, Fault> {
        let start = self.filter.window.start;
        let mut subjects = Vec::new();
        for _ in 0..HOURS {
            let window = self.slice(start, end);
            let begins = window.start;
            let Some(read) = self.read(window, before).await? else { return Ok(None) };
            let wanted = self.wanted(&read.runs).await?;
            for run in read.runs {
                if subjects.len() == self.most {
                    return Ok(Some(Found { subjects, position: Position::Runs { end, before } }));
                }
                before = Some(run.key);
                if wanted.contains(&run.key) {
                    subjects.push(Subject::Run(run.key));
                }
            }
            if read.next.is_some() {
                before = read.next;
                return Ok(Some(Found { subjects, position: Position::Runs { end, before } }));
            }
            end = begins;
            if end <= start {
                return Ok(Some(Found { subjects, position: Position::End }));
            }
        }
        Ok(Some(Found { subjects, position: Position::Runs { end, before } }))
    }

    /// The index of all runs is by the hour.
    fn slice(&self, start: Moment, end: Moment) -> Range<Moment> {
        let by_the_hour = self.filter.job.is_none() && which(self.act, self.filter) == Across::All;
        let hour = Moment::from_millis(end.just_before().millis() / HOUR * HOUR);
        if by_the_hour { start.max(hour)..end } else { start..end }
    }

    async fn read(&self, window: Range<Moment>, before: Option<RunKey>) -> Result<Option<RunsPage>, Fault> {
        let (store, tenant) = (self.ports.store(), &self.operation.tenant);
        match self.filter.job {
            Some(job) => {
                let within = RunsOf { job, window };
                Ok(Some(store.list::<Run>(tenant, within, before, OPERATION_LOOKS).await?.into()))
            }
            None => store.runs_across(tenant, which(self.act, self.filter), window, before, OPERATION_LOOKS).await,
        }
    }

    /// Which of them are meant. Each job is asked once, and many side by side: a dry run looks at thousands of runs in one request.
    async fn wanted(&self, read: &[Run]) -> Result<BTreeSet<RunKey>, Fault> {
        let fitting: BTreeSet<RunKey> = read.iter().filter(|run| self.fits(run)).map(|run| run.key).collect();
        if !self.filter.asks_the_job() {
            return Ok(fitting);
        }
        let jobs: BTreeSet<JobId> = fitting.iter().map(|key| key.job).collect();
        let asking = jobs.into_iter().map(async |id| Ok((id, self.is_of_such_a_job(id).await?)));
        let of_such: BTreeMap<_, _> = stream::iter(asking).buffered(AT_ONCE).try_collect().await?;
        Ok(fitting.into_iter().filter(|key| of_such[&key.job]).collect())
    }

    fn fits(&self, run: &Run) -> bool {
        let status = run.status(self.ports.clock().now());
        let is_meant = match &self.filter.status {
            Some(wanted) => wanted == status,
            None => self.act.can_be_done_to(status),
        };
        is_meant
            && (!self.act.is_of_letters(self.filter) || run.is_dead_letter())
            && !self.operation.has_made(run)
            && self.filter.admits(run)
            && self.operation.is_older(run.could_begin_at())
    }

    /// Of a job that nobody can read nobody can say that it is meant.
    async fn is_of_such_a_job(&self, id: JobId) -> Result<bool, Fault> {
        let job = if_readable(job_of(self.ports, &self.operation.tenant, id).await)?;
        Ok(job.is_some_and(|job| self.filter.admits_job(&job)))
    }
}
