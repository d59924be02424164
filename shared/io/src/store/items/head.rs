//! The head of a job: the job, or the tombstone that stands in its place.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::body::Body;
use minutehand_domain::callback::Callback;
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::follow::Listed as ListedFollower;
use minutehand_domain::head::Head;
use minutehand_domain::health::Extent;
use minutehand_domain::hook::Hooks;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::idempotency::Fingerprint;
use minutehand_domain::job::{Before, Carried, Definition, Job, Noted, Status};
use minutehand_domain::keeping::Lengthened;
use minutehand_domain::order::Terms;
use minutehand_domain::overlap::Overlap;
use minutehand_domain::priority::Priority;
use minutehand_domain::retention::Retention;
use minutehand_domain::schedule::{Schedule, When};
use minutehand_domain::slot::Bounds;
use minutehand_domain::target::Target;
use minutehand_domain::trace::TraceContext;
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::body::BodyV1;
use crate::shapes::bounds::BoundsV1;
use crate::shapes::callback::{CallbackV1, HooksV1};
use crate::shapes::follow::ListedV1;
use crate::shapes::priority::PriorityV1;
use crate::shapes::retention::{LengthenedV1, RetentionV1};
use crate::shapes::schedule::{ScheduleV1, ScheduleV2};
use crate::shapes::span::SpanV1;
use crate::shapes::target::{TargetV1, TargetV2, TargetV3, needs_shape_3};
use crate::shapes::terms::{self, TermsV1, TermsV2, TermsV3};
use crate::shapes::trace::TraceContextV1;
use crate::shapes::{First, Many, Maybe, Of, Shape as _, in_shape, shapes};
use crate::store::item::{Form, Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Part, Partition, Place, Span};

impl Item for Head {
    const KIND: &'static str = "head";

    type Key = JobId;

    fn place(job: &JobId) -> Place {
        Place::new(Partition::Jobs, [Part::Job(*job)])
    }

    /// A tombstone stands for ever: nobody knows how late a writer is that it was put up against.
    fn expires_at(&self) -> Option<Moment> {
        self.job().and_then(Job::expires_at)
    }
}

/// A tenant's jobs by id; tombstones are left out.
impl Listed for Head {
    type Within = ();

    fn span((): &(), past: Option<&JobId>) -> Option<Span> {
        Some(Span::all(Partition::Jobs, past.map(Self::place)))
    }

    fn counts(&self) -> bool {
        self.job().is_some()
    }
}

impl Stored for Head {
    const NEWEST: u8 = 11;

