//! The vault: seals what secrets say, so that a copy of the store alone reveals nothing. A seal covers whose secret it is and what
//! it is called too: one that was put in another's place does not open.

#[cfg(feature = "embedded")]
pub mod key_file;
#[cfg(feature = "aws")]
pub mod kms;

use std::future::Future;

use minutehand_domain::secret::{Label, Sealed, SecretValue};
use thiserror::Error;

use crate::Fault;

pub trait Vault: Send + Sync + 'static {
    fn seal(&self, label: Label<'_>, value: &SecretValue) -> impl Future<Output = Result<Sealed, VaultError>> + Send;
    fn open(&self, label: Label<'_>, sealed: &Sealed) -> impl Future<Output = Result<SecretValue, VaultError>> + Send;
}

/// Neither says anything of a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VaultError {
    /// It will not, however often it is asked, until an operator does something: what.
    #[error(transparent)]
    Refused(#[from] VaultRefusal),
    #[error(transparent)]
    Fault(#[from] Fault),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VaultRefusal {
    #[error("this deployment keeps no secrets: it has no key to seal them with")]
    NoKey,
    #[error("the key that seals secrets cannot be used: {0}")]
    UnusableKey(String),
    #[error("it was sealed with another key ({by}), which is not here")]
    OtherKey { by: String },
    #[error("its seal is broken: what is stored is damaged, or another's")]
    BrokenSeal,
}

/// A vault that has no key, and refuses whatever it is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoVault;

impl Vault for NoVault {
    async fn seal(&self, _label: Label<'_>, _value: &SecretValue) -> Result<Sealed, VaultError> {
        Err(VaultRefusal::NoKey.into())
    }

    async fn open(&self, _label: Label<'_>, _sealed: &Sealed) -> Result<SecretValue, VaultError> {
        Err(VaultRefusal::NoKey.into())
    }
}
