//! What goes over the wire, said once: the requests that clients write and the API reads, the views that it writes and they
//! read, the problems, and what is announced of a change.
//!
//! A shape serializes and deserializes. Requests refuse a field that they do not know; views pass it over, and keep a word
//! that a later server has ([`Word`]). What a request means is checked where its shape is: `checked` gives the domain's
//! value or says of each field what is wrong, so that nobody refuses otherwise than the API does. What the domain has is
//! shown by `of`.
//!
//! The schemas of the OpenAPI document are derived from the same types, and always compiled: `schemars` without its features
//! adds two small crates and a derive macro to a build, and a feature would put a `cfg_attr` on each field.

mod object;

pub mod after;
pub mod approval_request;
pub mod audit;
pub mod backfill;
pub mod batch;
pub mod body;
pub mod bounds;
pub mod calendar;
pub mod callback;
pub mod catch_up;
pub mod component;
pub mod decision_request;
mod declared_view;
pub mod edge_request;
pub mod effect;
pub mod field_errors;
pub mod fires;
pub mod for_each_request;
pub mod form;
pub mod health;
pub mod hooks;
pub mod instant;
pub mod job_health;
pub mod job_patch;
pub mod job_query;
pub mod job_request;
pub mod job_view;
pub mod key;
pub mod kinds;
pub mod lease;
pub mod letter;
pub mod log;
pub mod notice;
pub mod notification;
pub mod operation;
pub mod overlap;
pub mod page;
pub mod preview;
pub mod problem;
pub mod quota;
pub mod repair;
pub mod retry;
pub mod rotate;
pub mod run_events;
pub mod run_query;
pub mod run_request;
pub mod run_status;
pub mod run_view;
pub mod schedule;
pub mod secret;
pub mod signing_secret;
pub mod stats;
pub mod suggestion;
pub mod target;
pub mod task_request;
pub mod task_view;
pub mod texts;
pub mod trace;
pub mod whole_number;
pub mod why;
pub mod word;
pub mod words;
mod worker_view;
pub mod workflow_diff;
pub mod workflow_query;
pub mod workflow_request;
pub mod workflow_run_events;
pub mod workflow_run_query;
pub mod workflow_run_request;
pub mod workflow_run_view;
pub mod workflow_view;

