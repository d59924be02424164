//! Access: API keys and their roles. A key has a tenant and a role, and is stored as a hash of its secret.
//!
//! The key's text names its tenant and its record, so that a lookup is one read: `mh_{tenant}_{key id}_{secret}`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::Moment;
use crate::id::{NotAnId, Tenant, base32, from_base32};
use crate::idempotency::Fingerprint;
use crate::pool::PoolName;
use crate::spelled::spelled_for_people;

/// The roles of callers; each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Creates and changes jobs, and cancels and retries runs.
    Operator,
    /// Makes keys and secrets.
    Admin,
    /// Runs the deployment, and may name every tenant. Only the deployment's own key has this role.
    Host,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Host => "host",
        }
    }
}

/// The author of an action in the audit trail: a key's id, or a word for a caller without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct By(String);

impl By {
    /// The deployment's own key, which has no record.
    pub fn host() -> Self {
        Self("deployment".to_owned())
    }

    /// A job that has its runs make way for newer ones.
    pub fn overlap() -> Self {
        Self("overlap".to_owned())
    }

    pub fn key(id: KeyId) -> Self {
        Self(id.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The id of a key. It is not secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct KeyId([u8; 10]);

spelled_for_people!(KeyId);

impl KeyId {
    /// Time first, so that a list of keys is sorted by age.
    pub fn new(now: Moment, chance: [u8; 16]) -> Self {
        let [_, _, m0, m1, m2, m3, m4, m5] = now.millis().to_be_bytes();
        let [c0, c1, c2, c3, ..] = chance;
        Self([m0, m1, m2, m3, m4, m5, c0, c1, c2, c3])
    }

    pub const fn from_bytes(bytes: [u8; 10]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 10] {
        &self.0
    }

    /// The same tenant and idempotency key give the same id: a repeated request is the same conditional put.
    pub fn from_idempotency_key(tenant: &Tenant, key: &str) -> Self {
        let parts = [b"minutehand key 1", tenant.as_str().as_bytes(), key.as_bytes()];
        let digest =
            parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part).chain_update([0])).finalize();
        Self(digest[..10].try_into().expect("a digest has 32 bytes"))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key_{}", base32(&self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bytes = text.strip_prefix("key_").and_then(from_base32).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotAnId::of("a key id"))
    }
}

/// The SHA-256 of a secret. Secrets are sixteen bytes of chance: no dictionary helps against a fast hash of them.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct SecretHash([u8; 32]);

spelled_for_people!(SecretHash);

impl SecretHash {
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Compares to the end, so that the time taken reveals nothing.
    pub fn is_of(&self, secret: &str) -> bool {
        let other = Self::of(secret);
        self.0.iter().zip(other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(&self.0))
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash")
    }
}

impl FromStr for SecretHash {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bytes = from_base32(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotAnId::of("a hash"))
    }
}

/// A key as stored: everything but its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub tenant: Tenant,
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub created_at: Moment,
    pub revoked_at: Option<Moment>,
    pub secret: SecretHash,
    /// The secret before the last rotation, while it is still accepted.
    pub former: Option<Former>,
    /// The fingerprint of the creating request, where it had an idempotency key.
    pub fingerprint: Option<Fingerprint>,
    /// From when on it opens nothing.
    pub expires_at: Option<Moment>,
    /// Of a worker's key: the pools that it works for. Such a key can do that and nothing else, whatever its role.
    pub pools: Option<BTreeSet<PoolName>>,
}

/// When a key was last used, as far as anybody wrote it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUse {
    pub id: KeyId,
    pub last_used_at: Moment,
}

/// How much later a use must be to be worth a write: a search for unused keys thinks in days.
const WORTH_A_WRITE: Duration = Duration::from_secs(3600);

/// What a secret does to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    Opens,
    /// It would, had its time not passed.
    Expired(Moment),
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Former {
    pub secret: SecretHash,
    pub until: Moment,
}

impl KeyUse {
    /// Whether a use at `now` is to be written down. One from a clock that was ahead is mended.
    pub fn is_outdated(&self, now: Moment) -> bool {
        now < self.last_used_at || now.since(self.last_used_at) >= WORTH_A_WRITE
    }
}

impl ApiKey {
    /// Only a caller that has the secret is told that it came too late.
    pub fn opening(&self, secret: &str, now: Moment) -> Opening {
        let by_former = self.former.is_some_and(|former| former.secret.is_of(secret) && now < former.until);
        let knows = (self.secret.is_of(secret) || by_former) && self.revoked_at.is_none();
        match self.expires_at {
            _ if !knows => Opening::Refused,
            Some(at) if self.has_expired(now) => Opening::Expired(at),
            _ => Opening::Opens,
        }
    }

    pub fn opens(&self, secret: &str, now: Moment) -> bool {
        self.opening(secret, now) == Opening::Opens
    }

