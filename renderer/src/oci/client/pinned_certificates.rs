//! Servers whose own certificate is among the trusted ones.
//!
//! What `openssl req -x509` makes, and many private registries show, is a certificate for a server that is
//! marked as an authority's. Go's TLS, and so Docker and Helm, takes it when it is trusted by name; webpki refuses
//! it for the mark. Here it is taken as well, byte for byte the same as a trusted one, for its names, in its time.

use std::sync::Arc;

use der::Decode as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_cert::Certificate;
use x509_cert::time::Time;

use crate::oci::client::tls::TlsError;

/// Trusts whom webpki trusts, and servers that show one of these certificates.
#[derive(Debug)]
pub(in crate::oci) struct Pinned {
    inner: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
}

impl Pinned {
    /// There must be a root.
    pub(in crate::oci) fn new(
        roots: RootCertStore,
        trusted: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsError> {
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Self {
            inner: inner.map_err(|error| TlsError::Setup(error.to_string()))?,
            trusted,
        })
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = self
            .inner
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let shown = |trusted: &CertificateDer<'_>| trusted.as_ref() == end_entity.as_ref();
        if found.is_ok() || !self.trusted.iter().any(shown) || !is_valid_at(end_entity, now) {
            return found;
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Whether the certificate's time has come, and has not passed.
fn is_valid_at(certificate: &[u8], now: UnixTime) -> bool {
    let Some((begin, end)) = validity(certificate) else {
        return false;
    };
    i64::try_from(now.as_secs()).is_ok_and(|now| (begin..=end).contains(&now))
}

/// From when to when, in Unix time.
fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let certificate = Certificate::from_der(certificate).ok()?;
    let validity = certificate.tbs_certificate().validity();
    let seconds = |time: Time| i64::try_from(time.to_unix_duration().as_secs()).ok();
    Some((seconds(validity.not_before)?, seconds(validity.not_after)?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls_pki_types::pem::PemObject as _;

    use super::*;

    /// Made by `openssl req -x509 -newkey ec … -days 36500`.
    const PEM: &str = include_str!("../../../../testdata/tls/self-signed.pem");

    #[test]
    fn a_certificate_has_its_time() {
        let certificate = CertificateDer::from_pem_slice(PEM.as_bytes()).unwrap();
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let (begin, end) = validity(&certificate).unwrap();
        for (seconds, expected) in [(begin - 1, false), (begin, true), (end, true), (end + 1, false)] {
            assert_eq!(
                is_valid_at(&certificate, at(u64::try_from(seconds).unwrap())),
                expected
            );
        }
        assert_eq!(validity(&certificate[..50]), None);
    }
}
