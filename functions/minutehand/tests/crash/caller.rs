//! A caller: sends requests to the process, at its present address.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Answer, Client};
use crate::server::KEY;

/// After this long without an answer the process is not coming back.
const INSISTENCE: Duration = Duration::from_secs(20);
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// Where the process listens now.
pub(crate) type Whereabouts = watch::Receiver<SocketAddr>;

pub(crate) struct Caller {
    whereabouts: Whereabouts,
    client: Client,
    unanswered: u32,
}

impl Caller {
    pub(crate) fn to(whereabouts: &Whereabouts) -> Self {
        let mut whereabouts = whereabouts.clone();
        let client = Client::new(*whereabouts.borrow_and_update(), Some(KEY));
        Self { whereabouts, client, unanswered: 0 }
    }

    /// Repeats a request until it is answered. The request must be idempotent.
    pub(crate) async fn insist(
        &mut self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let begin = Instant::now();
        loop {
            match self.ask(method.clone(), path, key, body).await {
                Some(answer) if answer.status != 503 => return answer,
                Some(_) | None => {}
            }
            assert!(begin.elapsed() < INSISTENCE, "nobody answers {method} {path}");
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }

    /// Sends a request once. Without an answer its effect is unknown.
    pub(crate) async fn once(&mut self, method: Method, path: &str, body: Option<&Value>) -> Option<Answer> {
        self.ask(method, path, None, body).await
    }

    /// The number of unanswered requests since the last call.
    pub(crate) fn unanswered(&mut self) -> u32 {
        std::mem::take(&mut self.unanswered)
    }

    async fn ask(&mut self, method: Method, path: &str, key: Option<&str>, body: Option<&Value>) -> Option<Answer> {
        if self.whereabouts.has_changed().unwrap_or(false) {
            self.client = Client::new(*self.whereabouts.borrow_and_update(), Some(KEY));
        }
        let answer = self.client.ask(method, path, key, body).await;
        self.unanswered += u32::from(answer.is_err());
        answer.ok()
    }
}
