//! A test certificate authority, for trusted and untrusted TLS.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// A CA and its certificates, as PEM files in a temporary folder.
#[derive(Debug)]
pub struct Authority {
    /// The CA's certificate.
    pub ca: PathBuf,
    /// The server's, for `localhost` and `127.0.0.1`.
    pub server: Identity,
    /// The client's.
    pub client: Identity,
    issuer: Issuer<'static, KeyPair>,
    folder: PathBuf,
    _own: Option<TempDir>,
}

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl Authority {
    /// A self-signed server certificate for `127.0.0.1`, as `openssl req -x509` creates it. It is also the client's
    /// certificate.
    pub fn self_signed() -> Self {
        Self::for_name("127.0.0.1")
    }

    /// A self-signed certificate for another name.
    pub fn for_name(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "testbed server");
        let identity = Identity {
            cert: folder.path().join("server.pem"),
            key: folder.path().join("server.key"),
        };
        fs::write(&identity.cert, params.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(&identity.key, key.serialize_pem()).unwrap();
        Self {
            ca: identity.cert.clone(),
            server: identity.clone(),
            client: identity,
            issuer: Issuer::new(params, key),
            folder: folder.path().to_owned(),
            _own: Some(folder),
        }
    }

    /// Makes a new one.
    pub fn new() -> Self {
        let own = tempfile::tempdir().unwrap();
        let made = Self::below(own.path());
        Self {
            _own: Some(own),
            ..made
        }
    }

    /// Creates one with its files in the caller's folder.
    pub fn below(folder: &Path) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "testbed authority");
        let certificate = params.self_signed(&key).unwrap();
        let ca = folder.join("ca.pem");
        fs::write(&ca, certificate.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        Self {
            ca,
            server: sign(&issuer, folder, "server", None, &["localhost", "127.0.0.1"]),
            client: sign(&issuer, folder, "client", None, &["client"]),
            issuer,
            folder: folder.to_owned(),
            _own: None,
        }
    }

    /// Issues a certificate: for a common name, which is a user in Kubernetes, an organisation, which is a group, and
    /// the names and addresses of a server.
    pub fn issue(&self, name: &str, organisation: Option<&str>, names: &[&str]) -> Identity {
        sign(&self.issuer, &self.folder, name, organisation, names)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

fn sign(
    issuer: &Issuer<'_, KeyPair>,
    folder: &Path,
    name: &str,
    organisation: Option<&str>,
    names: &[&str],
) -> Identity {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(organisation) = organisation {
        params
            .distinguished_name
            .push(DnType::OrganizationName, organisation);
    }
    let certificate = params.signed_by(&key, issuer).unwrap();
    let file = name.replace(':', "-");
    let identity = Identity {
        cert: folder.join(format!("{file}.pem")),
        key: folder.join(format!("{file}.key")),
    };
    fs::write(&identity.cert, certificate.pem()).unwrap();
    fs::write(&identity.key, key.serialize_pem()).unwrap();
    identity
}
