//! A secret on the wire. What it says is in the request that writes it, and in no answer.

use std::fmt;

use minutehand_domain::limits::{PAGE, SECRET_BYTES};
use minutehand_domain::secret::{Secret, SecretName, SecretValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::texts::{CursorText, SecretNameText};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRequest {
    /// What stands in the place of its name when a call is made: the whole of a header's value, or a text in the payload. No answer
    /// shows it; a target that repeats it in its own answer has it in the run's result.
    #[schemars(with = "String", length(min = 1, max = SECRET_BYTES), extend("x-max-bytes" = SECRET_BYTES, "writeOnly" = true))]
    pub value: Zeroizing<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretView {
    #[schemars(with = "SecretNameText")]
    pub name: String,
    /// From 1; grows each time it is written.
    pub version: u32,
    pub created_at: Instant,
    /// When it was last written again; null while it says what it said first.
    pub rotated_at: Option<Instant>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

impl SecretRequest {
    pub fn new(value: impl Into<String>) -> Self {
        Self { value: Zeroizing::new(value.into()) }
    }

    pub fn checked(&self) -> Result<SecretValue, RequestRefusal> {
        let mut errors = FieldErrors::default();
        let value = SecretValue::new(self.value.clone()).map_err(|why| errors.add("/value", why.to_string())).ok();
        errors.settle(value)
    }
}

/// Of what it says nothing goes into a log.
impl fmt::Debug for SecretRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretRequest")
    }
}

impl SecretView {
    pub fn of(secret: &Secret) -> Self {
        Self {
            name: secret.name.as_str().to_owned(),
            version: secret.version,
            created_at: Instant(secret.created_at),
            rotated_at: secret.rotated_at.map(Instant),
        }
    }
}

/// Each `{"secret": "name"}` in what stands at this place, with the place of its own.
pub fn named_at(value: &Value, at: String) -> Vec<(String, SecretName)> {
    let mut named = Vec::new();
    gather(value, at, &mut named);
    named
}

fn gather(value: &Value, at: String, named: &mut Vec<(String, SecretName)>) {
    let below = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(fields) => {
            let secret = fields.get("secret").filter(|_| fields.len() == 1).and_then(Value::as_str);
            if let Some(Ok(name)) = secret.map(str::parse::<SecretName>) {
                named.push((at, name));
            } else {
                fields.iter().for_each(|(name, field)| gather(field, below(name), named));
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| gather(item, below(&index.to_string()), named));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
