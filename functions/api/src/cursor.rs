//! A cursor: the position where a list continues. Opaque text, bound to its tenant and query.
//!
//! It is not a secret: every read with it is limited to the caller's tenant. The binding catches mixed-up cursors.

use std::str::FromStr;

use minutehand_domain::id::{Tenant, base32, from_base32};
use sha2::{Digest as _, Sha256};

use crate::problem::{Kind, Problem};

const TAG_BYTES: usize = 8;

/// One query of one tenant: the list that a cursor belongs to.
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

    /// Cuts off what a list has beyond its page, having been read with one more: what leads on, where there is more.
    pub(crate) fn cut<T>(
        &self,
        items: &mut Vec<T>,
        limit: usize,
        position: impl FnOnce(&T) -> Vec<u8>,
    ) -> Option<String> {
        let more = items.len() > limit;
        items.truncate(limit);
        items.last().filter(|_| more).map(|last| self.seal(&position(last)))
    }

    pub(crate) fn open<const N: usize>(&self, cursor: &str) -> Result<[u8; N], Problem> {
        self.position(cursor)?.try_into().map_err(|_| foreign())
    }

    /// Of a list whose positions are names.
    pub(crate) fn name<T: FromStr>(&self, cursor: &str) -> Result<T, Problem> {
        let text = String::from_utf8(self.position(cursor)?).ok();
        text.and_then(|text| text.parse().ok()).ok_or_else(foreign)
    }

    /// Of a list whose positions have any length.
    pub(crate) fn position(&self, cursor: &str) -> Result<Vec<u8>, Problem> {
        let bytes = from_base32(cursor).ok_or_else(foreign)?;
        bytes.strip_prefix(&self.0).map(<[u8]>::to_vec).ok_or_else(foreign)
    }
}

pub(crate) fn foreign() -> Problem {
    Problem::field(Kind::Invalid, "?cursor", "is not one that this query gave; begin again without it")
}
