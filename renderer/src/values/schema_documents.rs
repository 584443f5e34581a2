//! Schemas that a chart's schema refers to by URL: all are read before validation, from the user's store, so that the
//! limits on schemas apply to all of them together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde_json::{Map, Value as Json};
use url::Url;

use super::schema_bounds::REFERENCES;
use crate::diag::Class;
use crate::fsio;

/// The maximum number of schemas that one may refer to, directly and indirectly.
pub const MAX_DOCUMENTS: usize = 100;
/// The maximum size of such a schema, in bytes.
pub const MAX_DOCUMENT: usize = 4 << 20;

/// The URL of a chart's own schema, as in Helm.
pub(super) const HOME: &str = "file:///values.schema.json";
/// The keyword with the other documents in the bundle that is checked for limits.
const BUNDLED: &str = "x-solar-render-documents";

/// A store of schemas that others refer to.
pub trait SchemaStore: fmt::Debug + Send + Sync {
    /// The text of the schema at a URL, which has no fragment; `None` if it doesn't exist.
    ///
    /// # Errors
    /// Why it can't be read.
    fn read(&self, url: &Url) -> Result<Option<Vec<u8>>, Unread>;
}

/// Why a schema can't be read.
#[derive(Debug, Clone)]
pub struct Unread {
    /// Values, or the class of what failed on the way to it.
    pub class: Class,
    /// In words.
    pub reason: String,
}

impl From<String> for Unread {
    fn from(reason: String) -> Self {
        Self {
            class: Class::Values,
            reason,
        }
    }
}

/// Why the schemas that one refers to can't be used.
#[derive(Debug)]
pub(super) struct DocumentError {
    pub(super) class: Class,
    pub(super) message: String,
    /// The URL that is referred to.
    pub(super) url: Option<Url>,
}

/// An empty store: a schema must contain all it refers to.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSchemas;

impl SchemaStore for NoSchemas {
    fn read(&self, _: &Url) -> Result<Option<Vec<u8>>, Unread> {
        Ok(None)
    }
}

/// A folder with a file `HOST/PATH` for each URL, as `wget -x` creates it; scheme and query are ignored.
#[derive(Debug, Clone)]
pub struct SchemaFolder(pub PathBuf);

impl SchemaStore for SchemaFolder {
    fn read(&self, url: &Url) -> Result<Option<Vec<u8>>, Unread> {
        let Some(host) = url
            .host_str()
            .filter(|_| matches!(url.scheme(), "http" | "https"))
        else {
            return Ok(None);
        };
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        // A URL's path has no `.` and `..`, not even percent-encoded.
        let path = self.0.join(format!("{host}{port}{}", url.path()));
        if !path.is_file() {
            return Ok(None);
        }
        let text = fsio::read_text(&path, MAX_DOCUMENT, Class::Values);
        let text = text.map_err(|problem| problem.to_string())?;
        Ok(Some(text.text().as_bytes().to_vec()))
    }
}

/// Schemas by URL.
#[derive(Debug, Default)]
pub(super) struct Documents {
    by_url: BTreeMap<String, Json>,
    /// The locations in them that other documents refer to.
    targets: BTreeSet<(String, String)>,
    /// Whether the schema of a draft is referred to.
    pub(super) refers_to_draft: bool,
}

impl Documents {
    /// Reads all documents that a schema refers to, also indirectly. Missing ones are reported when they are resolved.
    pub(super) fn collect(
        root: &Json,
        store: &dyn SchemaStore,
        name_draft: &dyn Fn(&mut Json),
    ) -> Result<Self, DocumentError> {
        let mut documents = Self::default();
        let all = |message: String| DocumentError {
            class: Class::Values,
            message,
            url: None,
        };
        let home = Url::parse(HOME).map_err(|error| all(error.to_string()))?;
        let mut wanted = documents.note(root, &home);
        while let Some(url) = wanted.pop_first() {
            if documents.by_url.contains_key(url.as_str()) {
                continue;
            }
            let failed = |unread: Unread| DocumentError {
                class: unread.class,
                message: format!("values.schema.json refers to {url}: {}", unread.reason),
                url: Some(url.clone()),
            };
            let Some(text) = store.read(&url).map_err(failed)? else {
                continue;
            };
            if documents.by_url.len() >= MAX_DOCUMENTS {
                return Err(all(format!(
                    "values.schema.json refers to more than {MAX_DOCUMENTS} schemas"
                )));
            }
            let parsed = serde_json::from_slice(&text);
            let mut schema: Json =
                parsed.map_err(|error| failed(format!("it is not JSON: {error}").into()))?;
            name_draft(&mut schema);
            wanted.append(&mut documents.note(&schema, &url));
            documents.by_url.insert(url.to_string(), schema);
        }
        Ok(documents)
    }

