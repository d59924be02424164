//! A veto: how a hook says that a run is not to be, with 409 and a sentence.

use minutehand_domain::run::{AttemptError, ErrorCode};

/// How an error begins that tells of such an answer.
const ANSWERED: &str = "the target answered 409";

/// The sentence of whoever answered with 409; what the answer was, where it said nothing.
pub fn veto_in(error: &AttemptError) -> Option<String> {
    let rest = error.message.strip_prefix(ANSWERED).filter(|_| error.code == ErrorCode::Http4xx.as_str())?;
    let said = rest.split_once(": ").map_or("", |(_, said)| said);
    Some(if said.is_empty() { "the hook before the call answered 409".to_owned() } else { said.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_409_is_a_veto() {
        let said = |code: ErrorCode, message: &str| veto_in(&code.error(message));

        let sentence = "the target answered 409 Conflict: the books: closed";
        assert_eq!(said(ErrorCode::Http4xx, sentence).as_deref(), Some("the books: closed"));
        assert!(said(ErrorCode::Http4xx, "the target answered 409 Conflict").is_some());
        assert_eq!(said(ErrorCode::Http4xx, "the target answered 404 Not Found"), None);
        assert_eq!(said(ErrorCode::Broken, sentence), None);
    }
}
