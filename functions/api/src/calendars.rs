//! Calendars: when nothing fires of the jobs that heed them. Written by operators, changed for all jobs that heed them at once, or asked first
//! what that would touch.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::ETAG;
use http::{HeaderName, HeaderValue, StatusCode};
use minutehand_domain::audit::Deed;
use minutehand_domain::calendar::{Calendar, CalendarName, Goes, Shared};
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::CALENDARS;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::calendar::change::{Gone, Put, delete as let_go, put as let_stand};
use minutehand_protocol::calendar::touched::{Touch, Touched, touched};
use minutehand_protocol::job::heed::{NotHeeded, known, there};
use minutehand_wire::{
    CalendarChangeView, CalendarQuery, CalendarRequest, CalendarView, DeleteCalendarQuery, ImportRequest, Instant,
    Page, PassedOverView, TouchView, TouchesView,
};

use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::keyring::Caller;
use crate::params::{CalendarPath, Params};
use crate::precondition::IfMatch;
use crate::problem::{Kind, Problem};

/// All of the tenant's calendars, by name: there are few.
pub(crate) async fn list<D: Ports>(State(app): State<Arc<AppState<D>>>, caller: Caller) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let mut all = ports.store().list::<Shared>(caller.tenant(), (), None, CALENDARS + 1).await?.items;
    all.sort_by(|one, other| one.name.cmp(&other.name));
    let mut items = Vec::with_capacity(all.len());
    for shared in all.iter().filter(|shared| shared.is_there()) {
        items.push(CalendarView::of(shared, &*known(ports, shared).await?));
    }
    Ok(Json(Page { items, next_cursor: None }).into_response())
}

pub(crate) async fn show<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    CalendarPath(name): CalendarPath,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let shared = there(ports, caller.tenant(), &name).await?.ok_or_else(no_calendar)?;
    let view = CalendarView::of(&shared, &*known(ports, &shared).await?);
    Ok((etag(&shared), Json(view)).into_response())
}

/// Makes a calendar, or writes the whole of one anew.
pub(crate) async fn put<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    CalendarPath(name): CalendarPath,
    Params(query): Params<CalendarQuery>,
    precondition: IfMatch,
    body: Body,
) -> Result<Response, Problem> {
    let calendar = body.parse::<CalendarRequest>()?.checked()?;
    let change = Change { name: &name, calendar, passed_over: Vec::new(), dry_run: query.dry_run };
    change.make(&*app.ports, &caller, &acting, &precondition).await
}

/// Takes the all-day events of an iCalendar file among a calendar's dates.
pub(crate) async fn import<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    CalendarPath(name): CalendarPath,
    Params(query): Params<CalendarQuery>,
    precondition: IfMatch,
    body: Body,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let request: ImportRequest = body.parse()?;
    let present = match there(ports, caller.tenant(), &name).await? {
        Some(shared) => Some((known(ports, &shared).await?, shared)),
        None => None,
    };
    let (calendar, passed_over) = request.checked(present.as_ref().map(|(calendar, _)| calendar.rules()))?;
    let change = Change { name: &name, calendar, passed_over, dry_run: query.dry_run };
    // What was read beside it is what it is laid over.
    let seen = present.map(|(_, shared)| shared.generation);
    precondition.check_tag(&tag_of(seen), "calendar")?;
    if query.dry_run {
        return change.only_said(ports, caller.tenant(), seen).await;
    }
    change.make_as_seen(ports, &caller, &acting, seen).await
}

struct Change<'a> {
    name: &'a CalendarName,
    calendar: Calendar,
    passed_over: Vec<PassedOverView>,
    dry_run: bool,
}

impl Change<'_> {
    async fn make<D: Ports>(
        self,
        ports: &D,
        caller: &Caller,
        acting: &Acting,
        precondition: &IfMatch,
    ) -> Result<Response, Problem> {
        let seen = there(ports, caller.tenant(), self.name).await?.map(|shared| shared.generation);
        precondition.check_tag(&tag_of(seen), "calendar")?;
        if self.dry_run {
            return self.only_said(ports, caller.tenant(), seen).await;
        }
        self.make_as_seen(ports, caller, acting, seen.filter(|_| precondition.is_given())).await
    }

    /// With the tag of what is there, so that the change can be made of just that.
    async fn only_said<D: Ports>(self, ports: &D, tenant: &Tenant, seen: Option<u64>) -> Result<Response, Problem> {
        let touched = touched(ports, tenant, self.name, Some(self.calendar)).await?;
        let mut response = Json(only_said(&touched, self.passed_over)).into_response();
        if seen.is_some() {
            response.headers_mut().insert(ETAG, tag_value(seen));
        }
        Ok(response)
    }

    async fn make_as_seen<D: Ports>(
        self,
        ports: &D,
        caller: &Caller,
        acting: &Acting,
        seen: Option<u64>,
    ) -> Result<Response, Problem> {
        let tenant = caller.tenant();
        let writing = async {
            match let_stand(ports, tenant, self.name, self.calendar.rules(), seen).await? {
                Put::Done { shared, is_new, jobs } => Ok((shared, is_new, jobs)),
                Put::NotAsSeen => Err(not_as_seen()),
                Put::TooMany => Err(Problem::conflict(format!("a tenant has at most {CALENDARS} calendars"))),
            }
        };
        let (shared, is_new, jobs_changed) =
            acting.on_record(ports, tenant, Deed::SetCalendar, self.name.as_str(), writing).await?;
        // How far the walk has come by now.
        let shared = there(ports, tenant, self.name).await?.unwrap_or(shared);
        let view = CalendarChangeView {
            dry_run: false,
            calendar: Some(CalendarView::of(&shared, &self.calendar)),
            jobs_changed,
            touches: None,
            passed_over: self.passed_over,
        };
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        Ok((status, etag(&shared), Json(view)).into_response())
    }
}

