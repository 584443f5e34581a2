//! `env`: Helm's settings as its environment variables, by the names and in the order of `helm env`.

use super::args::env::EnvArgs;
use super::context::{CommandResult, Context};
use super::namespace::namespace;
use crate::report::documents::{Document as _, EnvDocument};
use crate::repositories::helm_paths;

/// Helm's default burst limit of its Kubernetes client.
const BURST_LIMIT: &str = "100";
/// Helm's default for the revisions of a release.
const MAX_HISTORY: &str = "10";

/// `env`
pub(crate) fn env(args: &EnvArgs, context: &Context<'_>) -> CommandResult {
    let all = settings(args, context);
    let text = match &args.name {
        Some(name) => {
            let value = all.iter().find(|(known, _)| known == name);
            format!("{}\n", value.map_or("", |(_, value)| value))
        }
        None => all
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\"\n"))
            .collect(),
    };
    let chosen = all
        .into_iter()
        .filter(|(name, _)| args.name.as_deref().is_none_or(|only| only == *name))
        .map(|(name, value)| (name.to_owned(), value));
    CommandResult::Document {
        json: EnvDocument {
            environment: chosen.collect(),
        }
        .to_json(),
        text,
    }
}

fn settings(args: &EnvArgs, context: &Context<'_>) -> Vec<(&'static str, String)> {
    let mut all = files(context);
    all.extend(requests(args, context));
    all.sort_by_key(|(name, _)| *name);
    all
}

/// The locations of Helm's files.
fn files(context: &Context<'_>) -> Vec<(&'static str, String)> {
    let env = |name: &str| context.world.env(name);
    let shown = |path: Option<std::path::PathBuf>| path.unwrap_or_default().display().to_string();
    let folder = |folder: helm_paths::HelmFolder| folder.path(context.world);
    let below = |name: &str, folder: Option<std::path::PathBuf>, rest: &str| {
        env(name).unwrap_or_else(|| shown(folder.map(|folder| folder.join(rest))))
    };
    vec![
        ("HELM_BIN", context.program.to_owned()),
        ("HELM_CACHE_HOME", shown(folder(helm_paths::CACHE))),
        ("HELM_CONFIG_HOME", shown(folder(helm_paths::CONFIG))),
        (
            "HELM_CONTENT_CACHE",
            below("HELM_CONTENT_CACHE", folder(helm_paths::CACHE), "content"),
        ),
        ("HELM_DATA_HOME", shown(folder(helm_paths::DATA))),
        (
            "HELM_PLUGINS",
            below("HELM_PLUGINS", folder(helm_paths::DATA), "plugins"),
        ),
        (
            "HELM_REGISTRY_CONFIG",
            below(
                "HELM_REGISTRY_CONFIG",
                folder(helm_paths::CONFIG),
                "registry/config.json",
            ),
        ),
        (
            "HELM_REPOSITORY_CACHE",
            shown(helm_paths::repository_cache(context.world)),
        ),
        (
            "HELM_REPOSITORY_CONFIG",
            shown(helm_paths::repository_config(context.world)),
        ),
    ]
}

/// Helm's settings for the cluster.
fn requests(args: &EnvArgs, context: &Context<'_>) -> Vec<(&'static str, String)> {
    let env = |name: &str| context.world.env(name);
    let or = |name: &str, default: &str| env(name).unwrap_or_else(|| default.to_owned());
    let flag = |name: &str| match env(name).as_deref() {
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => "true".to_owned(),
        _ => "false".to_owned(),
    };
    let kube_context = args.namespace.kube_context.clone();
    let qps: f64 = env("HELM_QPS")
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    // Unlike Helm, which prints the secret.
    let token = env("HELM_KUBETOKEN").map(|_| "***".to_owned());
    vec![
        ("HELM_BURST_LIMIT", or("HELM_BURST_LIMIT", BURST_LIMIT)),
        ("HELM_DEBUG", flag("HELM_DEBUG")),
        ("HELM_KUBEAPISERVER", or("HELM_KUBEAPISERVER", "")),
        ("HELM_KUBEASGROUPS", or("HELM_KUBEASGROUPS", "")),
        ("HELM_KUBEASUSER", or("HELM_KUBEASUSER", "")),
        ("HELM_KUBECAFILE", or("HELM_KUBECAFILE", "")),
        (
            "HELM_KUBECONTEXT",
            kube_context.unwrap_or_else(|| or("HELM_KUBECONTEXT", "")),
        ),
        (
            "HELM_KUBEINSECURE_SKIP_TLS_VERIFY",
            flag("HELM_KUBEINSECURE_SKIP_TLS_VERIFY"),
        ),
        ("HELM_KUBETLS_SERVER_NAME", or("HELM_KUBETLS_SERVER_NAME", "")),
        ("HELM_KUBETOKEN", token.unwrap_or_default()),
        ("HELM_MAX_HISTORY", or("HELM_MAX_HISTORY", MAX_HISTORY)),
        ("HELM_NAMESPACE", namespace(&args.namespace, context)),
        ("HELM_QPS", format!("{qps:.2}")),
    ]
}
