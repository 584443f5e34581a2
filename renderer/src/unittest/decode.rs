//! Decodes suite files: a text in, its suites or every mistake out.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use super::assertion;
use super::data::{as_values, suite_data, word};
use super::fields::FieldReader;
use super::path::Path;
use super::set_path::SetPath;
use super::suite::{Selector, Settings, Suite, TestCase};
use crate::decode::ObjectNode;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::semver::Version;
use crate::source::{Location, Source, Span};
use crate::value::{Map, Value};
use crate::yaml::{self, DuplicateKey, Entry, Kind, Node};

/// The version of helm-unittest whose suites are understood.
pub const HELM_UNITTEST: &str = "1.1.2";

/// How many characters of a wrong key are quoted.
const SHOWN_KEY: usize = 200;

const SHARED_FIELDS: [&str; 8] = [
    "values",
    "set",
    "release",
    "capabilities",
    "chart",
    "kubernetesProvider",
    "skip",
    "postRenderer",
];
const SUITE_FIELDS: [&str; 6] = [
    "suite",
    "templates",
    "excludeTemplates",
    "includeCrds",
    "snapshotId",
    "tests",
];
const TEST_FIELDS: [&str; 7] = [
    "it",
    "template",
    "templates",
    "documentIndex",
    "documentSelector",
    "asserts",
    "failFast",
];