/// Refused while jobs heed it, unless they are to go on without it.
pub(crate) async fn delete<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    CalendarPath(name): CalendarPath,
    Params(query): Params<DeleteCalendarQuery>,
    precondition: IfMatch,
) -> Result<Response, Problem> {
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let shared = there(ports, tenant, &name).await?.ok_or_else(no_calendar)?;
    precondition.check_tag(&tag_of(Some(shared.generation)), "calendar")?;
    if query.dry_run || !query.force {
        let touched = touched(ports, tenant, &name, None).await?;
        if query.dry_run {
            return Ok(Json(only_said(&touched, Vec::new())).into_response());
        }
        if touched.jobs > 0 {
            return Err(in_use(Some(&touched)));
        }
    }
    let goes = if query.force { Goes::InAnyCase } else { Goes::IfUnused };
    let seen = precondition.is_given().then_some(shared.generation);
    let deleting = async {
        match let_go(ports, tenant, &name, goes, seen).await? {
            Gone::Done { .. } => Ok(StatusCode::NO_CONTENT.into_response()),
            Gone::InUse => Err(in_use(None)),
            Gone::NotAsSeen => Err(not_as_seen()),
            Gone::NotFound => Err(no_calendar()),
        }
    };
    acting.on_record(ports, tenant, Deed::DeleteCalendar, name.as_str(), deleting).await
}

fn no_calendar() -> Problem {
    Problem::new(Kind::NotFound, "there is no such calendar")
}

fn not_as_seen() -> Problem {
    Problem::new(Kind::VersionMismatch, "the calendar was changed meanwhile; read it again and decide again")
}

fn in_use(touched: Option<&Touched>) -> Problem {
    let jobs = touched.map_or_else(
        || "jobs heed it".to_owned(),
        |touched| format!("{}{} heed it", touched.jobs, if touched.jobs == 1 { " job does" } else { " jobs" }),
    );
    let jobs = jobs.replace("job does heed it", "job heeds it");
    Problem::conflict(format!("{jobs}; with force=true they go on without it"))
}

fn tag_of(generation: Option<u64>) -> String {
    generation.map_or_else(|| "none".to_owned(), |generation| format!("\"{generation}\""))
}

fn etag(shared: &Shared) -> [(HeaderName, HeaderValue); 1] {
    [(ETAG, tag_value(Some(shared.generation)))]
}

fn tag_value(generation: Option<u64>) -> HeaderValue {
    HeaderValue::try_from(tag_of(generation)).expect("digits in quotes")
}

fn only_said(touched: &Touched, passed_over: Vec<PassedOverView>) -> CalendarChangeView {
    CalendarChangeView { dry_run: true, calendar: None, jobs_changed: 0, touches: Some(touches(touched)), passed_over }
}

fn touches(touched: &Touched) -> TouchesView {
    let touch = |touch: &Touch| TouchView {
        job_id: touch.job.to_string(),
        name: touch.name.clone(),
        at: Instant(touch.nominal),
        fires: touch.fires.map(Instant),
        would_fire: touch.would_fire.map(Instant),
    };
    TouchesView {
        jobs: touched.jobs,
        jobs_touched: touched.jobs_touched,
        skipped: touched.skipped,
        added: touched.added,
        moved: touched.moved,
        sample: touched.sample.iter().map(touch).collect(),
        complete: !touched.is_partial,
    }
}

/// A schedule that names calendars which are not there is refused where it names them; so is one that they leave nothing.
pub(crate) fn not_heeded(why: &NotHeeded) -> Problem {
    match why {
        NotHeeded::NoCalendar(number, name) => {
            let pointer = format!("/schedule/calendars/{number}");
            Problem::field(Kind::Invalid, pointer, format!("there is no calendar `{name}`"))
        }
        NotHeeded::NothingLeft(taken) => {
            let detail =
                format!("the calendars leave no instant at which this schedule fires: the first goes to {taken}");
            Problem::field(Kind::Invalid, "/schedule/calendars", detail)
        }
    }
}

/// The same of nobody's schedule, to be shown.
pub(crate) async fn heeded<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    schedule: minutehand_domain::schedule::Schedule,
) -> Result<minutehand_domain::schedule::Schedule, Problem> {
    let heeded: Result<_, Fault> = minutehand_protocol::job::heed::as_nobodys(ports, tenant, schedule).await;
    heeded?.map_err(|why| not_heeded(&why))
}
