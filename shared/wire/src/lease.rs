//! Leases of workers: what a worker asks for, what it is given, and what it says of it.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::body;
use minutehand_domain::limits::{
    CHECKPOINT_BYTES, DEFAULT_LEASE_SECONDS, DEFAULT_POLL_SECONDS, ERROR_CHARS, HANDLERS, LEASE_SECONDS,
    LEASES_AT_ONCE, LEAST_LEASE_SECONDS, LOG_LINE_BYTES, LOG_LINES, POLL_SECONDS, RESULT_BYTES, SLOTS, STAGE_CHARS,
    WORD_CHARS,
};
use minutehand_domain::pool::{HandlerName, PoolName, WorkerName};
use minutehand_domain::run::AttemptError;
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::run::logbook::{Entry, Progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::{BodyView, Json};
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::problem::{FieldError, Problem};
use crate::run_status::RunStatus;
use crate::texts::{HandlerText, JobIdText, LeaseIdText, Line, PoolText, RunIdText, TokenText, WorkerText};
use crate::whole_number::whole_number;
use crate::word::Word;

/// A worker asks for something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// Of which pool.
    #[schemars(with = "PoolText")]
    pub pool: String,
    /// Who asks: the same name is the same worker.
    #[schemars(with = "WorkerText")]
    pub worker_id: String,
    /// What it can do: all handlers, if none are given.
    #[schemars(with = "Option<Vec<HandlerText>>", length(min = 1, max = HANDLERS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handlers: Option<Vec<String>>,
    /// How many runs at most.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = LEASES_AT_ONCE), extend("default" = 1))]
    pub max: Option<u64>,
    /// How long to wait where there is nothing.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = POLL_SECONDS), extend("default" = DEFAULT_POLL_SECONDS))]
    pub wait_seconds: Option<u64>,
    /// For how long the worker has a run from each heartbeat on: send one at a third of it.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = LEAST_LEASE_SECONDS, max = LEASE_SECONDS), extend("default" = DEFAULT_LEASE_SECONDS))]
    pub lease_seconds: Option<u64>,
    /// How many runs the worker carries out at a time. It is shown, and decides nothing.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = SLOTS))]
    pub slots: Option<u64>,
    /// The worker takes no more and is about to go: it is told so, and given nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draining: bool,
}

/// What a request for something to do means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedLeaseRequest {
    pub pool: PoolName,
    pub worker: WorkerName,
    pub handlers: Option<BTreeSet<HandlerName>>,
    pub max: usize,
    pub wait: Duration,
    pub lease: Duration,
    pub slots: Option<u32>,
    pub draining: bool,
}

/// What there was to do: nothing, perhaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeasesView {
    pub leases: Vec<LeaseView>,
}

/// A run that is the worker's until its lease ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseView {
    #[schemars(with = "LeaseIdText")]
    pub lease_id: String,
    /// What to show with whatever is said of the run. Shown once.
    pub token: String,
    /// What to do.
    pub handler: String,
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// Grows with each claim: what the worker writes elsewhere can be guarded by it.
    pub fence: u32,
    /// The same for all attempts of the run.
    pub idempotency_key: String,
    /// The instant that the run was meant for.
    pub scheduled_at: Instant,
    /// The run of another job whose end brought this one about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RunIdText>")]
    pub follows: Option<String>,
    /// The span that this try is, as a header has it: what the worker does goes on below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What the systems that the run's creator is traced by noted, where they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    pub payload: BodyView,
    /// What the holder before kept, if there was one and it kept something.
    #[serde(default)]
    pub checkpoint: BodyView,
    pub lease_expires_at: Instant,
    /// When the attempt has taken as long as it may, whatever heartbeats say.
    pub deadline_at: Instant,
}

