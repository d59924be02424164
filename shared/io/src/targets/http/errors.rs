//! Errors of a call that got no answer, and whether the target may have seen the request.

use std::error::Error;
use std::time::Duration;

use hyper_util::client::legacy;
use minutehand_domain::run::{AttemptError, ErrorCode};

use super::dial::DialError;

pub(super) fn before_an_answer(error: &legacy::Error) -> AttemptError {
    if let Some(dial) = cause::<DialError>(error) {
        return dial.to_attempt_error();
    }
    // `is_canceled` means that the connection closed before a byte of the request was written.
    if error.is_connect() || cause::<hyper::Error>(error).is_some_and(hyper::Error::is_canceled) {
        return ErrorCode::Connect.error("the connection closed before the call was sent");
    }
    broken(cause::<hyper::Error>(error).map_or(error as &dyn Error, |error| error))
}

/// The error of a request that was sent, at least in part: the target may have acted on it.
pub(in crate::targets) fn broken(error: &dyn Error) -> AttemptError {
    ErrorCode::Broken.error(&format!("the call was sent, but no whole answer came: {error}"))
}

/// Of a call that may have been sent: the target has not begun to answer.
pub(super) fn no_first_byte(within: Option<Duration>) -> AttemptError {
    let seconds = within.unwrap_or_default().as_secs();
    ErrorCode::TimeoutFirstByte.error(&format!("no answer had begun within {seconds} s"))
}

fn cause<E: Error + 'static>(error: &legacy::Error) -> Option<&E> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        source = error.source();
    }
    None
}
