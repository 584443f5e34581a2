//! Parses text into a [`Config`].

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    BlueprintConfig, BootstrapConfig, ChartInfo, Config, Entrypoint, ReleaseConfig, Resource, names, verify,
};
use crate::decode::{Decoder, ObjectNode};
use crate::diag::{Class, Diagnostic, Result, did_you_mean};
use crate::source::{Location, Source, Span};
use crate::value::{Map, Number, Value, write_json_string};
use crate::yaml::{self, Document, DuplicateKey, Entry, Kind, Node};

/// The maximum size of a config, in bytes: more than a Secret in Kubernetes holds (1 MiB).
pub const MAX_CONFIG_BYTES: usize = 8 * 1024 * 1024;
/// The maximum nesting of a config. Each level is indentation when values are written: with [`MAX_CONFIG_NODES`] it
/// bounds the output of a small text.
pub const MAX_CONFIG_DEPTH: usize = 100;
/// The maximum number of nodes of a config after its aliases are expanded.
pub const MAX_CONFIG_NODES: usize = 200_000;

/// The maximum length of a key in a bootstrap's userdata, in characters of its JSON text: Helm can't parse a longer one
/// in a flow map.
pub const MAX_USERDATA_KEY: usize = 1024;

const TYPES: [&str; 3] = ["release", "bootstrap", "blueprint"];

/// Parses a config. All independent errors are reported together, sorted by position.
pub fn parse(source: &Arc<Source>) -> Result<Config> {
    let limits = yaml::Limits {
        bytes: MAX_CONFIG_BYTES,
        depth: MAX_CONFIG_DEPTH,
        nodes: MAX_CONFIG_NODES,
    };
    let documents = match yaml::parse_json_document(source, &limits) {
        Some(document) => vec![document],
        None => yaml::parse_all_documents(source, Class::Config, &limits)?,
    };
    let mut documents = documents.into_iter();
    let Document { root, duplicates } = match documents.next() {
        Some(document) if !matches!(document.root.kind, Kind::Null) => document,
        _ => {
            let empty = Diagnostic::error(Class::Config, format!("{} is empty", source.name()));
            return Err(empty
                .hint("a config starts with `type: release`, `bootstrap` or `blueprint`")
                .into());
        }
    };
    if let Some(second) = documents.next() {
        let message = "a config is one document, and a second one starts here";
        return Err(Diagnostic::error(Class::Config, message)
            .at(Location::new(source, second.root.span))
            .into());
    }
    let mut decoder = Decoder::new(source, Class::Config);
    // `yes` and `on` are the same key in YAML 1.1, which is no typo: the last one wins, as in an API server.
    let is_as_written = |one: &&DuplicateKey| {
        let Span { start, end } = one.location.span;
        let written = source.text().get(start as usize..end as usize);
        written.is_some_and(|text| text.trim_matches(['"', '\'']) == one.key)
    };
    for one in duplicates.iter().filter(is_as_written) {
        let message = format!("duplicate key `{}`", one.key);
        decoder.report(one.location.span, message, |found| {
            found.note(format!("it is set on line {} already", one.previous_line))
        });
    }
    let config = top(&mut decoder, &root);
    decoder.finish(config)
}

