//! What is done to dead letters: they are tried again, or dismissed; one by its id, or up to a hundred in one request, each answered on
//! its own.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use futures_util::StreamExt as _;
use futures_util::stream::iter;
use http::StatusCode;
use minutehand_domain::audit::Deed;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::limits::LETTERS_AT_ONCE;
use minutehand_domain::run::{Edit, NotALetter, Run, Said};
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _, Layer};
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::run::letter::{
    Dismissed, Redriven, dismiss as dismiss_letter, given, redrive as redrive_letter,
};
use minutehand_wire::letter::{Which, secrets_of};
use minutehand_wire::{
    DismissManyRequest, LetterDoneView, LettersDoneView, NoteRequest, RedriveManyRequest, RedriveRequest, RunView,
};

use super::Asked;
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::body::Body;
use crate::idempotency::replayed;
use crate::identify::RequestId;
use crate::keyring::Caller;
use crate::params::RunPath;
use crate::problem::{Kind, Problem};
use crate::runs::{queued, whole};
use crate::secrets::{Naming, must_be_there};

/// Letters of one request that something is done to side by side.
const AT_ONCE: usize = 16;

/// What was done to a letter.
struct Done {
    /// The other try, or the letter itself where it is dismissed.
    run: Run,
    status: StatusCode,
}

/// What is done to one letter after the other.
struct Doing<'a, D> {
    app: &'a AppState<D>,
    caller: &'a Caller,
    acting: Acting,
    note: Option<String>,
    /// The request, to point into.
    text: &'a str,
}

impl<D: Ports> Doing<'_, D> {
    fn said(&self) -> Said<'_> {
        Said { by: Some(&self.caller.by), note: self.note.as_deref() }
    }

    /// Another try at it; that of whoever asked before, if somebody did.
    async fn redrive(&self, key: RunKey, edit: &Edit) -> Result<Done, Problem> {
        let (ports, tenant) = (&*self.app.ports, self.caller.tenant());
        if let Some(run) = self.letter(key).await? {
            self.secrets_are_there(&run, edit).await?;
            self.app.meters.admit_run(ports, tenant).await?;
        }
        let redriving = async {
            match redrive_letter(ports, tenant, key, edit, self.said()).await? {
                Redriven::Queued(run) => Ok(Done { run, status: StatusCode::ACCEPTED }),
                Redriven::Already(run) => Ok(Done { run, status: StatusCode::OK }),
                Redriven::Refused(NotALetter::Dismissed) => Err(Problem::conflict(
                    "it was dismissed; POST /v1/runs/{run_id}/retry tries again what is no dead letter",
                )),
                Redriven::Otherwise(other) => Err(Problem::conflict(format!(
                    "it was tried again as {other}, which was given something else; POST /v1/runs/{{run_id}}/retry makes another try"
                ))),
                Redriven::Refused(why) => Err(Problem::conflict(why.to_string())),
                Redriven::NotEdited(why) => Err(Problem::field(Kind::Invalid, "/patch", why.to_string())),
                Redriven::Job(why) => Err(Problem::conflict(why.to_string())),
                Redriven::NotFound => Err(Problem::no_run()),
            }
        };
        self.acting.on_record(ports, tenant, Deed::RedriveLetter, &key.to_string(), redriving).await
    }

    /// The run, where it is a letter: what was done before is answered also when the quota is used up and the secrets are gone.
    async fn letter(&self, key: RunKey) -> Result<Option<Run>, Fault> {
        let seen = self.app.ports.store().get::<Run>(self.caller.tenant(), key).await?;
        Ok(seen.map(|seen| seen.item).filter(Run::is_dead_letter))
    }

    async fn secrets_are_there(&self, run: &Run, edit: &Edit) -> Result<(), Problem> {
        let ports = &*self.app.ports;
        let former = match edit {
            Edit::AsItWas => return Ok(()),
            Edit::Payload(_) => None,
            Edit::Patch(_) => match job_of(ports, &run.tenant, run.key.job).await? {
                Some(job) => given(ports, &job, run).await?,
                None => return Ok(()),
            },
        };
        // What does not fit is refused by whoever does it.
        let Ok(json) = edit.applied(former.as_ref()) else { return Ok(()) };
        let naming = Naming { text: self.text, otherwise: "/patch" };
        must_be_there(ports, &run.tenant, &secrets_of(json.as_ref()), naming).await
    }

    async fn dismiss(&self, key: RunKey) -> Result<Done, Problem> {
        let (ports, tenant) = (&*self.app.ports, self.caller.tenant());
        let dismissing = async {
            match dismiss_letter(ports, tenant, key, self.said()).await? {
                Dismissed::Done(run) | Dismissed::Already(run) => Ok(Done { run, status: StatusCode::OK }),
                Dismissed::Refused(why) => Err(Problem::conflict(why.to_string())),
                Dismissed::NotFound => Err(Problem::no_run()),
            }
        };
        self.acting.on_record(ports, tenant, Deed::DismissLetter, &key.to_string(), dismissing).await
    }
}

