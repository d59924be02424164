//! The callers: each kind of target goes to the caller of its kind, and what its calls take is read beforehand.

use std::collections::BTreeSet;
use std::future::Future;
use std::iter::once;
use std::sync::Arc;

use minutehand_domain::body::Json;
use minutehand_domain::id::{Owner, RunKey};
use minutehand_domain::limits::SECRETS_OF_A_CALL;
use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::secret::{SecretName, filled, named_in};
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::target::{Header, HttpTarget, ServiceTarget, Target, host_and_rest};

use super::known_secrets::KnownSecrets;
use super::known_values::KnownValues;
use super::material::WORD;
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

/// Asks a service of AWS that the operator declared, and carries its answer back.
pub trait Services: Send + Sync + 'static {
    /// Has at hand what a call is signed with. It is done before the claim: where nobody gives it, the world is at fault, and the
    /// hint is given back.
    fn prepare(
        &self,
        _upcoming: Upcoming<'_>,
        _target: &ServiceTarget,
    ) -> impl Future<Output = Result<(), Fault>> + Send {
        async { Ok(()) }
    }

    /// Makes one call within `call.timeout`.
    fn call(&self, target: &ServiceTarget, call: Call<'_>) -> impl Future<Output = Answer> + Send;
}

/// The services of a process that calls none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoServices;

impl Services for NoServices {
    async fn call(&self, _target: &ServiceTarget, _call: Call<'_>) -> Answer {
        let error = ErrorCode::Alias.error("this deployment declares no targets of AWS");
        Answer::Failed { error, retry_after: None }
    }
}

/// None where nothing is declared.
impl<V: Services> Services for Option<V> {
    async fn prepare(&self, upcoming: Upcoming<'_>, target: &ServiceTarget) -> Result<(), Fault> {
        match self {
            Some(services) => services.prepare(upcoming, target).await,
            None => Ok(()),
        }
    }

    async fn call(&self, target: &ServiceTarget, call: Call<'_>) -> Answer {
        match self {
            Some(services) => services.call(target, call).await,
            None => NoServices.call(target, call).await,
        }
    }
}

/// Reads the store only for secrets: those that calls are signed with, and those that they name.
#[derive(Debug)]
pub struct Callers<T, S, V = NoServices> {
    http: T,
    services: V,
    signing: KnownSecrets<S>,
    values: KnownValues<S>,
}

/// As many as a job and a run's own payload may name.
const MOST_SECRETS: usize = 2 * SECRETS_OF_A_CALL;

impl<T: Transport, S: Store> Callers<T, S> {
    pub fn new(http: T, store: Arc<S>) -> Self {
        Self::with(http, NoServices, store)
    }
}

impl<T: Transport, S: Store, V: Services> Callers<T, S, V> {
    pub fn with(http: T, services: V, store: Arc<S>) -> Self {
        Self { http, services, signing: KnownSecrets::new(Arc::clone(&store)), values: KnownValues::new(store) }
    }

    /// Nothing is sent unsigned, or without what its secrets say. What is sent instead of their names is in the call alone.
    async fn call_http(&self, target: &HttpTarget, call: Call<'_>) -> Answer {
        let payload = match payload_of(&call) {
            Ok(payload) => payload,
            Err(error) => return Answer::Failed { error, retry_after: None },
        };
        let call = Call { payload: payload.as_ref(), ..call };
        let (material, unshown) = (call.material, unshown(target, call.run));
        match &material.signing {
            Some(secrets) => shown(self.http.call(target, call, secrets).await, material, &unshown),
            None => Answer::Failed {
                error: ErrorCode::Unavailable.error("nobody read the secrets that this call is signed with"),
                retry_after: None,
            },
        }
    }

    async fn call_service(&self, target: &ServiceTarget, call: Call<'_>) -> Answer {
        let payload = match payload_of(&call) {
            Ok(payload) => payload,
            Err(error) => return Answer::Failed { error, retry_after: None },
        };
        let material = call.material;
        shown(self.services.call(target, Call { payload: payload.as_ref(), ..call }).await, material, &[])
    }
}

/// What no answer of the API shows of a call: headers that are named like credentials; of a notification each header, and the address behind its host, of
/// which a long part tells of it by itself.
fn unshown(target: &HttpTarget, run: RunKey) -> Vec<&str> {
    if !matches!(run.owner(), Owner::Rule(_)) {
        return target.credentials();
    }
    let address = host_and_rest(&target.url).1.trim_start_matches(['/', '?', '#']);
    let parts = address.split(['/', '?', '&', '=', '#']).filter(|part| part.len() >= WORD);
    target.headers.values().filter_map(Header::text).chain(once(address)).chain(parts).collect()
}

