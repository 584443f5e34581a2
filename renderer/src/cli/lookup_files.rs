//! `--lookup-file`: the objects that `lookup` finds, from files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::args::rendering::{LookupFlags, ValueFlags};
use super::context::Context;
use super::csv;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::capabilities::Capabilities;
use crate::fsio;
use crate::funcs::{ClusterFiles, ClusterObjects, MAX_CLUSTER_BYTES};

/// The most files of one command.
pub(crate) const MAX_LOOKUP_FILES: usize = 1_000;

/// The objects of all files, in a cluster that serves what the capabilities say; nothing without a file. `values` are
/// the flags that may read standard input, too.
///
/// # Errors
/// Class usage: standard input is read twice, or there are too many files. Class values or io: a file can't be read, or
/// has something that is no object.
pub(crate) fn lookup_objects(
    flags: &LookupFlags,
    values: &[&ValueFlags],
    capabilities: &Capabilities,
    context: &Context<'_>,
) -> Result<Arc<ClusterObjects>> {
    let LookupFlags { lookup_file: files } = flags;
    if files.is_empty() {
        return Ok(Arc::default());
    }
    check_names(files, values)?;
    let mut sources = Vec::new();
    for file in files {
        sources.push(match file.as_str() {
            "-" => fsio::read_text_from(io::stdin().lock(), "<stdin>", MAX_CLUSTER_BYTES, Class::Values)?,
            file => fsio::read_text(Path::new(file), MAX_CLUSTER_BYTES, Class::Values)?,
        });
    }
    let found = ClusterFiles::read(&sources)?;
    for warning in &found.warnings {
        context.printer.warn(warning);
    }
    let served = capabilities.api_versions.iter().cloned();
    Ok(Arc::new(ClusterObjects::of_cluster(found.objects, served)))
}

fn check_names(files: &[String], values: &[&ValueFlags]) -> Result<()> {
    let refused = |message: &str, hint: &str| {
        let one = Diagnostic::error(Class::Usage, message);
        Err(Diagnostics::from(one.hint(hint)))
    };
    if files.len() > MAX_LOOKUP_FILES {
        let given = files.len();
        let message = format!("--lookup-file is given {given} times, at most {MAX_LOOKUP_FILES} are read");
        return refused(&message, "join them: a file holds many objects");
    }
    let inputs = files.iter().filter(|file| *file == "-").count();
    let hint = "write one of them to a file";
    if inputs > 1 {
        let message = "--lookup-file - is given twice: standard input is read once";
        return refused(message, hint);
    }
    for flags in values {
        if inputs > 0 && reads_input(flags)? {
            let message = "--lookup-file - and another flag read standard input, which is read once";
            return refused(message, hint);
        }
    }
    Ok(())
}

/// Whether standard input is read for values.
fn reads_input(flags: &ValueFlags) -> Result<bool> {
    let is_input = |name: &str| name.trim() == "-";
    let files = csv::fields("--values", &flags.values)?;
    let set_files = flags.set_file.iter().flat_map(|given| given.split(','));
    let mut set_files = set_files.filter_map(|pair| pair.split_once('='));
    Ok(files.iter().any(|file| is_input(file)) || set_files.any(|(_, file)| is_input(file)))
}
