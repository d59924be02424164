//! The codes: few words, each for one way in which an attempt can end badly. They are stable, so that a client can act on them.
//! What exactly happened stands in the message beside the code.

use super::AttemptError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    Dns,
    Connect,
    Tls,
    TimeoutConnect,
    TimeoutFirstByte,
    TimeoutTotal,
    Broken,
    Http3xx,
    Http4xx,
    Http5xx,
    HttpOther,
    ForbiddenAddress,
    InvalidTarget,
    Alias,
    TooLarge,
    ServiceRefused,
    ServiceBusy,
    ServiceFailed,
    FunctionError,
    Secret,
    Hook,
    Vetoed,
    Unavailable,
    Lost,
}

/// What is known of an error by its code alone.
struct Row {
    word: &'static str,
    sentence: &'static str,
    again: Again,
    seen: Seen,
}

/// Whether the same call may succeed later.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    MayHelp,
    ChangesNothing,
}

/// Whether the target may have seen the call: what decides for a run that is tried at most once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Never,
    Perhaps,
}

impl ErrorCode {
    pub const ALL: [Self; 24] = [
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::TimeoutConnect,
        Self::TimeoutFirstByte,
        Self::TimeoutTotal,
        Self::Broken,
        Self::Http3xx,
        Self::Http4xx,
        Self::Http5xx,
        Self::HttpOther,
        Self::ForbiddenAddress,
        Self::InvalidTarget,
        Self::Alias,
        Self::TooLarge,
        Self::ServiceRefused,
        Self::ServiceBusy,
        Self::ServiceFailed,
        Self::FunctionError,
        Self::Secret,
        Self::Hook,
        Self::Vetoed,
        Self::Unavailable,
        Self::Lost,
    ];

    const fn row(self) -> Row {
        use Again::{ChangesNothing, MayHelp};
        use Seen::{Never, Perhaps};

        let (word, again, seen, sentence) = match self {
            Self::Dns => ("dns", MayHelp, Never, "No address was found for the target's name."),
            Self::Connect => ("connect", MayHelp, Never, "No connection, or it closed before the call was sent."),
            Self::Tls => ("tls", MayHelp, Never, "No TLS: no handshake, or a certificate that is not trusted."),
            Self::TimeoutConnect => (
                "timeout_connect",
                MayHelp,
                Never,
                "Name, connection and TLS together took more than `connect_seconds`.",
            ),
            Self::TimeoutFirstByte => {
                ("timeout_first_byte", MayHelp, Perhaps, "No answer had begun within `first_byte_seconds`.")
            }
            Self::TimeoutTotal => {
                ("timeout_total", MayHelp, Perhaps, "The whole answer had not come within the job's `timeout_seconds`.")
            }
            Self::Broken => {
                ("broken", MayHelp, Perhaps, "The call was sent, but no whole answer came, or none in HTTP.")
            }
            Self::Http3xx => {
                ("http_3xx", ChangesNothing, Perhaps, "The target answered with a redirect: none is followed.")
            }
            Self::Http4xx => {
                ("http_4xx", ChangesNothing, Perhaps, "The target refused the call. 408, 425 and 429 are tried again.")
            }
            Self::Http5xx => ("http_5xx", MayHelp, Perhaps, "The target failed."),
            Self::HttpOther => {
                ("http_other", ChangesNothing, Perhaps, "The target answered with a status that means nothing here.")
            }
            Self::ForbiddenAddress => (
                "forbidden_address",
                ChangesNothing,
                Never,
                "The target's address may not be called from this deployment.",
            ),
            Self::InvalidTarget => {
                ("invalid_target", ChangesNothing, Never, "The target's URL or headers are none that can be called.")
            }
            Self::Alias => (
                "alias",
                ChangesNothing,
                Never,
                "The deployment declares no such alias for the tenant, or of another kind.",
            ),
            Self::TooLarge => {
                ("too_large", ChangesNothing, Never, "What the call would carry is more than the service takes.")
            }
            Self::ServiceRefused => (
                "service_refused",
                ChangesNothing,
                Never,
                "AWS refused the call: it is not allowed, or says nothing that the service takes.",
            ),
            Self::ServiceBusy => {
                ("service_busy", MayHelp, Never, "AWS throttled the call, or had no room for what it asks.")
            }
            Self::ServiceFailed => ("service_failed", MayHelp, Perhaps, "AWS failed."),
            Self::FunctionError => ("function_error", MayHelp, Perhaps, "The Lambda function was called, and failed."),
            Self::Secret => {
                ("secret", ChangesNothing, Never, "A secret that the call names is not there, or cannot be opened.")
            }
            Self::Hook => (
                "hook",
                MayHelp,
                Never,
                "Whoever is asked before the call did not say that it goes on: nothing was called.",
            ),
            Self::Vetoed => {
                ("vetoed", ChangesNothing, Never, "Whoever is asked before the call said that it is not to be.")
            }
            Self::Unavailable => {
                ("unavailable", MayHelp, Never, "What the call needed was away here, not at the target.")
            }
            Self::Lost => {
                ("lost", MayHelp, Perhaps, "The executor went away, and nobody knows how far the attempt came.")
            }
        };
        Row { word, sentence, again, seen }
    }

    pub const fn as_str(self) -> &'static str {
        self.row().word
    }

    pub const fn sentence(self) -> &'static str {
        self.row().sentence
    }

    /// Whether the same call may succeed later, as far as the code alone says.
    pub fn is_retryable(self) -> bool {
        self.row().again == Again::MayHelp
    }

    /// Whether the target may have seen the call.
    pub fn may_have_reached(self) -> bool {
        self.row().seen == Seen::Perhaps
    }

    /// An error of this kind, and what exactly happened.
    pub fn error(self, message: &str) -> AttemptError {
        let told = AttemptError::new(self.as_str(), message);
        AttemptError { retryable: self.is_retryable(), reached: self.may_have_reached(), ..told }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const DOCS: &str = include_str!("../../../../docs/targets.md");

    #[test]
    fn the_documented_table_is_this_one() {
        let yes = |is: bool| if is { "yes" } else { "no" };
        let row = |code: ErrorCode| {
            let (again, seen) = (yes(code.is_retryable()), yes(code.may_have_reached()));
            format!("| `{}` | {} | {again} | {seen} |\n", code.as_str(), code.sentence())
        };
        let table: String = ErrorCode::ALL.into_iter().map(row).collect();

        assert!(DOCS.contains(&format!("|---|---|---|---|\n{table}\n")), "docs/targets.md should say:\n{table}");
    }

    #[test]
    fn every_code_is_a_word_of_its_own() {
        let words: BTreeSet<_> = ErrorCode::ALL.map(ErrorCode::as_str).into();

        assert_eq!(words.len(), ErrorCode::ALL.len());
        assert!(
            words.iter().all(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'))
        );
    }

    #[test]
    fn an_error_knows_what_its_code_says() {
        let (before, after) = (ErrorCode::Connect.error("refused"), ErrorCode::Http4xx.error("404"));

        assert_eq!((&*before.code, before.retryable, before.reached), ("connect", true, false));
        assert_eq!((&*after.code, after.retryable, after.reached), ("http_4xx", false, true));
    }
}