/// What a target says of a failure stands where many read it, and some targets repeat there what they were given.
fn shown(answer: Answer, material: &Material, unshown: &[&str]) -> Answer {
    match answer {
        Answer::Failed { error, retry_after } => {
            let message = material.without_secrets(&error.message, unshown);
            let error = AttemptError { message, ..error };
            Answer::Failed { error, retry_after }
        }
        answer => answer,
    }
}

/// With what its secrets say, of which none may be missing.
fn payload_of(call: &Call<'_>) -> Result<Option<Json>, AttemptError> {
    match call.material.missing() {
        Some(error) => Err(error),
        None => Ok(call.payload.map(|payload| filled(payload, |name| call.material.secret(name)))),
    }
}

/// The secrets that a call names.
fn named_by(target: &Target, payload: Option<&Json>) -> BTreeSet<SecretName> {
    let inside = payload.map(named_in).unwrap_or_default();
    target.secrets().into_iter().chain(inside).take(MOST_SECRETS).collect()
}

impl<T: Transport, S: Store, V: Services> Targets for Callers<T, S, V> {
    async fn prepare(
        &self,
        upcoming: Upcoming<'_>,
        chance: &impl Chance,
        vault: &impl Vault,
    ) -> Result<Material, Fault> {
        let Upcoming { tenant, now, .. } = upcoming;
        let signing = match upcoming.target {
            Target::Noop | Target::Workflow(_) | Target::Worker(_) => return Ok(Material::default()),
            Target::Http(_) => Some(self.signing.of(tenant, chance, now).await?),
            // AWS knows who calls by the signature of the deployment.
            Target::Service(target) => {
                self.services.prepare(upcoming, target).await?;
                None
            }
        };
        let names = named_by(upcoming.target, upcoming.payload);
        let secrets = self.values.of(tenant, names, vault, now).await?;
        Ok(Material { signing, secrets })
    }

