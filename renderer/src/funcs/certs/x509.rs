//! Certificates (RFC 5280), with the fields, extensions and order of Go's `x509.CreateCertificate` in sprig.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest;
use der::asn1::{Any, AnyRef, BitString, Ia5String, ObjectIdentifier, OctetString, SetOfVec, UintRef};
use der::oid::AssociatedOid;
use der::{Decode as _, Encode, Sequence, Tag};
use spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::Version;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::ext::{Extension, Extensions};

use super::super::{Context, dates};
use super::keys::Key;
use super::pem;
use crate::template::FuncError;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const SERVER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");

/// The subject of a certificate.
pub(super) struct DistinguishedName {
    pub(super) name: String,
    pub(super) ips: Vec<IpAddr>,
    pub(super) dns: Vec<String>,
    pub(super) days: i64,
    pub(super) is_ca: bool,
}

/// The needed parts of the signing certificate.
pub(super) struct Issuer {
    /// Its subject, byte for byte.
    name: Vec<u8>,
    key_id: Option<OctetString>,
    public_info: Vec<u8>,
}

/// A certificate. `x509_cert`'s own type doesn't allow setting single fields, and would re-encode the names of issuers.
#[derive(Sequence)]
struct X509Certificate<'a> {
    body: TbsCertificate<'a>,
    algorithm: AlgorithmIdentifierOwned,
    signature: BitString,
}

#[derive(Sequence)]
struct TbsCertificate<'a> {
    #[asn1(context_specific = "0", default = "Default::default")]
    version: Version,
    serial: UintRef<'a>,
    signature: AlgorithmIdentifierOwned,
    issuer: AnyRef<'a>,
    validity: AnyRef<'a>,
    subject: AnyRef<'a>,
    public_info: AnyRef<'a>,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    issuer_id: Option<BitString>,
    #[asn1(context_specific = "2", tag_mode = "IMPLICIT", optional = "true")]
    subject_id: Option<BitString>,
    #[asn1(context_specific = "3", optional = "true")]
    extensions: Option<Extensions>,
}

fn creating(what: impl std::fmt::Display) -> FuncError {
    FuncError::new(format!("error creating certificate: {what}"))
}

impl Issuer {
    /// Parses a certificate in DER.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let X509Certificate { body, .. } = X509Certificate::from_der(bytes).ok()?;
        let extensions = body.extensions.unwrap_or_default();
        let key_id = extensions
            .iter()
            .find(|one| one.extn_id == SubjectKeyIdentifier::OID);
        let key_id = match key_id {
            None => None,
            Some(found) => Some(OctetString::from_der(found.extn_value.as_bytes()).ok()?),
        };
        Some(Self {
            name: body.subject.to_der().ok()?,
            key_id: key_id.filter(|id| !id.as_bytes().is_empty()),
            public_info: body.public_info.to_der().ok()?,
        })
    }
}

/// A certificate in PEM. Without an issuer it is signed by its own subject's key.
pub(super) fn create(
    context: &mut Context,
    subject: &DistinguishedName,
    key: &Key,
    issuer: Option<(&Issuer, &Key)>,
) -> Result<String, FuncError> {
    let signer = issuer.map_or(key, |(_, key)| key);
    let unsupported = || creating("x509: only RSA, ECDSA and Ed25519 keys supported");
    let algorithm = signer
        .signature_algorithm()
        .ok_or_else(|| creating("x509: certificate private key does not implement crypto.Signer"))?;
    let info = key.public_info().ok_or_else(unsupported)?.map_err(creating)?;
    if let Some((issuer, signer)) = issuer {
        let info = signer.public_info().and_then(|info| info.ok()?.to_der().ok());
        if info.as_ref() != Some(&issuer.public_info) {
            return Err(creating(
                "x509: provided PrivateKey doesn't match parent's PublicKey",
            ));
        }
    }
    let validity = validity(context.world.now(), subject.days)?;
    let mut serial = [0; 16];
    context.random_bytes(&mut serial)?;
    let signed = Signed {
        serial,
        algorithm,
        validity,
        info,
        subject,
        issuer: issuer.map(|(issuer, _)| issuer),
    };
    signed.pem(signer)
}

/// The signed part of a certificate.
struct Signed<'a> {
    serial: [u8; 16],
    algorithm: AlgorithmIdentifierOwned,
    validity: Vec<u8>,
    info: SubjectPublicKeyInfoOwned,
    subject: &'a DistinguishedName,
    issuer: Option<&'a Issuer>,
}

impl Signed<'_> {
    fn pem(&self, signer: &Key) -> Result<String, FuncError> {
        let name = distinguished_name(&self.subject.name).map_err(creating)?;
        let info = self.info.to_der().map_err(creating)?;
        let extensions = extensions(self.subject, &name, &self.info, self.issuer)?;
        let issuer = self.issuer.map_or(&name, |issuer| &issuer.name);
        let any = |bytes| AnyRef::from_der(bytes).map_err(creating);
        let body = TbsCertificate {
            version: Version::V3,
            serial: UintRef::new(&self.serial).map_err(creating)?,
            signature: self.algorithm.clone(),
            issuer: any(issuer)?,
            validity: any(&self.validity)?,
            subject: any(&name)?,
            public_info: any(&info)?,
            issuer_id: None,
            subject_id: None,
            extensions: Some(extensions),
        };
        let signature = signer.sign(&body.to_der().map_err(creating)?)?;
        let certificate = X509Certificate {
            body,
            algorithm: self.algorithm.clone(),
            signature: BitString::from_bytes(&signature).map_err(creating)?,
        };
        pem::encode("CERTIFICATE", &certificate.to_der().map_err(creating)?)
    }
}

