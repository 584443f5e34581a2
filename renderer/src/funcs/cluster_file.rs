//! Reads the objects of a cluster from files: texts in, objects for `lookup` or every mistake out.
//!
//! A file holds YAML documents or JSON, each an object or a list of objects: what `kubectl get -o yaml`, `kubectl get -o
//! json` and an API server print.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::source::{Location, Source, Span};
use crate::value::{Map, Value};
use crate::yaml::{self, Kind, Node};

/// The maximum size of all files of objects together, in bytes.
pub const MAX_CLUSTER_BYTES: usize = yaml::Limits::BYTES;
/// How many mistakes of the objects are reported.
const MAX_MISTAKES: usize = 20;
/// The longest part of a line that is quoted, in bytes: names of fields and kinds.
const LONGEST_SHOWN: usize = 40;
/// What stands for every other letter of the line.
const MASK: char = '*';
/// How the kinds of lists end, and the kind of a list of any objects.
const LIST: &str = "List";

/// The objects of files.
#[derive(Default)]
pub struct ClusterFiles {
    /// The objects, in the order of the texts.
    pub objects: Vec<Map>,
    /// Warnings: keys that are there twice.
    pub warnings: Vec<Diagnostic>,
    bytes: usize,
    known: BTreeMap<Identity, Location>,
    mistakes: Vec<Diagnostic>,
    omitted: usize,
}

/// API version, kind, namespace and name.
type Identity = [String; 4];

impl ClusterFiles {
    /// The objects of texts.
    ///
    /// # Errors
    /// Class values: a text is not YAML or too large, or something in it is no object, or there twice; every mistake.
    pub fn read<'s>(sources: impl IntoIterator<Item = &'s Arc<Source>>) -> Result<Self> {
        let mut all = Self::default();
        for source in sources {
            all.bytes = all.bytes.saturating_add(source.text().len());
            if all.bytes > MAX_CLUSTER_BYTES {
                let limit = crate::fsio::size(MAX_CLUSTER_BYTES as u64);
                let message = format!(
                    "the objects of {} and the files before it are larger than {limit}",
                    source.name()
                );
                let one = Diagnostic::error(Class::Values, message);
                return Err(one.hint("keep only the kinds that the templates look up").into());
            }
            match yaml::parse_all_documents(source, Class::Values, &yaml::Limits::default()) {
                Ok(documents) => {
                    for document in documents {
                        let twice = document.duplicates.iter();
                        let twice = twice.map(|key| key.to_diagnostic(Class::Values));
                        all.warnings.extend(twice.map(without_line));
                        if !document.root.is_null() {
                            all.add(source, document.root, None);
                        }
                    }
                }
                Err(error) => {
                    let list = Diagnostics::from(error).into_vec().into_iter();
                    all.mistakes.extend(list.map(without_line));
                }
            }
        }
        let mut mistakes = std::mem::take(&mut all.mistakes);
        if let Some(last) = mistakes.last_mut()
            && all.omitted > 0
        {
            last.notes
                .push(format!("{} more mistakes are not listed", all.omitted));
        }
        Diagnostics::or(mistakes, all)
    }

    /// Adds an object, or those of a list. Items of an API server's lists have neither API version nor kind: they are
    /// those of `list`.
    fn add(&mut self, source: &Arc<Source>, node: Node, list: Option<(&str, &str)>) {
        if !matches!(node.kind, Kind::Map(_)) {
            let message = format!("expected an object of Kubernetes, not {}", node.kind_name());
            let hint = "an object is a map with apiVersion, kind and metadata.name";
            let start = node.span.start as usize;
            let span = Span::new(start, start);
            return self.mistake(source, Mistake { span, message, hint });
        }
        let field = |name: &str, of_list: Option<&str>| {
            let own = node.get(name).and_then(Node::as_str);
            own.or(of_list).unwrap_or_default().to_owned()
        };
        let (of_list, kind_of_list) = list.unzip();
        let (api_version, kind) = (field("apiVersion", of_list), field("kind", kind_of_list));
        match kind.strip_suffix(LIST) {
            Some("") => self.add_items(source, node, None),
            Some(of_items) if node.get("items").is_some() => {
                self.add_items(source, node, Some((&api_version, of_items)));
            }
            _ => match identity(&node, api_version, kind) {
                Ok(identity) => self.add_object(source, node, identity),
                Err(mistake) => self.mistake(source, mistake),
            },
        }
    }

    fn add_object(&mut self, source: &Arc<Source>, node: Node, identity: Identity) {
        let [api_version, kind, namespace, name] = &identity;
        let span = first_key(&node);
        if let Some(previous) = self.known.get(&identity) {
            let shown = match namespace.as_str() {
                "" => name.clone(),
                namespace => format!("{namespace}/{name}"),
            };
            let message = format!("{kind} {shown} is there twice: it is already at {previous}");
            let hint = "a cluster has one object of a kind, namespace and name";
            return self.mistake(source, Mistake { span, message, hint });
        }
        if let Value::Map(mut object) = node.into_value() {
            object.insert("apiVersion", Value::from(api_version.as_str()));
            object.insert("kind", Value::from(kind.as_str()));
            self.objects.push(object);
        }
        self.known.insert(identity, Location::new(source, span));
    }

    fn add_items(&mut self, source: &Arc<Source>, node: Node, list: Option<(&str, &str)>) {
        let Kind::Map(entries) = node.kind else { return };
        let Some(items) = entries.into_iter().find(|entry| entry.key == "items") else {
            return;
        };
        match items.value.kind {
            Kind::Seq(items) => {
                for item in items {
                    self.add(source, item, list);
                }
            }
            Kind::Null => {}
            _ => {
                let message = format!(
                    "the items of a list must be a list, not {}",
                    items.value.kind_name()
                );
                let hint = "`kubectl get -o yaml` prints such lists";
                let span = items.value.span;
                self.mistake(source, Mistake { span, message, hint });
            }
        }
    }

    fn mistake(&mut self, source: &Arc<Source>, mistake: Mistake) {
        if self.mistakes.len() >= MAX_MISTAKES {
            self.omitted += 1;
            return;
        }
        let Mistake { span, message, hint } = mistake;
        let one = Diagnostic::error(Class::Values, message).at(Location::new(source, span));
        self.mistakes.push(without_line(one.hint(hint)));
    }
}

