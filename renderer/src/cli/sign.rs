//! `sign` and `generate-key-pair`

use std::path::Path;

use super::args::sign::{GenerateKeyPairArgs, SignArgs};
use super::client::client_options;
use super::context::{CommandOutcome, Context};
use super::keys::{PASSWORD, ask, given_password, load_signer};
use super::progress::TerminalProgress;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{self, AtomicFile};
use crate::oci::{self, SigningKey, Subjected};
use crate::report::{self, Report};

/// `sign`
pub(crate) fn sign(args: &SignArgs, context: &Context<'_>) -> CommandOutcome {
    let from_stdin = args.registry.password_stdin;
    let prepared = load_signer(&args.key, &args.keys, from_stdin, context)
        .and_then(|signer| Ok((signer, client_options(&args.registry)?)));
    let (signer, client) = match prepared {
        Ok(prepared) => prepared,
        Err(problem) => return CommandOutcome::failed(problem),
    };
    let progress = TerminalProgress::new(context.printer, "signing");
    let expected = args.expect_digest.as_ref();
    match oci::sign(&args.chart, &signer, expected, &client, context.world, &progress) {
        Ok(signed) => {
            let verb = match signed.outcome {
                report::Outcome::Unchanged => "Signed before",
                _ => "Signed",
            };
            done(signed, verb)
        }
        Err(problem) => CommandOutcome::failed(problem),
    }
}

/// The outcome of signing or verifying.
pub(crate) fn done(subjected: Subjected, verb: &str) -> CommandOutcome {
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
    CommandOutcome {
        report: report.with_digest(&digest, size),
        text,
        problem: None,
    }
}

/// `generate-key-pair`
pub(crate) fn generate_key_pair(args: &GenerateKeyPairArgs, context: &Context<'_>) -> CommandOutcome {
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
            CommandOutcome {
                report,
                text,
                problem: None,
            }
        }
        Err(problem) => CommandOutcome::failed(problem),
    }
}

/// The private key is committed first: a public key without it would be useless.
fn write_pair(prefix: &str, args: &GenerateKeyPairArgs, context: &Context<'_>) -> Result<()> {
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
    let (private, public) = (Path::new(&private), Path::new(&public));
    // Both are written completely before either is committed, and a private key alone is removed: it would block the
    // next attempt.
    let secret = draft(private, pair.private.expose(), AtomicFile::create_private)?;
    let open = draft(public, pair.public.as_str(), AtomicFile::create)?;
    place_pair((private, secret), (public, open))
}

fn place_pair(private: (&Path, AtomicFile), public: (&Path, AtomicFile)) -> Result<()> {
    place(private.0, private.1)?;
    place(public.0, public.1).inspect_err(|_| {
        let _ = std::fs::remove_file(private.0);
    })
}

/// Writes a key to a temporary file.
fn draft(path: &Path, text: &str, create: fn(&Path) -> std::io::Result<AtomicFile>) -> Result<AtomicFile> {
    use std::io::Write as _;
    let written = create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync()?;
        Ok(file)
    });
    written.map_err(|error| fsio::cannot("write", path, &error, Class::Usage))
}

/// Commits a key's file, unless the name exists by now.
fn place(path: &Path, file: AtomicFile) -> Result<()> {
    match file.commit_new() {
        Ok(true) => Ok(()),
        Ok(false) => {
            let message = format!("{} exists already", path.display());
            Err(Diagnostic::error(Class::Usage, message).into())
        }
        Err(error) => Err(fsio::cannot("write", path, &error, Class::Usage)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_without_its_public_key_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (private, public) = (folder.path().join("a.key"), folder.path().join("a.pub"));
        let drafts = || {
            let secret = draft(&private, "secret", AtomicFile::create_private).unwrap();
            (secret, draft(&public, "public", AtomicFile::create).unwrap())
        };
        let (secret, open) = drafts();
        std::fs::write(&public, "another").unwrap();
        place_pair((&private, secret), (&public, open)).unwrap_err();
        assert!(!private.exists());
        std::fs::remove_file(&public).unwrap();
        let (secret, open) = drafts();
        place_pair((&private, secret), (&public, open)).unwrap();
        assert_eq!(std::fs::read(&private).unwrap(), b"secret");
    }
}
