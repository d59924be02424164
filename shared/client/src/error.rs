//! Why a call came to nothing: the server refused it, nobody answered, the answer cannot be read; or it was never sent.

use http::StatusCode;
use minutehand_wire::Problem;
use serde_json::{Map, Value, json};
use thiserror::Error;

/// Why a server is not reached that is not running.
pub const NOBODY_LISTENS: &str = "nobody listens there";

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// The server says no.
    #[error("{detail}", detail = .0.sentence())]
    Refused(Box<Refused>),
    /// Nobody answered, or not in time. Whether the request was carried out is not known.
    #[error("cannot reach {server}: {why}")]
    Unreachable { server: String, why: String },
    #[error("the answer of {server} cannot be understood: {why}")]
    Unreadable { server: String, why: String },
    /// Nothing was sent: the address, the key or an id cannot be one.
    #[error("{0}")]
    Unsendable(String),
}

/// A problem, and when it is worth sending the request again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub problem: Problem,
    /// In seconds.
    pub retry_after: Option<u64>,
}

impl ClientError {
    pub(crate) fn unreadable(server: &str, why: &str) -> Self {
        Self::Unreadable { server: server.to_owned(), why: why.to_owned() }
    }

    /// The same call may go better later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Refused(no) => no.may_pass(),
            Self::Unreachable { .. } => true,
            Self::Unreadable { .. } | Self::Unsendable(_) => false,
        }
    }

    /// In seconds.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Refused(no) => no.retry_after,
            Self::Unreachable { .. } | Self::Unreadable { .. } | Self::Unsendable(_) => None,
        }
    }
}

impl Refused {
    /// What an answer says that is no success. Something in front of the server may have said it, in words of its own.
    pub fn read(status: StatusCode, retry_after: Option<u64>, text: &str) -> Self {
        let problem = problem_in(status, text).unwrap_or_else(|| {
            let title = status.canonical_reason().unwrap_or("no");
            whole([("title".to_owned(), json!(title))].into_iter().collect(), status).expect("all fields are there")
        });
        Self { problem, retry_after }
    }

    pub fn may_pass(&self) -> bool {
        matches!(self.problem.status, 429 | 502..=504)
    }

    fn sentence(&self) -> String {
        let Problem { title, detail, status, .. } = &self.problem;
        if detail.is_empty() { format!("{title} ({status})") } else { detail.clone() }
    }
}

/// What has a title is a problem, whatever else it leaves out.
fn problem_in(status: StatusCode, text: &str) -> Option<Problem> {
    let fields: Map<String, Value> = serde_json::from_str(text).ok()?;
    fields.get("title").and_then(Value::as_str).filter(|title| !title.is_empty())?;
    whole(fields, status)
}

fn whole(mut fields: Map<String, Value>, status: StatusCode) -> Option<Problem> {
    for (name, usual) in [("type", json!("")), ("detail", json!("")), ("errors", json!([])), ("request_id", json!(""))]
    {
        fields.entry(name).or_insert(usual);
    }
    fields.insert("status".to_owned(), json!(status.as_u16()));
    serde_json::from_value(Value::Object(fields)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, text: &str) -> Refused {
        Refused::read(StatusCode::from_u16(status).unwrap(), Some(3), text)
    }

    #[test]
    fn a_problem_is_read_whole_or_as_far_as_it_goes() {
        let cases = [
            (
                404,
                r#"{"type":"/problems/not-found","title":"Not found","detail":"no such job","more":1}"#,
                "no such job",
            ),
            (403, r#"{"title":"Forbidden"}"#, "Forbidden (403)"),
            (502, "<html>bad gateway</html>", "Bad Gateway (502)"),
            (403, r#"{"message":"Forbidden"}"#, "Forbidden (403)"),
            (599, "", "no (599)"),
        ];
        for (status, text, sentence) in cases {
            let no = read(status, text);
            assert_eq!((no.problem.status, no.sentence().as_str()), (status, sentence), "{text}");
        }
    }

    #[test]
    fn only_what_may_pass_is_worth_another_try() {
        for (status, passes) in [(503, true), (429, true), (500, false), (422, false), (401, false), (404, false)] {
            assert_eq!(ClientError::Refused(read(status, "").into()).may_pass(), passes, "{status}");
        }
        assert!(ClientError::Unreachable { server: String::new(), why: String::new() }.may_pass());
        assert!(!ClientError::unreadable("", "").may_pass());
    }
}
