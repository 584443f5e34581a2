//! One server that is no registry: requests and responses in memory, over the same connections as a registry's, with TLS
//! settings that are given as texts.
//!
//! It knows nothing of what is asked. Of headers, none is ever in a message.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper_util::client::proxy::matcher::Intercept;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use url::Url;

use crate::oci::client::connection_error::{ConnectionFailure, tls_reason};
use crate::oci::client::connector::Connector;
use crate::oci::client::http::HttpClient;
use crate::oci::client::proxy::{self, Kind, Proxy};
use crate::oci::client::server_verifier::ServerVerifier;
use crate::oci::client::tls::{TlsError, TlsOptions, builder, roots, unused};
use crate::secret::Secret;
use crate::world::World;

/// How many connections are kept.
const MAX_IDLE: usize = 4;

/// What is known of a server.
#[derive(Debug, Default)]
pub(crate) struct EndpointSettings {
    /// PEM certificates that are trusted, instead of the system's.
    pub(crate) authority: Option<String>,
    /// The client certificate and its key, PEM.
    pub(crate) identity: Option<(String, Secret)>,
    /// Whether any certificate is accepted.
    pub(crate) insecure: bool,
    /// The name that the certificate must have, instead of the URL's.
    pub(crate) server_name: Option<String>,
    /// A proxy's URL, instead of that of the environment.
    pub(crate) proxy: Option<Secret>,
    /// The name of the field with the proxy's URL, for messages.
    pub(crate) proxy_named_by: &'static str,
    /// How long a connection may take.
    pub(crate) connect_limit: Duration,
    /// How long a response may take.
    pub(crate) limit: Duration,
    /// How large a response may be, in bytes.
    pub(crate) max_response: usize,
}

/// A server.
pub(crate) struct Endpoint {
    http: HttpClient,
    proxy: Option<Proxy>,
    agent: HeaderValue,
    limit: Duration,
    max_response: usize,
}

/// A response.
pub(crate) struct EndpointResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Endpoint {
    /// For a server, without a connection.
    ///
    /// # Errors
    /// What is wrong with the settings, without any of their texts.
    pub(crate) fn new(url: &Url, settings: &EndpointSettings, world: &dyn World) -> Result<Self, String> {
        let setup = |error: TlsError| error.to_string();
        let secure = url.scheme() == "https";
        let proxy = match &settings.proxy {
            Some(given) => proxy::of(settings.proxy_named_by, given.expose(), "").map(Some),
            None => proxy::find(world, secure),
        };
        let proxy = proxy.map_err(|error| error.to_string())?;
        if let Some(proxy) = &proxy {
            proxy.check(url).map_err(|error| error.to_string())?;
        }
        let is_over_tls = proxy.as_ref().map(|proxy| &proxy.kind) == Some(&Kind::Http { over_tls: true });
        let tls = match secure || is_over_tls {
            true => config(settings, world),
            // The system's roots need not be read.
            false => unused(),
        };
        let tls = tls.map_err(setup)?;
        let name = settings.server_name.clone();
        let name =
            name.map(|name| ServerName::try_from(name).map_err(|_| "the server's name is no name of a host"));
        let connector =
            Connector::new(tls, proxy.clone(), settings.connect_limit).with_server_name(name.transpose()?);
        Ok(Self {
            http: HttpClient::over(connector, MAX_IDLE),
            proxy,
            agent: HeaderValue::from_static(concat!("solar-render/", env!("CARGO_PKG_VERSION"))),
            limit: settings.limit,
            max_response: settings.max_response,
        })
    }

    /// Sends a request, and reads the response.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<EndpointResponse, String> {
        let mut request = request.map(|body| Either::Left(Full::new(body)));
        request.headers_mut().insert(USER_AGENT, self.agent.clone());
        // Of TLS, the tunnel has it.
        let url = Url::parse(&request.uri().to_string()).ok();
        let forwarder = url.filter(|url| url.scheme() == "http");
        let forwarder = forwarder.and_then(|url| self.proxy.as_ref()?.for_url(&url));
        if let Some(header) = forwarder.as_ref().and_then(Intercept::basic_auth) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, header.clone());
        }
        match tokio::time::timeout(self.limit, self.exchange(request)).await {
            Ok(done) => done,
            Err(_) => Err(format!("no answer in {} s", self.limit.as_secs_f32())),
        }
    }

    async fn exchange(
        &self,
        request: Request<crate::oci::client::http::Body>,
    ) -> Result<EndpointResponse, String> {
        let url = Url::parse(&request.uri().to_string()).ok();
        let sent = self.http.request(request).await;
        let response = sent.map_err(|error| {
            let used = url.and_then(|url| self.proxy.as_ref().filter(|proxy| proxy.for_url(&url).is_some()));
            ConnectionFailure::new(&error, error.is_connect())
                .through(used)
                .reason
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, self.max_response).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => format!("the response is larger than {} bytes", self.max_response),
            false => ConnectionFailure::new(error.as_ref(), false).reason,
        })?;
        Ok(EndpointResponse {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes().to_vec(),
        })
    }
}

