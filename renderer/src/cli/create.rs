//! `create`: a new chart folder, from the starter in the binary or a starter folder of the user's.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::args::create::CreateArgs;
use super::context::{CommandOutcome, CommandResult, Context};
use crate::blueprint;
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::report::{self, Report};
use crate::repositories::helm_paths;
use crate::world::World;

/// The placeholder for the chart's name in a starter, as in Helm.
const PLACEHOLDER: &str = "<CHARTNAME>";
/// The maximum length of a chart's name, in bytes, as in Helm.
const MAX_NAME: usize = 250;

/// `create`
pub(crate) fn create(args: &CreateArgs, context: &Context<'_>) -> CommandResult {
    CommandResult::One(Box::new(
        run(args, context).unwrap_or_else(CommandOutcome::failed),
    ))
}

fn run(args: &CreateArgs, context: &Context<'_>) -> Result<CommandOutcome> {
    let name = chart_name(&args.path)?;
    let files = match &args.starter {
        None => blueprint::starter(&name)?.into_files()?,
        Some(starter) => from_starter(starter, &name, context.world)?,
    };
    for (path, bytes) in files {
        write(&args.path.join(path), &bytes, context)?;
    }
    // Helm's starter has it, and users expect it.
    let charts = args.path.join("charts");
    fs::create_dir_all(&charts).map_err(|error| fsio::cannot("make", &charts, &error, Class::Usage))?;
    let shown = args.path.display().to_string();
    Ok(CommandOutcome {
        text: format!("Creating {shown}\n"),
        report: Report {
            outcome: Some(report::Outcome::Saved),
            file: Some(shown),
            ..Report::default()
        },
        problem: None,
    })
}

fn chart_name(path: &Path) -> Result<String> {
    let last = path.components().next_back();
    let name = match last {
        Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(fits) {
        return Ok(name);
    }
    let message = format!("\"{name}\" is no name for a chart");
    Err(Diagnostic::error(Class::Usage, message)
        .note(format!(
            "letters, digits, `-`, `_` and `.` are allowed, and at most {MAX_NAME} characters"
        ))
        .into())
}

/// The starter's files with the chart's name filled in.
fn from_starter(starter: &Path, name: &str, world: &dyn World) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = find_starter(starter, world)?;
    let mut chart = crate::chart::folder::load(&folder)?;
    chart.set_name(name)?;
    let mut files = chart.into_files()?;
    for (path, bytes) in &mut files {
        // Binary files and subcharts are copied unchanged.
        if let (false, Ok(text)) = (path.starts_with("charts/"), std::str::from_utf8(bytes)) {
            *bytes = text.replace(PLACEHOLDER, name).into_bytes();
        }
    }
    Ok(files)
}

fn find_starter(starter: &Path, world: &dyn World) -> Result<PathBuf> {
    if starter.is_absolute() {
        return Ok(starter.to_owned());
    }
    let home = helm_paths::DATA.path(world).ok_or_else(|| {
        let message = format!(
            "there is no folder of starters for {}: HOME is not set",
            starter.display()
        );
        Diagnostic::error(Class::Usage, message).hint("give the starter's absolute path")
    })?;
    Ok(home.join("starters").join(starter))
}

/// As in Helm, an existing file is replaced, with a warning.
fn write(path: &Path, bytes: &[u8], context: &Context<'_>) -> Result<()> {
    if path.exists() {
        let message = format!("File \"{}\" already exists. Overwriting.", path.display());
        context.printer.warn(&Diagnostic::warning(Class::Chart, message));
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| fsio::cannot("make", folder, &error, Class::Usage))?;
    fsio::write_over(path, bytes).map_err(|error| fsio::cannot("write", path, &error, Class::Usage))
}
