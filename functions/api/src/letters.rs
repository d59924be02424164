//! Dead letters: runs that failed or timed out for good, until somebody tries them again or dismisses them. Listed, grouped by what they
//! died of; what is done to them is in [`acts`].

mod acts;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::letters::Groups;
use minutehand_domain::limits::{LETTERS_GROUPED, LETTERS_SECONDS};
use minutehand_domain::run::Run;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::job_of;
use minutehand_wire::letter::Letters;
use minutehand_wire::{GroupsQuery, GroupsView, Instant, LetterFilter, LettersQuery, Page, RunView};

pub(crate) use self::acts::{dismiss, dismiss_many, redrive, redrive_many};
use crate::app_state::AppState;
use crate::cursor::Scope;
use crate::keyring::Caller;
use crate::params::{Params, limit_of};
use crate::problem::Problem;
use crate::runs::list::{Found, Position, Query, window_between};

/// Jobs that are read side by side, to know their tags.
const AT_ONCE: usize = 32;

/// Which dead letters are wanted, and what is known of their jobs' tags.
pub(crate) struct OfLetters {
    wanted: Letters,
    bears_the_tag: Mutex<BTreeMap<JobId, bool>>,
}

impl OfLetters {
    fn new(wanted: Letters) -> Self {
        Self { wanted, bears_the_tag: Mutex::default() }
    }

    pub(crate) async fn learn<D: Ports>(&self, ports: &D, tenant: &Tenant, read: &[Run]) -> Result<(), Fault> {
        let Some(tag) = &self.wanted.tag else { return Ok(()) };
        let unknown: Vec<JobId> = {
            let known = self.bears_the_tag.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = read.iter().filter(|run| self.wanted.admits(run)).map(|run| run.key.job);
            wanted.filter(|job| !known.contains_key(job)).collect()
        };
        let learn = unknown.into_iter().map(|id| async move {
            let job = job_of(ports, tenant, id).await?;
            Ok::<_, Fault>((id, job.is_some_and(|job| job.definition.tags.contains(tag))))
        });
        let learned: Vec<_> = stream::iter(learn).buffer_unordered(AT_ONCE).try_collect().await?;
        self.bears_the_tag.lock().unwrap_or_else(PoisonError::into_inner).extend(learned);
        Ok(())
    }

    pub(crate) fn wants(&self, run: &Run) -> bool {
        let bears_it = || {
            let known = self.bears_the_tag.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&run.key.job).copied().unwrap_or_default()
        };
        self.wanted.admits(run) && (self.wanted.tag.is_none() || bears_it())
    }

    pub(crate) fn wants_all(&self) -> bool {
        self.wanted.wants_all()
    }
}

/// A list of dead letters, as somebody asks for it.
struct Asked<'a> {
    tenant: &'a Tenant,
    scope: Scope,
    only: OfLetters,
    position: Position,
    now: Moment,
}

impl<'a> Asked<'a> {
    /// `before`: what stands before the names of the filter's fields in the request.
    fn of(
        tenant: &'a Tenant,
        filter: &LetterFilter,
        cursor: Option<&str>,
        before: &str,
        now: Moment,
    ) -> Result<Self, Problem> {
        let wanted = filter.checked(before)?;
        let window = window_of(filter.from, filter.to, before, now)?;
        let scope = Scope::new(tenant, &format!("dead letters {filter:?}"));
        let position = match cursor {
            Some(cursor) => Position::open(&scope, cursor, None)?,
            None => Position { window, before: None },
        };
        Ok(Self { tenant, scope, only: OfLetters::new(wanted), position, now })
    }

    async fn page<D: Ports>(&self, ports: &D, position: Position, limit: usize) -> Result<Found, Fault> {
        let (tenant, letters, now) = (self.tenant, Some(&self.only), self.now);
        let query = Query { tenant, status: None, version: None, workflows: None, letters, limit, now };
        // Every store lists what needs attention.
        Ok(query.across(ports, position).await?.unwrap_or(Found { runs: Vec::new(), next: None }))
    }
}

/// Thirty days until now, where nothing else is said.
fn window_of(from: Option<Instant>, to: Option<Instant>, before: &str, now: Moment) -> Result<Range<Moment>, Problem> {
    window_between(from, to, Duration::from_secs(LETTERS_SECONDS), &format!("{before}from"), now)
}

/// Dead letters, newest first.
pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<LettersQuery>,
) -> Result<Response, Problem> {
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let limit = limit_of(params.limit)?;
    let asked = Asked::of(caller.tenant(), &params.filter(), params.cursor.as_deref(), "?", now)?;
    let Found { runs, next } = asked.page(ports, asked.position.clone(), limit).await?;
    let next_cursor = next.map(|next| next.seal(&asked.scope));
    let items = runs.iter().map(|run| RunView::listed(run, now)).collect();
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// Dead letters by what they died of, the newest few thousand.
pub(crate) async fn groups<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<GroupsQuery>,
) -> Result<Response, Problem> {
    let (ports, now) = (&*app.ports, app.ports.clock().now());
    let limit = limit_of(params.limit)?;
    let asked = Asked::of(caller.tenant(), &params.filter(), None, "?", now)?;
    let Found { runs, next } = asked.page(ports, asked.position.clone(), LETTERS_GROUPED).await?;
    let mut groups = Groups::default();
    for run in &runs {
        groups.add(run);
    }
    // All letters of the last one's instant may not have been read: that instant is read again.
    let read_back_to = next.map(|next| next.before.map_or(next.window.end, |before| before.at.just_after()));
    Ok(Json(GroupsView::of(groups.largest_first(), limit, read_back_to)).into_response())
}
