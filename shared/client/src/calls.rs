//! The calls: every operation of the API, its address, what it sends and what its answer reads as.

use bytes::Bytes;
use http::Method;
use minutehand_wire::{
    ActView, AuditQuery, BackfillRequest, BackfillView, BatchRequest, BatchView, BranchQuery, BranchView,
    BranchesQuery, CalendarChangeView, CalendarQuery, CalendarView, CompleteRequest, CompletionsRequest,
    CompletionsView, DecidedView, DeclaredView, DeleteCalendarQuery, DeleteJobQuery, DeleteWorkflowQuery, DiffQuery,
    DismissManyRequest, EffectAnswerView, EffectRequest, EffectView, EffectsQuery, FailRequest, FiresQuery, FiresView,
    GroupsQuery, GroupsView, HandBackRequest, HealthView, HeartbeatRequest, HeartbeatView, HeldDecidedView,
    HeldRequest, ImportRequest, JobView, JobsQuery, KeyRequest, KeyView, KeysQuery, LeaseRequest, LeasesView,
    LeftRunView, LettersDoneView, LettersQuery, ListedJobView, LogsQuery, LogsView, NextQuery, NoteRequest,
    NotificationView, NotificationsQuery, OneJobView, OneWorkflowVersionView, OneWorkflowView, OperationAnswerView,
    OperationRequest, OperationView, OperationsQuery, Page, PoolView, PoolsQuery, PreviewRequest, PreviewView,
    QuotaRequest, QuotaView, RedriveManyRequest, RedriveRequest, RepairRequest, RepairView, RetryRequest,
    RotateRequest, RunEventsView, RunRequest, RunTaskView, RunView, RunWhyView, RunsAcrossQuery, RunsOfWorkflowQuery,
    RunsQuery, SecretRequest, SecretView, SecretsQuery, SigningSecretView, StatsQuery, StatsView, SuccessRequest,
    TargetsQuery, TasksQuery, TenantQuery, VersionsQuery, WhyQuery, WhyView, WorkerView, WorkersQuery,
    WorkflowDiffView, WorkflowRunEventView, WorkflowRunItem, WorkflowRunRequest, WorkflowRunView, WorkflowRunsQuery,
    WorkflowVersionView, WorkflowView, WorkflowsQuery,
};
use serde::Serialize;

use crate::call::Call;

/// A [`minutehand_wire::JobRequest`], or JSON that is to be one.
pub fn create_job(job: &impl Serialize) -> Call<JobView> {
    Call::post(&["jobs"]).json(job)
}

pub fn create_jobs(jobs: &BatchRequest) -> Call<BatchView> {
    Call::post(&["jobs", "batch"]).json(jobs)
}

pub fn list_jobs(query: &JobsQuery) -> Call<Page<ListedJobView>> {
    Call::get(&["jobs"]).query(query)
}

pub fn get_job(job: &str) -> Call<OneJobView> {
    Call::get(&["jobs", job])
}

/// A [`minutehand_wire::JobPatch`], or JSON that is to be one.
pub fn patch_job(job: &str, patch: &impl Serialize) -> Call<JobView> {
    Call::new(Method::PATCH, &["jobs", job]).json(patch)
}

pub fn delete_job(job: &str, query: &DeleteJobQuery) -> Call<()> {
    Call::new(Method::DELETE, &["jobs", job]).query(query)
}

pub fn pause_job(job: &str, note: &NoteRequest) -> Call<JobView> {
    noted(Call::post(&["jobs", job, "pause"]), note)
}

pub fn resume_job(job: &str, note: &NoteRequest) -> Call<JobView> {
    noted(Call::post(&["jobs", job, "resume"]), note)
}

pub fn run_job(job: &str, run: &RunRequest) -> Call<RunView> {
    asked_for(Call::post(&["jobs", job, "run"]), run)
}

pub fn next_fires(job: &str, query: &NextQuery) -> Call<PreviewView> {
    Call::get(&["jobs", job, "next"]).query(query)
}

pub fn explain_instant(job: &str, query: &WhyQuery) -> Call<WhyView> {
    Call::get(&["jobs", job, "why"]).query(query)
}

