//! The origins of values, for errors about them.
//!
//! While values are merged, only their source texts are kept; those are parsed again, once, when the first location is
//! requested.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::set::{Meaning, PaddingBudget, set};
use crate::chart::values_file::documents;
use crate::diag::{Class, Diagnostic};
use crate::source::{Location, Source, Span};
use crate::value::{Map, Value};
use crate::yaml::{self, DuplicateKey, Kind, Node};

/// The sources of values, in ascending precedence.
#[derive(Debug, Clone, Default)]
pub struct ValueOrigins {
    given: Vec<Given>,
    duplicates: Vec<DuplicateKey>,
}

#[derive(Clone)]
enum Given {
    File(Arc<Source>),
    Flag { flag: &'static str, text: String },
}

impl std::fmt::Debug for Given {
    /// Values may be secret: only the names of files and flags.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(source) => f.write_str(source.name()),
            Self::Flag { flag, .. } => f.write_str(flag),
        }
    }
}

/// A chart's values.yaml: the number of keys in the chart's path, and the text.
pub type Defaults<'a> = (usize, &'a Arc<Source>);

impl ValueOrigins {
    pub(super) fn file(&mut self, source: &Arc<Source>) {
        self.given.push(Given::File(Arc::clone(source)));
    }

    pub(super) fn duplicates(&mut self, found: Vec<DuplicateKey>) {
        self.duplicates.extend(found);
    }

    /// Warnings about duplicate keys in a file, of which the last one wins, as in Helm.
    pub fn warnings(&self) -> impl Iterator<Item = Diagnostic> {
        self.duplicates.iter().map(|one| one.to_diagnostic(Class::Values))
    }

    pub(super) fn flag(&mut self, flag: &'static str, text: &str) {
        let text = text.to_owned();
        self.given.push(Given::Flag { flag, text });
    }

    /// A search for keys that parses each text only once.
    pub fn keys(&self) -> KeyOrigins<'_> {
        KeyOrigins(self.search())
    }

    /// A search that parses each text only once.
    pub fn search(&self) -> OriginSearch<'_> {
        let read = RefCell::default();
        OriginSearch {
            given: &self.given,
            read,
        }
    }
}

/// Finds where values were set.
pub struct OriginSearch<'p> {
    given: &'p [Given],
    /// The texts parsed so far, by their address; they outlive the search.
    read: RefCell<BTreeMap<usize, Rc<[Document]>>>,
}

/// Finds where keys are written.
pub struct KeyOrigins<'p>(OriginSearch<'p>);

/// Where a key is written.
#[derive(Debug, Clone)]
pub struct KeyOrigin {
    /// The key.
    pub location: Location,
    /// Whether other keys share what is written there: it has an anchor that aliases refer to, or is written elsewhere
    /// and taken by an alias.
    pub is_shared: bool,
}

impl KeyOrigins<'_> {
    /// Where the last key with this path is written. Of a flag only the path is shown, for its text may hold secrets.
    pub fn find(&self, path: &[String], defaults: &[Defaults<'_>]) -> Option<KeyOrigin> {
        let given = self.0.given.iter().rev().find_map(|given| match given {
            Given::File(source) => self.in_file(source, path),
            Given::Flag { .. } => {
                let location = self.0.place(given, path)?;
                Some(KeyOrigin {
                    location,
                    is_shared: false,
                })
            }
        });
        given.or_else(|| {
            let mut charts = defaults.iter().rev();
            charts.find_map(|(skip, source)| self.in_file(source, path.get(*skip..)?))
        })
    }

    fn in_file(&self, source: &Arc<Source>, path: &[String]) -> Option<KeyOrigin> {
        self.0.documents(source).iter().rev().find_map(|(start, root)| {
            let (key, value, is_aliased) = key_in_node(root, path)?;
            let key = Span::new(key.start as usize + start, key.end as usize + start);
            let entry = Span::new(key.start as usize, value.end as usize + start);
            let entry = source
                .text()
                .get(entry.start as usize..entry.end as usize)
                .unwrap_or("");
            Some(KeyOrigin {
                location: Location::new(source, key),
                is_shared: is_aliased
                    || anchors(entry).any(|name| source.text().contains(&format!("*{name}"))),
            })
        })
    }
}

