//! What people decide about one task: an approval is answered, a failure that is held gets its verdict. The same decision again is answered
//! as the first time; another one is told what stands.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use minutehand_domain::access::Role;
use minutehand_domain::audit::Deed;
use minutehand_domain::body;
use minutehand_domain::id::RunKey;
use minutehand_domain::limits::INLINE_RESULT_BYTES;
use minutehand_domain::run::{Judgement, Refusal, Run, TaskPlace, Word};
use minutehand_domain::workflow::key::TaskKey;
use minutehand_domain::workflow::plan::Node;
use minutehand_domain::workflow::progress::Progress;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::bodies::{self, BodyOf};
use minutehand_protocol::graph::judge::{Judged, judge};
use minutehand_protocol::graph::watch::{Watched, last_try};
use minutehand_wire::{BranchQuery, DecidedView, NoteRequest, SuccessRequest, TaskState};

use super::names::Names;
use super::page::{begun, found, no_task, planned};
use super::task::{deciders, judgement};
use crate::app_state::AppState;
use crate::audit::Acting;
use crate::auth::not_allowed;
use crate::body::Body;
use crate::keyring::Caller;
use crate::params::{Params, TaskPath};
use crate::problem::{Kind, Problem};

/// What every handler here is given.
type App<D> = State<Arc<AppState<D>>>;

macro_rules! handler {
    ($(#[$said:meta])* $name:ident, $word:ident, $request:ty) => {
        $(#[$said])*
        pub(crate) async fn $name<D: Ports>(
            app: App<D>,
            caller: Caller,
            acting: Acting,
            path: TaskPath,
            query: Params<BranchQuery>,
            body: Body,
        ) -> Result<Response, Problem> {
            let (note, result) = Asks::checked(body.parse_or_default::<$request>()?)?;
            let asked = Asked { caller, acting, path, branch: query.0.branch, word: Word::$word, note, result };
            decide(&app, asked).await
        }
    };
}

handler!(
    /// Answers an approval: it has succeeded.
    approve, Approve, SuccessRequest
);
handler!(
    /// Answers an approval: it has failed.
    reject, Reject, NoteRequest
);
handler!(
    /// Of a failure that is held: another try.
    retry, Retry, NoteRequest
);
handler!(
    /// Of a failure that is held: as if it had been skipped.
    skip, Skip, NoteRequest
);
handler!(
    /// Of a failure that is held: as if it had succeeded.
    succeed, Succeed, SuccessRequest
);
handler!(
    /// Of a failure that is held: it is one.
    fail, Fail, NoteRequest
);

/// A request of either kind.
trait Asks {
    fn checked(self) -> Result<(Option<String>, Option<body::Json>), Problem>;
}

impl Asks for NoteRequest {
    fn checked(self) -> Result<(Option<String>, Option<body::Json>), Problem> {
        Ok((Self::checked(self)?, None))
    }
}

impl Asks for SuccessRequest {
    fn checked(self) -> Result<(Option<String>, Option<body::Json>), Problem> {
        Ok(Self::checked(self)?)
    }
}

struct Asked {
    caller: Caller,
    acting: Acting,
    path: TaskPath,
    branch: Option<u16>,
    word: Word,
    note: Option<String>,
    result: Option<body::Json>,
}

/// The run that a decision is about, as it was read.
struct About<'a> {
    watched: &'a Watched,
    planned: &'a Node,
    place: TaskPlace,
    run: Run,
}

async fn decide<D: Ports>(app: &AppState<D>, asked: Asked) -> Result<Response, Problem> {
    let (ports, TaskPath(key, task)) = (&*app.ports, &asked.path);
    let whole = found(app, &asked.caller, *key).await?;
    let watched = begun(&whole, ports.clock().now())?;
    let about = about(ports, watched, task, asked.branch).await?;
    if asked.word.is_answer() {
        may_answer(&about, &asked)?;
    }
    if let Some(before) = as_it_stands(ports, &about, &asked).await? {
        return answer(ports, &about, &before, asked.word).await;
    }
    match done(ports, &about, &asked).await? {
        Judged::Done(run) => answer(ports, &about, &run, asked.word).await,
        Judged::Refused(why, run) => Box::pin(overtaken(app, &asked, About { run, ..about }, why)).await,
        Judged::NotYours => Err(not_allowed(Role::Admin)),
        Judged::NotFound => Err(no_task(task)),
    }
}

/// Somebody was faster, or the run went on meanwhile: what stands by now is looked at as if it had stood there before. It is about the try that
/// was to be decided about and about no later one, so that a retry which is sent twice is one.
async fn overtaken<D: Ports>(
    app: &AppState<D>,
    asked: &Asked,
    about: About<'_>,
    why: Refusal,
) -> Result<Response, Problem> {
    let ports = &*app.ports;
    let whole = found(app, &asked.caller, asked.path.0).await?;
    let about = About { watched: begun(&whole, ports.clock().now())?, ..about };
    match as_it_stands(ports, &about, asked).await? {
        Some(before) => answer(ports, &about, &before, asked.word).await,
        None => Err(Problem::conflict(why.to_string())),
    }
}

/// The run about which the same key made the same decision before; none where the decision can be made now. A different decision is told what stands,
/// and one without a meaning why it has none.
async fn as_it_stands<D: Ports>(ports: &D, about: &About<'_>, asked: &Asked) -> Result<Option<Run>, Problem> {
    if let Some(before) = done_before(ports, about, asked).await? {
        return Ok(Some(before));
    }
    let names = Names::of(ports, asked.caller.tenant(), deciders(&about.run)).await?;
    match refusal(about, asked.word, &names, ports.clock().now()) {
        Some(no) => Err(Problem::conflict(no)),
        None => Ok(None),
    }
}

async fn about<'a, D: Ports>(
    ports: &D,
    watched: &'a Watched,
    task: &TaskKey,
    branch: Option<u16>,
) -> Result<About<'a>, Problem> {
    let (node, planned) = planned(watched, task)?;
    let invalid = |detail: String| Problem::field(Kind::Invalid, "?branch", detail);
    let is_each = planned.task.for_each.is_some();
    let (run, place) = match (is_each, branch) {
        (false, Some(_)) => return Err(invalid(format!("`{task}` is no for_each: it has no branches"))),
        (true, None) => return Err(invalid(format!("`{task}` is a for_each: say which of its branches"))),
        (false, None) => {
            let place = TaskPlace::task(node);
            (last_try(ports, &watched.run, &watched.graph, place).await?, place)
        }
        (true, Some(branch)) => {
            let place = TaskPlace::branch(node, branch);
            match watched.each(node) {
                Some((_, graph)) if graph.each.is_some_and(|each| branch >= each.count) => {
                    return Err(Problem::new(Kind::NotFound, format!("`{task}` has no branch {branch}")));
                }
                Some((each, graph)) => (last_try(ports, each, graph, place).await?, place),
                None => (None, place),
            }
        }
    };
    let run = run.ok_or_else(|| Problem::conflict(unborn(watched, node, task, branch, ports.clock().now())))?;
    Ok(About { watched, planned, place, run })
}