pub fn list_runs_of_job(job: &str, query: &RunsQuery) -> Call<Page<RunView>> {
    Call::get(&["jobs", job, "runs"]).query(query)
}

pub fn list_runs(query: &RunsAcrossQuery) -> Call<Page<RunView>> {
    Call::get(&["runs"]).query(query)
}

pub fn get_run(run: &str) -> Call<RunView> {
    Call::get(&["runs", run])
}

pub fn explain_run(run: &str) -> Call<RunWhyView> {
    Call::get(&["runs", run, "why"])
}

pub fn list_run_events(run: &str) -> Call<RunEventsView> {
    Call::get(&["runs", run, "events"])
}

pub fn cancel_run(run: &str, note: &NoteRequest) -> Call<RunView> {
    noted(Call::post(&["runs", run, "cancel"]), note)
}

pub fn retry_run(run: &str, request: &RetryRequest) -> Call<RunView> {
    let call = Call::post(&["runs", run, "retry"]);
    if *request == RetryRequest::default() { call } else { call.json(request) }
}

pub fn list_dead_letters(query: &LettersQuery) -> Call<Page<RunView>> {
    Call::get(&["dead-letters"]).query(query)
}

pub fn group_dead_letters(query: &GroupsQuery) -> Call<GroupsView> {
    Call::get(&["dead-letters", "groups"]).query(query)
}

pub fn redrive_dead_letter(run: &str, request: &RedriveRequest) -> Call<RunView> {
    let call = Call::post(&["dead-letters", run, "redrive"]);
    if *request == RedriveRequest::default() { call } else { call.json(request) }
}

pub fn redrive_dead_letters(request: &RedriveManyRequest) -> Call<LettersDoneView> {
    Call::post(&["dead-letters", "redrive"]).json(request)
}

pub fn dismiss_dead_letter(run: &str, note: &NoteRequest) -> Call<RunView> {
    noted(Call::post(&["dead-letters", run, "dismiss"]), note)
}

pub fn dismiss_dead_letters(request: &DismissManyRequest) -> Call<LettersDoneView> {
    Call::post(&["dead-letters", "dismiss"]).json(request)
}

/// A [`minutehand_wire::WorkflowRequest`], or JSON that is to be one.
pub fn create_workflow(workflow: &impl Serialize) -> Call<OneWorkflowView> {
    Call::post(&["workflows"]).json(workflow)
}

pub fn list_workflows(query: &WorkflowsQuery) -> Call<Page<WorkflowView>> {
    Call::get(&["workflows"]).query(query)
}

pub fn get_workflow(workflow: &str) -> Call<OneWorkflowView> {
    Call::get(&["workflows", workflow])
}

/// The whole, written anew.
pub fn put_workflow(workflow: &str, request: &impl Serialize) -> Call<OneWorkflowView> {
    Call::new(Method::PUT, &["workflows", workflow]).json(request)
}

pub fn delete_workflow(workflow: &str, query: &DeleteWorkflowQuery) -> Call<()> {
    Call::new(Method::DELETE, &["workflows", workflow]).query(query)
}

pub fn list_workflow_versions(workflow: &str, query: &VersionsQuery) -> Call<Page<WorkflowVersionView>> {
    Call::get(&["workflows", workflow, "versions"]).query(query)
}

pub fn get_workflow_version(workflow: &str, version: u32) -> Call<OneWorkflowVersionView> {
    Call::get(&["workflows", workflow, "versions", &version.to_string()])
}

pub fn diff_workflow(workflow: &str, query: &DiffQuery) -> Call<WorkflowDiffView> {
    Call::get(&["workflows", workflow, "diff"]).query(query)
}

pub fn run_workflow(workflow: &str, request: &WorkflowRunRequest) -> Call<RunView> {
    let call = Call::post(&["workflows", workflow, "run"]);
    if *request == WorkflowRunRequest::default() { call } else { call.json(request) }
}

pub fn list_runs_of_workflow(workflow: &str, query: &RunsOfWorkflowQuery) -> Call<Page<RunView>> {
    Call::get(&["workflows", workflow, "runs"]).query(query)
}

pub fn pause_workflow(workflow: &str) -> Call<OneWorkflowView> {
    Call::post(&["workflows", workflow, "pause"])
}