/// The spans of a key and of its value, and whether they are written elsewhere than in the map above.
fn key_in_node(node: &Node, path: &[String]) -> Option<(Span, Span, bool)> {
    let (first, rest) = path.split_first()?;
    let (key, value) = match &node.kind {
        Kind::Seq(items) => {
            let item = items.get(first.parse::<usize>().ok()?)?;
            (item.span, item)
        }
        _ => {
            let entry = node.entries().iter().find(|entry| entry.key == *first)?;
            (entry.key_span, &entry.value)
        }
    };
    let is_aliased = key.start < node.span.start || key.end > node.span.end || value.span.end < key.start;
    if rest.is_empty() {
        return Some((key, value.span, is_aliased));
    }
    let (key, value, is_below) = key_in_node(value, rest)?;
    Some((key, value, is_below || is_aliased))
}

/// The names of anchors in a text.
fn anchors(text: &str) -> impl Iterator<Item = &str> {
    let after = text.match_indices('&').filter(|(at, _)| {
        let before = text.get(..*at).unwrap_or("");
        before.ends_with([' ', '\t', '\n', ':', '[', ','])
    });
    let names = after.map(|(at, _)| {
        let name = text.get(at + 1..).unwrap_or("");
        name.split(|one: char| one.is_whitespace() || matches!(one, ',' | ']' | '}'))
            .next()
            .unwrap_or("")
    });
    names.filter(|name| !name.is_empty())
}

/// A document of a text, and the offset at which it starts there.
type Document = (usize, Node);

impl OriginSearch<'_> {
    /// Where the value at a path of keys and indices was set last, or else the nearest above it.
    /// Of all values of a chart it is the first in its values.yaml.
    /// Of a flag only the path is shown, for its text may hold secrets.
    pub fn find(&self, path: &[String], defaults: &[Defaults<'_>]) -> Option<Location> {
        let set = (1..=path.len()).rev().find_map(|length| {
            let path = path.get(..length)?;
            let given = self.given.iter().rev().find_map(|given| self.place(given, path));
            given.or_else(|| {
                let mut charts = defaults.iter().rev();
                charts.find_map(|(skip, source)| self.in_file(source, path.get(*skip..)?))
            })
        });
        set.or_else(|| {
            let (_, source) = defaults.iter().find(|(skip, _)| *skip == path.len())?;
            let documents = self.documents(source);
            let (start, root) = documents.first()?;
            let key = root.entries().first()?.key_span;
            let span = Span::new(key.start as usize + start, key.end as usize + start);
            Some(Location::new(source, span))
        })
    }

    fn place(&self, given: &Given, path: &[String]) -> Option<Location> {
        match given {
            Given::File(source) => self.in_file(source, path),
            Given::Flag { flag, text } => {
                let map = of_flag(flag, text)?;
                leads_to_a_value(&map, path).then(|| {
                    let path = path.join(".");
                    let span = Span::new(0, path.len());
                    Location::new(&Source::new(*flag, path), span)
                })
            }
        }
    }

    fn documents(&self, source: &Arc<Source>) -> Rc<[Document]> {
        let key = Arc::as_ptr(source).addr();
        let known = self.read.borrow().get(&key).map(Rc::clone);
        known.unwrap_or_else(|| {
            let read = read(source);
            self.read.borrow_mut().insert(key, Rc::clone(&read));
            read
        })
    }

    /// The last document that sets the value wins.
    fn in_file(&self, source: &Arc<Source>, path: &[String]) -> Option<Location> {
        if path.is_empty() {
            return None;
        }
        self.documents(source).iter().rev().find_map(|(start, root)| {
            let span = in_node(root, path)?;
            let span = Span::new(span.start as usize + start, span.end as usize + start);
            Some(Location::new(source, first_line(source, span)))
        })
    }
}