fn top(decoder: &mut Decoder, node: &Node) -> Option<Config> {
    let top = decoder.object(node, "")?;
    top.only(decoder, &["type", "release", "bootstrap", "blueprint", "profile"]);
    let Some(type_node) = top.get("type") else {
        let line = decoder.source().text().lines().next().map_or(0, str::len);
        decoder.report(Span::new(0, line), "type is missing", |one| {
            one.note("the types are release, bootstrap and blueprint")
        });
        return None;
    };
    let name = decoder.string(type_node, "type")?;
    match name.as_str() {
        "release" | "bootstrap" | "blueprint" => {
            if top.get(&name).is_none()
                && let Some(other) = TYPES.into_iter().find(|other| top.get(other).is_some())
            {
                decoder.report(
                    type_node.span,
                    format!("the type is `{name}`, but the block is `{other}`"),
                    |one| one.hint(format!("write `type: {other}`, or a block `{name}:`")),
                );
                return None;
            }
            let block = top.required_object(decoder, &name)?;
            match name.as_str() {
                "release" => release(decoder, &block).map(Config::Release),
                "bootstrap" => bootstrap(decoder, &block).map(Config::Bootstrap),
                _ => blueprint(decoder, &block).map(Config::Blueprint),
            }
        }
        "profile" => {
            decoder.report(type_node.span, "type `profile` can't be rendered", |one| {
                one.note("a profile only binds releases to targets; there is no chart in it")
                    .hint("render the releases it names with `type: release`")
            });
            None
        }
        other => {
            let near = did_you_mean(other, TYPES);
            decoder.report(
                type_node.span,
                format!("unknown type `{other}`"),
                |one| match near {
                    Some(name) => one.hint(format!("did you mean `{name}`?")),
                    None => one.note("the types are release, bootstrap and blueprint"),
                },
            );
            None
        }
    }
}

fn release(decoder: &mut Decoder, block: &ObjectNode<'_>) -> Option<ReleaseConfig> {
    block.only(decoder, &["chart", "input", "targetNamespace", "values"]);
    let chart = chart_info(decoder, block);
    let target_namespace = match block.get("targetNamespace") {
        None => Some(String::new()),
        Some(node) => {
            let path = block.field("targetNamespace");
            let name = decoder.string(node, &path);
            let fits = |name: &str| {
                if name.is_empty() {
                    Ok(())
                } else {
                    names::namespace(name)
                }
            };
            name.and_then(|name| checked(decoder, node, &path, name, fits))
        }
    };
    let values = data_map(decoder, block, "values", Precision::Text);
    let input = block.required_object(decoder, "input")?;
    input.only(decoder, &["component", "resources", "entrypoint"]);
    let component = component(decoder, &input);
    let resources = resources(decoder, &input);
    let entrypoint = entrypoint(decoder, &input, resources.as_ref());
    Some(ReleaseConfig {
        chart: chart?,
        component: component?,
        resources: resources?,
        entrypoint: entrypoint?,
        target_namespace: target_namespace?,
        values: values?,
    })
}

fn component(decoder: &mut Decoder, input: &ObjectNode<'_>) -> Option<String> {
    let component = input.required_object(decoder, "component")?;
    component.only(decoder, &["name"]);
    required_name(decoder, &component, "name", names::object_name)
}

fn resources(decoder: &mut Decoder, input: &ObjectNode<'_>) -> Option<BTreeMap<String, Resource>> {
    let block = input.required_object(decoder, "resources")?;
    let known = [
        "repository",
        "insecure",
        "tag",
        "helm",
        "pullSecretName",
        "verify",
    ];
    let rules = ResourceRules {
        key: |_| Ok(()),
        // Of an image a registry may be implied; see `entrypoint`.
        repository: names::repository,
        tag: names::release_tag,
    };
    each_resource(decoder, &block, &known, rules)
}

fn entrypoint(
    decoder: &mut Decoder,
    input: &ObjectNode<'_>,
    resources: Option<&BTreeMap<String, Resource>>,
) -> Option<Entrypoint> {
    let block = input.required_object(decoder, "entrypoint")?;
    block.only(decoder, &["resourceName", "type"]);
    let kind = entrypoint_type(decoder, &block);
    let resource_name = block.required_string(decoder, "resourceName")?;
    // Resources that failed to decode have been reported; a second error would be misleading.
    if let (Some(resources), Some(node)) = (resources, block.get("resourceName"))
        && !resources.contains_key(&resource_name)
    {
        let near = did_you_mean(&resource_name, resources.keys().map(String::as_str));
        let message =
            format!("the entrypoint names the resource `{resource_name}`, which is not among the resources");
        decoder.report(node.span, message, |one| match near {
            Some(name) => one.hint(format!("did you mean `{name}`?")),
            None => one,
        });
        return None;
    }
    pulled(decoder, input, &resource_name);
    Some(Entrypoint {
        resource_name,
        kind: kind?,
    })
}

