//! `completion` and `man`: what is generated from the command line's definition.

use std::fs;
use std::path::Path;

use super::args::definition::definition;
use crate::diag::{Class, Result};
use crate::fsio;

/// A completion script.
pub(crate) fn completion(shell: clap_complete::Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut definition(), "solar-render", &mut bytes);
    let script = String::from_utf8_lossy(&bytes).into_owned();
    match shell {
        // clap_complete's bash script names the states of a command whose name has a dash in two ways: those it
        // sets differ from those it matches, and nothing is completed after a subcommand.
        clap_complete::Shell::Bash => script.replace("solar__subcmd__render", "solar__render"),
        _ => script,
    }
}

/// Writes the manual pages of all commands.
pub(crate) fn man(folder: &Path) -> Result<()> {
    let cannot = |error: std::io::Error| fsio::cannot("write", folder, &error, Class::Usage);
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(definition(), folder).map_err(cannot)?;
    Ok(())
}
