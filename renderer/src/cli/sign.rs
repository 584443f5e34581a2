//! `sign` and `generate-key-pair`

use std::path::{Path, PathBuf};

use super::args::sign::{GenerateKeyPairArgs, SignArgs, Signable};
use super::client::client_options;
use super::context::{CommandOutcome, Context};
use super::keys::{PASSWORD, ask, given_password, load_signer};
use super::progress::TerminalProgress;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio::{self, AtomicFile};
use crate::oci::files::{self, Predicate};
use crate::oci::{self, SigningKey, Subjected};
use crate::reference::Locator;
use crate::report::{self, Report};

/// `sign`
pub(crate) fn sign(args: &SignArgs, context: &Context<'_>) -> CommandOutcome {
    let signed = match (args.signed.as_slice(), &args.bundle) {
        ([Signable::Chart(chart)], None) => sign_chart(chart, args, context),
        (signed, bundle) => {
            sign_files(signed, bundle.as_deref(), args, context).map(|path| written(&path, args.signed.len()))
        }
    };
    signed.unwrap_or_else(CommandOutcome::failed)
}

fn sign_chart(chart: &Locator, args: &SignArgs, context: &Context<'_>) -> Result<CommandOutcome> {
    let signer = load_signer(&args.key, &args.keys, args.registry.password_stdin, context)?;
    let client = client_options(&args.registry)?;
    let progress = TerminalProgress::new(context.printer, "signing");
    let expected = args.expect_digest.as_ref();
    let signed = oci::sign(chart, &signer, expected, &client, context.world, &progress)?;
    let verb = match signed.outcome {
        report::Outcome::Unchanged => "Signed before",
        _ => "Signed",
    };
    Ok(done(signed, verb))
}

/// Writes the bundle of files.
fn sign_files(
    signed: &[Signable],
    bundle: Option<&Path>,
    args: &SignArgs,
    context: &Context<'_>,
) -> Result<PathBuf> {
    let usage = |message: &str, hint: &str| Err(Diagnostic::error(Class::Usage, message).hint(hint).into());
    let mut paths = Vec::new();
    for one in signed {
        match one {
            Signable::File(path) if !path.exists() => {
                return usage(
                    &format!("{}: there is no such file", path.display()),
                    "name a file, or a chart as oci://HOST/PATH:TAG or oci-layout:DIR:TAG",
                );
            }
            Signable::File(path) => paths.push(path.clone()),
            Signable::Chart(_) if signed.len() == 1 => {
                return usage(
                    "--bundle is for files",
                    "a chart's signature is stored in its registry",
                );
            }
            Signable::Chart(_) => {
                return usage(
                    "one chart is signed at a time",
                    "sign charts and files in separate runs",
                );
            }
        }
    }
    let Some(bundle) = bundle else {
        return usage(
            "signing files requires --bundle FILE",
            "the signature is written there",
        );
    };
    if args.expect_digest.is_some() {
        return usage(
            "--expect-digest requires oci://",
            "a file's digest is in its bundle",
        );
    }
    let predicate = match (&args.predicate, &args.predicate_type) {
        (Some(path), Some(kind)) => Some(read_predicate(path, kind)?),
        _ => None,
    };
    let signer = load_signer(&args.key, &args.keys, false, context)?;
    let bytes = match (predicate, paths.as_slice()) {
        (Some(predicate), paths) => files::attest_files(paths, &predicate, &signer.key)?,
        (None, [path]) => files::sign_file(path, &signer.key)?,
        (None, _) => {
            return usage(
                "a signature is of one file",
                "sign a file with the checksums of the others, or a statement about all with --predicate",
            );
        }
    };
    fsio::write_atomically(bundle, &bytes)
        .map_err(|error| fsio::cannot("write", bundle, &error, Class::Usage))?;
    Ok(bundle.to_owned())
}

fn read_predicate(path: &Path, kind: &str) -> Result<Predicate> {
    let bytes = fsio::read_bytes(path, files::MAX_PREDICATE, Class::Usage)?;
    let content = serde_json::from_slice(&bytes).map_err(|error| {
        Diagnostic::error(
            Class::Usage,
            format!("{}: the predicate is not JSON: {error}", path.display()),
        )
    })?;
    Ok(Predicate {
        kind: kind.to_owned(),
        content,
    })
}

fn written(bundle: &Path, count: usize) -> CommandOutcome {
    let plural = if count == 1 { "" } else { "s" };
    CommandOutcome {
        report: Report {
            outcome: Some(report::Outcome::Signed),
            file: Some(bundle.display().to_string()),
            ..Report::default()
        },
        text: format!("Signed: {count} file{plural}\nBundle: {}\n", bundle.display()),
        problem: None,
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
