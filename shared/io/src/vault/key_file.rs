//! The vault of one machine: AES-256-GCM with a key in a file beside the store, which only its owner may read, or in memory beside a
//! store in memory. The file is made when the first secret is sealed. A copy of the store without it reveals nothing, and opens nothing.
//!
//! A nonce is twelve bytes of chance: with one key that is safe for some four thousand million seals (2^32), and a person writes each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use minutehand_domain::id::base32;
use minutehand_domain::secret::{Label, Sealed, SecretValue};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::{Vault, VaultError, VaultRefusal};
use crate::chance::{Chance as _, SystemChance};
use crate::store::embedded::owner_only;

/// What the file is called, in the data directory.
pub const FILE: &str = "secrets.key";
const PREFIX: &str = "minutehand secrets key 1 ";
const KEY_BYTES: usize = 32;

pub struct KeyFile {
    /// None beside a store in memory.
    path: Option<PathBuf>,
    key: Mutex<Option<Key>>,
}

#[derive(Clone)]
struct Key {
    id: String,
    bytes: Zeroizing<[u8; KEY_BYTES]>,
}

impl KeyFile {
    /// Of a data directory. Nothing is read before it is needed.
    pub fn beside(directory: &Path) -> Self {
        Self { path: Some(directory.join(FILE)), key: Mutex::new(None) }
    }

    /// A key that goes with the process, for a store that does.
    pub fn in_memory() -> Self {
        Self { path: None, key: Mutex::new(Some(Key::new())) }
    }

    /// The key; where there is none yet, and one may be made, a new one.
    fn key(&self, may_be_made: bool) -> Result<Key, VaultRefusal> {
        let mut known = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &*known {
            return Ok(key.clone());
        }
        let path = self.path.as_deref().ok_or(VaultRefusal::NoKey)?;
        let key = match Key::read(path)? {
            Some(key) => key,
            None if may_be_made => Key::make(path)?,
            None => return Err(unusable(path, "the file is not there")),
        };
        *known = Some(key.clone());
        Ok(key)
    }
}

impl Vault for KeyFile {
    async fn seal(&self, label: Label<'_>, value: &SecretValue) -> Result<Sealed, VaultError> {
        let key = self.key(true)?;
        let mut bytes = value.reveal().as_bytes().to_vec();
        let nonce = nonce();
        key.cipher()
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(label.to_bytes()), &mut bytes)
            .expect("a value is far shorter than a cipher's limit");
        bytes.splice(..0, nonce);
        Ok(Sealed { by: key.id, bytes })
    }

    async fn open(&self, label: Label<'_>, sealed: &Sealed) -> Result<SecretValue, VaultError> {
        let key = self.key(false)?;
        if key.id != sealed.by {
            return Err(VaultRefusal::OtherKey { by: sealed.by.clone() }.into());
        }
        opened(&key, label, sealed).ok_or(VaultRefusal::BrokenSeal.into())
    }
}

fn opened(key: &Key, label: Label<'_>, sealed: &Sealed) -> Option<SecretValue> {
    let (nonce, rest) = sealed.bytes.split_first_chunk::<NONCE_LEN>()?;
    let mut bytes = Zeroizing::new(rest.to_vec());
    let (nonce, label) = (Nonce::assume_unique_for_key(*nonce), Aad::from(label.to_bytes()));
    let value = key.cipher().open_in_place(nonce, label, &mut bytes).ok()?;
    let text = Zeroizing::new(str::from_utf8(value).ok()?.to_owned());
    SecretValue::new(text).ok()
}

fn nonce() -> [u8; NONCE_LEN] {
    let [a @ .., _, _, _, _] = SystemChance.bytes();
    a
}

impl Key {
    fn new() -> Self {
        Self::of(Zeroizing::new(SystemChance.secret()))
    }

    fn of(bytes: Zeroizing<[u8; KEY_BYTES]>) -> Self {
        let digest = Sha256::new().chain_update(b"minutehand secrets key id 1\0").chain_update(*bytes).finalize();
        Self { id: base32(&digest[..8]), bytes }
    }

