//! The client of one server, with one key.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use http::header::{HeaderMap, RETRY_AFTER};
use http::response::Parts;
use hyper::body::Incoming;
use minutehand_wire::{
    ActView, AuditQuery, BackfillRequest, BackfillView, BatchRequest, BatchView, BranchView, BranchesQuery,
    CalendarChangeView, CalendarQuery, CalendarRequest, CalendarView, CompleteRequest, CompletionsRequest,
    CompletionsView, DecidedView, DeclaredView, DeleteCalendarQuery, DeleteJobQuery, DismissManyRequest,
    EffectAnswerView, EffectView, EffectsQuery, FailRequest, FiresQuery, FiresView, GroupsQuery, GroupsView,
    HandBackRequest, HealthView, HeartbeatRequest, HeartbeatView, HeldRequest, ImportRequest, JobPatch, JobRequest,
    JobView, JobsQuery, KeyRequest, KeyView, KeysQuery, LeaseRequest, LeasesView, LeftRunView, LettersDoneView,
    LettersQuery, ListedJobView, LogsQuery, LogsView, NextQuery, NoteRequest, NotificationRequest, NotificationView,
    NotificationsQuery, OneJobView, OperationAnswerView, OperationRequest, OperationView, Page, PoolView, PoolsQuery,
    PreviewRequest, PreviewView, QuotaRequest, QuotaView, RedriveManyRequest, RedriveRequest, RetryRequest,
    RotateRequest, RunEventsView, RunRequest, RunTaskView, RunView, RunWhyView, RunsAcrossQuery, RunsQuery,
    SecretRequest, SecretView, SecretsQuery, SigningSecretView, StatsQuery, StatsView, TargetsQuery, TasksQuery,
    TenantQuery, WhyQuery, WhyView, WorkerView, WorkersQuery, WorkflowRunEventView, WorkflowRunItem, WorkflowRunView,
    WorkflowRunsQuery,
};
use serde::de::DeserializeOwned;
use url::{ParseError, Url};

use crate::answer::Answer;
use crate::call::Call;
use crate::calls;
use crate::error::{ClientError, Refused};
use crate::retries::Retries;
use crate::transport::{Exchange, Transport};

/// Cheap to clone: clones share their connections.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    retries: Option<Retries>,
    watch: Option<Arc<Watch>>,
}

