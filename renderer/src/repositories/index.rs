//! A repository's index.yaml: parsed for `search repo`, cached where Helm caches it, and generated from a folder of
//! archives for `repo index`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::{MAX_INDEX, is_version};
use crate::chart::load;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::semver::Version;
use crate::source::Source;
use crate::value::{Map, Value, write_json_string};
use crate::yaml;

/// The maximum number of archives of a generated index.
pub(crate) const MAX_ARCHIVES: usize = 100_000;

/// A version of a chart, with the fields that a search reads.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedVersion {
    /// Its version.
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) app_version: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) keywords: Vec<String>,
}

/// The charts of an index in the order of their names, each with its versions, newest first.
pub(crate) type ListedCharts = Vec<(String, Vec<ListedVersion>)>;

/// Parses an index; invalid entries are skipped, as in Helm.
///
/// # Errors
/// Class protocol: not YAML, or not an index.
pub(crate) fn parse(source: &Arc<Source>) -> Result<ListedCharts> {
    let node = yaml::parse(source, Class::Protocol, &yaml::Limits::default())?;
    let none = || {
        let message = format!("{} is not the index of a chart repository", source.name());
        Diagnostic::error(Class::Protocol, message)
    };
    let Value::Map(top) = node.to_value() else {
        return Err(none().into());
    };
    if top
        .get("apiVersion")
        .and_then(Value::as_str)
        .is_none_or(str::is_empty)
    {
        return Err(none().note("it has no apiVersion").into());
    }
    let Some(Value::Map(entries)) = top.get("entries") else {
        return Ok(Vec::new());
    };
    let versions = |list: &Value| {
        let Value::List(list) = list else {
            return Vec::new();
        };
        let read = |one: &Value| serde_json::from_str::<ListedVersion>(&one.to_json()).ok();
        let with_version = |one: ListedVersion| Some((Version::parse(&one.version).ok()?, one));
        let mut all: Vec<(Version, ListedVersion)> =
            list.iter().filter_map(read).filter_map(with_version).collect();
        all.sort_by(|a, b| b.0.precedence(&a.0));
        all.into_iter().map(|(_, one)| one).collect()
    };
    let charts = entries.iter().map(|(name, list)| (name.clone(), versions(list)));
    Ok(charts.filter(|(_, versions)| !versions.is_empty()).collect())
}

/// The cache file of a repository's index.
pub(crate) fn cached_file(cache: &Path, repository: &str) -> PathBuf {
    cache.join(file_name(repository, "index.yaml"))
}

fn names_file(cache: &Path, repository: &str) -> PathBuf {
    cache.join(file_name(repository, "charts.txt"))
}

/// `repo add` refuses names with a slash; a hand-written list may have one, which must not escape the cache folder.
fn file_name(repository: &str, what: &str) -> String {
    format!("{}-{what}", repository.replace(['/', '\\'], "-"))
}

/// Caches an index, and the names of its charts, which Helm's completion reads.
///
/// # Errors
/// Not an index; an I/O error.
pub(crate) fn keep(cache: &Path, repository: &str, url: &str, text: Vec<u8>) -> Result<()> {
    let source = fsio::text_of(&format!("{url}'s index.yaml"), text, Class::Protocol)?;
    let names: String = parse(&source)?
        .iter()
        .map(|(name, _)| format!("{name}\n"))
        .collect();
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| fsio::cannot("write", &path, &error, Class::Io)
    };
    fs::create_dir_all(cache).map_err(cannot(cache))?;
    for (path, text) in [
        (names_file(cache, repository), names.as_str()),
        (cached_file(cache, repository), source.text()),
    ] {
        fsio::write_atomically(&path, text.as_bytes()).map_err(cannot(&path))?;
    }
    Ok(())
}

/// Removes a repository's index from the cache.
pub(crate) fn forget(cache: &Path, repository: &str) -> Result<()> {
    for path in [cached_file(cache, repository), names_file(cache, repository)] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(fsio::cannot("remove", &path, &error, Class::Io));
            }
            _ => {}
        }
    }
    Ok(())
}

