//! A caller: asks the process, wherever it listens by now.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Answer, Client};
use crate::server::KEY;

/// Who asks in vain for so long has found a process that does not come back.
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

    /// Asks until somebody answers. Everything asked by this may be asked twice.
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

    /// Asks once. Without an answer nobody knows whether it was done.
    pub(crate) async fn once(&mut self, method: Method, path: &str, body: Option<&Value>) -> Option<Answer> {
        self.ask(method, path, None, body).await
    }

    /// How many requests nobody answered since this was asked last.
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
