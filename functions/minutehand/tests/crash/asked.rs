//! A job somebody asked for, and what is known of it by the answers alone.

use minutehand_judge::{Schedule, Status};
use serde_json::Value;

use crate::client::{Answer, instant};

#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// By its name it is found again.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// As the answer told it; none where none came.
    pub(crate) made: Option<Value>,
    /// How many answers said that it was made just now.
    pub(crate) creations: u32,
    /// Answers that came from an earlier request.
    pub(crate) replays: u32,
    /// Acknowledged changes: when, by the process's clock, and to what.
    pub(crate) changes: Vec<(i64, Status)>,
    /// Runs that were asked for and acknowledged: their instant and id.
    pub(crate) runs: Vec<(i64, String)>,
    /// Requests that nobody answered.
    pub(crate) unanswered: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Now,
    At(i64),
    Every { seconds: i64, end: i64 },
    OnceAtMost,
}

impl Asked {
    pub(crate) fn new(name: String, kind: Kind) -> Self {
        Self { name, kind, made: None, creations: 0, replays: 0, changes: Vec::new(), runs: Vec::new(), unanswered: 0 }
    }

    /// As the last acknowledged change left it.
    pub(crate) fn status(&self) -> Status {
        self.changes.last().map_or(Status::Active, |(_, status)| *status)
    }

    pub(crate) fn told(&mut self, answer: &Answer, status: Status) {
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.changes.push((instant(&answer.body, "updated_at"), status));
    }
}

impl Kind {
    /// When it fires, in the judge's own arithmetic, made at that instant.
    pub(crate) fn schedule(self, created_at: i64) -> Schedule {
        match self {
            Self::Now | Self::OnceAtMost => Schedule::Once(created_at),
            // Asked for again so late that its time had come: then it is due at once.
            Self::At(due) => Schedule::Once(due.max(created_at)),
            Self::Every { seconds, end } => {
                let period = seconds * 1_000;
                Schedule::Every { first: created_at + period, period, end, at_most: None }
            }
        }
    }
}
