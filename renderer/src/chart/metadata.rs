//! Chart.yaml: parsed and validated as in Helm 4.3.1, and written as the config blob.
//!
//! Helm reads Chart.yaml through Go's JSON decoder: unknown fields are ignored, a bare number or boolean in a text
//! field becomes its text, and a field's name may differ in case. Text is sanitized (white space to spaces, unprintable
//! characters dropped).

use std::sync::Arc;

use super::details::Details;
use super::fields::{Stored, Struct, text_of, value_of};
use crate::decode::{Decoder, ObjectNode};
use crate::diag::{Class, Result};
use crate::metadata_text::printable;
use crate::source::{Source, Span};
use crate::value::{Map, Number, Value, write_json_string};
use crate::version;
use crate::yaml::{self, Kind, Node};

/// The maximum size of Chart.yaml, in bytes.
pub const MAX_METADATA_BYTES: usize = 1024 * 1024;

/// Chart.yaml: the fields for packaging, and all fields as Helm stores them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Metadata {
    /// The chart's name.
    pub name: String,
    /// The chart's version.
    pub version: String,
    /// The names under which dependencies must be found in `charts/`.
    pub dependencies: Vec<String>,
    /// The config blob: Chart.yaml as Helm's struct in JSON.
    pub config: Vec<u8>,
    /// The manifest's annotations, without `created`.
    pub annotations: Map,
    /// All fields.
    pub details: Arc<Details>,
}

impl Metadata {
    /// Chart.yaml as Helm's struct.
    ///
    /// # Errors
    /// None for a chart that was parsed.
    pub fn value(&self) -> Result<Value> {
        let text = String::from_utf8_lossy(&self.config);
        let source = Source::new("Chart.yaml", text);
        let node = yaml::parse(&source, Class::Internal, &yaml::Limits::default())?;
        Ok(node.into_value())
    }
}

/// The fields in the order of Helm's struct, which is the order of the config blob.
const FIELDS: [(&str, Field); 17] = [
    ("name", Field::Text),
    ("home", Field::Text),
    ("sources", Field::Texts),
    ("version", Field::RawText),
    ("description", Field::Text),
    ("keywords", Field::Texts),
    ("maintainers", Field::Maintainers),
    ("icon", Field::Text),
    ("apiVersion", Field::RawText),
    ("condition", Field::Text),
    ("tags", Field::Text),
    ("appVersion", Field::Text),
    ("deprecated", Field::Flag),
    ("annotations", Field::TextMap),
    ("kubeVersion", Field::Text),
    ("dependencies", Field::Dependencies),
    ("type", Field::RawText),
];

const DEPENDENCY_FIELDS: [(&str, Field); 8] = [
    ("name", Field::Text),
    ("version", Field::Text),
    ("repository", Field::Text),
    ("condition", Field::Text),
    ("tags", Field::Texts),
    ("enabled", Field::Flag),
    ("import-values", Field::Any),
    ("alias", Field::Text),
];

const MAINTAINER_FIELDS: [(&str, Field); 3] = [
    ("name", Field::Text),
    ("email", Field::Text),
    ("url", Field::Text),
];

#[derive(Clone, Copy, PartialEq)]
enum Field {
    /// Sanitized text.
    Text,
    /// Text that is validated instead.
    RawText,
    Texts,
    Flag,
    TextMap,
    Maintainers,
    Dependencies,
    Any,
}

/// Whether a chart is in another one's `charts/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartRole {
    /// It is not.
    Root,
    /// It is: then Helm accepts any `apiVersion`.
    Subchart,
}

/// Parses and validates Chart.yaml. All independent errors are reported together.
pub fn parse(source: &Arc<Source>) -> Result<Metadata> {
    parse_with(source, None, ChartRole::Root)
}

/// As [`parse`], with the text of requirements.yaml, where older charts have their dependencies: they replace those of
/// Chart.yaml.
pub fn parse_with(
    source: &Arc<Source>,
    requirements: Option<&Arc<Source>>,
    role: ChartRole,
) -> Result<Metadata> {
    let older = requirements.map(required).transpose()?.flatten();
    let node = read(source)?;
    let mut decoder = Decoder::new(source, Class::Chart);
    let metadata = decode(&mut decoder, &node, older, role);
    decoder.finish(metadata)
}

