//! A chart's README.md from Chart.yaml, values.yaml and its comments, as helm-docs 1.14.2 writes it.
//!
//! In: a chart's folder, and a README.md.gotmpl where there is one. Out: the text of README.md, the same for the same
//! input. Where it is written, and what it is compared with, is the caller's.
//!
//! - `comment`: what comments say about a key, in helm-docs' forms
//! - `values`: the values of a file as they are written
//! - `rows`: the rows of the table
//! - `strict`: keys that nothing describes
//! - `metadata`: what Chart.yaml says
//! - `model`: what templates see
//!
//! Without a template of the chart's the one of `default.gotmpl` is run, whose named templates those of charts can use
//! and define anew. Templates are run by the engine of charts' templates, within its limits. They have sprig's functions
//! and Helm's, but neither files nor the environment.
//!
//! # Differences from helm-docs
//!
//! - A number beyond int64 is shown as it is; helm-docs refuses it, or shows 0 in a list.
//! - A value with an `@notationType` of YAML is written anew, without its comments and quotes.
//! - `env` and `expandenv` don't exist: a README doesn't depend on who makes it.

mod comment;
mod metadata;
mod model;
mod rows;
mod strict;
mod values;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::chart::MAX_VALUES_BYTES;
use crate::chart::metadata::MAX_METADATA_BYTES;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::{Limits, TextTemplates, run_texts};
use crate::fsio;
use crate::funcs::{Context, FAMILIES, SPRIG, WORK};
use crate::source::Source;
use crate::template::Functions;
use crate::world::{System, World};
use crate::yaml;
use metadata::Metadata;
pub use strict::Strict;
use values::Values;
pub use values::{MAX_NESTING, MAX_VALUES};

/// The version in the footer: that of the helm-docs whose bytes these are.
pub const HELM_DOCS_VERSION: &str = "1.14.2";
/// The template of charts that have one.
pub const TEMPLATE: &str = "README.md.gotmpl";
/// The maximum size of a template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 1024 * 1024;

/// The order of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// By key.
    #[default]
    Alphanum,
    /// As in the file.
    File,
}

/// How READMEs are written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The values file, in the chart's folder.
    pub values_file: PathBuf,
    /// The templates, one after the other: file names are those in the chart's folder, paths are as they are.
    pub templates: Vec<PathBuf>,
    /// The order of rows.
    pub order: Order,
    /// Whether values without a description have no row.
    pub only_described: bool,
    /// The style of badges, as shields.io names it.
    pub badge_style: String,
    /// The version of helm-docs in the footer; empty for no footer.
    pub footer_version: String,
    /// Whether the default template has no footer.
    pub skip_footer: bool,
    /// Whether keys without a description are errors, and which are not.
    pub strict: Option<Strict>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            values_file: PathBuf::from("values.yaml"),
            templates: vec![PathBuf::from(TEMPLATE)],
            order: Order::default(),
            only_described: false,
            badge_style: "flat-square".to_owned(),
            footer_version: HELM_DOCS_VERSION.to_owned(),
            skip_footer: false,
            strict: None,
        }
    }
}

/// The text of a chart's README.md.
///
/// # Errors
/// Class chart or values: a file that is missing or can't be read. Class template: a template that fails.
pub fn readme(folder: &Path, options: &Options) -> Result<String> {
    let metadata = metadata_of(folder)?;
    let path = folder.join(&options.values_file);
    let source = fsio::read_text(&path, MAX_VALUES_BYTES, Class::Values)?;
    let rows = match yaml::parse_written(&source, Class::Values, &yaml::Limits::default())? {
        Some(document) => {
            let named = comment::by_key(source.text());
            if let Some(strict) = &options.strict {
                let problems = strict::undocumented(Values::new(&source, &document), &named, strict)?;
                Diagnostics::or(problems, ())?;
            }
            rows::rows(Values::new(&source, &document), &named, options)?
        }
        None => Vec::new(),
    };
    let (texts, is_default) = templates(folder, &options.templates)?;
    let library = include_str!("default.gotmpl").replace("BADGE_STYLE", &options.badge_style);
    let shown = folder.display().to_string();
    let text = run_texts(
        &TextTemplates {
            functions: functions(),
            library: &Source::new("default.gotmpl", library),
            texts: &texts,
            main: is_default.then_some("solar.default"),
            limits: &Limits::default(),
            world: &(Arc::new(System) as Arc<dyn World>),
        },
        &|| model::data(&metadata, &shown, &rows, options),
    )?;
    match String::from_utf8(text) {
        Ok(text) => Ok(tidy(&text)),
        Err(_) => {
            let message = format!("the README of {shown} is not UTF-8");
            Err(Diagnostic::error(Class::Template, message).into())
        }
    }
}

fn metadata_of(folder: &Path) -> Result<Metadata> {
    let source = fsio::read_text(&folder.join("Chart.yaml"), MAX_METADATA_BYTES, Class::Chart)?;
    let mut metadata = Metadata::read(&source)?;
    let older = folder.join("requirements.yaml");
    if metadata.api_version == "v1" && older.is_file() {
        metadata.add_requirements(&fsio::read_text(&older, MAX_METADATA_BYTES, Class::Chart)?)?;
    }
    Ok(metadata)
}

/// The texts of the templates that there are, and whether one is missing: then the built-in one follows.
fn templates(folder: &Path, names: &[PathBuf]) -> Result<(Vec<Arc<Source>>, bool)> {
    let in_chart = |name: &PathBuf| match name.parent() {
        Some(parent) if parent.as_os_str().is_empty() => folder.join(name),
        _ => name.clone(),
    };
    let paths = names.iter().map(in_chart).filter(|path| path.is_file());
    let texts = paths.map(|path| fsio::read_text(&path, MAX_TEMPLATE_BYTES, Class::Template));
    let texts: Vec<Arc<Source>> = texts.collect::<Result<_>>()?;
    let is_default = texts.len() < names.len();
    Ok((texts, is_default))
}

/// The functions of README templates.
fn functions() -> &'static Functions<Context> {
    static FUNCTIONS: OnceLock<Functions<Context>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let tables = FAMILIES.iter().map(|(_, table)| *table).chain([SPRIG]);
        tables.fold(Functions::new(), Functions::with).with_work(WORK)
    })
}

/// Removes a blank at the end of each line, and empty lines after an empty one.
fn tidy(text: &str) -> String {
    let text = text.replace(" \n", "\n");
    let mut out = String::with_capacity(text.len());
    let mut breaks = 0;
    for character in text.chars() {
        breaks = if character == '\n' { breaks + 1 } else { 0 };
        if breaks <= 2 {
            out.push(character);
        }
    }
    out
}
