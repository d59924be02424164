//! The bounds of the front: how many may be connected, and how long each thing they do may take.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};

/// Connections at a time: far more than the clients of one machine keep open, and with their buffers some 64 MiB.
const CONNECTIONS: u32 = 1_024;
/// Of the files this process may open, connections are at most one in so many: calls to targets and the store need theirs.
const SHARE_OF_FILES: u64 = 2;
/// From the connection, or from the first byte of a later request, until its head is there: a few hundred bytes, on any line.
const HEAD: Duration = Duration::from_secs(15);
/// From an answer to the next request: longer than the 90 s for which many clients keep a connection that they do not use.
/// So it is they who close, and no request meets a connection that is just being closed.
const IDLE: Duration = Duration::from_secs(120);
/// Until the next piece of a body: a second's round trip, and some packets that were lost on the way.
const FRAME: Duration = Duration::from_secs(10);
/// Until the whole of a body: the largest one, at 70 KB a second.
const BODY: Duration = Duration::from_secs(60);
/// Until a client has taken what does not fit into the kernel's buffers: a page of a list, at 35 KB a second.
const ANSWER: Duration = Duration::from_secs(30);
/// What one connection buffers of what comes and of what goes, in bytes; the largest head, too, which is twice what others
/// let in. Above it the answer is 431.
pub(super) const BUFFER_BYTES: usize = 32 * 1024;
/// What the kernel keeps of an answer that is not read yet, in bytes (it doubles that): left to itself, it keeps megabytes for
/// everybody. It fills a line of 20 MB/s over 10 ms.
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
    /// What this process can keep. `MINUTEHAND_FRONT` is for tests, which would otherwise take minutes: it may say
    /// `connections=N`, and `head`, `idle`, `frame`, `body` and `answer` in milliseconds.
    pub(crate) fn of_this_process() -> Self {
        let files = getrlimit(Resource::Nofile).current;
        let told = std::env::var("MINUTEHAND_FRONT").unwrap_or_default();
        told.split(',').filter_map(|one| one.split_once('=')).fold(Self::with_files(files), Self::told)
    }

    /// None where there is no end to the files.
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

    fn told(self, (name, value): (&str, &str)) -> Self {
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
    fn connections_leave_half_of_the_files_to_what_the_process_is_for() {
        for (files, connections) in [(None, 1_024), (Some(20_000), 1_024), (Some(1_024), 512), (Some(1), 1)] {
            assert_eq!(Bounds::with_files(files).connections, connections, "{files:?}");
        }
    }

    #[test]
    fn what_is_not_understood_changes_nothing() {
        let bounds = Bounds::with_files(None);

        for told in [("head", "soon"), ("header", "1"), ("", "")] {
            assert_eq!(bounds.told(told), bounds, "{told:?}");
        }
        assert_eq!(bounds.told(("head", "300")), Bounds { head: Duration::from_millis(300), ..bounds });
    }
}
