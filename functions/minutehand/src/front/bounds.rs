//! The bounds of the front: the number of connections, and how long each phase of one may take.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};

/// Connections at a time: far more than the clients of one machine keep open, and some 64 MiB with their buffers.
const CONNECTIONS: u32 = 1_024;
/// Connections may use one in so many of the files this process may open: calls to targets and the store need the rest.
const SHARE_OF_FILES: u64 = 2;
/// From the connection, or from the first byte of a later request, to the complete head: a few hundred bytes, on any line.
const HEAD: Duration = Duration::from_secs(15);
/// From an answer to the next request: longer than the 90 s for which many clients keep an unused connection. So the
/// clients close, and no request meets a closing connection.
const IDLE: Duration = Duration::from_secs(120);
/// To the next frame of a body: a round trip of a second, and some lost packets.
const FRAME: Duration = Duration::from_secs(10);
/// To the end of a body: the largest one, at 70 KB a second.
const BODY: Duration = Duration::from_secs(60);
/// To read the part of an answer that does not fit into the kernel's buffers: a page of a list, at 35 KB a second.
const ANSWER: Duration = Duration::from_secs(30);
/// The buffer of a connection in each direction, in bytes; also the largest head, twice what other servers accept. A larger
/// head is answered with 431.
pub(super) const BUFFER_BYTES: usize = 32 * 1024;
/// The kernel's buffer for the unread part of an answer, in bytes (it doubles that): by default the kernel buffers megabytes
/// for each connection. This fills a line of 20 MB/s with a round trip of 10 ms.
pub(super) const UNREAD_BYTES: usize = 256 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(super) connections: u32,
    pub(super) head: Duration,
    pub(super) idle: Duration,
    pub(super) frame: Duration,
    pub(super) body: Duration,
    pub(super) answer: Duration,
}

impl Bounds {
    /// The bounds of this process. `MINUTEHAND_FRONT` is for tests, which would otherwise take minutes: it may set
    /// `connections=N`, and `head`, `idle`, `frame`, `body` and `answer` in milliseconds.
    pub(crate) fn of_this_process() -> Self {
        let files = getrlimit(Resource::Nofile).current;
        let overrides = std::env::var("MINUTEHAND_FRONT").unwrap_or_default();
        overrides.split(',').filter_map(|one| one.split_once('=')).fold(Self::with_files(files), Self::with_override)
    }

    /// `files` is none where their number is unlimited.
    fn with_files(files: Option<u64>) -> Self {
        let share = files.map_or(u32::MAX, |files| u32::try_from(files / SHARE_OF_FILES).unwrap_or(u32::MAX));
        Self {
            connections: CONNECTIONS.min(share).max(1),
            head: HEAD,
            idle: IDLE,
            frame: FRAME,
            body: BODY,
            answer: ANSWER,
        }
    }

    fn with_override(self, (name, value): (&str, &str)) -> Self {
        let Ok(number) = value.parse() else { return self };
        let duration = Duration::from_millis(number);
        match name {
            "connections" => Self { connections: u32::try_from(number).unwrap_or(CONNECTIONS), ..self },
            "head" => Self { head: duration, ..self },
            "idle" => Self { idle: duration, ..self },
            "frame" => Self { frame: duration, ..self },
            "body" => Self { body: duration, ..self },
            "answer" => Self { answer: duration, ..self },
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_half_of_the_files_to_calls_and_the_store() {
        for (files, connections) in [(None, 1_024), (Some(20_000), 1_024), (Some(1_024), 512), (Some(1), 1)] {
            assert_eq!(Bounds::with_files(files).connections, connections, "{files:?}");
        }
    }

    #[test]
    fn an_invalid_override_changes_nothing() {
        let bounds = Bounds::with_files(None);

        for invalid in [("head", "soon"), ("header", "1"), ("", "")] {
            assert_eq!(bounds.with_override(invalid), bounds, "{invalid:?}");
        }
        assert_eq!(bounds.with_override(("head", "300")), Bounds { head: Duration::from_millis(300), ..bounds });
    }
}
