//! The checks of Chart.yaml.

use super::decode::{Decoded, FieldType, StructType, decode, list_of, text_of};
use super::linted_chart::{EntryKind, LintedChart, unreadable};
use super::{Linter, Rule, Severity, rules, url_validation};
use crate::diag::{Class, Diagnostic};
use crate::go_yaml_errors::go_yaml_message;
use crate::source::{Location, Source};
use crate::template::print::quote;
use crate::value::{Map, Value};
use crate::version;
use crate::yaml::YamlError;
use crate::yaml::{self, Document, Kind, Node};

use std::sync::Arc;

const FILE: &str = "Chart.yaml";

static MAINTAINER: StructType = StructType {
    name: "Maintainer",
    full_name: "v2.Maintainer",
    fields: &[
        ("name", FieldType::Text),
        ("email", FieldType::Text),
        ("url", FieldType::Text),
    ],
};

static DEPENDENCY: StructType = StructType {
    name: "Dependency",
    full_name: "v2.Dependency",
    fields: &[
        ("name", FieldType::Text),
        ("version", FieldType::Text),
        ("repository", FieldType::Text),
        ("condition", FieldType::Text),
        ("tags", FieldType::Texts),
        ("enabled", FieldType::Flag),
        ("import-values", FieldType::List),
        ("alias", FieldType::Text),
    ],
};

static METADATA: StructType = StructType {
    name: "Metadata",
    full_name: "v2.Metadata",
    fields: &[
        ("name", FieldType::Text),
        ("home", FieldType::Text),
        ("sources", FieldType::Texts),
        ("version", FieldType::Text),
        ("description", FieldType::Text),
        ("keywords", FieldType::Texts),
        ("maintainers", FieldType::Structs(&MAINTAINER)),
        ("icon", FieldType::Text),
        ("apiVersion", FieldType::Text),
        ("condition", FieldType::Text),
        ("tags", FieldType::Text),
        ("appVersion", FieldType::Text),
        ("deprecated", FieldType::Flag),
        ("annotations", FieldType::TextMap),
        ("kubeVersion", FieldType::Text),
        ("dependencies", FieldType::Structs(&DEPENDENCY)),
        ("type", FieldType::Text),
    ],
};

/// Chart.yaml as Helm reads it, with the text it was read from.
struct ReadChartYaml {
    source: Arc<Source>,
    root: Node,
    decoded: Decoded,
    /// The strict parser's error.
    strict: Option<String>,
}

/// All checks of Chart.yaml, in Helm's order.
pub(super) fn check(place: &LintedChart, linter: &mut Linter) {
    if place.find(FILE) == EntryKind::Folder {
        let words = "should be a file, not a directory".to_owned();
        linter.report(FILE, &rules::CHART_YAML, Some(words));
        let words = format!(
            "unable to parse YAML\n\tread {}/{FILE}: is a directory",
            place.shown
        );
        linter.report(FILE, &rules::CHART_YAML_SYNTAX, Some(words));
        return;
    }
    let read = match read(place) {
        Ok(read) => read,
        Err((words, problem)) => {
            let words = format!("unable to parse YAML\n\t{words}");
            linter.report(FILE, &rules::CHART_YAML_SYNTAX, Some(words));
            if let Some(one) = problem {
                linter.explain(*one);
            }
            return;
        }
    };
    for (rule, field, problem) in identity(&read).into_iter().chain(links(&read)) {
        let told = problem.clone();
        if !linter.report(FILE, rule, problem)
            && let (Some(node), Some(problem)) = (read.root.get(field), told)
        {
            let one = match rule.severity {
                Severity::Error => Diagnostic::error(Class::Chart, problem),
                Severity::Info | Severity::Warning => Diagnostic::warning(Class::Chart, problem),
            };
            linter.explain(one.at(Location::new(&read.source, node.span)));
        }
    }
}

/// The rule, its field, and the problem.
type Checked = (&'static Rule, &'static str, Option<String>);