    /// None where there is no file.
    fn read(path: &Path) -> Result<Option<Self>, VaultRefusal> {
        let text = match fs::read_to_string(path) {
            Ok(text) => Zeroizing::new(text),
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(unusable(path, &why.to_string())),
        };
        let bytes = text.trim().strip_prefix(PREFIX).and_then(minutehand_domain::id::from_base32).map(Zeroizing::new);
        let bytes = bytes.and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).ok());
        let key = bytes.map(|bytes| Self::of(Zeroizing::new(bytes)));
        key.map(Some).ok_or_else(|| unusable(path, "what it holds is no key: it is damaged"))
    }

    /// A key that a crash takes away takes every secret with it.
    fn make(path: &Path) -> Result<Self, VaultRefusal> {
        let key = Self::new();
        let line = Zeroizing::new(format!("{PREFIX}{}\n", base32(key.bytes.as_slice())));
        match owner_only::write_whole(path, &line) {
            Ok(()) => {
                tracing::info!(file = %path.display(), key = key.id, "made the key that seals secrets: keep a copy of it apart from the store's");
                Ok(key)
            }
            Err(why) => Err(unusable(path, &why.to_string())),
        }
    }

    fn cipher(&self) -> LessSafeKey {
        let key = UnboundKey::new(&AES_256_GCM, self.bytes.as_slice()).expect("a key of as many bytes as it takes");
        LessSafeKey::new(key)
    }
}

fn unusable(path: &Path, why: &str) -> VaultRefusal {
    VaultRefusal::UnusableKey(format!("{}: {why}", path.display()))
}

impl std::fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyFile {:?}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::Tenant;

    use super::*;

    fn label_of(run: impl AsyncFnOnce(Label<'_>)) -> impl Future<Output = ()> {
        async {
            let (tenant, name) = (Tenant::new("acme").unwrap(), "stripe".parse().unwrap());
            run(Label { tenant: &tenant, name: &name }).await;
        }
    }

    fn value(text: &str) -> SecretValue {
        SecretValue::new(Zeroizing::new(text.to_owned())).unwrap()
    }

    #[tokio::test]
    async fn the_key_is_made_with_the_first_seal_and_found_by_the_next_process() {
        label_of(async |label| {
            let directory = tempfile::tempdir().unwrap();
            let first = KeyFile::beside(directory.path());
            assert!(!directory.path().join(FILE).exists());

            let sealed = first.seal(label, &value("hunter2")).await.unwrap();

            let second = KeyFile::beside(directory.path());
            assert_eq!(second.open(label, &sealed).await, Ok(value("hunter2")));
            let names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
            assert_eq!(names, [FILE], "nothing is left beside it");
        })
        .await;
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn only_its_owner_may_read_the_key() {
        use std::os::unix::fs::PermissionsExt as _;
        label_of(async |label| {
            let directory = tempfile::tempdir().unwrap();

            KeyFile::beside(directory.path()).seal(label, &value("hunter2")).await.unwrap();

            let mode = fs::metadata(directory.path().join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        })
        .await;
    }

    #[tokio::test]
    async fn a_lost_key_and_another_in_its_place_are_said_and_nothing_opens() {
        label_of(async |label| {
            let directory = tempfile::tempdir().unwrap();
            let sealed = KeyFile::beside(directory.path()).seal(label, &value("hunter2")).await.unwrap();
            fs::remove_file(directory.path().join(FILE)).unwrap();

            let lost = KeyFile::beside(directory.path());
            let without = lost.open(label, &sealed).await.unwrap_err();
            lost.seal(label, &value("again")).await.unwrap();
            let with_another = lost.open(label, &sealed).await.unwrap_err();

            assert!(
                matches!(&without, VaultError::Refused(VaultRefusal::UnusableKey(why)) if why.contains(FILE)),
                "{without}"
            );
            assert_eq!(with_another, VaultRefusal::OtherKey { by: sealed.by.clone() }.into());
        })
        .await;
    }

    #[tokio::test]
    async fn a_damaged_key_is_said_and_not_replaced() {
        label_of(async |label| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(FILE);
            for text in ["", "\n", "minutehand secrets key 1 00", "minutehand secrets key 2 00"] {
                fs::write(&path, text).unwrap();

                let refused = KeyFile::beside(directory.path()).seal(label, &value("hunter2")).await;

                assert!(matches!(refused, Err(VaultError::Refused(VaultRefusal::UnusableKey(_)))), "{refused:?}");
                assert_eq!(fs::read_to_string(&path).unwrap(), text);
            }
        })
        .await;
    }
}
