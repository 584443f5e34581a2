//! Writes a rendered chart's files to a folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chart::{Chart, Content};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;

/// Writes a rendered chart's files into a folder.
///
/// A folder with other files is refused, since it would be a chart with another digest. Files with the same names are
/// replaced, so that a second run succeeds.
pub(crate) fn write_chart(chart: &Chart, folder: &Path) -> Result<()> {
    if let Some(foreign) = find_stranger(chart, folder)? {
        let message = format!(
            "{} holds {foreign}, which is not part of the chart",
            folder.display()
        );
        return Err(Diagnostic::error(Class::Usage, message)
            .hint("name an empty folder, or a new one")
            .into());
    }
    for file in &chart.files {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        let cannot = |error: std::io::Error| fsio::cannot("write", &path, &error, Class::Io);
        fs::create_dir_all(parent).map_err(cannot)?;
        match &file.content {
            Content::Memory(bytes) => fsio::write_atomically(&path, bytes).map_err(cannot)?,
            Content::Disk { path: from, .. } => fs::copy(from, &path).map(|_| ()).map_err(cannot)?,
        }
    }
    Ok(())
}

fn find_stranger(chart: &Chart, folder: &Path) -> Result<Option<String>> {
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        let folder = folder.join(&below);
        let cannot = |error: std::io::Error| fsio::cannot("read", &folder, &error, Class::Io);
        let entries = match fs::read_dir(&folder) {
            // A folder that doesn't exist has no foreign files.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            entries => entries.map_err(cannot)?,
        };
        for entry in entries {
            let entry = entry.map_err(cannot)?;
            let path = below.join(entry.file_name());
            // Left over from a killed run: it is removed an hour later, and is not part of the chart.
            if fsio::is_unfinished(&path) {
                continue;
            }
            if entry.file_type().map_err(cannot)?.is_dir() {
                open.push(path);
            } else if !chart.files.iter().any(|file| Path::new(&file.path) == path) {
                return Ok(Some(path.display().to_string()));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such a file once made every further run fail.
    #[test]
    fn leftovers_of_a_killed_run_are_ignored() {
        let chart = Chart::from_files(vec![(
            "Chart.yaml".to_owned(),
            b"{apiVersion: v2, name: a, version: 1.0.0}".to_vec(),
        )]);
        let (chart, folder) = (chart.unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("templates")).unwrap();
        fs::write(folder.path().join("templates/.solar-render-x"), "").unwrap();
        write_chart(&chart, folder.path()).unwrap();
        fs::write(folder.path().join("other"), "").unwrap();
        assert!(write_chart(&chart, folder.path()).is_err());
    }
}
