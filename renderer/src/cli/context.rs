//! The context that every command gets, and the result that it returns.

use std::path::Path;
use std::sync::Arc;

use super::printer::Printer;
use super::signals::Signals;
use super::values_input::ValuesInput;
use crate::diag::Diagnostics;
use crate::funcs::SeededResults;
use crate::report::Report;
use crate::world::World;

/// The outcome of a command for one chart.
pub(crate) struct CommandOutcome {
    /// The machine-readable result.
    pub(crate) report: Report,
    /// The text on standard output.
    pub(crate) text: String,
    /// The errors, if any.
    pub(crate) problem: Option<Diagnostics>,
}

/// The result of a command.
pub(crate) enum CommandResult {
    /// One result.
    One(Box<CommandOutcome>),
    /// A list of results, even if it has one element.
    Many(Vec<CommandOutcome>),
    /// A result of another form.
    Document {
        /// The JSON document, one line.
        json: String,
        /// The text on standard output.
        text: String,
    },
    /// A result of another form that may also be a failure.
    Findings {
        /// The JSON document, one line.
        json: String,
        /// The text on standard output.
        text: String,
        /// The errors that make it a failure.
        problem: Option<Diagnostics>,
    },
}

/// The context of a command.
pub(crate) struct Context<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) printer: &'a Printer,
    pub(crate) signals: &'a Signals,
    /// The keys and password hashes of `--frozen`, for all charts of the command.
    pub(crate) seeded: Arc<SeededResults>,
    /// Standard input, for `-f -`.
    pub(crate) values_input: ValuesInput,
    /// The kind of name that the program was called by.
    pub(crate) called_as: CalledAs,
    /// The program's name as given.
    pub(crate) program: &'a str,
}

/// The name of the program, which selects its command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalledAs {
    /// Its own name.
    SolarRender,
    /// SolAr's renderer.
    SolarRenderer,
    /// Helm.
    Helm,
}

impl CalledAs {
    /// Derives it from the first argument.
    pub(crate) fn of(program: &str) -> Self {
        match Path::new(program).file_stem().and_then(|stem| stem.to_str()) {
            Some("solar-renderer") => Self::SolarRenderer,
            Some("helm") => Self::Helm,
            _ => Self::SolarRender,
        }
    }

    pub(crate) fn is_solar(self) -> bool {
        self == Self::SolarRenderer
    }

    pub(crate) fn is_helm(self) -> bool {
        self == Self::Helm
    }
}

impl CommandOutcome {
    /// A failure without further details.
    pub(crate) fn failed(problem: Diagnostics) -> Self {
        Self {
            report: Report::failure(&problem),
            text: String::new(),
            problem: Some(problem),
        }
    }
}
