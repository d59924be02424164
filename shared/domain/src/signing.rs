//! Signing: a target verifies that a call is from Minutehand and unaltered. A tenant has one secret, and for a while after
//! a rotation also the former one; a signature by either is enough, so that targets have time to change their secret.
//!
//! The scheme is that of Standard Webhooks: HMAC-SHA256 over `{id}.{seconds}.{body}`, in base 64 after `v1,`.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::Moment;
use crate::access::SecretHash;
use crate::id::{NotAnId, RunKey};
use crate::run::lease_id::lease_token;

/// The sizes of a secret that the scheme allows, in bytes.
const SECRET_BYTES: RangeInclusive<usize> = 24..=64;

const PREFIX: &str = "whsec_";

/// A tenant's secrets, as stored: readable, because every call is signed with them, and never shown again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningSecrets {
    pub current: SigningSecret,
    pub created_at: Moment,
    /// The secret before the last rotation, while calls are signed with it too.
    pub former: Option<FormerSecret>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerSecret {
    pub secret: SigningSecret,
    pub until: Moment,
}

/// A secret shared with the owners of a tenant's targets. Its `Debug` shows nothing; showing it takes [`Self::reveal`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SigningSecret(Vec<u8>);

impl SigningSecrets {
    /// A tenant has one document of this kind.
    pub const NAME: &'static str = "secrets";

    pub fn new(chance: [u8; 32], now: Moment) -> Self {
        Self { current: SigningSecret::of_chance(chance), created_at: now, former: None }
    }

    /// These secrets with a new one; calls are signed with the present one for `grace` longer.
    #[must_use]
    pub fn rotated(&self, chance: [u8; 32], grace: Duration, now: Moment) -> Self {
        let former = FormerSecret { secret: self.current.clone(), until: now + grace };
        Self { former: Some(former), ..Self::new(chance, now) }
    }

    /// The secrets that a call is signed with, newest first.
    pub fn in_force(&self, now: Moment) -> impl Iterator<Item = &SigningSecret> {
        std::iter::once(&self.current).chain(self.former_at(now).map(|former| &former.secret))
    }

    /// Until when the former secret signs too, if it still does.
    pub fn former_until(&self, now: Moment) -> Option<Moment> {
        self.former_at(now).map(|former| former.until)
    }

    /// The value of `webhook-signature`: one signature by each secret in force.
    pub fn signatures(&self, id: &str, at: Moment, body: &[u8]) -> String {
        let each: Vec<_> = self.in_force(at).map(|secret| secret.signature(id, at, body)).collect();
        each.join(" ")
    }

    /// What the target of a call shows of its lease, if it takes it on. It is made of what both know, so that a call costs no write for it.
    pub fn lease_token(&self, run: RunKey, fence: u32) -> String {
        self.current.lease_token(run, fence)
    }

    /// Whether a call that was made lately told its target this.
    pub fn knows_lease_token(&self, token: &str, run: RunKey, fence: u32, now: Moment) -> bool {
        self.in_force(now).any(|secret| SecretHash::of(&secret.lease_token(run, fence)).is_of(token))
    }

    fn former_at(&self, now: Moment) -> Option<&FormerSecret> {
        self.former.as_ref().filter(|former| now < former.until)
    }
}

impl SigningSecret {
    /// A secret of as many bytes as the hash: more would not make it harder to guess.
    pub fn of_chance(chance: [u8; 32]) -> Self {
        Self(chance.to_vec())
    }

    /// The text that libraries of Standard Webhooks take.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", BASE64.encode(&self.0))
    }

    fn lease_token(&self, run: RunKey, fence: u32) -> String {
        let hmac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        let digest = hmac.chain_update(format!("minutehand lease 1\0{run}\0{fence}")).finalize().into_bytes();
        lease_token(digest[..16].try_into().expect("a digest has 32 bytes"))
    }

    /// One value of `webhook-signature`.
    pub fn signature(&self, id: &str, at: Moment, body: &[u8]) -> String {
        let hmac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        let signed = hmac.chain_update(format!("{id}.{}.", timestamp(at))).chain_update(body);
        format!("v1,{}", BASE64.encode(&signed.finalize().into_bytes()))
    }
}

/// The value of `webhook-timestamp`: whole seconds since 1970.
pub fn timestamp(at: Moment) -> i64 {
    at.millis().div_euclid(1000)
}

impl FromStr for SigningSecret {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| BASE64.decode(text.as_bytes()).ok());
        let legal = bytes.filter(|bytes| SECRET_BYTES.contains(&bytes.len()));
        legal.map(Self).ok_or(NotAnId::of("a signing secret (whsec_ and 24 to 64 bytes in base 64)"))
    }
}

