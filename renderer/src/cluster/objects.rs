//! A chart's objects as they are applied: their order, and where each was printed. Pure.

use std::sync::Arc;

use serde_json::Value;
use solar_server_side_apply::install_phase;

use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::diff::{RenderedDocument, Rendering, Role, items_of_list};
use crate::source::Location;
use crate::value;
use crate::yaml::{self, Node};

/// How many objects a chart may have.
pub(crate) const MAX_OBJECTS: usize = 20_000;

/// One object of a chart.
#[derive(Debug, Clone)]
pub(crate) struct ChartObject {
    pub(crate) object: Value,
    pub(crate) role: Role,
    /// The template that printed it.
    pub(crate) source: Arc<str>,
    /// The number of its document in the rendering.
    pub(crate) document: usize,
    /// Its position in a `List`.
    pub(crate) item: Option<usize>,
}

/// The objects of a rendering, in the order in which they are applied: files of `crds` folders, namespaces, CRDs, then
/// Helm's order. Hooks are left out.
///
/// # Errors
/// Class template, all of them: a document is no object, or an object has no name.
pub(crate) fn objects(rendering: &Rendering) -> Result<Vec<ChartObject>> {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for (number, document) in rendering.documents.iter().enumerate() {
        if document.role == Role::Hook {
            continue;
        }
        match of_document(number, document) {
            Ok(objects) => all.extend(objects),
            Err(problem) => problems.extend(problem.into_vec()),
        }
    }
    if all.len() > MAX_OBJECTS {
        let message = format!(
            "the chart has {} objects, at most {MAX_OBJECTS} are applied",
            all.len()
        );
        problems.push(Diagnostic::error(Class::Template, message));
    }
    // Stable: the rendering has them in Helm's order.
    all.sort_by_key(|one| match one.role {
        Role::Crd => 0,
        Role::Manifest | Role::Hook => 1 + install_phase(text(&one.object, "/kind")),
    });
    Diagnostics::or(problems, all)
}

fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn of_document(number: usize, document: &RenderedDocument) -> Result<Vec<ChartObject>> {
    let source = document.manifest.source_text();
    let node = yaml::parse(source, Class::Template, &yaml::Limits::default())?;
    let location = Location::new(source, node.span);
    let mut value = node.into_value();
    if value == value::Value::Null {
        return Ok(Vec::new());
    }
    let values: Vec<(Option<usize>, value::Value)> = match items_of_list(&mut value) {
        Some(items) => items
            .into_iter()
            .enumerate()
            .map(|(item, one)| (Some(item), one))
            .collect(),
        None => vec![(None, value)],
    };
    let mut objects = Vec::new();
    for (item, value) in values {
        let object: Value = serde_json::from_str(&value.to_json()).map_err(|error| {
            Diagnostic::error(Class::Internal, format!("{}: {error}", document.manifest.source))
        })?;
        for field in ["/apiVersion", "/kind", "/metadata/name"] {
            if text(&object, field).is_empty() {
                let field = field.trim_start_matches('/').replace('/', ".");
                let message = format!("{}: an object has no {field}", document.manifest.source);
                let one = Diagnostic::error(Class::Template, message).at(location);
                return Err(match field.as_str() {
                    "metadata.name" => {
                        one.hint("server-side apply needs a name: generateName makes a new object each time")
                    }
                    _ => one,
                }
                .into());
            }
        }
        objects.push(ChartObject {
            object,
            role: document.role,
            source: Arc::clone(&document.manifest.source),
            document: number,
            item,
        });
    }
    Ok(objects)
}

/// Where a field begins in an object's document: the field as an API server names it, `spec.ports[0].port`, or as much
/// of it as the document has.
pub(crate) fn offset_of_field(object: &Node, field: &str) -> Option<u32> {
    let (mut node, mut at) = (object, None);
    for step in steps(field) {
        let found = match step {
            FieldStep::Key(key) => {
                let entry = node.entries().iter().find(|entry| entry.key == key);
                entry.map(|entry| (&entry.value, entry.key_span.start))
            }
            FieldStep::Position(number) => node.items().get(number).map(|item| (item, item.span.start)),
            FieldStep::Named(keys) => {
                let has = |item: &&Node, (key, text): &(String, String)| {
                    let value = item.get(key).map(|node| node.to_value());
                    value.is_some_and(|value| value.to_json().trim_matches('"') == text)
                };
                let mut items = node.items().iter();
                let found = items.find(|item| keys.iter().all(|key| has(item, key)));
                found.map(|item| (item, item.span.start))
            }
        };
        match found {
            Some((next, begin)) => (node, at) = (next, Some(begin)),
            None => break,
        }
    }
    at
}

/// A step of a field's name.
#[derive(Debug, PartialEq, Eq)]
enum FieldStep {
    Key(String),
    Position(usize),
    /// Of managed fields: `[name="web"]`, `[containerPort=80,protocol="TCP"]`.
    Named(Vec<(String, String)>),
}

