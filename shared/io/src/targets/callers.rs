//! The callers: each kind of target goes to the caller of its kind, and what its calls take is read beforehand.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use minutehand_domain::body::Json;
use minutehand_domain::limits::SECRETS_OF_A_CALL;
use minutehand_domain::run::ErrorCode;
use minutehand_domain::secret::{SecretName, filled, named_in};
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::target::{HttpTarget, Target};

use super::known_secrets::KnownSecrets;
use super::known_values::KnownValues;
use super::{Answer, Call, Material, Targets, Upcoming};
use crate::Fault;
use crate::chance::Chance;
use crate::store::Store;
use crate::vault::Vault;

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

/// Reads the store only for secrets: those that calls are signed with, and those that they name.
#[derive(Debug)]
pub struct Callers<T, S> {
    http: T,
    signing: KnownSecrets<S>,
    values: KnownValues<S>,
}

/// As many as a job and a run's own payload may name. Whatever was stored before a payload could name any is not read beyond it.
const MOST_SECRETS: usize = 2 * SECRETS_OF_A_CALL;

impl<T: Transport, S: Store> Callers<T, S> {
    pub fn new(http: T, store: Arc<S>) -> Self {
        Self { http, signing: KnownSecrets::new(Arc::clone(&store)), values: KnownValues::new(store) }
    }

    /// Nothing is sent unsigned, or without what its secrets say. What is sent instead of their names is in the call alone.
    async fn call_http(&self, target: &HttpTarget, call: Call<'_>) -> Answer {
        if let Some(error) = call.material.missing() {
            return Answer::Failed { error, retry_after: None };
        }
        let payload = call.payload.map(|payload| filled(payload, |name| call.material.secret(name)));
        let call = Call { payload: payload.as_ref(), ..call };
        match &call.material.signing {
            Some(secrets) => self.http.call(target, call, secrets).await,
            None => Answer::Failed {
                error: ErrorCode::Unavailable.error("nobody read the secrets that this call is signed with"),
                retry_after: None,
            },
        }
    }
}

/// The secrets that a call names. A payload in which one is named wrongly was there before payloads named any: it is data.
fn named_by(target: &HttpTarget, payload: Option<&Json>) -> BTreeSet<SecretName> {
    let inside = payload.and_then(|payload| named_in(payload).ok()).unwrap_or_default();
    target.secrets().into_iter().chain(inside).take(MOST_SECRETS).collect()
}

impl<T: Transport, S: Store> Targets for Callers<T, S> {
    async fn prepare(
        &self,
        upcoming: Upcoming<'_>,
        chance: &impl Chance,
        vault: &impl Vault,
    ) -> Result<Material, Fault> {
        let Upcoming { tenant, now, .. } = upcoming;
        match upcoming.target {
            Target::Noop => Ok(Material::default()),
            Target::Http(target) => {
                let signing = self.signing.of(tenant, chance, now).await?;
                let names = named_by(target, upcoming.payload);
                let secrets = self.values.of(tenant, names, vault, now).await?;
                Ok(Material { signing: Some(signing), secrets })
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
