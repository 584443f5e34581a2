//! Config to chart: a blueprint is a chart folder in which files named `*.jinja` are
//! templates.
//!
//! The suffix is dropped, all other files are copied. Delimiters are `<< >>`, `<% %>` and
//! `<# #>`, so Helm's `{{ }}` passes through. In scope are `chart` and `input`. Undefined names are errors with their
//! location; trailing newlines are kept; nothing is escaped except by filters. `release` and `bootstrap` are blueprints
//! in the binary.

mod blocks;
mod convert;
mod embedded;
mod filters;
mod folder;
mod guard;
mod render;

use std::path::Path;
use std::time::Duration;

use crate::chart::Chart;
use crate::config::Config;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};

pub use guard::{DEFAULT_TIME, MAX_TAG_BYTES, MAX_TAGS};
pub use render::{MAX_OUTPUT_BYTES, MAX_STEPS};

/// The suffix of templates.
const SUFFIX: &str = ".jinja";
/// A blueprint's files: path and content.
type Files = Vec<(String, Vec<u8>)>;

/// Renders a config. `base` is the folder that a blueprint's path is relative to.
pub fn render(config: &Config, base: &Path) -> Result<Chart> {
    render_within(config, base, DEFAULT_TIME)
}

/// As [`render`], with a time limit for a user's blueprint.
pub fn render_within(config: &Config, base: &Path, time: Duration) -> Result<Chart> {
    let input = config.input();
    let files = match config {
        Config::Release(_) => embedded::release()?.render(config.chart(), &input)?,
        Config::Bootstrap(_) => embedded::bootstrap()?.render(config.chart(), &input)?,
        Config::Blueprint(blueprint) => {
            let folder = base.join(&blueprint.path);
            let (name, chart) = (folder.display().to_string(), config.chart().clone());
            let files = folder::read(&folder)?;
            guard::run(time, move || {
                render::CompiledBlueprint::compile(&name, files)?.render(&chart, &input)
            })?
        }
    };
    let chart = Chart::from_files(files)?;
    check_identity(config, &chart)?;
    Ok(chart)
}

/// The starter chart of `create`, with this name.
///
/// # Errors
/// None for a valid name.
pub fn starter(name: &str) -> Result<Chart> {
    let info = crate::config::ChartInfo {
        name: name.to_owned(),
        description: String::new(),
        version: "0.1.0".to_owned(),
        app_version: String::new(),
    };
    Chart::from_files(embedded::starter()?.render(&info, &crate::value::Value::empty_map())?)
}

/// Renders one template's text with an `input`, as a blueprint's file would be.
pub fn render_text(text: &str, input: &crate::value::Value) -> Result<String> {
    let chart = crate::config::ChartInfo {
        name: "chart".to_owned(),
        description: String::new(),
        version: "0.0.0".to_owned(),
        app_version: String::new(),
    };
    let scope = render::scope(&chart, input);
    render_in_scope(("<template>", "text"), text, scope, DEFAULT_TIME)
}

/// Renders one template's text with these names in scope; folder and name are for messages. The template has no access to files,
/// the environment or the network. Steps, output and time are limited, memory is not.
///
/// # Errors
/// Class template, with the location.
pub fn render_in_scope(
    (folder, name): (&str, &str),
    text: &str,
    scope: crate::value::Map,
    time: Duration,
) -> Result<String> {
    let file = (format!("{name}{SUFFIX}"), text.as_bytes().to_vec());
    let folder = folder.to_owned();
    let rendered = guard::run(time, move || {
        render::CompiledBlueprint::compile(&folder, vec![file])?.render_scope(scope)
    })?;
    let bytes = rendered
        .into_iter()
        .next()
        .map(|(_, bytes)| bytes)
        .unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The config names the chart: a blueprint with another name would be pushed elsewhere.
fn check_identity(config: &Config, chart: &Chart) -> Result<()> {
    let wanted = config.chart();
    let problems = [
        ("name", &wanted.name, &chart.metadata.name),
        ("version", &wanted.version, &chart.metadata.version),
    ]
    .into_iter()
    .filter(|(_, wanted, found)| wanted != found)
    .map(|(field, wanted, found)| {
        let message = format!("the blueprint's Chart.yaml has the {field} `{found}`, the config `{wanted}`");
        Diagnostic::error(Class::Template, message)
            .hint(format!("write `{field}: << chart.{field} | literal >>`"))
    });
    Diagnostics::or(problems.collect(), ())
}
