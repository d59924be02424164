//! A problem on the terminal: one sentence, and a line for each field.

use minutehand_client::Refused;
use minutehand_client::wire::FieldError;

use super::table::tame;

/// Where fields are named, they follow in [`fields`] and not here.
pub(crate) fn sentence(refused: &Refused) -> String {
    let problem = &refused.problem;
    let text = match (problem.errors.as_slice(), problem.detail.as_str()) {
        ([], "") => format!("{} ({})", problem.title, problem.status),
        ([], detail) => detail.to_owned(),
        _ => problem.title.clone(),
    };
    let sentence = tame(&text);
    match refused.retry_after.filter(|_| refused.may_pass()) {
        Some(seconds) => format!("{sentence} (again in {seconds} s)"),
        None => sentence,
    }
}

pub(crate) fn fields(refused: &Refused) -> Vec<String> {
    let line = |error: &FieldError| match error.pointer.as_str() {
        "" => tame(&error.detail),
        pointer => tame(&format!("{pointer}: {}", error.detail)),
    };
    refused.problem.errors.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn read(status: u16, text: &str) -> Refused {
        Refused::read(StatusCode::from_u16(status).unwrap(), Some(3), text)
    }

    #[test]
    fn a_problem_is_a_sentence_and_its_fields() {
        let problem = read(
            422,
            r#"{"type":"/problems/invalid","title":"The request is understood but impossible","status":422,
                "detail":"/priority: no (and 1 more)","errors":[{"pointer":"/priority","detail":"no"},{"pointer":"","detail":"all of it"}],
                "request_id":"req_1","more":1}"#,
        );

        assert_eq!(sentence(&problem), "The request is understood but impossible");
        assert_eq!(fields(&problem), ["/priority: no", "all of it"]);
        assert_eq!(problem.problem.request_id, "req_1");
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
        for (status, text, shown) in cases {
            assert_eq!(sentence(&read(status, text)), shown, "{text}");
        }
    }

    #[test]
    fn what_the_server_says_cannot_move_the_cursor() {
        let problem = read(400, "{\"title\":\"t\",\"detail\":\"a\\u001b[2Jb\"}");

        assert_eq!(sentence(&problem), "a\u{fffd}[2Jb");
    }
}
