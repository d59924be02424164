//! The parts of an address: ids in the path, parameters in the query.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, Path, Query, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;
use http::request::Parts;
use minutehand_domain::access::KeyId;
use minutehand_domain::calendar::{CalendarName, NotACalendarName};
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::limits::PAGE;
use minutehand_domain::notification::{NotARuleName, RuleName};
use minutehand_domain::operation::OperationId;
use minutehand_domain::run::effect::{EffectName, NotAnEffectName};
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::secret::{NotASecretName, SecretName};
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::key::TaskKey;
use minutehand_wire::page::DEFAULT_LIMIT;
use minutehand_wire::suggestion;
use serde::de::DeserializeOwned;

use crate::problem::{FieldError, Kind, Problem};

/// The job that the path names. A text that is no job's id names none.
pub(crate) struct JobPath(pub JobId);

/// The workflow named by the path.
pub(crate) struct WorkflowPath(pub WorkflowId);

/// The workflow and the number of one of its versions.
pub(crate) struct VersionPath(pub WorkflowId, pub u32);

/// The operation named by the path.
pub(crate) struct OperationPath(pub OperationId);

/// The run named by the path.
pub(crate) struct RunPath(pub RunKey);

/// The run of a workflow and the task of it that the path names.
pub(crate) struct TaskPath(pub RunKey, pub TaskKey);

/// The run and the effect of it that the path names.
pub(crate) struct EffectPath(pub RunKey, pub EffectName);

/// The lease that the path names.
pub(crate) struct LeasePath(pub LeaseId);

/// The key named by the path.
pub(crate) struct KeyPath(pub KeyId);

/// The calendar named by the path.
pub(crate) struct CalendarPath(pub CalendarName);

/// The secret named by the path.
pub(crate) struct SecretPath(pub SecretName);

/// The rule of notifications named by the path.
pub(crate) struct NotificationPath(pub RuleName);

/// The tenant named by the path.
pub(crate) struct TenantPath(pub Tenant);

/// The query, parsed into a type.
pub(crate) struct Params<T>(pub T);

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        named(parts, state).await.map(Self).ok_or_else(Problem::no_job)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WorkflowPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        named(parts, state).await.map(Self).ok_or_else(Problem::no_workflow)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for VersionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let texts = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((id, version)) = texts.map_err(|_| Problem::no_workflow())?;
        let id = id.parse().map_err(|_| Problem::no_workflow())?;
        let no_version = |_| Problem::new(Kind::NotFound, "versions are numbered from 1");
        Ok(Self(id, version.parse().map_err(no_version)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for OperationPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        named(parts, state).await.map(Self).ok_or_else(Problem::no_operation)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        named(parts, state).await.map(Self).ok_or_else(Problem::no_run)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TaskPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let no_task = || Problem::new(Kind::NotFound, "there is no such task of a workflow's run");
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((run, task)) = path.map_err(|_not_two| no_task())?;
        match (run.parse(), task.parse()) {
            (Ok(run), Ok(task)) => Ok(Self(run, task)),
            _ => Err(no_task()),
        }
    }
}

/// A text that is no effect's key is said to be none: whoever claims one gives it its key.
impl<S: Send + Sync> FromRequestParts<S> for EffectPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((run, name)) = path.map_err(|_not_two| Problem::no_run())?;
        let run = run.parse().map_err(|_no_id| Problem::no_run())?;
        let no_name = |why: NotAnEffectName| Problem::new(Kind::NotFound, why.to_string());
        let name: EffectName = name.parse().map_err(no_name)?;
        if !name.fits_in_a_path() {
            let detail = "no path can name an effect whose key has `/`, `\\`, `?` or `%`: say it as `key` to …/effects";
            return Err(Problem::new(Kind::Invalid, detail));
        }
        Ok(Self(run, name))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for LeasePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        named(parts, state).await.map(Self).ok_or_else(Problem::no_lease)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let no_key = || Problem::new(Kind::NotFound, "there is no such key");
        named(parts, state).await.map(Self).ok_or_else(no_key)
    }
}

/// A text that is no calendar's name names none, and nobody can write one of that name.
impl<S: Send + Sync> FromRequestParts<S> for CalendarPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // A file is taken in by POST.
        let writes = [Method::PUT, Method::POST];
        let name = named::<S, CalendarName>(parts, state).await;
        name.map(Self).ok_or_else(|| no_name(parts, &writes, &NotACalendarName))
    }
}

