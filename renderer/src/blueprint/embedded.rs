//! The blueprints in the binary, compiled on first use.

use std::sync::OnceLock;

use super::render::CompiledBlueprint;
use crate::diag::Result;

macro_rules! blueprint {
    ($name:literal: $($path:literal),+) => {
        ($name, &[$(($path, include_str!(concat!("../../../charts/", $name, "/", $path)))),+])
    };
}

/// A name, and path and text of each file.
type Embedded = (&'static str, &'static [(&'static str, &'static str)]);

const RELEASE: Embedded =
    blueprint!("release": "Chart.yaml.jinja", "values.yaml.jinja", "templates/release.yaml.jinja");
const BOOTSTRAP: Embedded =
    blueprint!("bootstrap": "Chart.yaml.jinja", "values.yaml.jinja", "templates/releases.yaml.jinja");

const STARTER: Embedded = blueprint!(
    "starter": ".helmignore", "Chart.yaml.jinja", "values.yaml.jinja", "templates/_helpers.tpl.jinja",
    "templates/NOTES.txt.jinja", "templates/deployment.yaml.jinja", "templates/service.yaml.jinja",
    "templates/serviceaccount.yaml.jinja", "templates/ingress.yaml.jinja", "templates/hpa.yaml.jinja",
    "templates/tests/connection.yaml.jinja"
);

/// The starter chart of `create`.
pub(super) fn starter() -> Result<CompiledBlueprint> {
    compile(STARTER)
}

/// `type: release`
pub(super) fn release() -> Result<&'static CompiledBlueprint> {
    static COMPILED: OnceLock<Result<CompiledBlueprint>> = OnceLock::new();
    COMPILED
        .get_or_init(|| compile(RELEASE))
        .as_ref()
        .map_err(Clone::clone)
}

/// `type: bootstrap`
pub(super) fn bootstrap() -> Result<&'static CompiledBlueprint> {
    static COMPILED: OnceLock<Result<CompiledBlueprint>> = OnceLock::new();
    COMPILED
        .get_or_init(|| compile(BOOTSTRAP))
        .as_ref()
        .map_err(Clone::clone)
}

fn compile((name, files): Embedded) -> Result<CompiledBlueprint> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    CompiledBlueprint::compile(name, files)
}
