//! The outcome and the result of an answer, from its status, headers and bytes.

use http::HeaderValue;
use http_body_util::Full;
use minutehand_domain::run::AttemptError;
use proptest::prelude::*;

use super::*;

fn now() -> Moment {
    Moment::parse("2026-11-20T12:00:00Z").unwrap()
}

fn headers(name: HeaderName, value: &str) -> HeaderMap {
    HeaderMap::from_iter([(name, HeaderValue::from_bytes(value.as_bytes()).unwrap())])
}

fn kept(bytes: &[u8]) -> AnswerBody {
    AnswerBody { bytes: bytes.to_vec(), cut: false }
}

fn result(content_type: &str, bytes: &[u8]) -> Option<String> {
    kept(bytes).result(&headers(CONTENT_TYPE, content_type)).map(|json| json.as_str().to_owned())
}

fn failure(status: u16, body: &str) -> (AttemptError, Option<Duration>) {
    let mut answer = Response::new(());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap();
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("7"));
    match failed(&answer.into_parts().0, kept(body.as_bytes()).quote().as_deref(), now()) {
        Answer::Failed { error, retry_after } => (error, retry_after),
        Answer::Succeeded { .. } | Answer::Accepted { .. } | Answer::TimedOut => panic!("a failure fails"),
    }
}

/// Only the status and the header together say that the work is still to come.
#[test]
fn a_target_takes_a_run_on_with_202_and_its_header() {
    let cases = [
        (202, Some("true"), true),
        (202, Some("True"), true),
        (202, Some("false"), false),
        (202, Some("1"), false),
        (202, None, false),
        (200, Some("true"), false),
        (201, Some("true"), false),
    ];
    for (status, says, is_taken_on) in cases {
        let mut answer = Response::new(());
        *answer.status_mut() = StatusCode::from_u16(status).unwrap();
        answer.headers_mut().extend(says.map(|says| (ASYNC, HeaderValue::from_static(says))));

        assert_eq!(super::is_taken_on(&answer.into_parts().0), is_taken_on, "{status} {says:?}");
    }
}

#[test]
fn a_temporary_failure_is_retried_when_the_target_says() {
    for status in [408, 425, 429, 500, 501, 502, 503, 504, 599] {
        let (error, retry_after) = failure(status, "");

        assert_eq!(error.code, if status < 500 { "http_4xx" } else { "http_5xx" });
        assert!(error.retryable && error.reached, "{status}");
        assert_eq!(retry_after, Some(Duration::from_secs(7)));
    }
}

#[test]
fn a_permanent_failure_is_not_retried() {
    for status in [100, 101, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 410, 413, 422, 451, 600, 999] {
        let (error, retry_after) = failure(status, "");

        let class = match status / 100 {
            3 => "http_3xx",
            4 => "http_4xx",
            _ => "http_other",
        };
        assert_eq!(error.code, class, "{status}");
        assert!(error.message.starts_with(&format!("the target answered {status}")), "{error:?}");
        assert!(!error.retryable && error.reached, "{status}");
        assert_eq!(retry_after, None);
    }
}

#[test]
fn a_failure_quotes_one_line_of_a_text_body() {
    let message = |status, body: &str| failure(status, body).0.message;

    assert_eq!(message(503, ""), "the target answered 503 Service Unavailable");
    assert_eq!(message(599, ""), "the target answered 599");
    assert_eq!(message(404, "no such\r\n\t job\u{7} \u{1b}[0m"), "the target answered 404 Not Found: no such job [0m");
    assert_eq!(message(404, "\0binary"), "the target answered 404 Not Found");
    assert_eq!(message(404, &"ä".repeat(500)), format!("the target answered 404 Not Found: {}", "ä".repeat(100)));
}