pub fn resume_workflow(workflow: &str) -> Call<OneWorkflowView> {
    Call::post(&["workflows", workflow, "resume"])
}

/// Of all workflows, or of one.
pub fn list_workflow_runs(query: &WorkflowRunsQuery) -> Call<Page<WorkflowRunItem>> {
    Call::get(&["workflow-runs"]).query(query)
}

pub fn get_workflow_run(run: &str) -> Call<WorkflowRunView> {
    Call::get(&["workflow-runs", run])
}

pub fn list_tasks(run: &str, query: &TasksQuery) -> Call<Page<RunTaskView>> {
    Call::get(&["workflow-runs", run, "tasks"]).query(query)
}

pub fn list_branches(run: &str, task: &str, query: &BranchesQuery) -> Call<Page<BranchView>> {
    Call::get(&["workflow-runs", run, "tasks", task, "branches"]).query(query)
}

pub fn list_workflow_run_events(run: &str, query: &TasksQuery) -> Call<Page<WorkflowRunEventView>> {
    Call::get(&["workflow-runs", run, "events"]).query(query)
}

pub fn cancel_workflow_run(run: &str, note: &NoteRequest) -> Call<WorkflowRunView> {
    noted(Call::post(&["workflow-runs", run, "cancel"]), note)
}

pub fn resume_workflow_run(run: &str, note: &NoteRequest) -> Call<WorkflowRunView> {
    noted(Call::post(&["workflow-runs", run, "resume"]), note)
}

/// Of a `for_each` the branch says which.
pub fn approve_task(run: &str, task: &str, branch: &BranchQuery, request: &SuccessRequest) -> Call<DecidedView> {
    let call = Call::post(&["workflow-runs", run, "tasks", task, "approve"]).query(branch);
    if *request == SuccessRequest::default() { call } else { call.json(request) }
}

pub fn reject_task(run: &str, task: &str, branch: &BranchQuery, note: &NoteRequest) -> Call<DecidedView> {
    noted(Call::post(&["workflow-runs", run, "tasks", task, "reject"]).query(branch), note)
}

/// Another try at a failure that is held.
pub fn retry_task(run: &str, task: &str, branch: &BranchQuery, note: &NoteRequest) -> Call<DecidedView> {
    noted(Call::post(&["workflow-runs", run, "tasks", task, "retry"]).query(branch), note)
}

pub fn skip_task(run: &str, task: &str, branch: &BranchQuery, note: &NoteRequest) -> Call<DecidedView> {
    noted(Call::post(&["workflow-runs", run, "tasks", task, "skip"]).query(branch), note)
}

pub fn succeed_task(run: &str, task: &str, branch: &BranchQuery, request: &SuccessRequest) -> Call<DecidedView> {
    let call = Call::post(&["workflow-runs", run, "tasks", task, "succeed"]).query(branch);
    if *request == SuccessRequest::default() { call } else { call.json(request) }
}

pub fn fail_task(run: &str, task: &str, branch: &BranchQuery, note: &NoteRequest) -> Call<DecidedView> {
    noted(Call::post(&["workflow-runs", run, "tasks", task, "fail"]).query(branch), note)
}

/// One verdict on the branches of a `for_each` that are held, as far as one request comes: the answer says where to go on.
pub fn decide_held_branches(run: &str, task: &str, request: &HeldRequest) -> Call<HeldDecidedView> {
    Call::post(&["workflow-runs", run, "tasks", task, "branches", "held"]).json(request)
}

/// Begins it, or says what it would do.
pub fn start_operation(request: &OperationRequest) -> Call<OperationAnswerView> {
    Call::post(&["operations"]).json(request)
}

pub fn list_operations(query: &OperationsQuery) -> Call<Page<OperationView>> {
    Call::get(&["operations"]).query(query)
}

pub fn get_operation(operation: &str) -> Call<OperationView> {
    Call::get(&["operations", operation])
}

pub fn pause_operation(operation: &str) -> Call<OperationView> {
    Call::post(&["operations", operation, "pause"])
}

pub fn resume_operation(operation: &str) -> Call<OperationView> {
    Call::post(&["operations", operation, "resume"])
}

