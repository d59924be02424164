//! The forecast: what fires next across a tenant's jobs, by their schedules. No run is read.

use std::ops::Range;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::Moment;
use minutehand_domain::forecast::{Fire, Forecast, Place};
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::limits::PAGE;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::jobs_of;
use minutehand_wire::{FiresQuery, FiresView, JobFireView};

use crate::app_state::AppState;
use crate::cursor::{Scope, foreign};
use crate::jobs::LOOKED_THROUGH;
use crate::keyring::Caller;
use crate::params::{Params, limit_of};
use crate::problem::Problem;

pub(crate) async fn list<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    Params(params): Params<FiresQuery>,
) -> Result<Response, Problem> {
    let (limit, of_a_job) = (limit_of(params.limit)?, params.of_a_job()?);
    let scope = Scope::new(caller.tenant(), &format!("fires {:?} {:?} {of_a_job}", params.from, params.to));
    let (window, past) = match &params.cursor {
        Some(cursor) => Position::open(&scope, cursor).map(|position| (position.window, Some(position.past)))?,
        None => (params.window(app.ports.clock().now())?, None),
    };
    let mut forecast = Forecast::new(window.clone(), past, of_a_job, limit);
    let complete = look_through(&*app.ports, caller.tenant(), &mut forecast).await?;
    let (fires, more) = forecast.page();
    let last = fires.last().filter(|_| more).map(Fire::place);
    let next_cursor = last.map(|past| Position { window, past }.seal(&scope));
    let items = fires.iter().map(JobFireView::of).collect();
    Ok(Json(FiresView { items, next_cursor, complete }).into_response())
}

/// Takes in so many jobs as a filtered list reads, a page of them at a time. Whether these are all.
async fn look_through<D: Ports>(ports: &D, tenant: &Tenant, forecast: &mut Forecast) -> Result<bool, Fault> {
    let mut past = None;
    for _ in 0..LOOKED_THROUGH / PAGE {
        let jobs = jobs_of(ports, tenant, past, PAGE).await?;
        past = jobs.last().map(|job| job.id);
        let are_the_last = jobs.len() < PAGE;
        for job in jobs {
            forecast.take_in(job);
        }
        if are_the_last {
            return Ok(true);
        }
    }
    Ok(jobs_of(ports, tenant, past, 1).await?.is_empty())
}

/// The position in a forecast: its window, which must not move from page to page, and the last fire that was shown.
struct Position {
    window: Range<Moment>,
    past: Place,
}

impl Position {
    const INSTANT: usize = 8;
    const JOB: usize = 3 * Self::INSTANT;
    const BYTES: usize = Self::JOB + 16;

    fn seal(&self, scope: &Scope) -> String {
        let (at, job) = self.past;
        let instants = [self.window.start, self.window.end, at].map(|instant| instant.millis().to_be_bytes());
        scope.seal(&[instants.concat().as_slice(), job.as_bytes()].concat())
    }

    fn open(scope: &Scope, cursor: &str) -> Result<Self, Problem> {
        let bytes: [u8; Self::BYTES] = scope.open(cursor)?;
        let instant = |number: usize| {
            let (instants, _) = bytes.as_chunks::<{ Self::INSTANT }>();
            let millis = i64::from_be_bytes(instants[number]);
            (0..=Moment::END.millis()).contains(&millis).then(|| Moment::from_millis(millis)).ok_or_else(foreign)
        };
        let job = bytes[Self::JOB..].try_into().expect("sixteen bytes");
        Ok(Self { window: instant(0)?..instant(1)?, past: (instant(2)?, JobId::from_bytes(job)) })
    }
}