fn read(source: &Arc<Source>) -> Result<Node> {
    let limits = yaml::Limits {
        bytes: MAX_METADATA_BYTES,
        ..yaml::Limits::default()
    };
    Ok(yaml::parse(source, Class::Chart, &limits)?)
}

/// The dependencies of a requirements.yaml; `None` if the field is absent.
fn required(source: &Arc<Source>) -> Result<Option<Vec<Struct>>> {
    let node = read(source)?;
    if node.is_null() {
        return Ok(None);
    }
    let mut decoder = Decoder::new(source, Class::Chart);
    let list = decoder.object(&node, "").and_then(|top| {
        let named = lookup(&top, "dependencies").is_some();
        let list = objects(&mut decoder, &top, "dependencies", &DEPENDENCY_FIELDS)?;
        check_dependencies(&mut decoder, &top, &list);
        Some(named.then_some(list))
    });
    decoder.finish(list)
}

/// Chart.yaml with one text field set. The rest of the text, including comments, is unchanged; where the file's style
/// doesn't allow that (flow style, an anchor), it is rewritten.
pub(super) fn with_field(source: &Arc<Source>, field: &str, text: &str) -> Result<Arc<Source>> {
    let node = read(source)?;
    let mut wanted = match node.to_value() {
        Value::Map(map) => map,
        _ => Map::default(),
    };
    wanted.insert(field, Value::from(text));
    let wanted = Value::Map(wanted);
    let mut literal = String::new();
    write_json_string(text, &mut literal);
    let mut edited = source.text().to_owned();
    match node.get(field) {
        Some(old) => edited.replace_range(source.range(old.span), &literal),
        None => {
            let newline = if edited.is_empty() || edited.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            edited.push_str(&format!("{newline}{field}: {literal}\n"));
        }
    }
    let kept = read(&Source::new(source.name(), edited.as_str())).is_ok_and(|node| node.to_value() == wanted);
    Ok(Source::new(
        source.name(),
        if kept { edited } else { yaml::write(&wanted) },
    ))
}

fn decode(
    decoder: &mut Decoder,
    node: &Node,
    older: Option<Vec<Struct>>,
    role: ChartRole,
) -> Option<Metadata> {
    let top = decoder.object(node, "")?;
    let maintainers = objects(decoder, &top, "maintainers", &MAINTAINER_FIELDS);
    let declared = older.is_some() || lookup(&top, "dependencies").is_some();
    let is_older = older.is_some();
    let dependencies = older.or_else(|| objects(decoder, &top, "dependencies", &DEPENDENCY_FIELDS));
    let mut fields: Struct = Vec::new();
    for (name, kind) in FIELDS {
        let value = match kind {
            Field::Maintainers => maintainers.as_deref().and_then(structs),
            Field::Dependencies => dependencies.as_deref().and_then(structs),
            kind => field(decoder, &top, name, kind).map(Stored::Value),
        };
        // Helm 4 treats a missing apiVersion as v1, and stores that.
        let value = if name == "apiVersion" {
            value.or_else(|| Some(Stored::Value(Value::from("v1"))))
        } else {
            value
        };
        fields.extend(value.map(|value| (name, value)));
    }
    let text = |name: &str| text_of(&fields, name);
    let (name, version) = (text("name"), text("version"));
    if role == ChartRole::Root {
        check_api_version(decoder, &top, &text("apiVersion"));
    }
    check_name(decoder, &top, &name);
    check_version(decoder, &top, &version);
    check_type(decoder, &top, &text("type"));
    let dependencies = dependencies?;
    if !is_older {
        check_dependencies(decoder, &top, &dependencies);
    }
    let annotations = annotations(&fields, maintainers.as_deref().unwrap_or_default());
    let mut config = String::new();
    write_struct(&fields, &mut config);
    let details = Arc::new(Details::new(
        &fields,
        maintainers.as_deref(),
        declared.then_some(&*dependencies),
    ));
    let names = dependencies.iter().map(|one| text_of(one, "name")).collect();
    Some(Metadata {
        name,
        version,
        dependencies: names,
        config: config.into_bytes(),
        annotations,
        details,
    })
}

