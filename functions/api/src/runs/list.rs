//! Lists of runs, newest first: of one job by its own history, of all jobs by the index.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::limits::PAGE;
use minutehand_domain::run::Run;
use minutehand_domain::{Moment, pace};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Across, RunsOf, RunsPage, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::job_of;
use minutehand_wire::{Instant, Page, RunStatus, RunView, RunsAcrossQuery, RunsQuery};

use crate::app_state::AppState;
use crate::cursor::{Scope, foreign};
use crate::keyring::Caller;
use crate::letters::OfLetters;
use crate::params::{JobPath, Params, limit_of};
use crate::problem::{Kind, Problem};
use crate::workflow_runs::OfWorkflows;

/// The default window of a history.
const WINDOW: Duration = Duration::from_secs(24 * 3600);
/// Runs that one filtered request reads at most; its page may then hold fewer runs than requested, and a cursor.
const LOOKED_THROUGH: usize = 10_000;
/// What is read of an index at once, at least.
const LEAST: usize = 50;
/// Hours that one request reads at most, since the index is by the hour: after three empty days the client continues with
/// the cursor.
const HOURS: usize = 72;

/// A job's runs.
pub(crate) async fn of_job<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    Params(params): Params<RunsQuery>,
) -> Result<Response, Problem> {
    page(&app, &caller, Some(id), params, None).await
}

/// The runs of all jobs, or of the one that the query names.
pub(crate) async fn across<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<RunsAcrossQuery>,
) -> Result<Response, Problem> {
    let RunsAcrossQuery { job_id, limit, cursor, status, from, to } = params;
    let job = match job_id {
        Some(text) => Some(text.parse().map_err(|_| Problem::field(Kind::Invalid, "?job_id", "is not a job's id"))?),
        None => None,
    };
    page(&app, &caller, job, RunsQuery { limit, cursor, status, from, to }, None).await
}

/// The query of one list.
pub(crate) struct Query<'a> {
    pub tenant: &'a Tenant,
    pub status: Option<RunStatus>,
    /// Of a workflow.
    pub version: Option<u32>,
    /// Runs of workflows alone.
    pub workflows: Option<&'a OfWorkflows>,
    /// Dead letters alone.
    pub letters: Option<&'a OfLetters>,
    pub limit: usize,
    pub now: Moment,
}

/// The position in a list: its window, which must not move from page to page, and the last run that was read.
#[derive(Clone)]
pub(crate) struct Position {
    pub window: Range<Moment>,
    pub before: Option<RunKey>,
}

/// A page of runs, and the position of the next page if there may be one.
pub(crate) struct Found {
    pub runs: Vec<Run>,
    pub next: Option<Position>,
}

/// `version`: of the workflow whose own job it is.
pub(crate) async fn page<D: Ports>(
    app: &AppState<D>,
    caller: &Caller,
    job: Option<JobId>,
    params: RunsQuery,
    version: Option<u32>,
) -> Result<Response, Problem> {
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let limit = limit_of(params.limit)?;
    let scope = scope_of(&params, caller.tenant(), job, version);
    let position = match &params.cursor {
        Some(cursor) => Position::open(&scope, cursor, job)?,
        None => Position { window: window_of(params.from, params.to, now)?, before: None },
    };
    let query =
        Query { tenant: caller.tenant(), status: params.status, version, workflows: None, letters: None, limit, now };
    let Found { runs, next } = match job {
        Some(id) => {
            job_of(ports, caller.tenant(), id).await?.ok_or_else(Problem::no_job)?;
            query.of_job(ports, id, position).await?
        }
        None => query.across(ports, position).await?.ok_or_else(no_index)?,
    };
    let next_cursor = next.map(|next| next.seal(&scope));
    let items = runs.iter().map(|run| RunView::listed(run, now)).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

pub(crate) fn no_index() -> Problem {
    let detail =
        "this deployment keeps no index of all runs (RunsIndex is off): name a job_id, or status=failed or timed_out";
    Problem::field(Kind::Invalid, "?job_id", detail)
}

impl Query<'_> {
    pub(crate) async fn of_job<D: Ports>(&self, ports: &D, job: JobId, position: Position) -> Result<Found, Fault> {
        let mut search = Search::new(self, position);
        while search.goes_on() {
            let Position { window, before } = search.position.clone();
            let at_once = search.at_once();
            let page = ports.store().list::<Run>(self.tenant, RunsOf { job, window }, before, at_once).await?;
            let read = RunsPage::from(page);
            self.learn(ports, &read.runs).await?;
            search.take(read, at_once, None);
        }
        Ok(search.found())
    }

    /// Hour by hour, from the newest back. None where there is no index.
    pub(crate) async fn across<D: Ports>(&self, ports: &D, position: Position) -> Result<Option<Found>, Fault> {
        let which = match self.letters {
            Some(_) => Across::NeedingAttention,
            None if self.status.is_some_and(RunStatus::needs_attention) => Across::Failed,
            None => Across::All,
        };
        let mut search = Search::new(self, position);
        let mut hours = 0;
        while search.goes_on() && hours < HOURS {
            let Position { window, before } = search.position.clone();
            let slice = match which {
                // This index is not split by the hour.
                Across::Failed | Across::NeedingAttention => window.clone(),
                Across::All => window.start.max(begin_of_hour(window.end.just_before()))..window.end,
            };
            let begins = slice.start;
            // An index may list more than letters, and what it lists may be gone, or be another release's.
            let at_once = search.at_once().max(LEAST);
            let read = ports.store().runs_across(self.tenant, which, slice, before, at_once).await?;
            let Some(read) = read else { return Ok(None) };
            self.learn(ports, &read.runs).await?;
            search.take(read, at_once, Some(begins));
            hours += 1;
        }
        Ok(Some(search.found()))
    }

    /// What must be known of these runs before it is asked which of them are wanted.
    async fn learn<D: Ports>(&self, ports: &D, read: &[Run]) -> Result<(), Fault> {
        if let Some(letters) = self.letters {
            letters.learn(ports, self.tenant, read).await?;
        }
        match self.workflows {
            Some(workflows) => workflows.learn(ports, self.tenant, read).await,
            None => Ok(()),
        }
    }

    fn wants(&self, run: &Run) -> bool {
        self.status.is_none_or(|status| status.is_of(run, self.now))
            && self.version.is_none_or(|version| run.graph.as_ref().is_some_and(|graph| graph.version == version))
            && self.workflows.is_none_or(|workflows| workflows.wants(run))
            && self.letters.is_none_or(|letters| letters.wants(run))
    }

    /// Whether much of what is read may be left out. Of what needs attention little is, unless more is asked of it.
    fn is_filtered(&self) -> bool {
        let asks_more = self.letters.is_some_and(|letters| !letters.wants_all());
        self.status.is_some() || self.version.is_some() || self.workflows.is_some() || asks_more
    }

    fn looks_through(&self) -> usize {
        if self.workflows.is_some() { OfWorkflows::LOOKED_THROUGH } else { LOOKED_THROUGH }
    }
}

