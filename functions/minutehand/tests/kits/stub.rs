//! A stub: a server that gives one run away, answers what is said of it as a test wants, and remembers what it heard.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::patience::eventually;

/// As that of the scenes: another thirty processes are busy.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const RUN: &str = "run_1";

pub(crate) struct Stub {
    address: SocketAddr,
    play: Arc<Play>,
    serving: JoinHandle<()>,
}

/// What was said, and how it was answered; none as long as it is not.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    path: String,
    pub(crate) body: Value,
    status: Option<u16>,
}

/// How what was said is answered, after all that was heard so far; none as long as the answer is held back.
pub(crate) type Script = fn(&Said, &[Said]) -> Option<u16>;

struct Play {
    scene: &'static str,
    script: Script,
    is_given: AtomicBool,
    heard: Mutex<Vec<Said>>,
}

impl Stub {
    /// It gives a run whose payload names the scene.
    pub(crate) async fn start(scene: &'static str, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let play = Arc::new(Play { scene, script, is_given: AtomicBool::new(false), heard: Mutex::default() });
        let router = Router::new().route("/v1/leases", post(leases)).fallback(answer).with_state(Arc::clone(&play));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { address, play, serving }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until it hears how the run ended.
    pub(crate) async fn result(&self) -> Value {
        let is_over = || async { self.heard().into_iter().find(|said| said.is("/complete") || said.is("/fail")) };
        let said = eventually(PATIENCE, &format!("{} is over", self.play.scene), is_over).await;
        assert!(said.is("/complete"), "{said:?}");
        said.body["result"].clone()
    }

    /// The lines of the heartbeats that it took.
    pub(crate) fn lines(&self) -> Vec<String> {
        let taken = self.heard().into_iter().filter(|said| said.is("/heartbeat") && said.status == Some(200));
        taken.flat_map(|said| said.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    fn heard(&self) -> Vec<Said> {
        self.play.heard.lock().expect("no script panics").clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Said {
    /// Said at an address that ends so.
    pub(crate) fn is(&self, end: &str) -> bool {
        self.path.ends_with(end)
    }

    pub(crate) fn asks_for(&self, effect: &str) -> bool {
        self.is("/effects") && self.body["key"] == effect
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.body["logs"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }
}

impl Play {
    fn hears(&self, path: &str, body: &str) -> usize {
        let body = serde_json::from_str(body).expect("JSON");
        let mut heard = self.heard.lock().expect("no script panics");
        heard.push(Said { path: path.to_owned(), body, status: None });
        heard.len() - 1
    }

    fn answers(&self, at: usize) -> Option<u16> {
        let mut heard = self.heard.lock().expect("no script panics");
        let status = (self.script)(&heard[at], &heard);
        heard[at].status = status;
        status
    }
}

/// The run, once. Whoever asks again waits for nothing.
async fn leases(State(play): State<Arc<Play>>) -> Json<Value> {
    if play.is_given.swap(true, Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        return Json(json!({ "leases": [] }));
    }
    let lease = json!({
        "lease_id": "lease_1", "token": "mt_1", "handler": "act", "run_id": RUN, "job_id": "job_1", "attempt": 1, "fence": 1,
        "idempotency_key": RUN, "scheduled_at": "2030-01-01T00:00:00Z", "payload": { "scene": play.scene },
        "lease_expires_at": "2030-01-01T00:00:30Z", "deadline_at": "2030-01-02T00:00:00Z",
    });
    Json(json!({ "leases": [lease] }))
}

/// All that any of the answers has.
async fn answer(State(play): State<Arc<Play>>, uri: Uri, body: String) -> (StatusCode, Json<Value>) {
    let at = play.hears(uri.path(), &body);
    let status = eventually(PATIENCE, uri.path(), || async { play.answers(at) }).await;
    let answer = json!({
        "title": "not now", "lease_expires_at": "2030-01-01T00:01:00Z", "cancel_requested": false,
        "run_id": RUN, "status": "succeeded", "due_at": null,
        "first": true, "key": "any", "claimed_at": "2030-01-01T00:00:00Z", "attempt": 1, "outcome": null, "said_at": null, "prevented": 0,
    });
    (StatusCode::from_u16(status).expect("a status"), Json(answer))
}
