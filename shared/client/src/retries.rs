//! Retries, for those who want them: of calls that do once what they do twice, when the server says that it is busy.

use std::time::Duration;

use crate::error::ClientError;

/// A wait where the server does not say how long.
const USUAL: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often a call is sent again.
    pub most: u32,
    /// A `Retry-After` that lies beyond it is an answer, and not waited for.
    pub longest_wait: Duration,
}

impl Retries {
    /// How long to wait before this retry (from 1); none where the refusal stands.
    pub(crate) fn wait(&self, retry: u32, error: &ClientError) -> Option<Duration> {
        let ClientError::Refused(no) = error else { return None };
        let wait = no.retry_after.map_or(USUAL, Duration::from_secs);
        (retry <= self.most && matches!(no.problem.status, 429 | 503) && wait <= self.longest_wait).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::error::Refused;

    fn refused(status: u16, retry_after: Option<u64>) -> ClientError {
        ClientError::Refused(Refused::read(StatusCode::from_u16(status).unwrap(), retry_after, "").into())
    }

    #[test]
    fn a_busy_server_is_waited_for_as_long_as_it_says_and_so_often() {
        let retries = Retries { most: 2, longest_wait: Duration::from_secs(30) };

        assert_eq!(retries.wait(1, &refused(503, Some(7))), Some(Duration::from_secs(7)));
        assert_eq!(retries.wait(2, &refused(429, None)), Some(USUAL));
        assert_eq!(retries.wait(3, &refused(503, Some(7))), None, "too often");
        assert_eq!(retries.wait(1, &refused(503, Some(31))), None, "too long");
        assert_eq!(retries.wait(1, &refused(500, Some(7))), None, "not busy");
        let unreachable = ClientError::Unreachable { server: String::new(), why: String::new() };
        assert_eq!(retries.wait(1, &unreachable), None, "it may have been carried out");
    }
}
