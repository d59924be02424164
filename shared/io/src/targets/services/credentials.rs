//! The credentials of the deployment, which sign its calls: asked for once, and again shortly before they end.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use minutehand_domain::Moment;
use tokio::sync::Mutex;

/// No call begins with credentials that end while it is made.
const AHEAD: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub(crate) struct KnownCredentials {
    provider: SharedCredentialsProvider,
    known: Arc<Mutex<Option<Credentials>>>,
}

impl KnownCredentials {
    pub(crate) fn new(provider: SharedCredentialsProvider) -> Self {
        Self { provider, known: Arc::default() }
    }

    /// Those that are good at `now`. Who comes while they are asked for waits for the same answer.
    pub(crate) async fn at(&self, now: Moment) -> Result<Credentials, String> {
        let mut known = self.known.lock().await;
        if let Some(credentials) = known.as_ref().filter(|credentials| is_good(credentials, now)) {
            return Ok(credentials.clone());
        }
        let asked = self.provider.provide_credentials().await;
        let credentials = asked.map_err(|why| {
            tracing::error!(%why, "this deployment has no AWS credentials to call targets with");
            "this deployment has no AWS credentials".to_owned()
        })?;
        *known = Some(credentials.clone());
        Ok(credentials)
    }

    /// AWS knows them no more.
    pub(crate) async fn forget(&self) {
        *self.known.lock().await = None;
    }
}

fn is_good(credentials: &Credentials, now: Moment) -> bool {
    credentials.expiry().is_none_or(|end| end > time_of(now) + AHEAD)
}

pub(super) fn time_of(now: Moment) -> SystemTime {
    SystemTime::UNIX_EPOCH + now.since(Moment::EPOCH)
}

/// Shows nothing of them.
impl fmt::Debug for KnownCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownCredentials")
    }
}
