//! The secret by which calls to targets are signed: its text only in the answer that made it.

use minutehand_domain::Moment;
use minutehand_domain::signing::SigningSecrets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SigningSecretView {
    /// As libraries of Standard Webhooks take it. Shown once, by the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Null before there is one: it is made with the tenant's first call.
    pub created_at: Option<Instant>,
    /// Until when calls are signed with the one before it, too.
    pub previous_expires_at: Option<Instant>,
}

impl SigningSecretView {
    pub fn of(secrets: Option<&SigningSecrets>, now: Moment) -> Self {
        let former_until = secrets.and_then(|secrets| secrets.former_until(now));
        Self {
            secret: None,
            created_at: secrets.map(|secrets| Instant(secrets.created_at)),
            previous_expires_at: former_until.map(Instant),
        }
    }

    pub fn with_secret(secrets: &SigningSecrets, now: Moment) -> Self {
        Self { secret: Some(secrets.current.reveal()), ..Self::of(Some(secrets), now) }
    }
}
