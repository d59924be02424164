//! Trace contexts: what a caller says of the trace that it is in, as W3C's *Trace Context* writes it, and which trace a run is in itself.
//!
//! A run's trace and the ids of its spans are made of its key: nothing random need be stored, and whoever takes a run over after a crash goes
//! on in the same trace. What brought a run about may lie hours back, so a run is no child of it: its spans link to it.

mod header;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use self::header::bytes;
use crate::id::{NotAnId, RunKey};
use crate::limits::TRACE_LINKS;
use crate::run::Run;
use crate::spelled::spelled_for_people;

pub use self::header::TraceState;

/// For an id of bytes that is written in hexadecimal digits.
macro_rules! written_in_hex {
    ($type:ty, $name:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl FromStr for $type {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                bytes(text).and_then(Self::from_bytes).ok_or(NotAnId::of($name))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

/// Which trace. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct TraceId([u8; 16]);

spelled_for_people!(TraceId);
written_in_hex!(TraceId, "a trace id");

/// Which span of a trace. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct SpanId([u8; 8]);

spelled_for_people!(SpanId);
written_in_hex!(SpanId, "a span id");

/// A span as others refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: TraceId,
    pub span: SpanId,
    /// Whether its spans are kept.
    pub sampled: bool,
    /// What the systems that it passed through noted.
    pub state: Option<TraceState>,
}

/// Which part of the traces that nobody decided about before is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// A trace whose number is below this is not kept.
    threshold: u64,
}

/// What a run keeps of traces beside what can be seen of it anyway, so that a run of which nobody said anything keeps nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Whether its spans are kept, as it was decided at its birth. None: they are, and nobody had to say so.
    pub sampled: Option<bool>,
    /// Who made its job, or asked for it.
    pub creator: Option<TraceContext>,
    /// Of a task: the trace that the run above it is in, where that is not the own one of that run.
    pub within: Option<TraceId>,
    /// Of a task: the tasks before it, in the same trace.
    pub upstream: Vec<SpanId>,
}

impl TraceId {
    pub const BYTES: usize = 16;