    /// Shapes 3 and 4 are shape 2 with a target that a release of that shape knows nothing of: a workflow, a worker. Shape 5 says more of a
    /// target, a service of AWS or time-outs of phases, of its delivery, its SLA, and with whom a job shares limits, shape 6 what becomes of
    /// runs that overlap, shape 7 which calendars it heeds, which jobs run behind which, at which pace a job makes up for what it missed, who is
    /// told of a run and asked before it, and what was noted when it was paused, resumed or deleted, shape 8 what its health is made of, shape 9 for
    /// how long its runs are kept, shape 10 of which trace whoever created it was, shape 11 that its runs were kept for less long before. Shape 1
    /// says everything but that a header names a secret. So a deployment without any of these can go back to a release that knows of none, and
    /// pays no byte for it.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match (writer.form(), self, shape_of(self)) {
            (Form::Attributes, Self::Tombstone { tenant, id, epoch }, _) => {
                writer.shape(1, &TombstoneV1 { dead: true, tenant: tenant.clone(), id: *id, epoch: *epoch })
            }
            (Form::Attributes, Self::Job(job), 1) => writer.shape(1, &in_shape::<JobV1, _>(job)),
            (Form::Attributes, Self::Job(job), 5) => writer.shape(5, &in_shape::<JobV3, _>(job)),
            (Form::Attributes, Self::Job(job), 6) => writer.shape(6, &in_shape::<JobV4, _>(job)),
            (Form::Attributes, Self::Job(job), 7) => writer.shape(7, &in_shape::<JobV5, _>(job)),
            (Form::Attributes, Self::Job(job), 8) => writer.shape(8, &in_shape::<JobV6, _>(job)),
            (Form::Attributes, Self::Job(job), 9) => writer.shape(9, &in_shape::<JobV7, _>(job)),
            (Form::Attributes, Self::Job(job), 10) => writer.shape(10, &in_shape::<JobV8, _>(job)),
            (Form::Attributes, Self::Job(job), 11) => writer.shape(11, &in_shape::<JobV9, _>(job)),
            (Form::Attributes, Self::Job(job), shape) => writer.shape(shape, &in_shape::<JobV2, _>(job)),
            (Form::Bytes, head, 1) => writer.shape(1, &in_shape::<HeadV1, _>(head)),
            (Form::Bytes, head, 5) => writer.shape(5, &in_shape::<HeadV3, _>(head)),
            (Form::Bytes, head, 6) => writer.shape(6, &in_shape::<HeadV4, _>(head)),
            (Form::Bytes, head, 7) => writer.shape(7, &in_shape::<HeadV5, _>(head)),
            (Form::Bytes, head, 8) => writer.shape(8, &in_shape::<HeadV6, _>(head)),
            (Form::Bytes, head, 9) => writer.shape(9, &in_shape::<HeadV7, _>(head)),
            (Form::Bytes, head, 10) => writer.shape(10, &in_shape::<HeadV8, _>(head)),
            (Form::Bytes, head, 11) => writer.shape(11, &in_shape::<HeadV9, _>(head)),
            (Form::Bytes, head, shape) => writer.shape(shape, &in_shape::<HeadV2, _>(head)),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match (shape, reader.form()) {
            (1, Form::Bytes) => reader.shape::<Of<HeadV1, _>>().map(|of| of.0),
            (2..=4, Form::Bytes) => reader.shape::<Of<HeadV2, _>>().map(|of| of.0),
            (2..=4, Form::Attributes) => reader.shape::<Of<JobV2, _>>().map(|of| Self::Job(of.0)),
            (5, Form::Bytes) => reader.shape::<Of<HeadV3, _>>().map(|of| of.0),
            (5, Form::Attributes) => reader.shape::<Of<JobV3, _>>().map(|of| Self::Job(of.0)),
            (6, Form::Bytes) => reader.shape::<Of<HeadV4, _>>().map(|of| of.0),
            (6, Form::Attributes) => reader.shape::<Of<JobV4, _>>().map(|of| Self::Job(of.0)),
            (7, Form::Bytes) => reader.shape::<Of<HeadV5, _>>().map(|of| of.0),
            (7, Form::Attributes) => reader.shape::<Of<JobV5, _>>().map(|of| Self::Job(of.0)),
            (8, Form::Bytes) => reader.shape::<Of<HeadV6, _>>().map(|of| of.0),
            (8, Form::Attributes) => reader.shape::<Of<JobV6, _>>().map(|of| Self::Job(of.0)),
            (9, Form::Bytes) => reader.shape::<Of<HeadV7, _>>().map(|of| of.0),
            (9, Form::Attributes) => reader.shape::<Of<JobV7, _>>().map(|of| Self::Job(of.0)),
            (10, Form::Bytes) => reader.shape::<Of<HeadV8, _>>().map(|of| of.0),
            (10, Form::Attributes) => reader.shape::<Of<JobV8, _>>().map(|of| Self::Job(of.0)),
            (11, Form::Bytes) => reader.shape::<Of<HeadV9, _>>().map(|of| of.0),
            (11, Form::Attributes) => reader.shape::<Of<JobV9, _>>().map(|of| Self::Job(of.0)),
            (1, Form::Attributes) if reader.has("tombstone") => {
                let TombstoneV1 { tenant, id, epoch, .. } = reader.shape()?;
                Ok(Self::Tombstone { tenant, id, epoch })
            }
            (1, Form::Attributes) => reader.shape::<Of<JobV1, _>>().map(|of| Self::Job(of.0)),
            (later, _) => Err(later_shape::<Self>(later)),
        }
    }
}

