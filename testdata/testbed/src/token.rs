//! A token server by CNCF distribution's token authentication specification.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, SigningKey as _};
use serde_json::json;
use tempfile::TempDir;

use crate::{Answer, Request, Response, Server};

/// A running token server with one user; anyone gets a token, but an anonymous one only reads.
#[derive(Debug)]
pub struct TokenServer {
    server: Server,
    certificate: PathBuf,
    _folder: TempDir,
}

struct Issuer {
    key: KeyPair,
    certificate: String,
    authorization: String,
    refresh_token: String,
    life: u64,
}

impl TokenServer {
    /// The service that tokens are issued for.
    pub const SERVICE: &'static str = "testbed";
    /// Its name.
    pub const ISSUER: &'static str = "testbed-issuer";

    /// Starts one for a user; `refresh_token` is the expected identity token. Tokens are valid for `life` seconds.
    pub fn start(username: &str, password: &str, refresh_token: &str, life: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let params = CertificateParams::new(vec!["testbed".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let path = folder.path().join("token.pem");
        fs::write(&path, certificate.pem()).unwrap();
        let issuer = Arc::new(Issuer {
            key,
            certificate: STANDARD.encode(certificate.der()),
            authorization: format!("Basic {}", STANDARD.encode(format!("{username}:{password}"))),
            refresh_token: refresh_token.to_owned(),
            life,
        });
        let server = Server::start(move |request| issuer.answer(request));
        Self {
            server,
            certificate: path,
            _folder: folder,
        }
    }

    /// Its URL.
    pub fn realm(&self) -> String {
        format!("http://{}/token", self.server.host())
    }

    /// The certificate that the registry must trust.
    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }
}

impl Issuer {
    fn answer(&self, request: &Request) -> Answer {
        let (query, known) = if request.method == "POST" {
            let form = String::from_utf8_lossy(&request.body).into_owned();
            let known = parameter(&form, "refresh_token").as_deref() == Some(&self.refresh_token);
            if !known {
                return Response::status(401).into();
            }
            (form, known)
        } else {
            let query = request.target.split_once('?').map_or("", |(_, query)| query);
            let known = request.header("authorization");
            if known.is_some_and(|header| header != self.authorization) {
                return Response::status(401).into();
            }
            (query.to_owned(), known.is_some())
        };
        let scopes: Vec<String> = parameters(&query, "scope")
            .flat_map(|value| value.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .filter(|scope| !scope.is_empty())
            .collect();
        let token = self.token(&scopes, known);
        let text = json!({"token": token, "access_token": token, "expires_in": self.life});
        Response::status(200)
            .header("Content-Type", "application/json")
            .body(text.to_string())
            .into()
    }

    fn token(&self, scopes: &[String], known: bool) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let access: Vec<_> = scopes
            .iter()
            .map(|scope| {
                let mut parts = scope.split(':');
                let (kind, name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                let actions: Vec<&str> = parts
                    .next()
                    .unwrap_or("")
                    .split(',')
                    .filter(|action| known || *action == "pull")
                    .collect();
                json!({"type": kind, "name": name, "actions": actions})
            })
            .collect();
        let header = json!({"typ": "JWT", "alg": "ES256", "x5c": [self.certificate]});
        let claims = json!({
            "iss": TokenServer::ISSUER, "sub": "user", "aud": TokenServer::SERVICE,
            "exp": now + self.life, "nbf": now - 10, "iat": now, "jti": "1",
            "access": access,
        });
        let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self.key.sign(signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(fixed(&signature)))
    }
}

/// JWT requires `r` and `s` as 32 bytes each; signatures are in ASN.1: a sequence of two integers.
fn fixed(signature: &[u8]) -> Vec<u8> {
    let mut rest = &signature[2..];
    let mut all = Vec::new();
    for _ in 0..2 {
        let (integer, after) = rest[2..].split_at(usize::from(rest[1]));
        let significant = &integer[integer.len().saturating_sub(32)..];
        all.extend(std::iter::repeat_n(0, 32 - significant.len()));
        all.extend_from_slice(significant);
        rest = after;
    }
    all
}

/// A parameter of a form or a query, decoded as far as scopes need it.
fn parameter(query: &str, name: &str) -> Option<String> {
    parameters(query, name).next()
}

/// All parameters with this name.
fn parameters(query: &str, name: &str) -> impl Iterator<Item = String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(move |(known, _)| *known == name)
        .map(|(_, value)| {
            value
                .replace("%3A", ":")
                .replace("%2C", ",")
                .replace("%2F", "/")
                .replace("%20", " ")
                .replace('+', " ")
        })
}
