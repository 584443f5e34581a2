//! The flags of every command.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum, ValueHint};

/// What every command takes.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalFlags {
    /// How the result is printed on standard output
    #[arg(short, long, global = true, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
    /// Also write the result as JSON to this file
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) result_file: Option<PathBuf>,
    /// Print errors only, no warnings and no progress
    #[arg(short, long, global = true, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    /// Log requests, and where credentials come from; never a secret
    #[arg(short, long, global = true, action = ArgAction::SetTrue, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// When to use colors
    #[arg(long, alias = "colour", global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

impl Default for GlobalFlags {
    fn default() -> Self {
        Self {
            output: OutputFormat::Text,
            result_file: None,
            quiet: false,
            verbose: false,
            color: ColorChoice::Auto,
        }
    }
}

/// The form of the result.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// For people
    #[value(alias = "table")]
    Text,
    /// One JSON document, also on failure
    Json,
    /// The same document as YAML
    Yaml,
    /// JUnit's XML
    #[value(hide = true)]
    Junit,
    /// SARIF 2.1.0
    #[value(hide = true)]
    Sarif,
    /// GitHub's annotations
    #[value(hide = true)]
    Github,
    /// GitLab's code quality report
    #[value(hide = true)]
    Gitlab,
    /// Markdown, for a pull request's comment
    #[value(hide = true, alias = "md")]
    Markdown,
    /// A page
    #[value(hide = true)]
    Html,
}

impl OutputFormat {
    /// Whether it is one for findings, which few commands have.
    pub(crate) fn is_for_findings(self) -> bool {
        matches!(self, Self::Junit | Self::Sarif | Self::Github | Self::Gitlab)
    }

    /// Whether it is one for differences.
    pub(crate) fn is_for_differences(self) -> bool {
        matches!(self, Self::Markdown | Self::Html)
    }
}

/// When to use colors.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