pub fn cancel_operation(operation: &str) -> Call<OperationView> {
    Call::post(&["operations", operation, "cancel"])
}

/// Begins it, or says what it would make.
pub fn backfill_job(job: &str, request: &BackfillRequest) -> Call<BackfillView> {
    Call::post(&["jobs", job, "backfill"]).json(request)
}

/// One page of what fires next, of all jobs.
pub fn list_fires(query: &FiresQuery) -> Call<FiresView> {
    Call::get(&["fires"]).query(query)
}

pub fn preview_schedule(request: &PreviewRequest) -> Call<PreviewView> {
    Call::post(&["schedules", "preview"]).json(request)
}

pub fn create_key(key: &KeyRequest) -> Call<KeyView> {
    Call::post(&["keys"]).json(key)
}

pub fn list_keys(query: &KeysQuery) -> Call<Page<KeyView>> {
    Call::get(&["keys"]).query(query)
}

pub fn revoke_key(key: &str, query: &TenantQuery) -> Call<()> {
    Call::new(Method::DELETE, &["keys", key]).query(query)
}

pub fn rotate_key(key: &str, query: &TenantQuery, request: &RotateRequest) -> Call<KeyView> {
    rotated(Call::post(&["keys", key, "rotate"]).query(query), request)
}

/// Your own, or another tenant's with the deployment's own key.
pub fn get_quota(tenant: Option<&str>) -> Call<QuotaView> {
    match tenant {
        Some(tenant) => Call::get(&["quotas", tenant]),
        None => Call::get(&["quotas"]),
    }
}

pub fn put_quota(tenant: &str, quota: &QuotaRequest) -> Call<QuotaView> {
    Call::new(Method::PUT, &["quotas", tenant]).json(quota)
}

pub fn list_calendars() -> Call<Page<CalendarView>> {
    Call::get(&["calendars"])
}

pub fn get_calendar(calendar: &str) -> Call<CalendarView> {
    Call::get(&["calendars", calendar])
}

/// A [`minutehand_wire::CalendarRequest`], or JSON that is to be one: the whole of it.
pub fn put_calendar(calendar: &str, request: &impl Serialize, query: &CalendarQuery) -> Call<CalendarChangeView> {
    Call::new(Method::PUT, &["calendars", calendar]).query(query).json(request)
}

pub fn import_calendar(calendar: &str, request: &ImportRequest, query: &CalendarQuery) -> Call<CalendarChangeView> {
    Call::post(&["calendars", calendar, "import"]).query(query).json(request)
}

/// Without an answer, unless it is a dry run: [`would_delete_calendar`].
pub fn delete_calendar(calendar: &str, query: &DeleteCalendarQuery) -> Call<()> {
    Call::new(Method::DELETE, &["calendars", calendar]).query(query)
}

/// What deleting it would touch.
pub fn would_delete_calendar(calendar: &str) -> Call<CalendarChangeView> {
    let query = DeleteCalendarQuery { dry_run: true, force: false };
    Call::new(Method::DELETE, &["calendars", calendar]).query(&query)
}

pub fn list_secrets(query: &SecretsQuery) -> Call<Page<SecretView>> {
    Call::get(&["secrets"]).query(query)
}

pub fn get_secret(secret: &str) -> Call<SecretView> {
    Call::get(&["secrets", secret])
}

pub fn put_secret(secret: &str, request: &SecretRequest) -> Call<SecretView> {
    Call::new(Method::PUT, &["secrets", secret]).json(request)
}

pub fn delete_secret(secret: &str) -> Call<()> {
    Call::new(Method::DELETE, &["secrets", secret])
}

pub fn list_audit(query: &AuditQuery) -> Call<Page<ActView>> {
    Call::get(&["audit"]).query(query)
}

pub fn list_notifications(query: &NotificationsQuery) -> Call<Page<NotificationView>> {
    Call::get(&["notifications"]).query(query)
}

pub fn get_notification(notification: &str) -> Call<NotificationView> {
    Call::get(&["notifications", notification])
}

