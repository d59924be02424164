//! Calls as a target verifies them: signed with the tenant's secrets from the store.

use minutehand_domain::signing::SigningSecret;
use serde::{Deserialize, Serialize};

use super::*;
use crate::Fault;
use crate::chance::SystemChance;
use crate::store::embedded::MemoryStore;
use crate::store::item::{Item, Reader, Stored, Writer};
use crate::store::place::Place;
use crate::store::{Guard, Store as _};
use crate::targets::{Callers, KNOWN_FOR, Targets as _, Upcoming, signing_secrets};
use crate::vault::NoVault;

struct World {
    server: Server,
    store: Arc<MemoryStore>,
    callers: Callers<HttpCaller, MemoryStore>,
}

fn acme() -> Tenant {
    Tenant::new("acme").unwrap()
}

impl World {
    async fn new() -> Self {
        let (server, store) = (Server::answering(EMPTY).await, Arc::new(MemoryStore::in_memory()));
        let callers = Callers::new(HttpCaller::new(Reach::Loopback).unwrap(), Arc::clone(&store));
        Self { server, store, callers }
    }

    async fn call(&self, now: Moment, payload: Option<&Json>) -> Answer {
        let target = Target::Http(get(self.server.url("http")));
        let material = self.prepare(&target, now).await.unwrap();
        self.call_with(&target, now, payload, &material).await
    }

    async fn prepare(&self, target: &Target, now: Moment) -> Result<Material, Fault> {
        let tenant = acme();
        self.callers.prepare(Upcoming { target, tenant: &tenant, payload: None, now }, &SystemChance, &NoVault).await
    }

    async fn call_with(&self, target: &Target, now: Moment, payload: Option<&Json>, material: &Material) -> Answer {
        let (tenant, run, scheduled_at, timeout) = (acme(), run(), run().at, PATIENT);
        let call = Call {
            target,
            tenant: &tenant,
            run,
            attempt: 1,
            scheduled_at,
            now,
            payload,
            follows: None,
            trace: &trace(),
            task: None,
            material,
            timeout,
            lease: lease_of(run),
        };
        self.callers.call(call).await
    }

    async fn secrets(&self) -> SigningSecrets {
        signing_secrets(&*self.store, &acme(), &SystemChance, Moment::EPOCH).await.unwrap().item
    }

    async fn rotate(&self, now: Moment) -> SigningSecret {
        let seen = signing_secrets(&*self.store, &acme(), &SystemChance, now).await.unwrap();
        let rotated = seen.item.rotated([9; 32], 10 * KNOWN_FOR, now);
        assert!(self.store.put(&acme(), (), &rotated, seen.guard()).await.unwrap().is_written());
        rotated.current
    }

    fn last_request(&self) -> String {
        self.server.requests().pop().unwrap()
    }
}

/// Verifies a request like a target that has this one secret.
fn is_signed_by(secret: &SigningSecret, request: &str) -> bool {
    let header = |name: &str| request.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let body = request.split_once("\r\n\r\n").unwrap().1;
    let at = Moment::from_secs(header("webhook-timestamp: ").parse().unwrap());
    let expected = secret.signature(header("webhook-id: "), at, body.as_bytes());
    header("webhook-signature: ").split(' ').any(|signature| signature == expected)
}

#[tokio::test]
async fn a_call_is_signed_over_the_bytes_that_are_sent() {
    let world = World::new().await;

    for payload in [None, Some(Json::null()), Some(Json::of(&serde_json::json!({"text": "ä\n\u{1F600}"})))] {
        assert_eq!(result(world.call(run().at, payload.as_ref()).await), None);

        let (request, secret) = (world.last_request(), world.secrets().await.current);
        assert!(is_signed_by(&secret, &request), "{request}");
        assert!(!is_signed_by(&secret, &request.replace("webhook-id: run_", "webhook-id: run_0")), "{request}");
    }
}

#[tokio::test]
async fn around_a_rotation_a_target_can_verify_every_call_with_either_secret() {
    let world = World::new().await;
    let start = run().at;
    world.call(start, None).await;
    let before = world.secrets().await.current;

    let after = world.rotate(start).await;

    for (seconds, by_before, by_after) in [(59, true, false), (60, true, true), (599, true, true), (660, false, true)] {
        world.call(start + Duration::from_secs(seconds), None).await;
        let request = world.last_request();
        let signed = (is_signed_by(&before, &request), is_signed_by(&after, &request));
        assert_eq!(signed, (by_before, by_after), "after {seconds} s");
    }
}

/// A document that no version of Minutehand has written.
#[derive(Clone, Serialize, Deserialize)]
struct Other(u8);

impl Item for Other {
    const KIND: &'static str = SigningSecrets::KIND;

    type Key = ();

    fn place((): &()) -> Place {
        SigningSecrets::place(&())
    }
}

impl Stored for Other {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, self)
    }

    fn read<R: Reader>(_shape: u8, reader: R) -> Result<Self, Fault> {
        reader.shape()
    }
}

#[tokio::test]
async fn secrets_that_cannot_be_read_are_a_fault_before_the_call() {
    let world = World::new().await;
    assert!(world.store.put(&acme(), (), &Other(1), Guard::Absent).await.unwrap().is_written());

    let prepared = world.prepare(&Target::Http(get(world.server.url("http"))), run().at).await;

    assert!(matches!(prepared, Err(Fault::Unreadable { .. })), "{prepared:?}");
}

#[tokio::test]
async fn without_its_secret_no_call_is_made() {
    let world = World::new().await;
    let target = Target::Http(get(world.server.url("http")));

    let answer = world.call_with(&target, run().at, None, &Material::default()).await;

    assert_eq!(code_retryable_reached(answer), expected("unavailable", true, false));
    assert_eq!(world.server.accepted(), 0);
}

#[tokio::test]
async fn a_target_that_is_not_http_needs_no_secret() {
    let world = World::new().await;

    let material = world.prepare(&Target::Noop, run().at).await.unwrap();
    assert_eq!(result(world.call_with(&Target::Noop, run().at, None, &material).await), None);

    assert_eq!((world.store.meter().reads, world.store.meter().writes), (0, 0));
}
