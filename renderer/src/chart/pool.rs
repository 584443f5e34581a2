//! Deduplicates texts while charts are loaded: umbrella charts contain the same chart many times.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::metadata::Metadata;
use crate::diag::{Class, Result};
use crate::source::Source;
use crate::value::Map;
use crate::yaml;

/// Texts with their paths.
type Texts = Vec<(String, Arc<Source>)>;

/// Texts by path and content, and their parsed forms.
#[derive(Default)]
pub(super) struct ContentPool {
    /// By length and checksum.
    texts: BTreeMap<(usize, u32), Texts>,
    values: BTreeMap<usize, Arc<Map>>,
    metadata: BTreeMap<(usize, usize), Arc<Metadata>>,
    locks: BTreeMap<usize, ()>,
}

impl ContentPool {
    /// The first text given with the same path and content.
    pub(super) fn share(&mut self, path: &str, source: Arc<Source>) -> Arc<Source> {
        // A checksum is ten times as fast as a hash, and colliding texts are only compared with each other.
        let text = source.text();
        if source.not_utf8().is_some() {
            return source;
        }
        let key = (text.len(), crc32fast::hash(text.as_bytes()));
        let alike = self.texts.entry(key).or_default();
        let same = alike
            .iter()
            .find(|(other, same)| other == path && same.text() == text);
        if let Some((_, text)) = same {
            return Arc::clone(text);
        }
        alike.push((path.to_owned(), Arc::clone(&source)));
        source
    }

    /// The values of a shared text, if they are known.
    pub(super) fn values(&self, source: &Arc<Source>) -> Option<Arc<Map>> {
        self.values.get(&address(source)).map(Arc::clone)
    }

    /// Stores the values of a shared text.
    pub(super) fn keep_values(&mut self, source: &Arc<Source>, values: &Arc<Map>) {
        self.values.insert(address(source), Arc::clone(values));
    }

    /// The result of `read` for two shared texts, cached.
    pub(super) fn metadata(
        &mut self,
        source: &Arc<Source>,
        older: Option<&Arc<Source>>,
        read: impl FnOnce() -> Result<Metadata>,
    ) -> Result<Arc<Metadata>> {
        let key = (address(source), older.map_or(0, address));
        if let Some(metadata) = self.metadata.get(&key) {
            return Ok(Arc::clone(metadata));
        }
        let metadata = Arc::new(read()?);
        self.metadata.insert(key, Arc::clone(&metadata));
        Ok(metadata)
    }

    /// Checks that a shared text is YAML.
    pub(super) fn check_lock(&mut self, source: &Arc<Source>) -> Result<()> {
        if self.locks.insert(address(source), ()).is_none() {
            yaml::parse(source, Class::Chart, &yaml::Limits::default())?;
        }
        Ok(())
    }
}

/// Shared texts live as long as the pool, so their addresses identify them.
fn address(source: &Arc<Source>) -> usize {
    Arc::as_ptr(source).addr()
}