    async fn call(&self, call: Call<'_>) -> Answer {
        match call.target {
            Target::Noop => Answer::Succeeded { result: None },
            Target::Http(target) => self.call_http(target, call).await,
            Target::Service(target) => self.call_service(target, call).await,
            Target::Workflow(_) => {
                let error = ErrorCode::InvalidTarget.error("a workflow is not called: it unfolds into its tasks");
                Answer::Failed { error, retry_after: None }
            }
            Target::Worker(_) => {
                let error = ErrorCode::InvalidTarget.error("a worker is not called: it takes what it carries out");
                Answer::Failed { error, retry_after: None }
            }
        }
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use minutehand_domain::Moment;
    use minutehand_domain::id::{JobId, Origin, Tenant};
    use minutehand_domain::run::lease_id::LeaseId;
    use minutehand_domain::secret::{Label, Secret, SecretValue, marked};
    use minutehand_domain::target::{Asks, Method, Timeouts};
    use minutehand_domain::timer::{TimerKey, TimerStamp};
    use minutehand_domain::trace::TraceContext;
    use serde_json::json;
    use zeroize::Zeroizing;

    use super::*;
    use crate::chance::SystemChance;
    use crate::store::Guard;
    use crate::store::embedded::MemoryStore;
    use crate::vault::key_file::KeyFile;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    /// A target that refuses, and repeats there how it was called.
    struct Repeats;

    impl Transport for Repeats {
        async fn call(&self, target: &HttpTarget, _call: Call<'_>, _secrets: &SigningSecrets) -> Answer {
            let headers: Vec<_> = target.headers.values().filter_map(Header::text).collect();
            let said = format!("no {} for {}", target.url, headers.join(", "));
            Answer::Failed { error: ErrorCode::Http4xx.error(&said), retry_after: None }
        }
    }

    /// Keeps what it was given.
    #[derive(Debug, Default)]
    struct Kept(Mutex<Option<Json>>);

    impl Transport for Kept {
        async fn call(&self, _target: &HttpTarget, call: Call<'_>, _secrets: &SigningSecrets) -> Answer {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = call.payload.cloned();
            Answer::Succeeded { result: None }
        }
    }

    fn target<const N: usize>(headers: [(&str, Header); N]) -> Target {
        let headers = headers.map(|(name, header)| (name.to_owned(), header)).into();
        let url = "https://example.com/hooks/T0-secret".to_owned();
        Target::Http(HttpTarget { url, method: Method::Post, headers, timeouts: Timeouts::default() })
    }

    fn trace() -> TraceContext {
        TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", None).unwrap()
    }

    fn call<'a>(
        target: &'a Target,
        tenant: &'a Tenant,
        payload: Option<&'a Json>,
        material: &'a Material,
        trace: &'a TraceContext,
    ) -> Call<'a> {
        let (run, stamp) =
            (RunKey::manual(JobId::from_bytes([1; 16]), NOW, 1), TimerStamp { generation: 1, written: NOW });
        let lease = LeaseId { run, fence: 1, timer: TimerKey::run(run, NOW), stamp };
        Call {
            target,
            tenant,
            run,
            attempt: 1,
            scheduled_at: NOW,
            now: NOW,
            payload,
            follows: None,
            trace,
            task: None,
            material,
            timeout: Duration::from_secs(1),
            lease,
        }
    }

    /// What the target is given of a stored payload, where the tenant has a secret `db` that says `hunter2`.
    async fn sent(payload: &Json) -> Option<Json> {
        let (store, vault, tenant) = (MemoryStore::in_memory(), KeyFile::in_memory(), Tenant::new("acme").unwrap());
        let (name, value) = ("db".parse().unwrap(), SecretValue::new(Zeroizing::new("hunter2".to_owned())).unwrap());
        let label = Label { tenant: &tenant, name: &name };
        let secret = Secret::new(label, vault.seal(label, &value).await.unwrap(), NOW);
        assert!(store.put(&tenant, name.clone(), &secret, Guard::Absent).await.unwrap().is_written());
        let callers = Callers::new(Kept::default(), Arc::new(store));
        let target = target([("x-key", Header::Secret(name))]);
        let upcoming = Upcoming { target: &target, tenant: &tenant, payload: Some(payload), now: NOW };
        let material = callers.prepare(upcoming, &SystemChance, &vault).await.unwrap();
        let answer = callers.call(call(&target, &tenant, Some(payload), &material, &trace())).await;
        assert_eq!(answer, Answer::Succeeded { result: None });
        callers.http.0.into_inner().unwrap()
    }

    /// As dc7fa05 stored it, which knew of no secrets; one of that name is there since, and a header names it. Tried: with
    /// references as they are written, the target is given what the secret says, or the run fails for want of one.
    #[tokio::test]
    async fn a_payload_that_was_stored_before_references_is_sent_as_it_is() {
        let written = Json::of(&json!({"db": {"secret": "db"}, "also": {"secret": "of no such name"}}));
        let today = Json::of(&json!({"db": {"secret": "db"}}));

        assert_eq!(sent(&written).await, Some(written));
        assert_eq!(sent(&marked(&today).unwrap().0).await, Some(Json::of(&json!({"db": "hunter2"}))));
    }

    /// Removed, one after the other: headers that are masked; what is masked of a notification. A key that is masked in the job, and the address of a chat,
    /// stood in the errors of runs where the target repeated them.
    #[tokio::test]
    async fn what_no_answer_shows_of_a_call_is_in_no_error_of_it() {
        let (callers, tenant) =
            (Callers::new(Repeats, Arc::new(MemoryStore::in_memory())), Tenant::new("acme").unwrap());
        let target = target([("X-Api-Key", "Key of-acme-5561".into()), ("x-team", "billing".into())]);
        let signing = Some(Arc::new(SigningSecrets::new([7; 32], NOW)));
        let (material, trace) = (Material { signing, ..Material::default() }, trace());
        let of_a_job = call(&target, &tenant, None, &material, &trace);
        let of_a_rule = RunKey { origin: Origin::Notification, ..of_a_job.run };

        for (run, told) in [
            (of_a_job.run, "no https://example.com/hooks/T0-secret for ***, billing"),
            (of_a_rule, "no https://example.com/*** for ***, ***"),
        ] {
            let answer = callers.call(Call { run, ..of_a_job }).await;
            assert_eq!(answer, Answer::Failed { error: ErrorCode::Http4xx.error(told), retry_after: None });
        }
    }

    /// Nobody gives it credentials.
    struct Away;

    impl Services for Away {
        async fn prepare(&self, _upcoming: Upcoming<'_>, _target: &ServiceTarget) -> Result<(), Fault> {
            Err(Fault::unavailable("credentials", "nobody gives any"))
        }

        async fn call(&self, _target: &ServiceTarget, _call: Call<'_>) -> Answer {
            panic!("nothing is to be called")
        }
    }

    /// An attempt is not used up for it: what is not prepared is not claimed. Removed: that services are asked. Each attempt at a call
    /// then fails for as long as whoever gives credentials is away.
    #[tokio::test]
    async fn where_nobody_gives_credentials_a_call_is_not_prepared() {
        let (callers, tenant) =
            (Callers::with(Kept::default(), Away, Arc::new(MemoryStore::in_memory())), Tenant::new("acme").unwrap());
        let target = Target::Service(ServiceTarget { alias: "reports".parse().unwrap(), asks: Asks::Lambda });
        let upcoming = Upcoming { target: &target, tenant: &tenant, payload: None, now: NOW };

        let refused = callers.prepare(upcoming, &SystemChance, &KeyFile::in_memory()).await;

        assert!(matches!(refused, Err(Fault::Unavailable { port: "credentials", .. })));
    }
}