/// A [`minutehand_wire::NotificationRequest`], or JSON that is to be one.
pub fn put_notification(notification: &str, request: &impl Serialize) -> Call<NotificationView> {
    Call::new(Method::PUT, &["notifications", notification]).json(request)
}

pub fn delete_notification(notification: &str) -> Call<()> {
    Call::new(Method::DELETE, &["notifications", notification])
}

/// Not repeated by itself: each is a message.
pub fn test_notification(notification: &str) -> Call<RunView> {
    Call::post(&["notifications", notification, "test"])
}

pub fn get_signing_secret() -> Call<SigningSecretView> {
    Call::get(&["signing-secret"])
}

pub fn rotate_signing_secret(request: &RotateRequest) -> Call<SigningSecretView> {
    rotated(Call::post(&["signing-secret", "rotate"]), request)
}

/// Claims an effect, or says what came of it. A claim with an idempotency key ([`Call::once`]) can be sent again.
pub fn claim_effect(run: &str, request: &EffectRequest) -> Call<EffectAnswerView> {
    Call::post(&["runs", run, "effects"]).json(request)
}

pub fn list_run_effects(run: &str, query: &EffectsQuery) -> Call<Page<EffectView>> {
    Call::get(&["runs", run, "effects"]).query(query)
}

pub fn list_run_logs(run: &str, query: &LogsQuery) -> Call<LogsView> {
    Call::get(&["runs", run, "logs"]).query(query)
}

pub fn list_workers(query: &WorkersQuery) -> Call<Page<WorkerView>> {
    Call::get(&["workers"]).query(query)
}

pub fn list_targets(query: &TargetsQuery) -> Call<Page<DeclaredView>> {
    Call::get(&["targets"]).query(query)
}

pub fn list_pools(query: &PoolsQuery) -> Call<Page<PoolView>> {
    Call::get(&["pools"]).query(query)
}

/// Something to do for a worker, waited for.
pub fn lease_runs(request: &LeaseRequest) -> Call<LeasesView> {
    Call::post(&["leases"]).json(request)
}

pub fn keep_lease(lease: &str, request: &HeartbeatRequest) -> Call<HeartbeatView> {
    Call::post(&["leases", lease, "heartbeat"]).json(request)
}

pub fn complete_lease(lease: &str, request: &CompleteRequest) -> Call<LeftRunView> {
    Call::post(&["leases", lease, "complete"]).json(request)
}

pub fn fail_lease(lease: &str, request: &FailRequest) -> Call<LeftRunView> {
    Call::post(&["leases", lease, "fail"]).json(request)
}

pub fn hand_back_lease(lease: &str, request: &HandBackRequest) -> Call<LeftRunView> {
    Call::post(&["leases", lease, "hand-back"]).json(request)
}

pub fn complete_leases(request: &CompletionsRequest) -> Call<CompletionsView> {
    Call::post(&["leases", "complete"]).json(request)
}

/// Goes on where the cursor of the answer before says; with the deployment's own key.
pub fn repair(request: &RepairRequest) -> Call<RepairView> {
    Call::post(&["repair"]).json(request)
}

/// All that the process keeps, packed ([`Client::download`](crate::Client::download)); with the deployment's own key.
pub fn backup() -> Call<Bytes> {
    Call::get(&["backup"])
}

/// Erases all that is kept for a tenant; with the deployment's own key.
pub fn erase_tenant(tenant: &str) -> Call<OperationView> {
    Call::new(Method::DELETE, &["tenants", tenant])
}

pub fn stats(query: &StatsQuery) -> Call<StatsView> {
    Call::get(&["stats"]).query(query)
}

pub fn health() -> Call<HealthView> {
    Call::get(&["health"])
}

/// A note that says nothing is none.
fn noted<T>(call: Call<T>, note: &NoteRequest) -> Call<T> {
    if *note == NoteRequest::default() { call } else { call.json(note) }
}

/// A request that says nothing has no body.
fn asked_for(call: Call<RunView>, request: &RunRequest) -> Call<RunView> {
    if *request == RunRequest::default() { call } else { call.json(request) }
}

fn rotated<T>(call: Call<T>, request: &RotateRequest) -> Call<T> {
    if *request == RotateRequest::default() { call } else { call.json(request) }
}