/// The entrypoint's chart is what Flux pulls.
fn pulled(decoder: &mut Decoder, input: &ObjectNode<'_>, resource_name: &str) -> Option<()> {
    let resource = input.get("resources")?.get(resource_name)?;
    let node = resource.get("repository")?;
    let text = node.as_str()?;
    if names::repository(text).is_ok() {
        let path = format!("{}.{resource_name}.repository", input.field("resources"));
        checked(decoder, node, &path, text.to_owned(), names::pulled_repository)?;
    }
    Some(())
}

fn entrypoint_type(decoder: &mut Decoder, block: &ObjectNode<'_>) -> Option<String> {
    let kind = block.required_string(decoder, "type")?;
    if !kind.eq_ignore_ascii_case("helm") {
        let span = block.get("type").map_or(block.node.span, |node| node.span);
        decoder.report(
            span,
            format!("entrypoint type `{kind}` can't be rendered"),
            |one| one.note("the chart installs the entrypoint by a Flux HelmRelease: only `helm` is known"),
        );
        return None;
    }
    Some(kind)
}

fn bootstrap(decoder: &mut Decoder, block: &ObjectNode<'_>) -> Option<BootstrapConfig> {
    block.only(decoder, &["chart", "input"]);
    let chart = chart_info(decoder, block);
    let input = block.required_object(decoder, "input")?;
    input.only(decoder, &["releases", "userdata", "verificationKeys"]);
    let known = ["repository", "insecure", "tag", "pullSecretName", "verify"];
    let rules = ResourceRules {
        key: names::object_name,
        repository: names::pulled_repository,
        tag: names::version_range,
    };
    let releases = match input.get("releases") {
        None => Some(BTreeMap::new()),
        Some(node) => {
            let block = decoder.object(node, input.field("releases"));
            block.and_then(|block| each_resource(decoder, &block, &known, rules))
        }
    };
    let userdata = data_map(decoder, &input, "userdata", Precision::Float64);
    let verification_keys = verify::verification_keys(decoder, &input);
    Some(BootstrapConfig {
        chart: chart?,
        releases: releases?,
        userdata: userdata?,
        verification_keys: verification_keys?,
    })
}

fn blueprint(decoder: &mut Decoder, block: &ObjectNode<'_>) -> Option<BlueprintConfig> {
    block.only(decoder, &["path", "chart", "input"]);
    let chart = chart_info(decoder, block);
    let path = block.required_string(decoder, "path");
    if let (Some(text), Some(node)) = (&path, block.get("path"))
        && text.contains('\0')
    {
        decoder.report(
            node.span,
            format!("{} holds a NUL character", block.field("path")),
            |one| one,
        );
    }
    let input = match block.get("input") {
        None => Some(Value::empty_map()),
        Some(node) => data(decoder, node, &block.field("input"), Precision::Text),
    };
    Some(BlueprintConfig {
        chart: chart?,
        path: path?,
        input: input?,
    })
}

fn chart_info(decoder: &mut Decoder, block: &ObjectNode<'_>) -> Option<ChartInfo> {
    let chart = block.required_object(decoder, "chart")?;
    chart.only(decoder, &["name", "description", "version", "appVersion"]);
    let name = required_name(decoder, &chart, "name", names::chart_name);
    let version = required_name(decoder, &chart, "version", names::chart_version);
    let mut text = |name: &str| match chart.get(name) {
        None => Some(String::new()),
        Some(_) => chart.string(decoder, name),
    };
    let (description, app_version) = (text("description"), text("appVersion"));
    Some(ChartInfo {
        name: name?,
        description: description?,
        version: version?,
        app_version: app_version?,
    })
}

