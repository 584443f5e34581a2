//! `solar-operator task`: the task for a config file.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use solar_render::config::schema::ConfigDocument;
use solar_render::config::{
    self, ChartInfo, Config, MAX_CONFIG_BYTES, MAX_CONFIG_DEPTH, MAX_CONFIG_NODES, names as rules,
};
use solar_render::diag::{Class, Diagnostic, Diagnostics, Result};
use solar_render::reference::{Repository, Tag, WHY_CHARTS_ARE_NAMED, mismatches};
use solar_render::source::Source;
use solar_render::yaml::{self, Limits};

use super::args::TaskArgs;
use crate::api::{IfExists, Task, api_version};
use crate::names;

/// The task as YAML in which every string and key is quoted.
pub(super) fn task(args: &TaskArgs) -> Result<String> {
    let source = read(&args.config)?;
    let config = config::parse(&source)?;
    if let Config::Blueprint(_) = config {
        let message = format!(
            "{} is of type blueprint, which can't be rendered from a cluster",
            source.name()
        );
        return Err(Diagnostic::error(Class::Config, message)
            .note("its templates are a folder, and no Job has it")
            .hint("render it here, with solar-render")
            .into());
    }
    let chart = config.chart();
    check(args, chart)?;
    let name = args
        .name
        .clone()
        .unwrap_or_else(|| object_name(&format!("{}-{}", chart.name, args.tag)));
    let owner_namespace = args.owner_namespace.clone().or_else(|| args.namespace.clone());
    let mut spec = document(&source, config.type_name())?;
    let fields = json!({
        "repository": args.repository,
        "tag": args.tag,
        "baseURL": args.base_url,
        "plainHTTP": args.plain_http,
        "ifExists": args.if_exists.map_or(IfExists::Fail, IfExists::from).as_str(),
        "ownerName": args.owner_name.clone().unwrap_or_else(|| chart.name.clone()),
        "ownerNamespace": owner_namespace.unwrap_or_else(|| "default".to_owned()),
        "ownerKind": args.owner_kind,
    });
    spec.extend(fields.as_object().cloned().into_iter().flatten());
    if let Some(name) = &args.push_secret {
        spec.insert("pushSecretRef".into(), json!({"name": name}));
    }
    if let Some(name) = &args.sign_key_secret {
        spec.insert("signKeySecretRef".into(), json!({"name": name}));
    }
    if let Some(digest) = &args.expected_digest {
        spec.insert("expectedDigest".into(), digest.as_str().into());
    }
    if let Some(seconds) = args.failed_job_ttl {
        spec.insert("failedJobTTL".into(), seconds.into());
    }
    let mut metadata = json!({"name": name});
    if let (Some(namespace), Some(fields)) = (&args.namespace, metadata.as_object_mut()) {
        fields.insert("namespace".into(), namespace.as_str().into());
    }
    let object = json!({
        "apiVersion": api_version(), "kind": args.scope().kind(), "metadata": metadata, "spec": spec,
    });
    // The API server would silently drop fields that the types don't have.
    let held = ConfigDocument::deserialize(&object["spec"]).and_then(|_| Task::deserialize(&object));
    held.map_err(|error| Diagnostic::error(Class::Config, format!("{}: {error}", source.name())))?;
    Ok(crate::yaml::write_quoted(&object))
}

fn read(path: &Path) -> Result<Arc<Source>> {
    let name = path.display().to_string();
    let fault = |error: std::io::Error| {
        Diagnostic::error(Class::Io, format!("can't read {name}: {error}"))
            .hint("give the renderer's config file")
    };
    let size = std::fs::metadata(path).map_err(fault)?.len();
    if size > MAX_CONFIG_BYTES as u64 {
        let message = format!("{name} is larger than {MAX_CONFIG_BYTES} bytes");
        return Err(Diagnostic::error(Class::Config, message).into());
    }
    let text = std::fs::read_to_string(path).map_err(fault)?;
    Ok(Source::new(name, text))
}

