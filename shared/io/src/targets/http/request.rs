//! The request of a call: the job's method, URL, headers and payload, and headers that identify the caller and the run.

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Request};
use http_body_util::Full;
use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::signing::{SigningSecrets, timestamp};
use minutehand_domain::target::{HttpTarget, Method};

use super::{HeaderRefusal, Reach, UrlRefusal, address, headers};
use crate::targets::Call;
use crate::targets::stamps::stamps;

const AGENT: &str = concat!("Minutehand/", env!("CARGO_PKG_VERSION"));

/// Without a payload there is no body, whatever the method.
pub(super) fn build(
    target: &HttpTarget,
    call: &Call<'_>,
    secrets: &SigningSecrets,
    token: &str,
    reach: Reach,
) -> Result<Request<Full<Bytes>>, AttemptError> {
    let uri = address::parse(&target.url, reach).map_err(|refusal| bad_url(&refusal))?;
    let mut headers = headers::with_secrets(&target.headers, |name| call.material.secret(name))
        .map_err(|refusal| bad_headers(&refusal))?;
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
    // Without this header a target may answer in any encoding, and the kept part must be readable.
    headers.entry(ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
    if call.payload.is_some() {
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    }
    let body = call.payload.map_or_else(Bytes::new, |payload| Bytes::copy_from_slice(payload.as_str().as_bytes()));
    stamp(&mut headers, call, &secrets.signatures(&call.run.to_string(), call.now, &body), token);

    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method_of(target.method);
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// The run is also the signed id. Who answers later says so by the lease, with its token.
fn stamp(headers: &mut HeaderMap, call: &Call<'_>, signatures: &str, token: &str) {
    let signed = [
        ("webhook-id", call.run.to_string()),
        ("webhook-timestamp", timestamp(call.now).to_string()),
        ("webhook-signature", signatures.to_owned()),
        ("minutehand-lease", call.lease.to_string()),
        ("minutehand-token", token.to_owned()),
    ];
    for (name, value) in signed.into_iter().chain(stamps(call)) {
        let value = HeaderValue::try_from(value).expect("ids, numbers, instants and base 64 are visible ASCII");
        headers.insert(HeaderName::from_static(name), value);
    }
}

fn method_of(method: Method) -> HttpMethod {
    match method {
        Method::Get => HttpMethod::GET,
        Method::Post => HttpMethod::POST,
        Method::Put => HttpMethod::PUT,
        Method::Patch => HttpMethod::PATCH,
        Method::Delete => HttpMethod::DELETE,
    }
}

fn bad_url(refusal: &UrlRefusal) -> AttemptError {
    let code = match refusal {
        UrlRefusal::Forbidden(..) | UrlRefusal::ForbiddenName(..) => ErrorCode::ForbiddenAddress,
        UrlRefusal::TooLong
        | UrlRefusal::NotAUrl(_)
        | UrlRefusal::Unwritable
        | UrlRefusal::NotHttp
        | UrlRefusal::Credentials
        | UrlRefusal::PortZero => ErrorCode::InvalidTarget,
    };
    code.error(&refusal.to_string())
}

fn bad_headers(refusal: &HeaderRefusal) -> AttemptError {
    ErrorCode::InvalidTarget.error(&refusal.to_string())
}