/// A sign of life, and what there is to say of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatRequest {
    #[schemars(with = "TokenText")]
    pub token: String,
    /// For how long the worker has the run from now on.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = LEAST_LEASE_SECONDS, max = LEASE_SECONDS), extend("default" = DEFAULT_LEASE_SECONDS))]
    pub lease_seconds: Option<u64>,
    /// How much is done, from 0 to 1. What is not said again stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub progress: Option<f64>,
    /// What is being done: a line.
    #[schemars(with = "Option<Line<STAGE_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// What the next holder is given: any JSON. The last one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = CHECKPOINT_BYTES))]
    pub checkpoint: Option<Json>,
    /// Lines of its log. What a line has more than 2,048 bytes is cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = LOG_LINES))]
    pub logs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeartbeatView {
    pub lease_expires_at: Instant,
    /// Somebody asked to cancel: stop, and say how it ended. The lease is not kept for longer any more.
    pub cancel_requested: bool,
}

/// It went well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    #[schemars(with = "TokenText")]
    pub token: String,
    /// What came of it: any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = RESULT_BYTES))]
    pub result: Option<Json>,
}

/// It did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailRequest {
    #[schemars(with = "TokenText")]
    pub token: String,
    pub error: WorkerError,
}

/// What went wrong, as a worker says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerError {
    /// A word to act on.
    #[schemars(with = "HandlerText")]
    pub code: String,
    /// A sentence to read. What is longer is cut.
    pub message: String,
    /// Whether another try may go better.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("default" = true))]
    pub retryable: bool,
}

/// Somebody else is to do it: the worker goes away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandBackRequest {
    #[schemars(with = "TokenText")]
    pub token: String,
}

/// How several runs went, each said as if alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompletionsRequest {
    #[schemars(length(min = 1, max = LEASES_AT_ONCE))]
    pub results: Vec<Completion>,
}

/// One of them: it went well, unless there is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    #[schemars(with = "LeaseIdText")]
    pub lease_id: String,
    #[schemars(with = "TokenText")]
    pub token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-max-bytes" = RESULT_BYTES))]
    pub result: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<WorkerError>,
}

/// What became of each, in the order of the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletionsView {
    pub results: Vec<CompletedView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletedView {
    #[schemars(with = "LeaseIdText")]
    pub lease_id: String,
    /// The run as it is now, where what was said was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<LeftRunView>,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// A run as its worker leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftRunView {
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    #[schemars(with = "RunStatus")]
    pub status: Word<RunStatus>,
    /// When it is tried again, where it is.
    pub due_at: Option<Instant>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field itself")]
fn is_yes(is: &bool) -> bool {
    *is
}

impl LeaseRequest {
    pub fn checked(&self) -> Result<CheckedLeaseRequest, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let pool = errors.name("/pool", &self.pool);
        let worker = errors.name("/worker_id", &self.worker_id);
        let handlers = self.handlers.as_ref().map(|names| handlers(names, &mut errors));
        let max = errors.in_range("/max", self.max.unwrap_or(1), 1..=LEASES_AT_ONCE as u64);
        let wait =
            errors.in_range("/wait_seconds", self.wait_seconds.unwrap_or(DEFAULT_POLL_SECONDS), 0..=POLL_SECONDS);
        let lease = lease(self.lease_seconds, &mut errors);
        let max = usize::try_from(max).unwrap_or(LEASES_AT_ONCE);
        let slots = self.slots.map(|slots| errors.in_range("/slots", slots, 1..=SLOTS));
        let slots = slots.and_then(|slots| u32::try_from(slots).ok());
        let checked = pool.zip(worker).map(|(pool, worker)| CheckedLeaseRequest {
            pool,
            worker,
            handlers,
            max,
            wait: Duration::from_secs(wait),
            lease,
            slots,
            draining: self.draining,
        });
        errors.settle(checked)
    }
}

fn handlers(names: &[String], errors: &mut FieldErrors) -> BTreeSet<HandlerName> {
    if names.is_empty() || names.len() > HANDLERS {
        errors.add("/handlers", format!("name from 1 to {HANDLERS}, or leave it out for all"));
        return BTreeSet::new();
    }
    let known = names.iter().enumerate().filter_map(|(at, text)| errors.name(format!("/handlers/{at}"), text));
    known.collect()
}

fn lease(seconds: Option<u64>, errors: &mut FieldErrors) -> Duration {
    let seconds = seconds.unwrap_or(DEFAULT_LEASE_SECONDS);
    Duration::from_secs(errors.in_range("/lease_seconds", seconds, LEAST_LEASE_SECONDS..=LEASE_SECONDS))
}

