//! Certificates (RFC 5280), with the fields, extensions and order that Go's
//! `x509.CreateCertificate` gives sprig's templates.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest;

use super::super::{Context, dates};
use super::der::{self, Reader};
use super::keys::Key;
use super::pem;
use crate::template::Fault;

/// What a certificate is about.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) ips: Vec<IpAddr>,
    pub(super) dns: Vec<String>,
    pub(super) days: i64,
    pub(super) is_ca: bool,
}

/// What is needed of the certificate that signs.
pub(super) struct Issuer {
    /// Its subject, as it is written there.
    name: Vec<u8>,
    key_id: Option<Vec<u8>>,
    public_info: Vec<u8>,
}

fn creating(what: impl std::fmt::Display) -> Fault {
    Fault::new(format!("error creating certificate: {what}"))
}

impl Issuer {
    /// Of a certificate in DER.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        const KEY_ID: &[u8] = &[0x55, 0x1d, 0x0e];
        let mut certificate = Reader(bytes).sequence()?;
        let mut parts = certificate.sequence()?;
        let mut next = parts.next()?;
        if next.tag == 0xa0 {
            next = parts.next()?;
        }
        if next.tag != der::INTEGER {
            return None;
        }
        parts.sequence()?;
        parts.sequence()?;
        parts.sequence()?;
        let name = parts.next().filter(|found| found.tag == der::SEQUENCE)?;
        let info = parts.next().filter(|found| found.tag == der::SEQUENCE)?;
        let mut key_id = None;
        while let Some(found) = parts.next() {
            if found.tag != 0xa3 {
                continue;
            }
            let mut extensions = Reader(found.content).sequence()?;
            while let Some(mut extension) = extensions.sequence() {
                if extension.expect(der::OID)? != KEY_ID {
                    continue;
                }
                let value = extension.expect(der::OCTET_STRING)?;
                key_id = Reader(value).expect(der::OCTET_STRING).map(<[u8]>::to_vec);
            }
        }
        // The signature's algorithm and the signature.
        certificate.sequence()?;
        certificate.expect(der::BIT_STRING)?;
        Some(Self {
            name: name.whole.to_vec(),
            key_id,
            public_info: info.whole.to_vec(),
        })
    }
}

/// A certificate in PEM. Without an issuer it is signed by its own subject's key.
pub(super) fn create(
    context: &mut Context,
    subject: &Subject,
    key: &Key,
    issuer: Option<(&Issuer, &Key)>,
) -> Result<String, Fault> {
    let signer = issuer.map_or(key, |(_, key)| key);
    let unsupported = || creating("x509: only RSA, ECDSA and Ed25519 keys supported");
    let signing = signer
        .signature_algorithm()
        .ok_or_else(|| creating("x509: certificate private key does not implement crypto.Signer"))?;
    let info = key.public_info().ok_or_else(unsupported)?;
    if let Some((issuer, signer)) = issuer
        && signer.public_info().as_deref() != Some(&issuer.public_info)
    {
        return Err(creating(
            "x509: provided PrivateKey doesn't match parent's PublicKey",
        ));
    }
    let name = distinguished_name(&subject.name);
    let extensions = extensions(subject, &name, key, issuer.map(|(issuer, _)| issuer))?;
    let mut serial = [0; 16];
    context.random_bytes(&mut serial)?;
    let body = der::sequence(&[
        &der::value(0xa0, &der::integer(&[2])),
        &der::integer(&serial),
        &signing,
        issuer.map_or(&name, |(issuer, _)| &issuer.name),
        &validity(context.world.now(), subject.days)?,
        &name,
        &info,
        &der::value(0xa3, &der::value(der::SEQUENCE, &extensions)),
    ]);
    let signature = signer.sign(context, &body)?;
    let bytes = der::sequence(&[&body, &signing, &der::bits(&signature)]);
    Ok(pem::encode("CERTIFICATE", &bytes))
}

/// A name that has only its common name, or nothing.
fn distinguished_name(name: &str) -> Vec<u8> {
    const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
    const PRINTABLE: u8 = 0x13;
    const UTF8: u8 = 0x0c;
    if name.is_empty() {
        return der::sequence(&[]);
    }
    let printable = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"'()+,-./:=? ".contains(&byte));
    let tag = if printable { PRINTABLE } else { UTF8 };
    let attribute = der::sequence(&[&der::oid(COMMON_NAME), &der::value(tag, name.as_bytes())]);
    der::sequence(&[&der::value(der::SET, &attribute)])
}

