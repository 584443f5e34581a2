//! The schemas of CRDs: those of a chart, and those that a user gives.
//!
//! CRDs are megabytes of YAML of which few are needed: each text is kept, and decoded when an object of its kind is
//! checked.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::structural::Structural;
use crate::chart::load;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::manifest::split;
use crate::engine::{ParsedChart, RenderRequest};
use crate::fsio;
use crate::source::Source;
use crate::yaml::{self, Node};

/// The most files of CRDs in a folder that is given.
pub const MAX_CRD_FILES: usize = 10_000;
/// The most levels of folders below it.
const MAX_CRD_DEPTH: usize = 20;
/// The largest file of CRDs, in bytes.
const MAX_CRD_BYTES: usize = 64 << 20;

/// A document with a CRD.
#[derive(Debug)]
struct CrdText {
    source: Arc<Source>,
    /// Its group and kind, if they are found without decoding all of it.
    head: Option<(String, String)>,
    decoded: OnceLock<std::result::Result<Crd, String>>,
}

/// A decoded CRD.
#[derive(Debug)]
struct Crd {
    group: String,
    kind: String,
    versions: Vec<CrdVersion>,
}

#[derive(Debug)]
struct CrdVersion {
    name: String,
    served: bool,
    schema: Structural,
}

/// CRDs, by the order in which they are searched.
#[derive(Debug, Default)]
pub struct CrdSchemas {
    texts: Vec<CrdText>,
}

/// What CRDs know of a kind.
#[derive(Debug)]
pub(super) enum KnownCustom<'s> {
    /// Its schema.
    Served(&'s Structural),
    /// Only other versions of it are served.
    In(Vec<&'s str>),
    /// The CRD can't be used.
    Invalid(&'s Source, &'s str),
    Unknown,
}

impl CrdSchemas {
    /// Adds the CRDs among a text's documents.
    pub fn add(&mut self, name: &str, text: &str) {
        for range in split(text) {
            let document = text.get(range).unwrap_or("");
            if document.contains("CustomResourceDefinition") {
                self.texts.push(CrdText {
                    source: Source::new(name, document),
                    head: head(document),
                    decoded: OnceLock::new(),
                });
            }
        }
    }

    /// Adds the CRDs of a file, of the YAML and JSON files in a folder, or of a chart: those of its crds folder and those
    /// that it renders with its own values.
    ///
    /// # Errors
    /// Class usage: nothing is there, or there are too many files. Class io or chart: it can't be read or rendered.
    pub fn add_path(&mut self, path: &Path) -> Result<()> {
        let before = self.texts.len();
        let is_archive = path.extension().is_some_and(|end| end == "tgz" || end == "gz");
        if path.join("Chart.yaml").is_file() || path.is_file() && is_archive {
            self.add_chart(path)?;
        } else {
            let mut files = Vec::new();
            match path.is_dir() {
                true => collect(path, 0, &mut files)?,
                false => files.push(path.to_owned()),
            }
            for file in files {
                let source = fsio::read_text(&file, MAX_CRD_BYTES, Class::Chart)?;
                self.add(source.name(), source.text());
            }
        }
        if self.texts.len() == before {
            let message = format!("there is no CustomResourceDefinition in {}", path.display());
            return Err(Diagnostic::error(Class::Usage, message).into());
        }
        Ok(())
    }

    fn add_chart(&mut self, path: &Path) -> Result<()> {
        let chart = ParsedChart::new(load::load(path)?);
        let rendered = chart.render(&RenderRequest::new("crds"))?;
        for crd in &rendered.crds {
            self.add(&crd.name, &crd.body.text());
        }
        for (name, text) in &rendered.texts {
            self.add(name, text);
        }
        Ok(())
    }

    /// What is known of a kind.
    pub(super) fn find(&self, api_version: &str, kind: &str) -> KnownCustom<'_> {
        let Some((group, version)) = api_version.split_once('/') else {
            return KnownCustom::Unknown;
        };
        let mut others = Vec::new();
        let may_be = |text: &&CrdText| {
            let head = text.head.as_ref();
            head.is_none_or(|(of_group, of_kind)| of_group == group && of_kind == kind)
        };
        for text in self.texts.iter().filter(may_be) {
            match text.decoded.get_or_init(|| decode(&text.source)) {
                Ok(crd) if crd.group == group && crd.kind == kind => {
                    for one in crd.versions.iter().filter(|one| one.served) {
                        if one.name == version {
                            return KnownCustom::Served(&one.schema);
                        }
                        others.push(one.name.as_str());
                    }
                }
                Err(reason) if text.head.is_some() => return KnownCustom::Invalid(&text.source, reason),
                Ok(_) | Err(_) => {}
            }
        }
        match others.is_empty() {
            true => KnownCustom::Unknown,
            false => KnownCustom::In(others),
        }
    }
}

