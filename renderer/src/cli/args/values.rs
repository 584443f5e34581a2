//! `values`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::fetch::FetchFlags;
use super::rendering::ValueFlags;
use crate::diag::Result;
use crate::value_docs::{HELM_DOCS_VERSION, Options, Order, Strict};

const CHECK_HELP: &str = "\
Examples:
  solar-render values check charts/shop -f prod.yaml
  solar-render values check charts --ci
  solar-render values check oci://ghcr.io/org/charts/shop -f prod.yaml --given-only
  solar-render values check charts/shop -f prod.yaml -o sarif > values.sarif

-o also takes junit, sarif, github (annotations) and gitlab (code quality).
Exit code 1: a given key is read by nothing.";

const SCHEMA_HELP: &str = "\
Examples:
  solar-render values schema charts/shop
  solar-render values schema charts/shop --write
  solar-render values schema charts --check

Exit code 1: with --check, if a chart's values.schema.json is not what would be written.";

const DOCS_HELP: &str = "\
Examples:
  solar-render values docs charts/shop
  solar-render values docs charts --write
  solar-render values docs charts --check

Exit code 1: with --check, if a chart's README.md is not what would be written.";

/// `values`
#[derive(Subcommand, Debug)]
#[command(defer = true)]
pub(crate) enum ValuesCommand {
    /// Find keys that nothing in the chart reads, and values that templates read and nothing sets
    Check(Box<ValuesCheckArgs>),
    /// Make values.schema.json from values.yaml, its comments and what templates do with each value
    Schema(ValuesSchemaArgs),
    /// Make README.md from Chart.yaml, values.yaml and its comments, as helm-docs does
    Docs(Box<ValuesDocsArgs>),
}

/// `values check`
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct ValuesCheckArgs {
    /// Charts: folders, patterns, folders of charts, archives, configs, oci://HOST/PATH[:TAG] or oci-layout:DIR[:TAG]
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) charts: Vec<String>,
    /// Check each of a chart's ci/*-values.yaml, each below the given values; of a chart without such files those alone
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) ci: bool,
    /// Check the given values alone, and leave out the chart's own values.yaml and templates
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) given_only: bool,
    /// Fail for warnings, too: what is wrong with the chart itself
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) values: ValueFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}

/// `values schema`
#[derive(Args, Debug)]
#[command(after_help = SCHEMA_HELP)]
pub(crate) struct ValuesSchemaArgs {
    /// Chart folders, patterns, or folders of charts; without --write and --check one chart, whose schema is printed
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// Write each chart's values.schema.json
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) write: bool,
    /// Write nothing; fail, and show the difference, if a chart's values.schema.json is not what would be written
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", conflicts_with = "write")]
    pub(crate) check: bool,
}

/// `values docs`
#[derive(Args, Debug)]
#[command(after_help = DOCS_HELP)]
pub(crate) struct ValuesDocsArgs {
    /// Chart folders, patterns, or folders of charts; without --write and --check one chart, whose README.md is printed
    #[arg(value_name = "CHART", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) charts: Vec<PathBuf>,
    /// Write each chart's README.md
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) write: bool,
    /// Write nothing; fail, and show the difference, if a chart's README.md is not what would be written
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", conflicts_with = "write")]
    pub(crate) check: bool,
    /// The values file in each chart's folder
    #[arg(long, value_name = "FILE", default_value = "values.yaml")]
    pub(crate) values_file: PathBuf,
    /// The file to write in each chart's folder
    #[arg(long, value_name = "FILE", default_value = "README.md")]
    pub(crate) output_file: PathBuf,
    /// Templates, run one after the other: names are those of files in each chart's folder, paths are relative to this folder.
    /// Without one of them the built-in template is used
    #[arg(
        long,
        value_name = "FILE",
        value_delimiter = ',',
        default_value = "README.md.gotmpl"
    )]
    pub(crate) template_files: Vec<PathBuf>,
    /// The order of values: by key, or as in the file
    #[arg(long, value_name = "ORDER", value_enum, default_value = "alphanum")]
    pub(crate) sort_values_order: SortOrder,
    /// Leave out values without a description
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) ignore_non_descriptions: bool,
    /// The style of badges, as shields.io names it
    #[arg(long, value_name = "STYLE", default_value = "flat-square")]
    pub(crate) badge_style: String,
    /// The version of helm-docs that the footer names; empty for none
    #[arg(long, value_name = "VERSION", default_value = HELM_DOCS_VERSION)]
    pub(crate) footer_version: String,
    /// Leave the footer out of the built-in template
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) skip_version_footer: bool,
    /// A file in this folder with patterns of charts to leave out, in the form of .helmignore
    #[arg(long, value_name = "FILE", default_value = ".helmdocsignore")]
    pub(crate) ignore_file: PathBuf,
    /// Fail if a key has no description
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    pub(crate) documentation_strict_mode: bool,
    /// Keys that need no description with --documentation-strict-mode
    #[arg(
        long,
        value_name = "KEY",
        value_delimiter = ',',
        default_value = "service.type,image.repository,image.tag"
    )]
    pub(crate) documentation_strict_ignore_absent: Vec<String>,
    /// Regular expressions of keys that need no description with --documentation-strict-mode
    #[arg(
        long,
        value_name = "REGEX",
        value_delimiter = ',',
        default_value = r".*service\.type,.*image\.repository,.*image\.tag"
    )]
    pub(crate) documentation_strict_ignore_absent_regex: Vec<String>,
}

/// The order of values.
#[derive(ValueEnum, Debug, Clone, Copy)]
pub(crate) enum SortOrder {
    /// By key
    Alphanum,
    /// As in the file
    File,
}

impl ValuesDocsArgs {
    /// How READMEs are written.
    ///
    /// # Errors
    /// A pattern of keys is no regular expression.
    pub(crate) fn options(&self) -> Result<Options> {
        let strict = || {
            let keys = self.documentation_strict_ignore_absent.clone();
            Strict::new(keys, &self.documentation_strict_ignore_absent_regex)
        };
        Ok(Options {
            values_file: self.values_file.clone(),
            templates: self.template_files.clone(),
            order: match self.sort_values_order {
                SortOrder::Alphanum => Order::Alphanum,
                SortOrder::File => Order::File,
            },
            only_described: self.ignore_non_descriptions,
            badge_style: self.badge_style.clone(),
            footer_version: self.footer_version.clone(),
            skip_footer: self.skip_version_footer,
            strict: self.documentation_strict_mode.then(strict).transpose()?,
        })
    }
}