type Watch = dyn Fn(&Exchange<'_>) + Send + Sync;
type Result<T> = std::result::Result<T, ClientError>;

impl Client {
    /// Of the server at this address: `http://127.0.0.1:8080`, or a gateway's with a stage in its path.
    pub fn new(url: &str, key: &str) -> Result<Self> {
        Self::at(server_url(url)?, Some(key))
    }

    /// Without a key, for what needs none.
    pub fn without_key(url: &str) -> Result<Self> {
        Self::at(server_url(url)?, None)
    }

    /// Of an address that was parsed before ([`server_url`]).
    pub fn at(url: Url, key: Option<&str>) -> Result<Self> {
        Ok(Self { transport: Transport::new(url, key)?, retries: None, watch: None })
    }

    /// What may be sent twice is sent again while the server is busy.
    #[must_use]
    pub fn retrying(self, retries: Retries) -> Self {
        Self { retries: Some(retries), ..self }
    }

    /// Each exchange is shown to `watch`.
    #[must_use]
    pub fn watched(self, watch: impl Fn(&Exchange<'_>) + Send + Sync + 'static) -> Self {
        Self { watch: Some(Arc::new(watch)), ..self }
    }

    pub fn url(&self) -> &Url {
        &self.transport.url
    }

    /// The same with connections of its own, for another runtime.
    pub(crate) fn apart(&self) -> Result<Self> {
        Ok(Self { transport: self.transport.apart()?, ..self.clone() })
    }

    /// Any call, and its answer as the server wrote it.
    pub async fn send<T>(&self, call: &Call<T>) -> Result<Answer<T>> {
        let mut retry = 0;
        loop {
            let error = match self.send_once(call).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            retry += 1;
            let wait = self.retries.filter(|_| call.is_repeatable()).and_then(|retries| retries.wait(retry, &error));
            tokio::time::sleep(wait.ok_or(error)?).await;
        }
    }

    async fn send_once<T>(&self, call: &Call<T>) -> Result<Answer<T>> {
        let begin = Instant::now();
        let (head, text) = self.transport.exchange(call).await?;
        self.show(call, &head, begin);
        if head.status.is_success() {
            let replayed = head.headers.contains_key("idempotency-replayed");
            return Ok(Answer::new(text, replayed, self.url().to_string()));
        }
        Err(Self::refused(&head, &text))
    }

    pub(crate) fn refused(head: &Parts, text: &str) -> ClientError {
        ClientError::Refused(Refused::read(head.status, retry_after(&head.headers), text).into())
    }

    /// The head of an answer, and what is still to come of it.
    pub(crate) async fn begin<T>(&self, call: &Call<T>) -> Result<(Parts, Incoming)> {
        let begin = Instant::now();
        let (head, body) = self.transport.begin(call).await?;
        self.show(call, &head, begin);
        Ok((head, body))
    }

    fn show<T>(&self, call: &Call<T>, head: &Parts, begin: Instant) {
        if let Some(watch) = &self.watch {
            let (method, url) = (&call.method, &call.url(self.url()));
            let request_id = head.headers.get("request-id").and_then(|id| id.to_str().ok());
            watch(&Exchange { method, url, status: head.status, request_id, took: begin.elapsed() });
        }
    }

    async fn read<T: DeserializeOwned>(&self, call: &Call<T>) -> Result<T> {
        self.send(call).await?.read()
    }

    async fn done(&self, call: &Call<()>) -> Result<()> {
        self.send(call).await.map(drop)
    }

    /// All items of a list, page after page as they are wanted.
    pub fn all<T: DeserializeOwned + Send + 'static>(&self, list: Call<Page<T>>) -> BoxStream<'_, Result<T>> {
        let next_page = move |list: Option<Call<Page<T>>>| async move {
            let Some(list) = list else { return Ok(None) };
            let page = self.read(&list).await?;
            let next = page.next_cursor.map(|cursor| list.with_query("cursor", Some(cursor)));
            Ok(Some((stream::iter(page.items.into_iter().map(Ok)), next)))
        };
        stream::try_unfold(Some(list), next_page).try_flatten().boxed()
    }
}

/// Jobs.
impl Client {
    pub async fn create_job(&self, job: &JobRequest, idempotency_key: Option<&str>) -> Result<JobView> {
        self.read(&calls::create_job(job).once(idempotency_key)).await
    }

    pub async fn create_jobs(&self, jobs: &BatchRequest) -> Result<BatchView> {
        self.read(&calls::create_jobs(jobs)).await
    }

    /// One page.
    pub async fn jobs(&self, query: &JobsQuery) -> Result<Page<ListedJobView>> {
        self.read(&calls::list_jobs(query)).await
    }

    pub fn all_jobs(&self, query: &JobsQuery) -> BoxStream<'_, Result<ListedJobView>> {
        self.all(calls::list_jobs(query))
    }

    pub async fn job(&self, job: &str) -> Result<OneJobView> {
        self.read(&calls::get_job(job)).await
    }

    /// Only if the job is of this generation still, where one is given.
    pub async fn patch_job(&self, job: &str, patch: &JobPatch, generation: Option<u64>) -> Result<JobView> {
        let etag = generation.map(|generation| format!("\"{generation}\""));
        self.read(&calls::patch_job(job, patch).if_match(etag.as_deref())).await
    }

    pub async fn delete_job(&self, job: &str) -> Result<()> {
        self.done(&calls::delete_job(job, &DeleteJobQuery::default())).await
    }

    pub async fn pause_job(&self, job: &str) -> Result<JobView> {
        self.read(&calls::pause_job(job, &NoteRequest::default())).await
    }

    pub async fn resume_job(&self, job: &str) -> Result<JobView> {
        self.read(&calls::resume_job(job, &NoteRequest::default())).await
    }

    pub async fn run_job(&self, job: &str, run: &RunRequest, idempotency_key: Option<&str>) -> Result<RunView> {
        self.read(&calls::run_job(job, run).once(idempotency_key)).await
    }

    pub async fn next_fires(&self, job: &str, query: &NextQuery) -> Result<PreviewView> {
        self.read(&calls::next_fires(job, query)).await
    }

    pub async fn explain_instant(&self, job: &str, query: &WhyQuery) -> Result<WhyView> {
        self.read(&calls::explain_instant(job, query)).await
    }

    /// Begins a backfill, or says what it would make.
    pub async fn backfill_job(&self, job: &str, request: &BackfillRequest) -> Result<BackfillView> {
        self.read(&calls::backfill_job(job, request)).await
    }

    /// Begins what is to be done to many, or says what it would be done to.
    pub async fn start_operation(&self, request: &OperationRequest) -> Result<OperationAnswerView> {
        self.read(&calls::start_operation(request)).await
    }

    pub async fn operation(&self, operation: &str) -> Result<OperationView> {
        self.read(&calls::get_operation(operation)).await
    }

    /// One page of what fires next, of all jobs.
    pub async fn fires(&self, query: &FiresQuery) -> Result<FiresView> {
        self.read(&calls::list_fires(query)).await
    }

    pub async fn preview(&self, request: &PreviewRequest) -> Result<PreviewView> {
        self.read(&calls::preview_schedule(request)).await
    }
}

/// Runs.
impl Client {
    /// One page, of all jobs.
    pub async fn runs(&self, query: &RunsAcrossQuery) -> Result<Page<RunView>> {
        self.read(&calls::list_runs(query)).await
    }

    /// One page, of one job.
    pub async fn runs_of_job(&self, job: &str, query: &RunsQuery) -> Result<Page<RunView>> {
        self.read(&calls::list_runs_of_job(job, query)).await
    }

    pub fn all_runs(&self, query: &RunsAcrossQuery) -> BoxStream<'_, Result<RunView>> {
        self.all(calls::list_runs(query))
    }

    pub async fn run(&self, run: &str) -> Result<RunView> {
        self.read(&calls::get_run(run)).await
    }

    pub async fn explain_run(&self, run: &str) -> Result<RunWhyView> {
        self.read(&calls::explain_run(run)).await
    }

    pub async fn run_events(&self, run: &str) -> Result<RunEventsView> {
        self.read(&calls::list_run_events(run)).await
    }

    pub async fn cancel_run(&self, run: &str) -> Result<RunView> {
        self.read(&calls::cancel_run(run, &NoteRequest::default())).await
    }

    pub async fn retry_run(&self, run: &str, request: &RetryRequest, idempotency_key: Option<&str>) -> Result<RunView> {
        self.read(&calls::retry_run(run, request).once(idempotency_key)).await
    }
}

