//! The target `http`: a call with the payload as its JSON body.

use std::collections::BTreeMap;

use minutehand_domain::limits::{HEADER_BYTES, HEADERS};
use minutehand_domain::target::{Header, HttpTarget as Called, Method, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HeaderSpec, TargetCheck, TargetKind};
use crate::component::AskedOrShown;
use crate::field_errors::FieldErrors;
use crate::texts::UrlText;
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
}

impl HttpTarget {
    pub(super) fn of(target: &Called) -> Self {
        let headers = target.headers.iter().map(|(name, header)| (name.clone(), HeaderSpec::of(name, header)));
        Self { url: target.url.clone(), method: Some(target.method.into()), headers: Some(headers.collect()) }
    }

    /// A mask that comes back becomes what it stands for: the present header of that name, however it is spelled. A call that goes
    /// elsewhere now keeps its credentials too: who may change a job may have it called wherever he likes.
    pub(super) fn unmask(&mut self, present: &Called) {
        for (name, header) in self.headers.iter_mut().flatten() {
            if let (true, Some(Header::Text(kept))) = (header.is_mask(name), present.header(name)) {
                *header = HeaderSpec::text(kept);
            }
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
        };
        if let Err((field, detail)) = check(&target) {
            errors.add(format!("/target/http/{field}"), detail);
        }
        (errors.count() == found).then_some(Target::Http(target))
    }
}
