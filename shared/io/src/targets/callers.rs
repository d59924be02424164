//! The callers: each kind of target goes to the caller of its kind, and what its calls take is read beforehand.

use std::future::Future;
use std::sync::Arc;

use minutehand_domain::run::ErrorCode;
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::target::{HttpTarget, Target};

use super::known_secrets::KnownSecrets;
use super::{Answer, Call, Material, Targets, Upcoming};
use crate::Fault;
use crate::chance::Chance;
use crate::store::Store;

/// Carries a call to an HTTP target and its answer back: over the network, or over a simulated one.
pub trait Transport: Send + Sync + 'static {
    /// Makes one call, signed with `secrets`, within `call.timeout`.
    fn call(
        &self,
        target: &HttpTarget,
        call: Call<'_>,
        secrets: &SigningSecrets,
    ) -> impl Future<Output = Answer> + Send;
}

/// Reads the store only for the tenants' signing secrets.
#[derive(Debug)]
pub struct Callers<T, S> {
    http: T,
    secrets: KnownSecrets<S>,
}

impl<T: Transport, S: Store> Callers<T, S> {
    pub fn new(http: T, store: Arc<S>) -> Self {
        Self { http, secrets: KnownSecrets::new(store) }
    }

    /// Nothing is sent unsigned.
    async fn call_http(&self, target: &HttpTarget, call: Call<'_>) -> Answer {
        match &call.material.signing {
            Some(secrets) => self.http.call(target, call, secrets).await,
            None => Answer::Failed {
                error: ErrorCode::Unavailable.error("nobody read the secrets that this call is signed with"),
                retry_after: None,
            },
        }
    }
}

impl<T: Transport, S: Store> Targets for Callers<T, S> {
    async fn prepare(&self, upcoming: Upcoming<'_>, chance: &impl Chance) -> Result<Material, Fault> {
        match upcoming.target {
            Target::Noop => Ok(Material::default()),
            Target::Http(_) => {
                let signing = self.secrets.of(upcoming.tenant, chance, upcoming.now).await?;
                Ok(Material { signing: Some(signing) })
            }
        }
    }

    async fn call(&self, call: Call<'_>) -> Answer {
        match call.target {
            Target::Noop => Answer::Succeeded { result: None },
            Target::Http(target) => self.call_http(target, call).await,
        }
    }
}