/// An invalid text has no documents.
fn read(source: &Arc<Source>) -> Rc<[Document]> {
    let ranges = documents(source).unwrap_or_default();
    let read = ranges.into_iter().filter_map(|range| {
        let start = range.start;
        let piece = Source::new(source.name(), source.text().get(range)?);
        let root = yaml::parse(&piece, Class::Values, &yaml::Limits::default()).ok()?;
        Some((start, root))
    });
    read.collect()
}

/// The map that a flag alone sets; only its keys matter.
fn of_flag(flag: &str, text: &str) -> Option<Map> {
    let trimmed = text.trim();
    if flag == Meaning::Json.flag() && trimmed.starts_with('{') {
        let node = yaml::parse_json(&Source::new(flag, trimmed), &yaml::Limits::default())?;
        return match node.into_value() {
            Value::Map(map) => Some(map),
            _ => None,
        };
    }
    let meaning = [Meaning::Json, Meaning::Literal].into_iter();
    let meaning = meaning
        .into_iter()
        .find(|one| one.flag() == flag)
        .unwrap_or(Meaning::Text);
    let mut map = Map::default();
    set(text, meaning, &mut map, &mut PaddingBudget::default()).ok()?;
    Some(map)
}

fn leads_to_a_value(map: &Map, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return true;
    };
    let mut value = map.get(first);
    for key in rest {
        value = match value {
            Some(Value::Map(map)) => map.get(key),
            Some(Value::List(items)) => key.parse().ok().and_then(|index: usize| items.get(index)),
            _ => None,
        };
    }
    value.is_some()
}

/// The place of what a JSON pointer leads to.
pub(super) fn span_of(root: &Node, pointer: &str) -> Option<Span> {
    let path: Vec<String> = super::schema::segments(pointer);
    match path.as_slice() {
        [] => None,
        path => in_node(root, path),
    }
}

/// A value's location; for a map or a list that of its key, which is more useful than the whole block.
fn in_node(node: &Node, path: &[String]) -> Option<Span> {
    let (first, rest) = path.split_first()?;
    let (key, value) = match &node.kind {
        Kind::Seq(items) => {
            let item = items.get(first.parse::<usize>().ok()?)?;
            (item.span, item)
        }
        _ => {
            let entry = node.entries().iter().find(|entry| entry.key == *first)?;
            (entry.key_span, &entry.value)
        }
    };
    if !rest.is_empty() {
        return in_node(value, rest);
    }
    Some(match &value.kind {
        Kind::Map(_) | Kind::Seq(_) | Kind::Null => key,
        _ => value.span,
    })
}

