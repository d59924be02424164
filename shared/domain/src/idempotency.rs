//! Idempotency: the same key and the same request are one creation; the same key and another request are a refusal.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::Moment;
use crate::id::{NotAnId, RunKey, base32, sixteen_bytes};
use crate::retention::Retention;
use crate::spelled::spelled_for_people;

/// The fingerprint of a creating request, in 16 bytes. Stored with the created resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Fingerprint([u8; 16]);

spelled_for_people!(Fingerprint);

impl Fingerprint {
    /// The fingerprint of a request to `address`: of its meaning, not its spelling. Object keys are sorted, white space and
    /// escapes removed; numbers keep every digit. None for a text that is not JSON.
    ///
    /// The field `key_field` is left out: the idempotency key may be in the body or in the header.
    pub fn of(address: &str, body: &str, key_field: &str) -> Option<Self> {
        let mut said = format!("{address}\0");
        if !body.is_empty() {
            let mut fields = Node::read(serde_json::from_str(body).ok()?)?;
            if let Node::Object(fields) = &mut fields {
                fields.remove(key_field);
            }
            fields.write(&mut said)?;
        }
        let digest = Sha256::digest(said.as_bytes());
        Some(Self(digest[..16].try_into().expect("a digest has 32 bytes")))
    }
}

/// One level of a JSON text: deeper levels are still raw.
enum Node<'a> {
    Object(BTreeMap<String, &'a RawValue>),
    Array(Vec<&'a RawValue>),
    Text(String),
    /// A number, `true`, `false` or `null`.
    Plain(&'a str),
}

impl<'a> Node<'a> {
    fn read(raw: &'a RawValue) -> Option<Self> {
        let text = raw.get();
        Some(match text.as_bytes().first()? {
            b'{' => Self::Object(serde_json::from_str(text).ok()?),
            b'[' => Self::Array(serde_json::from_str(text).ok()?),
            b'"' => Self::Text(serde_json::from_str(text).ok()?),
            _ => Self::Plain(text),
        })
    }

    fn write(&self, out: &mut String) -> Option<()> {
        match self {
            Self::Object(fields) => {
                out.push('{');
                for (name, value) in fields {
                    Self::Text(name.clone()).write(out)?;
                    Self::read(value)?.write(out)?;
                }
                out.push('}');
            }
            Self::Array(values) => {
                out.push('[');
                for value in values {
                    Self::read(value)?.write(out)?;
                    out.push(',');
                }
                out.push(']');
            }
            Self::Text(text) => out.push_str(&serde_json::to_string(text).ok()?),
            Self::Plain(text) => out.push_str(text),
        }
        Some(())
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

/// Names the stored answer to an idempotency key, where the created resource has a random name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct AskedName([u8; 16]);

spelled_for_people!(AskedName);

impl AskedName {
    pub fn of(key: &str) -> Self {
        let digest = Sha256::new().chain_update(b"minutehand asked 1\0").chain_update(key).finalize();
        Self(digest[..16].try_into().expect("a digest has 32 bytes"))
    }
}

impl fmt::Display for AskedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(&self.0))
    }
}

impl FromStr for AskedName {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        sixteen_bytes(text).map(Self)
    }
}

/// The request of an idempotency key, and the run that answered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub name: AskedName,
    pub fingerprint: Fingerprint,
    pub run: RunKey,
    /// Until when it is answered for, where that has an end.
    pub until: Option<Moment>,
}

/// What has become of the run that a key names, where it is not on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It was never made: whoever asks next makes it under its name.
    ToBeMade,
    /// It may have been and gone, or be made just now by an asker whose clock is right, where this one is days ahead. To name another run
    /// would be one too many; to make it under its name, another run that bears its id.
    Unsure,
    /// It was over and has expired, or is never made: another one answers the key.
    Gone,
}

/// No clock is ahead by so much: two days are what a protocol here withstands.
const LONGER_THAN_CLOCKS_ARE_AHEAD: Duration = Duration::from_secs(3 * 86_400);

impl Asked {
    pub fn missing(&self, now: Moment) -> Missing {
        match now.since(self.run.at) {
            age if age <= Retention::LEAST.span() => Missing::ToBeMade,
            age if age <= LONGER_THAN_CLOCKS_ARE_AHEAD => Missing::Unsure,
            _ => Missing::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    fn of(text: &str) -> Fingerprint {
        Fingerprint::of("POST /v1/jobs", text, "idempotency_key").unwrap()
    }

    #[test]
    fn a_run_that_is_missing_is_made_is_doubted_and_is_given_up() {
        let (at, day) = (Moment::from_secs(1_800_000_000), Duration::from_secs(86_400));
        let run = RunKey::manual(JobId::from_bytes([1; 16]), at, 7);
        let asked = Asked { name: AskedName::of("k"), fingerprint: of("{}"), run, until: None };
        let rows = [
            (at - day, Missing::ToBeMade),
            (at, Missing::ToBeMade),
            (at + day, Missing::ToBeMade),
            ((at + day).just_after(), Missing::Unsure),
            (at + day * 3, Missing::Unsure),
            ((at + day * 3).just_after(), Missing::Gone),
        ];
        for (now, missing) in rows {
            assert_eq!(asked.missing(now), missing, "{now}");
        }
    }

    #[test]
    fn spelling_does_not_matter_and_meaning_does() {
        assert_eq!(of(r#"{"a":1,"b":{"c":2,"d":3}}"#), of(r#" { "b" : {"d":3, "c":2}, "a":1 }"#));
        assert_eq!(of(r#"{"a":"\u0041"}"#), of(r#"{"a":"A"}"#));
        assert_ne!(of(r#"{"a":1}"#), of(r#"{"a":2}"#));
        assert_ne!(of(r#"{"a":[1,2]}"#), of(r#"{"a":[2,1]}"#));
        assert_ne!(of(r#"{"a":[1,2]}"#), of(r#"{"a":[12]}"#));
        assert_ne!(of(r#"{"a":"1"}"#), of(r#"{"a":1}"#));
    }

    #[test]
    fn a_digit_that_a_float_would_lose_makes_another_request() {
        assert_ne!(of(r#"{"a":12345678901234567890123}"#), of(r#"{"a":12345678901234567890124}"#));
    }

    #[test]
    fn the_key_itself_is_not_in_the_fingerprint() {
        assert_eq!(of(r#"{"a":1,"idempotency_key":"k"}"#), of(r#"{"a":1}"#));
        assert_ne!(of(r#"{"a":{"idempotency_key":"k"}}"#), of(r#"{"a":{}}"#), "only at the top");
    }

    #[test]
    fn the_same_body_for_another_address_is_another_request() {
        let asked = |address| Fingerprint::of(address, "", "").unwrap();

        assert_ne!(asked("POST /v1/jobs/a/run"), asked("POST /v1/jobs/b/run"));
    }
}
