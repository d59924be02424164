//! An operation, by its id, which begins with when it was asked for: a list has the newest first.

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::operation::{
    Backfill, Erasure, JobAct, JobFilter, Operation, OperationHead, OperationId, Position, Progress, Reason, RunAct,
    RunFilter, State, Subject, Work,
};
use minutehand_domain::priority::Priority;
use minutehand_domain::schedule::Schedule;
use minutehand_domain::trace::TraceContext;
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::priority::PriorityV1;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::schedule::{ScheduleV1, ScheduleV2};
use crate::shapes::trace::TraceContextV1;
use crate::shapes::{Many, Maybe, Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Partition, Place, Span};

impl Item for OperationHead {
    const KIND: &'static str = "operation";

    type Key = OperationId;

    fn place(id: &OperationId) -> Place {
        Place::named(id.to_string())
    }
}

/// A tenant's operations, newest first.
impl Listed for OperationHead {
    type Within = ();

    fn span((): &(), past: Option<&OperationId>) -> Option<Span> {
        Some(Span { order: Order::Backward, ..Span::all(Partition::Kind, past.map(Self::place)) })
    }

    fn counts(&self) -> bool {
        self.as_operation().is_some()
    }
}

impl Stored for OperationHead {
    const NEWEST: u8 = 5;

    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match shape_of(self) {
            5 => writer.shape(5, &Filed { document: in_shape::<HeadV3, _>(self) }),
            4 => writer.shape(4, &Filed { document: in_shape::<HeadV2, _>(self) }),
            earlier => writer.shape(earlier, &Filed { document: in_shape::<HeadV1, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1..=3 => reader.shape::<Filed<Of<HeadV1, _>>>().map(|filed| filed.document.0),
            4 => reader.shape::<Filed<Of<HeadV2, _>>>().map(|filed| filed.document.0),
            5 => reader.shape::<Filed<Of<HeadV3, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// Shape 1 has no word for what is dismissed, shape 2 none for what is erased, shape 3 none for a trace, and shape 4 none for the calendars that the
/// schedule of a backfill heeds: one that an earlier release wrote goes on as it did there, as if there were none.
fn shape_of(head: &OperationHead) -> u8 {
    let operation = head.as_operation();
    match operation.map(|operation| &operation.work) {
        Some(Work::Backfill(backfill)) if backfill.schedule.observance.is_some() => 5,
        _ if operation.is_some_and(|operation| operation.trace.is_some()) => 4,
        Some(Work::Erase(_)) => 3,
        Some(Work::Runs { act: RunAct::Dismiss, .. }) => 2,
        Some(Work::Jobs { .. } | Work::Runs { .. } | Work::Backfill(_)) | None => 1,
    }
}

shapes! {
    HeadV1 => OperationHead,
    HeadV2 => OperationHead,
    HeadV3 => OperationHead,
    OperationV1 => Operation,
    OperationV2 => Operation,
    OperationV3 => Operation,
    WorkV1 => Work,
    WorkV2 => Work,
    JobActV1 => JobAct,
    RunActV1 => RunAct,
    JobFilterV1 => JobFilter,
    RunFilterV1 => RunFilter,
    BackfillV1 => Backfill,
    BackfillV2 => Backfill,
    ErasureV1 => Erasure,
    StateV1 => State,
    ProgressV1 => Progress,
    ReasonV1 => Reason,
    PositionV1 => Position,
    SubjectV1 => Subject,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OperationHead", rename_all = "snake_case")]
enum HeadV1 {
    Operation(#[serde(with = "BoxedV1")] Box<Operation>),
    Tombstone { tenant: Tenant, id: OperationId },
}

struct BoxedV1;

impl BoxedV1 {
    #[expect(clippy::borrowed_box, reason = "serde hands the field itself")]
    fn serialize<S: serde::Serializer>(operation: &Box<Operation>, serializer: S) -> Result<S::Ok, S::Error> {
        OperationV1::serialize(operation, serializer)
    }

    fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Box<Operation>, D::Error> {
        OperationV1::deserialize(deserializer).map(Box::new)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Operation")]
struct OperationV1 {
    tenant: Tenant,
    id: OperationId,
    #[serde(with = "WorkV1")]
    work: Work,
    note: Option<String>,
    by: By,
    #[serde(with = "StateV1")]
    state: State,
    asked_at: Moment,
    changed_at: Moment,
    finished_at: Option<Moment>,
    #[serde(with = "ProgressV1")]
    progress: Progress,
    #[serde(with = "PositionV1")]
    position: Position,
    #[serde(with = "Many::<SubjectV1>")]
    batch: Vec<Subject>,
    paced_to: Moment,
    held_since: Option<Moment>,
    fingerprint: Option<Fingerprint>,
    #[serde(skip)]
    trace: Option<TraceContext>,
}

/// An operation says of which trace whoever asked for it was.
#[derive(Serialize, Deserialize)]
#[serde(remote = "OperationHead", rename_all = "snake_case")]
enum HeadV2 {
    Operation(#[serde(with = "BoxedV2")] Box<Operation>),
    Tombstone { tenant: Tenant, id: OperationId },
}

struct BoxedV2;

impl BoxedV2 {
    #[expect(clippy::borrowed_box, reason = "serde hands the field itself")]
    fn serialize<S: serde::Serializer>(operation: &Box<Operation>, serializer: S) -> Result<S::Ok, S::Error> {
        OperationV2::serialize(operation, serializer)
    }

    fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Box<Operation>, D::Error> {
        OperationV2::deserialize(deserializer).map(Box::new)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Operation")]
struct OperationV2 {
    tenant: Tenant,
    id: OperationId,
    #[serde(with = "WorkV1")]
    work: Work,
    note: Option<String>,
    by: By,
    #[serde(with = "StateV1")]
    state: State,
    asked_at: Moment,
    changed_at: Moment,
    finished_at: Option<Moment>,
    #[serde(with = "ProgressV1")]
    progress: Progress,
    #[serde(with = "PositionV1")]
    position: Position,
    #[serde(with = "Many::<SubjectV1>")]
    batch: Vec<Subject>,
    paced_to: Moment,
    held_since: Option<Moment>,
    fingerprint: Option<Fingerprint>,
    #[serde(default, with = "Maybe::<TraceContextV1>")]
    trace: Option<TraceContext>,
}

/// A backfill says which calendars its schedule heeds.
#[derive(Serialize, Deserialize)]
#[serde(remote = "OperationHead", rename_all = "snake_case")]
enum HeadV3 {
    Operation(#[serde(with = "BoxedV3")] Box<Operation>),
    Tombstone { tenant: Tenant, id: OperationId },
}

struct BoxedV3;

impl BoxedV3 {
    #[expect(clippy::borrowed_box, reason = "serde hands the field itself")]
    fn serialize<S: serde::Serializer>(operation: &Box<Operation>, serializer: S) -> Result<S::Ok, S::Error> {
        OperationV3::serialize(operation, serializer)
    }

    fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Box<Operation>, D::Error> {
        OperationV3::deserialize(deserializer).map(Box::new)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Operation")]
struct OperationV3 {
    tenant: Tenant,
    id: OperationId,
    #[serde(with = "WorkV2")]
    work: Work,
    note: Option<String>,
    by: By,
    #[serde(with = "StateV1")]
    state: State,
    asked_at: Moment,
    changed_at: Moment,
    finished_at: Option<Moment>,
    #[serde(with = "ProgressV1")]
    progress: Progress,
    #[serde(with = "PositionV1")]
    position: Position,
    #[serde(with = "Many::<SubjectV1>")]
    batch: Vec<Subject>,
    paced_to: Moment,
    held_since: Option<Moment>,
    fingerprint: Option<Fingerprint>,
    #[serde(default, with = "Maybe::<TraceContextV1>")]
    trace: Option<TraceContext>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Work", rename_all = "snake_case")]
enum WorkV1 {
    Jobs {
        #[serde(with = "JobActV1")]
        act: JobAct,
        #[serde(with = "JobFilterV1")]
        filter: JobFilter,
    },
    Runs {
        #[serde(with = "RunActV1")]
        act: RunAct,
        #[serde(with = "RunFilterV1")]
        filter: RunFilter,
    },
    Backfill(#[serde(with = "BackfillV1")] Backfill),
    /// From shape 3 on.
    Erase(#[serde(with = "ErasureV1")] Erasure),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Work", rename_all = "snake_case")]
enum WorkV2 {
    Jobs {
        #[serde(with = "JobActV1")]
        act: JobAct,
        #[serde(with = "JobFilterV1")]
        filter: JobFilter,
    },
    Runs {
        #[serde(with = "RunActV1")]
        act: RunAct,
        #[serde(with = "RunFilterV1")]
        filter: RunFilter,
    },
    Backfill(#[serde(with = "BackfillV2")] Backfill),
    Erase(#[serde(with = "ErasureV1")] Erasure),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "JobAct", rename_all = "snake_case")]
enum JobActV1 {
    Pause,
    Resume,
    Cancel,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RunAct", rename_all = "snake_case")]
enum RunActV1 {
    Cancel,
    Retry,
    /// From shape 2 on.
    Dismiss,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "JobFilter")]
struct JobFilterV1 {
    tag: Option<String>,
    status: Option<String>,
    #[serde(default, with = "Maybe::<PriorityV1>")]
    priority: Option<Priority>,
    name: Option<String>,
    owner: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RunFilter")]
struct RunFilterV1 {
    job: Option<JobId>,
    tag: Option<String>,
    status: Option<String>,
    #[serde(default, with = "Maybe::<PriorityV1>")]
    priority: Option<Priority>,
    window: std::ops::Range<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Backfill")]
struct BackfillV1 {
    job: JobId,
    #[serde(with = "ScheduleV1")]
    schedule: Schedule,
    from: Moment,
    until: Moment,
    runs: u32,
    #[serde(with = "PriorityV1")]
    priority: Priority,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Backfill")]
struct BackfillV2 {
    job: JobId,
    #[serde(with = "ScheduleV2")]
    schedule: Schedule,
    from: Moment,
    until: Moment,
    runs: u32,
    #[serde(with = "PriorityV1")]
    priority: Priority,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Erasure")]
struct ErasureV1 {
    tenant: Tenant,
    behind: Option<String>,
    began: Option<Moment>,
    found: u64,
    left: Option<u64>,
    last_found: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateV1 {
    Running,
    Paused,
    Cancelling,
    Cancelled,
    Done,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Progress")]
struct ProgressV1 {
    expected: Option<u64>,
    seen: u64,
    done: u64,
    already: u64,
    refused: u64,
    withdrawn: u64,
    #[serde(with = "Many::<ReasonV1>")]
    reasons: Vec<Reason>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Reason")]
struct ReasonV1 {
    subject: String,
    why: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Position", rename_all = "snake_case")]
enum PositionV1 {
    Jobs {
        past: Option<JobId>,
    },
    Runs {
        end: Moment,
        #[serde(default, with = "Maybe::<RunKeyV1>")]
        before: Option<RunKey>,
    },
    Instants {
        past: Moment,
    },
    Made {
        #[serde(default, with = "Maybe::<RunKeyV1>")]
        before: Option<RunKey>,
    },
    End,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Subject", rename_all = "snake_case")]
enum SubjectV1 {
    Job(JobId, u64),
    Run(#[serde(with = "RunKeyV1")] RunKey),
    Occurrence(Moment),
}