/// From now on, for days; Go's nanoseconds wrap around after 106,751 of them.
fn validity(now: SystemTime, days: i64) -> Result<Vec<u8>, Fault> {
    let length = days.wrapping_mul(86_400_000_000_000);
    let size = Duration::from_nanos(length.unsigned_abs());
    let end = if length < 0 {
        now.checked_sub(size)
    } else {
        now.checked_add(size)
    };
    let end = end.ok_or_else(|| creating("the time does not fit"))?;
    Ok(der::sequence(&[&time(now)?, &time(end)?]))
}

fn time(time: SystemTime) -> Result<Vec<u8>, Fault> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    let seconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(before) => {
            let size = before.duration();
            let whole = i64::try_from(size.as_secs()).unwrap_or(i64::MAX);
            -whole - i64::from(size.subsec_nanos() > 0)
        }
    };
    let (year, text) = dates::asn1(seconds);
    match year {
        1950..2050 => Ok(der::value(UTC_TIME, text.get(2..).unwrap_or_default().as_bytes())),
        0..10_000 => Ok(der::value(GENERALIZED_TIME, text.as_bytes())),
        _ => Err(creating(
            "asn1: structure error: cannot represent time as GeneralizedTime",
        )),
    }
}

fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    const TRUE: &[u8] = &[0x01, 0x01, 0xff];
    let flag = if critical { TRUE } else { &[] };
    der::sequence(&[&der::oid(id), flag, &der::value(der::OCTET_STRING, value)])
}

fn extensions(subject: &Subject, name: &[u8], key: &Key, issuer: Option<&Issuer>) -> Result<Vec<u8>, Fault> {
    const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
    const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
    const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
    const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 0x0e];
    const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 0x23];
    const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];
    const SERVER: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
    const CLIENT: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];
    // Digital signature and key encipherment; a CA also signs certificates.
    let usage: &[u8] = if subject.is_ca { &[2, 0xa4] } else { &[5, 0xa0] };
    let constraints: &[u8] = if subject.is_ca { &[0x01, 0x01, 0xff] } else { &[] };
    let mut out = [
        extension(KEY_USAGE, true, &der::value(der::BIT_STRING, usage)),
        extension(
            EXTENDED_KEY_USAGE,
            false,
            &der::sequence(&[&der::oid(SERVER), &der::oid(CLIENT)]),
        ),
        extension(BASIC_CONSTRAINTS, true, &der::value(der::SEQUENCE, constraints)),
    ]
    .concat();
    if subject.is_ca {
        let hash = digest::digest(&digest::SHA256, &key.public().unwrap_or_default());
        let id = hash.as_ref().get(..20).unwrap_or_default();
        out.extend(extension(
            SUBJECT_KEY_ID,
            false,
            &der::value(der::OCTET_STRING, id),
        ));
    }
    if let Some(issuer) = issuer
        && issuer.name != name
        && let Some(id) = &issuer.key_id
    {
        let id = der::sequence(&[&der::value(0x80, id)]);
        out.extend(extension(AUTHORITY_KEY_ID, false, &id));
    }
    let names = alternative_names(subject)?;
    if !names.is_empty() {
        let names = der::value(der::SEQUENCE, &names);
        out.extend(extension(ALTERNATIVE_NAMES, subject.name.is_empty(), &names));
    }
    Ok(out)
}

fn alternative_names(subject: &Subject) -> Result<Vec<u8>, Fault> {
    const DNS: u8 = 0x82;
    const IP: u8 = 0x87;
    let mut out = Vec::new();
    for name in &subject.dns {
        if !name.is_ascii() {
            let name = crate::template::print::quote(name);
            return Err(creating(format!(
                "x509: {name} cannot be encoded as an IA5String"
            )));
        }
        out.extend(der::value(DNS, name.as_bytes()));
    }
    for ip in &subject.ips {
        out.extend(match ip.to_canonical() {
            IpAddr::V4(ip) => der::value(IP, &ip.octets()),
            IpAddr::V6(ip) => der::value(IP, &ip.octets()),
        });
    }
    Ok(out)
}
