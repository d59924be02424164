//! Failures: why a command did not do what was asked, and the exit code that says so to scripts.

use std::io;
use std::process::ExitCode;

use minutehand_client::{ClientError, NOBODY_LISTENS, Refused, server_url};
use thiserror::Error;

use super::connection::is_here;
use super::problem::{fields, sentence};
use super::table::{BAD, FAINT, tame};

/// For `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the server refused, or cannot be reached; or a file that is validated has errors
  2  this is not how the command is used, or a file cannot be read
  3  there is no such thing
  4  no key, a wrong key, or one that may not do this
  5  the run that was waited for ended, but did not succeed
  6  a check found something";

#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("{sentence}", sentence = sentence(.0))]
    Refused(Box<Refused>),
    /// Nobody answered, or not in time. Whether the request was carried out, nobody knows.
    #[error("cannot reach {server}: {why}")]
    Unreachable { server: String, why: String, hint: Option<&'static str> },
    #[error("the answer of {server} cannot be understood: {why}")]
    Unreadable { server: String, why: String },
    /// It was waited for, and ended otherwise than succeeded. Of a workflow's run, what failed in it follows line by line.
    #[error("{said}")]
    RunEnded { said: String, failed: Vec<String> },
    /// A file that cannot be read, or is none of its kind.
    #[error("{0}")]
    File(String),
    /// A file that was looked at has errors, which were said.
    #[error("{0}")]
    Invalid(String),
    /// Of several that were asked for at once some were refused, which was said of each.
    #[error("{refused} of {all} were not: PROBLEM says why of each")]
    Some { refused: usize, all: usize, unknown: usize },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(refused) => Self::Refused(refused),
            ClientError::Unreachable { server, why } => {
                let hint = hint(&server, &why);
                Self::Unreachable { server, why, hint }
            }
            ClientError::Unreadable { server, why } => Self::Unreadable { server, why },
            ClientError::Unsendable(why) => Self::Usage(why),
        }
    }
}

/// What may help where the reason is told in a library's words.
fn hint(server: &str, why: &str) -> Option<&'static str> {
    let is_here = || server_url(server).is_ok_and(|url| is_here(&url));
    match why {
        NOBODY_LISTENS if is_here() => {
            Some("is it running? `minutehand serve` starts one; MINUTEHAND_URL says where it is")
        }
        _ if why.contains("InvalidContentType") => Some("it does not speak TLS: is it http://?"),
        _ if server.starts_with("http:") && why.contains("invalid HTTP version") => {
            Some("it does not speak HTTP: is it https://?")
        }
        _ if why.contains("not valid for name") => Some("ask it by a name that its certificate has"),
        _ => None,
    }
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::File(_) => 2,
            Self::Refused(refused) => match refused.problem.status {
                404 => 3,
                401 | 403 => 4,
                _ => 1,
            },
            Self::Some { refused, unknown, .. } if refused == unknown => 3,
            Self::RunEnded { .. } => 5,
            // The reader of our output has seen enough: `minutehand jobs list | head -1`.
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Some { .. } | Self::Unreachable { .. } | Self::Unreadable { .. } | Self::Invalid(_) | Self::Io(_) => {
                1
            }
        }
    }

    /// The same may go better later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Refused(refused) => refused.may_pass(),
            Self::Unreachable { .. } => true,
            Self::Usage(_)
            | Self::File(_)
            | Self::Unreadable { .. }
            | Self::RunEnded { .. }
            | Self::Invalid(_)
            | Self::Some { .. }
            | Self::Io(_) => false,
        }
    }

    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Refused(refused) => refused.retry_after,
            _ => None,
        }
    }

    /// Written to stderr.
    pub(crate) fn exit(&self, verbose: bool) -> ExitCode {
        let code = self.code();
        if code != 0 {
            let mut stderr = anstream::stderr().lock();
            // Nobody is left who could read that this cannot be written.
            let _written = self.write(verbose, &mut stderr);
        }
        ExitCode::from(code)
    }

    fn write(&self, verbose: bool, stderr: &mut impl io::Write) -> io::Result<()> {
        writeln!(stderr, "{BAD}minutehand:{BAD:#} {}", tame(&self.to_string()))?;
        match self {
            Self::Refused(refused) => {
                let problem = &refused.problem;
                for field in fields(refused) {
                    writeln!(stderr, "  {field}")?;
                }
                if problem.status == 401 {
                    writeln!(stderr, "  --key gives one, or else MINUTEHAND_KEY; --verbose says which was sent")?;
                }
                if (verbose || problem.status >= 500) && !problem.request_id.is_empty() {
                    let (status, kind, id) = (problem.status, tame(&problem.kind), tame(&problem.request_id));
                    writeln!(stderr, "{FAINT}  {status} {kind} {id}{FAINT:#}")?;
                }
            }
            Self::Unreachable { hint: Some(hint), .. } => writeln!(stderr, "  {hint}")?,
            Self::RunEnded { failed, .. } => {
                for line in failed {
                    writeln!(stderr, "  {}", tame(line))?;
                }
            }
            Self::Usage(_) => writeln!(stderr, "  `--help` says how it is used")?,
            Self::Unreachable { hint: None, .. }
            | Self::Unreadable { .. }
            | Self::File(_)
            | Self::Some { .. }
            | Self::Invalid(_)
            | Self::Io(_) => {}
        }
        stderr.flush()
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn a_slip_with_tls_is_told_in_words() {
        let rows = [
            ("https://h", "received corrupt message of type InvalidContentType", Some("http://?")),
            ("http://h", "invalid HTTP version parsed", Some("https://?")),
            ("https://h", "certificate not valid for name \"h\"", Some("a name")),
            ("https://h", NOBODY_LISTENS, None),
            ("http://127.0.0.1:1", NOBODY_LISTENS, Some("minutehand serve")),
            ("https://h", "nothing within 30 s", None),
        ];
        for (server, why, said) in rows {
            let hint = hint(server, why);
            assert_eq!(hint.is_some(), said.is_some(), "{why}");
            assert!(hint.unwrap_or_default().contains(said.unwrap_or_default()), "{why}: {hint:?}");
        }
    }

    fn refused(status: u16) -> Failure {
        Failure::Refused(Refused::read(StatusCode::from_u16(status).unwrap(), None, "").into())
    }

    #[test]
    fn exit_codes_are_what_the_help_says() {
        let cases = [
            (refused(422), 1),
            (refused(409), 1),
            (refused(429), 1),
            (refused(503), 1),
            (refused(404), 3),
            (refused(401), 4),
            (refused(403), 4),
            (Failure::Usage(String::new()), 2),
            (Failure::File(String::new()), 2),
            (Failure::RunEnded { said: String::new(), failed: Vec::new() }, 5),
            (Failure::Invalid(String::new()), 1),
            (Failure::Unreachable { server: String::new(), why: String::new(), hint: None }, 1),
            (Failure::Io(io::ErrorKind::BrokenPipe.into()), 0),
            (Failure::Io(io::ErrorKind::StorageFull.into()), 1),
        ];
        for (failure, code) in cases {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }
}
