//! Keys and certificates, as sprig 3.3 makes them: the same PEM labels, subjects, key
//! usages, names, serials and times as with Go's `x509`.
//!
//! Keys come from libraries: AWS-LC's RSA, and where [`Context::seed`] asks for the same in every run, which
//! AWS-LC can't, the `rsa` crate's. Certificates still hold the clock's time: freeze the clock as well.

mod ec;
mod key_pool;
mod keys;
mod pem;
mod rsa_key;
mod seeded;
mod x509;

use std::rc::Rc;

pub(super) use self::key_pool::KeyPool;
use self::keys::Key;
use self::rsa_key::{Bits, RsaKey};
use self::x509::{DistinguishedName, Issuer};
use super::Context;
use super::cryptographic::CERTIFICATE;
use super::encode::decode64;
use crate::template::print::sprint;
use crate::template::{Call, FuncError, Object, Str, Val};

type Answer = Result<Val, FuncError>;

/// The result of the functions: a struct of two strings.
#[derive(Debug)]
struct CertificatePair {
    cert: Str,
    key: Str,
}

impl Object for CertificatePair {
    fn type_name(&self) -> &str {
        CERTIFICATE
    }

    fn field(&self, name: &str) -> Option<Val> {
        match name {
            "Cert" => Some(Val::Str(self.cert.clone())),
            "Key" => Some(Val::Str(self.key.clone())),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(String, Val)> {
        vec![
            ("Cert".to_owned(), Val::Str(self.cert.clone())),
            ("Key".to_owned(), Val::Str(self.key.clone())),
        ]
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

fn certificate(cert: impl Into<Str>, key: impl Into<Str>) -> Val {
    Val::Object(Rc::new(CertificatePair {
        cert: cert.into(),
        key: key.into(),
    }))
}

pub(super) fn gen_private_key(call: &mut Call<'_, Context>) -> Answer {
    let kind = call.str(0).to_text().into_owned();
    let key = match kind.as_str() {
        "" | "rsa" => RsaKey::generate(call.context, Bits::B4096).map(Key::Rsa),
        "dsa" => Key::dsa(call.context),
        "ecdsa" => Key::ecdsa(call.context),
        "ed25519" => Key::ed25519(call.context),
        other => return Ok(Val::str(format!("Unknown type {other}"))),
    };
    call.context.note_random("genPrivateKey");
    Ok(Val::str(match key.and_then(|key| key.to_pem()) {
        Ok(pem) => pem,
        Err(fault) => format!("failed to generate private key: {}", fault.message),
    }))
}

pub(super) fn build_custom_cert(call: &mut Call<'_, Context>) -> Answer {
    let decoded = |index: usize, what: &str| {
        decode64(call.str(index).as_bytes())
            .map(Str::from_bytes)
            .map_err(|_| FuncError::new(format!("unable to decode base64 {what}")))
    };
    let cert = decoded(0, "certificate")?;
    let key = decoded(1, "private key")?;
    issuer(&cert)?;
    Key::from_pem(&key.to_text()).map_err(parsing_key)?;
    Ok(certificate(cert, key))
}

fn parsing_key(words: String) -> FuncError {
    FuncError::new(format!("error parsing private key: {words}"))
}

fn issuer(cert: &Str) -> Result<Issuer, FuncError> {
    let block = pem::decode(&cert.to_text()).ok_or("unable to decode certificate")?;
    Issuer::read(&block.bytes)
        .ok_or_else(|| "error parsing certificate: decodedCert.Bytes: x509: malformed certificate".into())
}

/// A new key, or the one in an argument.
fn subject_key(call: &mut Call<'_, Context>, pem_at: Option<usize>) -> Result<Key, FuncError> {
    match pem_at {
        None => RsaKey::generate(call.context, Bits::B2048).map(Key::Rsa),
        Some(index) => {
            let text = call.str(index);
            Key::from_pem(&text.to_text())
                .map_err(|words| FuncError::new(format!("parsing private key: {words}")))
        }
    }
}

pub(super) fn gen_ca(call: &mut Call<'_, Context>, name: &'static str, pem_at: Option<usize>) -> Answer {
    call.context.note_random(name);
    let key = subject_key(call, pem_at)?;
    let subject = DistinguishedName {
        name: common_name(&call.str(0))?,
        ips: Vec::new(),
        dns: Vec::new(),
        days: call.int(1),
        is_ca: true,
    };
    let cert = x509::create(call.context, &subject, &key, None)?;
    Ok(certificate(cert, key.to_pem()?))
}

fn common_name(name: &Str) -> Result<String, FuncError> {
    name.as_str()
        .map(str::to_owned)
        .ok_or_else(|| "error creating certificate: asn1: string not valid UTF-8".into())
}

/// The subject of the arguments name, IPs, DNS names and days.
fn subject(call: &Call<'_, Context>) -> Result<DistinguishedName, FuncError> {
    let mut ips = Vec::new();
    for item in call.list(1).as_deref().unwrap_or_default() {
        let Some(text) = item.as_str() else {
            return Err(FuncError::new(format!(
                "error parsing ip: {} is not a string",
                sprint(item)
            )));
        };
        let ip = text.to_text().parse();
        ips.push(ip.map_err(|_| FuncError::new(format!("error parsing ip: {text}")))?);
    }
    let mut dns = Vec::new();
    for item in call.list(2).as_deref().unwrap_or_default() {
        let Some(text) = item.as_str() else {
            return Err(FuncError::new(format!(
                "error processing alternate dns name: {} is not a string",
                sprint(item)
            )));
        };
        dns.push(text.to_text().into_owned());
    }
    Ok(DistinguishedName {
        name: common_name(&call.str(0))?,
        ips,
        dns,
        days: call.int(3),
        is_ca: false,
    })
}

pub(super) fn gen_self_signed(
    call: &mut Call<'_, Context>,
    name: &'static str,
    pem_at: Option<usize>,
) -> Answer {
    call.context.note_random(name);
    let key = subject_key(call, pem_at)?;
    let subject = subject(call)?;
    let cert = x509::create(call.context, &subject, &key, None)?;
    Ok(certificate(cert, key.to_pem()?))
}

pub(super) fn gen_signed(call: &mut Call<'_, Context>, name: &'static str, pem_at: Option<usize>) -> Answer {
    call.context.note_random(name);
    let key = subject_key(call, pem_at)?;
    let ca = call.arg(4);
    let Val::Object(ca) = &ca else {
        return Err("unable to decode certificate".into());
    };
    let Some(ca) = ca.as_any().downcast_ref::<CertificatePair>() else {
        return Err("unable to decode certificate".into());
    };
    let block = pem::decode(&ca.cert.to_text()).ok_or("unable to decode certificate")?;
    let issuer = Issuer::read(&block.bytes)
        .ok_or("error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate")?;
    let signer = Key::from_pem(&ca.key.to_text()).map_err(parsing_key)?;
    let subject = subject(call)?;
    let cert = x509::create(call.context, &subject, &key, Some((&issuer, &signer)))?;
    Ok(certificate(cert, key.to_pem()?))
}

#[cfg(test)]
mod tests;
