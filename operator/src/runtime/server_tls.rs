//! The certificate that `/metrics` is served with: [`ServerTls`].
//!
//! cert-manager and kubelet replace the files of a mounted Secret while the operator runs, so they are read again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::Instant;

/// How long a certificate is used before its files are read again.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// The names of the files, as in Secrets of type `kubernetes.io/tls`.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// A certificate with its key, from a folder.
#[derive(Clone)]
pub(super) struct ServerTls {
    folder: Arc<PathBuf>,
    loaded: Arc<Mutex<Loaded>>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    at: Instant,
}

impl ServerTls {
    /// Reads the files.
    ///
    /// # Errors
    /// One is missing or malformed, or the key is not the certificate's.
    pub(super) fn load(folder: PathBuf) -> io::Result<Self> {
        let config = read(&folder)?;
        let at = Instant::now();
        Ok(Self {
            folder: Arc::new(folder),
            loaded: Arc::new(Mutex::new(Loaded { config, at })),
        })
    }

    /// The present configuration. Files that can't be read leave the one before in use.
    pub(super) async fn config(&self) -> Arc<ServerConfig> {
        let (known, is_due) = {
            let mut loaded = self.lock();
            let is_due = loaded.at.elapsed() >= RELOAD_INTERVAL;
            if is_due {
                // Now, so that one connection alone reads them.
                loaded.at = Instant::now();
            }
            (Arc::clone(&loaded.config), is_due)
        };
        if !is_due {
            return known;
        }
        let folder = Arc::clone(&self.folder);
        match tokio::task::spawn_blocking(move || read(&folder)).await {
            Ok(Ok(config)) => {
                self.lock().config = Arc::clone(&config);
                config
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the certificate of /metrics can't be reloaded: the old one stays in use");
                known
            }
            Err(_) => known,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(folder: &Path) -> io::Result<Arc<ServerConfig>> {
    let in_file = |name: &str, problem: &dyn std::fmt::Display| {
        io::Error::other(format!("{}: {problem}", folder.join(name).display()))
    };
    let bytes = |name: &str| std::fs::read(folder.join(name)).map_err(|error| in_file(name, &error));
    let chain = CertificateDer::pem_slice_iter(&bytes(CERTIFICATE)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| in_file(CERTIFICATE, &error))?;
    // Without the error: it could contain a part of the key.
    let key = PrivateKeyDer::from_pem_slice(&bytes(KEY)?)
        .map_err(|_| in_file(KEY, &"there is no private key in PEM"))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| in_file(CERTIFICATE, &error))?;
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use testbed::Authority;

    use super::*;

    fn write(folder: &Path, authority: &Authority) {
        std::fs::copy(&authority.server.cert, folder.join(CERTIFICATE)).unwrap();
        std::fs::copy(&authority.server.key, folder.join(KEY)).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_certificate_is_used_and_a_broken_one_is_not() {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &Authority::self_signed());
        let tls = ServerTls::load(folder.path().to_owned()).unwrap();
        let first = tls.config().await;
        write(folder.path(), &Authority::self_signed());
        assert!(Arc::ptr_eq(&first, &tls.config().await));
        tokio::time::advance(RELOAD_INTERVAL).await;
        let second = tls.config().await;
        assert!(!Arc::ptr_eq(&first, &second));
        std::fs::write(folder.path().join(CERTIFICATE), "-----BEGIN").unwrap();
        tokio::time::advance(RELOAD_INTERVAL).await;
        assert!(Arc::ptr_eq(&second, &tls.config().await));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_key() {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let problem = || {
            let loaded = ServerTls::load(folder.path().to_owned());
            loaded.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(problem().contains("tls.crt: No such file"), "{}", problem());
        write(folder.path(), &Authority::self_signed());
        assert_eq!(problem(), "");
        std::fs::write(folder.path().join(KEY), "-----BEGIN PRIVATE KEY-----\nsecret").unwrap();
        assert!(
            problem().ends_with("tls.key: there is no private key in PEM"),
            "{}",
            problem()
        );
        let other = Authority::self_signed();
        std::fs::copy(&other.server.key, folder.path().join(KEY)).unwrap();
        assert!(problem().contains("tls.crt: "), "{}", problem());
    }
}
