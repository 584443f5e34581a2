//! Keys in cosign's format, and their passwords.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;
use std::sync::Arc;

use super::args::sign::{KeyFlags, SignatureFormatChoice, SigningFlags};
use super::context::Context;
use super::printer::to_stderr;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::oci::{CosignSigner, KeyError, MAX_KEY_FILE, Secret, SignatureFormat, SigningKey, VerifyingKey};
use crate::world::World;

/// The variable in which cosign reads a key's password.
pub(crate) const PASSWORD: &str = "COSIGN_PASSWORD";
/// The maximum length of a password, in bytes.
const MAX_PASSWORD: usize = 64 << 10;

/// The signer of `--sign-by`, if it is given.
pub(crate) fn signer(
    signing: &SigningFlags,
    from_stdin: bool,
    context: &Context<'_>,
) -> Result<Option<CosignSigner>> {
    let Some(key) = &signing.sign_by else {
        return Ok(None);
    };
    load_signer(key, &signing.keys, from_stdin, context).map(Some)
}

pub(crate) fn load_signer(
    place: &str,
    keys: &KeyFlags,
    from_stdin: bool,
    context: &Context<'_>,
) -> Result<CosignSigner> {
    let text = read_key(place, context.world)?;
    let given = given_password(keys.key_password_file.as_deref(), from_stdin, context.world)?;
    let is_given = given.is_some();
    // Without a password, tries an empty one, which some CI systems use.
    let first = SigningKey::load(&text, &given.unwrap_or_default());
    let key = match first {
        Err(KeyError::Password) if !is_given => match ask(&format!("Password for {place}: "))? {
            Some(password) => SigningKey::load(&text, &password),
            None => first,
        },
        first => first,
    };
    Ok(CosignSigner {
        key: Arc::new(key.map_err(|error| error.diagnostic(place))?),
        form: match keys.signature_form {
            SignatureFormatChoice::Bundle => SignatureFormat::Bundle,
            SignatureFormatChoice::Simple => SignatureFormat::Simple,
        },
    })
}

/// A public key.
pub(crate) fn load_public(place: &str, world: &dyn World) -> Result<VerifyingKey> {
    let text = read_key(place, world)?;
    VerifyingKey::load(&text).map_err(|error| error.diagnostic(place).into())
}

/// The key services of cosign, which are not supported.
const KEY_SERVICES: [&str; 8] = [
    "awskms://",
    "azurekms://",
    "gcpkms://",
    "hashivault://",
    "k8s://",
    "pkcs11:",
    "gitlab://",
    "github://",
];

/// Reads a key from a file, or as in cosign from `env://NAME`.
fn read_key(place: &str, world: &dyn World) -> Result<Vec<u8>> {
    if let Some(service) = KEY_SERVICES.iter().find(|service| place.starts_with(**service)) {
        let message = format!("{place:?} names a key in a key management service ({service}…)");
        return Err(Diagnostic::error(Class::Usage, message)
            .note("keys are taken from files and from the environment")
            .hint("sign with `cosign sign --key`, or give a key file or env://NAME")
            .into());
    }
    let Some(name) = place.strip_prefix("env://") else {
        return fsio::read_bytes(Path::new(place), MAX_KEY_FILE, Class::Usage);
    };
    match world.env(name) {
        Some(text) => Ok(text.into_bytes()),
        None => Err(Diagnostic::error(Class::Usage, format!("the variable {name} holds no key")).into()),
    }
}

pub(crate) fn given_password(
    file: Option<&Path>,
    from_stdin: bool,
    world: &dyn World,
) -> Result<Option<Secret>> {
    let Some(path) = file else {
        return Ok(world.env(PASSWORD).map(Secret::new));
    };
    let text = read_password(path, from_stdin)?;
    Ok(Some(Secret::new(text.expose().trim_end_matches(['\r', '\n']))))
}

/// Reads a password from a file, or from standard input for `-`.
pub(crate) fn read_password(path: &Path, from_stdin: bool) -> Result<Secret> {
    let text = if path == Path::new("-") {
        if from_stdin {
            let message = "standard input can't be both the registry's and the key's password";
            return Err(Diagnostic::error(Class::Usage, message).into());
        }
        let mut text = Vec::new();
        let read = io::stdin().take(MAX_PASSWORD as u64).read_to_end(&mut text);
        read.map_err(|error| fsio::cannot("read", Path::new("standard input"), &error, Class::Usage))?;
        text
    } else {
        fsio::read_bytes(path, MAX_PASSWORD, Class::Usage)?
    };
    let text = String::from_utf8(text)
        .map_err(|_| Diagnostic::error(Class::Usage, format!("{} is not UTF-8", path.display())))?;
    Ok(Secret::new(text))
}

/// Prompts on the terminal, if there is one.
pub(crate) fn ask(prompt: &str) -> Result<Option<Secret>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(None);
    }
    let answer = rpassword::prompt_password(prompt);
    let answer =
        answer.map_err(|error| fsio::cannot("read", Path::new("the terminal"), &error, Class::Usage))?;
    Ok(Some(Secret::new(answer)))
}

/// As [`ask`], with echo.
pub(crate) fn ask_openly(prompt: &str) -> Result<Option<String>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(None);
    }
    to_stderr(prompt);
    let mut answer = String::new();
    let read = io::BufRead::read_line(&mut io::stdin().lock(), &mut answer);
    read.map_err(|error| fsio::cannot("read", Path::new("the terminal"), &error, Class::Usage))?;
    Ok(Some(answer.trim_end_matches(['\r', '\n']).to_owned()).filter(|answer| !answer.is_empty()))
}
