//! A key on the wire: its secret only in the answer that made it.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_domain::access::{ApiKey, KeyUse, Role};
use minutehand_domain::limits::{IDEMPOTENCY_KEY_CHARS, KEY_POOLS, NAME_CHARS, PAGE};
use minutehand_domain::pool::PoolName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::texts::{CursorText, KeyIdText, Line, PoolText, TenantText};
use crate::word::Word;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRequest {
    /// For people.
    #[schemars(with = "Line<NAME_CHARS>")]
    pub name: String,
    pub role: RoleRequest,
    /// Of a worker's key: the pools that it works for.
    #[schemars(with = "Option<Vec<PoolText>>", length(min = 1, max = KEY_POOLS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<String>>,
    /// Whose key it becomes: only the deployment's own key may name another tenant than its own.
    #[schemars(with = "Option<TenantText>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// From when on it opens nothing: never, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Instant>,
    /// The same as the header `Idempotency-Key`.
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// The roles that a key can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleRequest {
    Viewer,
    Operator,
    Admin,
    /// Takes runs out of its pools, keeps and ends them, and can do nothing else.
    Worker,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeysQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
    /// Whose keys: only the deployment's own key may ask for another tenant's than its own.
    #[schemars(with = "Option<TenantText>")]
    pub tenant: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantQuery {
    /// Whose key it is: only the deployment's own key may speak of another tenant's than its own.
    #[schemars(with = "Option<TenantText>")]
    pub tenant: Option<String>,
}

/// What a key may do. A viewer reads; an operator and an admin may also do what those before them may; `host` is the deployment's own key.
/// A worker's key takes runs out of its pools, keeps and ends them, and can do nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyRole {
    Viewer,
    Operator,
    Admin,
    Host,
    Worker,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyView {
    #[schemars(with = "KeyIdText")]
    pub key_id: String,
    pub name: String,
    #[schemars(with = "KeyRole")]
    pub role: Word<KeyRole>,
    /// Of a worker's key: the pools that it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<String>>,
    #[schemars(with = "TenantText")]
    pub tenant: String,
    pub created_at: Instant,
    /// Null while it opens.
    pub revoked_at: Option<Instant>,
    /// From when on it opens nothing; null where it has no end.
    pub expires_at: Option<Instant>,
    /// When it was last used, to the hour; null where it never was, or not since this is written down.
    pub last_used_at: Option<Instant>,
    /// What to send as `Authorization: Bearer`. Shown once, by the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// What a request means, seen from one instant.
pub struct CheckedKey {
    pub name: String,
    pub role: Role,
    pub expires_at: Option<Moment>,
    pub pools: Option<BTreeSet<PoolName>>,
}

impl KeyRequest {
    pub fn checked(&self, now: Moment) -> Result<CheckedKey, RequestRefusal> {
        let mut errors = FieldErrors::default();
        if self.expires_at.is_some_and(|at| at.0 <= now) {
            errors.add("/expires_at", format!("must be later than now, which is {now}"));
        }
        errors.line("/name", &self.name, NAME_CHARS);
        let role = match self.role {
            RoleRequest::Viewer | RoleRequest::Worker => Role::Viewer,
            RoleRequest::Operator => Role::Operator,
            RoleRequest::Admin => Role::Admin,
        };
        let pools = self.checked_pools(&mut errors);
        let expires_at = self.expires_at.map(|at| at.0);
        errors.settle(Some(CheckedKey { name: self.name.clone(), role, expires_at, pools }))
    }

    fn checked_pools(&self, errors: &mut FieldErrors) -> Option<BTreeSet<PoolName>> {
        match (&self.pools, self.role) {
            (None, RoleRequest::Worker) => errors.add("/pools", "name the pools that the worker works for"),
            (None, RoleRequest::Viewer | RoleRequest::Operator | RoleRequest::Admin) => {}
            (Some(_), RoleRequest::Viewer | RoleRequest::Operator | RoleRequest::Admin) => {
                errors.add("/pools", "only a worker's key has pools");
            }
            (Some(names), RoleRequest::Worker) if names.is_empty() || names.len() > KEY_POOLS => {
                errors.add("/pools", format!("name from 1 to {KEY_POOLS}"));
            }
            (Some(names), RoleRequest::Worker) => {
                let name = |(at, text): (usize, &String)| errors.name(format!("/pools/{at}"), text);
                return Some(names.iter().enumerate().filter_map(name).collect());
            }
        }
        None
    }
}

impl KeyRole {
    fn of(key: &ApiKey) -> Self {
        match key.role {
            _ if key.pools.is_some() => Self::Worker,
            Role::Viewer => Self::Viewer,
            Role::Operator => Self::Operator,
            Role::Admin => Self::Admin,
            Role::Host => Self::Host,
        }
    }
}

impl KeyView {
    pub fn of(key: &ApiKey, used: Option<&KeyUse>) -> Self {
        Self {
            key_id: key.id.to_string(),
            name: key.name.clone(),
            role: KeyRole::of(key).into(),
            pools: key.pools.as_ref().map(|names| names.iter().map(ToString::to_string).collect()),
            tenant: key.tenant.as_str().to_owned(),
            created_at: Instant(key.created_at),
            revoked_at: key.revoked_at.map(Instant),
            expires_at: key.expires_at.map(Instant),
            last_used_at: used.map(|used| Instant(used.last_used_at)),
            secret: None,
        }
    }

    pub fn with_secret(key: &ApiKey, used: Option<&KeyUse>, secret: &str) -> Self {
        Self { secret: Some(key.text(secret)), ..Self::of(key, used) }
    }
}