/// An entry of a generated index.
struct MadeEntry {
    version: String,
    /// The entry with all its fields.
    value: Value,
    /// The entry as JSON, in the order of Helm's struct for known fields.
    json: String,
}

/// A generated index.
#[derive(Default)]
pub(crate) struct MadeIndex {
    generated: String,
    entries: BTreeMap<String, Vec<MadeEntry>>,
}

impl MadeIndex {
    /// Creates an index of the archives in a folder and its subfolders; `url` is the prefix of their paths.
    ///
    /// # Errors
    /// An archive that is not a chart; an I/O error.
    pub(crate) fn of_folder(folder: &Path, url: &str, now: &str) -> Result<Self> {
        let mut index = Self {
            generated: now.to_owned(),
            ..Self::default()
        };
        for path in archives(folder)? {
            let relative = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            let address = match url.trim_end_matches('/') {
                "" => relative,
                url => format!("{url}/{relative}"),
            };
            let metadata = Arc::clone(&load::load(&path)?.metadata);
            let (digest, _) =
                fsio::digest_of(&path).map_err(|error| fsio::cannot("read", &path, &error, Class::Io))?;
            let mut json = String::from_utf8_lossy(&metadata.config).trim_end().to_owned();
            // More fields are appended to the object.
            json.truncate(json.strip_suffix('}').map_or(json.len(), str::len));
            let mut quoted = String::new();
            write_json_string(&address, &mut quoted);
            json.push_str(&format!(
                ",\"urls\":[{quoted}],\"created\":\"{now}\",\"digest\":\"{}\"}}",
                digest.hex()
            ));
            let mut value = metadata.value()?;
            if let Value::Map(fields) = &mut value {
                fields.insert("urls", Value::List(vec![Value::from(address)]));
                fields.insert("created", Value::from(now));
                fields.insert("digest", Value::from(digest.hex()));
            }
            index.add(
                &metadata.name,
                MadeEntry {
                    version: metadata.version.clone(),
                    value,
                    json,
                },
            );
        }
        Ok(index)
    }

    fn add(&mut self, name: &str, entry: MadeEntry) {
        self.entries.entry(name.to_owned()).or_default().push(entry);
    }

    /// Adds the entries of another index that this one lacks.
    ///
    /// # Errors
    /// A file that is not an index.
    pub(crate) fn merge(&mut self, path: &Path) -> Result<()> {
        let source = fsio::read_text(path, MAX_INDEX, Class::Chart)?;
        let value = yaml::parse(&source, Class::Chart, &yaml::Limits::default())?.into_value();
        let entries = value.as_map().and_then(|top| top.get("entries"));
        let Some(Value::Map(entries)) = entries else {
            let message = format!("{} is not the index of a chart repository", path.display());
            return Err(Diagnostic::error(Class::Chart, message).into());
        };
        for (name, list) in entries.iter() {
            let Value::List(list) = list else { continue };
            for one in list {
                let version = one.as_map().and_then(|one| one.get("version")?.as_str());
                let version = version.unwrap_or_default().to_owned();
                let known = self
                    .entries
                    .get(name)
                    .is_some_and(|known| known.iter().any(|known| is_version(&known.version, &version)));
                if !known {
                    let entry = MadeEntry {
                        version,
                        value: one.clone(),
                        json: one.to_json(),
                    };
                    self.add(name, entry);
                }
            }
        }
        Ok(())
    }

    /// Newest first, entries without a version last.
    fn sorted(&self) -> impl Iterator<Item = (&String, Vec<&MadeEntry>)> {
        self.entries.iter().map(|(name, list)| {
            let mut list: Vec<&MadeEntry> = list.iter().collect();
            let version = |one: &MadeEntry| Version::parse(&one.version).ok();
            list.sort_by(|a, b| match (version(a), version(b)) {
                (Some(a), Some(b)) => b.precedence(&a),
                (a, b) => b.is_some().cmp(&a.is_some()),
            });
            (name, list)
        })
    }

