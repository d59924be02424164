//! A run, in its job's own partition by instant. It is also listed among all its tenant's.

use std::cmp::Ordering;
use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::run::{Event, Run, State};
use serde::Serialize;

use crate::Fault;
use crate::store::item::{Form, Indexed, Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span, parts_of};
use crate::store::update::{Action, Condition, Expression, Update, Value};

impl Item for Run {
    const KIND: &'static str = "run";

    type Key = RunKey;

    fn place(key: &RunKey) -> Place {
        Place::new(Partition::History(key.job), parts_of(*key))
    }

    fn index(&self) -> Option<Indexed> {
        let needs_attention = matches!(self.state, State::Failed { .. } | State::TimedOut { .. });
        Some(Indexed { run: self.key, needs_attention })
    }
}

/// A job's runs whose instant lies in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsOf {
    pub job: JobId,
    pub window: Range<Moment>,
}

/// Newest first, so that what comes past a run is older.
impl Listed for Run {
    type Within = RunsOf;

    fn span(RunsOf { job, window }: &RunsOf, past: Option<&RunKey>) -> Option<Span> {
        let past = match past.map(|key| (key.job.cmp(job), key)) {
            // As all runs compare: an earlier job's are older than any of this one.
            Some((Ordering::Less, _)) => return None,
            Some((Ordering::Equal, key)) => Some(parts_of(*key).to_vec()),
            Some((Ordering::Greater, _)) | None => None,
        };
        let (from, to) = (Some(Part::Instant(window.start)), Some(Part::Instant(window.end)));
        let span =
            Span { partition: Partition::History(*job), within: Vec::new(), from, to, past, order: Order::Backward };
        (window.start < window.end).then_some(span)
    }
}

impl Stored for Run {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match writer.form() {
            Form::Bytes => writer.shape(1, self),
            Form::Attributes => writer.shape(1, &InAWord { run: self, status: self.status(Moment::EPOCH) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape(),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// With its status in a word, for whoever reads the console; the state says it whole.
#[derive(Serialize)]
struct InAWord<'a> {
    #[serde(flatten)]
    run: &'a Run,
    status: &'static str,
}

/// Keeps a claimed run its holder's for longer: what a heartbeat asks for. A lease that is as long already stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendLease {
    /// The claim it is: another's is not extended.
    pub fence: u32,
    pub until: Moment,
}

impl Update for ExtendLease {
    type Item = Run;

    fn apply(&self, run: &Run) -> Option<Run> {
        let is_longer = run.lease()?.until < self.until;
        let heartbeat = Event::Heartbeat { fence: self.fence, until: self.until };
        run.after(&heartbeat, self.until).ok().filter(|_| is_longer)
    }

    /// Tried: without the condition on the fence, `a_lease_is_extended_only_by_its_own_claim` fails on DynamoDB.
    fn expression(&self) -> Expression {
        let until = Value::Text(self.until.to_string());
        Expression {
            conditions: vec![
                Condition::Is(&["fence"], Value::Number(self.fence.into())),
                Condition::IsLess(&["state", "running", "until"], until.clone()),
            ],
            actions: vec![Action::Set(&["state", "running", "until"], until)],
        }
    }
}
