//! Signing: Signature Version 4, as all of AWS asks for it.

use std::error::Error;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::Full;
use minutehand_domain::Moment;

use super::ask::Ask;
use super::credentials::time_of;
use super::endpoints::Place;

pub(super) fn signed(
    ask: Ask,
    place: &Place,
    credentials: Credentials,
    now: Moment,
) -> Result<Request<Full<Bytes>>, Box<dyn Error + Send + Sync>> {
    let identity = credentials.into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(&place.region)
        .name(place.service)
        .time(time_of(now))
        .settings(SigningSettings::default())
        .build()?
        .into();
    let Ask { path, headers: own, body } = ask;
    let url = format!("{}{path}", place.origin);
    let headers = own.iter().map(|(name, value)| (*name, value.as_str()));
    let signable = SignableRequest::new("POST", &url, headers, SignableBody::Bytes(body.as_bytes()))?;
    let (instructions, _signature) = sign(signable, &params)?.into_parts();

    let mut request = Request::post(&url).body(Full::new(Bytes::from(body)))?;
    for (name, value) in &own {
        request.headers_mut().insert(*name, HeaderValue::from_str(value)?);
    }
    instructions.apply_to_request_http1x(&mut request);
    Ok(request)
}
