//! Named templates: [`Set`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ast::Tree;

/// Templates by name. Immutable while in use, and shared between threads.
#[derive(Debug, Default, Clone)]
pub struct Set(BTreeMap<Arc<str>, Arc<Tree>>);

impl Set {
    /// Adds a template, which replaces one with the same name unless it is blank.
    pub fn add(&mut self, tree: Arc<Tree>) {
        if tree.is_empty() && self.0.contains_key(&tree.name) {
            return;
        }
        self.0.insert(Arc::clone(&tree.name), tree);
    }

    /// The template with a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tree>> {
        self.0.get(name)
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }
}
