//! Signing: Signature Version 4, as all of AWS asks for it.

use std::error::Error;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode,
    sign,
};
use aws_sigv4::sign::v4::SigningParams;
use bytes::Bytes;
use http::header::ToStrError;
use http::{HeaderValue, Request};
use http_body_util::Full;
use minutehand_domain::Moment;

use super::ask::Ask;
use super::credentials::time_of;
use super::endpoints::Place;

type Signed = Result<Request<Full<Bytes>>, Box<dyn Error + Send + Sync>>;

/// A call of a target.
pub(super) fn signed(ask: Ask, place: &Place, credentials: Credentials, now: Moment) -> Signed {
    let Ask { path, headers: own, body } = ask;
    let mut request = Request::post(format!("{}{path}", place.origin)).body(Full::default())?;
    for (name, value) in &own {
        request.headers_mut().insert(*name, HeaderValue::from_str(value)?);
    }
    with_body(request, body.into(), (&place.region, place.service), SigningSettings::default(), credentials, now)
}

/// An object that is put into a bucket. S3 wants to see a digest of it, and its path as it stands.
pub(crate) fn signed_put(url: &str, region: &str, object: Bytes, credentials: Credentials, now: Moment) -> Signed {
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    with_body(Request::put(url).body(Full::default())?, object, (region, "s3"), settings, credentials, now)
}

fn with_body(
    request: Request<Full<Bytes>>,
    body: Bytes,
    (region, service): (&str, &str),
    settings: SigningSettings,
    credentials: Credentials,
    now: Moment,
) -> Signed {
    let identity = credentials.into();
    let params = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(time_of(now))
        .settings(settings)
        .build()?
        .into();
    let (method, url) = (request.method().as_str(), request.uri().to_string());
    let headers: Vec<_> = request
        .headers()
        .iter()
        .map(|(name, value)| Ok((name.as_str(), value.to_str()?)))
        .collect::<Result<_, ToStrError>>()?;
    let signable = SignableRequest::new(method, &url, headers.into_iter(), SignableBody::Bytes(&body))?;
    let (instructions, _signature) = sign(signable, &params)?.into_parts();

    let mut request = request.map(|_nothing| Full::new(body));
    instructions.apply_to_request_http1x(&mut request);
    Ok(request)
}