/// Checks of name, versions and type.
fn identity(read: &ReadChartYaml) -> Vec<Checked> {
    let fields = &read.decoded.fields;
    let strict = read.strict.as_ref();
    let strict = strict.map(|words| format!("failed to strictly parse chart metadata file\n\t{words}"));
    let of_name = name(text_of(fields, "name"));
    let of_api = check_api_version(text_of(fields, "apiVersion"));
    let of_version = check_version(text_of(fields, "version"));
    let of_type = |field: &str| is_text(&read.root, field);
    vec![
        (&rules::CHART_YAML_STRICT, "", strict),
        (&rules::CHART_NAME, "name", of_name),
        (&rules::CHART_API_VERSION, "apiVersion", of_api),
        (&rules::CHART_VERSION_TYPE, "version", of_type("version")),
        (&rules::CHART_VERSION, "version", of_version),
        (
            &rules::CHART_APP_VERSION_TYPE,
            "appVersion",
            of_type("appVersion"),
        ),
    ]
}

/// Checks of maintainers and URLs, and of fields that depend on the API version.
fn links(read: &ReadChartYaml) -> Vec<Checked> {
    let fields = &read.decoded.fields;
    let people = maintainers(list_of(fields, "maintainers"));
    let places = sources(list_of(fields, "sources"));
    let icon = text_of(fields, "icon");
    let absent = icon.is_empty().then(|| "icon is recommended".to_owned());
    let bad = !icon.is_empty() && !url_validation::is_request_url(icon);
    let bad = bad.then(|| format!("invalid icon URL '{icon}'"));
    let api = text_of(fields, "apiVersion");
    let typed = !text_of(fields, "type").is_empty() && api != "v2";
    let typed = typed
        .then(|| format!("chart type is not valid in apiVersion '{api}'. It is valid in apiVersion 'v2'"));
    let depends = !list_of(fields, "dependencies").is_empty() && api != "v2";
    let depends = depends.then(|| {
        format!(
            "dependencies are not valid in the Chart file with apiVersion '{api}'. They are valid in \
             apiVersion 'v2'"
        )
    });
    let version = text_of(fields, "version");
    let loose = (!is_strict(version)).then(|| format!("version '{version}' is not a valid SemVerV2"));
    vec![
        (&rules::CHART_MAINTAINERS, "maintainers", people),
        (&rules::CHART_SOURCES, "sources", places),
        (&rules::CHART_ICON, "icon", absent),
        (&rules::CHART_ICON_URL, "icon", bad),
        (&rules::CHART_TYPE, "type", typed),
        (&rules::CHART_DEPENDENCIES, "dependencies", depends),
        (&rules::CHART_VERSION_STRICT, "version", loose),
    ]
}

/// Helm's message if its loader refuses the chart; `None` if Chart.yaml is valid.
pub(super) fn validate(place: &LintedChart) -> Option<String> {
    let read = match read(place) {
        Ok(read) => read,
        Err((words, _)) => return Some(format!("cannot load Chart.yaml: {words}")),
    };
    let fields = &read.decoded.fields;
    let name = text_of(fields, "name");
    let given = text_of(fields, "version");
    let problem = if name.is_empty() {
        "chart.metadata.name is required".to_owned()
    } else if matches!(name, "." | "..") {
        format!("chart.metadata.name {} is not allowed", quote(name))
    } else if base(name) != name {
        format!("chart.metadata.name {} is invalid", quote(name))
    } else if given.is_empty() {
        "chart.metadata.version is required".to_owned()
    } else if !version::is_valid(given) {
        format!("chart.metadata.version {} is invalid", quote(given))
    } else if !matches!(text_of(fields, "type"), "" | "application" | "library") {
        "chart.metadata.type must be application or library".to_owned()
    } else if list_of(fields, "maintainers").contains(&Value::Null) {
        "maintainers must not contain empty or null nodes".to_owned()
    } else {
        dependencies(list_of(fields, "dependencies"))?
    };
    Some(format!("validation: {problem}"))
}

fn dependencies(list: &[Value]) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for one in list {
        let Value::Map(one) = one else {
            return Some("dependencies must not contain empty or null nodes".to_owned());
        };
        let (name, alias) = (text_of(one, "name"), text_of(one, "alias"));
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !alias.bytes().all(fits) {
            return Some(format!(
                "dependency {} has disallowed characters in the alias",
                quote(name)
            ));
        }
        let key = if alias.is_empty() { name } else { alias };
        if known.contains(&key) {
            return Some(format!(
                "more than one dependency with name or alias {}",
                quote(key)
            ));
        }
        known.push(key);
    }
    None
}

