//! TLS settings for the client: trusted roots and the client certificate.
//!
//! The provider is passed explicitly: two crates in one binary that each bring a provider make
//! rustls's process-wide default ambiguous. Nothing is read from disk for plain HTTP.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::oci::client::connection_error::tls_reason;
use crate::oci::client::server_verifier::ServerVerifier;
use crate::world::World;

/// The system bundles of common distributions. They are read in addition to SSL_CERT_FILE, which replaces them in other
/// programs: a private CA should not make public registries untrusted.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The user's TLS options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// PEM certificates trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Accept any certificate.
    pub insecure_skip_verify: bool,
    /// The client certificate chain, PEM. Requires `key_file`.
    pub cert_file: Option<PathBuf>,
    /// The client's private key, PEM.
    pub key_file: Option<PathBuf>,
}

/// Why TLS can't be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file can't be read, or isn't PEM.
    #[error("{} holds no readable PEM {what}: {reason}", .path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// `certificates` or `private key`.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// Certificate or key is missing.
    #[error("a client certificate requires its key and vice versa: only one of them is given")]
    HalfIdentity,
    /// rustls refuses them.
    #[error("{} and its key can't be used: {reason}", .path.display())]
    Identity {
        /// The certificate's file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The library can't be set up.
    #[error("TLS can't be set up: {0}")]
    Setup(String),
}

/// Settings that trust no certificate, for plain HTTP, which never uses them.
pub(in crate::oci) fn unused() -> Result<ClientConfig, TlsError> {
    Ok(builder()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

/// Settings for HTTPS. Reads the system's roots, which takes some 10 ms. `asked` is set when a server requests a client
/// certificate and there is none: its later alert is lost in HTTP/2's shutdown.
pub(in crate::oci) fn config(
    options: &TlsOptions,
    world: &dyn World,
    asked: Arc<AtomicBool>,
) -> Result<ClientConfig, TlsError> {
    let builder = builder()?;
    let provider = Arc::clone(builder.crypto_provider());
    let with_roots = if options.insecure_skip_verify {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(ServerVerifier::insecure(provider)))
    } else {
        let trusted = roots(options, world)?;
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(trusted.iter().cloned());
        if store.is_empty() {
            builder.with_root_certificates(store)
        } else {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(ServerVerifier::new(store, trusted, provider)?))
        }
    };
    let mut config = match (&options.cert_file, &options.key_file) {
        (None, None) => with_roots.with_client_cert_resolver(Arc::new(Nobody(asked))),
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| TlsError::Pem {
                path: key.clone(),
                what: "private key",
                reason: error.to_string(),
            })?;
            with_roots
                .with_client_auth_cert(chain, secret)
                .map_err(|error| TlsError::Identity {
                    path: cert.clone(),
                    reason: tls_reason(&error),
                })?
        }
        _ => return Err(TlsError::HalfIdentity),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

pub(in crate::oci) fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, TlsError>
{
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Setup(error.to_string()))
}

pub(in crate::oci) fn roots(
    options: &TlsOptions,
    world: &dyn World,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    // System certificates that rustls can't parse are skipped.
    let mut all = rustls_native_certs::load_native_certs().certs;
    let file = world.env("SSL_CERT_FILE").map(PathBuf::from);
    let dirs = world.env("SSL_CERT_DIR").unwrap_or_default();
    let dirs = dirs.split(':').filter(|dir| !dir.is_empty()).map(Path::new);
    let places: Vec<(Option<&Path>, Option<&Path>)> = file
        .iter()
        .map(|file| (Some(file.as_path()), None))
        .chain(dirs.map(|dir| (None, Some(dir))))
        .collect();
    if !places.is_empty() {
        for (file, dir) in places {
            all.extend(rustls_native_certs::load_certs_from_paths(file, dir).certs);
        }
        if let Some(bundle) = SYSTEM_BUNDLES.iter().map(Path::new).find(|path| path.exists()) {
            all.extend(rustls_native_certs::load_certs_from_paths(Some(bundle), None).certs);
        }
    }
    if let Some(path) = &options.ca_file {
        let given = certificates(path)?;
        for certificate in &given {
            let added = RootCertStore::empty().add(certificate.clone());
            added.map_err(|error| TlsError::Pem {
                path: path.clone(),
                what: "certificates",
                reason: error.to_string(),
            })?;
        }
        all.extend(given);
    }
    Ok(all)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let refused = |reason: String| TlsError::Pem {
        path: path.to_owned(),
        what: "certificates",
        reason,
    };
    let list = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refused(error.to_string()))?;
    if list.is_empty() {
        return Err(refused("it contains no certificate".to_owned()));
    }
    Ok(list)
}

/// No client certificate, but records that one was requested.
#[derive(Debug)]
struct Nobody(Arc<AtomicBool>);

impl ResolvesClientCert for Nobody {
    fn resolve(&self, _issuers: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.store(true, Ordering::Relaxed);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}