fn begin_of_hour(t: Moment) -> Moment {
    let hour = 3_600_000;
    Moment::from_millis(t.millis() / hour * hour)
}

/// A page that is being collected.
struct Search<'a> {
    query: &'a Query<'a>,
    runs: Vec<Run>,
    looked: usize,
    position: Position,
    /// There are no more runs to read.
    at_the_end: bool,
    /// There is one run more than the page holds.
    full: bool,
}

impl<'a> Search<'a> {
    fn new(query: &'a Query<'a>, position: Position) -> Self {
        Self { query, runs: Vec::new(), looked: 0, position, at_the_end: false, full: false }
    }

    fn goes_on(&self) -> bool {
        !self.at_the_end && !self.full && self.looked < self.query.looks_through()
    }

    /// How many runs to read at once. Without a filter, one more than the page shows whether there is another page.
    fn at_once(&self) -> usize {
        if self.query.is_filtered() {
            return PAGE;
        }
        self.query.limit + 1 - self.runs.len()
    }

    /// Takes in what so many looks found of the slice that begins at `slice_from`, or of the whole window.
    fn take(&mut self, read: RunsPage, looks: usize, slice_from: Option<Moment>) {
        self.looked += if read.next.is_some() { looks } else { read.runs.len() };
        for run in read.runs {
            let key = run.key;
            if self.query.wants(&run) {
                if self.runs.len() == self.query.limit {
                    self.full = true;
                    return;
                }
                self.runs.push(run);
            }
            self.position.before = Some(key);
        }
        if read.next.is_some() {
            self.position.before = read.next;
        } else {
            let begin = slice_from.unwrap_or(self.position.window.start);
            self.position.window.end = begin;
            self.at_the_end = begin <= self.position.window.start;
        }
    }

    fn found(self) -> Found {
        let next = (!self.at_the_end).then_some(self.position);
        Found { runs: self.runs, next }
    }
}

fn scope_of(params: &RunsQuery, tenant: &Tenant, job: Option<JobId>, version: Option<u32>) -> Scope {
    let of_version = version.map(|version| format!(" {version}")).unwrap_or_default();
    Scope::new(tenant, &format!("runs of {job:?} {:?} {:?} {:?}{of_version}", params.status, params.from, params.to))
}

/// Until now, where nothing else is said; another machine's now may be a little later than ours.
pub(crate) fn window_of(from: Option<Instant>, to: Option<Instant>, now: Moment) -> Result<Range<Moment>, Problem> {
    window_between(from, to, WINDOW, "?from", now)
}

/// The same of a list that goes back so far; `pointer`: where it is said from when.
pub(crate) fn window_between(
    from: Option<Instant>,
    to: Option<Instant>,
    usual: Duration,
    pointer: &str,
    now: Moment,
) -> Result<Range<Moment>, Problem> {
    let to = to.map_or(now + pace::SKEW, |to| to.0);
    let from = from.map_or(to - usual, |from| from.0);
    if from >= to {
        return Err(Problem::field(Kind::Invalid, pointer, format!("must lie before {to}")));
    }
    Ok(from..to)
}

impl Position {
    const INSTANTS: usize = 16;
    const BYTES: usize = Self::INSTANTS + 1 + RunKey::BYTES;

    pub(crate) fn seal(&self, scope: &Scope) -> String {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.window.start.millis().to_be_bytes());
        bytes[8..16].copy_from_slice(&self.window.end.millis().to_be_bytes());
        if let Some(before) = self.before {
            bytes[Self::INSTANTS] = 1;
            bytes[Self::INSTANTS + 1..].copy_from_slice(&before.to_bytes());
        }
        scope.seal(&bytes)
    }

    pub(crate) fn open(scope: &Scope, cursor: &str, job: Option<JobId>) -> Result<Self, Problem> {
        let bytes: [u8; Self::BYTES] = scope.open(cursor)?;
        let instant = |at: usize| {
            let millis = i64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
            (0..=Moment::END.millis()).contains(&millis).then(|| Moment::from_millis(millis)).ok_or_else(foreign)
        };
        let before = if bytes[Self::INSTANTS] == 0 {
            None
        } else {
            let key = bytes[Self::INSTANTS + 1..].try_into().ok().and_then(RunKey::from_bytes);
            Some(key.filter(|key| job.is_none_or(|job| key.job == job)).ok_or_else(foreign)?)
        };
        Ok(Self { window: instant(0)?..instant(8)?, before })
    }
}