/// The error has go-yaml's and Go's messages, and ours.
fn read(place: &LintedChart) -> Result<ReadChartYaml, (String, Option<Box<Diagnostic>>)> {
    let converting = |error: YamlError| {
        let message = format!("error converting YAML to JSON: {}", go_yaml_message(&error));
        (message, Some(Box::new(Diagnostic::from(error))))
    };
    let Some(source) = place.text(FILE, Class::Chart) else {
        return Err((
            format!("open {}/{FILE}: no such file or directory", place.shown),
            None,
        ));
    };
    let source = source.map_err(|problem| {
        let message = unreadable(&problem);
        (message, problem.into_vec().into_iter().next().map(Box::new))
    })?;
    let document =
        yaml::parse_document(&source, Class::Chart, &yaml::Limits::default()).map_err(converting)?;
    let decoded = decode(&document.root, &METADATA);
    if let Some(words) = decoded.problem {
        return Err((unmarshaling(&words), None));
    }
    let strict = duplicates(&document).or_else(|| decoded.unknown.as_deref().map(unmarshaling));
    Ok(ReadChartYaml {
        source,
        root: document.root,
        decoded,
        strict,
    })
}

fn unmarshaling(words: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {words}")
}

/// The strict YAML parser's message about duplicate keys.
fn duplicates(document: &Document) -> Option<String> {
    let twice: Vec<String> = document
        .duplicates
        .iter()
        .map(|one| {
            let line = one.location.position().line;
            format!("\n  line {line}: key {} already set in map", quote(&one.key))
        })
        .collect();
    let all = twice.concat();
    (!twice.is_empty()).then(|| format!("error converting YAML to JSON: yaml: unmarshal errors:{all}"))
}

fn name(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("name is required".to_owned());
    }
    (base(name) != name).then(|| format!("chart name {} is invalid", quote(name)))
}

/// Go's `filepath.Base`.
fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/";
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

fn check_api_version(given: &str) -> Option<String> {
    match given {
        "" => Some("apiVersion is required. The value must be either \"v1\" or \"v2\"".to_owned()),
        "v1" | "v2" => None,
        other => Some(format!(
            "apiVersion '{other}' is not valid. The value must be either \"v1\" or \"v2\""
        )),
    }
}

fn check_version(given: &str) -> Option<String> {
    if given.is_empty() {
        return Some("version is required".to_owned());
    }
    let Some(parsed) = version::ChartVersion::parse(given) else {
        return Some(format!("version '{given}' is not a valid SemVer"));
    };
    // Helm requires more than the lowest version.
    let least = version::ChartVersion::parse("0.0.0-0")?;
    (parsed <= least).then(|| format!("version {} is less than or equal to \"0.0.0-0\"", quote(given)))
}

/// Three numbers without leading zeros, as SemVer 2.0 requires.
fn is_strict(given: &str) -> bool {
    let core = given.split(['-', '+']).next().unwrap_or("");
    let numbers: Vec<&str> = core.split('.').collect();
    let strict = |number: &&str| !(number.len() > 1 && number.starts_with('0'));
    version::is_valid(given) && !given.starts_with('v') && numbers.len() == 3 && numbers.iter().all(strict)
}

/// Helm checks the plain YAML: its numbers are float64.
fn is_text(root: &Node, field: &str) -> Option<String> {
    let kind = match root.get(field)?.kind {
        Kind::String(_) => return None,
        Kind::Null => "<nil>",
        Kind::Bool(_) => "bool",
        Kind::Number(_) => "float64",
        Kind::Seq(_) => "[]interface {}",
        Kind::Map(_) => "map[string]interface {}",
    };
    Some(format!(
        "{field} should be of type string but it's of type {kind}"
    ))
}

fn maintainers(list: &[Value]) -> Option<String> {
    let empty = Map::default();
    list.iter().find_map(|one| {
        let one = match one {
            Value::Map(map) => map,
            Value::Null => return Some("a maintainer entry is empty".to_owned()),
            _ => &empty,
        };
        let (name, email, url) = (text_of(one, "name"), text_of(one, "email"), text_of(one, "url"));
        if name.is_empty() {
            Some("each maintainer requires a name".to_owned())
        } else if !email.is_empty() && !url_validation::is_email(email) {
            Some(format!("invalid email '{email}' for maintainer '{name}'"))
        } else if !url.is_empty() && !url_validation::is_url(url) {
            Some(format!("invalid url '{url}' for maintainer '{name}'"))
        } else {
            None
        }
    })
}

fn sources(list: &[Value]) -> Option<String> {
    let mut texts = list.iter().filter_map(Value::as_str);
    let bad = texts.find(|source| !url_validation::is_request_url(source))?;
    Some(format!("invalid source URL '{bad}'"))
}
