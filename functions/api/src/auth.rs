//! Who calls: a bearer key, kept only as its hash, says which tenant. Asked in one place, before any handler.
//!
//! Room for later: an entry is where a key's role goes, and [`authenticate`] where a table by route asks for it.

use std::fmt;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;
use minutehand_domain::id::Tenant;
use minutehand_io::Doors;
use sha2::{Digest as _, Sha256};

use crate::Api;
use crate::problem::{Kind, Problem};

/// The keys that are let in.
#[derive(Clone, Default)]
pub struct Keyring {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    hash: [u8; 32],
    tenant: Arc<Tenant>,
}

impl Keyring {
    pub fn single(key: &str, tenant: Tenant) -> Self {
        Self::default().and(key, tenant)
    }

    #[must_use]
    pub fn and(self, key: &str, tenant: Tenant) -> Self {
        self.and_hash(hash_of(key), tenant)
    }

    /// For whoever does not know the key itself.
    #[must_use]
    pub fn and_hash(mut self, sha256: [u8; 32], tenant: Tenant) -> Self {
        self.entries.push(Entry { hash: sha256, tenant: Arc::new(tenant) });
        self
    }

    /// Every entry is compared, and each to its end, so that the time it takes says nothing about any.
    fn caller(&self, key: &str) -> Option<Caller> {
        let hash = hash_of(key);
        let found = self.entries.iter().fold(
            None,
            |found, entry| {
                if same(&entry.hash, &hash) { Some(&entry.tenant) } else { found }
            },
        );
        found.map(|tenant| Caller(Arc::clone(tenant)))
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keyring of {}", self.entries.len())
    }
}

/// Whose request this is.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Arc<Tenant>);

impl Caller {
    pub(crate) fn tenant(&self) -> &Tenant {
        &self.0
    }
}

/// A handler that wants a caller and was mounted without [`authenticate`] lets nobody in.
impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(no_key)
    }
}

pub(crate) async fn authenticate<D: Doors>(
    State(api): State<Arc<Api<D>>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let key = bearer(request.headers()).ok_or_else(no_key)?;
    let caller = api.keys.caller(key).ok_or_else(|| Problem::new(Kind::Unauthorized, "this key is not known here"))?;
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(key.trim())
}

fn no_key() -> Problem {
    Problem::new(Kind::Unauthorized, "send your key as `Authorization: Bearer <key>`")
}

fn hash_of(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

fn same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}