/// What a sign of life means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedHeartbeat {
    pub lease: Duration,
    pub entry: Entry,
}

impl HeartbeatRequest {
    pub fn checked(&self) -> Result<CheckedHeartbeat, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let lease = lease(self.lease_seconds, &mut errors);
        let progress = self.progress.map(Progress::of).transpose();
        let progress = progress.map_err(|why| errors.add("/progress", why.to_string())).ok().flatten();
        if let Some(stage) = &self.stage {
            errors.line("/stage", stage, STAGE_CHARS);
        }
        if self.logs.len() > LOG_LINES {
            errors.add("/logs", format!("has at most {LOG_LINES} lines"));
        }
        let checkpoint = self.checkpoint.as_ref().map(|json| body::Json::compact(json.raw()));
        if checkpoint.as_ref().is_some_and(|json| json.len() > CHECKPOINT_BYTES) {
            let detail = format!("a checkpoint has at most {CHECKPOINT_BYTES} bytes");
            let errors = vec![FieldError { pointer: "/checkpoint".to_owned(), detail }];
            return Err(RequestRefusal { errors, too_large: true });
        }
        let lines = self.logs.iter().map(|line| one_line(line)).collect();
        let entry = Entry { progress, stage: self.stage.clone(), checkpoint, lines };
        errors.settle(Some(CheckedHeartbeat { lease, entry }))
    }
}

/// As it stands in a log: nothing in it moves a terminal's cursor.
fn one_line(text: &str) -> String {
    let end = text.floor_char_boundary(LOG_LINE_BYTES);
    text[..end].trim_end_matches(['\r', '\n']).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// How one of several went, as it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedCompletion {
    /// As it was said.
    pub lease_id: String,
    /// None where it is the id of no lease that ever was.
    pub lease: Option<LeaseId>,
    pub token: String,
    pub outcome: Result<Option<body::Json>, AttemptError>,
}

impl CompletionsRequest {
    /// Its form is looked at as a whole; what becomes of each is said of each.
    pub fn checked(&self) -> Result<Vec<CheckedCompletion>, RequestRefusal> {
        let mut errors = FieldErrors::default();
        if self.results.is_empty() || self.results.len() > LEASES_AT_ONCE {
            errors.add("/results", format!("give from 1 to {LEASES_AT_ONCE}"));
            return errors.settle(None);
        }
        let (mut checked, mut too_large) = (Vec::new(), false);
        for (at, completion) in self.results.iter().enumerate() {
            match completion.checked() {
                Ok(completion) => checked.push(completion),
                Err(refusal) => {
                    too_large |= refusal.too_large;
                    let place =
                        |error: FieldError| FieldError { pointer: format!("/results/{at}{}", error.pointer), ..error };
                    errors.extend(refusal.errors.into_iter().map(place));
                }
            }
        }
        errors.settle(Some(checked)).map_err(|refusal| RequestRefusal { too_large, ..refusal })
    }
}

impl Completion {
    fn checked(&self) -> Result<CheckedCompletion, RequestRefusal> {
        let mut errors = FieldErrors::default();
        if !LeaseId::is_spelled(&self.lease_id) {
            errors.add("/lease_id", "this is not a lease id");
        }
        if self.token.is_empty() || self.token.chars().count() > TOKEN_CHARS {
            errors.add("/token", format!("must have from 1 to {TOKEN_CHARS} characters"));
        }
        if self.error.is_some() && self.result.is_some() {
            errors.add("/result", "there is an error: what failed has no result");
        }
        errors.settle(Some(()))?;
        let outcome = match &self.error {
            Some(error) => Err(error.checked()?),
            None => Ok(result_of(self.result.as_ref())?),
        };
        let (lease_id, lease) = (self.lease_id.clone(), self.lease_id.parse().ok());
        Ok(CheckedCompletion { lease_id, lease, token: self.token.clone(), outcome })
    }
}

/// A result as it is kept.
pub fn result_of(result: Option<&Json>) -> Result<Option<body::Json>, RequestRefusal> {
    let result = result.map(|json| body::Json::compact(json.raw()));
    match result {
        Some(result) if result.len() > RESULT_BYTES => {
            let detail = format!("a result has at most {RESULT_BYTES} bytes");
            let errors = vec![FieldError { pointer: "/result".to_owned(), detail }];
            Err(RequestRefusal { errors, too_large: true })
        }
        result => Ok(result),
    }
}

