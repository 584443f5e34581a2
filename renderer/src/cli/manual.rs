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
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes the manual pages of all commands.
pub(crate) fn man(folder: &Path) -> Result<()> {
    let cannot = |error: std::io::Error| fsio::cannot("write", folder, &error, Class::Usage);
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(definition(), folder).map_err(cannot)?;
    Ok(())
}