/// The suites of a file, and warnings.
///
/// # Errors
/// Class chart: every mistake, with its location.
pub(super) fn suites(
    source: &Arc<Source>,
    file: &FilePath,
    is_strict: bool,
) -> Result<(Vec<Suite>, Vec<Diagnostic>)> {
    let documents = yaml::parse_all_documents(source, Class::Chart, &yaml::Limits::default())?;
    let folder = file.parent().map(FilePath::to_path_buf).unwrap_or_default();
    let (mut suites, mut warnings, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    problems.extend(documents.iter().flat_map(|one| &one.duplicates).map(duplicate));
    let nodes = documents.iter().map(|one| &one.root);
    for node in nodes.filter(|node| !node.is_null()) {
        let mut reader = FieldReader::new(source, is_strict);
        let suite = suite(&mut reader, node, &folder);
        match reader.finish(suite) {
            Ok((suite, more)) => {
                suites.push(suite);
                warnings.extend(more);
            }
            Err(problem) => problems.extend(problem.into_vec()),
        }
    }
    Diagnostics::or(problems, (suites, warnings))
}

/// A key that is there twice: all but the last would be lost, also of `yes`, `on` and `true`.
fn duplicate(key: &DuplicateKey) -> Diagnostic {
    let written = key.location.source.slice(key.location.span);
    let message = format!(
        "duplicate key `{written}`: it is already on line {}",
        key.previous_line
    );
    Diagnostic::error(Class::Chart, message).at(key.location.clone())
}

/// The suffix of the snapshot file, which must stay in its folder.
fn snapshot_id(reader: &mut FieldReader, object: &ObjectNode<'_>) -> String {
    let id = reader.text(object, "snapshotId").unwrap_or_default();
    if id.contains(['/', '\\', '\0']) {
        let span = object.get("snapshotId").unwrap_or(object.node).span;
        reader.error(
            span,
            "`snapshotId` is part of a file's name: `/` and `\\` are not allowed",
        );
    }
    id
}

fn suite(reader: &mut FieldReader, node: &Node, folder: &FilePath) -> Option<Suite> {
    let object = reader.object(node, "")?;
    let known: Vec<&str> = SUITE_FIELDS.iter().chain(&SHARED_FIELDS).copied().collect();
    reader.only(&object, &known);
    let tests = match object.get("tests") {
        Some(list) if !list.items().is_empty() => list,
        Some(list) => {
            reader.error(list.span, "`tests` must be a list of at least one test");
            return None;
        }
        None => {
            reader.error(first_key(node), "the suite has no `tests`");
            return None;
        }
    };
    let settings = settings(reader, &object);
    let tests = tests
        .items()
        .iter()
        .enumerate()
        .filter_map(|(number, node)| test(reader, node, number))
        .collect();
    Some(Suite {
        name: reader.text(&object, "suite").unwrap_or_default(),
        source: Arc::clone(reader.source()),
        folder: folder.to_path_buf(),
        snapshot_id: snapshot_id(reader, &object),
        templates: reader.texts(&object, "templates"),
        excluded: reader.texts(&object, "excludeTemplates"),
        include_crds: reader.boolean(&object, "includeCrds").unwrap_or(false),
        settings,
        skip: skip(reader, &object, true),
        tests,
    })
}

fn first_key(node: &Node) -> Span {
    node.entries().first().map_or(node.span, |entry| entry.key_span)
}

fn test(reader: &mut FieldReader, node: &Node, number: usize) -> Option<TestCase> {
    let object = reader.object(node, &format!("tests[{number}]"))?;
    let known: Vec<&str> = TEST_FIELDS.iter().chain(&SHARED_FIELDS).copied().collect();
    reader.only(&object, &known);
    let asserts = object.get("asserts").map_or(&[][..], Node::items);
    if asserts.is_empty() {
        reader.error(first_key(node), format!("{} has no `asserts`", object.path));
    }
    let mut templates = reader.texts(&object, "templates");
    if templates.is_empty() {
        templates.extend(reader.text_or_none(&object, "template"));
    }
    let asserts = asserts.iter().enumerate().filter_map(|(number, node)| {
        let path = object.field(&format!("asserts[{number}]"));
        assertion::decode(reader, node, &path)
    });
    let asserts = asserts.collect();
    Some(TestCase {
        name: reader.text(&object, "it").unwrap_or_default(),
        templates,
        index: reader.integer(&object, "documentIndex"),
        selector: selector(reader, &object, true),
        settings: settings(reader, &object),
        skip: skip(reader, &object, false),
        asserts,
    })
}

/// `documentIndex`; -1 stands for all documents.
pub(super) fn index(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Option<i64> {
    reader
        .integer(object, "documentIndex")
        .filter(|index| *index != -1)
}

/// `documentSelector`; without a path, or with an empty one, it selects nothing. An assertion's must have one.
pub(super) fn selector(reader: &mut FieldReader, object: &ObjectNode<'_>, of_test: bool) -> Option<Selector> {
    let fields = reader.object_in(object, "documentSelector")?;
    reader.only(&fields, &["path", "value", "matchMany", "skipEmptyTemplates"]);
    let Some(path) = reader.text(&fields, "path") else {
        if !of_test {
            reader.error(fields.node.span, format!("{} is missing", fields.field("path")));
        }
        return None;
    };
    if path.is_empty() {
        return None;
    }
    let value = reader.value(&fields, "value");
    Some(Selector {
        path: Path::parse(&path).map_err(|error| error.to_string()),
        value: (!matches!(value, Value::Null)).then_some(value),
        matches_many: reader.boolean(&fields, "matchMany").unwrap_or(false),
        skips_empty: reader.boolean(&fields, "skipEmptyTemplates").unwrap_or(false),
    })
}

fn settings(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Settings {
    let mut out = Settings {
        values: reader.texts(object, "values"),
        set: set(reader, object),
        post_renderer: post_renderer(object),
        ..Settings::default()
    };
    if let Some(release) = reader.object_in(object, "release") {
        reader.only(&release, &["name", "namespace", "revision", "upgrade"]);
        out.release_name = reader.text_or_none(&release, "name");
        out.release_name_at = release.get("name").map(|node| node.span);
        out.namespace = reader.text_or_none(&release, "namespace");
        out.revision = reader.integer(&release, "revision");
        out.is_upgrade = reader.boolean(&release, "upgrade");
    }
    if let Some(capabilities) = reader.object_in(object, "capabilities") {
        reader.only(&capabilities, &["majorVersion", "minorVersion", "apiVersions"]);
        out.major = reader.version_number(&capabilities, "majorVersion");
        out.minor = reader.version_number(&capabilities, "minorVersion");
        out.api_versions = reader.texts(&capabilities, "apiVersions");
        out.without_api_versions = capabilities.node.get("apiVersions").is_some_and(Node::is_null);
    }
    if let Some(chart) = reader.object_in(object, "chart") {
        reader.only(&chart, &["version", "appVersion"]);
        out.chart_version = reader.text_or_none(&chart, "version");
        out.app_version = reader.text_or_none(&chart, "appVersion");
    }
    if let Some(provider) = reader.object_in(object, "kubernetesProvider") {
        reader.only(&provider, &["scheme", "objects"]);
        out.objects = reader.maps(&provider, "objects");
    }
    out
}

/// Where `postRenderer` is, if it names a program.
fn post_renderer(object: &ObjectNode<'_>) -> Option<Span> {
    let node = object.get("postRenderer")?;
    let is_nothing = |node: &Node| node.is_null() || node.as_str() == Some("");
    let names_nothing = matches!(node.kind, Kind::Map(_)) && node.get("cmd").is_none_or(is_nothing);
    (!names_nothing).then_some(node.span)
}

/// The values of a file that a suite names: as go-yaml v3 reads them, so that `yes` is a text.
///
/// # Errors
/// Class values: it is no map, or a key is there twice.
pub(super) fn suite_values(source: &Arc<Source>) -> Result<Map> {
    let documents = yaml::parse_all_documents(source, Class::Values, &yaml::Limits::default())?;
    let Some(first) = documents.first() else {
        return Ok(Map::default());
    };
    let twice: Vec<_> = first.duplicates.iter().map(duplicate).collect();
    Diagnostics::or(twice, ())?;
    match as_values(&suite_data(&first.root, source)) {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::default()),
        other => {
            let message = format!("a values file must be a map, not {}", other.kind());
            let at = Location::new(source, first.root.span);
            Err(Diagnostic::error(Class::Values, message).at(at).into())
        }
    }
}

fn set(reader: &mut FieldReader, object: &ObjectNode<'_>) -> Vec<(SetPath, Value)> {
    let Some(fields) = reader.object_in(object, "set") else {
        return Vec::new();
    };
    let source = Arc::clone(reader.source());
    let key = |entry: &'_ Entry| {
        let written = word(source.slice(entry.key_span));
        written.unwrap_or(&entry.key).to_owned()
    };
    let mut entries: Vec<_> = fields
        .node
        .entries()
        .iter()
        .map(|entry| (key(entry), entry))
        .collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut out = Vec::new();
    for (key, entry) in entries {
        let value = suite_data(&entry.value, &source);
        match SetPath::parse(&key) {
            Ok(path) => out.push((path, value)),
            Err(why) => {
                let shown: String = key.chars().take(SHOWN_KEY).collect();
                reader.error(entry.key_span, format!("{}: {why}", fields.field(&shown)));
            }
        }
    }
    out
}

/// Why it is skipped: a reason is given, or, for a suite, a newer version is required.
fn skip(reader: &mut FieldReader, object: &ObjectNode<'_>, of_suite: bool) -> Option<String> {
    let fields = reader.object_in(object, "skip")?;
    reader.only(&fields, &["reason", "minimumVersion"]);
    let reason = reader.text(&fields, "reason").filter(|reason| !reason.is_empty());
    let minimum = reader.text(&fields, "minimumVersion").filter(|_| of_suite);
    let minimum = minimum.filter(
        |minimum| match (Version::parse(minimum), Version::parse(HELM_UNITTEST)) {
            (Ok(minimum), Ok(own)) => {
                let numbers = |version: &Version| (version.major, version.minor, version.patch);
                numbers(&minimum) > numbers(&own)
            }
            _ => false,
        },
    );
    reason.or_else(|| minimum.map(|minimum| format!("requires helm-unittest {minimum} or newer")))
}

/// The nearest assertion's name.
pub(super) fn near(name: &str) -> Option<String> {
    let known = assertion::KINDS.iter().map(|kind| kind.name);
    let near = crate::diag::did_you_mean(name, known)?;
    Some(format!("did you mean `{near}`?"))
}

/// A file's path for messages and reports, without `./` at its beginning.
pub(super) fn shown(path: &FilePath) -> String {
    let clean: PathBuf = path
        .components()
        .filter(|part| !matches!(part, std::path::Component::CurDir))
        .collect();
    clean.display().to_string()
}
