//! Reads a blueprint's folder: every file, and only names that a chart can have.

use std::fs;
use std::path::Path;

use super::{Files, SUFFIX};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;

/// The maximum size of a blueprint's file, in bytes: Helm's limit for a chart's file.
const MAX_FILE_BYTES: usize = 5 * 1024 * 1024;
/// The maximum total size of a blueprint, in bytes.
const MAX_BLUEPRINT_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of files of a blueprint.
const MAX_FILES: usize = 5_000;
/// The maximum nesting of a blueprint's folders.
const MAX_DEPTH: usize = 32;

/// All files of a blueprint's folder, by path. Links are not followed: a blueprint may come from elsewhere.
pub(super) fn read(folder: &Path) -> Result<Files> {
    if !folder.is_dir() {
        let problem = if folder.exists() {
            "is not a folder"
        } else {
            "does not exist"
        };
        let one = Diagnostic::error(
            Class::Config,
            format!("the blueprint {} {problem}", folder.display()),
        );
        return Err(one.note("blueprint.path is relative to the config file").into());
    }
    let mut files = Files::new();
    let mut bytes = 0;
    let mut open = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = open.pop() {
        let cannot = |error: std::io::Error| fsio::cannot("read", &folder, &error, Class::Config);
        for entry in fs::read_dir(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let shown = entry.path().display().to_string();
            let refuse = |problem: &str| Diagnostic::error(Class::Template, format!("{shown} {problem}"));
            let Some(path) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
                return Err(refuse("has a name that is not UTF-8").into());
            };
            check_name(&path).map_err(refuse)?;
            let kind = entry.file_type().map_err(cannot)?;
            if kind.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(refuse("nests too deeply").into());
                }
                open.push((entry.path(), format!("{path}/"), depth + 1));
                continue;
            }
            if !kind.is_file() {
                return Err(refuse("is neither a file nor a folder; a blueprint holds nothing else").into());
            }
            let content = fsio::read_bytes(&entry.path(), MAX_FILE_BYTES, Class::Template)?;
            bytes += content.len();
            files.push((path, content));
            if files.len() > MAX_FILES || bytes > MAX_BLUEPRINT_BYTES {
                return Err(refuse("is one too many: the blueprint is too large").into());
            }
        }
    }
    files.sort();
    check_folders(&files)?;
    Ok(files)
}

/// Checks that the resulting path is one that archives can hold and Helm accepts.
fn check_name(path: &str) -> std::result::Result<(), &'static str> {
    if path.contains('\\') || path.chars().any(char::is_control) {
        return Err("has a backslash or a control character in its name, which Helm refuses");
    }
    let target = path.strip_suffix(SUFFIX).unwrap_or(path);
    let name = target.rsplit('/').next().unwrap_or(target);
    if matches!(name, "" | "." | "..") {
        return Err("has no name without its suffix");
    }
    Ok(())
}

/// `a.jinja` and a folder `a` would become a file and a folder with the same name.
fn check_folders(files: &Files) -> Result<()> {
    let problems = files.iter().filter_map(|(path, _)| {
        let folder = format!("{}/", path.strip_suffix(SUFFIX)?);
        let (inside, _) = files.iter().find(|(other, _)| other.starts_with(&folder))?;
        let message = format!("{path} becomes a file where {inside} needs a folder");
        Some(Diagnostic::error(Class::Template, message))
    });
    Diagnostics::or(problems.collect(), ())
}
