//! Idempotency: the same key and the same request are one creation; the same key and another request are a refusal.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::id::{NotAnId, base32, sixteen_bytes};
use crate::spelled::spelled_for_people;

/// What a creating request asked for, in 16 bytes. Kept with what it created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Fingerprint([u8; 16]);

spelled_for_people!(Fingerprint);

impl Fingerprint {
    /// Of the request's meaning, not its spelling: object keys sorted, white space gone.
    pub fn of(request: &serde_json::Value) -> Self {
        let digest = Sha256::digest(canonical(request).as_bytes());
        Self(digest[..16].try_into().expect("a digest has 32 bytes"))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(&self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        sixteen_bytes(text).map(Self)
    }
}

/// `serde_json`'s own map keeps its keys sorted, so that writing it out again is the canonical form.
fn canonical(value: &serde_json::Value) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Fingerprint {
        Fingerprint::of(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn spelling_does_not_matter_and_meaning_does() {
        assert_eq!(of(r#"{"a":1,"b":{"c":2,"d":3}}"#), of(r#" { "b" : {"d":3, "c":2}, "a":1 }"#));
        assert_ne!(of(r#"{"a":1}"#), of(r#"{"a":2}"#));
        assert_ne!(of(r#"{"a":[1,2]}"#), of(r#"{"a":[2,1]}"#));
    }
}