    /// None of zeros.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        (bytes != [0; Self::BYTES]).then_some(Self(bytes))
    }

    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// The trace of a run that is no task of another.
    pub fn of(run: RunKey) -> Self {
        Self(id(b"minutehand trace 1", run, &[]))
    }

    /// As chance as a digest is: seven bytes of it, those by which others sample as well. Its last bit is none, and says nothing either.
    fn chance(&self) -> u64 {
        self.0[9..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl SpanId {
    pub const BYTES: usize = 8;

    /// None of zeros.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Option<Self> {
        (bytes != [0; Self::BYTES]).then_some(Self(bytes))
    }

    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// The span of a run, from when it was due to its end.
    pub fn of_run(run: RunKey) -> Self {
        Self::of_attempt(run, 0)
    }

    /// The span of one of its attempts, which are counted from 1.
    pub fn of_attempt(run: RunKey, number: u32) -> Self {
        Self(id(b"minutehand span 1", run, &number.to_be_bytes()))
    }
}

/// An id is never all zeros, which would mean no id.
fn id<const BYTES: usize>(kind: &[u8], run: RunKey, part: &[u8]) -> [u8; BYTES] {
    let digest = Sha256::new().chain_update(kind).chain_update(run.to_bytes()).chain_update(part).finalize();
    let mut bytes: [u8; BYTES] = digest[..BYTES].try_into().expect("a digest has 32 bytes");
    bytes[BYTES - 1] |= 1;
    bytes
}

impl TraceContext {
    /// The same without what others noted of it.
    #[must_use]
    pub fn bare(self) -> Self {
        Self { state: None, ..self }
    }
}

impl Sampling {
    const WHOLE: u64 = 1 << 56;
    pub const ALL: Self = Self { threshold: 0 };
    pub const NONE: Self = Self { threshold: Self::WHOLE };

    /// This part of all, from 0 to 1; none where it is not in there.
    pub fn of(ratio: f64) -> Option<Self> {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a power of two, and a part of it"
        )]
        let threshold = |ratio: f64| ((1.0 - ratio) * Self::WHOLE as f64) as u64;
        (0.0..=1.0).contains(&ratio).then(|| Self { threshold: threshold(ratio) })
    }

    /// Whether this trace is kept: of two that know the same ratio neither decides otherwise.
    pub fn keeps(self, trace: TraceId) -> bool {
        trace.chance() >= self.threshold
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this is not a number from 0 to 1")]
pub struct NotARatio;

impl FromStr for Sampling {
    type Err = NotARatio;

    fn from_str(text: &str) -> Result<Self, NotARatio> {
        text.parse().ok().and_then(Self::of).ok_or(NotARatio)
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self::ALL
    }
}

impl Traced {
    /// A run that somebody brought about, who said so much of a trace: it is sampled as that is.
    pub fn of(creator: Option<TraceContext>) -> Self {
        Self { sampled: creator.as_ref().map(|creator| creator.sampled), creator, ..Self::default() }
    }

    /// A run that comes of another: another try at it, or one that goes on with it, follows it or tells of it. It is sampled as that is.
    pub fn after(run: &Run) -> Self {
        let Self { sampled, creator, .. } = run.trace.clone();
        Self { sampled, creator, ..Self::default() }
    }

    /// A task of this run, behind those: in the trace of its workflow's run, and sampled as that is.
    pub fn below(parent: &Run, upstream: impl IntoIterator<Item = RunKey>) -> Self {
        let within = Some(parent.trace_id()).filter(|trace| *trace != TraceId::of(parent.key));
        let upstream = upstream.into_iter().take(TRACE_LINKS).map(SpanId::of_run).collect();
        Self { within, upstream, ..Self::after(parent) }
    }

    /// The same where somebody asks for it who says something of a trace.
    #[must_use]
    pub fn asked(self, by: Option<TraceContext>) -> Self {
        if by.is_some() { Self::of(by) } else { self }
    }
}

impl Run {
    /// The same as it is born, with it decided whether its spans are kept. What comes of another run is sampled as that was.
    #[must_use]
    pub fn sampled_by(mut self, sampling: Sampling) -> Self {
        let is_decided = self.trace.sampled.is_some() || self.task.is_some() || self.comes_of().is_some();
        if !is_decided && !sampling.keeps(self.trace_id()) {
            self.trace.sampled = Some(false);
        }
        self
    }

    /// Its own, or that of its workflow's run.
    pub fn trace_id(&self) -> TraceId {
        let above = || self.task.as_ref().map(|task| TraceId::of(task.parent));
        self.trace.within.or_else(above).unwrap_or_else(|| TraceId::of(self.key))
    }

    pub fn is_sampled(&self) -> bool {
        self.trace.sampled.unwrap_or(true)
    }

    /// Its own span.
    pub fn context(&self) -> TraceContext {
        let state = self.trace.creator.as_ref().and_then(|creator| creator.state.clone());
        TraceContext { trace: self.trace_id(), span: SpanId::of_run(self.key), sampled: self.is_sampled(), state }
    }

    /// The span of one of its attempts: what a target is told.
    pub fn attempt_context(&self, number: u32) -> TraceContext {
        TraceContext { span: SpanId::of_attempt(self.key, number), ..self.context() }
    }

    /// What its span links to: whoever brought it about, and the runs that it comes of. Of a task that is the tasks before it: whoever asked for
    /// its workflow's run asked for that.
    pub fn links(&self) -> Vec<TraceContext> {
        let (trace, sampled) = (self.trace_id(), self.is_sampled());
        let linked = |trace, span| TraceContext { trace, span, sampled, state: None };
        if self.task.is_some() {
            return self.trace.upstream.iter().map(|span| linked(trace, *span)).collect();
        }
        // No task is redriven, followed or told of: each of these is in a trace of its own.
        let before = self.comes_of().map(|run| linked(TraceId::of(run), SpanId::of_run(run)));
        self.trace.creator.clone().into_iter().chain(before).collect()
    }

    /// The run that it is another try at, goes on with, tells of or follows.
    fn comes_of(&self) -> Option<RunKey> {
        self.redrive_of.or(self.callback_of).or_else(|| self.follows.map(|follows| follows.run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moment;
    use crate::id::{JobId, Tenant};
    use crate::priority::Priority;
    use crate::run::{Failure, State, TaskRun};

    fn run(secs: i64) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([7; 16]), Moment::from_secs(secs));
        Run::new(Tenant::new("acme").unwrap(), key, Priority::Normal)
    }

    fn creator(sampled: bool) -> TraceContext {
        let flags = if sampled { "01" } else { "00" };
        let told = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        TraceContext::parse(&told, Some("rojo=1")).unwrap()
    }

    #[test]
    fn the_trace_of_a_run_and_its_spans_are_made_of_its_key_and_stay_as_they_are() {
        let run = run(1_800_000_000).sampled_by(Sampling::ALL);

        assert_eq!(run.context().to_string(), "00-486e0d8d0adbc3573329433f259e65a1-66653cafb2140451-01");
        assert_eq!(run.attempt_context(1).to_string(), "00-486e0d8d0adbc3573329433f259e65a1-1c80d23674386fcb-01");
        assert_ne!(run.attempt_context(2).span, run.attempt_context(1).span);
        assert_eq!(run.attempt_context(2).trace, run.trace_id());
        assert_ne!(self::run(1_800_000_001).trace_id(), run.trace_id());
    }

    #[test]
    fn a_run_is_sampled_as_its_creator_is_whatever_the_ratio() {
        for (sampled, ratio) in [(true, Sampling::NONE), (false, Sampling::ALL)] {
            let run = Run { trace: Traced::of(Some(creator(sampled))), ..run(7) }.sampled_by(ratio);

            assert_eq!(run.context().sampled, sampled);
            assert_ne!(run.trace_id(), creator(sampled).trace, "a link, no child");
            assert_eq!(run.context().state, creator(sampled).state);
        }
    }

    #[test]
    fn a_run_that_nobody_said_anything_of_keeps_nothing_where_all_are_kept() {
        let run = run(7).sampled_by(Sampling::ALL);

        assert!(run.context().sampled);
        assert_eq!(run.trace, Traced::default());
    }

    #[test]
    fn a_ratio_keeps_about_that_part_and_what_a_smaller_one_keeps() {
        let kept = |ratio: f64| {
            let sampling = Sampling::of(ratio).unwrap();
            (0..4000).filter(|secs| sampling.keeps(run(*secs).trace_id())).collect::<Vec<_>>()
        };

        let (quarter, tenth) = (kept(0.25), kept(0.1));

        assert!((900..1100).contains(&quarter.len()), "{}", quarter.len());
        assert!((330..470).contains(&tenth.len()), "{}", tenth.len());
        assert!(tenth.iter().all(|secs| quarter.contains(secs)));
        assert_eq!((kept(1.0).len(), kept(0.0).len()), (4000, 0));
        assert_eq!([-0.1, 1.1, f64::NAN].map(Sampling::of), [None; 3]);
        assert_eq!(
            ["0.25", "1", "25%", ""].map(|text| text.parse().ok()),
            [Sampling::of(0.25), Some(Sampling::ALL), None, None]
        );
    }

    #[test]
    fn a_task_is_in_the_trace_of_its_workflows_run_and_links_to_those_before_it() {
        let parent = Run { trace: Traced::of(Some(creator(false))), ..run(7) };
        let before = run(8);

        let task_of = |parent: &Run, upstream: Option<RunKey>, secs| {
            let task = Some(TaskRun::new(parent.key, 1, false));
            Run { task, trace: Traced::below(parent, upstream), ..run(secs) }.sampled_by(Sampling::ALL)
        };

        let task = task_of(&parent, Some(before.key), 9);
        let inner = task_of(&task, None, 10);

        assert_eq!([task.trace_id(), inner.trace_id()], [parent.trace_id(); 2]);
        assert_eq!([task.context().sampled, inner.context().sampled], [false; 2]);
        let [link] = &task.links()[..] else { panic!("{:?}", task.links()) };
        assert_eq!((link.trace, link.span), (parent.trace_id(), before.context().span));
        assert_ne!(task.context().span, parent.context().span);
    }

    #[test]
    fn a_task_behind_more_than_a_run_links_to_keeps_so_many() {
        let upstream = (0..1000).map(|secs| run(secs).key);

        assert_eq!(Traced::below(&run(7), upstream).upstream.len(), TRACE_LINKS);
    }

    #[test]
    fn what_comes_of_a_run_is_sampled_as_that_is_and_links_to_it_from_a_trace_of_its_own() {
        let failed = State::Failed { at: Moment::from_secs(8), why: Failure::Error };
        for (sampled, ratio) in [(Some(false), Sampling::ALL), (None, Sampling::NONE)] {
            let trace = Traced { sampled, ..Traced::default() };
            let before = Run { state: failed.clone(), trace, ..run(7) };

            let after = before.redriven(RunKey::redrive(before.key.job, Moment::from_secs(9), 1)).unwrap();
            let after = after.sampled_by(ratio);

            assert_eq!(after.is_sampled(), before.is_sampled());
            assert_eq!(after.links(), [before.context()]);
            assert_ne!(after.trace_id(), before.trace_id());
        }
    }
}