/// Tries a dead letter again.
pub(crate) async fn redrive<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let (edit, note) = body.parse_or_default::<RedriveRequest>()?.checked()?;
    let acting = acting.noting(note.as_deref());
    let Done { run, status } =
        Doing { app: &app, caller: &caller, acting, note, text: body.text() }.redrive(key, &edit).await?;
    match status {
        StatusCode::ACCEPTED => queued(&*app.ports, run).await,
        _before => Ok((replayed(), whole(&*app.ports, run).await?).into_response()),
    }
}

/// Leaves a dead letter at that.
pub(crate) async fn dismiss<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    RunPath(key): RunPath,
    body: Body,
) -> Result<Response, Problem> {
    let note = body.parse_or_default::<NoteRequest>()?.checked()?;
    let acting = acting.noting(note.as_deref());
    let Done { run, .. } = Doing { app: &app, caller: &caller, acting, note, text: body.text() }.dismiss(key).await?;
    let now = app.ports.clock().now();
    // Its job may be gone, and a letter be dismissed all the same.
    Ok(Json(RunView::listed(&run, now)).into_response())
}

pub(crate) async fn redrive_many<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    Extension(RequestId(request_id)): Extension<RequestId>,
    body: Body,
) -> Result<Response, Problem> {
    let (which, edit, note) = body.parse::<RedriveManyRequest>()?.checked()?;
    let acting = acting.noting(note.as_deref());
    let doing = Doing { app: &app, caller: &caller, acting, note, text: body.text() };
    let (letters, next_cursor) = named(&doing, which).await?;
    let done = iter(letters).map(async |(id, key)| {
        let done = match key {
            Some(key) => doing.redrive(key, &edit).await,
            None => Err(Problem::no_run()),
        };
        (id, done)
    });
    let done: Vec<(String, Result<Done, Problem>)> = done.buffered(AT_ONCE).collect().await;
    for _again in done.iter().filter(|(_, done)| matches!(done, Ok(Done { status: StatusCode::OK, .. }))) {
        app.ports.events().emit(&Event::Prevented { by: Layer::IdempotencyKey });
    }
    let results = told(&app, caller.tenant(), done, &request_id);
    Ok(Json(LettersDoneView { results, next_cursor }).into_response())
}

pub(crate) async fn dismiss_many<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    acting: Acting,
    Extension(RequestId(request_id)): Extension<RequestId>,
    body: Body,
) -> Result<Response, Problem> {
    let (which, note) = body.parse::<DismissManyRequest>()?.checked()?;
    let acting = acting.noting(note.as_deref());
    let doing = Doing { app: &app, caller: &caller, acting, note, text: body.text() };
    let (letters, next_cursor) = named(&doing, which).await?;
    let done = iter(letters).map(async |(id, key)| {
        let done = match key {
            Some(key) => doing.dismiss(key).await,
            None => Err(Problem::no_run()),
        };
        (id, done)
    });
    let results = told(&app, caller.tenant(), done.buffered(AT_ONCE).collect().await, &request_id);
    Ok(Json(LettersDoneView { results, next_cursor }).into_response())
}

type Named = (String, Option<RunKey>);

/// The letters that a request is about, and what leads on.
async fn named<D: Ports>(doing: &Doing<'_, D>, which: Which) -> Result<(Vec<Named>, Option<String>), Problem> {
    let (filter, cursor) = match which {
        Which::Named(ids) => return Ok((ids, None)),
        Which::Found(filter, cursor) => (filter, cursor),
    };
    let (ports, now) = (&*doing.app.ports, doing.app.ports.clock().now());
    let asked = Asked::of(doing.caller.tenant(), &filter, cursor.as_deref(), "/filter/", now)?;
    let found = asked.page(ports, asked.position.clone(), LETTERS_AT_ONCE).await?;
    let letters = found.runs.iter().map(|run| (run.key.to_string(), Some(run.key))).collect();
    Ok((letters, found.next.map(|next| next.seal(&asked.scope))))
}

fn told<D: Ports>(
    app: &AppState<D>,
    tenant: &Tenant,
    done: Vec<(String, Result<Done, Problem>)>,
    request_id: &str,
) -> Vec<LetterDoneView> {
    let now = app.ports.clock().now();
    let told = |(run_id, done): (String, Result<Done, Problem>)| match done {
        Ok(Done { run, status }) => {
            let run = Some(RunView::listed(&run, now));
            LetterDoneView { run_id, status: status.as_u16(), run, problem: None }
        }
        Err(problem) => {
            let status = problem.kind.status().as_u16();
            let problem = Some(app.problem_within(tenant, &problem, request_id));
            LetterDoneView { run_id, status, run: None, problem }
        }
    };
    done.into_iter().map(told).collect()
}
