//! The callers: each kind of target goes to the caller of its kind.

use std::future::Future;
use std::sync::Arc;

use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::target::{HttpTarget, Target};
use tokio::time::{Instant, timeout};

use super::http::HttpCaller;
use super::known_secrets::KnownSecrets;
use super::{Answer, Call, Targets};
use crate::store::Store;

/// Reads the store only for the tenants' signing secrets.
#[derive(Debug)]
pub struct Callers<S> {
    http: HttpCaller,
    secrets: KnownSecrets<S>,
}

impl<S: Store> Callers<S> {
    pub fn new(http: HttpCaller, store: Arc<S>) -> Self {
        Self { http, secrets: KnownSecrets::new(store) }
    }

    /// The time to read the secrets is part of the call's time-out: the lease covers no more.
    async fn call_http(&self, target: &HttpTarget, call: Call<'_>) -> Answer {
        let begun = Instant::now();
        match self.secrets(&call).await {
            Ok(secrets) => {
                let left = call.timeout.saturating_sub(begun.elapsed());
                self.http.call(target, Call { timeout: left, ..call }, &secrets).await
            }
            Err(error) => Answer::Failed { error, retry_after: None },
        }
    }

    async fn secrets(&self, call: &Call<'_>) -> Result<Arc<SigningSecrets>, AttemptError> {
        let read = timeout(call.timeout, self.secrets.of(call.tenant, call.now)).await;
        let unavailable = |why: &str| {
            tracing::warn!(tenant = call.tenant.as_str(), why, "the signing secrets cannot be read");
            ErrorCode::Unavailable.error("the secrets that calls are signed with cannot be read now")
        };
        match read {
            Ok(Ok(secrets)) => Ok(secrets),
            Ok(Err(fault)) => Err(unavailable(&fault.to_string())),
            Err(_) => Err(unavailable("the store does not answer")),
        }
    }
}

impl<S: Store> Targets for Callers<S> {
    fn call(&self, call: Call<'_>) -> impl Future<Output = Answer> + Send {
        async move {
            match call.target {
                Target::Noop => Answer::Succeeded { result: None },
                Target::Http(target) => self.call_http(target, call).await,
            }
        }
    }
}
