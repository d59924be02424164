//! The log of a run, as it is shown: what workers said line by line, or what the calls of an HTTP target were answered.

use minutehand_domain::body::Json;
use minutehand_domain::limits::PAGE;
use minutehand_domain::run::logbook::{LateAnswer, LateWord, LogPiece};
use minutehand_domain::run::{Attempt, Ending};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;

/// The head of an answer that stands in the log of a run: a screen of it.
const HEAD_CHARS: usize = 500;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogsQuery {
    /// The last so many lines, in place of the first.
    #[schemars(range(min = 1, max = PAGE))]
    pub tail: Option<usize>,
    /// From the line of this number on.
    pub from: Option<u32>,
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
}

/// Some lines of a run's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogsView {
    /// In their order.
    pub items: Vec<LogLineView>,
    /// How many of the oldest lines are not kept any more.
    pub dropped: u32,
    /// Where to go on: `from` of the next question. Asked again later, it shows what came since.
    pub next: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LogLine")]
pub struct LogLineView {
    /// From 0.
    pub number: u32,
    pub at: Instant,
    pub attempt: u32,
    pub line: String,
}

/// An answer that came when its lease was over: it changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LateAnswer")]
pub struct LateAnswerView {
    pub at: Instant,
    /// Whose attempt it was.
    pub attempt: u32,
    /// What was said of it: `succeeded` or `failed`.
    pub outcome: String,
}

impl LogsView {
    /// Of a run that a worker has or had.
    pub fn of_pieces(pieces: &[LogPiece], from: u32, limit: usize, dropped: u32) -> Self {
        Self::of(pieces.iter().flat_map(LogLineView::of_piece), from, limit, dropped)
    }

    /// Of a run that was called: what each attempt was answered.
    pub fn of_calls(attempts: &[Attempt], result: Option<&Json>, from: u32, limit: usize) -> Self {
        let lines = attempts.iter().filter_map(|attempt| called(attempt, result));
        Self::of((0..).zip(lines).map(|(number, line)| LogLineView { number, ..line }), from, limit, 0)
    }

    /// From the line of this number on.
    fn of(lines: impl Iterator<Item = LogLineView>, from: u32, limit: usize, dropped: u32) -> Self {
        let items: Vec<_> = lines.filter(|line| line.number >= from).take(limit).collect();
        let next = items.last().map_or(from, |last| last.number + 1);
        Self { items, dropped, next }
    }
}

impl LogLineView {
    fn of_piece(piece: &LogPiece) -> impl Iterator<Item = Self> {
        let (at, attempt) = (Instant(piece.at), piece.attempt);
        (piece.first..).zip(&piece.lines).map(move |(number, line)| Self { number, at, attempt, line: line.clone() })
    }
}

impl LateAnswerView {
    pub fn of(answer: &LateAnswer) -> Self {
        let outcome = match answer.word {
            LateWord::Succeeded => "succeeded",
            LateWord::Failed => "failed",
        };
        Self { at: Instant(answer.at), attempt: answer.fence, outcome: outcome.to_owned() }
    }
}

fn called(attempt: &Attempt, result: Option<&Json>) -> Option<LogLineView> {
    let ended = attempt.ended.as_ref()?;
    let line = match (&ended.how, result) {
        (Ending::Succeeded, Some(result)) => format!("answered {}", head(result.as_str())),
        (Ending::Succeeded, None) => "answered, with no body".to_owned(),
        (Ending::Failed(error) | Ending::TimedOut(error), _) => format!("{}: {}", error.code, error.message),
        (Ending::Lost, _) => "lost: nobody knows how far it came".to_owned(),
    };
    Some(LogLineView { number: 0, at: Instant(ended.at), attempt: attempt.number, line })
}

fn head(text: &str) -> String {
    let cut = text.char_indices().nth(HEAD_CHARS).map(|(at, _)| at);
    cut.map_or_else(|| text.to_owned(), |at| format!("{} …", &text[..at]))
}
