//! A target's own headers, checked: valid, bounded, and none of those that frame the request or identify the caller.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use minutehand_domain::limits::{HEADER_BYTES, HEADERS};
use minutehand_domain::secret::{SecretName, SecretValue};
use minutehand_domain::target::Header;
use thiserror::Error;

/// As far as they are known: what a secret says is looked at when it is sent.
pub fn check_headers(headers: &BTreeMap<String, Header>) -> Result<(), HeaderRefusal> {
    parse(headers, |_| Some("")).map(|_| ())
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderRefusal {
    #[error("a target has at most {HEADERS} headers")]
    TooMany,
    #[error("a target's headers have at most {HEADER_BYTES} bytes, names and values together")]
    TooLarge,
    #[error("`{0:.64}` is not a header's name")]
    Name(String),
    #[error("the header `{0:.64}` has a value that is not visible ASCII")]
    Value(String),
    #[error("the header `{0:.64}` is named twice")]
    Twice(String),
    #[error("the header `{0:.64}` is not the job's to set")]
    Ours(String),
    #[error("there is no secret `{}`", .0.as_str())]
    NoSecret(SecretName),
}

/// Headers that frame the message or belong to the connection: a user who sets them could smuggle a second request.
const FRAMING: [&str; 9] =
    ["host", "content-length", "connection", "keep-alive", "transfer-encoding", "te", "upgrade", "trailer", "expect"];
/// Headers that a target trusts to come from Minutehand.
const OURS: [&str; 2] = ["idempotency-key", "traceparent"];
const OUR_PREFIXES: [&str; 3] = ["proxy-", "webhook-", "minutehand-"];

/// The headers of a call, with what the secrets say that they name. No refusal quotes it.
pub(super) fn with_secrets<'a>(
    headers: &BTreeMap<String, Header>,
    value_of: impl Fn(&SecretName) -> Option<&'a SecretValue>,
) -> Result<HeaderMap, HeaderRefusal> {
    parse(headers, |name| value_of(name).map(SecretValue::reveal))
}

fn parse<'a>(
    headers: &'a BTreeMap<String, Header>,
    value_of: impl Fn(&SecretName) -> Option<&'a str>,
) -> Result<HeaderMap, HeaderRefusal> {
    if headers.len() > HEADERS {
        return Err(HeaderRefusal::TooMany);
    }
    let (mut parsed, mut bytes) = (HeaderMap::with_capacity(headers.len()), 0);
    for (name, header) in headers {
        let text = match header {
            Header::Text(text) => text,
            Header::Secret(secret) => value_of(secret).ok_or_else(|| HeaderRefusal::NoSecret(secret.clone()))?,
        };
        bytes += name.len() + text.len();
        if parsed.insert(name_of(name)?, value_of_header(name, text)?).is_some() {
            return Err(HeaderRefusal::Twice(name.clone()));
        }
    }
    if bytes > HEADER_BYTES { Err(HeaderRefusal::TooLarge) } else { Ok(parsed) }
}

fn name_of(name: &str) -> Result<HeaderName, HeaderRefusal> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeaderRefusal::Name(name.to_owned()))?;
    let lower = parsed.as_str();
    let ours = FRAMING.contains(&lower)
        || OURS.contains(&lower)
        || OUR_PREFIXES.iter().any(|prefix| lower.starts_with(prefix));
    if ours { Err(HeaderRefusal::Ours(name.to_owned())) } else { Ok(parsed) }
}

fn value_of_header(name: &str, value: &str) -> Result<HeaderValue, HeaderRefusal> {
    // Servers disagree about the meaning of bytes beyond ASCII.
    let parsed = HeaderValue::from_str(value).ok().filter(|_| value.is_ascii());
    let mut parsed = parsed.ok_or_else(|| HeaderRefusal::Value(name.to_owned()))?;
    // Whatever prints a request shows no value of it.
    parsed.set_sensitive(true);
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal_of(name: &str, value: &str) -> Option<String> {
        check_headers(&[(name.to_owned(), Header::from(value))].into()).err().map(|refusal| refusal.to_string())
    }

    #[test]
    fn a_users_own_headers_pass() {
        for (name, value) in
            [("Authorization", "Bearer a.b-c_d="), ("x-empty", ""), ("Content-Type", "text/csv"), ("User-Agent", "me")]
        {
            assert_eq!(refusal_of(name, value), None, "{name}");
        }
    }

    #[test]
    fn a_header_that_frames_the_request_or_identifies_the_caller_is_refused() {
        for name in [
            "Host",
            "content-length",
            "Connection",
            "Keep-Alive",
            "Transfer-Encoding",
            "TE",
            "Upgrade",
            "Proxy-Authorization",
            "proxy-connection",
            "Trailer",
            "Expect",
            "Webhook-Signature",
            "Minutehand-Run",
            "Idempotency-Key",
            "TraceParent",
        ] {
            assert_eq!(refusal_of(name, "x"), Some(format!("the header `{name}` is not the job's to set")));
        }
    }

    #[test]
    fn a_header_that_would_split_the_request_is_refused() {
        for name in ["", "a b", "a:b", "a\r\nb", "ä"] {
            assert_eq!(refusal_of(name, "x"), Some(format!("`{name}` is not a header's name")));
        }
        for value in ["a\r\nX-Injected: b", "a\nb", "a\0b", "ä", "\u{7f}"] {
            assert_eq!(
                refusal_of("x-a", value),
                Some("the header `x-a` has a value that is not visible ASCII".to_owned())
            );
        }
    }

    #[test]
    fn headers_are_bounded_and_named_once() {
        let many = (0..=HEADERS).map(|n| (format!("x-{n}"), Header::from(""))).collect();
        let large = [("x".to_owned(), Header::Text("v".repeat(HEADER_BYTES)))].into();
        let largest = [("x".to_owned(), Header::Text("v".repeat(HEADER_BYTES - 1)))].into();
        let twice = ["x-a", "X-A"].map(|name| (name.to_owned(), Header::from("1"))).into();

        assert_eq!(check_headers(&many), Err(HeaderRefusal::TooMany));
        assert_eq!(check_headers(&large), Err(HeaderRefusal::TooLarge));
        assert_eq!(check_headers(&largest), Ok(()));
        assert_eq!(check_headers(&twice), Err(HeaderRefusal::Twice("x-a".to_owned())));
    }

    proptest! {
        #[test]
        fn any_headers_pass_or_are_refused_in_a_sentence(headers in proptest::collection::btree_map(any::<String>(), any::<String>().prop_map(Header::Text), 0..40)) {
            if let Err(refusal) = check_headers(&headers) {
                prop_assert!(refusal.to_string().chars().count() < 160);
            }
        }
    }
}
