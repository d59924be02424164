//! The vault of AWS: a key of KMS that the deployment names, which never leaves KMS. Whose secret it is and what it is called are its
//! encryption context, which `CloudTrail` shows of each use; what it says is in no log of anybody's.

use std::fmt::Display;

use aws_sdk_kms::Client;
use aws_sdk_kms::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_kms::primitives::Blob;
use minutehand_domain::secret::{Label, Sealed, SecretValue};
use zeroize::Zeroizing;

use super::{Vault, VaultError, VaultRefusal};
use crate::Fault;

const PORT: &str = "kms";
const TENANT: &str = "minutehand:tenant";
const NAME: &str = "minutehand:secret";

#[derive(Clone, Debug)]
pub struct Kms {
    client: Client,
    /// None where the deployment names no key: it keeps no secrets.
    key: Option<String>,
}

impl Kms {
    pub fn new(client: Client, key: Option<String>) -> Self {
        Self { client, key }
    }
}

impl Vault for Kms {
    async fn seal(&self, label: Label<'_>, value: &SecretValue) -> Result<Sealed, VaultError> {
        let key = self.key.as_ref().ok_or(VaultRefusal::NoKey)?;
        let asked = self
            .client
            .encrypt()
            .key_id(key)
            .encryption_context(TENANT, label.tenant.as_str())
            .encryption_context(NAME, label.name.as_str())
            .plaintext(Blob::new(value.reveal()));
        let sealed = asked.send().await.map_err(|error| said(&error, key))?;
        let bytes = sealed.ciphertext_blob.ok_or_else(|| unreadable("a seal without bytes"))?.into_inner();
        Ok(Sealed { by: sealed.key_id.unwrap_or_else(|| key.clone()), bytes })
    }

    /// By the key that sealed it, which need not be the one that seals today: there may be none today.
    async fn open(&self, label: Label<'_>, sealed: &Sealed) -> Result<SecretValue, VaultError> {
        let asked = self
            .client
            .decrypt()
            .key_id(&sealed.by)
            .encryption_context(TENANT, label.tenant.as_str())
            .encryption_context(NAME, label.name.as_str())
            .ciphertext_blob(Blob::new(sealed.bytes.clone()));
        let opened = asked.send().await.map_err(|error| said(&error, &sealed.by))?;
        let bytes = Zeroizing::new(opened.plaintext.ok_or_else(|| unreadable("a secret without bytes"))?.into_inner());
        let text = str::from_utf8(&bytes).map_err(|_| unreadable("a secret that is no text"))?;
        SecretValue::new(Zeroizing::new(text.to_owned())).map_err(|why| unreadable(&why.to_string()).into())
    }
}

/// What KMS says no to for good is a refusal; all else may pass.
fn said<E>(error: &SdkError<E>, key: &str) -> VaultError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match error.as_service_error().and_then(ProvideErrorMetadata::code) {
        Some("InvalidCiphertextException" | "ValidationException") => VaultRefusal::BrokenSeal.into(),
        Some("IncorrectKeyException" | "NotFoundException") => VaultRefusal::OtherKey { by: key.to_owned() }.into(),
        // A policy that was changed refuses for as long as nobody changes it back: a run that waited would wait unseen.
        Some(
            code @ ("DisabledException"
            | "KMSInvalidStateException"
            | "InvalidKeyUsageException"
            | "AccessDeniedException"),
        ) => unusable(key, &code),
        _ => Fault::unavailable(PORT, DisplayErrorContext(error).to_string()).into(),
    }
}

fn unusable(key: &str, why: &impl Display) -> VaultError {
    VaultRefusal::UnusableKey(format!("{key}: {why}")).into()
}

fn unreadable(why: &str) -> Fault {
    Fault::unreadable(PORT, why)
}
