//! A run's logbook: what workers elsewhere said of it while they had it, and what came too late to count.
//!
//! It lies beside the run and never inside of it: who carries a run out says nothing that decides what becomes of it, and a run of which
//! nobody says anything has none.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Refusal;
use crate::Moment;
use crate::body::Json;
use crate::id::{RunKey, Tenant};
use crate::limits::{LATE_ANSWERS, LOG_BYTES};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logbook {
    pub tenant: Tenant,
    pub run: RunKey,
    /// The claim whose holder spoke last.
    pub fence: u32,
    pub progress: Option<Progress>,
    /// What the holder was doing, in its own words.
    pub stage: Option<String>,
    /// Whether something is kept for the next holder.
    pub has_checkpoint: bool,
    pub lines: Lines,
    /// Answers under a lease that was over, the newest of them, oldest first.
    pub late: Vec<LateAnswer>,
}

/// How much of a run is done, as its holder says: in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Progress(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("give from 0 to 1")]
pub struct NotAProgress;

/// The lines of a run's log, counted. They lie beside the logbook in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The number of the next one.
    pub next: u32,
    /// What those have that are kept.
    pub bytes: u32,
    /// How many of the oldest are not kept any more.
    pub dropped: u32,
}

/// Some lines that were said at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPiece {
    pub run: RunKey,
    /// The number of the first.
    pub first: u32,
    pub at: Moment,
    pub attempt: u32,
    pub lines: Vec<String>,
}

/// What a holder keeps for whoever has the run after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub run: RunKey,
    /// The claim whose holder kept it.
    pub fence: u32,
    pub at: Moment,
    pub value: Json,
}

/// What somebody said whose lease was over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateAnswer {
    pub at: Moment,
    /// The claim that it had.
    pub fence: u32,
    pub word: LateWord,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateWord {
    Succeeded,
    Failed,
}

/// What a holder says of a run beside that it is alive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub progress: Option<Progress>,
    pub stage: Option<String>,
    pub checkpoint: Option<Json>,
    pub lines: Vec<String>,
}

impl Logbook {
    /// Nobody has said anything yet.
    pub fn blank(tenant: Tenant, run: RunKey) -> Self {
        let (progress, stage, lines, late) = (None, None, Lines::default(), Vec::new());
        Self { tenant, run, fence: 0, progress, stage, has_checkpoint: false, lines, late }
    }

    /// As what its holder says leaves it. Guard **fence**: who held the run before has nothing to say of how far it is.
    pub fn after(&self, fence: u32, entry: &Entry) -> Result<Self, Refusal> {
        if fence < self.fence {
            return Err(Refusal::Fenced { offered: fence, current: self.fence });
        }
        // Another holder begins anew, from the checkpoint.
        let before =
            if fence == self.fence { self.clone() } else { Self { progress: None, stage: None, ..self.clone() } };
        Ok(Self {
            fence,
            progress: entry.progress.or(before.progress),
            stage: entry.stage.clone().or(before.stage.clone()),
            has_checkpoint: before.has_checkpoint || entry.checkpoint.is_some(),
            ..before
        })
    }

    /// None where it is on record already: its answer was lost, and it is said again.
    pub fn after_late(&self, answer: &LateAnswer) -> Option<Self> {
        let is_known = |known: &LateAnswer| (known.fence, known.word) == (answer.fence, answer.word);
        if self.late.iter().any(is_known) {
            return None;
        }
        let mut next = self.clone();
        next.late.push(answer.clone());
        let surplus = next.late.len().saturating_sub(LATE_ANSWERS);
        next.late.drain(..surplus);
        Some(next)
    }
}

impl Entry {
    /// A sign of life and nothing else.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn piece(&self, run: RunKey, fence: u32, first: u32, at: Moment) -> LogPiece {
        LogPiece { run, first, at, attempt: fence, lines: self.lines.clone() }
    }
}

impl Progress {
    const WHOLE: u32 = 1_000_000;

    /// From nothing to all of it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share from 0 to 1 of a million fits"
    )]
    pub fn of(share: f64) -> Result<Self, NotAProgress> {
        let millionths = share * f64::from(Self::WHOLE);
        if (0.0..=1.0).contains(&share) { Ok(Self(millionths.round() as u32)) } else { Err(NotAProgress) }
    }

    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(Self::WHOLE)
    }
}

impl LogPiece {
    /// What a piece and each of its lines take beside their text.
    const PIECE: usize = 256;
    const LINE: usize = 16;

    /// What it counts for in the bound of a run's log.
    pub fn bytes(&self) -> u32 {
        let bytes = Self::PIECE + self.lines.iter().map(|line| line.len() + Self::LINE).sum::<usize>();
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// The number of the line behind it.
    pub fn next(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.lines.len()).unwrap_or(u32::MAX))
    }
}

