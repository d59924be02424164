//! The reply of a service. What AWS says of a call that it did not take may name accounts, roles and resources: a tenant is told its kind
//! alone, the operator's log has the whole.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use hyper::body::Incoming;
use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::run::{AttemptError, ErrorCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::targets::Answer;
use crate::targets::http::{AnswerBody, broken, retry_after};

/// The characters of a kind that are shown: AWS has none that is longer.
const KIND_CHARS: usize = 80;

#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: AnswerBody,
}

impl Reply {
    pub(crate) async fn of(response: Response<Incoming>) -> Result<Self, AttemptError> {
        let (head, body) = response.into_parts();
        let body = AnswerBody::of(body).await.map_err(|error| broken(&error))?;
        Ok(Self { status: head.status, headers: head.headers, body })
    }

    pub(crate) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    pub(crate) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn text(&self) -> String {
        self.body.text()
    }

    /// The body as a run's result: JSON, whatever its type says.
    pub(super) fn result(&self) -> Option<Json> {
        let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        self.body.result(&json.into_iter().collect())
    }

    pub(super) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(self.body.bytes()).ok()
    }

    pub(super) fn value(&self) -> Value {
        self.read().unwrap_or_default()
    }

    /// A text in a body of JSON.
    pub(super) fn field(&self, pointer: &str) -> Option<String> {
        self.value().pointer(pointer)?.as_str().map(str::to_owned)
    }

    /// A text in a body of XML, whose elements have neither attributes nor others of their name within them.
    pub(super) fn element(&self, name: &str) -> Option<String> {
        let text = self.text();
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(text, _)| text.to_owned())
    }

    /// What went wrong, in a word of AWS's: a header, a field or an element, and in each perhaps behind the name of a schema, or before a
    /// URL.
    pub(super) fn kind(&self) -> String {
        let named = self.header("x-amzn-errortype").map(str::to_owned);
        let named = named.or_else(|| self.field("/__type")).or_else(|| self.element("Code")).unwrap_or_default();
        let behind = named.rsplit('#').next().unwrap_or_default();
        let word = behind.split(':').next().unwrap_or_default();
        word.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_')).take(KIND_CHARS).collect()
    }

    pub(super) fn is_of_old_credentials(&self) -> bool {
        is_of_old_credentials(&self.kind())
    }

    /// A success with this to say of it.
    pub(super) fn told(result: &Value) -> Answer {
        Answer::Succeeded { result: Some(Json::of(result)) }
    }

    /// Of a call that the service did not take.
    pub(super) fn failed(&self, now: Moment) -> Answer {
        let (kind, status) = (self.kind(), self.status());
        let message =
            if kind.is_empty() { format!("AWS answered {status}") } else { format!("AWS answered {status}: {kind}") };
        let error = class_of(status, &kind).error(&message);
        let retry_after = if error.retryable { self.retry_after(now) } else { None };
        Answer::Failed { error, retry_after }
    }

    fn retry_after(&self, now: Moment) -> Option<Duration> {
        retry_after(&self.headers, now)
    }
}

/// Kinds of errors that pass, whatever their status: AWS says most of them with 400.
const PASSING: [&str; 9] = [
    "Throttl",
    "TooManyRequests",
    "RequestLimitExceeded",
    "ExecutionLimitExceeded",
    "OverLimit",
    "SlowDown",
    "NotReady",
    "ResourceConflict",
    "RequestTimeout",
];

/// What kind of failure a status and a kind of AWS's are.
pub(super) fn class_of(status: u16, kind: &str) -> ErrorCode {
    match status {
        _ if is_of_old_credentials(kind) => ErrorCode::Unavailable,
        _ if PASSING.iter().any(|passing| kind.contains(passing)) => ErrorCode::ServiceBusy,
        408 | 429 => ErrorCode::ServiceBusy,
        413 => ErrorCode::TooLarge,
        500.. => ErrorCode::ServiceFailed,
        _ if kind.starts_with("Internal") || kind == "ServiceUnavailable" => ErrorCode::ServiceFailed,
        _ => ErrorCode::ServiceRefused,
    }
}

fn is_of_old_credentials(kind: &str) -> bool {
    kind.starts_with("ExpiredToken") || kind == "RequestExpired"
}

/// Without the names of things in AWS and the numbers of accounts: what a callee says of itself may have them.
pub(super) fn for_tenants(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ')' | ']' | '}' | '<');
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("arn:") {
        let (before, arn) = rest.split_at(at);
        shown.push_str(before);
        shown.push_str("(an ARN)");
        rest = &arn[arn.find(ends).unwrap_or(arn.len())..];
    }
    shown.push_str(rest);
    without_accounts(&shown)
}

/// An account is a number of twelve digits.
fn without_accounts(text: &str) -> String {
    let (mut shown, mut digits) = (String::new(), String::new());
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        shown.push_str(if digits.len() == 12 { "(an account)" } else { &digits });
        digits.clear();
        shown.push(c);
    }
    shown.pop();
    shown
}