/// A field's node: the exact name first, else one that differs in case, as in Go's decoder.
fn lookup<'n>(object: &ObjectNode<'n>, name: &str) -> Option<&'n Node> {
    object.get(name).or_else(|| {
        let Kind::Map(entries) = &object.node.kind else {
            return None;
        };
        let entry = entries
            .iter()
            .find(|entry| entry.key.eq_ignore_ascii_case(name))?;
        (!matches!(entry.value.kind, Kind::Null)).then_some(&entry.value)
    })
}

fn field(decoder: &mut Decoder, object: &ObjectNode<'_>, name: &str, kind: Field) -> Option<Value> {
    let node = lookup(object, name)?;
    let path = object.field(name);
    match kind {
        Field::Text => non_empty(printable(&as_text(decoder, node, &path)?)),
        Field::RawText => non_empty(as_text(decoder, node, &path)?),
        Field::Flag => decoder.boolean(node, &path)?.then_some(Value::Bool(true)),
        Field::Any => Some(node.to_value()),
        Field::Texts => {
            let items = items(decoder, node, &path)?;
            let texts: Vec<Value> = items
                .iter()
                // Go's decoder turns null into the zero value: an empty string.
                .filter_map(|item| {
                    if item.is_null() {
                        Some(String::new())
                    } else {
                        as_text(decoder, item, &path)
                    }
                })
                .map(|text| Value::String(printable(&text)))
                .collect();
            (!texts.is_empty()).then_some(Value::List(texts))
        }
        Field::TextMap => {
            let Kind::Map(entries) = &node.kind else {
                decoder.wrong_type(node, &path, "a map");
                return None;
            };
            let map: Map = entries
                .iter()
                .filter_map(|entry| {
                    let text = if matches!(entry.value.kind, Kind::Null) {
                        String::new()
                    } else {
                        as_text(
                            decoder,
                            &entry.value,
                            &format!("{path}.{}", decoder.written(entry)),
                        )?
                    };
                    Some((entry.key.clone(), Value::String(text)))
                })
                .collect();
            (!map.is_empty()).then_some(Value::Map(map))
        }
        Field::Maintainers | Field::Dependencies => None,
    }
}

fn non_empty(text: String) -> Option<Value> {
    (!text.is_empty()).then_some(Value::String(text))
}

fn items<'n>(decoder: &mut Decoder, node: &'n Node, path: &str) -> Option<&'n [Node]> {
    if let Kind::Seq(items) = &node.kind {
        return Some(items);
    }
    decoder.wrong_type(node, path, "a list");
    None
}

