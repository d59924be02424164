//! What workers said of a run, beside the run: its logbook, the pieces of its log, and what is kept for the next holder.

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::logbook::{Checkpoint, LateAnswer, LateWord, Lines, LogPiece, Logbook, Progress};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::{Many, Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span, parts_of};

impl Item for Logbook {
    const KIND: &'static str = "logbook";

    type Key = RunKey;

    fn place(run: &RunKey) -> Place {
        Place::new(Partition::History(run.job), parts_of(*run))
    }
}

impl Item for Checkpoint {
    const KIND: &'static str = "checkpoint";

    type Key = RunKey;

    fn place(run: &RunKey) -> Place {
        Place::new(Partition::History(run.job), parts_of(*run))
    }
}

impl Item for LogPiece {
    const KIND: &'static str = "log";
    const IMMUTABLE: bool = true;

    /// The run, and the number of its first line.
    type Key = (RunKey, u32);

    fn place((run, first): &Self::Key) -> Place {
        let mut sort = parts_of(*run).to_vec();
        sort.push(Part::Number(*first));
        Place::new(Partition::History(run.job), sort)
    }
}

/// A run's log from a line on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogFrom {
    pub run: RunKey,
    pub first: u32,
}

impl Listed for LogPiece {
    type Within = LogFrom;

    fn span(LogFrom { run, first }: &LogFrom, past: Option<&Self::Key>) -> Option<Span> {
        let (within, from) = (parts_of(*run).to_vec(), Some(Part::Number(*first)));
        let past = past.map(|key| Self::place(key).sort);
        Some(Span { partition: Partition::History(run.job), within, from, to: None, past, order: Order::Forward })
    }
}

impl Stored for Logbook {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<LogbookV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<LogbookV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

impl Stored for Checkpoint {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<CheckpointV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<CheckpointV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

impl Stored for LogPiece {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<LogPieceV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<LogPieceV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    LogbookV1 => Logbook,
    LinesV1 => Lines,
    LateAnswerV1 => LateAnswer,
    LateWordV1 => LateWord,
    CheckpointV1 => Checkpoint,
    LogPieceV1 => LogPiece,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Logbook")]
struct LogbookV1 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    fence: u32,
    progress: Option<Progress>,
    stage: Option<String>,
    has_checkpoint: bool,
    #[serde(with = "LinesV1")]
    lines: Lines,
    #[serde(with = "Many::<LateAnswerV1>")]
    late: Vec<LateAnswer>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lines")]
struct LinesV1 {
    next: u32,
    bytes: u32,
    dropped: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LateAnswer")]
struct LateAnswerV1 {
    at: Moment,
    fence: u32,
    #[serde(with = "LateWordV1")]
    word: LateWord,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LateWord", rename_all = "snake_case")]
enum LateWordV1 {
    Succeeded,
    Failed,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Checkpoint")]
struct CheckpointV1 {
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    fence: u32,
    at: Moment,
    value: Json,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "LogPiece")]
struct LogPieceV1 {
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    first: u32,
    at: Moment,
    attempt: u32,
    lines: Vec<String>,
}