/// Dead letters: runs that failed for good, until somebody tries them again or dismisses them.
impl Client {
    /// One page.
    pub async fn dead_letters(&self, query: &LettersQuery) -> Result<Page<RunView>> {
        self.read(&calls::list_dead_letters(query)).await
    }

    pub fn all_dead_letters(&self, query: &LettersQuery) -> BoxStream<'_, Result<RunView>> {
        self.all(calls::list_dead_letters(query))
    }

    pub async fn dead_letter_groups(&self, query: &GroupsQuery) -> Result<GroupsView> {
        self.read(&calls::group_dead_letters(query)).await
    }

    /// The other try at it: however often it is asked for, it is one.
    pub async fn redrive_dead_letter(&self, run: &str, request: &RedriveRequest) -> Result<RunView> {
        self.read(&calls::redrive_dead_letter(run, request)).await
    }

    pub async fn redrive_dead_letters(&self, request: &RedriveManyRequest) -> Result<LettersDoneView> {
        self.read(&calls::redrive_dead_letters(request)).await
    }

    pub async fn dismiss_dead_letter(&self, run: &str, note: &NoteRequest) -> Result<RunView> {
        self.read(&calls::dismiss_dead_letter(run, note)).await
    }

    pub async fn dismiss_dead_letters(&self, request: &DismissManyRequest) -> Result<LettersDoneView> {
        self.read(&calls::dismiss_dead_letters(request)).await
    }
}

