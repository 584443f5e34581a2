//! Compares the files of two charts, whichever tool packed them.
//!
//! `helm package` writes Chart.yaml and Chart.lock again from what it read (sorted keys, no comments), unpacks the
//! archives in `charts/`, and omits the time; so those two are compared by their content, and all other files by their
//! bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::load::Loaded;
use crate::diag::Class;
use crate::source::Source;
use crate::yaml;

/// Whether both charts, with their subcharts, have the same content.
pub(crate) fn is_same_content(one: &Loaded, other: &Loaded) -> bool {
    // Destructured so that a new field is not forgotten here.
    let Loaded {
        details: _,
        metadata,
        chart_yaml: _,
        templates,
        files,
        values: _,
        values_source,
        schema,
        lock,
        dependencies,
        warnings: _,
    } = one;
    metadata.config == other.metadata.config
        && text_of(values_source.as_ref()) == text_of(other.values_source.as_ref())
        && bytes_of(schema.as_ref()) == bytes_of(other.schema.as_ref())
        && is_same_lock(lock.as_ref(), other.lock.as_ref())
        && templates.len() == other.templates.len()
        && named_templates(one) == named_templates(other)
        && files.len() == other.files.len()
        && named_files(one) == named_files(other)
        && is_same_set(dependencies, &other.dependencies)
}

/// A file that is empty is still there.
fn bytes_of(source: Option<&Arc<Source>>) -> Option<Cow<'_, [u8]>> {
    source.map(|source| source.bytes(0..source.text().len()))
}

fn text_of(source: Option<&Arc<Source>>) -> &str {
    source.map_or("", |source| source.text())
}

fn named_templates(chart: &Loaded) -> BTreeMap<&str, &str> {
    let templates = chart.templates.iter();
    templates
        .map(|one| (one.name.as_str(), one.source.text()))
        .collect()
}

fn named_files(chart: &Loaded) -> BTreeMap<&str, &[u8]> {
    let files = chart.files.iter();
    files.map(|(name, body)| (name.as_str(), body.bytes())).collect()
}

/// Compares locks by content.
fn is_same_lock(one: Option<&Arc<Source>>, other: Option<&Arc<Source>>) -> bool {
    let said = |source: &Arc<Source>| {
        let node = yaml::parse(source, Class::Chart, &yaml::Limits::default()).ok()?;
        Some(node.to_value().to_json())
    };
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => {
            one.text() == other.text() || said(one).is_some_and(|text| Some(text) == said(other))
        }
        _ => false,
    }
}

/// Compares subcharts in any order: names of archives and folders may sort differently.
fn is_same_set(some: &[Arc<Loaded>], others: &[Arc<Loaded>]) -> bool {
    let sorted = |list: &[Arc<Loaded>]| {
        let mut list = list.to_vec();
        list.sort_by(|a, b| a.metadata.config.cmp(&b.metadata.config));
        list
    };
    some.len() == others.len()
        && sorted(some)
            .iter()
            .zip(&sorted(others))
            .all(|(one, other)| is_same_content(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::load::load_files;

    fn chart(change: Option<(&str, &str)>) -> Arc<Loaded> {
        let mut files = BTreeMap::from([
            ("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n"),
            ("values.yaml", "a: 1\n"),
            ("values.schema.json", "{}"),
            ("templates/x.yaml", "x: 1\n"),
            ("README.md", "hello\n"),
            (
                "Chart.lock",
                "digest: x\ngenerated: \"2020-01-01T00:00:00Z\"\ndependencies: []\n",
            ),
            ("charts/b/Chart.yaml", "apiVersion: v2\nname: b\nversion: 1.0.0\n"),
            ("charts/b/values.yaml", "b: 1\n"),
        ]);
        files.extend(change);
        let files = files.into_iter().filter(|(_, text)| !text.is_empty());
        load_files(files.map(|(path, text)| (path.to_owned(), text.into())).collect()).unwrap()
    }

    #[test]
    fn only_the_writing_of_chart_yaml_and_chart_lock_may_differ() {
        let table = [
            (
                "Chart.yaml",
                "# x\nversion: \"1.0.0\"\nname: a\napiVersion: v2\n",
                true,
            ),
            (
                "Chart.lock",
                "dependencies: []\ndigest: x\ngenerated: '2020-01-01T00:00:00Z'\n",
                true,
            ),
            (
                "Chart.lock",
                "dependencies: []\ndigest: y\ngenerated: '2020-01-01T00:00:00Z'\n",
                false,
            ),
            ("Chart.lock", "", false),
            ("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.1\n", false),
            ("values.yaml", "a: 1 \n", false),
            ("values.schema.json", "{ }", false),
            ("values.schema.json", "", false),
            ("templates/x.yaml", "x: 2\n", false),
            ("templates/y.yaml", "y: 2\n", false),
            ("README.md", "Hello\n", false),
            ("LICENSE", "x", false),
            ("charts/b/values.yaml", "b: 2\n", false),
            (
                "charts/c/Chart.yaml",
                "apiVersion: v2\nname: c\nversion: 1.0.0\n",
                false,
            ),
        ];
        for (path, text, expected) in table {
            let (one, other) = (chart(None), chart(Some((path, text))));
            assert_eq!(is_same_content(&one, &other), expected, "{path}: {text}");
            assert_eq!(is_same_content(&other, &one), expected, "{path}: {text}");
        }
    }
}
