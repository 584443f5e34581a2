//! The context that every command gets, and the result that it returns.

use std::path::Path;

use super::printer::Printer;
use super::signals::Signals;
use crate::diag::Diagnostics;
use crate::report::Report;
use crate::world::World;

/// What a command did for one chart.
pub(crate) struct CommandOutcome {
    /// For machines.
    pub(crate) report: Report,
    /// For people: what standard output says.
    pub(crate) text: String,
    /// What went wrong, if it did.
    pub(crate) problem: Option<Diagnostics>,
}

/// What a command did.
pub(crate) enum CommandResult {
    /// One result.
    One(Box<CommandOutcome>),
    /// A list of results, also when it has one element.
    Many(Vec<CommandOutcome>),
    /// A result of another form.
    Document {
        /// For machines: one line.
        json: String,
        /// For people.
        text: String,
    },
    /// A result of another form that may be a failure all the same.
    Findings {
        /// For machines: one line.
        json: String,
        /// For people.
        text: String,
        /// What makes it a failure.
        problem: Option<Diagnostics>,
    },
}

/// What a command works with.
pub(crate) struct Context<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) printer: &'a Printer,
    pub(crate) signals: &'a Signals,
    /// The name that it was called by.
    pub(crate) called_as: CalledAs,
    /// That name as it was written.
    pub(crate) program: &'a str,
}

/// What the program is called as: another name is another command line.
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
    /// By the first argument.
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
    /// A failure of which nothing more is known.
    pub(crate) fn failed(problem: Diagnostics) -> Self {
        Self {
            report: Report::failure(&problem),
            text: String::new(),
            problem: Some(problem),
        }
    }
}
