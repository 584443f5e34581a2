//! A certificate authority of our own, for TLS that can be trusted, or not.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// A CA and what it has signed, as PEM files in a temporary folder.
#[derive(Debug)]
pub struct Authority {
    /// The CA's certificate.
    pub ca: PathBuf,
    /// For `localhost` and `127.0.0.1`.
    pub server: Identity,
    /// For a client.
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
    /// One that is its own server, for `127.0.0.1`: what `openssl req -x509` makes. Its client's certificate is
    /// no other.
    pub fn self_signed() -> Self {
        Self::for_name("127.0.0.1")
    }

    /// The same for another name.
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

    /// Makes a new one with its files in a folder of the caller's.
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

    /// Signs one more: for a common name, which is a user to Kubernetes, an organisation, which is
    /// a group to it, and the names and addresses of a server.
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