impl Lines {
    /// With a piece more.
    #[must_use]
    pub fn with(self, piece: &LogPiece) -> Self {
        Self { next: self.next.max(piece.next()), bytes: self.bytes.saturating_add(piece.bytes()), ..self }
    }

    pub fn is_over(self) -> bool {
        self.bytes > LOG_BYTES
    }

    /// How many of the oldest pieces go when the log is over its bound, of all that there are, and what is left then. A quarter goes at
    /// once, so that a long log is not looked through with each line.
    pub fn cut(self, pieces: &[LogPiece]) -> (usize, Self) {
        let mut bytes: u32 = pieces.iter().map(LogPiece::bytes).fold(0, u32::saturating_add);
        let (mut cut, mut dropped) = (0, self.dropped);
        for piece in pieces {
            if bytes <= LOG_BYTES / 4 * 3 {
                break;
            }
            bytes -= piece.bytes();
            dropped = dropped.saturating_add(u32::try_from(piece.lines.len()).unwrap_or(u32::MAX));
            cut += 1;
        }
        (cut, Self { bytes, dropped, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn run() -> RunKey {
        RunKey::occurrence(JobId::from_bytes([3; 16]), AT)
    }

    fn blank() -> Logbook {
        Logbook::blank(Tenant::deployment(), run())
    }

    fn says(share: f64, stage: &str) -> Entry {
        Entry { progress: Progress::of(share).ok(), stage: Some(stage.to_owned()), ..Entry::default() }
    }

    #[test]
    fn what_is_not_said_again_stays() {
        let begun = blank().after(1, &says(0.5, "halves")).unwrap();

        let next = begun.after(1, &Entry { progress: Progress::of(0.75).ok(), ..Entry::default() }).unwrap();

        assert_eq!((next.progress.map(Progress::share), next.stage.as_deref()), (Some(0.75), Some("halves")));
    }

    #[test]
    fn the_next_holder_begins_anew_and_the_one_before_has_nothing_to_say() {
        let kept = Entry { checkpoint: Some(Json::of(&serde_json::json!(7))), ..says(0.9, "nearly") };
        let first = blank().after(1, &kept).unwrap();

        let second = first.after(2, &Entry::default()).unwrap();

        assert_eq!((second.progress, second.stage.clone(), second.has_checkpoint), (None, None, true));
        assert_eq!(second.after(1, &says(1.0, "done")), Err(Refusal::Fenced { offered: 1, current: 2 }));
    }

    #[test]
    fn a_late_answer_is_on_record_once_and_the_newest_are_kept() {
        let late = |fence| LateAnswer { at: AT, fence, word: LateWord::Succeeded };
        let once = blank().after_late(&late(1)).unwrap();

        let many = (2..=20).fold(once.clone(), |book, fence| book.after_late(&late(fence)).unwrap());

        assert_eq!(once.after_late(&LateAnswer { at: Moment::END, ..late(1) }), None);
        assert!(once.after_late(&LateAnswer { word: LateWord::Failed, ..late(1) }).is_some());
        assert_eq!(
            (many.late.len(), many.late[0].fence),
            (LATE_ANSWERS, 20 - u32::try_from(LATE_ANSWERS).unwrap() + 1)
        );
    }

    #[test]
    fn progress_goes_from_nothing_to_all_of_it() {
        for share in [0.0, 0.000_001, 0.5, 1.0] {
            assert!((Progress::of(share).unwrap().share() - share).abs() < 1e-9);
        }
        for share in [-0.1, 1.000_1, f64::NAN, f64::INFINITY] {
            assert_eq!(Progress::of(share), Err(NotAProgress));
        }
    }

    #[test]
    fn a_log_over_its_bound_loses_its_oldest_lines_down_to_three_quarters_of_it() {
        let piece = |first: u32| LogPiece { run: run(), first, at: AT, attempt: 1, lines: vec!["x".repeat(4_000); 10] };
        let pieces: Vec<_> = (0..30).map(|at| piece(at * 10)).collect();
        let lines = pieces.iter().fold(Lines::default(), Lines::with);
        assert!(lines.is_over() && !pieces[..20].iter().fold(Lines::default(), Lines::with).is_over());

        let (cut, left) = lines.cut(&pieces);

        assert!(left.bytes <= LOG_BYTES / 4 * 3 && left.bytes + pieces[0].bytes() > LOG_BYTES / 4 * 3);
        assert_eq!((left.dropped, left.next), (u32::try_from(cut).unwrap() * 10, 300));
    }
}
