//! A tree of the keys that are read: [`ReadTree`].

use std::collections::BTreeMap;

use crate::value::{Map, Value};

/// Any key of a map, or item of a list. (A key that is really written like this only makes more keys count as read.)
pub(super) const ANY: &str = "*";
/// The maximum nesting of values that are compared with what is read; deeper ones count as read.
pub(super) const MAX_NESTING: usize = 200;
/// How many keys with the same name are searched.
const MAX_NAMESAKES: usize = 8;

/// The keys that are read.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadTree(Node);

#[derive(Debug, Clone, Default)]
struct Node {
    /// Whether everything below is read.
    whole: bool,
    below: BTreeMap<String, Node>,
}

impl ReadTree {
    /// Marks a value as read, but nothing below it.
    pub(super) fn touch(&mut self, path: &[&str]) {
        self.node(path);
    }

    /// Marks a value and all that is below it as read.
    pub(super) fn read_whole(&mut self, path: &[&str]) {
        let node = self.node(path);
        node.whole = true;
        node.below.clear();
    }

    fn node(&mut self, path: &[&str]) -> &mut Node {
        let mut node = &mut self.0;
        for key in path {
            if !node.below.contains_key(*key) {
                if node.whole {
                    return node;
                }
                node.below.insert((*key).to_owned(), Node::default());
            }
            // The entry was just made if it was missing.
            node = node.below.entry((*key).to_owned()).or_default();
        }
        node
    }

    /// The paths of keys in a map of values that nothing reads.
    pub(super) fn unread(&self, values: &Map) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        unread(&[&self.0], values, &mut Vec::new(), &mut out);
        out
    }

    /// Whether a value, anything below it, or all that it is part of was marked.
    pub(super) fn is_marked(&self, path: &[String]) -> bool {
        let mut nodes = vec![&self.0];
        for key in path {
            if nodes.iter().any(|node| node.whole) {
                return true;
            }
            nodes = below(&nodes, key);
        }
        !nodes.is_empty()
    }

    /// Whether a value was marked itself.
    pub(super) fn has_leaf(&self, path: &[&str]) -> bool {
        let start = vec![&self.0];
        let nodes = path.iter().fold(start, |nodes, key| below(&nodes, key));
        nodes.iter().any(|node| node.whole)
    }

    /// Marks a value by itself; what is marked below it stays.
    pub(super) fn mark(&mut self, path: &[&str]) {
        let start = &mut self.0;
        let node = path.iter().fold(start, |node, key| {
            node.below.entry((*key).to_owned()).or_default()
        });
        node.whole = true;
    }

    /// Whether a value is read, or anything below it.
    pub(super) fn is_read(&self, path: &[&str]) -> bool {
        let mut nodes = vec![&self.0];
        for key in path {
            if nodes.iter().any(|node| node.is_all()) {
                return true;
            }
            nodes = below(&nodes, key);
            if nodes.is_empty() {
                return false;
            }
        }
        true
    }

    /// The named keys that are read below a path.
    pub(super) fn keys_below(&self, path: &[String]) -> Vec<String> {
        let start = vec![&self.0];
        let nodes = path.iter().fold(start, |nodes, key| below(&nodes, key));
        let keys = nodes.iter().flat_map(|node| node.below.keys());
        keys.filter(|key| *key != ANY).cloned().collect()
    }

    /// The paths of keys with this name, without those in lists and maps of any keys.
    pub(super) fn ending_with(&self, name: &str) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        self.0.ending_with(name, &mut Vec::new(), &mut out);
        out
    }
}

impl Node {
    /// Whether everything below is read. A value of which no key is named is a scalar, or used as a whole.
    fn is_all(&self) -> bool {
        self.whole || self.below.is_empty()
    }

    fn ending_with(&self, name: &str, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
        if path.len() >= MAX_NESTING || out.len() >= MAX_NAMESAKES {
            return;
        }
        for (key, node) in self.below.iter().filter(|(key, _)| *key != ANY) {
            path.push(key.clone());
            if key == name {
                out.push(path.clone());
            }
            node.ending_with(name, path, out);
            path.pop();
        }
    }
}

/// The nodes of a key.
fn below<'n>(nodes: &[&'n Node], key: &str) -> Vec<&'n Node> {
    let of_key = nodes.iter().filter_map(|node| node.below.get(key));
    let of_any = nodes.iter().filter_map(|node| node.below.get(ANY));
    of_key.chain(of_any).collect()
}

fn unread(nodes: &[&Node], values: &Map, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    // Of a chart that reads no value at all, no value is read.
    let is_read = |node: &&Node| {
        if path.is_empty() {
            node.whole
        } else {
            node.is_all()
        }
    };
    if nodes.iter().any(is_read) || path.len() >= MAX_NESTING {
        return;
    }
    for (key, value) in values.iter() {
        path.push(key.as_str().to_owned());
        let inner = below(nodes, key.as_str());
        match value {
            _ if inner.is_empty() => out.push(path.clone()),
            Value::Map(map) => unread(&inner, map, path, out),
            Value::List(items) => unread_in_list(&inner, items, path, out),
            _ => {}
        }
        path.pop();
    }
}

/// What is read of any item counts for each.
fn unread_in_list(nodes: &[&Node], items: &[Value], path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    let items_are_read = nodes.iter().any(|node| node.is_all());
    let inner = below(nodes, ANY);
    if items_are_read || inner.is_empty() || path.len() >= MAX_NESTING {
        return;
    }
    for (index, item) in items.iter().enumerate() {
        path.push(index.to_string());
        match item {
            Value::Map(map) => unread(&inner, map, path, out),
            Value::List(items) => unread_in_list(&inner, items, path, out),
            _ => {}
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deep(levels: usize) -> Map {
        let mut map = Map::default();
        map.insert("leaf", Value::from("x"));
        for _ in 0..levels {
            let mut outer = Map::default();
            outer.insert("a", Value::Map(map));
            map = outer;
        }
        map
    }

    #[test]
    fn values_below_the_limit_of_nesting_count_as_read() {
        let mut tree = ReadTree::default();
        let path = vec!["a"; MAX_NESTING + 2];
        tree.touch(&[path.as_slice(), &["b"]].concat());
        let shallow = MAX_NESTING - 1;
        assert_eq!(tree.unread(&deep(shallow)).len(), 1);
        assert_eq!(tree.unread(&deep(MAX_NESTING + 1)), Vec::<Vec<String>>::new());
    }

    #[test]
    fn as_many_namesakes_as_are_shown_are_searched() {
        let mut tree = ReadTree::default();
        for number in 0..MAX_NAMESAKES * 3 {
            tree.touch(&[&format!("k{number}"), "name"]);
        }
        assert!(tree.ending_with("name").len() <= MAX_NAMESAKES + 1);
    }
}