fn unborn(watched: &Watched, node: u16, task: &TaskKey, branch: Option<u16>, now: minutehand_domain::Moment) -> String {
    match branch {
        Some(branch) => format!("branch {branch} of `{task}` has not begun"),
        None => format!("`{task}` is {}: it has not begun", watched.progress(node, now).as_str()),
    }
}

/// Who may answer says the approval, and not the route.
fn may_answer(about: &About<'_>, asked: &Asked) -> Result<(), Problem> {
    match about.planned.approval() {
        Some(approval) if !approval.may(asked.caller.role) => {
            Err(approval.roles.first().map_or_else(Problem::no_run, |least| not_allowed(*least)))
        }
        Some(_) | None => Ok(()),
    }
}

/// What the result is called, whether it stands anywhere or not.
fn named(result: Option<&body::Json>) -> body::Body {
    result.map_or(body::Body::Empty, |json| body::Body::split(json.clone(), INLINE_RESULT_BYTES).0)
}

/// The run that this very decision was made about before, by the same.
async fn done_before<D: Ports>(ports: &D, about: &About<'_>, asked: &Asked) -> Result<Option<Run>, Fault> {
    let result = named(asked.result.as_ref());
    let is_same = |there: &Judgement| {
        there.word == asked.word && there.by == asked.caller.by && there.note == asked.note && there.result == result
    };
    let stands = |run: &Run| standing(run, asked.word).filter(|there| is_same(there)).map(|_| run.clone());
    if let Some(run) = stands(&about.run) {
        return Ok(Some(run));
    }
    // The try that a retry asked for is under way: the one before it has the verdict.
    let turn = TaskPlace::of(about.run.key).map_or(1, |place| place.turn);
    if asked.word != Word::Retry || turn < 2 || about.run.is_finished() {
        return Ok(None);
    }
    let before = RunKey { discriminator: TaskPlace { turn: turn - 1, ..about.place }.discriminator(), ..about.run.key };
    let seen = ports.store().get::<Run>(&about.run.tenant, before).await?;
    Ok(seen.and_then(|seen| stands(&seen.item)))
}