type Rule = fn(&str) -> std::result::Result<(), String>;

/// What holds for the names, repositories and tags of resources.
#[derive(Clone, Copy)]
struct ResourceRules {
    key: Rule,
    repository: Rule,
    tag: Rule,
}

fn each_resource(
    decoder: &mut Decoder,
    block: &ObjectNode<'_>,
    known: &[&str],
    rules: ResourceRules,
) -> Option<BTreeMap<String, Resource>> {
    let Kind::Map(entries) = &block.node.kind else {
        return None;
    };
    let mut found = BTreeMap::new();
    let mut complete = true;
    for entry in entries {
        let path = block.field(decoder.written(entry));
        if let Err(reason) = (rules.key)(&entry.key) {
            decoder.report(
                entry.key_span,
                format!("the name `{}` {reason}", entry.key),
                |one| one,
            );
            complete = false;
        }
        let resource = match &entry.value.kind {
            Kind::Null => {
                decoder.report(entry.key_span, format!("{path} is empty"), |one| {
                    one.note("expected a repository and a tag")
                });
                None
            }
            _ => decoder
                .object(&entry.value, path)
                .and_then(|object| resource(decoder, &object, known, rules)),
        };
        complete &= resource.is_some();
        found.extend(resource.map(|resource| (entry.key.clone(), resource)));
    }
    complete.then_some(found)
}

fn resource(
    decoder: &mut Decoder,
    block: &ObjectNode<'_>,
    known: &[&str],
    rules: ResourceRules,
) -> Option<Resource> {
    block.only(decoder, known);
    let repository = required_name(decoder, block, "repository", rules.repository)
        // SolAr's older files have the scheme, which the chart adds itself.
        .map(|text| text.strip_prefix("oci://").map_or(text.clone(), str::to_owned));
    let tag = required_name(decoder, block, "tag", rules.tag);
    let insecure = match block.get("insecure") {
        None => Some(false),
        Some(node) => decoder.boolean(node, &block.field("insecure")),
    };
    let pull_secret_name = match block.get("pullSecretName") {
        None => Some(None),
        Some(node) => pull_secret(decoder, block, node),
    };
    let verify_secret_name = verify::verify(decoder, block);
    let values_template = match block.get("helm") {
        Some(node) if known.contains(&"helm") => {
            let helm = decoder.object(node, block.field("helm"));
            helm.and_then(|helm| {
                helm.only(decoder, &["valuesTemplate"]);
                match helm.get("valuesTemplate") {
                    None => Some(None),
                    Some(_) => helm.string(decoder, "valuesTemplate").map(Some),
                }
            })
        }
        _ => Some(None),
    };
    Some(Resource {
        repository: repository?,
        insecure: insecure?,
        tag: tag?,
        // An empty template counts as none: no ConfigMap is needed.
        values_template: values_template?.filter(|text| !text.is_empty()),
        pull_secret_name: pull_secret_name?,
        verify_secret_name: verify_secret_name?,
    })
}

fn pull_secret(decoder: &mut Decoder, block: &ObjectNode<'_>, node: &Node) -> Option<Option<String>> {
    let path = block.field("pullSecretName");
    let name = decoder.string(node, &path)?;
    if name.is_empty() {
        return Some(None);
    }
    checked(decoder, node, &path, name, names::object_name).map(Some)
}

pub(super) fn required_name(
    decoder: &mut Decoder,
    block: &ObjectNode<'_>,
    field: &str,
    rule: Rule,
) -> Option<String> {
    let text = block.required_string(decoder, field)?;
    let node = block.get(field)?;
    checked(decoder, node, &block.field(field), text, rule)
}

pub(super) fn checked(
    decoder: &mut Decoder,
    node: &Node,
    path: &str,
    text: String,
    rule: impl Fn(&str) -> std::result::Result<(), String>,
) -> Option<String> {
    match rule(&text) {
        Ok(()) => Some(text),
        Err(reason) => {
            decoder.report(node.span, format!("{path}: {reason}"), |one| one);
            None
        }
    }
}