/// The oldest that says it all.
fn shape_of(head: &Head) -> u8 {
    let Some(job) = head.job() else { return 1 };
    let definition = &job.definition;
    let Definition { target, bounds, terms, sla, overlap, .. } = definition;
    let says_more_than_4 = !bounds.is_empty() || sla.is_some() || needs_shape_3(target) || terms::needs_shape_2(terms);
    match target {
        _ if job.lengthened.is_some() => 11,
        _ if job.trace.is_some() => 10,
        _ if definition.retention.is_some() => 9,
        _ if definition.health == Extent::Full => 8,
        _ if says_more_than_6(job) => 7,
        _ if *overlap != Overlap::default() => 6,
        _ if says_more_than_4 => 5,
        Target::Worker(_) => 4,
        Target::Workflow(_) => 3,
        Target::Http(http) if !http.secrets().is_empty() => 2,
        Target::Http(_) | Target::Noop | Target::Service(_) => 1,
    }
}

/// Whether it says what a release of shape 6 has no words for.
fn says_more_than_6(job: &Job) -> bool {
    let Definition { catch_up, callback, hooks, .. } = &job.definition;
    let has_carried = || job.carried.is_some() || job.before.iter().any(|before| before.carried.is_some());
    let heeds_calendars = job.heeds_calendars() || has_carried();
    let tells_or_asks = callback.is_some() || !hooks.is_empty();
    heeds_calendars || has_followers(job) || catch_up.per_minute().is_some() || tells_or_asks || job.noted.is_some()
}

/// Whether others run behind it, or it runs behind another, or did until its last change.
fn has_followers(job: &Job) -> bool {
    let is_behind = |schedule: &Schedule| matches!(schedule.when, When::Follows { .. });
    let was_behind = || job.before.iter().any(|before| is_behind(&before.schedule));
    !job.followers.is_empty() || is_behind(&job.schedule) || was_behind()
}

