//! Hashes of texts, as sprig 3.3 has them.

use sha1::{Digest as _, Sha1};
use sha2::{Digest as _, Sha256, Sha512};

use super::Context;
use super::args::func;
use crate::template::{Func, Type, Val};

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS.get(usize::from(value)).copied().unwrap_or(b'0'));
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (mut low, mut high) = (1_u32, 0_u32);
    // As many bytes as the sums fit into 32 bits.
    for chunk in bytes.chunks(5_552) {
        for byte in chunk {
            low += u32::from(*byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    high << 16 | low
}

const TEXT: &[Type] = &[Type::String];

pub(super) const TABLE: &[Func<Context>] = &[
    func("sha1sum", TEXT, "A text's SHA-1 in hexadecimal digits.", |call| {
        Ok(Val::str(hex(&Sha1::digest(call.str(0).as_bytes()))))
    }),
    func(
        "sha256sum",
        TEXT,
        "A text's SHA-256 in hexadecimal digits.",
        |call| Ok(Val::str(hex(&Sha256::digest(call.str(0).as_bytes())))),
    ),
    func(
        "sha512sum",
        TEXT,
        "A text's SHA-512 in hexadecimal digits.",
        |call| Ok(Val::str(hex(&Sha512::digest(call.str(0).as_bytes())))),
    ),
    func(
        "adler32sum",
        TEXT,
        "A text's Adler-32 in decimal digits.",
        |call| Ok(Val::str(adler32(call.str(0).as_bytes()).to_string())),
    ),
];
