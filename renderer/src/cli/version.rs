//! `version`, and `plugin list`.

use std::sync::Arc;

use super::args::version::VersionArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use super::table::table;
use crate::diag::Result;
use crate::engine::Limits;
use crate::engine::capabilities::{helm_version, helm_version_object};
use crate::engine::release::text_from_template;
use crate::report::documents::{Document as _, PluginsDocument, VersionDocument};
use crate::template::Val;
use crate::world::System;

/// The package's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit it was built from.
const COMMIT: &str = env!("SOLAR_COMMIT");
/// The profile and the target.
const BUILD: &str = env!("SOLAR_BUILD");
/// The features of the package, and whether they were enabled.
const FEATURES: [(&str, bool); 7] = [
    ("cli", cfg!(feature = "cli")),
    ("crypto", cfg!(feature = "crypto")),
    ("oci", cfg!(feature = "oci")),
    ("pipeline", cfg!(feature = "pipeline")),
    ("render", cfg!(feature = "render")),
    ("schema", cfg!(feature = "schema")),
    ("signing-keys", cfg!(feature = "signing-keys")),
];

/// `version`
pub(crate) fn version(args: &VersionArgs, context: &Context<'_>) -> CommandResult {
    let is_helm = context.called_as.is_helm();
    let enabled = FEATURES.iter().filter(|(_, is_enabled)| *is_enabled);
    let features: Vec<&str> = enabled.map(|(name, _)| *name).collect();
    let text = match (is_helm, args.template.as_str()) {
        (_, template) if !template.is_empty() => templated(template, is_helm),
        (true, _) => Ok(as_helm(args.short)),
        (false, _) if args.short => Ok(format!("v{VERSION}\n")),
        (false, _) => Ok(format!(
            "solar-render {VERSION} (commit {COMMIT})\nBuild: {BUILD}\nFeatures: {}\n",
            features.join(", ")
        )),
    };
    match text {
        Ok(text) => CommandResult::Document {
            json: VersionDocument {
                version: VERSION,
                commit: COMMIT,
                build: BUILD,
                features,
            }
            .to_json(),
            text,
        },
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

/// The Helm whose output is reproduced.
fn as_helm(short: bool) -> String {
    let fields = helm_version();
    if short {
        let version = fields.iter().find(|(name, _)| *name == "Version");
        return format!("{}\n", version.map_or("", |(_, version)| version));
    }
    let fields = fields.map(|(name, value)| format!("{name}:\"{value}\""));
    format!("version.BuildInfo{{{}}}\n", fields.join(", "))
}

/// No newline is added, as in Helm.
fn templated(template: &str, is_helm: bool) -> Result<String> {
    let data = if is_helm { helm_version_object } else { own };
    text_from_template(
        "--template",
        template,
        data,
        &(Arc::new(System) as _),
        None,
        &Limits::default(),
    )
}

/// The data of a template.
fn own() -> Val {
    let fields = [
        ("Version", format!("v{VERSION}")),
        ("GitCommit", COMMIT.to_owned()),
        ("GoVersion", String::new()),
    ];
    Val::from_entries(fields.map(|(name, value)| (name.to_owned(), Val::str(value.as_str()))))
}

/// `plugin list`: there are none; output can be piped instead.
pub(crate) fn no_plugins(context: &Context<'_>) -> CommandResult {
    let heads = ["NAME", "VERSION", "TYPE", "APIVERSION", "PROVENANCE", "SOURCE"];
    let text = match context.called_as.is_helm() {
        true => table(&[heads], 0),
        false => "There are no plugins.\n".to_owned(),
    };
    CommandResult::Document {
        json: PluginsDocument { plugins: [] }.to_json(),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_the_package_is_listed() {
        let manifest = include_str!("../../Cargo.toml");
        let (_, features) = manifest.split_once("[features]\n").unwrap();
        let features = features.split("\n[").next().unwrap();
        let names = features
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(" = "));
        let mut names: Vec<&str> = names
            .map(|(name, _)| name)
            .filter(|name| *name != "default")
            .collect();
        names.sort_unstable();
        assert_eq!(FEATURES.map(|(name, _)| name).as_slice(), names);
    }
}