fn first_line(source: &Source, span: Span) -> Span {
    let text = source.slice(span);
    let length = text.lines().next().unwrap_or("").len();
    Span::new(span.start as usize, span.start as usize + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(places: &ValueOrigins, path: &str, defaults: &[Defaults<'_>]) -> String {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        let place = places.search().find(&path, defaults);
        place.map_or_else(
            || "nowhere".to_owned(),
            |place| format!("{place} {}", place.source.slice(place.span)),
        )
    }

    #[test]
    fn the_last_source_that_sets_a_value_is_its_location() {
        let mut places = ValueOrigins::default();
        places.file(&Source::new("a.yaml", "image:\n  tag: 1\n  name: x\n"));
        places.file(&Source::new(
            "b.yaml",
            "image:\n  tag: two\n---\nlist: [a, {b: c}]\n",
        ));
        places.flag("--set", "image.pull=Always,secret.key=hush");
        places.flag("--set-json", r#"{"j": {"k": 1}}"#);
        places.flag("--set-json", r#"m.n=[1, {"o": 2}]"#);
        places.flag("--set-literal", "lit=a,b=c");
        let root = Source::new("values.yaml", "own: {deep: true}\nimage: {tag: 0, other: 1}\n");
        let sub = Source::new("charts/sub/values.yaml", "port: 80\n");
        let defaults = [(1, &sub), (0, &root)];
        let table = [
            ("image.tag", "b.yaml:2:8 two"),
            ("image.name", "a.yaml:3:9 x"),
            ("image.pull", "--set:1:1 image.pull"),
            ("secret.key", "--set:1:1 secret.key"),
            ("list.1.b", "b.yaml:4:15 c"),
            ("list.0", "b.yaml:4:8 a"),
            ("j.k", "--set-json:1:1 j.k"),
            ("m.n.1.o", "--set-json:1:1 m.n.1.o"),
            ("lit", "--set-literal:1:1 lit"),
            ("image.other", "values.yaml:2:24 1"),
            ("sub.port", "charts/sub/values.yaml:1:7 80"),
            // A missing value is located by its closest existing parent.
            ("own.deep.more", "values.yaml:1:13 true"),
            ("own.missing", "values.yaml:1:1 own"),
            ("none.at.all", "nowhere"),
            ("other", "charts/sub/values.yaml:1:1 port"),
        ];
        for (path, expected) in table {
            assert_eq!(found(&places, path, &defaults), expected, "{path}");
        }
    }

    #[test]
    fn keys_are_found_where_they_are_written_and_shared_ones_are_known() {
        let mut places = ValueOrigins::default();
        let text = "common: &all\n  a: 1\n  b: {c: 2}\nfirst: *all\nsecond:\n  <<: *all\n  d: [{e: 1}]\nflow: {a: &one 1, b: *one}\n";
        places.file(&Source::new("a.yaml", text));
        places.flag("--set", "x.y=1");
        let search = places.keys();
        let table = [
            ("second.d", "a.yaml:7:3", false),
            ("second.d.0.e", "a.yaml:7:8", false),
            ("common", "a.yaml:1:1", true),
            ("first.a", "a.yaml:2:3", true),
            ("second.a", "a.yaml:2:3", true),
            ("flow.a", "a.yaml:8:8", true),
            ("x.y", "--set:1:1", false),
        ];
        for (path, place, is_shared) in table {
            let keys: Vec<String> = path.split('.').map(str::to_owned).collect();
            let found = search.find(&keys, &[]).unwrap();
            assert_eq!(
                (found.location.to_string().as_str(), found.is_shared),
                (place, is_shared),
                "{path}"
            );
        }
        assert!(search.find(&["none".to_owned()], &[]).is_none());
    }

    #[test]
    fn an_unreadable_source_has_no_location() {
        let mut places = ValueOrigins::default();
        places.file(&Source::new("a.yaml", "a: [\n"));
        places.flag("--set", "a[");
        assert_eq!(found(&places, "a", &[]), "nowhere");
        assert!(format!("{places:?}").contains("--set"));
    }

    /// Each search once parsed the whole text again.
    #[test]
    fn a_text_is_parsed_once_however_many_values_are_searched() {
        let mut places = ValueOrigins::default();
        places.file(&Source::new("a.yaml", "a: 1\nb: [2]\n"));
        let root = Source::new("values.yaml", "c: 3\n");
        let search = places.search();
        for path in ["a", "b", "c", "d"] {
            search.find(&[path.to_owned(), "0".to_owned()], &[(0, &root)]);
        }
        let documents = search.read.borrow().values().map(Rc::clone).collect::<Vec<_>>();
        assert_eq!(documents.len(), 2);
        search.find(&["a".to_owned()], &[]);
        let again = search.read.borrow().values().map(Rc::clone).collect::<Vec<_>>();
        assert!(
            again
                .iter()
                .zip(&documents)
                .all(|(one, other)| Rc::ptr_eq(one, other))
        );
    }
}