/// Runs of workflows.
impl Client {
    /// One page, of all workflows or of one.
    pub async fn workflow_runs(&self, query: &WorkflowRunsQuery) -> Result<Page<WorkflowRunItem>> {
        self.read(&calls::list_workflow_runs(query)).await
    }

    /// With the first of its tasks.
    pub async fn workflow_run(&self, run: &str) -> Result<WorkflowRunView> {
        self.read(&calls::get_workflow_run(run)).await
    }

    pub fn all_tasks(&self, run: &str, query: &TasksQuery) -> BoxStream<'_, Result<RunTaskView>> {
        self.all(calls::list_tasks(run, query))
    }

    pub fn all_branches(&self, run: &str, task: &str, query: &BranchesQuery) -> BoxStream<'_, Result<BranchView>> {
        self.all(calls::list_branches(run, task, query))
    }

    pub fn all_workflow_run_events(
        &self,
        run: &str,
        query: &TasksQuery,
    ) -> BoxStream<'_, Result<WorkflowRunEventView>> {
        self.all(calls::list_workflow_run_events(run, query))
    }

    pub async fn cancel_workflow_run(&self, run: &str, note: &NoteRequest) -> Result<WorkflowRunView> {
        self.read(&calls::cancel_workflow_run(run, note)).await
    }

    pub async fn resume_workflow_run(&self, run: &str, note: &NoteRequest) -> Result<WorkflowRunView> {
        self.read(&calls::resume_workflow_run(run, note)).await
    }

    /// One verdict on all branches of a `for_each` that are held: request after request, each branch once. Answers those that were given it.
    pub async fn decide_held_branches(&self, run: &str, task: &str, request: &HeldRequest) -> Result<Vec<u16>> {
        let (mut request, mut decided) = (request.clone(), Vec::new());
        loop {
            let answer = self.read(&calls::decide_held_branches(run, task, &request)).await?;
            decided.extend(answer.decided);
            match answer.next_from {
                Some(next) => request.from = Some(next.into()),
                None => return Ok(decided),
            }
        }
    }

    /// A decision about one of its tasks: [`calls::approve_task`], [`calls::retry_task`] and their like.
    pub async fn decide(&self, decision: &Call<DecidedView>) -> Result<DecidedView> {
        self.read(decision).await
    }
}

/// What a worker does.
impl Client {
    /// Claims an effect, or says what came of it: [`calls::claim_effect`].
    pub async fn effect(&self, call: &Call<EffectAnswerView>) -> Result<EffectAnswerView> {
        self.read(call).await
    }

    pub async fn list_run_effects(&self, run: &str, query: &EffectsQuery) -> Result<Page<EffectView>> {
        self.read(&calls::list_run_effects(run, query)).await
    }

    pub async fn list_run_logs(&self, run: &str, query: &LogsQuery) -> Result<LogsView> {
        self.read(&calls::list_run_logs(run, query)).await
    }

    pub async fn list_workers(&self, query: &WorkersQuery) -> Result<Page<WorkerView>> {
        self.read(&calls::list_workers(query)).await
    }

    pub async fn list_targets(&self, query: &TargetsQuery) -> Result<Page<DeclaredView>> {
        self.read(&calls::list_targets(query)).await
    }

    pub async fn list_pools(&self, query: &PoolsQuery) -> Result<Page<PoolView>> {
        self.read(&calls::list_pools(query)).await
    }

    /// Waits where there is nothing.
    pub async fn lease_runs(&self, request: &LeaseRequest) -> Result<LeasesView> {
        self.read(&calls::lease_runs(request)).await
    }

    pub async fn keep_lease(&self, lease: &str, request: &HeartbeatRequest) -> Result<HeartbeatView> {
        self.read(&calls::keep_lease(lease, request)).await
    }

