//! Signatures of files on disk and statements about them, as bundles in files of their own: what `cosign sign-blob` and
//! `attest-blob` write. No registry takes part.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::formats;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;
use crate::reference::Digest;
use crate::signing_key::{SigningKey, VerifyingKey};

/// The maximum size of a file whose content is signed: it is read whole. Statements are about digests, and have none.
pub const MAX_SIGNED_FILE: usize = 64 << 20;
/// The maximum size of a predicate.
pub const MAX_PREDICATE: usize = 4 << 20;
/// The maximum size of a bundle.
pub const MAX_BUNDLE: usize = 16 << 20;

/// What is said about files.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// The URI of its type: `https://slsa.dev/provenance/v1`.
    pub kind: String,
    /// The JSON document.
    pub content: Value,
}

/// A bundle with the signature of a file's content.
///
/// # Errors
/// The file can't be read, or is larger than [`MAX_SIGNED_FILE`].
pub fn sign_file(path: &Path, key: &SigningKey) -> Result<Vec<u8>> {
    let content = fsio::read_bytes(path, MAX_SIGNED_FILE, Class::Usage)?;
    formats::message_signature(&content, key)
        .map_err(|error| error.diagnostic(&path.display().to_string()).into())
}

/// A bundle with a signed in-toto statement: the predicate about these files, by their names without folders.
///
/// # Errors
/// A file can't be read, or two have the same name.
pub fn attest_files(paths: &[PathBuf], predicate: &Predicate, key: &SigningKey) -> Result<Vec<u8>> {
    let mut subjects: Vec<(String, Digest)> = Vec::new();
    for path in paths {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if subjects.iter().any(|(other, _)| *other == name) {
            let message = format!("two files are named {name}, and a statement has names without folders");
            return Err(Diagnostic::error(Class::Usage, message).into());
        }
        subjects.push((name, digest(path)?));
    }
    formats::attestation(&subjects, &predicate.kind, &predicate.content, key)
        .map_err(|error| error.diagnostic("the statement").into())
}

/// Verifies that a bundle has the key's signature of a file, or of a statement about it; with a type, that statement's.
/// Returns the file's digest.
///
/// # Errors
/// [`Class::Signature`] if the signature is not valid; a file that can't be read.
pub fn verify_file(
    path: &Path,
    bundle: &Path,
    key: &VerifyingKey,
    predicate_type: Option<&str>,
) -> Result<Digest> {
    let bytes = fsio::read_bytes(bundle, MAX_BUNDLE, Class::Usage)?;
    let digest = digest(path)?;
    let content = || fsio::read_bytes(path, MAX_SIGNED_FILE, Class::Usage).map_err(Invalid::Unread);
    let checked = formats::check_file_bundle(&bytes, &digest, content, key, predicate_type);
    match checked {
        Ok(()) => Ok(digest),
        Err(Invalid::Unread(problems)) => Err(problems),
        Err(Invalid::Signature(reason)) => {
            let message = format!("no signature of {} is valid", path.display());
            Err(Diagnostic::error(Class::Signature, message)
                .note(format!("{}: {reason}", bundle.display()))
                .into())
        }
    }
}

/// Why a file is not verified.
enum Invalid {
    Unread(Diagnostics),
    Signature(String),
}

impl From<String> for Invalid {
    fn from(reason: String) -> Self {
        Self::Signature(reason)
    }
}

fn digest(path: &Path) -> Result<Digest> {
    let (digest, _) =
        fsio::digest_of(path).map_err(|error| fsio::cannot("read", path, &error, Class::Usage))?;
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::secret::Secret;
    use serde_json::json;

    fn key() -> SigningKey {
        let text = include_bytes!("../../../../testdata/signing/cosign.key");
        SigningKey::load(text, &Secret::new("pw")).unwrap()
    }

    fn reason(result: Result<Digest>) -> String {
        format!("{:?}", result.unwrap_err())
    }

    #[test]
    fn a_signature_and_a_statement_are_valid_for_their_files_and_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["one", "two", "three"] {
            fs::write(at(name), name).unwrap();
        }
        let key = key();
        let predicate = Predicate {
            kind: "https://slsa.dev/provenance/v1".to_owned(),
            content: json!({"a": 1}),
        };
        fs::write(at("signature"), sign_file(&at("one"), &key).unwrap()).unwrap();
        let statement = attest_files(&[at("one"), at("two")], &predicate, &key).unwrap();
        fs::write(at("statement"), statement).unwrap();
        let pair = SigningKey::generate(&Secret::default()).unwrap();
        let stranger = VerifyingKey::load(pair.public.as_bytes()).unwrap();

        let check = |file: &str, bundle: &str, kind: Option<&str>| {
            verify_file(&at(file), &at(bundle), key.public(), kind)
        };
        check("one", "signature", None).unwrap();
        for kind in [None, Some(predicate.kind.as_str())] {
            check("one", "statement", kind).unwrap();
            check("two", "statement", kind).unwrap();
        }
        let table = [
            (check("two", "signature", None), "another file"),
            (check("three", "statement", None), "another digest"),
            (check("one", "statement", Some("x")), "another type"),
            (check("one", "signature", Some("x")), "has no statement"),
            (check("one", "two", None), "not a bundle"),
            (
                verify_file(&at("one"), &at("signature"), &stranger, None),
                "another key",
            ),
            (
                verify_file(&at("one"), &at("statement"), &stranger, None),
                "another key",
            ),
        ];
        for (found, expected) in table {
            let found = reason(found);
            assert!(found.contains(expected) && found.contains("Signature"), "{found}");
        }
        assert!(reason(check("four", "signature", None)).contains("four"));
    }

    #[test]
    fn a_file_above_the_limit_is_not_signed_and_two_of_a_name_are_not_attested() {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        fs::File::create(&large)
            .unwrap()
            .set_len(MAX_SIGNED_FILE as u64 + 1)
            .unwrap();
        let found = format!("{:?}", sign_file(&large, &key()).unwrap_err());
        assert!(found.contains("larger than 64 MiB"), "{found}");
        let predicate = Predicate {
            kind: "x".to_owned(),
            content: json!({}),
        };
        let twice = attest_files(&[large.clone(), large], &predicate, &key()).unwrap_err();
        assert!(
            format!("{twice:?}").contains("two files are named large"),
            "{twice:?}"
        );
    }
}