fn config(settings: &EndpointSettings, world: &dyn World) -> Result<ClientConfig, TlsError> {
    let builder = builder()?;
    let provider = Arc::clone(builder.crypto_provider());
    let verifier = if settings.insecure {
        ServerVerifier::insecure(provider)
    } else {
        let trusted = match &settings.authority {
            Some(pem) => certificates(pem, "the certificate authority")?,
            None => roots(&TlsOptions::default(), world)?,
        };
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(trusted.iter().cloned());
        if store.is_empty() {
            return Err(TlsError::Setup("no certificate authority is trusted".to_owned()));
        }
        ServerVerifier::new(store, trusted, provider)?
    };
    let with_roots = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &settings.identity {
        None => with_roots.with_no_client_auth(),
        Some((chain, key)) => {
            let chain = certificates(chain, "the client certificate")?;
            let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes())
                .map_err(|_| TlsError::Setup("the client's key is no PEM private key".to_owned()))?;
            let made = with_roots.with_client_auth_cert(chain, key);
            made.map_err(|error| {
                TlsError::Setup(format!(
                    "the client certificate and its key can't be used: {}",
                    tls_reason(&error)
                ))
            })?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(pem: &str, what: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let list = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    match list {
        Ok(list) if !list.is_empty() => Ok(list),
        _ => Err(TlsError::Setup(format!("{what} is no PEM certificate"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Fixed;
    use testbed::{Answer, Response, Server};

    fn settings() -> EndpointSettings {
        EndpointSettings {
            connect_limit: Duration::from_secs(60),
            limit: Duration::from_secs(60),
            max_response: 100,
            ..EndpointSettings::default()
        }
    }

    fn sent(server: &Server, settings: &EndpointSettings) -> Result<Vec<u8>, String> {
        let url = Url::parse(&format!("http://{}/", server.host())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .unwrap();
        let endpoint = Endpoint::new(&url, settings, &Fixed::default())?;
        let request = Request::get(url.as_str()).body(Bytes::new()).unwrap();
        runtime
            .block_on(endpoint.send(request))
            .map(|response| response.body)
    }

    #[test]
    fn responses_have_a_size_and_a_time_limit() {
        let server = Server::start(|_| Response::status(200).body("x".repeat(100)).into());
        assert_eq!(sent(&server, &settings()).unwrap().len(), 100);
        let server = Server::start(|_| Response::status(200).body("x".repeat(101)).into());
        let problem = sent(&server, &settings()).unwrap_err();
        assert_eq!(problem, "the response is larger than 100 bytes");
        let server = Server::start(|_| Answer::hang());
        let short = EndpointSettings {
            limit: Duration::from_millis(50),
            ..settings()
        };
        assert_eq!(sent(&server, &short).unwrap_err(), "no answer in 0.05 s");
    }

    /// What makes settings wrong.
    type Change = fn(&mut EndpointSettings);

    #[test]
    fn what_is_wrong_with_settings_is_said_without_them() {
        let url = Url::parse("https://127.0.0.1:1/").unwrap();
        let certificate = |change: Change| {
            let mut settings = EndpointSettings {
                insecure: true,
                proxy_named_by: "proxy-url",
                ..settings()
            };
            change(&mut settings);
            Endpoint::new(&url, &settings, &Fixed::default())
                .map(|_| ())
                .unwrap_err()
        };
        let table: [(&str, Change); 4] = [
            ("the certificate authority is no PEM certificate", |one| {
                one.insecure = false;
                one.authority = Some("t0p".to_owned());
            }),
            ("the client certificate is no PEM certificate", |one| {
                one.identity = Some(("t0p".to_owned(), Secret::new("t0p")));
            }),
            ("the server's name is no name of a host", |one| {
                one.server_name = Some("t0p t0p".to_owned());
            }),
            ("proxy-url does not hold a proxy's URL", |one| {
                one.proxy = Some(Secret::new("http://u:t0p@"));
            }),
        ];
        for (expected, change) in table {
            let problem = certificate(change);
            assert!(
                problem.contains(expected) && !problem.contains("t0p"),
                "{problem}"
            );
        }
    }
}
