//! The credentials of the deployment, which sign its calls: asked for once, and again shortly before they end.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use minutehand_domain::Moment;
use thiserror::Error;

/// No call begins with credentials that end while it is made.
const AHEAD: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub(crate) struct KnownCredentials {
    provider: SharedCredentialsProvider,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    credentials: Option<Credentials>,
    /// What whoever needs them waits for, while they are asked for.
    asking: Option<Asking>,
}

type Asking = Shared<BoxFuture<'static, Result<Credentials, NoCredentials>>>;

/// Why there are none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NoCredentials {
    /// Nobody is set up to give any, or not rightly: that does not pass by itself.
    #[error("this deployment has no AWS credentials")]
    NotSetUp,
    /// Whoever gives them is away.
    #[error("nobody gives AWS credentials now")]
    Away,
}

impl KnownCredentials {
    pub(crate) fn new(provider: SharedCredentialsProvider) -> Self {
        Self { provider, known: Arc::default() }
    }

    /// Those that are good at `now`. Who comes while they are asked for waits for the same answer, and who waits no longer takes nothing from the
    /// others: what takes long is known behind it.
    pub(crate) async fn at(&self, now: Moment) -> Result<Credentials, NoCredentials> {
        let asking = {
            let mut known = self.lock();
            if let Some(credentials) = known.credentials.as_ref().filter(|credentials| is_good(credentials, now)) {
                return Ok(credentials.clone());
            }
            known.asking.get_or_insert_with(|| self.clone().ask()).clone()
        };
        asking.await
    }

    /// AWS knows them no more.
    pub(crate) fn forget(&self) {
        self.lock().credentials = None;
    }

    /// Apart from whoever waits for it.
    fn ask(self) -> Asking {
        let asked = tokio::spawn(async move {
            let given = self.provider.provide_credentials().await.map_err(|why| {
                tracing::error!(%why, "this deployment has no AWS credentials to call targets with");
                NoCredentials::of(&why)
            });
            let mut known = self.lock();
            known.asking = None;
            known.credentials = given.clone().ok();
            given
        });
        async { asked.await.unwrap_or(Err(NoCredentials::Away)) }.boxed().shared()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NoCredentials {
    fn of(why: &CredentialsError) -> Self {
        match why {
            CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_) => Self::NotSetUp,
            _ => Self::Away,
        }
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