fn steps(field: &str) -> Vec<FieldStep> {
    let mut out = Vec::new();
    let mut rest = field;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (bracket, behind) = inner.split_once(']').unwrap_or((inner, ""));
            rest = behind;
            let pairs = bracket.split(',').filter_map(|pair| {
                let (key, value) = pair.split_once('=')?;
                Some((key.to_owned(), value.trim_matches('"').to_owned()))
            });
            out.push(match bracket.parse() {
                Ok(number) => FieldStep::Position(number),
                // A key of a map: `metadata.annotations[a.b/c]`.
                Err(_) if !bracket.contains('=') => FieldStep::Key(bracket.trim_matches('"').to_owned()),
                Err(_) => FieldStep::Named(pairs.collect()),
            });
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (key, behind) = rest.split_at(end);
        rest = behind;
        if !key.is_empty() {
            out.push(FieldStep::Key(key.to_owned()));
        } else if !rest.starts_with(['.', '[']) {
            break;
        } else if rest.starts_with('.') {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::split_crds;
    use crate::engine::manifest::ManifestFilter;
    use crate::engine::{ParsedChart, RenderRequest};
    use crate::source::Source;

    fn rendering(files: &[(&str, &str)]) -> Rendering {
        let chart = ("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}");
        let files = files.iter().chain([&chart]);
        let files = files.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        let loaded = crate::chart::load::load_files(files.collect()).unwrap();
        let request = RenderRequest::new("shop");
        let mut found =
            Rendering::of(&ParsedChart::new(loaded), &request, ManifestFilter::default()).unwrap();
        split_crds(&mut Rendering::default(), &mut found);
        found
    }

    fn names(objects: &[ChartObject]) -> Vec<String> {
        let name = |one: &ChartObject| {
            format!(
                "{} {}",
                text(&one.object, "/kind"),
                text(&one.object, "/metadata/name")
            )
        };
        objects.iter().map(name).collect()
    }

    #[test]
    fn objects_come_as_they_are_applied() {
        let crd = |name: &str| {
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {name}}}\n"
            )
        };
        let files = [
            (
                "templates/a.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
            ),
            (
                "templates/b.yaml",
                "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: one}}\n- {apiVersion: v1, kind: Service, metadata: {name: two}}\n",
            ),
            (
                "templates/c.yaml",
                "apiVersion: v1\nkind: Namespace\nmetadata: {name: apps}\n",
            ),
            ("templates/d.yaml", &crd("late")),
            (
                "templates/e.yaml",
                "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
            ),
            ("templates/f.yaml", "# nothing\n"),
            ("crds/x.yaml", &format!("{}---\n{}", crd("first"), crd("second"))),
        ];
        let found = objects(&rendering(&files)).unwrap();
        let expected = [
            "CustomResourceDefinition first",
            "CustomResourceDefinition second",
            "Namespace apps",
            "CustomResourceDefinition late",
            "Deployment web",
            "Secret one",
            "Service two",
        ];
        assert_eq!(names(&found), expected);
        assert_eq!(found.last().map(|one| one.item), Some(Some(1)));
    }

    #[test]
    fn an_object_without_a_name_is_an_error_and_the_others_are_found_too() {
        let files = [
            (
                "templates/a.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}\n",
            ),
            ("templates/b.yaml", "kind: ConfigMap\nmetadata: {name: b}\n"),
        ];
        let problem = objects(&rendering(&files)).unwrap_err();
        let text: Vec<String> = problem.iter().map(|one| one.message.clone()).collect();
        assert!(
            text.iter()
                .any(|one| one.ends_with("a.yaml: an object has no metadata.name")),
            "{text:?}"
        );
        assert!(
            text.iter()
                .any(|one| one.ends_with("b.yaml: an object has no apiVersion")),
            "{text:?}"
        );
    }

    #[test]
    fn a_chart_has_a_limited_number_of_objects() {
        let list = |count: usize| {
            format!(
                "apiVersion: v1\nkind: List\nitems:\n{{{{- range until {count} }}}}\n- {{apiVersion: v1, kind: X, metadata: {{name: a}}}}\n{{{{- end }}}}\n"
            )
        };
        let count = |text: &str| objects(&rendering(&[("templates/a.yaml", text)])).map(|all| all.len());
        assert_eq!(count(&list(MAX_OBJECTS)).unwrap(), MAX_OBJECTS);
        let problem = count(&list(MAX_OBJECTS + 1)).unwrap_err();
        assert!(problem.to_string().contains("at most 20000"), "{problem}");
    }

    #[test]
    fn a_field_is_found_as_far_as_the_document_has_it() {
        let text = "metadata:\n  annotations:\n    a.b/c: x\nspec:\n  ports:\n  - name: web\n    port: 80\n  - name: other\n    port: 81\n";
        let source = Source::new("a", text);
        let node = yaml::parse(&source, Class::Template, &yaml::Limits::default()).unwrap();
        let line = |field: &str| offset_of_field(&node, field).map(|at| source.position(at).line);
        let table = [
            ("spec.ports[1].port", Some(9)),
            (".spec.ports[name=\"other\"].port", Some(9)),
            (".spec.ports[port=80,name=\"web\"].protocol", Some(6)),
            ("spec.missing.more", Some(4)),
            ("metadata.annotations[a.b/c]", Some(3)),
            ("status", None),
            ("", None),
            ("[", None),
            ("..spec", Some(4)),
        ];
        for (field, expected) in table {
            assert_eq!(line(field), expected, "{field}");
        }
    }
}