/// As with calendars.
impl<S: Send + Sync> FromRequestParts<S> for SecretPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = named::<S, SecretName>(parts, state).await;
        name.map(Self).ok_or_else(|| no_name(parts, &[Method::PUT], &NotASecretName))
    }
}

/// As with calendars.
impl<S: Send + Sync> FromRequestParts<S> for NotificationPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = named::<S, RuleName>(parts, state).await;
        name.map(Self).ok_or_else(|| no_name(parts, &[Method::PUT], &NotARuleName))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TenantPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let name = named::<S, String>(parts, state).await;
        let no_tenant = || Problem::new(Kind::NotFound, "a tenant has from 1 to 64 of a-z, 0-9 and -");
        name.and_then(|name| Tenant::new(&name).ok()).map(Self).ok_or_else(no_tenant)
    }
}

/// Who reads or deletes finds nothing there; who writes is told that the name cannot be one.
fn no_name(parts: &Parts, writes: &[Method], why: &impl Display) -> Problem {
    let kind = if writes.contains(&parts.method) { Kind::Invalid } else { Kind::NotFound };
    Problem::new(kind, why.to_string())
}

async fn named<S: Send + Sync, T: FromStr>(parts: &mut Parts, state: &S) -> Option<T> {
    let Path(text) = Path::<String>::from_request_parts(parts, state).await.ok()?;
    text.parse().ok()
}

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(refused) => Err(explain(&refused.body_text())),
        }
    }
}

/// Refuses parameters where a route takes none: a `dry_run` that is ignored must not look obeyed.
pub(crate) async fn without_parameters(request: Request, next: Next) -> Result<Response, Problem> {
    let given = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let Query(given) = given.map_err(|refused| explain(&refused.body_text()))?;
    match given.first() {
        None => Ok(next.run(request).await),
        Some((name, _)) => {
            let pointer = format!("?{name}").chars().take(suggestion::DETAIL_CHARS).collect();
            let detail = "there is no such parameter: this request takes none".to_owned();
            Err(Problem::invalid(vec![FieldError { pointer, detail }]))
        }
    }
}

/// Axum's text is `Failed to deserialize query string: limit: invalid digit found in string`. Of a parameter that is missing, or there twice,
/// it says no place, and its name in the sentence.
fn explain(text: &str) -> Problem {
    let text = text.split_once(": ").map_or(text, |(_, rest)| rest);
    let (place, said) = match text.split_once(": ") {
        Some((name, said)) if !name.contains(' ') => (Some(name), said),
        _no_place => (None, text),
    };
    let (pointer, detail) = match (counted(said), place) {
        (Some((name, detail)), _) => (format!("?{name}"), detail.to_owned()),
        (None, Some(name)) => suggestion::with_suggestion(format!("?{name}"), in_words(said)),
        (None, None) => (String::new(), text.to_owned()),
    };
    let short = |text: &str| text.chars().take(suggestion::DETAIL_CHARS).collect();
    Problem::invalid(vec![FieldError { pointer: short(&pointer), detail: short(&detail) }])
}

/// The parameter that is there too seldom or too often, and which of the two it is.
fn counted(text: &str) -> Option<(&str, &'static str)> {
    let named = |before: &str| text.strip_prefix(before)?.strip_suffix('`');
    let missing = named("missing field `").map(|name| (name, "is required"));
    missing.or_else(|| named("duplicate field `").map(|name| (name, "is there twice")))
}

/// What the standard library says of a text that is none of its values, as a person says it.
fn in_words(detail: &str) -> &str {
    match detail {
        "invalid digit found in string" | "cannot parse integer from empty string" => "must be a whole number",
        "number too large to fit in target type" => "is larger than any that is allowed",
        "number too small to fit in target type" => "is smaller than any that is allowed",
        "provided string was not `true` or `false`" => "must be true or false",
        other => other,
    }
}

/// The size of a page.
pub(crate) fn limit_of(requested: Option<usize>) -> Result<usize, Problem> {
    bounded("?limit", requested.unwrap_or(DEFAULT_LIMIT), PAGE)
}

fn bounded(pointer: &'static str, value: usize, most: usize) -> Result<usize, Problem> {
    if (1..=most).contains(&value) {
        return Ok(value);
    }
    Err(Problem::field(Kind::Invalid, pointer, format!("must be from 1 to {most}")))
}