/// The YAML and JSON files below a folder, sorted. Links are not followed: they may be cyclic.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let too_many = |what: String| Err(Diagnostics::from(Diagnostic::error(Class::Usage, what)));
    if depth > MAX_CRD_DEPTH {
        return too_many(format!(
            "{} nests deeper than {MAX_CRD_DEPTH} folders",
            folder.display()
        ));
    }
    let cannot = |error: std::io::Error| fsio::cannot("read", folder, &error, Class::Io);
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        entries.push((entry.path(), entry.file_type().map_err(cannot)?));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (path, kind) in entries {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        if kind.is_dir() {
            collect(&path, depth + 1, files)?;
        } else if kind.is_file() && matches!(end, "yaml" | "yml" | "json") {
            files.push(path);
        }
        if files.len() > MAX_CRD_FILES {
            return too_many(format!(
                "there are more than {MAX_CRD_FILES} files of CRDs, which are the most"
            ));
        }
    }
    Ok(())
}

/// Group and kind of a CRD that is written as usual: `spec` with two blanks, before its versions.
fn head(text: &str) -> Option<(String, String)> {
    let (mut group, mut kind, mut in_names) = (None, None, false);
    for line in text.lines() {
        let value = |line: &str| line.trim().trim_matches(['"', '\'']).to_owned();
        if let Some(rest) = line.strip_prefix("  group:") {
            group = Some(value(rest));
        } else if line.trim_end() == "  names:" {
            in_names = true;
        } else if line.starts_with("    ") {
            let rest = line.strip_prefix("    kind:").filter(|_| in_names);
            kind = kind.or(rest.map(value));
        } else {
            in_names = false;
        }
        if let (Some(group), Some(kind)) = (&group, &kind) {
            return Some((group.clone(), kind.clone()));
        }
    }
    None
}

fn decode(source: &Arc<Source>) -> std::result::Result<Crd, String> {
    let node =
        yaml::parse(source, Class::Chart, &yaml::Limits::default()).map_err(|error| error.to_string())?;
    let spec = node.get("spec").ok_or("it has no spec")?;
    let text = |node: Option<&Node>, what: &str| {
        let text = node.and_then(Node::as_str).map(str::to_owned);
        text.ok_or_else(|| format!("it has no {what}"))
    };
    let versions = spec.get("versions").map(Node::items).unwrap_or_default();
    if versions.is_empty() {
        return Err("it has no versions".to_owned());
    }
    let versions = versions.iter().map(|version| {
        let schema = version
            .get("schema")
            .and_then(|schema| schema.get("openAPIV3Schema"));
        Ok(CrdVersion {
            name: text(version.get("name"), "name of a version")?,
            served: !matches!(
                version.get("served").map(|node| &node.kind),
                Some(yaml::Kind::Bool(false))
            ),
            schema: Structural::read(schema.ok_or("a version has no schema.openAPIV3Schema")?),
        })
    });
    Ok(Crd {
        group: text(spec.get("group"), "spec.group")?,
        kind: text(
            spec.get("names").and_then(|names| names.get("kind")),
            "spec.names.kind",
        )?,
        versions: versions.collect::<std::result::Result<_, String>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b.c}\n\
                       spec:\n  group: \"b.c\"\n  names:\n    plural: as\n    kind: A\n  versions:\n  - name: v1\n    \
                       served: true\n    schema: {openAPIV3Schema: {type: object}}\n  - {name: v0, served: false, \
                       schema: {openAPIV3Schema: {}}}\n";

    #[test]
    fn a_crd_is_found_by_group_kind_and_version() {
        let mut all = CrdSchemas::default();
        all.add("a.yaml", &format!("kind: ConfigMap\n---\n{CRD}"));
        assert_eq!(all.texts[0].head, Some(("b.c".to_owned(), "A".to_owned())));
        assert!(matches!(all.find("b.c/v1", "A"), KnownCustom::Served(_)));
        assert!(matches!(all.find("b.c/v0", "A"), KnownCustom::In(versions) if versions == ["v1"]));
        assert!(matches!(all.find("b.c/v1", "B"), KnownCustom::Unknown));
        assert!(matches!(all.find("v1", "A"), KnownCustom::Unknown));
    }

    #[test]
    fn a_crd_in_another_style_is_decoded_to_know_its_kind() {
        let mut all = CrdSchemas::default();
        all.add(
            "a.json",
            r#"{"kind": "CustomResourceDefinition", "spec": {"group": "b.c", "names": {"kind": "A"},
                "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {}}}]}}"#,
        );
        assert_eq!(all.texts[0].head, None);
        assert!(matches!(all.find("b.c/v1", "A"), KnownCustom::Served(_)));
    }

    #[test]
    fn a_crd_without_a_schema_is_refused_with_the_reason() {
        let mut all = CrdSchemas::default();
        all.add("a.yaml", &CRD.replace("schema:", "schemas:"));
        assert!(
            matches!(all.find("b.c/v1", "A"), KnownCustom::Invalid(_, reason) if reason.contains("schema"))
        );
    }

    #[test]
    fn folders_are_read_up_to_their_limits() {
        let folder = tempfile::tempdir().unwrap();
        let mut deep = folder.path().to_owned();
        for _ in 0..=MAX_CRD_DEPTH {
            deep.push("d");
        }
        std::fs::create_dir_all(&deep).unwrap();
        let refused = CrdSchemas::default().add_path(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("nests deeper"), "{refused}");
        let folder = tempfile::tempdir().unwrap();
        for index in 0..=MAX_CRD_FILES {
            std::fs::write(folder.path().join(format!("{index}.yaml")), "").unwrap();
        }
        let refused = CrdSchemas::default().add_path(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("10000 files"), "{refused}");
    }
}