    pub async fn complete_lease(&self, lease: &str, request: &CompleteRequest) -> Result<LeftRunView> {
        self.read(&calls::complete_lease(lease, request)).await
    }

    pub async fn fail_lease(&self, lease: &str, request: &FailRequest) -> Result<LeftRunView> {
        self.read(&calls::fail_lease(lease, request)).await
    }

    pub async fn hand_back_lease(&self, lease: &str, request: &HandBackRequest) -> Result<LeftRunView> {
        self.read(&calls::hand_back_lease(lease, request)).await
    }

    pub async fn complete_leases(&self, request: &CompletionsRequest) -> Result<CompletionsView> {
        self.read(&calls::complete_leases(request)).await
    }
}

/// Keys, quotas, calendars, secrets, notifications, the audit, the signing secret, and how things go.
impl Client {
    pub async fn create_key(&self, key: &KeyRequest, idempotency_key: Option<&str>) -> Result<KeyView> {
        self.read(&calls::create_key(key).once(idempotency_key)).await
    }

    /// One page.
    pub async fn keys(&self, query: &KeysQuery) -> Result<Page<KeyView>> {
        self.read(&calls::list_keys(query)).await
    }

    pub async fn revoke_key(&self, key: &str, query: &TenantQuery) -> Result<()> {
        self.done(&calls::revoke_key(key, query)).await
    }

    pub async fn rotate_key(&self, key: &str, query: &TenantQuery, request: &RotateRequest) -> Result<KeyView> {
        self.read(&calls::rotate_key(key, query, request)).await
    }

    /// Your own, or another tenant's with the deployment's own key.
    pub async fn quota(&self, tenant: Option<&str>) -> Result<QuotaView> {
        self.read(&calls::get_quota(tenant)).await
    }

    pub async fn set_quota(&self, tenant: &str, quota: &QuotaRequest) -> Result<QuotaView> {
        self.read(&calls::put_quota(tenant, quota)).await
    }

    /// One page.
    pub async fn calendars(&self) -> Result<Page<CalendarView>> {
        self.read(&calls::list_calendars()).await
    }

    pub async fn calendar(&self, calendar: &str) -> Result<CalendarView> {
        self.read(&calls::get_calendar(calendar)).await
    }

    /// The whole of it; or only what that would touch.
    pub async fn set_calendar(
        &self,
        calendar: &str,
        request: &CalendarRequest,
        query: &CalendarQuery,
    ) -> Result<CalendarChangeView> {
        self.read(&calls::put_calendar(calendar, request, query)).await
    }

    /// The all-day events of an iCalendar file, among its dates.
    pub async fn import_calendar(
        &self,
        calendar: &str,
        request: &ImportRequest,
        query: &CalendarQuery,
    ) -> Result<CalendarChangeView> {
        self.read(&calls::import_calendar(calendar, request, query)).await
    }

    /// Refused while jobs heed it, unless by force.
    pub async fn delete_calendar(&self, calendar: &str, force: bool) -> Result<()> {
        self.done(&calls::delete_calendar(calendar, &DeleteCalendarQuery { dry_run: false, force })).await
    }

    pub async fn secrets(&self, query: &SecretsQuery) -> Result<Page<SecretView>> {
        self.read(&calls::list_secrets(query)).await
    }

    pub async fn secret(&self, secret: &str) -> Result<SecretView> {
        self.read(&calls::get_secret(secret)).await
    }

    /// Writes it for the first time or again.
    pub async fn set_secret(&self, secret: &str, request: &SecretRequest) -> Result<SecretView> {
        self.read(&calls::put_secret(secret, request)).await
    }

    pub async fn delete_secret(&self, secret: &str) -> Result<()> {
        self.done(&calls::delete_secret(secret)).await
    }

    /// One page, newest first.
    pub async fn audit(&self, query: &AuditQuery) -> Result<Page<ActView>> {
        self.read(&calls::list_audit(query)).await
    }

    pub async fn notifications(&self, query: &NotificationsQuery) -> Result<Page<NotificationView>> {
        self.read(&calls::list_notifications(query)).await
    }