/// Something that is no object.
struct Mistake {
    span: Span,
    message: String,
    hint: &'static str,
}

/// What identifies an object whose API version and kind are known; they are empty if they are missing.
fn identity(node: &Node, api_version: String, kind: String) -> std::result::Result<Identity, Mistake> {
    let metadata = |name: &str| node.get("metadata").and_then(|metadata| metadata.get(name));
    let name = metadata("name")
        .and_then(Node::as_str)
        .unwrap_or_default()
        .to_owned();
    let fields = [
        ("apiVersion", &api_version),
        ("kind", &kind),
        ("metadata.name", &name),
    ];
    if let Some((field, _)) = fields.into_iter().find(|(_, text)| text.is_empty()) {
        return Err(missing(node, field));
    }
    let namespace = metadata("namespace").filter(|node| !node.is_null());
    let namespace = match namespace.map(|node| node.as_str().ok_or(node.span)) {
        None => String::new(),
        Some(Ok(text)) => text.to_owned(),
        Some(Err(span)) => {
            return Err(Mistake {
                span,
                message: format!("the namespace of {kind} {name} is no text"),
                hint: "write it in quotes",
            });
        }
    };
    Ok([api_version, kind, namespace, name])
}

/// A field that every object has is missing, or is no text.
fn missing(node: &Node, field: &str) -> Mistake {
    let written = field.split('.').try_fold(node, |node, name| node.get(name));
    let written = written.filter(|node| !node.is_null() && node.as_str() != Some(""));
    Mistake {
        span: written.map_or_else(|| first_key(node), |node| node.span),
        message: match written {
            Some(other) => format!("{field} must be a text, not {}", other.kind_name()),
            None => format!("the object has no {field}"),
        },
        hint: "`lookup` finds objects by apiVersion, kind, namespace and name",
    }
}

/// The diagnostic without what is beside its span in an excerpt, nor a long span: it may be of a Secret, or the file a
/// key that was taken for objects.
fn without_line(mut one: Diagnostic) -> Diagnostic {
    one.location = one.location.as_ref().map(masked);
    one
}

/// The same line and column, in a text that has nothing but the span.
fn masked(at: &Location) -> Location {
    let (text, span) = (at.source.text(), at.source.range(at.span));
    let before = text.get(..span.start).unwrap_or_default();
    let lines = before.bytes().filter(|byte| *byte == b'\n').count();
    let before = before.rsplit('\n').next().unwrap_or_default();
    let rest = text.get(span.start..).unwrap_or_default();
    let rest = rest.lines().next().unwrap_or_default();
    let shown = match span.len() <= LONGEST_SHOWN {
        true => span.len().min(rest.len()),
        false => 0,
    };
    let (shown, after) = rest.split_at_checked(shown).unwrap_or(("", rest));
    let mask = |text: &str| -> String {
        let letters = text.chars();
        letters
            .map(|letter| {
                if letter.is_ascii_whitespace() {
                    letter
                } else {
                    MASK
                }
            })
            .collect()
    };
    let before = mask(before);
    let start = lines + before.len();
    let text = format!("{}{before}{shown}{}", "\n".repeat(lines), mask(after));
    let span = Span::new(start, start + shown.len());
    Location::new(&Source::new(at.source.name(), text), span)
}