impl TryFrom<String> for SigningSecret {
    type Error = NotAnId;

    fn try_from(text: String) -> Result<Self, NotAnId> {
        text.parse()
    }
}

impl From<SigningSecret> for String {
    fn from(secret: SigningSecret) -> Self {
        secret.reveal()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);
    const HOUR: Duration = Duration::from_secs(3600);
    const PUBLISHED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn secret(byte: u8) -> SigningSecret {
        SigningSecret::of_chance([byte; 32])
    }

    fn rotated_once() -> SigningSecrets {
        SigningSecrets::new([1; 32], NOW).rotated([2; 32], HOUR, NOW + HOUR)
    }

    #[test]
    fn the_published_call_has_the_published_signature() {
        let secret: SigningSecret = PUBLISHED.parse().unwrap();
        let at = Moment::from_secs(1_614_265_330) + Duration::from_millis(999);

        let signature = secret.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", at, br#"{"test": 2432232314}"#);

        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn after_a_rotation_both_secrets_are_in_force_until_the_grace_ends() {
        for (after, in_force) in [(0, vec![2, 1]), (3599, vec![2, 1]), (3600, vec![2]), (1_000_000, vec![2])] {
            let now = NOW + HOUR + Duration::from_secs(after);
            let expected: Vec<_> = in_force.into_iter().map(secret).collect();

            assert_eq!(rotated_once().in_force(now).cloned().collect::<Vec<_>>(), expected, "after {after} s");
            let until = (expected.len() == 2).then_some(NOW + HOUR + HOUR);
            assert_eq!(rotated_once().former_until(now), until, "after {after} s");
        }
    }

    #[test]
    fn only_the_last_two_secrets_are_ever_in_force() {
        let now = NOW + HOUR;

        let twice = rotated_once().rotated([3; 32], HOUR, now);
        let at_once = rotated_once().rotated([3; 32], Duration::ZERO, now);

        assert_eq!(twice.in_force(now).cloned().collect::<Vec<_>>(), [secret(3), secret(2)]);
        assert_eq!(at_once.in_force(now).cloned().collect::<Vec<_>>(), [secret(3)]);
        assert_eq!(twice.created_at, now);
    }

    #[test]
    fn a_call_carries_one_signature_for_each_secret_in_force() {
        let (within, after) = (NOW + HOUR, NOW + HOUR + HOUR);
        let by = |byte, at| secret(byte).signature("run_1", at, b"{}");

        let signatures_at = |at| rotated_once().signatures("run_1", at, b"{}");

        assert_eq!(signatures_at(within), format!("{} {}", by(2, within), by(1, within)));
        assert_eq!(signatures_at(after), by(2, after));
    }

    #[test]
    fn every_signed_part_changes_the_signature() {
        let signature = secret(1).signature("run_1", NOW, b"{}");

        for other in [
            secret(2).signature("run_1", NOW, b"{}"),
            secret(1).signature("run_2", NOW, b"{}"),
            secret(1).signature("run_1", NOW + Duration::from_secs(1), b"{}"),
            secret(1).signature("run_1", NOW, b""),
        ] {
            assert_ne!(signature, other);
        }
    }

    #[test]
    fn a_secret_is_read_back_from_its_text() {
        let of_length = |bytes: usize| format!("whsec_{}", BASE64.encode(&vec![7; bytes]));

        for text in [PUBLISHED.to_owned(), of_length(24), of_length(32), of_length(64), secret(255).reveal()] {
            assert_eq!(text.parse::<SigningSecret>().unwrap().reveal(), text);
        }
        for text in ["", "whsec_", "whsec", &PUBLISHED[6..], "whsec_!", &of_length(23), &of_length(65), "whsec_MfKQ"] {
            assert_eq!(
                text.parse::<SigningSecret>(),
                Err(NotAnId::of("a signing secret (whsec_ and 24 to 64 bytes in base 64)")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_secret_is_stored_as_text_and_hidden_in_debug() {
        let kept = serde_json::to_string(&secret(2)).unwrap();

        let debugged = format!("{:?}", rotated_once());

        assert_eq!(kept, format!("\"{}\"", secret(2).reveal()));
        assert_eq!(serde_json::from_str::<SigningSecret>(&kept).unwrap(), secret(2));
        assert!(!debugged.contains("whsec_") && !debugged.contains("2, 2") && !debugged.contains('['), "{debugged}");
    }
}
