//! A world to ask: the router, its doors, a clock to set, two tenants.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{HeaderMap, Request, StatusCode};
use minutehand_api::{Api, Keyring, TargetCheck, router};
use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::job::Job;
use minutehand_domain::run::Claimant;
use minutehand_io::Doors;
use minutehand_io::chance::SystemChance;
use minutehand_io::clock::Clock;
use minutehand_io::events::Log;
use minutehand_io::lanes::embedded::EmbeddedLanes;
use minutehand_io::store::Store as _;
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::targets::{Answer as TargetAnswer, Call, TargetRefusal, Targets};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// 2027-01-15T08:00:00Z, a Friday.
pub(crate) const START: Moment = Moment::from_secs(1_800_000_000);
pub(crate) const ACME_KEY: &str = "mh_acme";
pub(crate) const OTHER_KEY: &str = "mh_other";
pub(crate) const ME: Claimant = Claimant { worker: Worker(1), alone: true };

pub(crate) struct World {
    pub doors: Arc<TestDoors>,
    router: Router,
}

pub(crate) struct TestDoors {
    store: MemoryStore,
    lanes: EmbeddedLanes<TestClock>,
    clock: TestClock,
}

#[derive(Clone)]
pub(crate) struct TestClock(Arc<AtomicI64>);

pub(crate) struct NoTargets;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = TestClock(Arc::new(AtomicI64::new(START.millis())));
        let doors = TestDoors { store: MemoryStore::in_memory(), lanes: EmbeddedLanes::new(clock.clone()), clock };
        let doors = Arc::new(doors);
        let keys = Keyring::single(ACME_KEY, acme()).and(OTHER_KEY, Tenant::new("other").unwrap());
        let target_check = TargetCheck::new(|target| {
            let refusal = TargetRefusal { field: "url", detail: "starts with http:// or https://".to_owned() };
            if target.url.starts_with("http") { Ok(()) } else { Err(refusal) }
        });
        let router = router(Api { doors: Arc::clone(&doors), keys, target_check });
        Self { doors, router }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, Some(body.to_string())).await
    }

    /// A POST that says it all in its address.
    pub(crate) async fn tell(&self, path: &str) -> Answer {
        self.ask("POST", path, None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, None).await
    }

    async fn ask(&self, method: &str, path: &str, body: Option<String>) -> Answer {
        let request = request(method, path, ACME_KEY);
        let request = if body.is_some() { request.header("content-type", "application/json") } else { request };
        self.send(request.body(body.unwrap_or_default().into()).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answer { status: head.status, headers: head.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// A job with a noop target and this schedule: its id.
    pub(crate) async fn job(&self, schedule: Value) -> String {
        let answer = self.post("/v1/jobs", json!({"target": {"noop": {}}, "schedule": schedule})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.field("/job_id").as_str().unwrap().to_owned()
    }

    pub(crate) async fn stored_job(&self, id: &str) -> Job {
        let id: JobId = id.parse().unwrap();
        self.doors.store.head(&acme(), id).await.unwrap().unwrap().item.into_job().unwrap()
    }

    pub(crate) async fn stored_run(&self, id: &str) -> Option<minutehand_domain::run::Run> {
        let key: RunKey = id.parse().unwrap();
        self.doors.store.run(&acme(), key).await.unwrap().map(|seen| seen.item)
    }

    pub(crate) fn pass(&self, seconds: u64) {
        let now = self.doors.clock.now() + Duration::from_secs(seconds);
        self.doors.clock.0.store(now.millis(), Ordering::Relaxed);
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn field(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or_else(|| panic!("no {pointer} in {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks that this is a well-made problem of this status and type, and answers with what it points at.
    pub(crate) fn problem(&self, status: u16, kind: &str) -> Vec<String> {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.field("/type"), format!("/problems/{kind}"));
        assert_eq!(self.field("/status"), status);
        assert_eq!(self.field("/request_id"), self.header("request-id"));
        assert!(!self.field("/detail").as_str().unwrap().is_empty() && self.field("/title").is_string());
        let errors = self.field("/errors");
        errors.as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn request(method: &str, path: &str, key: &str) -> http::request::Builder {
    Request::builder().method(method).uri(path).header("authorization", format!("Bearer {key}"))
}

pub(crate) fn acme() -> Tenant {
    Tenant::new("acme").unwrap()
}

/// START and this many seconds, as the wire writes it.
pub(crate) fn at(seconds: u64) -> String {
    (START + Duration::from_secs(seconds)).to_string()
}

impl Doors for TestDoors {
    type Store = MemoryStore;
    type Lanes = EmbeddedLanes<TestClock>;
    type Targets = NoTargets;
    type Events = Log;
    type Clock = TestClock;
    type Chance = SystemChance;

    fn store(&self) -> &MemoryStore {
        &self.store
    }

    fn lanes(&self) -> &EmbeddedLanes<TestClock> {
        &self.lanes
    }

    fn targets(&self) -> &NoTargets {
        &NoTargets
    }

    fn events(&self) -> &Log {
        &Log
    }

    fn clock(&self) -> &TestClock {
        &self.clock
    }

    fn chance(&self) -> &SystemChance {
        &SystemChance
    }

    fn me(&self) -> Claimant {
        ME
    }
}

impl Clock for TestClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn sleep_until(&self, moment: Moment) -> impl Future<Output = ()> + Send {
        async move {
            self.0.fetch_max(moment.millis(), Ordering::Relaxed);
        }
    }
}

impl Targets for NoTargets {
    fn call(&self, _call: Call<'_>) -> impl Future<Output = TargetAnswer> + Send {
        async { TargetAnswer::Succeeded { result: None } }
    }
}
