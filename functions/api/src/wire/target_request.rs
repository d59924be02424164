//! The target of a job: exactly one kind, named by its field. Shown as it was asked for.

use std::collections::BTreeMap;

use minutehand_domain::target::{HttpTarget, Method, Target};
use serde::Deserialize;

use crate::TargetCheck;
use crate::findings::Findings;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TargetRequest {
    http: Option<HttpRequest>,
    noop: Option<NoopRequest>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpRequest {
    url: String,
    method: Option<Method>,
    headers: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoopRequest {}

impl TargetRequest {
    pub(crate) fn understood(self, check: &TargetCheck, findings: &mut Findings) -> Option<Target> {
        match (self.http, self.noop) {
            (Some(http), None) => http.understood(check, findings).map(Target::Http),
            (None, Some(NoopRequest {})) => Some(Target::Noop),
            (None, None) | (Some(_), Some(_)) => {
                findings.add("/target", "give exactly one of http and noop");
                None
            }
        }
    }
}

impl HttpRequest {
    fn understood(self, check: &TargetCheck, findings: &mut Findings) -> Option<HttpTarget> {
        let target = HttpTarget {
            url: self.url,
            method: self.method.unwrap_or_default(),
            headers: self.headers.unwrap_or_default(),
        };
        match check.check(&target) {
            Ok(()) => Some(target),
            Err(refusal) => {
                findings.add(format!("/target/http/{}", refusal.field), refusal.detail);
                None
            }
        }
    }
}
