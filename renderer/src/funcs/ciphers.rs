//! Passwords and ciphers, as sprig 3.3 has them.

use aws_lc_rs::cipher::{
    AES_256, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext, UnboundCipherKey,
};
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Context;
use super::encode::{Illegal, decode64};
use crate::template::{Call, FuncError, Str, Val};

/// bcrypt's cost, as a power of two: Go's default.
const BCRYPT_COST: u32 = 10;
/// The maximum length of a password in Go's bcrypt, in bytes.
const BCRYPT_BYTES: usize = 72;
/// The block size of AES.
const BLOCK: usize = 16;

type Answer = Result<Val, FuncError>;

pub(super) fn bcrypt(call: &mut Call<'_, Context>) -> Answer {
    call.context.note_random("bcrypt");
    let password = call.str(0);
    hash(call.context, password.as_bytes()).map(Val::str)
}

/// The hash of a password, or the error message.
fn hash(context: &mut Context, password: &[u8]) -> Result<String, FuncError> {
    if password.len() > BCRYPT_BYTES {
        return Ok(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_owned(),
        );
    }
    let random = context.numbered_bytes("salt")?;
    let salt = *random.first_chunk().unwrap_or(&[0; 16]);
    // A zero byte ends the password, as in C.
    let mut key = password.to_vec();
    key.push(0);
    key.truncate(BCRYPT_BYTES);
    let make = || Ok::<_, FuncError>(::bcrypt::bcrypt(BCRYPT_COST, salt, &key).to_vec());
    let hash = match context.seed {
        Some(_) => context.seeded.get_or_make("bcrypt", &[&salt, &key], make),
        None => make(),
    }?;
    let mut out = format!("$2a${BCRYPT_COST}$");
    out.push_str(&::bcrypt::BASE_64.encode(salt));
    out.push_str(&::bcrypt::BASE_64.encode(hash.get(..23).unwrap_or_default()));
    Ok(out)
}

pub(super) fn htpasswd(call: &mut Call<'_, Context>) -> Answer {
    call.context.note_random("htpasswd");
    let (user, password) = (call.str(0), call.str(1));
    if user.as_bytes().contains(&b':') {
        return Ok(Val::str(joined(&[b"invalid username: ", user.as_bytes()])));
    }
    let hash = hash(call.context, password.as_bytes())?;
    Ok(Val::str(joined(&[user.as_bytes(), b":", hash.as_bytes()])))
}

fn joined(parts: &[&[u8]]) -> Str {
    Str::from_bytes(parts.concat())
}