impl WorkerError {
    pub fn checked(&self) -> Result<AttemptError, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let code = errors.name("/error/code", &self.code);
        let message = self.message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ERROR_CHARS).collect();
        let retryable = self.retryable;
        let error =
            code.map(|code| AttemptError { code: String::from(code).into(), message, retryable, reached: true });
        errors.settle(error)
    }
}

/// The longest token that anybody shows.
pub(crate) const TOKEN_CHARS: usize = 64;
/// What a name may be, for the schema.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9._-]+$";
pub(crate) const NAME_MOST: usize = WORD_CHARS;

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(change: impl FnOnce(&mut LeaseRequest)) -> Result<CheckedLeaseRequest, RequestRefusal> {
        let mut request = LeaseRequest {
            pool: "web1".to_owned(),
            worker_id: "web1-a".to_owned(),
            handlers: None,
            max: None,
            wait_seconds: None,
            lease_seconds: None,
            slots: None,
            draining: false,
        };
        change(&mut request);
        request.checked()
    }

    #[test]
    fn what_is_not_said_is_one_run_for_a_minute_waited_for_five_seconds() {
        let checked = asked(|_| {}).unwrap();

        assert_eq!((checked.max, checked.wait.as_secs(), checked.lease.as_secs()), (1, 5, 60));
        assert_eq!(checked.handlers, None);
    }

    #[test]
    fn each_field_has_its_bounds() {
        let pointed_at = |change: fn(&mut LeaseRequest)| asked(change).unwrap_err().errors[0].pointer.clone();

        assert_eq!(pointed_at(|request| request.pool = "a b".to_owned()), "/pool");
        assert_eq!(pointed_at(|request| request.worker_id = String::new()), "/worker_id");
        assert_eq!(pointed_at(|request| request.handlers = Some(vec![])), "/handlers");
        assert_eq!(pointed_at(|request| request.handlers = Some(vec!["a".to_owned(), "ä".to_owned()])), "/handlers/1");
        assert_eq!(pointed_at(|request| request.max = Some(0)), "/max");
        assert_eq!(pointed_at(|request| request.max = Some(101)), "/max");
        assert_eq!(pointed_at(|request| request.wait_seconds = Some(21)), "/wait_seconds");
        assert_eq!(pointed_at(|request| request.lease_seconds = Some(2)), "/lease_seconds");
    }

    #[test]
    fn what_is_said_of_a_run_has_its_bounds() {
        let said = |change: fn(&mut HeartbeatRequest)| {
            let mut request = HeartbeatRequest { token: "mt_x".to_owned(), ..HeartbeatRequest::default() };
            change(&mut request);
            request.checked()
        };
        let pointed_at = |change| said(change).unwrap_err().errors[0].pointer.clone();

        assert_eq!(pointed_at(|request| request.progress = Some(1.01)), "/progress");
        assert_eq!(pointed_at(|request| request.stage = Some("x".repeat(129))), "/stage");
        assert_eq!(pointed_at(|request| request.stage = Some("a\nb".to_owned())), "/stage");
        assert_eq!(pointed_at(|request| request.logs = vec![String::new(); 101]), "/logs");
        assert!(said(|_| {}).unwrap().entry.is_empty());
        let lines = said(|request| request.logs = vec!["a\u{1b}[2Jb\r\n".to_owned(), "ä".repeat(2_000)]).unwrap();
        assert_eq!((lines.entry.lines[0].as_str(), lines.entry.lines[1].len()), ("a [2Jb", 2_048));
    }

    #[test]
    fn an_error_is_a_word_and_a_line() {
        let error = |code: &str| WorkerError { code: code.to_owned(), message: "a\nb".to_owned(), retryable: false };

        let checked = error("no_such_invoice").checked().unwrap();

        assert_eq!((&*checked.code, &*checked.message, checked.retryable), ("no_such_invoice", "a b", false));
        assert_eq!(error("no such").checked().unwrap_err().errors[0].pointer, "/error/code");
    }
}
