//! A precondition: the version of a job that a change applies to. The ETag is the job's generation.

use axum::extract::FromRequestParts;
use http::header::{ETAG, IF_MATCH};
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use minutehand_domain::job::Job;

use crate::problem::{Kind, Problem};

/// The tags of `If-Match`, if present.
pub(crate) struct IfMatch(Option<Vec<String>>);

impl IfMatch {
    /// Checks that the change applies to the job's current version.
    pub(crate) fn check(&self, job: &Job) -> Result<(), Problem> {
        self.check_tag(&tag_of(job), "job")
    }

    /// The same of whatever has this tag.
    pub(crate) fn check_tag(&self, tag: &str, what: &str) -> Result<(), Problem> {
        let Some(tags) = &self.0 else { return Ok(()) };
        if tags.iter().any(|given| given == "*" || *given == tag) {
            return Ok(());
        }
        Err(Problem::new(
            Kind::VersionMismatch,
            format!("the {what}'s version is {tag} by now; read it again and decide again"),
        ))
    }

    /// Whether it names versions: `*` is any.
    pub(crate) fn is_given(&self) -> bool {
        self.0.as_ref().is_some_and(|tags| !tags.iter().any(|tag| tag == "*"))
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let mut tags = None;
        for value in parts.headers.get_all(IF_MATCH) {
            let text = value.to_str().map_err(|_| unreadable())?;
            tags.get_or_insert_with(Vec::new).extend(text.split(',').map(|tag| tag.trim().to_owned()));
        }
        Ok(Self(tags))
    }
}

fn unreadable() -> Problem {
    Problem::new(Kind::Malformed, "the header If-Match must be visible ASCII")
}

/// A strong tag: two answers with the same tag show the same job.
fn tag_of(job: &Job) -> String {
    format!("\"{}\"", job.generation)
}

pub(crate) fn etag(job: &Job) -> [(HeaderName, HeaderValue); 1] {
    [(ETAG, HeaderValue::try_from(tag_of(job)).expect("digits in quotes"))]
}
