//! A secret: what a tenant's calls need and nobody is shown. A job names it, `{"secret": "name"}` in the place of a header's value
//! or anywhere in a payload; what it says is put there when a call is made, and nowhere else.
//!
//! A secret is stored sealed. What opens it is not the domain's.

mod reference;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use zeroize::Zeroizing;

pub use self::reference::{filled, marked, named_in};
use crate::Moment;
use crate::id::Tenant;
use crate::limits::{SECRET_BYTES, WORD_CHARS};
use crate::spelled::spelled_as_text;

/// What a secret is called. The name is not secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SecretName(String);

/// What a secret says. Its `Debug` shows nothing, showing it takes [`Self::reveal`], and its memory is wiped when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Zeroizing<String>);

/// A secret as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    pub tenant: Tenant,
    pub name: SecretName,
    /// From 1; grows each time it is written.
    pub version: u32,
    pub created_at: Moment,
    /// When it was last written again.
    pub rotated_at: Option<Moment>,
    pub state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Kept(Sealed),
    /// It says nothing any more. Its record is written over, not taken away, so that nobody needs to be allowed to delete.
    Deleted {
        at: Moment,
    },
}

/// What a secret says, as only the holder of a key can read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Which key it is; not the key.
    pub by: String,
    pub bytes: Vec<u8>,
}

/// Whose secret it is and what it is called: sealed together with what it says, so that one in another's place does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    pub tenant: &'a Tenant,
    pub name: &'a SecretName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a secret's name has from 1 to {WORD_CHARS} of A-Z, a-z, 0-9, _ and -")]
pub struct NotASecretName;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a secret has from 1 to {SECRET_BYTES} bytes")]
pub struct NotASecretValue;

impl Secret {
    pub fn new(label: Label<'_>, sealed: Sealed, now: Moment) -> Self {
        let (tenant, name) = (label.tenant.clone(), label.name.clone());
        Self { tenant, name, version: 1, created_at: now, rotated_at: None, state: State::Kept(sealed) }
    }

    /// This secret as it is written again; where it was deleted, a new one.
    #[must_use]
    pub fn written(&self, sealed: Sealed, now: Moment) -> Self {
        match self.state {
            State::Kept(_) => self.rotated(sealed, now),
            State::Deleted { .. } => Self::new(self.label(), sealed, now),
        }
    }

    /// This secret as it is written again. What it said before is good for nothing.
    fn rotated(&self, sealed: Sealed, now: Moment) -> Self {
        let (version, state) = (self.version.saturating_add(1), State::Kept(sealed));
        Self { version, rotated_at: Some(now), state, ..self.clone() }
    }

    #[must_use]
    pub fn deleted(&self, now: Moment) -> Self {
        Self { state: State::Deleted { at: now }, ..self.clone() }
    }

    /// What it says, sealed; none where it was deleted.
    pub fn sealed(&self) -> Option<&Sealed> {
        match &self.state {
            State::Kept(sealed) => Some(sealed),
            State::Deleted { .. } => None,
        }
    }

    pub fn label(&self) -> Label<'_> {
        Label { tenant: &self.tenant, name: &self.name }
    }
}

impl Label<'_> {
    /// What is sealed beside the value. Neither a tenant's name nor a secret's has a zero in it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = [b"minutehand secret 1".as_slice(), self.tenant.as_str().as_bytes(), self.name.0.as_bytes()];
        parts.join(&0)
    }
}

spelled_as_text!(SecretName);

impl FromStr for SecretName {
    type Err = NotASecretName;

    fn from_str(text: &str) -> Result<Self, NotASecretName> {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_name = (1..=WORD_CHARS).contains(&text.len()) && text.bytes().all(legal);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NotASecretName) }
    }
}

impl SecretValue {
    pub fn new(text: Zeroizing<String>) -> Result<Self, NotASecretValue> {
        if (1..=SECRET_BYTES).contains(&text.len()) { Ok(Self(text)) } else { Err(NotASecretValue) }
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue")
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed by {}", self.by)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn sealed(byte: u8) -> Sealed {
        Sealed { by: "k".to_owned(), bytes: vec![byte] }
    }

    fn value(text: &str) -> Result<SecretValue, NotASecretValue> {
        SecretValue::new(Zeroizing::new(text.to_owned()))
    }

    #[test]
    fn a_name_can_stand_in_an_address_and_in_a_shell() {
        for name in ["a", "STRIPE_KEY", "stripe-key-2", "0", &"x".repeat(64)] {
            assert_eq!(name.parse::<SecretName>().map(String::from).as_deref(), Ok(name));
        }
        for other in ["", "a b", "a.b", "..", "a/b", "ä", "a\0", "\"", &"x".repeat(65)] {
            assert_eq!(other.parse::<SecretName>(), Err(NotASecretName), "{other}");
        }
    }

    #[test]
    fn a_value_is_bounded_and_shown_to_no_log() {
        let largest = "v".repeat(SECRET_BYTES);

        assert_eq!(value(&largest).unwrap().reveal(), largest);
        assert_eq!((value(""), value(&(largest + "v"))), (Err(NotASecretValue), Err(NotASecretValue)));
        assert_eq!(format!("{:?}", value("hunter2").unwrap()), "SecretValue");
    }

    #[test]
    fn writing_it_again_is_rotating_it() {
        let (tenant, name) = (Tenant::new("acme").unwrap(), "stripe".parse().unwrap());
        let first = Secret::new(Label { tenant: &tenant, name: &name }, sealed(1), NOW);

        let second = first.written(sealed(2), NOW + Duration::from_secs(9));

        assert_eq!((first.version, first.rotated_at), (1, None));
        assert_eq!((second.version, second.rotated_at), (2, Some(NOW + Duration::from_secs(9))));
        assert_eq!((second.created_at, second.sealed()), (NOW, Some(&sealed(2))));
    }

    #[test]
    fn a_deleted_secret_says_nothing_and_written_again_it_is_a_new_one() {
        let (tenant, name) = (Tenant::new("acme").unwrap(), "stripe".parse().unwrap());
        let first = Secret::new(Label { tenant: &tenant, name: &name }, sealed(1), NOW).written(sealed(2), NOW);

        let deleted = first.deleted(NOW);
        let again = deleted.written(sealed(3), NOW + Duration::from_secs(9));

        assert_eq!(deleted.sealed(), None);
        assert_eq!((again.version, again.created_at), (1, NOW + Duration::from_secs(9)));
    }

    #[test]
    fn no_two_labels_are_the_same_bytes() {
        let of = |tenant: &str, name: &str| {
            let (tenant, name) = (Tenant::new(tenant).unwrap(), name.parse().unwrap());
            Label { tenant: &tenant, name: &name }.to_bytes()
        };

        assert_ne!(of("a", "bc"), of("ab", "c"));
        assert_ne!(of("a", "b"), of("b", "a"));
    }
}