    pub(super) fn get(&self, url: &str) -> Option<&Json> {
        let url = without_fragment(Url::parse(url).ok()?);
        self.by_url.get(url.as_str())
    }

    /// Each document, with the locations that other documents refer to.
    pub(super) fn each_mut(&mut self) -> impl Iterator<Item = (&mut Json, Vec<String>)> {
        let targets = &self.targets;
        self.by_url.iter_mut().map(|(url, schema)| {
            let own = targets.iter().filter(|(other, _)| other == url);
            (schema, own.map(|(_, pointer)| pointer.clone()).collect())
        })
    }

    /// A bundle of all documents, for checks that follow references within a document. `None` if there is only the
    /// root.
    pub(super) fn bundle(&self, root: &Json) -> Option<Json> {
        if self.by_url.is_empty() {
            return None;
        }
        let mut all = Map::new();
        for (number, (url, schema)) in self.by_url.iter().enumerate() {
            let base = Url::parse(url).ok()?;
            let own = format!("#/{BUNDLED}/{number}");
            all.insert(number.to_string(), self.localized(schema, &base, &base, &own));
        }
        let home = Url::parse(HOME).ok()?;
        let mut whole = self.localized(root, &home, &home, "#");
        if let Json::Object(entries) = &mut whole {
            entries.insert(BUNDLED.to_owned(), Json::Object(all));
        }
        Some(whole)
    }

    /// Records the locations in other documents that a schema refers to; returns those documents.
    fn note(&mut self, schema: &Json, url: &Url) -> BTreeSet<Url> {
        let mut known = BTreeSet::from([url.clone()]);
        let mut references = Vec::new();
        let mut left = vec![(schema, url.clone())];
        while let Some((next, base)) = left.pop() {
            match next {
                Json::Object(entries) => {
                    let base = base_of(entries, &base);
                    known.insert(base.clone());
                    references.extend(references_in(entries).filter_map(|text| base.join(text).ok()));
                    left.extend(entries.values().map(|value| (value, base.clone())));
                }
                Json::Array(items) => left.extend(items.iter().map(|item| (item, base.clone()))),
                _ => {}
            }
        }
        let mut others = BTreeSet::new();
        for one in references {
            let pointer = one.fragment().unwrap_or_default().to_owned();
            let document = without_fragment(one);
            let is_draft = is_draft(&document);
            self.refers_to_draft |= is_draft;
            if is_draft || known.contains(&document) || !matches!(document.scheme(), "http" | "https") {
                continue;
            }
            self.targets.insert((document.to_string(), pointer));
            others.insert(document);
        }
        others
    }

    /// A copy whose references point into the bundle.
    fn localized(&self, schema: &Json, document: &Url, base: &Url, own: &str) -> Json {
        match schema {
            Json::Array(items) => {
                let items = items.iter().map(|item| self.localized(item, document, base, own));
                Json::Array(items.collect())
            }
            Json::Object(entries) => {
                let base = base_of(entries, base);
                let entry = |(name, value): (&String, &Json)| {
                    let moved = match value {
                        Json::String(text) if REFERENCES.contains(&name.as_str()) => {
                            Json::from(self.target(text, document, &base, own))
                        }
                        other => self.localized(other, document, &base, own),
                    };
                    (name.clone(), moved)
                };
                Json::Object(entries.iter().map(entry).collect())
            }
            other => other.clone(),
        }
    }

    fn target(&self, text: &str, document: &Url, base: &Url, own: &str) -> String {
        let Ok(url) = base.join(text) else {
            return text.to_owned();
        };
        let pointer = url.fragment().unwrap_or_default().to_owned();
        let url = without_fragment(url);
        if url == *document || text.starts_with('#') {
            return format!("{own}{pointer}");
        }
        match self.by_url.keys().position(|key| key == url.as_str()) {
            Some(number) => format!("#/{BUNDLED}/{number}{pointer}"),
            None => text.to_owned(),
        }
    }
}

/// Whether it is one of the drafts' own schemas, which the validator has; others on that server are like any.
fn is_draft(document: &Url) -> bool {
    let path = document.path();
    let is_known = path == "/schema" || path.starts_with("/draft-0") || path.starts_with("/draft/20");
    is_known && document.host_str() == Some("json-schema.org")
}

fn references_in(entries: &Map<String, Json>) -> impl Iterator<Item = &str> {
    REFERENCES.iter().filter_map(|name| entries.get(*name)?.as_str())
}

fn base_of(entries: &Map<String, Json>, base: &Url) -> Url {
    let own = entries.get("$id").and_then(Json::as_str);
    let own = own.and_then(|text| base.join(text).ok());
    own.map_or_else(|| base.clone(), without_fragment)
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}