/// A name with only a common name, or an empty one.
fn distinguished_name(name: &str) -> der::Result<Vec<u8>> {
    let mut names: Vec<SetOfVec<AttributeTypeAndValue>> = Vec::new();
    if !name.is_empty() {
        let is_printable = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"'()+,-./:=? ".contains(&byte));
        let tag = if is_printable {
            Tag::PrintableString
        } else {
            Tag::Utf8String
        };
        let attribute = AttributeTypeAndValue {
            oid: COMMON_NAME,
            value: Any::new(tag, name.as_bytes())?,
        };
        names.push(SetOfVec::try_from(vec![attribute])?);
    }
    names.to_der()
}

/// From now on, for some days; Go's nanoseconds wrap around after 106,751 days.
fn validity(now: SystemTime, days: i64) -> Result<Vec<u8>, FuncError> {
    let length = days.wrapping_mul(86_400_000_000_000);
    let size = Duration::from_nanos(length.unsigned_abs());
    let end = if length < 0 {
        now.checked_sub(size)
    } else {
        now.checked_add(size)
    };
    let end = end.ok_or_else(|| creating("the time does not fit"))?;
    vec![time(now)?, time(end)?].to_der().map_err(creating)
}

/// `der`'s own times begin in 1970.
fn time(time: SystemTime) -> Result<Any, FuncError> {
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => {
            let size = before.duration();
            let whole = i64::try_from(size.as_secs()).unwrap_or(i64::MAX);
            -whole - i64::from(size.subsec_nanos() > 0)
        }
    };
    let (year, text) = dates::asn1(seconds);
    let time = match year {
        1950..2050 => Any::new(Tag::UtcTime, text.as_bytes().get(2..).unwrap_or_default()),
        0..10_000 => Any::new(Tag::GeneralizedTime, text.as_bytes()),
        _ => {
            return Err(creating(
                "asn1: structure error: cannot represent time as GeneralizedTime",
            ));
        }
    };
    time.map_err(creating)
}

fn extension<T: Encode + AssociatedOid>(critical: bool, value: &T) -> der::Result<Extension> {
    Ok(Extension {
        extn_id: T::OID,
        critical,
        extn_value: OctetString::new(value.to_der()?)?,
    })
}

fn extensions(
    subject: &DistinguishedName,
    name: &[u8],
    info: &SubjectPublicKeyInfoOwned,
    issuer: Option<&Issuer>,
) -> Result<Extensions, FuncError> {
    let names = alternative_names(subject)?;
    let mut usage = KeyUsages::DigitalSignature | KeyUsages::KeyEncipherment;
    if subject.is_ca {
        usage |= KeyUsages::KeyCertSign;
    }
    let constraints = BasicConstraints {
        ca: subject.is_ca,
        path_len_constraint: None,
    };
    let all = || {
        let mut all = vec![
            extension(true, &KeyUsage(usage))?,
            extension(false, &ExtendedKeyUsage(vec![SERVER, CLIENT]))?,
            extension(true, &constraints)?,
        ];
        if subject.is_ca {
            let hash = digest::digest(&digest::SHA256, info.subject_public_key.raw_bytes());
            let id = OctetString::new(hash.as_ref().get(..20).unwrap_or_default())?;
            all.push(extension(false, &SubjectKeyIdentifier(id))?);
        }
        if let Some(issuer) = issuer
            && issuer.name != name
            && let Some(id) = &issuer.key_id
        {
            let id = AuthorityKeyIdentifier {
                key_identifier: Some(id.clone()),
                ..AuthorityKeyIdentifier::default()
            };
            all.push(extension(false, &id)?);
        }
        if !names.is_empty() {
            all.push(extension(subject.name.is_empty(), &SubjectAltName(names))?);
        }
        Ok(all)
    };
    all().map_err(|error: der::Error| creating(error))
}

fn alternative_names(subject: &DistinguishedName) -> Result<Vec<GeneralName>, FuncError> {
    let mut out = Vec::new();
    for name in &subject.dns {
        if !name.is_ascii() {
            let name = crate::template::print::quote(name);
            return Err(creating(format!(
                "x509: {name} cannot be encoded as an IA5String"
            )));
        }
        out.push(GeneralName::DnsName(Ia5String::new(name).map_err(creating)?));
    }
    for ip in &subject.ips {
        let octets = match ip.to_canonical() {
            IpAddr::V4(ip) => OctetString::new(ip.octets()),
            IpAddr::V6(ip) => OctetString::new(ip.octets()),
        };
        out.push(GeneralName::IpAddress(octets.map_err(creating)?));
    }
    Ok(out)
}
