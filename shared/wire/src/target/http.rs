//! The target `http`: a call with the payload as its JSON body.

use std::collections::BTreeMap;
use std::time::Duration;

use minutehand_domain::limits::{CONNECT_SECONDS, DEFAULT_CONNECT_SECONDS, HEADER_BYTES, HEADERS, TIMEOUT_SECONDS};
use minutehand_domain::target::{Header, HttpTarget as Called, Method, Target, Timeouts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{HeaderSpec, TargetCheck, TargetKind};
use crate::component::AskedOrShown;
use crate::field_errors::FieldErrors;
use crate::texts::UrlText;
use crate::whole_number::whole_number;
use crate::word::Word;
use crate::words::MethodWord;

type Headers = BTreeMap<String, HeaderSpec>;

/// An HTTP call with the payload as its JSON body, signed as Standard Webhooks are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HttpTargetRequest", deny_unknown_fields)]
pub struct HttpTarget {
    #[schemars(with = "AskedOrShown<UrlText, String>")]
    pub url: String,
    /// POST if it is not given.
    #[serde(default)]
    #[schemars(with = "AskedOrShown<Option<MethodWord>, MethodWord>")]
    pub method: Option<Word<Method>>,
    /// Visible ASCII. Those that frame the message or say who calls are not the job's to set.
    #[serde(default)]
    #[schemars(with = "AskedOrShown<Option<Headers>, Headers>")]
    #[schemars(extend("maxProperties" = HEADERS), extend("x-max-bytes" = HEADER_BYTES))]
    pub headers: Option<Headers>,
    /// How long the phases of a call may take; the whole has the job's `timeout_seconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<TimeoutsSpec>,
    /// That the target takes its runs on (`202` with `Minutehand-Async: true`) and says later how they went, so that `timeout_seconds` is more than
    /// a call may take: the two go together. The call itself still ends in time.
    #[serde(default, rename = "async", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub takes_on: Option<bool>,
}

/// The phases of an HTTP call, in seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HttpTimeoutsRequest", deny_unknown_fields)]
pub struct TimeoutsSpec {
    /// For the name, the connection and TLS together.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = CONNECT_SECONDS), extend("default" = DEFAULT_CONNECT_SECONDS))]
    pub connect_seconds: Option<u64>,
    /// From the beginning of the call until an answer begins. Without it there is only the whole.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = TIMEOUT_SECONDS))]
    pub first_byte_seconds: Option<u64>,
    /// What a later server says more; in a request there is none.
    #[serde(flatten)]
    #[schemars(skip)]
    pub others: BTreeMap<String, Value>,
}

impl TimeoutsSpec {
    fn of(timeouts: Timeouts) -> Option<Self> {
        let seconds = |span: Option<Duration>| span.map(|span| span.as_secs());
        let (connect_seconds, first_byte_seconds) = (seconds(timeouts.connect), seconds(timeouts.first_byte));
        timeouts.is_said().then(|| Self { connect_seconds, first_byte_seconds, ..Self::default() })
    }

    fn checked(&self, errors: &mut FieldErrors) -> Timeouts {
        for name in self.others.keys() {
            let at = format!("/target/http/timeouts/{}", name.replace('~', "~0").replace('/', "~1"));
            errors.add(at, "is not known here: there are `connect_seconds` and `first_byte_seconds`");
        }
        let mut phase = |pointer, seconds: Option<u64>, most| {
            seconds.map(|seconds| Duration::from_secs(errors.in_range(pointer, seconds, 1..=most)))
        };
        Timeouts {
            connect: phase("/target/http/timeouts/connect_seconds", self.connect_seconds, CONNECT_SECONDS),
            first_byte: phase("/target/http/timeouts/first_byte_seconds", self.first_byte_seconds, TIMEOUT_SECONDS),
        }
    }
}

impl HttpTarget {
    pub(crate) fn of(target: &Called) -> Self {
        let headers = target.headers.iter().map(|(name, header)| (name.clone(), HeaderSpec::of(name, header)));
        Self {
            url: target.url.clone(),
            method: Some(target.method.into()),
            headers: Some(headers.collect()),
            timeouts: TimeoutsSpec::of(target.timeouts),
            takes_on: None,
        }
    }

    /// A mask that comes back becomes what it stands for: the present header of that name, however it is spelled. A call that goes
    /// elsewhere now keeps its credentials too: who may change a job may have it called wherever he likes.
    pub(crate) fn unmask(&mut self, present: &Called) {
        for (name, header) in self.headers.iter_mut().flatten() {
            if let (true, Some(Header::Text(kept))) = (header.is_mask(name), present.header(name)) {
                *header = HeaderSpec::text(kept);
            }
        }
    }

    /// The same of a call that is no job's target, and is named elsewhere.
    pub(crate) fn checked_at(&self, at: &str, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Called> {
        let mut part = FieldErrors::default();
        let target = self.checked(check, &mut part);
        errors.moved("/target/http", at, part);
        match target? {
            Target::Http(target) => Some(target),
            Target::Noop | Target::Workflow(_) | Target::Worker(_) | Target::Service(_) => None,
        }
    }

    fn headers_checked(&self, errors: &mut FieldErrors) -> BTreeMap<String, Header> {
        let mut checked = BTreeMap::new();
        for (name, header) in self.headers.iter().flatten() {
            match header.checked(name) {
                Ok(header) => {
                    checked.insert(name.clone(), header);
                }
                Err(why) => {
                    errors.add(format!("/target/http/headers/{}", name.replace('~', "~0").replace('/', "~1")), why);
                }
            }
        }
        checked
    }
}

impl TargetKind for HttpTarget {
    const TITLE: &'static str = "an HTTP call";

    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
        let found = errors.count();
        let target = Called {
            url: self.url.clone(),
            method: errors.word("/target/http/method", self.method.as_ref()).unwrap_or_default(),
            headers: self.headers_checked(errors),
            timeouts: self.timeouts.as_ref().map(|timeouts| timeouts.checked(errors)).unwrap_or_default(),
        };
        let target = Target::Http(target);
        if let Err((field, detail)) = check(&target) {
            errors.add(format!("/target/http/{field}"), detail);
        }
        (errors.count() == found).then_some(target)
    }
}
