//! A world to ask: the router, its ports, a clock to set, two tenants, and an executor that does as it is told.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{HeaderMap, Request, StatusCode};
use minutehand_api::{Api, Backups, Keyring, Metrics, TargetCheck, router};
use minutehand_domain::Moment;
use minutehand_domain::body::Body as Kept;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::lane::Lane;
use minutehand_domain::run::{ErrorCode, Outcome, Run};
use minutehand_io::Ports as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::targets::TargetRefusal;
use minutehand_protocol::graph::watch::standing_of;
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::run::claim::{Claim, ClaimedRun, claim};
use minutehand_protocol::run::finish::finish;
use minutehand_protocol::sweep::{Allowance, sweep};
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) use crate::ports::ME;
use crate::ports::TestPorts;

/// 2027-01-15T08:00:00Z, a Friday.
pub(crate) const START: Moment = Moment::from_secs(1_800_000_000);
/// The deployment's own key, whose tenant is `acme` here.
pub(crate) const ACME_KEY: &str = "mh_acme";
/// The key of another tenant's admin.
pub(crate) const OTHER_KEY: &str = "mh_other";

pub(crate) struct World {
    pub ports: Arc<TestPorts>,
    router: Router,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::of(Keyring::single(ACME_KEY, acme()).and(OTHER_KEY, other()))
    }

    pub(crate) fn of(keys: Keyring) -> Self {
        let check = TargetCheck::new(|target| {
            let refusal = TargetRefusal { field: "url", detail: "starts with http:// or https://".to_owned() };
            if target.url.starts_with("http") { Ok(()) } else { Err(refusal) }
        });
        Self::whole(keys, check, None)
    }

    pub(crate) fn whole(keys: Keyring, target_check: TargetCheck, metrics: Option<Metrics>) -> Self {
        Self::hosted(keys, target_check, metrics, None)
    }

    pub(crate) fn hosted(
        keys: Keyring,
        target_check: TargetCheck,
        metrics: Option<Metrics>,
        backups: Option<Backups>,
    ) -> Self {
        let ports = TestPorts::new(START);
        let router = router(Api { ports: Arc::clone(&ports), keys, target_check, metrics, backups });
        Self { ports, router }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.by(ACME_KEY, "GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.by(ACME_KEY, "POST", path, Some(body)).await
    }

    /// A POST that says it all in its address.
    pub(crate) async fn tell(&self, path: &str) -> Answer {
        self.by(ACME_KEY, "POST", path, None).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.by(ACME_KEY, "PATCH", path, Some(body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.by(ACME_KEY, "PUT", path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.by(ACME_KEY, "DELETE", path, None).await
    }

    pub(crate) async fn by(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.send(asking(request(method, path, key), body)).await
    }

    /// With a header more.
    pub(crate) async fn with(
        &self,
        (name, value): (&str, &str),
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        self.send(asking(request(method, path, ACME_KEY).header(name, value), body)).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answer { status: head.status, headers: head.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// A job with a noop target and this schedule: its id.
    pub(crate) async fn job(&self, schedule: Value) -> String {
        self.job_of(json!({"schedule": schedule})).await
    }

    /// A job that says this beside its noop target: its id.
    pub(crate) async fn job_of(&self, mut fields: Value) -> String {
        fields.as_object_mut().unwrap().entry("target").or_insert_with(|| json!({"noop": {}}));
        let answer = self.post("/v1/jobs", fields).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.word("/job_id")
    }

    /// A run of a job, asked for now: its id.
    pub(crate) async fn run_of(&self, job: &str) -> String {
        let answer = self.tell(&format!("/v1/jobs/{job}/run")).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        answer.word("/run_id")
    }

    pub(crate) async fn stored_job(&self, id: &str) -> Job {
        let id: JobId = id.parse().unwrap();
        self.ports.store().get::<Head>(&acme(), id).await.unwrap().unwrap().item.into_job().unwrap()
    }

    pub(crate) async fn stored_run(&self, id: &str) -> Option<Run> {
        let key: RunKey = id.parse().unwrap();
        self.ports.store().get::<Run>(&acme(), key).await.unwrap().map(|seen| seen.item)
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.ports.clock.pass(Duration::from_secs(seconds));
    }

    pub(crate) fn now(&self) -> Moment {
        self.ports.clock.now()
    }

    /// What the sweeper and the executors do at this instant: all that is due is attempted, each with the outcome that is
    /// said of it; again where the next attempt is due at once.
    pub(crate) async fn work(&self, ends: impl Fn(&Job, &Run) -> Outcome) {
        self.work_if(|job, run| Some(ends(job, run))).await;
    }

    /// The same; an attempt of which nothing is said does not end. A task of a workflow says what it was given.
    pub(crate) async fn work_if(&self, ends: impl Fn(&Job, &Run) -> Option<Outcome>) {
        self.work_on(ends, echo).await;
    }

    /// The same, with what is said of the tasks of workflows.
    pub(crate) async fn work_on(
        &self,
        ends: impl Fn(&Job, &Run) -> Option<Outcome>,
        tasks: impl Fn(&ClaimedRun) -> Outcome,
    ) {
        self.carry_out(|job, _task, claimed| match job {
            Some(job) => ends(job, &claimed.run),
            None => Some(tasks(claimed)),
        })
        .await;
    }

    /// The same of tasks, by what they are called.
    pub(crate) async fn work_tasks(&self, ends: impl Fn(&str, &Run) -> Option<Outcome>) {
        self.carry_out(|_job, task, claimed| match task {
            Some(task) => ends(task, &claimed.run),
            None => Some(succeeded()),
        })
        .await;
    }

    async fn carry_out(&self, ends: impl Fn(Option<&Job>, Option<&str>, &ClaimedRun) -> Option<Outcome>) {
        for shard in 0..self.ports.store().shards() {
            sweep(&*self.ports, shard, &Allowance::UNLIMITED).await.whole().unwrap();
        }
        loop {
            let hints = self.ports.queues.take(self.now());
            if hints.is_empty() {
                return;
            }
            for hint in hints {
                let Claim::Mine(claimed) = claim(&*self.ports, &hint, Lane::default(), self.now()).await.unwrap()
                else {
                    continue;
                };
                let job = job_of(&*self.ports, &hint.tenant, hint.run.job).await.unwrap();
                let standing = standing_of(&*self.ports, &claimed.run).await.unwrap();
                let task = standing.as_ref().map(|standing| standing.key.as_str());
                if let Some(outcome) = ends(job.as_ref(), task, &claimed) {
                    self.finish(&claimed, &outcome).await;
                }
            }
        }
    }
}

/// Whatever is called answers with what it was given.
pub(crate) fn echo(claimed: &ClaimedRun) -> Outcome {
    Outcome::Succeeded { result: claimed.payload.clone().map_or(Kept::Empty, Kept::Inside) }
}

impl World {
    /// Claims what is due, and leaves it running.
    pub(crate) async fn hold(&self) -> ClaimedRun {
        let hints = self.ports.queues.take(self.now());
        let [hint] = &hints[..] else { panic!("not one hint: {hints:?}") };
        match claim(&*self.ports, hint, Lane::default(), self.now()).await.unwrap() {
            Claim::Mine(claimed) => claimed,
            other => panic!("not claimed: {other:?}"),
        }
    }

    pub(crate) async fn finish(&self, claimed: &ClaimedRun, outcome: &Outcome) {
        let (fence, terms) = (claimed.run.fence, &claimed.order.terms);
        let finished = finish(&*self.ports, claimed.as_claimed(), fence, outcome, terms, Some(&claimed.hint)).await;
        finished.unwrap();
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn field(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or_else(|| panic!("no {pointer} in {}", self.text))
    }

    /// A field that is text.
    pub(crate) fn word(&self, pointer: &str) -> String {
        self.field(pointer).as_str().unwrap_or_else(|| panic!("no text at {pointer} in {}", self.text)).to_owned()
    }

    /// This field of every item of a list.
    pub(crate) fn items(&self, field: &str) -> Vec<Value> {
        self.field("/items").as_array().unwrap().iter().map(|item| item[field].clone()).collect()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks that this is a well-made problem of this status and type, and answers with what it points at.
    pub(crate) fn problem(&self, status: u16, kind: &str) -> Vec<String> {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.field("/type"), format!("/problems/{kind}"));
        self.well_made_problem()
    }

    /// What this points at, whatever problem it is.
    pub(crate) fn well_made_problem(&self) -> Vec<String> {
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.field("/status"), self.status.as_u16());
        assert_eq!(self.field("/request_id"), self.header("request-id"));
        assert!(!self.word("/detail").is_empty() && self.field("/title").is_string(), "{}", self.text);
        let errors = self.field("/errors");
        errors.as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
    }
}

/// The ids of a list, page by page to its end; each page after the first is asked for when `between` has been.
pub(crate) async fn pages(world: &World, path: &str, field: &str, mut between: impl AsyncFnMut()) -> Vec<Vec<Value>> {
    let sign = if path.contains('?') { '&' } else { '?' };
    let (mut pages, mut next) = (Vec::new(), path.to_owned());
    loop {
        let page = world.get(&next).await;
        assert_eq!(page.status, 200, "{}", page.text);
        pages.push(page.items(field));
        let Value::String(cursor) = page.field("/next_cursor") else { return pages };
        assert!(pages.len() < 1000, "{path} has no end");
        next = format!("{path}{sign}cursor={cursor}");
        between().await;
    }
}

fn asking(request: http::request::Builder, body: Option<Value>) -> Request<Body> {
    let request = if body.is_some() { request.header("content-type", "application/json") } else { request };
    request.body(body.map(|body| body.to_string()).unwrap_or_default().into()).unwrap()
}

pub(crate) fn request(method: &str, path: &str, key: &str) -> http::request::Builder {
    Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"))
}

pub(crate) fn acme() -> Tenant {
    Tenant::new("acme").unwrap()
}

pub(crate) fn other() -> Tenant {
    Tenant::new("other").unwrap()
}

pub(crate) fn succeeded() -> Outcome {
    Outcome::Succeeded { result: Kept::Empty }
}

pub(crate) fn failed(code: ErrorCode) -> Outcome {
    Outcome::Failed { error: code.error("as the test says"), retry_after: None }
}

/// START and this many seconds, as the wire writes it.
pub(crate) fn at(seconds: u64) -> String {
    (START + Duration::from_secs(seconds)).to_string()
}

/// A schedule of fields as it is shown: with what it was given for want of a wish.
pub(crate) fn in_the_usual_manner(mut schedule: Value) -> Value {
    let usual = [("timezone", "UTC"), ("days", "either"), ("dst_gap", "next_valid"), ("dst_overlap", "by_kind")];
    for (name, word) in usual {
        schedule.as_object_mut().unwrap().entry(name).or_insert_with(|| word.into());
    }
    schedule
}
