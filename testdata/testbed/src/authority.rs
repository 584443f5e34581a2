//! A certificate authority of our own, for TLS that can be trusted, or not.

use std::fs;
use std::path::PathBuf;

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
    _folder: TempDir,
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
            _folder: folder,
        }
    }

    /// Makes a new one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "testbed authority");
        let certificate = params.self_signed(&key).unwrap();
        let ca = folder.path().join("ca.pem");
        fs::write(&ca, certificate.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        let identity = |name: &str, names: &[&str]| {
            let key = KeyPair::generate().unwrap();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let mut params = CertificateParams::new(names).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            let certificate = params.signed_by(&key, &issuer).unwrap();
            let identity = Identity {
                cert: folder.path().join(format!("{name}.pem")),
                key: folder.path().join(format!("{name}.key")),
            };
            fs::write(&identity.cert, certificate.pem()).unwrap();
            fs::write(&identity.key, key.serialize_pem()).unwrap();
            identity
        };
        Self {
            ca,
            server: identity("server", &["localhost", "127.0.0.1"]),
            client: identity("client", &["client"]),
            _folder: folder,
        }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
