//! TLS of the API: a certificate and its key from two files, which are read again when either has changed.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;

use crate::drain::Drain;

/// How often it is looked whether a file has changed: soon enough for whoever has just put a new one there.
const LOOK: Duration = Duration::from_secs(1);
/// Its group and everybody else.
const OTHERS: u32 = 0o077;

/// What connections are encrypted with.
#[derive(Debug)]
pub(crate) struct Tls {
    files: Files,
    /// As the files were just before they were read first: what is written from then on is a change.
    first: Stamps,
    server: RwLock<Arc<ServerConfig>>,
}

/// What tells two states of the files apart; none of one that is not there.
type Stamps = [Option<(u64, u64, i64, i64)>; 2];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    /// The server's own first, and those that lead from it to a root.
    pub(crate) certificates: PathBuf,
    pub(crate) key: PathBuf,
}

#[derive(Debug, Error)]
pub(crate) enum TlsError {
    #[error("cannot read {what} in {path}: {why}", path = path.display())]
    Unreadable { what: &'static str, path: PathBuf, why: pem::Error },
    #[error("there is no certificate in {}", .0.display())]
    NoCertificate(PathBuf),
    #[error("there is no key in {} that can be read without a password", .0.display())]
    NoKey(PathBuf),
    #[error("the key in {key} and the certificate in {certificates} cannot be used: {why}", key = files.key.display(), certificates = files.certificates.display())]
    Unusable { files: Files, why: rustls::Error },
}

/// Reads the files again when they have changed, until the process drains.
pub(crate) async fn watching(tls: Option<Arc<Tls>>, drain: Drain) {
    if let Some(tls) = tls {
        tls.watching(drain).await;
    }
}

impl Tls {
    pub(crate) fn read(files: Files) -> Result<Self, TlsError> {
        let first = files.stamps();
        let server = RwLock::new(Arc::new(files.read()?));
        files.warn_if_others_read_the_key();
        Ok(Self { files, first, server })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.server.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// A change that cannot be used, such as a certificate whose key is still to come, is said once, and what was
    /// read before goes on. It is tried again at each look: a file whose owner is set right looks the same.
    async fn watching(&self, drain: Drain) {
        let (mut seen, mut unusable) = (self.first, None);
        loop {
            tokio::select! {
                () = drain.draining() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let now = self.files.stamps();
            if now != seen || unusable.is_some() {
                seen = now;
                unusable = self.read_again(unusable.as_deref());
            }
        }
    }

    /// Why that cannot be used: said, unless it is what was `said` before.
    fn read_again(&self, said: Option<&str>) -> Option<String> {
        match self.files.read() {
            Ok(server) => {
                *self.server.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(server);
                tracing::info!(certificate = %self.files.certificates.display(), "TLS: the certificate was read again");
                self.files.warn_if_others_read_the_key();
                None
            }
            Err(why) => {
                let why = why.to_string();
                if said != Some(why.as_str()) {
                    tracing::error!(%why, "TLS: the certificate that was read before is used on");
                }
                Some(why)
            }
        }
    }
}

impl Files {
    fn read(&self) -> Result<ServerConfig, TlsError> {
        let Self { certificates, key } = self;
        let unreadable = |what, path: &Path, why| TlsError::Unreadable { what, path: path.to_owned(), why };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect)
            .map_err(|why| unreadable("a certificate", certificates, why))?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate(certificates.clone()));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|why| match why {
            pem::Error::NoItemsFound => TlsError::NoKey(key.clone()),
            why => unreadable("a key", key, why),
        })?;
        let unusable = |why| TlsError::Unusable { files: self.clone(), why };
        let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        let mut server = server.with_no_client_auth().with_single_cert(chain, secret).map_err(unusable)?;
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(server)
    }

    fn stamps(&self) -> Stamps {
        let stamp = |file: Metadata| (file.ino(), file.size(), file.mtime(), file.mtime_nsec());
        [&self.certificates, &self.key].map(|path| fs::metadata(path).ok().map(stamp))
    }

    fn warn_if_others_read_the_key(&self) {
        let is_wider = |path: &Path| -> io::Result<bool> { Ok(fs::metadata(path)?.mode() & OTHERS != 0) };
        if is_wider(&self.key).unwrap_or(false) {
            tracing::warn!(key = %self.key.display(), "TLS: others of this machine may read the key: chmod 600");
        }
    }
}
