//! A problem: the server says no, in the words of RFC 9457. Shown as one sentence, and a line for each field.

use http::StatusCode;
use serde::Deserialize;

use super::table::tame;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Problem {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    title: String,
    detail: String,
    errors: Vec<FieldError>,
    pub(crate) request_id: Option<String>,
    #[serde(skip)]
    pub(crate) status: u16,
    /// The seconds after which asking again is worth it.
    #[serde(skip)]
    pub(crate) retry_after: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct FieldError {
    pointer: String,
    detail: String,
}

impl Problem {
    /// What an answer says that is no success. Something in front of the server may have said it, in its own words.
    pub(crate) fn read(status: StatusCode, retry_after: Option<u64>, text: &str) -> Self {
        let reason = || Self { title: status.canonical_reason().unwrap_or("no").to_owned(), ..Self::default() };
        let told = serde_json::from_str::<Self>(text).ok().filter(|told| !told.title.is_empty());
        Self { status: status.as_u16(), retry_after, ..told.unwrap_or_else(reason) }
    }

    /// Asking again may go better.
    pub(crate) fn passes(&self) -> bool {
        matches!(self.status, 429 | 502..=504)
    }

    /// One sentence; where fields are named, they follow in [`Self::fields`] and not here.
    pub(crate) fn sentence(&self) -> String {
        let said = match (self.errors.as_slice(), self.detail.as_str()) {
            ([], "") => format!("{} ({})", self.title, self.status),
            ([], detail) => detail.to_owned(),
            _ => self.title.clone(),
        };
        let mut sentence = tame(&said);
        if let (true, Some(seconds)) = (self.passes(), self.retry_after) {
            sentence = format!("{sentence} (again in {seconds} s)");
        }
        sentence
    }

    pub(crate) fn fields(&self) -> Vec<String> {
        let told = |error: &FieldError| match error.pointer.as_str() {
            "" => tame(&error.detail),
            pointer => tame(&format!("{pointer}: {}", error.detail)),
        };
        self.errors.iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, text: &str) -> Problem {
        Problem::read(StatusCode::from_u16(status).unwrap(), Some(3), text)
    }

    #[test]
    fn a_problem_is_a_sentence_and_its_fields() {
        let problem = read(
            422,
            r#"{"type":"/problems/invalid","title":"The request is understood but impossible","status":422,
                "detail":"/priority: no (and 1 more)","errors":[{"pointer":"/priority","detail":"no"},{"pointer":"","detail":"all of it"}],
                "request_id":"req_1","more":1}"#,
        );

        assert_eq!(problem.sentence(), "The request is understood but impossible");
        assert_eq!(problem.fields(), ["/priority: no", "all of it"]);
        assert_eq!(problem.request_id.as_deref(), Some("req_1"));
    }

    #[test]
    fn a_problem_without_fields_says_its_detail() {
        let cases = [
            (404, r#"{"title":"Not found","detail":"there is no such job"}"#, "there is no such job"),
            (429, r#"{"title":"Too many","detail":"too many requests"}"#, "too many requests (again in 3 s)"),
            (403, r#"{"title":"Forbidden"}"#, "Forbidden (403)"),
            (502, "<html>bad gateway</html>", "Bad Gateway (502) (again in 3 s)"),
            (403, r#"{"message":"Forbidden"}"#, "Forbidden (403)"),
            (599, "", "no (599)"),
        ];
        for (status, text, sentence) in cases {
            assert_eq!(read(status, text).sentence(), sentence, "{text}");
        }
    }

    #[test]
    fn what_the_server_says_cannot_move_the_cursor() {
        let problem = read(400, "{\"title\":\"t\",\"detail\":\"a\\u001b[2Jb\"}");

        assert_eq!(problem.sentence(), "a\u{fffd}[2Jb");
    }
}
