//! Trouble: why a command did not do what was asked, and the exit code that says so to scripts.

use std::io;
use std::process::ExitCode;

use thiserror::Error;

use super::problem::Problem;
use super::table::{BAD, FAINT, tame};

/// For `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the server refused, or cannot be reached
  2  this is not how the command is used
  3  there is no such obligation
  4  no key, a wrong key, or one that may not do this
  5  the run that was waited for ended, but did not succeed";

#[derive(Debug, Error)]
pub(crate) enum Trouble {
    #[error("{0}")]
    Usage(String),
    #[error("{sentence}", sentence = .0.sentence())]
    Refused(Box<Problem>),
    /// Nobody answered, or not in time. Whether the request was carried out, nobody knows.
    #[error("cannot reach {server}: {why}")]
    Unreachable { server: String, why: String, hint: Option<&'static str> },
    #[error("the answer of {server} cannot be understood: {why}")]
    Strange { server: String, why: String },
    /// It was waited for, and ended otherwise than succeeded.
    #[error("{0}")]
    RunEnded(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Trouble {
    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Refused(problem) => match problem.status {
                404 => 3,
                401 | 403 => 4,
                _ => 1,
            },
            Self::RunEnded(_) => 5,
            // Whoever reads our output has seen enough: `minutehand jobs list | head -1`.
            Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Unreachable { .. } | Self::Strange { .. } | Self::Io(_) => 1,
        }
    }

    /// What may be gone when it is asked again.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::Refused(problem) => problem.passes(),
            Self::Unreachable { .. } => true,
            Self::Usage(_) | Self::Strange { .. } | Self::RunEnded(_) | Self::Io(_) => false,
        }
    }

    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Refused(problem) => problem.retry_after,
            _ => None,
        }
    }

    /// Said on stderr.
    pub(crate) fn exit(&self, verbose: bool) -> ExitCode {
        let code = self.code();
        if code != 0 {
            let mut stderr = anstream::stderr().lock();
            // There is nobody left to tell that nobody can be told.
            let _told = self.tell(verbose, &mut stderr);
        }
        ExitCode::from(code)
    }

    fn tell(&self, verbose: bool, stderr: &mut impl io::Write) -> io::Result<()> {
        writeln!(stderr, "{BAD}minutehand:{BAD:#} {}", tame(&self.to_string()))?;
        match self {
            Self::Refused(problem) => {
                for field in problem.fields() {
                    writeln!(stderr, "  {field}")?;
                }
                if problem.status == 401 {
                    writeln!(stderr, "  set MINUTEHAND_KEY, or give --key")?;
                }
                if let (true, Some(id)) = (verbose || problem.status >= 500, &problem.request_id) {
                    writeln!(stderr, "{FAINT}  {} {} {}{FAINT:#}", problem.status, tame(&problem.kind), tame(id))?;
                }
            }
            Self::Unreachable { hint: Some(hint), .. } => writeln!(stderr, "  {hint}")?,
            Self::Usage(_) => writeln!(stderr, "  `--help` says how it is used")?,
            Self::Unreachable { hint: None, .. } | Self::Strange { .. } | Self::RunEnded(_) | Self::Io(_) => {}
        }
        stderr.flush()
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn refused(status: u16) -> Trouble {
        Trouble::Refused(Problem::read(StatusCode::from_u16(status).unwrap(), None, "").into())
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
            (Trouble::Usage(String::new()), 2),
            (Trouble::RunEnded(String::new()), 5),
            (Trouble::Unreachable { server: String::new(), why: String::new(), hint: None }, 1),
            (Trouble::Io(io::ErrorKind::BrokenPipe.into()), 0),
            (Trouble::Io(io::ErrorKind::StorageFull.into()), 1),
        ];
        for (trouble, code) in cases {
            assert_eq!(trouble.code(), code, "{trouble:?}");
        }
    }

    #[test]
    fn only_what_passes_is_asked_again() {
        for (status, passes) in [(503, true), (429, true), (500, false), (422, false), (401, false), (404, false)] {
            assert_eq!(refused(status).passes(), passes, "{status}");
        }
    }
}