/// How numbers of the data are transferred to the cluster.
#[derive(Clone, Copy, PartialEq)]
enum Precision {
    /// Text: an int64 keeps its digits.
    Text,
    /// Helm's `.Values`, where every number is a float64, and a line of JSON.
    Float64,
}

fn data_map(decoder: &mut Decoder, block: &ObjectNode<'_>, field: &str, precision: Precision) -> Option<Map> {
    let Some(node) = block.get(field) else {
        return Some(Map::default());
    };
    decoder.object(node, block.field(field))?;
    match data(decoder, node, &block.field(field), precision)? {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

/// Arbitrary data, canonical. Numbers that would lose precision are refused.
fn data(decoder: &mut Decoder, node: &Node, path: &str, precision: Precision) -> Option<Value> {
    Some(match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        Kind::String(text) => Value::String(text.clone()),
        Kind::Number(number) => Value::Number(data_number(decoder, *number, node.span, path, precision)?),
        Kind::Seq(items) => {
            let mut complete = true;
            let mut list = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let value = data(decoder, item, &format!("{path}[{index}]"), precision);
                complete &= value.is_some();
                list.extend(value);
            }
            return complete.then_some(Value::List(list));
        }
        Kind::Map(entries) => {
            let mut complete = true;
            let mut map = Map::default();
            for entry in entries {
                let path = format!("{path}.{}", decoder.written(entry));
                complete &= precision == Precision::Text || fits_a_flow_map(decoder, entry);
                let value = data(decoder, &entry.value, &path, precision);
                complete &= value.is_some();
                if let Some(value) = value {
                    map.insert(entry.key.as_str(), value);
                }
            }
            return complete.then_some(Value::Map(map));
        }
    })
}

/// The bootstrap chart writes userdata as one line of JSON, which Helm reads as YAML.
fn fits_a_flow_map(decoder: &mut Decoder, entry: &Entry) -> bool {
    let mut json = String::new();
    write_json_string(&entry.key, &mut json);
    // The chart's template escapes these, too.
    let is_escaped = |character: char| {
        matches!(
            character,
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    let length = json
        .chars()
        .map(|one| if is_escaped(one) { 6 } else { 1 })
        .sum::<usize>();
    if length <= MAX_USERDATA_KEY {
        return true;
    }
    let message = format!(
        "a key of userdata has {length} characters as JSON, and Helm reads at most {MAX_USERDATA_KEY}"
    );
    decoder.report(entry.key_span, message, |one| {
        one.hint("put the text into a value")
    });
    false
}

fn data_number(
    decoder: &mut Decoder,
    number: Number,
    span: Span,
    path: &str,
    precision: Precision,
) -> Option<Number> {
    if let Number::Float(value) = number
        && !value.is_finite()
    {
        decoder.report(
            span,
            format!("{path}: JSON has no infinity and no not-a-number"),
            |one| one.hint("quote it, if text is meant"),
        );
        return None;
    }
    let canonical = number.canonical();
    let literal = decoder.source().slice(span);
    let digits = literal.strip_prefix(['-', '+']).unwrap_or(literal);
    let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // An integer beyond int64 is already a float64, for both Helm and an API server.
    let loses = match canonical {
        Number::Float(value) if is_integer => digits != Number::Float(value.abs()).to_string(),
        Number::Int(_) if precision == Precision::Float64 => !canonical.survives_float64(),
        _ => false,
    };
    if loses {
        let literal = literal.to_owned();
        decoder.report(
            span,
            format!("{path}: the integer {literal} would lose digits"),
            |one| {
                one.note("Helm and Kubernetes hold it as a float64")
                    .hint(format!("quote it: \"{literal}\""))
            },
        );
        return None;
    }
    Some(canonical)
}
