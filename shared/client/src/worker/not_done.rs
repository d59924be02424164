//! How a handler ends that has not done its run: it failed, or somebody else is to do it.

use std::any::type_name;
use std::error::Error;

/// Any error becomes one, by `?`: then the attempt has failed, and is tried again as the job says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotDone {
    Failed {
        /// A word to act on: up to 64 letters, digits, `.`, `_` and `-`.
        code: String,
        message: String,
        retryable: bool,
    },
    /// Somebody else is to do it: the run is ready again at once, and this costs no attempt.
    HandBack,
    /// It was told to stop, and did.
    Cancelled,
}

impl NotDone {
    pub fn failed(code: &str, message: &str) -> Self {
        Self::Failed { code: code.to_owned(), message: message.to_owned(), retryable: true }
    }

    /// Another try would go no better.
    #[must_use]
    pub fn for_good(self) -> Self {
        match self {
            Self::Failed { code, message, .. } => Self::Failed { code, message, retryable: false },
            other => other,
        }
    }
}

/// Its code is the name of the error's type.
impl<E: Error> From<E> for NotDone {
    fn from(error: E) -> Self {
        let whole = type_name::<E>();
        let path = whole.split('<').next().unwrap_or(whole);
        Self::failed(path.rsplit("::").next().unwrap_or(path), &error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_failure_with_its_own_name() {
        let error = "x".parse::<u64>().unwrap_err();

        let not_done = NotDone::from(error);

        assert_eq!(not_done, NotDone::failed("ParseIntError", "invalid digit found in string"));
        assert!(matches!(not_done.for_good(), NotDone::Failed { retryable: false, .. }));
    }
}