    pub async fn notification(&self, notification: &str) -> Result<NotificationView> {
        self.read(&calls::get_notification(notification)).await
    }

    /// Writes the whole of it: what is left out has its default.
    pub async fn set_notification(
        &self,
        notification: &str,
        request: &NotificationRequest,
    ) -> Result<NotificationView> {
        self.read(&calls::put_notification(notification, request)).await
    }

    pub async fn delete_notification(&self, notification: &str) -> Result<()> {
        self.done(&calls::delete_notification(notification)).await
    }

    /// Sends a message that says that it is a test.
    pub async fn test_notification(&self, notification: &str) -> Result<RunView> {
        self.read(&calls::test_notification(notification)).await
    }

    pub async fn signing_secret(&self) -> Result<SigningSecretView> {
        self.read(&calls::get_signing_secret()).await
    }

    pub async fn rotate_signing_secret(&self, request: &RotateRequest) -> Result<SigningSecretView> {
        self.read(&calls::rotate_signing_secret(request)).await
    }

    pub async fn stats(&self, query: &StatsQuery) -> Result<StatsView> {
        self.read(&calls::stats(query)).await
    }

    pub async fn health(&self) -> Result<HealthView> {
        self.read(&calls::health()).await
    }
}

/// Its key is none of anybody's business.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client of {}", self.url())
    }
}

/// Where a server can be: over HTTP or HTTPS, with no query and no password in it.
pub fn server_url(text: &str) -> Result<Url> {
    let refused = |why: &str| ClientError::Unsendable(format!("`{text}` is not where a server can be: {why}"));
    let url = Url::parse(text).map_err(|error| match error {
        ParseError::RelativeUrlWithoutBase => refused("it begins with neither http:// nor https://"),
        error => refused(&error.to_string()),
    })?;
    match url.scheme() {
        "http" | "https" if url.query().is_some() || url.fragment().is_some() => Err(refused("it has a query")),
        "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
            Err(refused("a key is given beside the address, not in it"))
        }
        "http" | "https" => Ok(url),
        _ => Err(refused("it begins with neither http:// nor https://")),
    }
}

/// As this API writes it.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_address_that_is_none_is_refused_before_anything_is_sent() {
        for url in ["localhost", "ftp://h", "http://h/?a=b", "http://u:p@h/", ""] {
            assert!(matches!(Client::new(url, "k"), Err(ClientError::Unsendable(_))), "{url}");
        }
        assert!(matches!(Client::new("http://h", "not\nvisible"), Err(ClientError::Unsendable(_))));
    }

    #[test]
    fn a_client_does_not_show_its_key() {
        let client = Client::new("http://h/prod", "secret").unwrap();

        assert_eq!(format!("{client:?}"), "Client of http://h/prod");
    }

    /// Answers each request with the next of these, and then no more.
    fn answering(answers: &'static [&'static str]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let _request = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        url
    }

    const BUSY: &str = "HTTP/1.1 503 Busy\r\nretry-after: 0\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    const HEALTHY: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 52\r\n\r\n\
        {\"live\":true,\"ready\":true,\"version\":\"1\",\"zones\":\"2\"}";
    const RETRIES: Retries = Retries { most: 1, longest_wait: Duration::from_secs(1) };

    #[tokio::test]
    async fn a_busy_server_is_asked_again_only_by_those_who_want_it() {
        let url = answering(&[BUSY, BUSY, HEALTHY]);
        let client = Client::without_key(&url).unwrap();

        let refused = client.health().await.unwrap_err();
        let healthy = client.retrying(RETRIES).health().await.unwrap();

        assert!(matches!(refused, ClientError::Refused(no) if no.retry_after == Some(0)));
        assert!(healthy.ready);
    }

    #[tokio::test]
    async fn what_may_not_be_sent_twice_is_not() {
        let url = answering(&[BUSY, HEALTHY]);
        let client = Client::without_key(&url).unwrap().retrying(RETRIES);

        let refused = client.create_job(&JobRequest::default(), None).await;

        assert!(matches!(refused, Err(ClientError::Refused(no)) if no.problem.status == 503));
    }
}
