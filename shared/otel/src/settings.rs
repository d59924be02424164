//! Settings: where to export to, and as whom, by the variables that OpenTelemetry names.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;
use thiserror::Error;

/// A collector on this machine, as OpenTelemetry has it.
pub const DEFAULT_ENDPOINT: &str = "http://localhost:4318";

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const TIMEOUT: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// For a batch, with all tries; OpenTelemetry's default.
const WHOLE_BATCH: Duration = Duration::from_secs(10);
/// Between two readings of the metrics; OpenTelemetry's default.
const EACH_READING: Duration = Duration::from_secs(60);
/// Longer than anybody waits.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} is {value:?}: it must be {expected}")]
pub struct SettingError {
    name: &'static str,
    value: String,
    expected: &'static str,
}

#[cfg_attr(
    not(any(test, feature = "export")),
    expect(dead_code, reason = "they are read all the same, so that what is wrong is told")
)]
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) traces: Uri,
    pub(crate) metrics: Uri,
    pub(crate) headers: HeaderMap,
    /// How long a batch may take, with all tries.
    pub(crate) timeout: Duration,
    /// How long from one reading of the metrics to the next.
    pub(crate) interval: Duration,
    pub(crate) service: Option<String>,
    pub(crate) attributes: Vec<(String, String)>,
}

impl Settings {
    /// None where there is no endpoint: then nothing is exported. `endpoint` comes before the variable of that name. An empty variable counts as not set.
    pub fn read(
        variable: &dyn Fn(&str) -> Option<String>,
        endpoint: Option<&str>,
    ) -> Result<Option<Self>, SettingError> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let said_by = if endpoint.is_some() { "--otlp-endpoint" } else { ENDPOINT };
        let Some(endpoint) = endpoint.map(str::to_owned).or_else(|| set(ENDPOINT)) else { return Ok(None) };
        // Those that are refused may hold a password, or a key.
        let wrong = || illegal(said_by, "…", "an http or https URL, without a user and a query");
        let address = |path| below(&endpoint, path).ok_or_else(wrong);
        Ok(Some(Self {
            traces: address("v1/traces")?,
            metrics: address("v1/metrics")?,
            headers: headers(&set(HEADERS).unwrap_or_default())?,
            timeout: millis(TIMEOUT, set(TIMEOUT), WHOLE_BATCH)?,
            interval: millis(INTERVAL, set(INTERVAL), EACH_READING)?,
            service: set(SERVICE),
            attributes: attributes(&set(ATTRIBUTES).unwrap_or_default())?,
        }))
    }
}

fn illegal(name: &'static str, value: &str, expected: &'static str) -> SettingError {
    SettingError { name, value: value.to_owned(), expected }
}

/// The address of a signal below that of all of them.
fn below(endpoint: &str, path: &str) -> Option<Uri> {
    let is_plain = !endpoint.contains(['?', '#', '@']);
    let address: Uri = format!("{}/{path}", endpoint.trim_end_matches('/')).parse().ok()?;
    let is_http = matches!(address.scheme_str(), Some("http" | "https"));
    (is_plain && is_http && address.host().is_some_and(|host| !host.is_empty())).then_some(address)
}

/// A header may hold a collector's key: it is neither shown nor told.
fn headers(text: &str) -> Result<HeaderMap, SettingError> {
    let wrong = || illegal(HEADERS, "…", "name=value,…, percent-encoded");
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(text).ok_or_else(wrong)? {
        let name: HeaderName = name.parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn attributes(text: &str) -> Result<Vec<(String, String)>, SettingError> {
    pairs(text).ok_or_else(|| illegal(ATTRIBUTES, text, "name=value,…, percent-encoded"))
}

/// `name=value,…` with values that are percent-encoded, as W3C's baggage.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let decoded = |text: &str| percent_decode_str(text.trim()).decode_utf8().ok().map(Into::<String>::into);
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((decoded(name).filter(|name| !name.is_empty())?, decoded(value)?))
    };
    text.split(',').filter(|part| !part.trim().is_empty()).map(pair).collect()
}

