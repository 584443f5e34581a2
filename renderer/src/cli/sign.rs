//! `sign`, `generate-key-pair`, and the keys of `--sign-by`.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;
use std::sync::Arc;

use super::args::{GenerateKeyPair, Sign, SignatureForm, Signing};
use super::progress::Progress;
use super::shipping::client_options;
use super::{Context, Outcome};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{self, AtomicFile};
use crate::oci::{self, Form, KeyError, MAX_KEY_FILE, Secret, Signer, SigningKey, Subjected, VerifyingKey};
use crate::report::{self, Report};
use crate::world::World;

/// Where cosign reads a key's password.
const PASSWORD: &str = "COSIGN_PASSWORD";
/// The longest password that is read, in bytes.
const MAX_PASSWORD: usize = 64 << 10;

/// `sign`
pub(crate) fn sign(args: &Sign, context: &Context<'_>) -> Outcome {
    let from_stdin = args.registry.password_stdin;
    let prepared = load_signer(&args.key, &args.keys, from_stdin, context)
        .and_then(|signer| Ok((signer, client_options(&args.registry)?)));
    let (signer, client) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return Outcome::failed(problem),
    };
    let progress = Progress::new(context.printer, "signing");
    let expected = args.expect_digest.as_ref();
    match oci::sign(&args.chart, &signer, expected, &client, context.world, &progress) {
        Ok(signed) => {
            let verb = match signed.outcome {
                report::Outcome::Unchanged => "Signed before",
                _ => "Signed",
            };
            done(signed, verb)
        }
        Err(problem) => Outcome::failed(problem),
    }
}

/// What was signed or verified.
pub(crate) fn done(subjected: Subjected, verb: &str) -> Outcome {
    let Subjected {
        reference,
        digest,
        size,
        outcome,
    } = subjected;
    let text = format!("{verb}: {reference}\nDigest: {digest}\n");
    let report = Report {
        outcome: Some(outcome),
        reference: Some(reference),
        ..Report::default()
    };
    Outcome {
        report: report.with_digest(&digest, size),
        text,
        problem: None,
    }
}

/// `generate-key-pair`
pub(crate) fn generate_key_pair(args: &GenerateKeyPair, context: &Context<'_>) -> Outcome {
    let prefix = &args.output_key_prefix;
    match write_pair(prefix, args, context) {
        Ok(()) => {
            let text = format!("Private key: {prefix}.key\nPublic key: {prefix}.pub\n");
            let report = Report {
                outcome: Some(report::Outcome::Created),
                file: Some(format!("{prefix}.pub")),
                private_key: Some(format!("{prefix}.key")),
                ..Report::default()
            };
            Outcome {
                report,
                text,
                problem: None,
            }
        }
        Err(problem) => Outcome::failed(problem),
    }
}

/// The private key comes first: a public one alone would be trusted for nothing.
fn write_pair(prefix: &str, args: &GenerateKeyPair, context: &Context<'_>) -> Result<()> {
    use std::io::Write as _;
    let (private, public) = (format!("{prefix}.key"), format!("{prefix}.pub"));
    for path in [&private, &public] {
        if Path::new(path).symlink_metadata().is_ok() {
            let one = Diagnostic::error(Class::Usage, format!("{path} exists already"));
            return Err(one.hint("--output-key-prefix NAME makes another pair").into());
        }
    }
    let password = match given_password(args.key_password_file.as_deref(), false, context.world)? {
        Some(password) => password,
        None => match ask(&format!("Password for {private}: "))? {
            Some(password) => password,
            None => {
                let one = Diagnostic::error(Class::Usage, "the private key needs a password");
                return Err(one
                    .hint(format!("set {PASSWORD}, or use `--key-password-file`"))
                    .into());
            }
        },
    };
    let pair = SigningKey::generate(&password).map_err(|error| error.diagnostic(&private))?;
    for (path, text, secret) in [
        (&private, pair.private.expose(), true),
        (&public, pair.public.as_str(), false),
    ] {
        let path = Path::new(path);
        let create = if secret {
            AtomicFile::create_private
        } else {
            AtomicFile::create
        };
        let placed = create(path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.commit_new()
        });
        match placed {
            Ok(true) => {}
            Ok(false) => {
                let message = format!("{} exists already", path.display());
                return Err(Diagnostic::error(Class::Usage, message).into());
            }
            Err(error) => return Err(fsio::cannot("write", path, &error, Class::Usage)),
        }
    }
    Ok(())
}

/// The signer that `--sign-by` names, if it does.
pub(crate) fn signer(signing: &Signing, from_stdin: bool, context: &Context<'_>) -> Result<Option<Signer>> {
    let Some(key) = &signing.sign_by else {
        return Ok(None);
    };
    load_signer(key, &signing.keys, from_stdin, context).map(Some)
}

fn load_signer(
    place: &str,
    keys: &super::args::KeyOptions,
    from_stdin: bool,
    context: &Context<'_>,
) -> Result<Signer> {
    let text = read_key(place, context.world)?;
    let given = given_password(keys.key_password_file.as_deref(), from_stdin, context.world)?;
    let is_given = given.is_some();
    // Without one it may have been made with an empty one, as some CI does.
    let first = SigningKey::load(&text, &given.unwrap_or_default());
    let key = match first {
        Err(KeyError::Password) if !is_given => match ask(&format!("Password for {place}: "))? {
            Some(password) => SigningKey::load(&text, &password),
            None => first,
        },
        first => first,
    };
    Ok(Signer {
        key: Arc::new(key.map_err(|error| error.diagnostic(place))?),
        form: match keys.signature_form {
            SignatureForm::Bundle => Form::Bundle,
            SignatureForm::Simple => Form::Simple,
        },
    })
}

/// A public key.
pub(crate) fn load_public(place: &str, world: &dyn World) -> Result<VerifyingKey> {
    let text = read_key(place, world)?;
    VerifyingKey::load(&text).map_err(|error| error.diagnostic(place).into())
}

/// A file, or as cosign has it `env://NAME`.
fn read_key(place: &str, world: &dyn World) -> Result<Vec<u8>> {
    let Some(name) = place.strip_prefix("env://") else {
        return fsio::read_bytes(Path::new(place), MAX_KEY_FILE, Class::Usage);
    };
    match world.env(name) {
        Some(text) => Ok(text.into_bytes()),
        None => Err(Diagnostic::error(Class::Usage, format!("the variable {name} holds no key")).into()),
    }
}

fn given_password(file: Option<&Path>, from_stdin: bool, world: &dyn World) -> Result<Option<Secret>> {
    let Some(path) = file else {
        return Ok(world.env(PASSWORD).map(Secret::new));
    };
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
    Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n']))))
}

/// Asks a person, if there is one.
fn ask(prompt: &str) -> Result<Option<Secret>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(None);
    }
    let answer = rpassword::prompt_password(prompt);
    let answer =
        answer.map_err(|error| fsio::cannot("read", Path::new("the terminal"), &error, Class::Usage))?;
    Ok(Some(Secret::new(answer)))
}