    pub fn has_expired(&self, now: Moment) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// This key with a new secret; the present one is accepted for `grace` longer.
    #[must_use]
    pub fn rotated(&self, secret: SecretHash, grace: Duration, now: Moment) -> Self {
        let former = Former { secret: self.secret, until: now + grace };
        Self { secret, former: Some(former), ..self.clone() }
    }

    /// This key without access. Revoking twice keeps the first instant.
    #[must_use]
    pub fn revoked(&self, now: Moment) -> Self {
        Self { revoked_at: Some(self.revoked_at.unwrap_or(now)), former: None, ..self.clone() }
    }

    /// The text of the key for its owner, shown once.
    pub fn text(&self, secret: &str) -> String {
        KeyText { tenant: &self.tenant, id: self.id, secret }.to_string()
    }
}

/// The text of a key, as sent by its owner.
struct KeyText<'a> {
    tenant: &'a Tenant,
    id: KeyId,
    secret: &'a str,
}

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mh_{}_{}_{}", self.tenant.as_str(), base32(&self.id.0), self.secret)
    }
}

/// Reads a key's text: the tenant and the id of its record, and the secret to check. None where the text is no key.
pub fn read_key(text: &str) -> Option<(Tenant, KeyId, &str)> {
    let mut parts = text.strip_prefix("mh_")?.splitn(3, '_');
    let tenant = Tenant::new(parts.next()?).ok()?;
    let id = format!("key_{}", parts.next()?).parse().ok()?;
    Some((tenant, id, parts.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);
    const HOUR: Duration = Duration::from_secs(3600);

    fn key() -> ApiKey {
        ApiKey {
            tenant: Tenant::new("acme-1").unwrap(),
            id: KeyId::new(NOW, [7; 16]),
            name: "ci".to_owned(),
            role: Role::Operator,
            created_at: NOW,
            revoked_at: None,
            secret: SecretHash::of("first"),
            former: None,
            fingerprint: None,
            expires_at: None,
            pools: None,
        }
    }

    #[test]
    fn a_key_is_read_back_from_its_text() {
        let text = key().text("s3cret");

        assert_eq!(read_key(&text), Some((key().tenant, key().id, "s3cret")));
        for other in ["", "mh_", "mh_acme", "mh_acme_x_y", "mh_Acme_0000000000000000_x", "mh_0123456789abcdef"] {
            assert_eq!(read_key(other), None, "{other}");
        }
    }

    #[test]
    fn a_rotated_key_opens_by_both_secrets_until_the_grace_ends() {
        let rotated = key().rotated(SecretHash::of("second"), HOUR, NOW);

        for (secret, after, opens) in
            [("second", 0, true), ("first", 3599, true), ("first", 3600, false), ("second", 3600, true), ("", 0, false)]
        {
            assert_eq!(rotated.opens(secret, NOW + Duration::from_secs(after)), opens, "{secret} after {after} s");
        }
    }

    #[test]
    fn only_the_last_two_secrets_open() {
        let twice = key().rotated(SecretHash::of("second"), HOUR, NOW).rotated(SecretHash::of("third"), HOUR, NOW);

        assert!(!twice.opens("first", NOW) && twice.opens("second", NOW) && twice.opens("third", NOW));
    }

    #[test]
    fn a_revoked_key_opens_by_nothing() {
        let rotated = key().rotated(SecretHash::of("second"), HOUR, NOW);

        let revoked = rotated.revoked(NOW).revoked(NOW + HOUR);

        assert!(!revoked.opens("first", NOW) && !revoked.opens("second", NOW));
        assert_eq!(revoked.revoked_at, Some(NOW), "revoking twice keeps the first time");
    }

    #[test]
    fn an_expired_key_opens_nothing_and_says_so_only_to_who_has_its_secret() {
        let key = ApiKey { expires_at: Some(NOW + HOUR), ..key() };

        assert_eq!(key.opening("first", (NOW + HOUR).just_before()), Opening::Opens);
        assert_eq!(key.opening("first", NOW + HOUR), Opening::Expired(NOW + HOUR));
        assert_eq!(key.opening("other", NOW + HOUR), Opening::Refused);
        assert_eq!(key.revoked(NOW).opening("first", NOW + HOUR), Opening::Refused);
    }

    #[test]
    fn a_use_is_worth_a_write_once_an_hour() {
        let used = KeyUse { id: key().id, last_used_at: NOW };

        assert!(!used.is_outdated(NOW) && !used.is_outdated((NOW + HOUR).just_before()));
        assert!(used.is_outdated(NOW + HOUR) && used.is_outdated(NOW.just_before()));
    }

    #[test]
    fn each_role_includes_those_before_it() {
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin && Role::Admin < Role::Host);
    }

    #[test]
    fn the_same_idempotency_key_gives_other_tenants_other_key_ids() {
        let (a, b) = (Tenant::new("a").unwrap(), Tenant::new("b").unwrap());

        assert_eq!(KeyId::from_idempotency_key(&a, "k"), KeyId::from_idempotency_key(&a, "k"));
        assert_ne!(KeyId::from_idempotency_key(&a, "k"), KeyId::from_idempotency_key(&b, "k"));
    }
}
