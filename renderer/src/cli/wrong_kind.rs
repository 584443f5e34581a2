//! Recognises files that were given as a config but are something else, and suggests the command for them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use crate::config::MAX_CONFIG_BYTES;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::source::Source;
use crate::value::Map;
use crate::yaml;

/// The top-level keys that only a config has.
const CONFIG_KEYS: [&str; 4] = ["type", "release", "bootstrap", "blueprint"];

/// Reads a config; a file of another recognised kind is refused with a hint.
pub(crate) fn read_config_text(path: &Path, stdin: impl std::io::Read) -> Result<Arc<Source>> {
    if path == Path::new("-") {
        return fsio::read_text_from(stdin, "<stdin>", MAX_CONFIG_BYTES, Class::Config);
    }
    if let Some(problem) = folder_or_archive(path) {
        return Err(problem.into());
    }
    let source = fsio::read_text(path, MAX_CONFIG_BYTES, Class::Config)?;
    match other_yaml(path, &source) {
        Some(problem) => Err(problem.into()),
        None => Ok(source),
    }
}

fn wrong(path: &Path, what: &str) -> Diagnostic {
    Diagnostic::error(
        Class::Config,
        format!("{} is {what}, not a config", path.display()),
    )
}

fn folder_or_archive(path: &Path) -> Option<Diagnostic> {
    let shown = path.display();
    if path.is_dir() && path.join("Chart.yaml").is_file() {
        let one = wrong(path, "a chart folder");
        return Some(one.hint(format!(
            "`solar-render push {shown} TARGET` pushes it; package, digest, template and lint take it, too"
        )));
    }
    if path.is_dir() {
        let one = wrong(path, "a folder");
        return Some(one.hint(format!(
            "name the config in it, or publish all charts below it: `solar-render publish {shown} TARGET`"
        )));
    }
    is_archive(path).then(|| {
        wrong(path, "a chart archive").hint(format!(
            "`solar-render push {shown} TARGET` pushes it; digest, template and lint take it, too"
        ))
    })
}

/// Valid YAML without any key of a config.
fn other_yaml(path: &Path, source: &Arc<Source>) -> Option<Diagnostic> {
    let value = yaml::parse(source, Class::Config, &yaml::Limits::default())
        .ok()?
        .into_value();
    let map = value.as_map().filter(|map| !map.is_empty())?;
    let has = |key: &str| map.get(key).is_some();
    if CONFIG_KEYS.iter().any(|key| has(key)) {
        return None;
    }
    let shown = path.display();
    if has("apiVersion") && has("kind") {
        let one = wrong(path, "a Kubernetes manifest");
        return Some(one.hint("a config has `type: release`, `bootstrap` or `blueprint` at its top"));
    }
    if has("apiVersion") && has("name") && has("version") {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).display();
        let one = wrong(path, "the Chart.yaml of a chart folder");
        return Some(one.hint(format!(
            "name the folder: `solar-render push {folder} TARGET` or `solar-render template {folder}`"
        )));
    }
    looks_like_values(map).then(|| {
        wrong(path, "what looks like a values file")
            .note("none of `type`, `release`, `bootstrap` and `blueprint` is at its top")
            .hint(format!(
                "`solar-render template CHART -f {shown}` renders a chart with them"
            ))
    })
}

/// One unknown key may be a typo in a config; several can't.
fn looks_like_values(map: &Map) -> bool {
    let near = |key: &str| crate::diag::did_you_mean(key, CONFIG_KEYS).is_some();
    !map.iter().any(|(key, _)| near(key))
}

/// Whether a file is an archive: by its name, or by gzip's first bytes.
pub(crate) fn is_archive(path: &Path) -> bool {
    if path.extension().is_some_and(|extension| extension == "tgz") {
        return path.exists();
    }
    let mut magic = [0; 2];
    // Reading from a pipe would consume it.
    path.is_file()
        && File::open(path)
            .and_then(|mut file| file.read_exact(&mut magic))
            .is_ok()
        && magic == [0x1f, 0x8b]
}
