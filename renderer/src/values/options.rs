//! The flags with values: `-f` and the `--set` family.
//!
//! In: the values of the flags. Out: one map, merged in Helm's order: files, then
//! `--set-json`, `--set`, `--set-string`, `--set-file`, `--set-literal`, each in the order
//! given. Null is kept: it deletes keys when a chart's values are merged.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::set::{Meaning, PaddingBudget, floats, set};
use super::value_origins::ValueOrigins;
use crate::chart::values_file::load_noting;
pub use crate::chart::values_file::{load, merge};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::source::{Location, Source, Span};
use crate::value::{Map, Value};
use crate::yaml;

/// The maximum size of a file.
pub const MAX_FILE: usize = yaml::Limits::BYTES;

/// The values of the flags.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ValuesOptions {
    /// `-f`, `--values`: paths, or `-`.
    pub files: Vec<String>,
    /// `--set-json`
    pub json: Vec<String>,
    /// `--set`
    pub typed: Vec<String>,
    /// `--set-string`
    pub text: Vec<String>,
    /// `--set-file`
    pub from_file: Vec<String>,
    /// `--set-literal`
    pub literal: Vec<String>,
}

impl ValuesOptions {
    /// Merges all of them into one map, with their locations. Numbers of files and of JSON are float64, those of
    /// `--set` int64.
    ///
    /// # Errors
    /// Class values: an error in a file or in a flag's value, with its location. Class io: an I/O error.
    pub fn merge(&self, stdin: &mut dyn Read) -> Result<(Map, ValueOrigins)> {
        self.merge_fetching(stdin, &refuse)
    }

    /// As [`merge`](Self::merge); `fetch` fetches the text at an `http://` or `https://` URL.
    ///
    /// # Errors
    /// As [`merge`](Self::merge), and those of `fetch`.
    pub fn merge_fetching(
        &self,
        stdin: &mut dyn Read,
        fetch: FetchValues<'_>,
    ) -> Result<(Map, ValueOrigins)> {
        let Self {
            files,
            json,
            typed,
            text,
            from_file,
            literal,
        } = self;
        let (mut values, mut places) = (Map::default(), ValueOrigins::default());
        for path in files {
            let source = read(path, stdin, fetch)?;
            merge_file(&source, &mut values, &mut places)?;
        }
        let budget = &mut PaddingBudget::default();
        for given in json {
            set_json(given, &mut values, budget)?;
            places.flag("--set-json", given);
        }
        for given in typed {
            merge_flag(given, Meaning::Typed, &mut values, &mut places, budget)?;
        }
        for given in text {
            merge_flag(given, Meaning::Text, &mut values, &mut places, budget)?;
        }
        for given in from_file {
            let mut file = |path: &str| match read(path, stdin, fetch) {
                Ok(source) => Ok(source.text().to_owned()),
                Err(problem) => Err(problem.iter().cloned().map(of_bytes).collect()),
            };
            let meaning = Meaning::File(&mut file);
            merge_flag(given, meaning, &mut values, &mut places, budget)?;
        }
        for given in literal {
            merge_flag(given, Meaning::Literal, &mut values, &mut places, budget)?;
        }
        Ok((values, places))
    }
}

/// Merges a values file, as `--values` does.
pub(crate) fn merge_file(source: &Arc<Source>, values: &mut Map, places: &mut ValueOrigins) -> Result<()> {
    let mut duplicates = Vec::new();
    merge(values, load_noting(source, &mut duplicates)?);
    places.file(source);
    places.duplicates(duplicates);
    Ok(())
}

/// Sets what one flag of the `--set` family says.
pub(crate) fn merge_flag(
    text: &str,
    meaning: Meaning<'_>,
    values: &mut Map,
    places: &mut ValueOrigins,
    budget: &mut PaddingBudget,
) -> Result<()> {
    let flag = meaning.flag();
    set(text, meaning, values, budget)?;
    places.flag(flag, text);
    Ok(())
}