/// The maps of a list, each as a struct. `None` only if the list is malformed.
fn objects(
    decoder: &mut Decoder,
    top: &ObjectNode<'_>,
    name: &str,
    known: &[(&'static str, Field)],
) -> Option<Vec<Struct>> {
    let Some(node) = lookup(top, name) else {
        return Some(Vec::new());
    };
    let items = items(decoder, node, name)?;
    let mut list = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let object = decoder.object(item, format!("{name}[{index}]"))?;
        let fields = known.iter().filter_map(|&(name, kind)| {
            let value = field(decoder, &object, name, kind);
            // The only field of Helm's struct that is written even if empty.
            let value = if name == "repository" {
                Some(value.unwrap_or(Value::from("")))
            } else {
                value
            };
            value.map(|value| (name, Stored::Value(value)))
        });
        list.push(fields.collect());
    }
    Some(list)
}

/// A string, or a number or boolean as its text, as in Helm's decoder.
fn as_text(decoder: &mut Decoder, node: &Node, path: &str) -> Option<String> {
    match &node.kind {
        Kind::String(text) => Some(text.clone()),
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Number(number) => Some(match number {
            Number::Float(_) => number.canonical().to_string(),
            exact => exact.to_string(),
        }),
        _ => decoder.string(node, path),
    }
}

fn place(top: &ObjectNode<'_>, name: &str) -> Span {
    lookup(top, name).map_or(Span::new(0, 0), |node| node.span)
}

fn check_api_version(decoder: &mut Decoder, top: &ObjectNode<'_>, text: &str) {
    if !matches!(text, "v1" | "v2") {
        decoder.report(
            place(top, "apiVersion"),
            format!("apiVersion `{text}` is unknown to Helm"),
            |one| one.note("Helm 4 reads v1 and v2"),
        );
    }
}

fn check_name(decoder: &mut Decoder, top: &ObjectNode<'_>, name: &str) {
    let problem = match name {
        "" => "the chart's name is missing".to_owned(),
        "." | ".." => format!("`{name}` can't be a chart's name"),
        name if name.contains(['/', '\\']) => format!("the chart's name `{name}` must not be a path"),
        _ => return,
    };
    decoder.report(place(top, "name"), problem, |one| one);
}

fn check_version(decoder: &mut Decoder, top: &ObjectNode<'_>, text: &str) {
    let problem = match text {
        "" => "the chart's version is missing".to_owned(),
        text if version::is_valid(text) => return,
        text => format!("`{text}` is not a version that Helm takes"),
    };
    decoder.report(place(top, "version"), problem, |one| {
        one.note("expected SemVer, as in 1.2.3 or v0.1.0-rc.1")
    });
}

fn check_type(decoder: &mut Decoder, top: &ObjectNode<'_>, text: &str) {
    if !matches!(text, "" | "application" | "library") {
        decoder.report(
            place(top, "type"),
            format!("`{text}` is not a chart type"),
            |one| one.note("Helm knows application and library"),
        );
    }
}

fn check_dependencies(decoder: &mut Decoder, top: &ObjectNode<'_>, dependencies: &[Struct]) {
    let items = lookup(top, "dependencies").map_or(&[][..], Node::items);
    let mut seen = std::collections::BTreeSet::new();
    for (index, one) in dependencies.iter().enumerate() {
        let place = match items.get(index) {
            Some(item) if items.len() == dependencies.len() => item.span,
            _ => place(top, "dependencies"),
        };
        let (name, alias) = (text_of(one, "name"), text_of(one, "alias"));
        let key = if alias.is_empty() { name } else { alias.clone() };
        if !alias
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        {
            let message =
                format!("the dependency's alias `{alias}` may hold letters, digits, `_` and `-` only");
            let written = items.get(index).and_then(|item| item.get("alias"));
            decoder.report(written.map_or(place, |node| node.span), message, |one| one);
        }
        if !seen.insert(key.clone()) {
            let message = format!("more than one dependency has the name or alias `{key}`");
            decoder.report(place, message, |one| one);
        }
    }
}

fn structs(list: &[Struct]) -> Option<Stored> {
    (!list.is_empty()).then(|| Stored::Structs(list.to_vec()))
}

fn write_struct(fields: &Struct, out: &mut String) {
    out.push('{');
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_json_string(name, out);
        out.push(':');
        match value {
            Stored::Value(value) => value.write_json(out),
            Stored::Structs(list) => {
                out.push('[');
                for (index, one) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_struct(one, out);
                }
                out.push(']');
            }
        }
    }
    out.push('}');
}

/// `org.opencontainers.image.*` as `helm push` derives them; the chart's own annotations take precedence, except for
/// title and version.
fn annotations(fields: &Struct, maintainers: &[Struct]) -> Map {
    const PREFIX: &str = "org.opencontainers.image.";
    let (title, version) = (format!("{PREFIX}title"), format!("{PREFIX}version"));
    let mut map = Map::default();
    let mut add = |key: &str, text: String| {
        if !text.trim().is_empty() {
            map.insert(format!("{PREFIX}{key}"), Value::String(text));
        }
    };
    add("description", text_of(fields, "description"));
    add("title", text_of(fields, "name"));
    add("version", text_of(fields, "version"));
    add("url", text_of(fields, "home"));
    if let Some(Value::List(sources)) = value_of(fields, "sources") {
        add(
            "source",
            sources
                .first()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        );
    }
    let authors = maintainers.iter().map(|one| {
        let (name, email) = (text_of(one, "name"), text_of(one, "email"));
        if email.is_empty() {
            name
        } else {
            format!("{name} ({email})")
        }
    });
    add("authors", authors.collect::<Vec<_>>().join(", "));
    if let Some(Value::Map(own)) = value_of(fields, "annotations") {
        for (key, value) in own.iter().filter(|(key, _)| **key != title && **key != version) {
            map.insert(key.as_str(), value.clone());
        }
    }
    map
}
