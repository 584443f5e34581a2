//! Answers of Hugging Face's API. Pure.

use serde::Deserialize;

use super::file_path::FilePath;
use super::workspace::Checksum;

/// A file of a commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TreeFile {
    pub(super) path: FilePath,
    pub(super) size: u64,
    pub(super) checksum: Checksum,
}

#[derive(Deserialize)]
struct Revision {
    sha: String,
}

#[derive(Deserialize)]
struct TreeEntry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    oid: String,
    #[serde(default)]
    size: u64,
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    oid: String,
    size: u64,
}

/// The commit of a revision: `{"sha": "…"}`. `Err` is the reason why the answer is invalid.
pub(super) fn commit(body: &[u8]) -> Result<String, String> {
    let Revision { sha } =
        serde_json::from_slice(body).map_err(|error| format!("the answer is no revision: {error}"))?;
    match is_git(&sha) {
        true => Ok(sha),
        false => Err("the answer has no commit".to_owned()),
    }
}

/// The files of a page: `[{"type": "file", "path", "oid", "size", "lfs": {"oid", "size"}}]`.
pub(super) fn files(body: &[u8]) -> Result<Vec<TreeFile>, String> {
    let entries: Vec<TreeEntry> =
        serde_json::from_slice(body).map_err(|error| format!("the answer is no list of files: {error}"))?;
    entries
        .into_iter()
        .filter(|entry| entry.kind != "directory")
        .map(file)
        .collect()
}

fn file(entry: TreeEntry) -> Result<TreeFile, String> {
    let TreeEntry {
        kind,
        path: name,
        oid,
        size,
        lfs,
    } = entry;
    if kind != "file" {
        return Err(format!("{name:?} is of the unknown kind {kind:?}"));
    }
    let path =
        FilePath::parse(&name).map_err(|reason| format!("the file's name {name:?} is refused: {reason}"))?;
    // The Git object of a large file is only a pointer to it.
    let (size, checksum) = match lfs {
        Some(Lfs { oid, size }) => {
            let digest = format!("sha256:{}", oid.strip_prefix("sha256:").unwrap_or(&oid)).parse();
            let digest = digest.map_err(|_| format!("{path} has no SHA-256, but {oid:?}"))?;
            (size, Checksum::Sha256(digest))
        }
        None if is_git(&oid) => (size, Checksum::GitBlob(oid)),
        None => return Err(format!("{path} has no Git object, but {oid:?}")),
    };
    Ok(TreeFile { path, size, checksum })
}

/// A SHA-1 in hex, as Git writes it.
fn is_git(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA1: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    #[test]
    fn a_revision_is_a_commit() {
        let with = |sha: &str| commit(format!(r#"{{"id":"a/b","sha":"{sha}","siblings":[]}}"#).as_bytes());
        assert_eq!(with(SHA1), Ok(SHA1.to_owned()));
        for bad in ["main", "", "../../x", &SHA1.to_uppercase()] {
            assert!(with(bad).is_err(), "{bad}");
        }
        assert!(commit(b"<html>").is_err());
    }

    #[test]
    fn a_tree_has_files_with_their_checksums() {
        let sha256 = "b".repeat(64);
        let body = format!(
            r#"[{{"type":"directory","oid":"{SHA1}","size":0,"path":"sub"}},
                {{"type":"file","oid":"{SHA1}","size":3,"path":"sub/a.json"}},
                {{"type":"file","oid":"{SHA1}","size":134,"path":"b.bin","xetHash":"x",
                  "lfs":{{"oid":"{sha256}","size":99,"pointerSize":134}}}}]"#
        );
        let files = files(body.as_bytes()).unwrap();
        let path = |text: &str| FilePath::parse(text).unwrap();
        let expected = [
            TreeFile {
                path: path("sub/a.json"),
                size: 3,
                checksum: Checksum::GitBlob(SHA1.to_owned()),
            },
            TreeFile {
                path: path("b.bin"),
                size: 99,
                checksum: Checksum::Sha256(format!("sha256:{sha256}").parse().unwrap()),
            },
        ];
        assert_eq!(files, expected);
    }

    #[test]
    fn hostile_entries_are_refused_with_their_name() {
        let entry = |kind: &str, path: &str, oid: &str, lfs: &str| {
            let lfs = match lfs {
                "" => String::new(),
                oid => format!(r#","lfs":{{"oid":"{oid}","size":1}}"#),
            };
            let body = format!(r#"[{{"type":"{kind}","path":"{path}","oid":"{oid}","size":1{lfs}}}]"#);
            files(body.as_bytes())
        };
        assert!(entry("file", "a", SHA1, "").is_ok());
        for (kind, path, oid, lfs) in [
            ("file", "../a", SHA1, ""),
            ("file", "/etc/passwd", SHA1, ""),
            ("file", "a\\\\..\\\\b", SHA1, ""),
            ("symlink", "a", SHA1, ""),
            ("file", "a", "x", ""),
            ("file", "a", SHA1, "../../x"),
        ] {
            let reason = entry(kind, path, oid, lfs).unwrap_err();
            assert!(reason.contains(path) || reason.contains("\"a"), "{reason}");
        }
    }
}
