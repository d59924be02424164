//! A key on the wire: its secret only in the answer that made it.

use minutehand_domain::access::{ApiKey, Role};
use minutehand_domain::limits::{IDEMPOTENCY_KEY_CHARS, NAME_CHARS};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::instant::Instant;
use super::texts::{KeyIdText, Line, TenantText};
use super::words::RoleWord;
use crate::field_errors::FieldErrors;
use crate::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyRequest {
    /// For people.
    #[schemars(with = "Line<NAME_CHARS>")]
    name: String,
    role: RoleRequest,
    /// Whose key it becomes: only the deployment's own key may name another tenant than its own.
    #[schemars(with = "Option<TenantText>")]
    pub tenant: Option<String>,
    /// The same as the header `Idempotency-Key`.
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    pub idempotency_key: Option<String>,
}

/// The roles that a key can be given.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RoleRequest {
    Viewer,
    Operator,
    Admin,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyView<'a> {
    #[schemars(with = "KeyIdText")]
    key_id: String,
    name: &'a str,
    #[schemars(with = "RoleWord")]
    role: Role,
    #[schemars(with = "TenantText")]
    tenant: &'a str,
    created_at: Instant,
    /// Null while it opens.
    revoked_at: Option<Instant>,
    /// What to send as `Authorization: Bearer`. Shown once, by the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl KeyRequest {
    pub(crate) fn understood(&self) -> Result<(String, Role), Problem> {
        let mut errors = FieldErrors::default();
        errors.line("/name", &self.name, NAME_CHARS);
        let role = match self.role {
            RoleRequest::Viewer => Role::Viewer,
            RoleRequest::Operator => Role::Operator,
            RoleRequest::Admin => Role::Admin,
        };
        errors.settle(Some((self.name.clone(), role)))
    }
}

impl<'a> KeyView<'a> {
    pub(crate) fn new(key: &'a ApiKey) -> Self {
        Self {
            key_id: key.id.to_string(),
            name: &key.name,
            role: key.role,
            tenant: key.tenant.as_str(),
            created_at: Instant(key.created_at),
            revoked_at: key.revoked_at.map(Instant),
            secret: None,
        }
    }

    pub(crate) fn with_secret(key: &'a ApiKey, secret: &str) -> Self {
        Self { secret: Some(key.text(secret)), ..Self::new(key) }
    }
}
