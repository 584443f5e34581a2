//! ECDSA keys on NIST's curves (FIPS 186-5), in SEC 1's form.
//!
//! A signature's nonce only depends on key and message (RFC 6979), with and without a seed: anyone who knows a nonce
//! can compute the key from one signature, and the stream of a seed is public.

use der::asn1::ObjectIdentifier;
use der::{Decode as _, Encode as _};
use ecdsa::signature::Signer as _;
use p256::pkcs8::AssociatedOid as _;
use sec1::{EcParameters, EcPrivateKey};
use zeroize::Zeroizing;

use super::super::Context;
use crate::template::FuncError;

/// A curve, and its crate's operations.
pub(super) struct NamedCurve {
    pub(super) oid: ObjectIdentifier,
    /// The signature algorithm with the curve's hash, as Go's `x509` uses it.
    pub(super) signature: ObjectIdentifier,
    /// The size of a secret, in bytes.
    size: usize,
    /// A secret's public point, uncompressed; `None` for an invalid secret.
    public: fn(&[u8]) -> Option<Vec<u8>>,
    /// A message's signature in DER.
    sign: fn(&[u8], &[u8]) -> Option<Vec<u8>>,
}

macro_rules! curve {
    ($krate:ident::$curve:ident, $size:literal bytes, $signature:literal) => {
        NamedCurve {
            oid: $krate::$curve::OID,
            signature: ObjectIdentifier::new_unwrap($signature),
            size: $size,
            public: |secret| {
                let key = $krate::ecdsa::SigningKey::from_slice(secret).ok()?;
                Some(key.verifying_key().to_sec1_point(false).as_bytes().to_vec())
            },
            sign: |secret, message| {
                let key = $krate::ecdsa::SigningKey::from_slice(secret).ok()?;
                let signature: $krate::ecdsa::DerSignature = key.try_sign(message).ok()?;
                Some(signature.as_bytes().to_vec())
            },
        }
    };
}

static P256: NamedCurve = curve!(p256::NistP256, 32 bytes, "1.2.840.10045.4.3.2");
static P384: NamedCurve = curve!(p384::NistP384, 48 bytes, "1.2.840.10045.4.3.3");
static P521: NamedCurve = curve!(p521::NistP521, 66 bytes, "1.2.840.10045.4.3.4");

/// A private key.
pub(super) struct EcKey {
    pub(super) curve: &'static NamedCurve,
    secret: Zeroizing<Vec<u8>>,
    /// The point, uncompressed.
    pub(super) public: Vec<u8>,
}

impl EcKey {
    /// A new key on P-256.
    pub(super) fn generate(context: &mut Context) -> Result<Self, FuncError> {
        loop {
            let mut secret = Zeroizing::new(vec![0; P256.size]);
            context.random_bytes(&mut secret)?;
            // A secret that is not below the order is drawn again.
            if let Some(key) = Self::new(&P256, secret) {
                return Ok(key);
            }
        }
    }

    fn new(curve: &'static NamedCurve, secret: Zeroizing<Vec<u8>>) -> Option<Self> {
        let public = (curve.public)(&secret)?;
        Some(Self {
            curve,
            secret,
            public,
        })
    }

    /// Parses SEC 1's form. The curve may be given separately, as in PKCS #8.
    pub(super) fn from_sec1(bytes: &[u8], curve: Option<ObjectIdentifier>) -> Option<Self> {
        let key = EcPrivateKey::from_der(bytes).ok()?;
        let oid = curve.or(key.parameters.and_then(EcParameters::named_curve))?;
        let curve = [&P256, &P384, &P521].into_iter().find(|curve| curve.oid == oid)?;
        // As in Go, the secret may have too many or too few leading zeros.
        let zeros = key.private_key.iter().take_while(|byte| **byte == 0).count();
        let digits = key.private_key.get(zeros..)?;
        let mut secret = Zeroizing::new(vec![0; curve.size]);
        let start = curve.size.checked_sub(digits.len())?;
        secret.get_mut(start..)?.copy_from_slice(digits);
        Self::new(curve, secret)
    }

    /// SEC 1's form, with curve and point as Go writes them.
    pub(super) fn to_sec1(&self) -> der::Result<Zeroizing<Vec<u8>>> {
        let key = EcPrivateKey {
            private_key: &self.secret,
            parameters: Some(EcParameters::NamedCurve(self.curve.oid)),
            public_key: Some(&self.public),
        };
        key.to_der().map(Zeroizing::new)
    }

    /// A deterministic signature of the message.
    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        (self.curve.sign)(&self.secret, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.map(byte).collect()
    }

    /// RFC 6979, A.2.5 to A.2.7: secret, and r and s of "sample" with the curve's own hash.
    const VECTORS: [(&str, &str, &str, &str); 3] = [
        (
            "1.2.840.10045.3.1.7",
            "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721",
            "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716",
            "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
        ),
        (
            "1.3.132.0.34",
            "6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5",
            "94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46",
            "99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8",
        ),
        (
            "1.3.132.0.35",
            "00FAD06DAA62BA3B25D2FB40133DA757205DE67F5BB0018FEE8C86E1B68C7E75CAA896EB32F1F47C70855836A6D16FCC1466F6D8FBEC67DB89EC0C08B0E996B83538",
            "00C328FAFCBD79DD77850370C46325D987CB525569FB63C5D3BC53950E6D4C5F174E25A1EE9017B5D450606ADD152B534931D7D4E8455CC91F9B15BF05EC36E377FA",
            "00617CCE7CF5064806C467F678D3B4080D6F1CC50AF26CA209417308281B68AF282623EAA63E5B5C0723D8B8C37FF0777B1A20F8CCB1DCCC43997F1EE0E44DA4A67A",
        ),
    ];

    #[test]
    fn signatures_are_those_of_rfc_6979() {
        for (oid, secret, r, s) in VECTORS {
            let secret = hex(secret);
            let sec1 = EcPrivateKey {
                private_key: &secret,
                parameters: Some(EcParameters::NamedCurve(oid.parse().unwrap())),
                public_key: None,
            };
            let key = EcKey::from_sec1(&sec1.to_der().unwrap(), None).unwrap();
            let [r, s] = [r, s].map(hex);
            let [r, s] = [&r, &s].map(|digits| der::asn1::UintRef::new(digits).unwrap());
            let expected = [r.to_der().unwrap(), s.to_der().unwrap()].concat();
            let signature = key.sign(b"sample").unwrap();
            // A header of two bytes, or three for P-521.
            assert!(
                signature.ends_with(&expected) && signature.len() <= expected.len() + 3,
                "{oid}"
            );
        }
    }

    #[test]
    fn a_secret_with_too_many_or_too_few_leading_zeros_is_read() {
        let (secret, oid) = (hex(&format!("{:0>64}", "1234")), P256.oid);
        let keys = [&secret[30..], &secret, &[&[0; 5], &secret[..]].concat()].map(|secret| {
            let sec1 = EcPrivateKey {
                private_key: secret,
                parameters: None,
                public_key: None,
            };
            let key = EcKey::from_sec1(&sec1.to_der().unwrap(), Some(oid)).unwrap();
            key.to_sec1().unwrap()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }
}