/// sprig's kinds of derived passwords, and their templates.
const PASSWORDS: [(&str, &[&str]); 6] = [
    ("maximum", &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"]),
    (
        "long",
        &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
    ),
    ("medium", &["CvcnoCvc", "CvcCvcno"]),
    ("short", &["Cvcn"]),
    ("basic", &["aaanaaan", "aannaaan", "aaannaaa"]),
    ("pin", &["nnnn"]),
];

/// The characters for a letter of a template.
fn characters(letter: u8) -> &'static [u8] {
    match letter {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// A length as encoded in the seeds: 32 bits.
#[allow(clippy::cast_possible_truncation, reason = "as in Go")]
fn length(text: &Str) -> [u8; 4] {
    (text.len() as u32).to_be_bytes()
}

/// The Master Password algorithm.
pub(super) fn derive_password(call: &mut Call<'_, Context>) -> Answer {
    const SEED: &[u8] = b"com.lyndir.masterpassword";
    let counter = match call.arg(0) {
        Val::Uint(counter, _) => u32::try_from(counter).unwrap_or(u32::MAX),
        _ => 0,
    };
    let [kind, password, user, site] = [1, 2, 3, 4].map(|index| call.str(index));
    let Some((_, templates)) = PASSWORDS.iter().find(|(name, _)| kind == *name) else {
        return Ok(Val::str(joined(&[
            b"cannot find password template ",
            kind.as_bytes(),
        ])));
    };
    let salt = [SEED, &length(&user), user.as_bytes()].concat();
    let mut key = [0; 64];
    let derived = scrypt::Params::new(15, 8, 2)
        .map_err(|error| error.to_string())
        .and_then(|params| {
            let derived = scrypt::scrypt(password.as_bytes(), &salt, &params, &mut key);
            derived.map_err(|error| error.to_string())
        });
    if let Err(error) = derived {
        return Ok(Val::str(format!("failed to derive password: {error}")));
    }
    let message = [SEED, &length(&site), site.as_bytes(), &counter.to_be_bytes()].concat();
    let seed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message);
    let mut seed = seed.as_ref().iter().map(|byte| usize::from(*byte));
    let choice = seed.next().unwrap_or(0) % templates.len().max(1);
    let template = templates.get(choice).copied().unwrap_or_default();
    let letters = template.bytes().zip(seed).filter_map(|(letter, byte)| {
        let characters = characters(letter);
        characters.get(byte % characters.len())
    });
    Ok(Val::str(
        letters.map(|byte| char::from(*byte)).collect::<String>(),
    ))
}

/// A password as AES key: truncated, or padded with zeros.
fn aes_key(password: &Str) -> Result<UnboundCipherKey, FuncError> {
    let mut key = [0; 32];
    for (to, from) in key.iter_mut().zip(password.as_bytes()) {
        *to = *from;
    }
    UnboundCipherKey::new(&AES_256, &key).map_err(|_| cipher_failed())
}

fn cipher_failed() -> FuncError {
    FuncError::new("the cipher failed")
}

pub(super) fn encrypt_aes(call: &mut Call<'_, Context>) -> Answer {
    let (password, text) = (call.str(0), call.str(1));
    if text.is_empty() {
        return Ok(Val::str(""));
    }
    call.context.note_random("encryptAES");
    let mut iv = [0; BLOCK];
    call.context.random_bytes(&mut iv)?;
    let padding = BLOCK - text.len() % BLOCK;
    let mut content = text.as_bytes().to_vec();
    content.extend(std::iter::repeat_n(u8::try_from(padding).unwrap_or(0), padding));
    let context = EncryptionContext::Iv128(FixedLength::from(iv));
    EncryptingKey::cbc(aes_key(&password)?)
        .and_then(|key| key.less_safe_encrypt(&mut content, context))
        .map_err(|_| cipher_failed())?;
    Ok(Val::str(STANDARD.encode([&iv[..], &content].concat())))
}

pub(super) fn decrypt_aes(call: &mut Call<'_, Context>) -> Answer {
    let (password, text) = (call.str(0), call.str(1));
    if text.is_empty() {
        return Ok(Val::str(""));
    }
    let bytes = decode64(text.as_bytes())
        .map_err(|Illegal(at)| FuncError::new(format!("illegal base64 data at input byte {at}")))?;
    let Some((iv, content)) = bytes.split_first_chunk::<BLOCK>() else {
        return Err(FuncError::new(format!(
            "runtime error: slice bounds out of range [:{BLOCK}] with capacity {}",
            bytes.len()
        )));
    };
    if content.len() % BLOCK != 0 {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let mut content = content.to_vec();
    let context = DecryptionContext::Iv128(FixedLength::from(*iv));
    let plain = DecryptingKey::cbc(aes_key(&password)?)
        .and_then(|key| key.decrypt(&mut content, context).map(|plain| plain.to_vec()))
        .map_err(|_| cipher_failed())?;
    let Some(padding) = plain.last() else {
        return Err("runtime error: index out of range [-1]".into());
    };
    match plain.len().checked_sub(usize::from(*padding)) {
        Some(end) => Ok(Val::str(Str::from_bytes(plain.get(..end).unwrap_or_default()))),
        None => Err(FuncError::new(format!(
            "runtime error: slice bounds out of range [:-{}]",
            usize::from(*padding) - plain.len()
        ))),
    }
}