#[test]
fn a_result_is_the_json_body_made_compact() {
    assert_eq!(result("application/json", b"{ \"a\": [1, 2] }"), Some(r#"{"a":[1,2]}"#.to_owned()));
    assert_eq!(result("Application/JSON; charset=utf-8", b"null"), Some("null".to_owned()));
    assert_eq!(result("application/problem+json", b"1"), Some("1".to_owned()));
}

#[test]
fn a_result_that_is_not_json_is_the_head_of_its_text() {
    let deep = "[".repeat(1000) + &"]".repeat(1000);

    assert_eq!(result("text/plain", b"{}"), Some(r#""{}""#.to_owned()));
    assert_eq!(result("application/json", b"not json"), Some(r#""not json""#.to_owned()));
    assert_eq!(result("application/json", deep.as_bytes()), Some(format!("\"{deep}\"")));
    assert_eq!(result("text/plain", b"a\xffb"), Some("\"a\u{fffd}b\"".to_owned()));
    assert_eq!(result("text/plain", "ä".repeat(5000).as_bytes()), Some(format!("\"{}\"", "ä".repeat(2048))));
    assert_eq!(
        result("text/plain", format!("x{}", "ä".repeat(5000)).as_bytes()),
        Some(format!("\"x{}\"", "ä".repeat(2047)))
    );
    assert_eq!(result("text/plain", b""), None);
}

/// Tried: by way of `serde_json::Value`, which rounds what is beyond 64 bits and sorts the keys.
#[test]
fn a_result_keeps_its_digits_and_the_order_of_its_keys() {
    let told = r#"{"z":1,"amount":1234567890.12345678901,"id":340282366920938463463374607431768211455,"much":1E5}"#;

    assert_eq!(result("application/json", told.as_bytes()), Some(told.to_owned()));
}

#[test]
fn json_is_kept_whole_up_to_its_bound_or_not_at_all() {
    let of_length = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let text = |json: &str| Some(Json::of(&json.into()).as_str().to_owned());

    for whole in [of_length(RESULT_BYTES - 1), of_length(RESULT_BYTES), nested(127)] {
        assert_eq!(result("application/json", whole.as_bytes()), Some(whole));
    }
    for no_json in [
        nested(128),
        "{\"a\":1".to_owned(),
        "{\"a\":1}x".to_owned(),
        "[1,]".to_owned(),
        "1e999".to_owned(),
        "NaN".to_owned(),
        "\"\\ud800\"".to_owned(),
        "\u{feff}{}".to_owned(),
    ] {
        assert_eq!(result("application/json", no_json.as_bytes()), text(&no_json), "{no_json}");
    }
    assert_eq!(result("application/json", b"\"\xff\""), text("\"\u{fffd}\""));
    assert_eq!(result("application/json", br#"{"a":1,"a":2}"#), Some(r#"{"a":1,"a":2}"#.to_owned()), "as it came");
}

#[tokio::test]
async fn json_one_byte_over_its_bound_is_the_head_of_its_text() {
    let over = format!("\"{}\"", "x".repeat(RESULT_BYTES - 1));
    let body = AnswerBody::of(Full::new(Bytes::from(over.clone()))).await.unwrap();

    let kept = body.result(&headers(CONTENT_TYPE, "application/json")).unwrap();

    assert_eq!(kept, Json::of(&over[..TEXT_BYTES].into()));
}

#[test]
fn a_body_without_a_type_is_text_and_a_compressed_one_is_dropped() {
    assert_eq!(kept(b"{}").result(&HeaderMap::new()).unwrap().as_str(), r#""{}""#);
    assert_eq!(result("application/json, text/html", b"{}"), Some(r#""{}""#.to_owned()));
    assert_eq!(result("application/jsonp", b"{}"), Some(r#""{}""#.to_owned()));
    for (coding, is_kept) in
        [("gzip", false), ("identity, br", false), ("", false), ("identity", true), ("Identity", true)]
    {
        let result = kept(b"\x1f\x8b\x08").result(&headers(CONTENT_ENCODING, coding));
        assert_eq!(result.is_some(), is_kept, "{coding}");
    }
}

#[tokio::test]
async fn no_more_of_a_body_is_read_than_is_kept() {
    let whole = AnswerBody::of(Full::new(Bytes::from(vec![b'x'; RESULT_BYTES]))).await.unwrap();
    let longer = AnswerBody::of(Full::new(Bytes::from(vec![b'1'; RESULT_BYTES + 1]))).await.unwrap();

    assert!(!whole.cut && whole.bytes.len() == RESULT_BYTES);
    assert!(longer.cut && longer.bytes.len() == RESULT_BYTES);
    assert_eq!(longer.result(&headers(CONTENT_TYPE, "application/json")).unwrap().len(), TEXT_BYTES + 2);
}

#[test]
fn retry_after_is_seconds_or_a_date_and_never_more_than_a_day() {
    let told = |text: &str| retry_after(&headers(RETRY_AFTER, text), now()).map(|wait| wait.as_secs());

    assert_eq!(told("120"), Some(120));
    assert_eq!(told(" 0 "), Some(0));
    assert_eq!(told("99999999999999999999999999"), Some(BACKOFF_SECONDS));
    assert_eq!(told("Fri, 20 Nov 2026 12:02:00 GMT"), Some(120));
    assert_eq!(told("Friday, 20-Nov-26 12:02:00 GMT"), Some(120));
    assert_eq!(told("Fri Nov 20 12:02:00 2026"), Some(120));
    assert_eq!(told("Fri, 20 Nov 2026 11:59:59 GMT"), Some(0));
    assert_eq!(told("Fri, 31 Dec 9999 23:59:59 GMT"), Some(BACKOFF_SECONDS));
    for not_a_wait in ["", "soon", "-1", "1.5", "2026-11-20T12:02:00Z", "ü"] {
        assert_eq!(told(not_a_wait), None, "{not_a_wait}");
    }
}

proptest! {
    #[test]
    fn any_body_has_a_bounded_result_and_quote(json in any::<bool>(), bytes in any::<Vec<u8>>(), cut in any::<bool>()) {
        let body = AnswerBody { bytes, cut };
        let headers = headers(CONTENT_TYPE, if json { "application/json" } else { "text/html" });

        let result = body.result(&headers);
        prop_assert_eq!(result.is_none(), body.bytes.is_empty());
        prop_assert!(result.is_none_or(|json| json.len() <= RESULT_BYTES));
        prop_assert!(body.quote().is_none_or(|quote| quote.chars().count() <= QUOTE_CHARS));
    }

    #[test]
    fn any_retry_after_is_a_bounded_wait_or_none(text in "[ -~]{0,40}|[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT") {
        let wait = retry_after(&headers(RETRY_AFTER, &text), now());
        prop_assert!(wait.is_none_or(|wait| wait.as_secs() <= BACKOFF_SECONDS));
    }
}

/// As a hook says that a run is not to be.
#[test]
fn a_409_is_a_veto_with_the_beginning_of_what_it_says() {
    use crate::targets::veto_in;

    assert_eq!(veto_in(&failure(409, "the books are\n closed").0).as_deref(), Some("the books are closed"));
    assert!(veto_in(&failure(409, "").0).is_some_and(|said| said.contains("409")));
    assert_eq!(veto_in(&failure(410, "the target answered 409").0), None);
}