pub use self::after::{AfterSpec, FollowedByView};
pub use self::audit::{ActOutcome, ActView, AuditQuery};
pub use self::backfill::{BackfillRequest, BackfillView};
pub use self::batch::{BatchRequest, BatchView};
pub use self::body::{BodyView, Json};
pub use self::bounds::{ConcurrencySpec, RateSpec};
pub use self::calendar::{
    CalendarChangeView, CalendarQuery, CalendarRequest, CalendarRules, CalendarView, DateSpec, DayOfWeek,
    DeleteCalendarQuery, ImportRequest, MaintenanceSpec, PassedOverView, TimeSpec, TouchView, TouchesView,
};
pub use self::callback::{CallbackRunView, CallbackSpec, RunToldView};
pub use self::catch_up::{CatchUpPolicy, CatchUpSpec};
pub use self::decision_request::{HeldRequest, HeldVerdict, NoteRequest, SuccessRequest};
pub use self::declared_view::{DeclaredView, TargetsQuery};
pub use self::effect::{EffectAnswerView, EffectByPathRequest, EffectRequest, EffectView, EffectsQuery};
pub use self::fires::{FiresQuery, FiresView, JobFireView};
pub use self::health::HealthView;
pub use self::hooks::{AfterHookSpec, BeforeHookSpec, HooksSpec, HooksView};
pub use self::instant::Instant;
pub use self::job_health::{DayView, DurationView, HourView, JobHealthView};
pub use self::job_patch::JobPatch;
pub use self::job_query::{DeleteJobQuery, Expand, JobsQuery};
pub use self::job_request::JobRequest;
pub use self::job_view::{HealthField, JobChangeView, JobStatus, JobView, ListedJobView, OneJobView};
pub use self::key::{KeyRequest, KeyRole, KeyView, KeysQuery, RoleRequest, TenantQuery};
pub use self::lease::{
    CompleteRequest, CompletedView, Completion, CompletionsRequest, CompletionsView, FailRequest, HandBackRequest,
    HeartbeatRequest, HeartbeatView, LeaseRequest, LeaseView, LeasesView, LeftRunView, WorkerError,
};
pub use self::letter::{
    DismissManyRequest, GroupView, GroupsQuery, GroupsView, LetterDoneView, LetterFilter, LetterStatus,
    LettersDoneView, LettersQuery, PatchOp, PatchStep, RedriveManyRequest, RedriveRequest,
};
pub use self::log::{LateAnswerView, LogLineView, LogsQuery, LogsView};
pub use self::notice::{JobNotice, RunNotice, SlaNotice, StallNotice};
pub use self::notification::{
    HostView, MessageErrorView, MessagesView, NotificationRequest, NotificationToSpec, NotificationToView,
    NotificationView, NotificationsQuery, SlackSpec, TopicSpec, TopicView, WebhookSpec,
};
pub use self::operation::{
    ActWord, BackfilledView, DryOperationView, ErasureView, JobsFilter, JobsFilterView, OperationAnswerView,
    OperationRequest, OperationState, OperationView, OperationsQuery, ProgressView, ReasonView, RunsFilter,
    RunsFilterView,
};
pub use self::overlap::{OverlapPolicy, OverlapSpec};
pub use self::page::Page;
pub use self::preview::{FireView, NextQuery, PreviewRequest, PreviewView};
pub use self::problem::{FieldError, Problem, ProblemKind};
pub use self::quota::{QuotaRequest, QuotaView};
pub use self::repair::{FindingView, FoundWord, RepairRequest, RepairView};
pub use self::retry::RetrySpec;
pub use self::rotate::RotateRequest;
pub use self::run_events::{RunEventView, RunEventsView};
pub use self::run_query::{RunsAcrossQuery, RunsQuery};
pub use self::run_request::{RetryRequest, RunRequest};
pub use self::run_status::RunStatus;
pub use self::run_view::{AttemptErrorView, AttemptView, RemarkView, RunView, SlaView};
pub use self::schedule::ScheduleSpec;
pub use self::secret::{SecretRequest, SecretView, SecretsQuery};
pub use self::signing_secret::SigningSecretView;
pub use self::stats::{LagView, StatsQuery, StatsView};
pub use self::target::{
    EcsTarget, EventBridgeTarget, HeaderSpec, HttpTarget, LambdaTarget, MASK, NoopTarget, SecretRef, SnsTarget,
    SqsTarget, StepFunctionsTarget, TargetSpec, TimeoutsSpec,
};
pub use self::task_request::TaskRequest;
pub use self::task_view::TaskView;
pub use self::trace::{TraceContextView, TraceView};
pub use self::why::{OccurrenceView, RunWhyView, StageView, WhyQuery, WhyView};
pub use self::word::Word;
pub use self::worker_view::{HoldView, PoolView, PoolsQuery, WaitingCounted, WorkerView, WorkersCounted, WorkersQuery};
pub use self::workflow_diff::{FieldDiffView, TaskDiffView, WorkflowDiffView};
pub use self::workflow_query::{DeleteWorkflowQuery, DiffQuery, RunsOfWorkflowQuery, VersionsQuery, WorkflowsQuery};
pub use self::workflow_request::WorkflowRequest;
pub use self::workflow_run_events::WorkflowRunEventView;
pub use self::workflow_run_query::{BranchQuery, BranchesQuery, TasksQuery, WorkflowRunsQuery};
pub use self::workflow_run_request::WorkflowRunRequest;
pub use self::workflow_run_view::{
    ApprovalView, BranchView, BranchesView, DecidedView, EdgeView, HeldDecidedView, JudgementView, PathStepView,
    RunTaskView, TaskOfView, TaskState, TriedView, WorkflowRunItem, WorkflowRunView,
};
pub use self::workflow_view::{
    DefinitionView, OneWorkflowVersionView, OneWorkflowView, WorkflowVersionView, WorkflowView,
};
