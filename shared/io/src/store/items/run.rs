//! A run, in its job's own partition by instant. It is also listed among all its tenant's.

use std::cmp::Ordering;
use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::access::{By, SecretHash};
use minutehand_domain::body::Body;
use minutehand_domain::callback::Callback;
use minutehand_domain::follow::{Follower, Follows};
use minutehand_domain::hook::Given;
use minutehand_domain::id::Origin;
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::operation::OperationId;
use minutehand_domain::priority::Priority;
use minutehand_domain::retention::{Kept, Retention};
use minutehand_domain::run::{
    Aftermath, Attempt, Branches, CancelAsked, Event, Failure, Graph, Holder, Judgement, Lease, Made, MadeUp, Remark,
    Remarked, Run, Skip, SkippedSpan, Sla, State, Stop, Tally, TaskRun, Tasks, Waiting, Word,
};
use minutehand_domain::slot::{Admission, Bound, LimitKey, SlotName};
use minutehand_domain::trace::Traced;
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::plan::Phase;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::attempt::AttemptV1;
use crate::Fault;
use crate::shapes::body::BodyV1;
use crate::shapes::callback::CallbackV1;
use crate::shapes::follow::{FollowerV1, FollowsV1};
use crate::shapes::priority::PriorityV1;
use crate::shapes::retention::RetentionV1;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::trace::TracedV1;
use crate::shapes::{Many, Maybe, Of, Shape, in_shape, shapes};
use crate::store::item::{Attention, Form, Indexed, Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Partition, Place, Span, parts_of};
use crate::store::update::{Action, Condition, Expression, Update, Value};

impl Item for Run {
    const KIND: &'static str = "run";

    type Key = RunKey;

    fn place(key: &RunKey) -> Place {
        Place::new(Partition::History(key.job), parts_of(*key))
    }

    /// The runs of tasks are found through their workflow's: in the list of all they would be most of it. Messages are found through
    /// their rule's: one that failed is nobody's dead letter.
    fn index(&self) -> Option<Indexed> {
        if self.task.is_some() || self.key.origin == Origin::Notification {
            return None;
        }
        let failed = matches!(self.state, State::Failed { .. } | State::TimedOut { .. });
        let attention = match &self.aftermath {
            _ if !failed => None,
            // That of a callback is no letter.
            _ if self.callback_of.is_some() => Some(Attention::SeenTo),
            None => Some(Attention::Letter),
            Some(Aftermath::Redriven { .. } | Aftermath::Dismissed) => Some(Attention::SeenTo),
        };
        Some(Indexed { run: self.key, attention })
    }

    /// What was written of it beside its record goes with it.
    fn expires_at(&self) -> Option<Moment> {
        self.expires_at()
    }

    fn given_up_at(&self) -> Option<Moment> {
        self.given_up_at()
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
        Span::between(Partition::History(*job), window, past, Order::Backward)
    }
}

impl Stored for Run {
    const NEWEST: u8 = 12;