/// The config of the file without the block that its type doesn't use, since the API server might reject that block.
fn document(source: &Arc<Source>, kind: &str) -> Result<Map<String, Value>> {
    let limits = Limits {
        bytes: MAX_CONFIG_BYTES,
        depth: MAX_CONFIG_DEPTH,
        nodes: MAX_CONFIG_NODES,
    };
    let node = yaml::parse(source, Class::Config, &limits)?;
    let all: Value = serde_json::from_str(&node.to_value().to_json())
        .map_err(|error| Diagnostic::error(Class::Internal, format!("the config as JSON: {error}")))?;
    let all = all.as_object().cloned().unwrap_or_default();
    Ok(all
        .into_iter()
        .filter(|(key, _)| key == "type" || key == kind)
        .collect())
}

/// Reports all errors that the renderer or the API server would report.
fn check(args: &TaskArgs, chart: &ChartInfo) -> Result<()> {
    let mut problems = Vec::new();
    check_place(args, chart, &mut problems);
    check_names(args, &mut problems);
    Diagnostics::or(problems, ())
}

fn check_place(args: &TaskArgs, chart: &ChartInfo, problems: &mut Vec<Diagnostic>) {
    let base = args
        .base_url
        .strip_prefix("oci://")
        .unwrap_or(&args.base_url)
        .trim_end_matches('/');
    let repository = format!("{base}/{}", args.repository.trim_matches('/'));
    let repository = repository.parse::<Repository>();
    let tag = args.tag.parse::<Tag>();
    if let (Ok(repository), Ok(tag)) = (&repository, &tag) {
        let found = mismatches(Some(repository.name()), tag, &chart.name, &chart.version);
        problems.extend(found.into_iter().map(|message| {
            Diagnostic::error(Class::Usage, message)
                .note(WHY_CHARTS_ARE_NAMED)
                .hint("the renderer refuses to push it there")
        }));
    }
    if let Err(error) = repository {
        let message = format!("--base-url and --repository: {error}");
        problems.push(Diagnostic::error(Class::Usage, message));
    }
    if let Err(error) = tag {
        problems.push(
            Diagnostic::error(Class::Usage, format!("--tag: {error}"))
                .hint("a version's `+` is written as `_`"),
        );
    }
}

fn check_names(args: &TaskArgs, problems: &mut Vec<Diagnostic>) {
    let objects = [
        ("name", args.name.as_deref()),
        ("push-secret", args.push_secret.as_deref()),
        ("sign-key-secret", args.sign_key_secret.as_deref()),
    ];
    let namespaces = [
        ("namespace", args.namespace.as_deref()),
        ("owner-namespace", args.owner_namespace.as_deref()),
    ];
    let given = |(flag, name): (&'static str, Option<&str>)| name.map(|name| (flag, name.to_owned()));
    let objects = objects.into_iter().filter_map(given);
    let objects = objects.map(|(flag, name)| (flag, rules::object_name(&name), name));
    let namespaces = namespaces.into_iter().filter_map(given);
    let namespaces = namespaces.map(|(flag, name)| (flag, rules::namespace(&name), name));
    for (flag, fits, name) in objects.chain(namespaces) {
        if let Err(why) = fits {
            problems.push(Diagnostic::error(
                Class::Usage,
                format!("--{flag}: {name:?} {why}"),
            ));
        }
    }
    let owners = [
        ("owner-name", args.owner_name.as_deref()),
        ("owner-kind", Some(args.owner_kind.as_str())),
    ];
    for (flag, _) in owners.into_iter().filter(|(_, text)| *text == Some("")) {
        problems.push(Diagnostic::error(Class::Usage, format!("--{flag} is empty")));
    }
}

/// Converts any text into a Kubernetes name.
fn object_name(text: &str) -> String {
    let fits =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '.';
    let lower = text.to_ascii_lowercase();
    let name: String = lower
        .chars()
        .map(|one| if fits(one) { one } else { '-' })
        .collect();
    let labels = name.split('.').map(|label| label.trim_matches('-'));
    let labels: Vec<_> = labels.filter(|label| !label.is_empty()).collect();
    names::fitted(&labels.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_makes_a_name() {
        for (text, name) in [
            ("shop-1.4.2_b", "shop-1.4.2-b"),
            ("Shop-1..0-.-x-", "shop-1.0.x"),
            ("-.a", "a"),
        ] {
            assert_eq!(object_name(text), name);
            assert!(names::is_name(name), "{name}");
        }
    }
}
