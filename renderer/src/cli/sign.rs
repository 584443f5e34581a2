//! `sign` and `generate-key-pair`

use std::path::Path;

use super::args::sign::{GenerateKeyPair, Sign};
use super::client::client_options;
use super::context::{Context, Outcome};
use super::keys::{PASSWORD, ask, given_password, load_signer};
use super::progress::Progress;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{self, AtomicFile};
use crate::oci::{self, SigningKey, Subjected};
use crate::report::{self, Report};

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