/// What was decided before: the answer to an approval, or the verdict on its failure, for an approval that was rejected may be held.
fn standing(run: &Run, word: Word) -> Option<&Judgement> {
    let task = run.task.as_ref()?;
    if word.is_answer() { task.answer.as_ref() } else { task.verdict.as_ref() }
}

/// Why a decision means nothing to what it is about, in words.
fn refusal(about: &About<'_>, word: Word, names: &Names, now: minutehand_domain::Moment) -> Option<String> {
    let (key, run) = (&about.planned.task.key, &about.run);
    let what = match about.place.branch {
        Some(branch) => format!("branch {branch} of `{key}`"),
        None => format!("`{key}`"),
    };
    if let Some(there) = standing(run, word) {
        let by = names.said(there.by.as_str());
        let done = if there.word == Word::Approve { "approved" } else { "rejected" };
        return Some(if there.word.is_answer() {
            format!("{what} was {done} by {by} at {}", there.at)
        } else {
            format!("{what} was given the verdict `{}` by {by} at {}", there.word.as_str(), there.at)
        });
    }
    let progress = progress(about, now);
    let state = progress.as_str();
    match (word.is_answer(), about.planned.approval().is_some(), progress) {
        (true, false, _) => Some(format!("{what} asks nobody: only an approval is approved or rejected")),
        (true, true, Progress::Waiting) | (false, _, Progress::Held) => None,
        (true, true, Progress::Queued | Progress::Scheduled) => Some(format!("{what} is {state}: nobody is asked yet")),
        (true, true, _) => Some(format!("{what} is {state}: nobody is asked any more")),
        (false, _, Progress::Failed | Progress::TimedOut) => Some(format!(
            "{what} is {state}, and is not held: a verdict is asked for where `on_failure` is `hold`, while the run goes on"
        )),
        (false, ..) => Some(format!("{what} is {state}: only a failure that is held takes a verdict")),
    }
}

fn progress(about: &About<'_>, now: minutehand_domain::Moment) -> Progress {
    match about.watched.each(about.place.node) {
        Some((each, _)) => about.watched.progress_of_branch(each, &about.run, about.place, now),
        None => about.watched.progress_of(&about.run, about.place, now),
    }
}

/// A large result is written apart before the decision that names it, and for one that will be refused it is not.
async fn done<D: Ports>(ports: &D, about: &About<'_>, asked: &Asked) -> Result<Judged, Problem> {
    let (by, note) = (asked.caller.by.clone(), asked.note.clone());
    let of = BodyOf::run(&about.run, ports.clock().now());
    let result = bodies::keep_of(ports, of, asked.result.clone(), INLINE_RESULT_BYTES).await?;
    let decision = Judgement { word: asked.word, by, at: ports.clock().now(), note, result };
    let (tenant, role) = (asked.caller.tenant(), asked.caller.role);
    let judging = async { Ok(judge(ports, tenant, about.run.key, &decision, role).await?) };
    let is_done = |judged: &Judged| matches!(judged, Judged::Done(_));
    let subject = match about.place.branch {
        Some(branch) => format!("{}/tasks/{}/{branch}", about.watched.run.key, about.planned.task.key),
        None => format!("{}/tasks/{}", about.watched.run.key, about.planned.task.key),
    };
    asked.acting.on_record_as(ports, tenant, (deed(asked.word), &subject), judging, is_done).await
}

pub(super) const fn deed(word: Word) -> Deed {
    match word {
        Word::Approve => Deed::ApproveTask,
        Word::Reject => Deed::RejectTask,
        Word::Retry => Deed::RetryTask,
        Word::Skip => Deed::SkipTask,
        Word::Succeed => Deed::SucceedTask,
        Word::Fail => Deed::FailTask,
    }
}

async fn answer<D: Ports>(ports: &D, about: &About<'_>, run: &Run, word: Word) -> Result<Response, Problem> {
    let names = Names::of(ports, &run.tenant, deciders(run)).await?;
    let Some(there) = standing(run, word) else {
        return Err(Problem::from(Fault::unreadable("store", "a decision is not there")));
    };
    let state = match about.watched.each(about.place.node) {
        Some((each, _)) => about.watched.progress_of_branch(each, run, about.place, ports.clock().now()),
        None => about.watched.progress_of(run, about.place, ports.clock().now()),
    };
    let view = DecidedView {
        workflow_run_id: about.watched.run.key.to_string(),
        key: about.planned.task.key.to_string(),
        branch: about.place.branch,
        run_id: run.key.to_string(),
        state: TaskState::of(state),
        decision: judgement(there, &names),
    };
    Ok(Json(view).into_response())
}
