//! Which servers' certificates are accepted.
//!
//! With trusted roots: certificates that webpki accepts, and servers whose own certificate is a trusted one. Many
//! private registries have a self-signed certificate from `openssl req -x509`, which is marked as a CA. Go's TLS, and
//! so Docker and Helm, accepts it if it is trusted itself; webpki refuses CA certificates of servers. Here it is
//! accepted if it equals a trusted one byte for byte, for its names, while it is valid.
//!
//! With `--insecure-skip-tls-verify`: any certificate. The handshake's signatures are still checked, so that the server
//! must have the certificate's key.

use std::sync::Arc;

use der::Decode as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_cert::Certificate;
use x509_cert::time::Time;

use crate::oci::client::tls::TlsError;

/// Verifies a server's certificate.
#[derive(Debug)]
pub(in crate::oci) struct ServerVerifier {
    provider: Arc<CryptoProvider>,
    trust: Trust,
}

#[derive(Debug)]
enum Trust {
    Anyone,
    Roots {
        webpki: Arc<WebPkiServerVerifier>,
        certificates: Vec<CertificateDer<'static>>,
    },
}

impl ServerVerifier {
    /// Accepts any certificate.
    pub(in crate::oci) fn insecure(provider: Arc<CryptoProvider>) -> Self {
        Self {
            provider,
            trust: Trust::Anyone,
        }
    }

    /// Accepts certificates signed by `roots`, which must not be empty, and servers that have one of `certificates`.
    pub(in crate::oci) fn new(
        roots: RootCertStore,
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsError> {
        let webpki =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let webpki = webpki.map_err(|error| TlsError::Setup(error.to_string()))?;
        Ok(Self {
            provider,
            trust: Trust::Roots { webpki, certificates },
        })
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Trust::Roots { webpki, certificates } = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let same = |trusted: &CertificateDer<'_>| trusted.as_ref() == end_entity.as_ref();
        if verified.is_ok() || !certificates.iter().any(same) || !is_valid_at(end_entity, now) {
            return verified;
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
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Whether the certificate is valid at a time.
fn is_valid_at(certificate: &[u8], now: UnixTime) -> bool {
    let Some((begin, end)) = validity(certificate) else {
        return false;
    };
    i64::try_from(now.as_secs()).is_ok_and(|now| (begin..=end).contains(&now))
}

/// The validity period, in Unix time.
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
    fn a_certificate_has_a_validity_period() {
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
