//! The target of a job: exactly one kind, named by its field. Shown as it was asked for.

use std::collections::BTreeMap;

use minutehand_domain::limits::{HEADER_BYTES, HEADERS};
use minutehand_domain::target::{HttpTarget, Method, Target};
use schemars::JsonSchema;
use serde::Deserialize;

use super::kinds::{Kind, one_of_the_kinds};
use super::object::maybe_object;
use super::texts::UrlText;
use super::words::MethodWord;
use crate::app_state::TargetCheck;
use crate::field_errors::FieldErrors;

/// What each run calls: exactly one kind, named by its field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = |schema: &mut _| one_of_the_kinds(schema, &TARGET_KINDS))]
pub(crate) struct TargetRequest {
    #[serde(default, deserialize_with = "maybe_object")]
    http: Option<HttpRequest>,
    #[serde(default, deserialize_with = "maybe_object")]
    noop: Option<NoopRequest>,
}

/// An HTTP call with the payload as its JSON body, signed as Standard Webhooks are.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HttpTargetRequest")]
struct HttpRequest {
    #[schemars(with = "UrlText")]
    url: String,
    /// POST if it is not given.
    #[schemars(with = "Option<MethodWord>")]
    method: Option<Method>,
    /// Visible ASCII. Those that frame the message or say who calls are not the job's to set.
    #[schemars(extend("maxProperties" = HEADERS), extend("x-max-bytes" = HEADER_BYTES))]
    headers: Option<BTreeMap<String, String>>,
}

/// Does nothing and succeeds: for trying schedules out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct NoopRequest {}

pub(crate) const TARGET_KINDS: [Kind; 2] = [
    Kind { title: "an HTTP call", named: Some("http"), with: &[] },
    Kind { title: "nothing", named: Some("noop"), with: &[] },
];

impl TargetRequest {
    pub(crate) fn understood(self, check: &TargetCheck, errors: &mut FieldErrors) -> Option<Target> {
        match (self.http, self.noop) {
            (Some(http), None) => http.understood(check, errors).map(Target::Http),
            (None, Some(NoopRequest {})) => Some(Target::Noop),
            (None, None) | (Some(_), Some(_)) => {
                errors.add("/target", "give exactly one of http and noop");
                None
            }
        }
    }
}

impl HttpRequest {
    fn understood(self, check: &TargetCheck, errors: &mut FieldErrors) -> Option<HttpTarget> {
        let target = HttpTarget {
            url: self.url,
            method: self.method.unwrap_or_default(),
            headers: self.headers.unwrap_or_default(),
        };
        match check.check(&target) {
            Ok(()) => Some(target),
            Err(refusal) => {
                errors.add(format!("/target/http/{}", refusal.field), refusal.detail);
                None
            }
        }
    }
}