    /// The index as Helm writes it.
    pub(crate) fn to_yaml(&self) -> String {
        let entries = self.sorted().map(|(name, list)| {
            let list = list.into_iter().map(|one| one.value.clone());
            (name.as_str(), Value::List(list.collect()))
        });
        let top = [
            ("apiVersion", Value::from("v1")),
            ("entries", Value::Map(entries.collect())),
            ("generated", Value::from(self.generated.as_str())),
        ];
        yaml::write(&Value::Map(top.into_iter().collect::<Map>()))
    }

    /// The index as Helm writes it with `--json`.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        let _ = write_entries(self, &mut out);
        indented(&out)
    }
}

fn write_entries(index: &MadeIndex, out: &mut String) -> std::fmt::Result {
    use std::fmt::Write as _;
    write!(
        out,
        "{{\"apiVersion\":\"v1\",\"generated\":\"{}\",\"entries\":{{",
        index.generated
    )?;
    for (number, (name, list)) in index.sorted().enumerate() {
        out.push_str(if number > 0 { "," } else { "" });
        write_json_string(name, out);
        let list: Vec<&str> = list.iter().map(|one| one.json.as_str()).collect();
        write!(out, ":[{}]", list.join(","))?;
    }
    out.push_str("}}");
    Ok(())
}

/// JSON with a line for each value, indented by two spaces.
fn indented(compact: &str) -> String {
    let mut out = String::with_capacity(compact.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    let mut characters = compact.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    while let Some(c) = characters.next() {
        if in_text {
            in_text = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        match c {
            '{' | '[' if characters.peek().is_some_and(|next| matches!(next, '}' | ']')) => {
                out.push(c);
                out.extend(characters.next());
            }
            '{' | '[' => {
                depth += 1;
                out.push(c);
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c => {
                in_text = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// The archives in a folder, then those in its subfolders, in Helm's order.
fn archives(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |error: io::Error| fsio::cannot("read", folder, &error, Class::Chart);
    let list = |folder: &Path| -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    };
    let is_archive =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "tgz") && path.is_file();
    let top = list(folder).map_err(cannot)?;
    let mut all: Vec<PathBuf> = top.iter().filter(|path| is_archive(path)).cloned().collect();
    for below in top.iter().filter(|path| path.is_dir()) {
        all.extend(list(below).map_err(cannot)?.into_iter().filter(is_archive));
        if all.len() > MAX_ARCHIVES {
            let message = format!("{} has more than {MAX_ARCHIVES} archives", folder.display());
            return Err(Diagnostic::error(Class::Chart, message).into());
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_a_list_never_escapes_the_cache() {
        let cache = Path::new("/cache");
        for name in ["../../x", "/x", "a\\b", ".."] {
            for path in [cached_file(cache, name), names_file(cache, name)] {
                assert_eq!(path.parent(), Some(cache), "{}", path.display());
            }
        }
        assert_eq!(cached_file(cache, "stable"), cache.join("stable-index.yaml"));
    }

    #[test]
    fn an_index_is_sorted_newest_first_and_invalid_entries_are_skipped() {
        let text = "apiVersion: v1\nentries:\n  b: [{version: 1.0.0}, {version: 1.10.0, appVersion: x, keywords: [k]}, {version: no}, 7]\n  a: []\n  c: 7\n";
        let charts = parse(&Source::new("i", text)).unwrap();
        let (name, versions) = charts.first().unwrap();
        let shown: Vec<&str> = versions.iter().map(|one| one.version.as_str()).collect();
        assert_eq!(
            (charts.len(), name.as_str(), shown),
            (1, "b", vec!["1.10.0", "1.0.0"])
        );
        for bad in ["entries: {}", "<html>", "[]", "apiVersion: ''"] {
            assert!(parse(&Source::new("i", bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn json_is_indented_only_outside_of_strings() {
        let compact = r#"{"a":[1,{"b":"x,{:\"}"}],"c":{},"d":[]}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x,{:\\\"}\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}";
        assert_eq!(indented(compact), expected);
    }
}