shapes! {
    HeadV1 => Head,
    HeadV2 => Head,
    HeadV3 => Head,
    HeadV4 => Head,
    HeadV5 => Head,
    HeadV6 => Head,
    HeadV7 => Head,
    HeadV8 => Head,
    HeadV9 => Head,
    JobV1 => Job,
    JobV2 => Job,
    JobV3 => Job,
    JobV4 => Job,
    JobV5 => Job,
    JobV6 => Job,
    JobV7 => Job,
    JobV8 => Job,
    JobV9 => Job,
    NotedV5 => Noted,
    StatusV1 => Status,
    BeforeV1 => Before,
    BeforeV2 => Before,
    CarriedV2 => Carried,
    DefinitionV1 => Definition,
    DefinitionV2 => Definition,
    DefinitionV3 => Definition,
    DefinitionV4 => Definition,
    DefinitionV5 => Definition,
    DefinitionV6 => Definition,
    DefinitionV7 => Definition,
    ExtentV6 => Extent,
    OverlapV4 => Overlap,
    CatchUpV1 => CatchUp,
    CatchUpV5 => CatchUp,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV1 {
    Job(#[serde(with = "JobV1")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A job's headers may name secrets.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV2 {
    Job(#[serde(with = "JobV2")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A target may be a service, claim its effects, and its calls have time-outs; a job has an SLA and shares limits with others.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV3 {
    Job(#[serde(with = "JobV3")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A job says what becomes of runs that overlap.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV4 {
    Job(#[serde(with = "JobV4")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A job heeds calendars, runs behind another, or others run behind it; and it says at which pace it makes up for what it missed, who is told of
/// its runs and asked before them, and what was noted when it was paused, resumed or deleted.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV5 {
    Job(#[serde(with = "JobV5")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A job says what its health is made of.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV6 {
    Job(#[serde(with = "JobV6")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A job says for how long its runs are kept.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV7 {
    Job(#[serde(with = "JobV7")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A job says of which trace whoever created it was.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV8 {
    Job(#[serde(with = "JobV8")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// A job says that its runs were kept for less long before.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Head")]
enum HeadV9 {
    Job(#[serde(with = "JobV9")] Job),
    Tombstone { tenant: Tenant, id: JobId, epoch: u32 },
}

/// What tells it from a job is `tombstone`.
#[derive(Serialize, Deserialize)]
struct TombstoneV1 {
    #[serde(rename = "tombstone")]
    dead: bool,
    tenant: Tenant,
    id: JobId,
    epoch: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV1 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV1")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "First::<BeforeV1>")]
    before: Vec<Before>,
    #[serde(skip)]
    carried: Option<Carried>,
    #[serde(with = "DefinitionV1")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(skip)]
    followers: Vec<ListedFollower>,
    #[serde(skip)]
    noted: Option<Noted>,
    #[serde(skip)]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV2 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV1")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "First::<BeforeV1>")]
    before: Vec<Before>,
    #[serde(skip)]
    carried: Option<Carried>,
    #[serde(with = "DefinitionV2")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(skip)]
    followers: Vec<ListedFollower>,
    #[serde(skip)]
    noted: Option<Noted>,
    #[serde(skip)]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV3 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV1")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "First::<BeforeV1>")]
    before: Vec<Before>,
    #[serde(skip)]
    carried: Option<Carried>,
    #[serde(with = "DefinitionV3")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(skip)]
    followers: Vec<ListedFollower>,
    #[serde(skip)]
    noted: Option<Noted>,
    #[serde(skip)]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV4 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV1")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "First::<BeforeV1>")]
    before: Vec<Before>,
    #[serde(skip)]
    carried: Option<Carried>,
    #[serde(with = "DefinitionV4")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(skip)]
    followers: Vec<ListedFollower>,
    #[serde(skip)]
    noted: Option<Noted>,
    #[serde(skip)]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

/// Its schedule heeds calendars; it runs behind another, or others run behind it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV5 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV2")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "Many::<BeforeV2>")]
    before: Vec<Before>,
    #[serde(with = "DefinitionV5")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(default, with = "Maybe::<NotedV5>")]
    noted: Option<Noted>,
    #[serde(default, with = "Maybe::<CarriedV2>")]
    carried: Option<Carried>,
    #[serde(with = "Many::<ListedV1>")]
    followers: Vec<ListedFollower>,
    #[serde(skip)]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

/// Its health may be made of all that ended in a day.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV6 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV2")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "Many::<BeforeV2>")]
    before: Vec<Before>,
    #[serde(with = "DefinitionV6")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(default, with = "Maybe::<NotedV5>")]
    noted: Option<Noted>,
    #[serde(default, with = "Maybe::<CarriedV2>")]
    carried: Option<Carried>,
    #[serde(with = "Many::<ListedV1>")]
    followers: Vec<ListedFollower>,
    #[serde(skip)]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

/// Its runs may be kept for another time than most.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV7 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV2")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "Many::<BeforeV2>")]
    before: Vec<Before>,
    #[serde(with = "DefinitionV7")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(default, with = "Maybe::<NotedV5>")]
    noted: Option<Noted>,
    #[serde(default, with = "Maybe::<CarriedV2>")]
    carried: Option<Carried>,
    #[serde(with = "Many::<ListedV1>")]
    followers: Vec<ListedFollower>,
    #[serde(skip)]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV8 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV2")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "Many::<BeforeV2>")]
    before: Vec<Before>,
    #[serde(with = "DefinitionV7")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(default, with = "Maybe::<NotedV5>")]
    noted: Option<Noted>,
    #[serde(default, with = "Maybe::<CarriedV2>")]
    carried: Option<Carried>,
    #[serde(with = "Many::<ListedV1>")]
    followers: Vec<ListedFollower>,
    #[serde(default, with = "Maybe::<TraceContextV1>")]
    trace: Option<TraceContext>,
    #[serde(skip)]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Job")]
struct JobV9 {
    tenant: Tenant,
    id: JobId,
    #[serde(with = "StatusV1")]
    status: Status,
    generation: u64,
    epoch: u32,
    #[serde(with = "ScheduleV2")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "Many::<BeforeV2>")]
    before: Vec<Before>,
    #[serde(with = "DefinitionV7")]
    definition: Definition,
    created_at: Moment,
    changed_at: Moment,
    fingerprint: Option<Fingerprint>,
    #[serde(default, with = "Maybe::<NotedV5>")]
    noted: Option<Noted>,
    #[serde(default, with = "Maybe::<CarriedV2>")]
    carried: Option<Carried>,
    #[serde(with = "Many::<ListedV1>")]
    followers: Vec<ListedFollower>,
    #[serde(default, with = "Maybe::<TraceContextV1>")]
    trace: Option<TraceContext>,
    #[serde(default, with = "Maybe::<LengthenedV1>")]
    lengthened: Option<Lengthened>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Noted")]
struct NotedV5 {
    at: Moment,
    by: By,
    note: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Status", rename_all = "snake_case")]
enum StatusV1 {
    Active,
    Paused,
    Cancelled,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Before")]
struct BeforeV1 {
    #[serde(with = "ScheduleV1")]
    schedule: Schedule,
    since: Moment,
    #[serde(skip)]
    carried: Option<Carried>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Before")]
struct BeforeV2 {
    #[serde(with = "ScheduleV2")]
    schedule: Schedule,
    since: Moment,
    #[serde(default, with = "Maybe::<CarriedV2>")]
    carried: Option<Carried>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Carried")]
struct CarriedV2 {
    nominal: Moment,
    at: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV1 {
    name: Option<String>,
    owner: Option<String>,
    tags: BTreeSet<String>,
    #[serde(with = "TargetV1")]
    target: Target,
    #[serde(with = "BodyV1")]
    payload: Body,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(with = "TermsV1")]
    terms: Terms,
    #[serde(default, with = "CatchUpV1")]
    catch_up: CatchUp,
    #[serde(skip)]
    sla: Option<Duration>,
    #[serde(skip)]
    bounds: Bounds,
    #[serde(skip)]
    overlap: Overlap,
    #[serde(skip)]
    callback: Option<Callback>,
    #[serde(skip)]
    hooks: Hooks,
    #[serde(skip)]
    health: Extent,
    #[serde(skip)]
    retention: Option<Retention>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV2 {
    name: Option<String>,
    owner: Option<String>,
    tags: BTreeSet<String>,
    #[serde(with = "TargetV2")]
    target: Target,
    #[serde(with = "BodyV1")]
    payload: Body,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(with = "TermsV1")]
    terms: Terms,
    #[serde(default, with = "CatchUpV1")]
    catch_up: CatchUp,
    #[serde(skip)]
    sla: Option<Duration>,
    #[serde(skip)]
    bounds: Bounds,
    #[serde(skip)]
    overlap: Overlap,
    #[serde(skip)]
    callback: Option<Callback>,
    #[serde(skip)]
    hooks: Hooks,
    #[serde(skip)]
    health: Extent,
    #[serde(skip)]
    retention: Option<Retention>,
}

/// A service may be its target, calls have time-outs, effects are claimed; its runs have an SLA and share limits with those of other jobs.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV3 {
    name: Option<String>,
    owner: Option<String>,
    tags: BTreeSet<String>,
    #[serde(with = "TargetV3")]
    target: Target,
    #[serde(with = "BodyV1")]
    payload: Body,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(with = "TermsV2")]
    terms: Terms,
    #[serde(default, with = "CatchUpV1")]
    catch_up: CatchUp,
    #[serde(default, with = "Maybe::<SpanV1>")]
    sla: Option<Duration>,
    #[serde(with = "BoundsV1")]
    bounds: Bounds,
    #[serde(skip)]
    overlap: Overlap,
    #[serde(skip)]
    callback: Option<Callback>,
    #[serde(skip)]
    hooks: Hooks,
    #[serde(skip)]
    health: Extent,
    #[serde(skip)]
    retention: Option<Retention>,
}

/// What becomes of a run that comes while others of its job are under way.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV4 {
    name: Option<String>,
    owner: Option<String>,
    tags: BTreeSet<String>,
    #[serde(with = "TargetV3")]
    target: Target,
    #[serde(with = "BodyV1")]
    payload: Body,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(with = "TermsV2")]
    terms: Terms,
    #[serde(default, with = "CatchUpV1")]
    catch_up: CatchUp,
    #[serde(default, with = "Maybe::<SpanV1>")]
    sla: Option<Duration>,
    #[serde(with = "BoundsV1")]
    bounds: Bounds,
    #[serde(with = "OverlapV4")]
    overlap: Overlap,
    #[serde(skip)]
    callback: Option<Callback>,
    #[serde(skip)]
    hooks: Hooks,
    #[serde(skip)]
    health: Extent,
    #[serde(skip)]
    retention: Option<Retention>,
}

/// Who is told of the end of a run, and who is asked before it.
/// What is made up for may have a pace.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV5 {
    name: Option<String>,
    owner: Option<String>,
    tags: BTreeSet<String>,
    #[serde(with = "TargetV3")]
    target: Target,
    #[serde(with = "BodyV1")]
    payload: Body,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(with = "TermsV3")]
    terms: Terms,
    #[serde(default, with = "CatchUpV5")]
    catch_up: CatchUp,
    #[serde(default, with = "Maybe::<SpanV1>")]
    sla: Option<Duration>,
    #[serde(with = "BoundsV1")]
    bounds: Bounds,
    #[serde(with = "OverlapV4")]
    overlap: Overlap,
    #[serde(default, with = "Maybe::<CallbackV1>")]
    callback: Option<Callback>,
    #[serde(with = "HooksV1")]
    hooks: Hooks,
    #[serde(skip)]
    health: Extent,
    #[serde(skip)]
    retention: Option<Retention>,
}

/// What its health is made of.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV6 {
    name: Option<String>,
    owner: Option<String>,
    tags: BTreeSet<String>,
    #[serde(with = "TargetV3")]
    target: Target,
    #[serde(with = "BodyV1")]
    payload: Body,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(with = "TermsV3")]
    terms: Terms,
    #[serde(default, with = "CatchUpV5")]
    catch_up: CatchUp,
    #[serde(default, with = "Maybe::<SpanV1>")]
    sla: Option<Duration>,
    #[serde(with = "BoundsV1")]
    bounds: Bounds,
    #[serde(with = "OverlapV4")]
    overlap: Overlap,
    #[serde(default, with = "Maybe::<CallbackV1>")]
    callback: Option<Callback>,
    #[serde(with = "HooksV1")]
    hooks: Hooks,
    #[serde(with = "ExtentV6")]
    health: Extent,
    #[serde(skip)]
    retention: Option<Retention>,
}

/// For how long its runs are kept.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV7 {
    name: Option<String>,
    owner: Option<String>,
    tags: BTreeSet<String>,
    #[serde(with = "TargetV3")]
    target: Target,
    #[serde(with = "BodyV1")]
    payload: Body,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(with = "TermsV3")]
    terms: Terms,
    #[serde(default, with = "CatchUpV5")]
    catch_up: CatchUp,
    #[serde(default, with = "Maybe::<SpanV1>")]
    sla: Option<Duration>,
    #[serde(with = "BoundsV1")]
    bounds: Bounds,
    #[serde(with = "OverlapV4")]
    overlap: Overlap,
    #[serde(default, with = "Maybe::<CallbackV1>")]
    callback: Option<Callback>,
    #[serde(with = "HooksV1")]
    hooks: Hooks,
    #[serde(with = "ExtentV6")]
    health: Extent,
    #[serde(default, with = "Maybe::<RetentionV1>")]
    retention: Option<Retention>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Extent", rename_all = "snake_case")]
enum ExtentV6 {
    Newest,
    Full,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Overlap", rename_all = "snake_case")]
enum OverlapV4 {
    Allow { max: Option<u32> },
    Skip,
    Queue { waiting: u32 },
    CancelPrevious,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CatchUp", rename_all = "snake_case")]
enum CatchUpV1 {
    Last {
        #[serde(with = "SpanV1")]
        window: Duration,
    },
    None,
    All {
        #[serde(with = "SpanV1")]
        window: Duration,
        max_runs: u32,
        #[serde(skip)]
        per_minute: Option<u32>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CatchUp", rename_all = "snake_case")]
enum CatchUpV5 {
    Last {
        #[serde(with = "SpanV1")]
        window: Duration,
    },
    None,
    All {
        #[serde(with = "SpanV1")]
        window: Duration,
        max_runs: u32,
        per_minute: Option<u32>,
    },
}