fn millis(name: &'static str, value: Option<String>, default: Duration) -> Result<Duration, SettingError> {
    let Some(value) = value else { return Ok(default) };
    let span = value.parse().ok().filter(|millis| *millis > 0).map(Duration::from_millis);
    let span = span.filter(|span| *span <= LONGEST);
    span.ok_or_else(|| illegal(name, &value, "a number of milliseconds from 1 to 86400000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)], endpoint: Option<&str>) -> Result<Option<Settings>, SettingError> {
        let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Settings::read(&variable, endpoint)
    }

    #[test]
    fn without_an_endpoint_nothing_is_exported() {
        for set in [&[][..], &[(ENDPOINT, "")], &[(SERVICE, "night"), (TIMEOUT, "no number")]] {
            assert!(read(set, None).unwrap().is_none(), "{set:?}");
        }
    }

    #[test]
    fn what_is_not_set_is_as_opentelemetry_has_it() {
        let settings = read(&[(ENDPOINT, "http://collector:4318/")], None).unwrap().unwrap();

        assert_eq!(settings.traces, "http://collector:4318/v1/traces");
        assert_eq!(settings.metrics, "http://collector:4318/v1/metrics");
        assert_eq!((settings.timeout, settings.interval), (Duration::from_secs(10), Duration::from_secs(60)));
        assert!(settings.headers.is_empty() && settings.attributes.is_empty() && settings.service.is_none());
    }

    #[test]
    fn what_is_set_is_read() {
        let set = [
            (ENDPOINT, "http://other:1"),
            (HEADERS, "api-key=a%20key, x-scope = night"),
            (TIMEOUT, "250"),
            (INTERVAL, "1000"),
            (SERVICE, "jobs"),
            (ATTRIBUTES, "deployment.environment.name=prod,team=caf%C3%A9"),
        ];
        let settings = read(&set, Some("https://collector.example/otlp")).unwrap().unwrap();

        assert_eq!(settings.traces, "https://collector.example/otlp/v1/traces");
        assert_eq!(["api-key", "x-scope"].map(|name| settings.headers[name].as_bytes()), [&b"a key"[..], b"night"]);
        assert_eq!((settings.timeout, settings.interval), (Duration::from_millis(250), Duration::from_secs(1)));
        assert_eq!(settings.service.as_deref(), Some("jobs"));
        let wanted = [("deployment.environment.name", "prod"), ("team", "café")];
        assert_eq!(settings.attributes, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_endpoint_is_refused_by_the_name_of_who_said_it() {
        let of_the_argument = read(&[(ENDPOINT, DEFAULT_ENDPOINT)], Some("collector:4318")).unwrap_err().to_string();
        let of_the_variable = read(&[(ENDPOINT, "collector:4318")], None).unwrap_err().to_string();

        assert!(of_the_argument.starts_with("--otlp-endpoint is"), "{of_the_argument}");
        assert!(of_the_variable.starts_with(ENDPOINT), "{of_the_variable}");
    }

    /// Removed: the values of headers are marked as sensitive.
    #[test]
    fn a_header_is_never_shown() {
        let settings = read(&[(ENDPOINT, DEFAULT_ENDPOINT), (HEADERS, "api-key=hush")], None).unwrap().unwrap();
        assert!(!format!("{settings:?}").contains("hush"), "{settings:?}");

        let refused = read(&[(ENDPOINT, DEFAULT_ENDPOINT), (HEADERS, "hush")], None).unwrap_err().to_string();
        assert!(refused.starts_with(HEADERS) && !refused.contains("hush"), "{refused}");
    }

    #[test]
    fn each_invalid_setting_is_refused_by_its_name() {
        for (name, value) in [
            (ENDPOINT, "collector:4318"),
            (ENDPOINT, "grpc://collector:4317"),
            (ENDPOINT, "http://"),
            (ENDPOINT, "http://user:word@collector"),
            (ENDPOINT, "http://collector/?key=1"),
            (HEADERS, "=value"),
            (HEADERS, "two words=value"),
            (HEADERS, "name=%ff"),
            (TIMEOUT, "0"),
            (TIMEOUT, "10s"),
            (INTERVAL, "86400001"),
            (ATTRIBUTES, "lonely"),
        ] {
            let mut set = vec![(name, value)];
            if name != ENDPOINT {
                set.push((ENDPOINT, DEFAULT_ENDPOINT));
            }
            let refused = read(&set, None).unwrap_err().to_string();
            assert!(refused.starts_with(name) && refused.contains("must be"), "{refused}");
        }
    }
}