/// The first key of a map: short, and on the line where the map begins.
fn first_key(node: &Node) -> Span {
    node.entries().first().map_or(node.span, |entry| entry.key_span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Result<ClusterFiles> {
        let sources: Vec<_> = texts.iter().map(|text| Source::new("o.yaml", *text)).collect();
        ClusterFiles::read(&sources)
    }

    fn objects(texts: &[&str]) -> Vec<String> {
        let all = read(texts).unwrap();
        all.objects
            .into_iter()
            .map(|one| Value::Map(one).to_json())
            .collect()
    }

    #[test]
    fn documents_lists_and_an_api_server_s_lists_are_objects() {
        let one = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"ns"}}"#;
        let yaml = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns}\n";
        let list =
            format!("apiVersion: v1\nkind: List\nmetadata: {{resourceVersion: \"\"}}\nitems:\n- {one}\n");
        let of_server = r#"{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"7"},
            "items":[{"metadata":{"name":"a","namespace":"ns"}}]}"#;
        for text in [
            one,
            yaml,
            &format!("---\n# nothing\n---\n{yaml}---\n"),
            &list,
            of_server,
        ] {
            assert_eq!(objects(&[text]), [one], "{text}");
        }
        for none in [
            "",
            "---\n",
            "apiVersion: v1\nkind: List\nitems: []\n",
            "apiVersion: v1\nkind: List\n",
            "apiVersion: v1\nkind: List\nitems:\n",
        ] {
            assert!(objects(&[none]).is_empty(), "{none}");
        }
        // A kind may end so.
        let custom = "apiVersion: x/v1\nkind: AccessList\nmetadata: {name: a}\nspec: {}\n";
        assert_eq!(objects(&[custom]).len(), 1);
    }

    #[test]
    fn numbers_are_those_of_an_api_server() {
        let text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {i: 3, f: 0.5, big: 9007199254740993, none: null}\n";
        let all = objects(&[text]);
        assert!(
            all[0].ends_with(r#""spec":{"big":9007199254740993,"f":0.5,"i":3,"none":null}}"#),
            "{all:?}"
        );
    }

    #[test]
    fn every_mistake_is_reported_at_its_line() {
        let text = "\
- apiVersion: v1
---
just a text
---
kind: Secret
metadata: {name: a}
---
apiVersion: v1
kind: [Secret]
metadata: {name: a}
---
apiVersion: v1
kind: Secret
metadata: {generateName: a-}
---
apiVersion: v1
kind: Secret
metadata: {name: 7}
---
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: 7}
---
apiVersion: v1
kind: List
items: {a: b}
---
apiVersion: v1
kind: SecretList
items:
- metadata: {name: b, namespace: ns}
- metadata: {name: b, namespace: ns}
- null
";
        let problem = read(&[text]).err().unwrap();
        let found: Vec<String> = problem.iter().map(ToString::to_string).collect();
        let expected = [
            "o.yaml:1:1: expected an object of Kubernetes, not a list",
            "o.yaml:3:1: expected an object of Kubernetes, not a string",
            "o.yaml:5:1: the object has no apiVersion",
            "o.yaml:9:7: kind must be a text, not a list",
            "o.yaml:12:1: the object has no metadata.name",
            "o.yaml:18:18: metadata.name must be a text, not a number",
            "o.yaml:22:32: the namespace of Secret a is no text",
            "o.yaml:26:8: the items of a list must be a list, not a map",
            "o.yaml:32:3: Secret ns/b is there twice: it is already at o.yaml:31:3",
            "o.yaml:33:3: expected an object of Kubernetes, not null",
        ];
        assert_eq!(found, expected);
        assert!(problem.iter().all(|one| !one.hints.is_empty()));
    }

    #[test]
    fn an_object_of_two_files_and_broken_yaml_are_mistakes() {
        let one = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";
        let problem = read(&[one, "a: [\n", one]).err().unwrap();
        let found: Vec<String> = problem.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].contains("Secret a is there twice"), "{found:?}");
    }

    #[test]
    fn the_limits_are_reached() {
        let documents = "---\n- 1\n".repeat(MAX_MISTAKES + 5);
        let problem = read(&[&documents]).err().unwrap();
        let last = problem.iter().last().unwrap();
        assert_eq!(problem.iter().count(), MAX_MISTAKES);
        assert_eq!(last.notes, ["5 more mistakes are not listed"]);
        let half = format!("# {}\n", "x".repeat(MAX_CLUSTER_BYTES / 2));
        let problem = read(&[&half, &half]).err().unwrap();
        assert!(problem.to_string().contains("larger than 64 MiB"), "{problem}");
        assert!(read(&[&half]).is_ok());
    }

    #[test]
    fn a_key_that_is_there_twice_is_a_warning() {
        let all = read(&["apiVersion: v1\nkind: A\nkind: B\nmetadata: {name: a}\n"]).unwrap();
        assert_eq!((all.objects.len(), all.warnings.len()), (1, 1));
    }
}
