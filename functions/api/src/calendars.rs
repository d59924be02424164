//! Calendars: when nothing fires of the jobs that heed them. Written by operators, changed for all jobs that heed them at once, or asked first
//! what that would touch.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::ETAG;
use http::{HeaderName, HeaderValue, StatusCode};
use minutehand_domain::audit::Deed;
use minutehand_domain::calendar::{AsSeen, Calendar, CalendarName, Goes, Shared, Writing};
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

/// How often a file is laid over a calendar that others change at the same time.
const IMPORT_TRIES: u32 = 8;

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
    let (ports, tenant) = (&*app.ports, caller.tenant());
    let request: ImportRequest = body.parse()?;
    let laid = Laid::over_what_is_there(ports, tenant, &name, &request, &precondition).await?;
    if query.dry_run {
        return laid.change.only_said(ports, tenant, laid.seen).await;
    }
    let importing = laid.written(ports, tenant, &request, &precondition);
    let (change, made) = acting.on_record(ports, tenant, Deed::SetCalendar, name.as_str(), importing).await?;
    change.shown(ports, tenant, made).await
}

/// A file's dates, laid over the calendar as it was read.
struct Laid<'a> {
    change: Change<'a>,
    /// The writing that they were laid over; none where there was no calendar.
    seen: Option<Writing>,
}

impl<'a> Laid<'a> {
    async fn over_what_is_there<D: Ports>(
        ports: &D,
        tenant: &Tenant,
        name: &'a CalendarName,
        request: &ImportRequest,
        precondition: &IfMatch,
    ) -> Result<Self, Problem> {
        let present = match there(ports, tenant, name).await? {
            Some(shared) => Some((known(ports, &shared).await?, shared)),
            None => None,
        };
        let (calendar, passed_over) = request.checked(present.as_ref().map(|(calendar, _)| calendar.rules()))?;
        let seen = present.map(|(_, shared)| shared.writing());
        precondition.check_tag(&tag_of(seen), "calendar")?;
        Ok(Self { change: Change { name, calendar, passed_over, dry_run: false }, seen })
    }

    /// Where another was faster it is laid over what he wrote, so that of two files the dates of both stand; unless it was to be laid over
    /// one version and no other.
    async fn written<D: Ports>(
        self,
        ports: &D,
        tenant: &Tenant,
        request: &ImportRequest,
        precondition: &IfMatch,
    ) -> Result<(Change<'a>, Made), Problem> {
        let (mut laid, mut tries) = (self, 1);
        loop {
            match laid.change.let_stand(ports, tenant, AsSeen::just(laid.seen)).await? {
                Some(made) => return Ok((laid.change, made)),
                None if precondition.is_given() || tries >= IMPORT_TRIES => return Err(not_as_seen()),
                None => tries += 1,
            }
            laid = Self::over_what_is_there(ports, tenant, laid.change.name, request, precondition).await?;
        }
    }
}

/// What came of a change that was written.
struct Made {
    shared: Shared,
    is_new: bool,
    jobs: u64,
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
        let seen = there(ports, caller.tenant(), self.name).await?.map(|shared| shared.writing());
        precondition.check_tag(&tag_of(seen), "calendar")?;
        if self.dry_run {
            return self.only_said(ports, caller.tenant(), seen).await;
        }
        let as_seen = seen.filter(|_| precondition.is_given()).map_or(AsSeen::Any, AsSeen::As);
        let writing = async { self.let_stand(ports, caller.tenant(), as_seen).await?.ok_or_else(not_as_seen) };
        let made = acting.on_record(ports, caller.tenant(), Deed::SetCalendar, self.name.as_str(), writing).await?;
        self.shown(ports, caller.tenant(), made).await
    }

    /// With the tag of what is there, so that the change can be made of just that.
    async fn only_said<D: Ports>(self, ports: &D, tenant: &Tenant, seen: Option<Writing>) -> Result<Response, Problem> {
        let touched = touched(ports, tenant, self.name, Some(self.calendar)).await?;
        let mut response = Json(only_said(&touched, self.passed_over)).into_response();
        if seen.is_some() {
            response.headers_mut().insert(ETAG, tag_value(seen));
        }
        Ok(response)
    }

    /// None where the calendar is not as it was seen.
    async fn let_stand<D: Ports>(&self, ports: &D, tenant: &Tenant, seen: AsSeen) -> Result<Option<Made>, Problem> {
        match let_stand(ports, tenant, self.name, self.calendar.rules(), seen).await? {
            Put::Done { shared, is_new, jobs } => Ok(Some(Made { shared, is_new, jobs })),
            Put::NotAsSeen => Ok(None),
            Put::TooMany => Err(Problem::conflict(format!("a tenant has at most {CALENDARS} calendars"))),
        }
    }

    async fn shown<D: Ports>(self, ports: &D, tenant: &Tenant, made: Made) -> Result<Response, Problem> {
        let Made { shared, is_new, jobs: jobs_changed } = made;
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
    precondition.check_tag(&tag_of(Some(shared.writing())), "calendar")?;
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
    let seen = precondition.is_given().then_some(shared.writing());
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

fn tag_of(writing: Option<Writing>) -> String {
    writing.map_or_else(|| "none".to_owned(), |writing| format!("\"{writing}\""))
}

fn etag(shared: &Shared) -> [(HeaderName, HeaderValue); 1] {
    [(ETAG, tag_value(Some(shared.writing())))]
}

fn tag_value(writing: Option<Writing>) -> HeaderValue {
    HeaderValue::try_from(tag_of(writing)).expect("digits and a dash in quotes")
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