    /// Shape 1 says everything but that the holder of a lease works elsewhere, shape 2 but what workflows brought, shape 3 but
    /// remarks, shape 4 but the token of a lease, shape 5 but what lets in a run that shares a limit, its SLA, and that its target has
    /// taken it on, shape 6 but that it met others of its job, and shape 7 but that a calendar took it, which runs follow which, that it
    /// waits for its turn in catching up, who is told of its end and asked before it, what became of it after it came to nothing, which
    /// operation made it, and messages of notifications, shape 8 but when it was dispatched and which operation tries it again, shape 9 but
    /// that its end is counted, shape 10 but for how long it is kept, and shape 11 but what it keeps of traces.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        let status = self.status(Moment::EPOCH);
        match (writer.form(), shape_of(self)) {
            (Form::Bytes, 12..) => writer.shape(12, &in_shape::<RunV11, _>(self)),
            (Form::Bytes, 11) => writer.shape(11, &in_shape::<RunV10, _>(self)),
            (Form::Bytes, 10) => writer.shape(10, &in_shape::<RunV9, _>(self)),
            (Form::Bytes, 9) => writer.shape(9, &in_shape::<RunV8, _>(self)),
            (Form::Bytes, 8) => writer.shape(8, &in_shape::<RunV7, _>(self)),
            (Form::Bytes, shape @ 6..) => writer.shape(shape, &in_shape::<RunV6, _>(self)),
            (Form::Bytes, 5) => writer.shape(5, &in_shape::<RunV5, _>(self)),
            (Form::Bytes, 4) => writer.shape(4, &in_shape::<RunV4, _>(self)),
            (Form::Bytes, 3) => writer.shape(3, &in_shape::<RunV3, _>(self)),
            (Form::Bytes, _) => writer.shape(2, &in_shape::<RunV2, _>(self)),
            (Form::Attributes, 12..) => writer.shape(12, &InAWord { run: in_shape::<RunV11, _>(self), status }),
            (Form::Attributes, 11) => writer.shape(11, &InAWord { run: in_shape::<RunV10, _>(self), status }),
            (Form::Attributes, 10) => writer.shape(10, &InAWord { run: in_shape::<RunV9, _>(self), status }),
            (Form::Attributes, 9) => writer.shape(9, &InAWord { run: in_shape::<RunV8, _>(self), status }),
            (Form::Attributes, 8) => writer.shape(8, &InAWord { run: in_shape::<RunV7, _>(self), status }),
            (Form::Attributes, shape @ 6..) => {
                writer.shape(shape, &InAWord { run: in_shape::<RunV6, _>(self), status })
            }
            (Form::Attributes, 5) => writer.shape(5, &InAWord { run: in_shape::<RunV5, _>(self), status }),
            (Form::Attributes, 4) => writer.shape(4, &InAWord { run: in_shape::<RunV4, _>(self), status }),
            (Form::Attributes, 3) => writer.shape(3, &InAWord { run: in_shape::<RunV3, _>(self), status }),
            (Form::Attributes, 2) => writer.shape(2, &InAWord { run: in_shape::<RunV2, _>(self), status }),
            (Form::Attributes, _) => writer.shape(1, &InAWord { run: in_shape::<RunV1, _>(self), status }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<RunV1, _>>().map(|of| of.0),
            2 => reader.shape::<Of<RunV2, _>>().map(|of| of.0),
            3 => reader.shape::<Of<RunV3, _>>().map(|of| of.0),
            4 => reader.shape::<Of<RunV4, _>>().map(|of| of.0),
            5 => reader.shape::<Of<RunV5, _>>().map(|of| of.0),
            6 | 7 => reader.shape::<Of<RunV6, _>>().map(|of| of.0),
            8 => reader.shape::<Of<RunV7, _>>().map(|of| of.0),
            9 => reader.shape::<Of<RunV8, _>>().map(|of| of.0),
            10 => reader.shape::<Of<RunV9, _>>().map(|of| of.0),
            11 => reader.shape::<Of<RunV10, _>>().map(|of| of.0),
            12 => reader.shape::<Of<RunV11, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// The oldest that says it all.
///
/// Releases that read no shape 12 look for bodies beside the job, where those of runs no longer lie: they are to leave such a run alone.
fn shape_of(run: &Run) -> u8 {
    let lease = run.lease();
    let holder = lease.map(|lease| lease.holder);
    if run.trace != Traced::default() || run.bodies().any(|body| matches!(body, Body::Apart(_))) {
        12
    } else if run.kept != Kept::default() {
        11
    } else if says_more_than_9(run) {
        10
    } else if says_more_than_8(run) {
        9
    } else if says_more_than_7(run) {
        8
    } else if met_others_of_its_job(run) {
        7
    } else if !run.admission.is_empty() || run.sla.is_some() || matches!(holder, Some(Holder::Target(_))) {
        6
    } else if lease.is_some_and(|lease| lease.token.is_some()) {
        5
    } else if !run.remarks.is_empty() {
        4
    } else if is_of_workflows(run) {
        3
    } else if matches!(holder, Some(Holder::Remote(_))) {
        2
    } else {
        1
    }
}

/// Whether its end is counted, or its zone's clock was put forward past it.
fn says_more_than_9(run: &Run) -> bool {
    run.is_counted || matches!(run.state, State::Skipped { why: Skip::DstGap, .. })
}

/// Whether it says when it was dispatched, or which operation tries it again.
fn says_more_than_8(run: &Run) -> bool {
    run.dispatched.is_some() || matches!(run.aftermath, Some(Aftermath::Redriven { by: Some(_), .. }))
}

/// Whether somebody is told of its end, it tells of one itself, or a hook had a part in it.
fn has_to_do_with_callbacks(run: &Run) -> bool {
    let was_vetoed = matches!(run.state, State::Skipped { why: Skip::Vetoed, .. });
    !run.callbacks.is_empty() || run.callback_of.is_some() || run.given.is_some() || was_vetoed
}

/// Whether it says what became of it after it came to nothing, or has a remark about that: a release of shape 7 has no words for it.
fn says_what_became_of_it(run: &Run) -> bool {
    let is_about_that =
        |remark: &Remark| matches!(remark.what, Remarked::Redriven | Remarked::Dismissed | Remarked::AskedAgain);
    run.aftermath.is_some() || run.remarks.iter().any(is_about_that)
}

/// Whether an operation made it, or it is another try at the run of a backfill.
fn is_of_operations(run: &Run) -> bool {
    let keys = [Some(&run.key), run.redrive_of.as_ref()];
    run.made.is_some() || keys.into_iter().flatten().any(|key| key.origin == Origin::Backfill)
}

/// Whether it says that it waits for others of its job, has a place among them, or has made way: a release of shape 6 has no words for that.
fn met_others_of_its_job(run: &Run) -> bool {
    let of_a_job = |bound: &Bound| matches!(bound.slot, SlotName::Job(_) | SlotName::Queue(_));
    matches!(run.state, State::Skipped { why: Skip::Overlap, .. }) || run.admission.places.iter().any(of_a_job)
}

/// Whether it says what a release of shape 7 has no words for.
fn says_more_than_7(run: &Run) -> bool {
    let is_of_calendars = matches!(run.state, State::Skipped { why: Skip::Calendar, .. });
    let is_of_one_kind = is_of_followers(run) || has_to_do_with_callbacks(run) || says_what_became_of_it(run);
    is_of_one_kind || tells_of_others(run) || is_of_operations(run) || is_of_calendars || run.made_up.is_some()
}

/// Whether it follows another, another try at one that does among them, or others follow it.
fn is_of_followers(run: &Run) -> bool {
    let of_followers = |key: &RunKey| key.origin == Origin::Follow;
    let keys = [Some(&run.key), run.redrive_of.as_ref()];
    let names_one = keys.into_iter().flatten().any(of_followers);
    names_one || run.follows.is_some() || !run.followers.is_empty()
}

/// Whether it is a message of a notification: a release of shape 7 has no word for where it comes from.
fn tells_of_others(run: &Run) -> bool {
    matches!(run.state, State::Skipped { why: Skip::Cooldown, .. }) || run.key.origin == Origin::Notification
}

/// Whether it says something that only workflows do.
fn is_of_workflows(run: &Run) -> bool {
    let of_workflows = |key: &RunKey| matches!(key.origin, Origin::Task | Origin::Resume);
    let ended = match &run.state {
        State::Failed { why, .. } => matches!(why, Failure::Task | Failure::Rejected | Failure::Unmade),
        State::Skipped { why, .. } => matches!(why, Skip::Upstream | Skip::Condition),
        State::Waiting(_) => true,
        State::Scheduled { .. }
        | State::Running(_)
        | State::Succeeded { .. }
        | State::TimedOut { .. }
        | State::Cancelled { .. } => false,
    };
    let keys = [Some(&run.key), run.redrive_of.as_ref()];
    ended
        || run.task.is_some()
        || run.graph.is_some()
        || run.told.is_some()
        || keys.into_iter().flatten().any(of_workflows)
}

/// With its status in a word, for readers of the console; the state says it whole.
#[derive(Serialize)]
struct InAWord<R> {
    #[serde(flatten)]
    run: R,
    status: &'static str,
}

shapes! {
    RunV1 => Run,
    RunV2 => Run,
    RunV3 => Run,
    RunV4 => Run,
    RunV5 => Run,
    RunV6 => Run,
    RunV7 => Run,
    RunV8 => Run,
    RunV9 => Run,
    RunV10 => Run,
    RunV11 => Run,
    KeptV10 => Kept,
    MadeUpV7 => MadeUp,
    GivenV7 => Given,
    AftermathV7 => Aftermath,
    AftermathV8 => Aftermath,
    MadeV7 => Made,
    AdmissionV6 => Admission,
    BoundV6 => Bound,
    SlotNameV6 => SlotName,
    RemarkV4 => Remark,
    RemarkedV4 => Remarked,
    StateV1 => State,
    StateV2 => State,
    StateV3 => State,
    StateV5 => State,
    StateV6 => State,
    WaitingV3 => Waiting,
    TasksV3 => Tasks,
    GraphV3 => Graph,
    BranchesV3 => Branches,
    StopV3 => Stop,
    PhaseV3 => Phase,
    TaskRunV3 => TaskRun,
    JudgementV3 => Judgement,
    WordV3 => Word,
    FailureV3 => Failure,
    SkipV3 => Skip,
    LeaseV1 => Lease,
    LeaseV2 => Lease,
    LeaseV5 => Lease,
    LeaseV6 => Lease,
    HolderV2 => Holder,
    HolderV6 => Holder,
    SlaV6 => Sla,
    FailureV1 => Failure,
    SkipV1 => Skip,
    SkippedSpanV1 => SkippedSpan,
    TallyV1 => Tally,
    CancelAskedV1 => CancelAsked,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV1 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV1")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(skip)]
    task: Option<TaskRun>,
    #[serde(skip)]
    graph: Option<Graph>,
    #[serde(skip)]
    told: Option<String>,
    #[serde(skip)]
    remarks: Vec<Remark>,
    #[serde(skip)]
    admission: Admission,
    #[serde(skip)]
    sla: Option<Sla>,
    #[serde(skip)]
    follows: Option<Follows>,
    #[serde(skip)]
    followers: Vec<Follower>,
    #[serde(skip)]
    made_up: Option<MadeUp>,
    #[serde(skip)]
    callbacks: Vec<Callback>,
    #[serde(skip)]
    callback_of: Option<RunKey>,
    #[serde(skip)]
    given: Option<Given>,
    #[serde(skip)]
    aftermath: Option<Aftermath>,
    #[serde(skip)]
    made: Option<Made>,
    #[serde(skip)]
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// A lease says whether its holder works elsewhere.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV2 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV2")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(skip)]
    task: Option<TaskRun>,
    #[serde(skip)]
    graph: Option<Graph>,
    #[serde(skip)]
    told: Option<String>,
    #[serde(skip)]
    remarks: Vec<Remark>,
    #[serde(skip)]
    admission: Admission,
    #[serde(skip)]
    sla: Option<Sla>,
    #[serde(skip)]
    follows: Option<Follows>,
    #[serde(skip)]
    followers: Vec<Follower>,
    #[serde(skip)]
    made_up: Option<MadeUp>,
    #[serde(skip)]
    callbacks: Vec<Callback>,
    #[serde(skip)]
    callback_of: Option<RunKey>,
    #[serde(skip)]
    given: Option<Given>,
    #[serde(skip)]
    aftermath: Option<Aftermath>,
    #[serde(skip)]
    made: Option<Made>,
    #[serde(skip)]
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateV1 {
    Scheduled {
        due: Moment,
    },
    Running(#[serde(with = "LeaseV1")] Lease),
    Succeeded {
        at: Moment,
        #[serde(with = "BodyV1")]
        result: Body,
    },
    Failed {
        at: Moment,
        #[serde(with = "FailureV1")]
        why: Failure,
    },
    TimedOut {
        at: Moment,
    },
    Cancelled {
        at: Moment,
    },
    Skipped {
        at: Moment,
        #[serde(with = "SkipV1")]
        why: Skip,
        #[serde(default, rename = "also", with = "Maybe::<SkippedSpanV1>")]
        span: Option<SkippedSpan>,
    },
    #[serde(skip)]
    Waiting(Waiting),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateV2 {
    Scheduled {
        due: Moment,
    },
    Running(#[serde(with = "LeaseV2")] Lease),
    Succeeded {
        at: Moment,
        #[serde(with = "BodyV1")]
        result: Body,
    },
    Failed {
        at: Moment,
        #[serde(with = "FailureV1")]
        why: Failure,
    },
    TimedOut {
        at: Moment,
    },
    Cancelled {
        at: Moment,
    },
    Skipped {
        at: Moment,
        #[serde(with = "SkipV1")]
        why: Skip,
        #[serde(default, rename = "also", with = "Maybe::<SkippedSpanV1>")]
        span: Option<SkippedSpan>,
    },
    #[serde(skip)]
    Waiting(Waiting),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lease")]
struct LeaseV1 {
    #[serde(with = "ProcessV1")]
    holder: Holder,
    until: Moment,
    cancelled: bool,
    #[serde(skip)]
    token: Option<SecretHash>,
}

/// All holders were processes of the deployment.
struct ProcessV1;

impl Shape<Holder> for ProcessV1 {
    fn serialize<S: Serializer>(holder: &Holder, serializer: S) -> Result<S::Ok, S::Error> {
        match holder {
            Holder::Process(worker) => worker.serialize(serializer),
            Holder::Remote(_) | Holder::Target(_) => {
                Err(S::Error::custom("shape 1 of a run knows no holder elsewhere"))
            }
        }
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Holder, D::Error> {
        <Worker as Deserialize>::deserialize(deserializer).map(Holder::Process)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lease")]
struct LeaseV2 {
    #[serde(with = "HolderV2")]
    holder: Holder,
    until: Moment,
    cancelled: bool,
    #[serde(skip)]
    token: Option<SecretHash>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Holder", rename_all = "snake_case")]
enum HolderV2 {
    Process(Worker),
    Remote(Worker),
    #[serde(skip)]
    Target(Worker),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Failure", rename_all = "snake_case")]
enum FailureV1 {
    Error,
    Lost,
    Poison,
    Instant,
    #[serde(skip)]
    Task,
    #[serde(skip)]
    Rejected,
    #[serde(skip)]
    Unmade,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Skip", rename_all = "snake_case")]
enum SkipV1 {
    Coalesced,
    Missed,
    Paused,
    Cancelled,
    Superseded,
    Abandoned,
    #[serde(skip)]
    Upstream,
    #[serde(skip)]
    Condition,
    #[serde(skip)]
    Overlap,
    #[serde(skip)]
    Calendar,
    Cycle,
    #[serde(skip)]
    Vetoed,
    #[serde(skip)]
    Cooldown,
    #[serde(skip)]
    DstGap,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SkippedSpan")]
struct SkippedSpanV1 {
    until: Moment,
    count: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Tally")]
struct TallyV1 {
    failures: u16,
    lost_in_a_row: u8,
    instant_in_a_row: u16,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CancelAsked")]
struct CancelAskedV1 {
    at: Moment,
    by: By,
}

/// It may wait, and be a task's.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV3 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV3")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(skip)]
    remarks: Vec<Remark>,
    #[serde(skip)]
    admission: Admission,
    #[serde(skip)]
    sla: Option<Sla>,
    #[serde(skip)]
    follows: Option<Follows>,
    #[serde(skip)]
    followers: Vec<Follower>,
    #[serde(skip)]
    made_up: Option<MadeUp>,
    #[serde(skip)]
    callbacks: Vec<Callback>,
    #[serde(skip)]
    callback_of: Option<RunKey>,
    #[serde(skip)]
    given: Option<Given>,
    #[serde(skip)]
    aftermath: Option<Aftermath>,
    #[serde(skip)]
    made: Option<Made>,
    #[serde(skip)]
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// It has remarks.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV4 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV3")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(skip)]
    admission: Admission,
    #[serde(skip)]
    sla: Option<Sla>,
    #[serde(skip)]
    follows: Option<Follows>,
    #[serde(skip)]
    followers: Vec<Follower>,
    #[serde(skip)]
    made_up: Option<MadeUp>,
    #[serde(skip)]
    callbacks: Vec<Callback>,
    #[serde(skip)]
    callback_of: Option<RunKey>,
    #[serde(skip)]
    given: Option<Given>,
    #[serde(skip)]
    aftermath: Option<Aftermath>,
    #[serde(skip)]
    made: Option<Made>,
    #[serde(skip)]
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Remark")]
struct RemarkV4 {
    at: Moment,
    by: Option<By>,
    #[serde(with = "RemarkedV4")]
    what: Remarked,
    note: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Remarked", rename_all = "snake_case")]
enum RemarkedV4 {
    CancelAsked,
    Resumed,
    Stalled,
    /// From shape 8 on, and those after it too.
    Redriven,
    Dismissed,
    AskedAgain,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskRun")]
struct TaskRunV3 {
    #[serde(with = "RunKeyV1")]
    parent: RunKey,
    depth: u8,
    tainted: bool,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    before: Option<RunKey>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    reused: Option<RunKey>,
    #[serde(default, with = "Maybe::<JudgementV3>")]
    answer: Option<Judgement>,
    #[serde(default, with = "Maybe::<JudgementV3>")]
    verdict: Option<Judgement>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Judgement")]
struct JudgementV3 {
    #[serde(with = "WordV3")]
    word: Word,
    by: By,
    at: Moment,
    note: Option<String>,
    #[serde(with = "BodyV1")]
    result: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Word", rename_all = "snake_case")]
enum WordV3 {
    Approve,
    Reject,
    Retry,
    Skip,
    Succeed,
    Fail,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateV3 {
    Scheduled {
        due: Moment,
    },
    Running(#[serde(with = "LeaseV2")] Lease),
    Succeeded {
        at: Moment,
        #[serde(with = "BodyV1")]
        result: Body,
    },
    Failed {
        at: Moment,
        #[serde(with = "FailureV3")]
        why: Failure,
    },
    TimedOut {
        at: Moment,
    },
    Cancelled {
        at: Moment,
    },
    Skipped {
        at: Moment,
        #[serde(with = "SkipV3")]
        why: Skip,
        #[serde(default, rename = "also", with = "Maybe::<SkippedSpanV1>")]
        span: Option<SkippedSpan>,
    },
    Waiting(#[serde(with = "WaitingV3")] Waiting),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Waiting", rename_all = "snake_case")]
enum WaitingV3 {
    Tasks(#[serde(with = "TasksV3")] Tasks),
    Answer { until: Moment },
    Slot { since: Moment },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Tasks")]
struct TasksV3 {
    deadline: Moment,
    #[serde(default, with = "Maybe::<StopV3>")]
    stop: Option<Stop>,
    #[serde(with = "PhaseV3")]
    phase: Phase,
    #[serde(default, with = "Maybe::<StopV3>")]
    outcome: Option<Stop>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Graph")]
struct GraphV3 {
    workflow: WorkflowId,
    version: u32,
    #[serde(default, with = "Maybe::<BranchesV3>")]
    each: Option<Branches>,
    #[serde(with = "BodyV1")]
    given: Body,
    parts: u8,
    expires_at: Moment,
    slot: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Branches")]
struct BranchesV3 {
    node: u16,
    count: u16,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Stop", rename_all = "snake_case")]
enum StopV3 {
    Failed,
    Cancelled,
    TimedOut,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Phase", rename_all = "snake_case")]
enum PhaseV3 {
    Main,
    Finally,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Failure", rename_all = "snake_case")]
enum FailureV3 {
    Error,
    Lost,
    Poison,
    Instant,
    Task,
    Rejected,
    Unmade,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Skip", rename_all = "snake_case")]
enum SkipV3 {
    Coalesced,
    Missed,
    Paused,
    Cancelled,
    Superseded,
    Abandoned,
    Upstream,
    Condition,
    /// From shape 7 on.
    Overlap,
    /// From shape 8 on.
    Calendar,
    Cycle,
    /// From shape 8 on.
    Vetoed,
    /// From shape 8 on.
    Cooldown,
    /// From shape 10 on.
    DstGap,
}

/// A worker elsewhere holds it, and shows that it does.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV5 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV5")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(skip)]
    admission: Admission,
    #[serde(skip)]
    sla: Option<Sla>,
    #[serde(skip)]
    follows: Option<Follows>,
    #[serde(skip)]
    followers: Vec<Follower>,
    #[serde(skip)]
    made_up: Option<MadeUp>,
    #[serde(skip)]
    callbacks: Vec<Callback>,
    #[serde(skip)]
    callback_of: Option<RunKey>,
    #[serde(skip)]
    given: Option<Given>,
    #[serde(skip)]
    aftermath: Option<Aftermath>,
    #[serde(skip)]
    made: Option<Made>,
    #[serde(skip)]
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// It shares a limit with others, has an SLA, or its target has taken it on.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV6 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV6")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(with = "AdmissionV6")]
    admission: Admission,
    #[serde(default, with = "Maybe::<SlaV6>")]
    sla: Option<Sla>,
    #[serde(skip)]
    follows: Option<Follows>,
    #[serde(skip)]
    followers: Vec<Follower>,
    #[serde(skip)]
    made_up: Option<MadeUp>,
    #[serde(skip)]
    callbacks: Vec<Callback>,
    #[serde(skip)]
    callback_of: Option<RunKey>,
    #[serde(skip)]
    given: Option<Given>,
    #[serde(skip)]
    aftermath: Option<Aftermath>,
    #[serde(skip)]
    made: Option<Made>,
    #[serde(skip)]
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// It follows another, or others follow it.
/// Made up for, it may wait for its turn.
/// Somebody is told of its end, or it tells of one itself; a hook was asked before it.
/// It says what became of it after it came to nothing.
/// An operation made it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV7 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV6")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(with = "AdmissionV6")]
    admission: Admission,
    #[serde(default, with = "Maybe::<SlaV6>")]
    sla: Option<Sla>,
    #[serde(default, with = "Maybe::<FollowsV1>")]
    follows: Option<Follows>,
    #[serde(with = "Many::<FollowerV1>")]
    followers: Vec<Follower>,
    #[serde(default, with = "Maybe::<MadeUpV7>")]
    made_up: Option<MadeUp>,
    #[serde(with = "Many::<CallbackV1>")]
    callbacks: Vec<Callback>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    callback_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<GivenV7>")]
    given: Option<Given>,
    #[serde(default, with = "Maybe::<AftermathV7>")]
    aftermath: Option<Aftermath>,
    #[serde(default, with = "Maybe::<MadeV7>")]
    made: Option<Made>,
    #[serde(skip)]
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// It began late, and says when it was dispatched; or an operation tries it again.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV8 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV6")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(with = "AdmissionV6")]
    admission: Admission,
    #[serde(default, with = "Maybe::<SlaV6>")]
    sla: Option<Sla>,
    #[serde(default, with = "Maybe::<FollowsV1>")]
    follows: Option<Follows>,
    #[serde(with = "Many::<FollowerV1>")]
    followers: Vec<Follower>,
    #[serde(default, with = "Maybe::<MadeUpV7>")]
    made_up: Option<MadeUp>,
    #[serde(with = "Many::<CallbackV1>")]
    callbacks: Vec<Callback>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    callback_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<GivenV7>")]
    given: Option<Given>,
    #[serde(default, with = "Maybe::<AftermathV8>")]
    aftermath: Option<Aftermath>,
    #[serde(default, with = "Maybe::<MadeV7>")]
    made: Option<Made>,
    dispatched: Option<Moment>,
    #[serde(skip)]
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// Its end is counted.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV9 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV6")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(with = "AdmissionV6")]
    admission: Admission,
    #[serde(default, with = "Maybe::<SlaV6>")]
    sla: Option<Sla>,
    #[serde(default, with = "Maybe::<FollowsV1>")]
    follows: Option<Follows>,
    #[serde(with = "Many::<FollowerV1>")]
    followers: Vec<Follower>,
    #[serde(default, with = "Maybe::<MadeUpV7>")]
    made_up: Option<MadeUp>,
    #[serde(with = "Many::<CallbackV1>")]
    callbacks: Vec<Callback>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    callback_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<GivenV7>")]
    given: Option<Given>,
    #[serde(default, with = "Maybe::<AftermathV8>")]
    aftermath: Option<Aftermath>,
    #[serde(default, with = "Maybe::<MadeV7>")]
    made: Option<Made>,
    dispatched: Option<Moment>,
    is_counted: bool,
    #[serde(skip)]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// For how long it is kept when it is over.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV10 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV6")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(with = "AdmissionV6")]
    admission: Admission,
    #[serde(default, with = "Maybe::<SlaV6>")]
    sla: Option<Sla>,
    #[serde(default, with = "Maybe::<FollowsV1>")]
    follows: Option<Follows>,
    #[serde(with = "Many::<FollowerV1>")]
    followers: Vec<Follower>,
    #[serde(default, with = "Maybe::<MadeUpV7>")]
    made_up: Option<MadeUp>,
    #[serde(with = "Many::<CallbackV1>")]
    callbacks: Vec<Callback>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    callback_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<GivenV7>")]
    given: Option<Given>,
    #[serde(default, with = "Maybe::<AftermathV8>")]
    aftermath: Option<Aftermath>,
    #[serde(default, with = "Maybe::<MadeV7>")]
    made: Option<Made>,
    dispatched: Option<Moment>,
    is_counted: bool,
    #[serde(with = "KeptV10")]
    kept: Kept,
    #[serde(skip)]
    trace: Traced,
}

/// A run says who brought it about by what trace, and which tasks were before it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct RunV11 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    key: RunKey,
    nominal: Option<Moment>,
    #[serde(with = "StateV6")]
    state: State,
    fence: u32,
    #[serde(with = "Many::<AttemptV1>")]
    attempts: Vec<Attempt>,
    started_at: Option<Moment>,
    #[serde(with = "TallyV1")]
    tally: Tally,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    #[serde(default, with = "Maybe::<BodyV1>")]
    payload: Option<Body>,
    asked_by: Option<By>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    redrive_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<CancelAskedV1>")]
    cancel: Option<CancelAsked>,
    #[serde(default, with = "Maybe::<TaskRunV3>")]
    task: Option<TaskRun>,
    #[serde(default, with = "Maybe::<GraphV3>")]
    graph: Option<Graph>,
    told: Option<String>,
    #[serde(with = "Many::<RemarkV4>")]
    remarks: Vec<Remark>,
    #[serde(with = "AdmissionV6")]
    admission: Admission,
    #[serde(default, with = "Maybe::<SlaV6>")]
    sla: Option<Sla>,
    #[serde(default, with = "Maybe::<FollowsV1>")]
    follows: Option<Follows>,
    #[serde(with = "Many::<FollowerV1>")]
    followers: Vec<Follower>,
    #[serde(default, with = "Maybe::<MadeUpV7>")]
    made_up: Option<MadeUp>,
    #[serde(with = "Many::<CallbackV1>")]
    callbacks: Vec<Callback>,
    #[serde(default, with = "Maybe::<RunKeyV1>")]
    callback_of: Option<RunKey>,
    #[serde(default, with = "Maybe::<GivenV7>")]
    given: Option<Given>,
    #[serde(default, with = "Maybe::<AftermathV8>")]
    aftermath: Option<Aftermath>,
    #[serde(default, with = "Maybe::<MadeV7>")]
    made: Option<Made>,
    dispatched: Option<Moment>,
    is_counted: bool,
    #[serde(with = "KeptV10")]
    kept: Kept,
    #[serde(with = "TracedV1")]
    trace: Traced,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Kept")]
struct KeptV10 {
    #[serde(default, with = "Maybe::<RetentionV1>")]
    retention: Option<Retention>,
    until: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "MadeUp")]
struct MadeUpV7 {
    since: Moment,
    turn: Moment,
    per_minute: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Given")]
struct GivenV7 {
    attempt: u32,
    #[serde(with = "BodyV1")]
    payload: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Aftermath", rename_all = "snake_case")]
enum AftermathV7 {
    Redriven {
        #[serde(with = "RunKeyV1")]
        run: RunKey,
        #[serde(default, with = "Maybe::<BodyV1>")]
        payload: Option<Body>,
        #[serde(skip)]
        by: Option<OperationId>,
    },
    Dismissed,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Aftermath", rename_all = "snake_case")]
enum AftermathV8 {
    Redriven {
        #[serde(with = "RunKeyV1")]
        run: RunKey,
        #[serde(default, with = "Maybe::<BodyV1>")]
        payload: Option<Body>,
        by: Option<OperationId>,
    },
    Dismissed,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Made")]
struct MadeV7 {
    by: OperationId,
    at: Moment,
}

/// The target of a call may have taken it on.
#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateV6 {
    Scheduled {
        due: Moment,
    },
    Running(#[serde(with = "LeaseV6")] Lease),
    Succeeded {
        at: Moment,
        #[serde(with = "BodyV1")]
        result: Body,
    },
    Failed {
        at: Moment,
        #[serde(with = "FailureV3")]
        why: Failure,
    },
    TimedOut {
        at: Moment,
    },
    Cancelled {
        at: Moment,
    },
    Skipped {
        at: Moment,
        #[serde(with = "SkipV3")]
        why: Skip,
        #[serde(default, rename = "also", with = "Maybe::<SkippedSpanV1>")]
        span: Option<SkippedSpan>,
    },
    Waiting(#[serde(with = "WaitingV3")] Waiting),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lease")]
struct LeaseV6 {
    #[serde(with = "HolderV6")]
    holder: Holder,
    until: Moment,
    cancelled: bool,
    token: Option<SecretHash>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Holder", rename_all = "snake_case")]
enum HolderV6 {
    Process(Worker),
    Remote(Worker),
    Target(Worker),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Sla")]
struct SlaV6 {
    until: Moment,
    missed: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Admission")]
struct AdmissionV6 {
    #[serde(with = "Many::<BoundV6>")]
    places: Vec<Bound>,
    turn: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Bound")]
struct BoundV6 {
    #[serde(with = "SlotNameV6")]
    slot: SlotName,
    width: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SlotName", rename_all = "snake_case")]
enum SlotNameV6 {
    Workflow(WorkflowId),
    Root(LimitKey),
    Key(LimitKey),
    Quota,
    /// From shape 7 on, and the next one too.
    Job(JobId),
    Queue(JobId),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateV5 {
    Scheduled {
        due: Moment,
    },
    Running(#[serde(with = "LeaseV5")] Lease),
    Succeeded {
        at: Moment,
        #[serde(with = "BodyV1")]
        result: Body,
    },
    Failed {
        at: Moment,
        #[serde(with = "FailureV3")]
        why: Failure,
    },
    TimedOut {
        at: Moment,
    },
    Cancelled {
        at: Moment,
    },
    Skipped {
        at: Moment,
        #[serde(with = "SkipV3")]
        why: Skip,
        #[serde(default, rename = "also", with = "Maybe::<SkippedSpanV1>")]
        span: Option<SkippedSpan>,
    },
    Waiting(#[serde(with = "WaitingV3")] Waiting),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Lease")]
struct LeaseV5 {
    #[serde(with = "HolderV2")]
    holder: Holder,
    until: Moment,
    cancelled: bool,
    token: Option<SecretHash>,
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
        let lease = run.lease()?;
        let may_be_longer = lease.until < self.until && !lease.cancelled;
        let heartbeat = Event::Heartbeat { fence: self.fence, until: self.until };
        run.after(&heartbeat, self.until).ok().filter(|_| may_be_longer)
    }

    /// Tried: without the condition on the fence, `a_lease_is_extended_only_by_its_own_claim` fails on DynamoDB.
    fn expression(&self) -> Expression {
        let until = Value::Text(self.until.to_string());
        Expression {
            conditions: vec![
                Condition::Is(&["fence"], Value::Number(self.fence.into())),
                Condition::IsLess(&["state", "running", "until"], until.clone()),
                Condition::Is(&["state", "running", "cancelled"], Value::Bool(false)),
            ],
            actions: vec![Action::Set(&["state", "running", "until"], until)],
        }
    }
}
