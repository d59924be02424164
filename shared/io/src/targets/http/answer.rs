//! The answer: the outcome comes from the status, the result from the body. No more is read than is kept.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Body;
use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::limits::{BACKOFF_SECONDS, RESULT_BYTES};
use minutehand_domain::run::ErrorCode;
use serde_json::Value;

use super::errors::broken;
use crate::targets::Answer;
use crate::targets::material::one_line;

const ASYNC: HeaderName = HeaderName::from_static("minutehand-async");
/// Bytes kept of an answer that is not JSON: enough to recognise it.
const TEXT_BYTES: usize = 4096;
/// Characters of the body that an error quotes; the sentence before the quote needs the rest of the message.
const QUOTE_CHARS: usize = 100;
/// How long to wait for the body of a failure. The status is the answer; the body usually comes with it and is optional.
const QUOTE_WAIT: Duration = Duration::from_millis(250);

/// `token` is what the call told its target to show if it takes the run on.
pub(super) async fn read<B>(response: Response<B>, token: &str, now: Moment) -> Answer
where
    B: Body<Data = Bytes, Error = hyper::Error> + Unpin,
{
    let (head, body) = response.into_parts();
    if !head.status.is_success() {
        let quote = tokio::time::timeout(QUOTE_WAIT, AnswerBody::of(body)).await.ok().and_then(Result::ok);
        return failed(&head, quote.and_then(|body| body.quote()).as_deref(), now);
    }
    if is_taken_on(&head) {
        return Answer::Accepted { token: token.to_owned() };
    }
    match AnswerBody::of(body).await {
        Ok(body) => Answer::Succeeded { result: body.result(&head.headers) },
        Err(error) => Answer::Failed { error: broken(&error), retry_after: None },
    }
}

/// `202 Accepted` alone is a success as any 2xx: the header says that the work is still to come.
fn is_taken_on(head: &Parts) -> bool {
    let says_so = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"true");
    head.status == StatusCode::ACCEPTED && head.headers.get(ASYNC).is_some_and(says_so)
}

fn failed(head: &Parts, quote: Option<&str>, now: Moment) -> Answer {
    let status = head.status;
    let mut message = format!("the target answered {}", status.as_str());
    for (glue, part) in [(" ", status.canonical_reason()), (": ", quote)] {
        if let Some(part) = part {
            message.push_str(glue);
            message.push_str(part);
        }
    }
    let error = class_of(status).error(&message);
    let error = if is_temporary(status) { error.passing() } else { error };
    let retry_after = if error.retryable { retry_after(&head.headers, now) } else { None };
    Answer::Failed { error, retry_after }
}

/// The class is the code to act on; the exact status is in the message.
fn class_of(status: StatusCode) -> ErrorCode {
    match status.as_u16() {
        // Following a redirect would call a URL that was not checked.
        300..=399 => ErrorCode::Http3xx,
        400..=499 => ErrorCode::Http4xx,
        500..=599 => ErrorCode::Http5xx,
        _ => ErrorCode::HttpOther,
    }
}

/// The 4xx statuses that mean "not now" rather than "not this".
fn is_temporary(status: StatusCode) -> bool {
    matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS)
}

/// `Retry-After` as seconds or as a date. A past date means now.
pub fn retry_after(headers: &HeaderMap, now: Moment) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number too large to parse means a long time, and no wait is longer than the bound.
        let seconds = text.parse().unwrap_or(BACKOFF_SECONDS).min(BACKOFF_SECONDS);
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Some((Moment::EPOCH + date).since(now).min(Duration::from_secs(BACKOFF_SECONDS)))
}

/// The part of a body that is kept. After a cut the connection is closed: reusing it would mean reading the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::targets) struct AnswerBody {
    bytes: Vec<u8>,
    cut: bool,
}

impl AnswerBody {
    pub(in crate::targets) async fn of<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<Self, B::Error> {
        let mut kept = Self::default();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            let room = RESULT_BYTES - kept.bytes.len();
            kept.bytes.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                kept.cut = true;
                break;
            }
        }
        Ok(kept)
    }

    #[cfg(feature = "aws")]
    pub(in crate::targets) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(in crate::targets) fn result(&self, headers: &HeaderMap) -> Option<Json> {
        if self.bytes.is_empty() || is_encoded(headers) {
            return None;
        }
        let json = if is_json(headers) { self.json() } else { None };
        Some(json.unwrap_or_else(|| Json::of(&self.text().into())))
    }

    /// Digit for digit, as it came, where it is a value that whoever comes to it can read: not too deep, and with no number beyond all bounds.
    fn json(&self) -> Option<Json> {
        if self.cut {
            return None;
        }
        let _it_can_be_read: Value = serde_json::from_slice(&self.bytes).ok()?;
        serde_json::from_slice(&self.bytes).ok().map(Json::compact)
    }

    pub(in crate::targets) fn text(&self) -> String {
        let head = &self.bytes[..self.bytes.len().min(TEXT_BYTES)];
        let mut text = String::from_utf8_lossy(head).into_owned();
        if self.cut || head.len() < self.bytes.len() {
            // The cut may have gone through a character.
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        }
        text
    }

    /// One line of the body, if it is text.
    fn quote(&self) -> Option<String> {
        let text = self.text();
        if text.contains(['\0', char::REPLACEMENT_CHARACTER]) {
            return None;
        }
        let quote: String = one_line(&text).chars().take(QUOTE_CHARS).collect();
        (!quote.is_empty()).then_some(quote)
    }
}

/// Compressed although the request asked for `identity`: nobody could read the kept part.
fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// `application/json`, or a type built on it such as `application/problem+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(text)) = headers.get(CONTENT_TYPE).map(|value| value.to_str()) else { return false };
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

#[cfg(test)]
mod facts;
