//! The functions that need cryptography: passwords, ciphers, keys and certificates.
//!
//! Their names and parameters are always known, so that templates that mention them can be parsed. In a build without
//! the feature `crypto` a call is an error that says so.

use super::Context;
use super::args::func;
#[cfg(feature = "crypto")]
use super::{certs, ciphers};
use crate::template::{Func, Type};

/// The type of certificates.
pub(super) const CERTIFICATE: &str = "sprig.certificate";

/// The body of a function, or the refusal of a build that lacks it.
macro_rules! cryptographic {
    ($body:expr) => {{
        #[cfg(feature = "crypto")]
        {
            $body
        }
        #[cfg(not(feature = "crypto"))]
        {
            refuse
        }
    }};
}

#[cfg(not(feature = "crypto"))]
fn refuse(
    _: &mut crate::template::Call<'_, Context>,
) -> Result<crate::template::Val, crate::template::FuncError> {
    Err("this build has no cryptography (the feature `crypto` of solar-render)".into())
}

const TEXT: &[Type] = &[Type::String];
const TEXTS: &[Type] = &[Type::String, Type::String];

pub(super) const CIPHERS: &[Func<Context>] = &[
    func(
        "bcrypt",
        TEXT,
        "A password's bcrypt hash.",
        cryptographic!(ciphers::bcrypt),
    ),
    func(
        "htpasswd",
        TEXTS,
        "A user's line for htpasswd, with bcrypt.",
        cryptographic!(ciphers::htpasswd),
    ),
    func(
        "derivePassword",
        &[
            Type::Uint32,
            Type::String,
            Type::String,
            Type::String,
            Type::String,
        ],
        "A site's password by counter, kind, master password, user and site.",
        cryptographic!(ciphers::derive_password),
    ),
    func(
        "encryptAES",
        TEXTS,
        "A text encrypted with a password by AES-256 in CBC mode.",
        cryptographic!(ciphers::encrypt_aes),
    ),
    func(
        "decryptAES",
        TEXTS,
        "The text that encryptAES encrypted.",
        cryptographic!(ciphers::decrypt_aes),
    ),
];

pub(super) const CERTIFICATES: &[Func<Context>] = &[
    func(
        "genPrivateKey",
        &[Type::String],
        "A private key in PEM: rsa, dsa, ecdsa or ed25519.",
        cryptographic!(certs::gen_private_key),
    ),
    func(
        "buildCustomCert",
        &[Type::String, Type::String],
        "A certificate and its key, both in base64, as an object.",
        cryptographic!(certs::build_custom_cert),
    ),
    func(
        "genCA",
        &[Type::String, Type::Int],
        "A certificate authority by name and days.",
        cryptographic!(|call| certs::gen_ca(call, "genCA", None)),
    ),
    func(
        "genCAWithKey",
        &[Type::String, Type::Int, Type::String],
        "As genCA, with a key in PEM.",
        cryptographic!(|call| certs::gen_ca(call, "genCAWithKey", Some(2))),
    ),
    func(
        "genSelfSignedCert",
        &[Type::String, Type::Anys, Type::Anys, Type::Int],
        "A certificate signed by itself, by name, IPs, DNS names and days.",
        cryptographic!(|call| certs::gen_self_signed(call, "genSelfSignedCert", None)),
    ),
    func(
        "genSelfSignedCertWithKey",
        &[Type::String, Type::Anys, Type::Anys, Type::Int, Type::String],
        "As genSelfSignedCert, with a key in PEM.",
        cryptographic!(|call| certs::gen_self_signed(call, "genSelfSignedCertWithKey", Some(4))),
    ),
    func(
        "genSignedCert",
        &[
            Type::String,
            Type::Anys,
            Type::Anys,
            Type::Int,
            Type::Named(CERTIFICATE),
        ],
        "A certificate signed by an authority, by name, IPs, DNS names and days.",
        cryptographic!(|call| certs::gen_signed(call, "genSignedCert", None)),
    ),
    func(
        "genSignedCertWithKey",
        &[
            Type::String,
            Type::Anys,
            Type::Anys,
            Type::Int,
            Type::Named(CERTIFICATE),
            Type::String,
        ],
        "As genSignedCert, with a key in PEM.",
        cryptographic!(|call| certs::gen_signed(call, "genSignedCertWithKey", Some(5))),
    ),
];
