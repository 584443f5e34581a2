//! Chart.lock as Helm 4.3.1 writes it, with the archives' digests beside the versions. Pure.
//!
//! Helm considers a lock current if its `digest` is that of the declared and the locked dependencies; it ignores
//! unknown fields such as our `contentDigest`.

use serde::{Deserialize, Deserializer, Serialize};
use sha2::Digest as _;

use crate::chart::metadata::Metadata;
use crate::diag::{Class, Diagnostic, Result};
use crate::reference::Digest;
use crate::source::Source;
use crate::value::{Map, Value};
use crate::yaml;

/// The maximum size of a lock, in bytes.
pub(super) const MAX_LOCK: usize = 1 << 20;

/// A dependency with the fields of Helm's struct, in its order: the hash depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Dependency {
    /// The chart's name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// A version or a range; in a lock a version.
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Its location: `oci://…`, `file://…`, `https://…`, `@name`; empty for one in `charts/` itself.
    #[serde(deserialize_with = "text")]
    pub repository: String,
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    condition: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_false")]
    enabled: bool,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    import_values: Vec<serde_json::Value>,
    #[serde(deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    alias: String,
    /// In a lock: the archive's digest. Not Helm's, and not part of the hash.
    #[serde(rename = "contentDigest", deserialize_with = "text", skip_serializing)]
    content_digest: String,
}

/// The chosen versions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Lock {
    #[serde(deserialize_with = "text")]
    pub(super) generated: String,
    #[serde(deserialize_with = "text")]
    pub(super) digest: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) dependencies: Vec<Dependency>,
}

impl Dependency {
    /// The dependency with an exact version, as in a lock.
    pub(super) fn locked(&self, version: &str, content: Option<&Digest>) -> Self {
        Self {
            name: self.name.clone(),
            version: version.to_owned(),
            repository: self.repository.clone(),
            content_digest: content.map(ToString::to_string).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The archive's digest in the lock; `Err` is a text that is not a digest.
    pub(super) fn content(&self) -> std::result::Result<Option<Digest>, String> {
        if self.content_digest.is_empty() {
            return Ok(None);
        }
        self.content_digest
            .parse()
            .map(Some)
            .map_err(|error: crate::reference::ReferenceError| error.to_string())
    }
}

/// The dependencies of a chart.
pub fn wanted(metadata: &Metadata) -> Vec<Dependency> {
    #[derive(Deserialize)]
    struct DeclaredDependencies {
        #[serde(default, deserialize_with = "or_default")]
        dependencies: Vec<Dependency>,
    }
    // The config blob is Helm's struct; it was checked when it was created.
    serde_json::from_slice(&metadata.config)
        .map_or_else(|_| Vec::new(), |config: DeclaredDependencies| config.dependencies)
}

/// The hash by which Helm recognises that a lock belongs to these dependencies.
pub(super) fn hash(wanted: &[Dependency], locked: &[Dependency]) -> String {
    sha256(&[wanted, locked])
}

/// The hash of Helm 2, which charts of apiVersion v1 may have.
pub(super) fn hash_v2(wanted: &[Dependency]) -> String {
    sha256(&std::collections::BTreeMap::from([("dependencies", wanted)]))
}

fn sha256(data: &impl Serialize) -> String {
    // Strings and lists always serialise. Go's encoder escapes HTML characters.
    let text = serde_json::to_string(data).unwrap_or_default();
    let text = text
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    Digest::from_sha256(&sha2::Sha256::digest(text).into()).to_string()
}

impl Lock {
    /// Parses a lock; an empty file is `None`.
    pub(super) fn parse(source: &std::sync::Arc<Source>) -> Result<Option<Self>> {
        let limits = yaml::Limits {
            bytes: MAX_LOCK,
            ..yaml::Limits::default()
        };
        let node = yaml::parse(source, Class::Chart, &limits)?;
        if node.is_null() {
            return Ok(None);
        }
        serde_json::from_str(&node.to_value().to_json())
            .map(Some)
            .map_err(|error| {
                Diagnostic::error(Class::Chart, format!("{} is not a lock: {error}", source.name()))
                    .hint("`dependency update` writes it anew")
                    .into()
            })
    }

    /// The lock as Helm writes it.
    pub(super) fn to_yaml(&self) -> String {
        let map = |pairs: Vec<(&str, Value)>| {
            let mut map = Map::default();
            for (name, value) in pairs {
                map.insert(name, value);
            }
            Value::Map(map)
        };
        let entry = |one: &Dependency| {
            let mut pairs = vec![
                ("name", Value::from(one.name.as_str())),
                ("repository", Value::from(one.repository.as_str())),
            ];
            if !one.version.is_empty() {
                pairs.push(("version", Value::from(one.version.as_str())));
            }
            if !one.content_digest.is_empty() {
                pairs.push(("contentDigest", Value::from(one.content_digest.as_str())));
            }
            map(pairs)
        };
        yaml::write(&map(vec![
            (
                "dependencies",
                Value::List(self.dependencies.iter().map(entry).collect()),
            ),
            ("digest", Value::from(self.digest.as_str())),
            ("generated", Value::from(self.generated.as_str())),
        ]))
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// `null` counts as absent, as in Go.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> std::result::Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A bare number or boolean becomes its text, as in Helm's reader.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
    use serde::de::Error as _;
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Null => Ok(String::new()),
        serde_json::Value::String(text) => Ok(text),
        other @ (serde_json::Value::Bool(_) | serde_json::Value::Number(_)) => Ok(other.to_string()),
        _ => Err(D::Error::custom("expected a string")),
    }
}
