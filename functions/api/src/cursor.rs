//! A cursor: where a list goes on. Opaque text, bound to the tenant and the query it came from.
//!
//! It is not a secret: every read it leads to is its caller's own. The binding catches what was mixed up.

use minutehand_domain::id::{Tenant, base32, from_base32};
use sha2::{Digest as _, Sha256};

use crate::problem::{Kind, Problem};

const TAG_BYTES: usize = 8;

/// One tenant's one query: whose pages a cursor may lead through.
pub(crate) struct Scope([u8; TAG_BYTES]);

impl Scope {
    pub(crate) fn new(tenant: &Tenant, query: &str) -> Self {
        let digest = Sha256::new()
            .chain_update(b"minutehand cursor 1\0")
            .chain_update(tenant.as_str())
            .chain_update(b"\0")
            .chain_update(query)
            .finalize();
        Self(digest[..TAG_BYTES].try_into().expect("a digest has 32 bytes"))
    }

    pub(crate) fn seal(&self, position: &[u8]) -> String {
        base32(&[&self.0, position].concat())
    }

    pub(crate) fn open<const N: usize>(&self, cursor: &str) -> Result<[u8; N], Problem> {
        let bytes = from_base32(cursor).ok_or_else(foreign)?;
        let position = bytes.strip_prefix(&self.0).ok_or_else(foreign)?;
        position.try_into().map_err(|_| foreign())
    }
}

pub(crate) fn foreign() -> Problem {
    Problem::field(Kind::Invalid, "?cursor", "is not one that this query gave; begin again without it")
}