/// A JSON object is merged; anything else is parsed as `key=JSON`.
fn set_json(given: &str, values: &mut Map, budget: &mut PaddingBudget) -> Result<()> {
    let trimmed = given.trim();
    if !trimmed.starts_with('{') {
        return set(given, Meaning::Json, values, budget);
    }
    let source = Source::new("--set-json", given);
    let node = yaml::parse_json(&Source::new("--set-json", trimmed), &yaml::Limits::default());
    if let Some(Value::Map(map)) = node.and_then(|node| floats(node.into_value())) {
        merge(values, map);
        return Ok(());
    }
    let message = format!("failed parsing --set-json data JSON: {given}");
    let place = Location::new(&source, Span::new(0, given.len()));
    Err(Diagnostic::error(Class::Values, message).at(place).into())
}

/// The error for a file that is not text. Its bytes are not shown: such files are often keys.
fn of_bytes(problem: Diagnostic) -> Diagnostic {
    // Only errors of a file's content have a location.
    if problem.location.is_none() {
        return problem;
    }
    let one = Diagnostic {
        location: None,
        ..problem
    };
    one.note("values are texts")
        .hint("encode it, as `base64 -w0 FILE` does, and let the chart use the value without `b64enc`")
}

/// Fetches the text at a URL.
pub type FetchValues<'f> = &'f dyn Fn(&str) -> Result<Arc<Source>>;

/// Refuses to fetch.
fn refuse(url: &str) -> Result<Arc<Source>> {
    let one = Diagnostic::error(Class::Values, format!("values are not fetched: {url}"));
    Err(one
        .note("what is rendered must depend on files alone")
        .hint("fetch it before: `curl -fsS URL | solar-render … -f -`")
        .into())
}

/// Reads a file, standard input for `-`, or a URL.
fn read(path: &str, stdin: &mut dyn Read, fetch: FetchValues<'_>) -> Result<Arc<Source>> {
    if path.trim() == "-" {
        return fsio::read_text_from(stdin, "<stdin>", MAX_FILE, Class::Values);
    }
    let scheme = path
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https") => return fetch(path),
        Some("oci") => return refuse(path),
        _ => {}
    }
    fsio::read_text(Path::new(path), MAX_FILE, Class::Values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(map: Map) -> String {
        Value::Map(map).to_json()
    }

    #[test]
    fn flags_are_merged_in_helms_order() {
        let options = ValuesOptions {
            files: vec!["-".to_owned()],
            json: vec![r#" {"a":{"json":1,"set":1}} "#.to_owned()],
            typed: vec!["a.set=2,a.text=2,a.gone=null".to_owned()],
            text: vec!["a.text=3,a.literal=3".to_owned()],
            from_file: Vec::new(),
            literal: vec!["a.literal=4,{x}".to_owned()],
        };
        let (map, _) = options
            .merge(&mut "a: {file: 0, json: 0, gone: 0}".as_bytes())
            .unwrap();
        let expected = r#"{"a":{"file":0,"gone":null,"json":1,"literal":"4,{x}","set":2,"text":"3"}}"#;
        assert_eq!(json(map), expected);
    }

    /// Its bytes were once shown, as noise.
    #[test]
    fn bytes_of_a_binary_file_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keystore.p12");
        std::fs::write(&path, b"0\x82\xff\xfe\x00abc").unwrap();
        let options = ValuesOptions {
            from_file: vec![format!("k={}", path.display())],
            ..ValuesOptions::default()
        };
        let problem = options.merge(&mut std::io::empty()).unwrap_err();
        let one = problem.iter().next().unwrap();
        assert!(
            one.message.ends_with("is not UTF-8: byte 0x82 at offset 1"),
            "{one}"
        );
        assert!(
            one.location.is_none() && one.hints.iter().any(|hint| hint.contains("base64")),
            "{one}"
        );
        assert!(one.notes.iter().any(|note| note == "for --set-file k=…"), "{one}");
    }

    #[test]
    fn urls_are_refused_with_a_hint() {
        let options = ValuesOptions {
            files: vec!["https://example.org/values.yaml".to_owned()],
            ..ValuesOptions::default()
        };
        let problem = options.merge(&mut std::io::empty()).unwrap_err();
        assert!(problem.iter().all(|one| !one.hints.is_empty()), "{problem}");
    }
}
