//! A hook: the target of deployed jobs. It records each call, and the path of a call selects the answer.

use std::net::IpAddr;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, StatusCode};
use minutehand_io::targets::http::Reach;
use tokio::net::TcpListener;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    pub job: String,
    pub run: String,
    pub attempt: u32,
    /// When the call came, in milliseconds since the epoch; and when it was due.
    pub at: i64,
    pub scheduled_at: String,
    pub signature: String,
}

#[derive(Clone, Debug)]
pub struct Hook {
    address: String,
    calls: Arc<Mutex<Vec<Called>>>,
}

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl Hook {
    pub async fn start() -> Self {
        let listener = TcpListener::bind((reachable_address(), 0)).await.expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let hook = Self { address, calls: Arc::default() };
        let routes = Router::new()
            .route("/ok", post(ok))
            .route("/echoes", post(echoes))
            .route("/fails-once", post(fails_once))
            .route("/hangs-once", post(hangs_once))
            .route("/hangs", post(hangs))
            .with_state(hook.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        hook
    }

    /// Answers at once.
    pub fn ok(&self) -> String {
        format!("{}/ok", self.address)
    }

    /// Answers with what it was given.
    pub fn echoes(&self) -> String {
        format!("{}/echoes", self.address)
    }

    /// Fails the first attempt of each run.
    pub fn fails_once(&self) -> String {
        format!("{}/fails-once", self.address)
    }

    /// Never answers the first attempt of a run.
    pub fn hangs_once(&self) -> String {
        format!("{}/hangs-once", self.address)
    }

    /// Never answers.
    pub fn hangs(&self) -> String {
        format!("{}/hangs", self.address)
    }

    pub fn calls_of(&self, job: &str) -> Vec<Called> {
        self.all().into_iter().filter(|called| called.job == job).collect()
    }

    pub async fn first_call_of(&self, job: &str) -> Called {
        let begin = Instant::now();
        loop {
            if let Some(first) = self.calls_of(job).into_iter().next() {
                return first;
            }
            assert!(begin.elapsed() < PATIENCE, "{job} is not called");
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    fn all(&self) -> Vec<Called> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, headers: &HeaderMap) -> Called {
        let said = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
        let called = Called {
            job: said("minutehand-job"),
            run: said("minutehand-run"),
            attempt: said("minutehand-attempt").parse().expect("a number"),
            at: i64::try_from(now.as_millis()).expect("it is earlier than that"),
            scheduled_at: said("minutehand-scheduled-at"),
            signature: said("webhook-signature"),
        };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(called.clone());
        called
    }
}

/// An address of this machine that a function may call: its loopback is not among them.
fn reachable_address() -> IpAddr {
    let said = Command::new("hostname").arg("-I").output().expect("this is Linux").stdout;
    let addresses =
        String::from_utf8_lossy(&said).split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<_>>();
    let reachable = addresses.iter().copied().find(|address| Reach::Private.allows(*address));
    reachable
        .unwrap_or_else(|| panic!("no address of this machine is a target that a function may call: {addresses:?}"))
}

async fn ok(State(hook): State<Hook>, headers: HeaderMap) -> StatusCode {
    hook.note(&headers);
    StatusCode::OK
}

async fn echoes(
    State(hook): State<Hook>,
    headers: HeaderMap,
    given: Bytes,
) -> ([(HeaderName, &'static str); 1], Bytes) {
    hook.note(&headers);
    ([(CONTENT_TYPE, "application/json")], given)
}

async fn fails_once(State(hook): State<Hook>, headers: HeaderMap) -> StatusCode {
    if hook.note(&headers).attempt == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
}

async fn hangs_once(State(hook): State<Hook>, headers: HeaderMap) -> StatusCode {
    if hook.note(&headers).attempt == 1 {
        std::future::pending::<()>().await;
    }
    StatusCode::OK
}

async fn hangs(State(hook): State<Hook>, headers: HeaderMap) -> StatusCode {
    hook.note(&headers);
    std::future::pending().await
}
