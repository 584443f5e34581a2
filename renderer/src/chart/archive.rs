//! What a chart archive says of itself, checked without unpacking it to disk.
//!
//! Archives come from others: links are refused, so are paths that leave the chart's
//! folder, and the unpacked size is limited, whatever the headers claim.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::folder::MAX_VALUES_BYTES;
use super::metadata::{self, MAX_METADATA_BYTES, Metadata};
use super::{Budget, MAX_CHART_BYTES, check_schema, check_values};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;

/// What was found in an archive.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// What its Chart.yaml says.
    pub metadata: Metadata,
}

/// Reads a `.tgz` through: every path is checked, and the stream must be complete.
pub fn inspect(path: &Path) -> Result<Inspected> {
    let file = fs::File::open(path).map_err(|error| fsio::cannot("read", path, &error, Class::Chart))?;
    inspect_reader(io::BufReader::new(file), &path.display().to_string())
}

/// As [`inspect`], from any reader; `name` is for messages.
pub fn inspect_reader(reader: impl Read, name: &str) -> Result<Inspected> {
    // One byte more than the limit, so that a chart of exactly that size still reads whole.
    let unpacked = MultiGzDecoder::new(reader).take(MAX_CHART_BYTES + 1);
    let mut archive = tar::Archive::new(unpacked);
    let broken = |error: io::Error| broken(name, &error);
    let mut budget = Budget::default();
    let mut chart_yaml = None;
    let mut older = None;
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        check_path(name, &path)?;
        if kind.is_symlink() || kind.is_hard_link() {
            return Err(refused(
                name,
                &format!("{path} is a link, which no chart archive may hold"),
            ));
        }
        if kind.is_dir() {
            continue;
        }
        if !kind.is_file() {
            return Err(refused(name, &format!("{path} is neither a file nor a folder")));
        }
        budget.add(entry.size(), name)?;
        let inside = path
            .strip_prefix("./")
            .unwrap_or(&path)
            .split_once('/')
            .map(|(_, rest)| rest);
        let shown = format!("{name}:{path}");
        let mut text = |limit, class| fsio::read_text_from(&mut entry, &shown, limit, class);
        match inside {
            // Which of two names the chart? Helm takes the last, others the first.
            Some("Chart.yaml") if chart_yaml.is_some() => {
                return Err(refused(name, "it has more than one Chart.yaml"));
            }
            Some("Chart.yaml") => chart_yaml = Some(text(MAX_METADATA_BYTES, Class::Chart)?),
            Some("requirements.yaml") => older = Some(text(MAX_METADATA_BYTES, Class::Chart)?),
            Some("values.yaml") => check_values(&text(MAX_VALUES_BYTES, Class::Values)?)?,
            Some("values.schema.json") => check_schema(&text(MAX_VALUES_BYTES, Class::Values)?)?,
            _ => {
                io::copy(&mut entry, &mut io::sink()).map_err(broken)?;
            }
        }
    }
    // The end of the archive is not the end of the stream: its checksum comes last.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(broken)?;
    let chart_yaml = chart_yaml.ok_or_else(|| refused(name, "it has no Chart.yaml in its top folder"))?;
    Ok(Inspected {
        metadata: metadata::parse_with(&chart_yaml, older.as_ref())?,
    })
}

fn check_path(name: &str, path: &str) -> Result<()> {
    let inside = path.strip_prefix("./").unwrap_or(path);
    let problem = if path.starts_with('/') || path.get(1..3) == Some(":/") {
        "is absolute"
    } else if inside.split('/').any(|part| part == "..") {
        "leaves the chart"
    } else if path.contains('\\') {
        "has a backslash in it"
    } else if !inside.contains('/') && !inside.is_empty() {
        "lies outside the chart's folder"
    } else {
        return Ok(());
    };
    Err(refused(name, &format!("the path {path:?} {problem}")))
}

fn refused(name: &str, problem: &str) -> Diagnostics {
    Diagnostic::error(Class::Chart, format!("{name} is not a chart archive: {problem}")).into()
}

fn broken(name: &str, error: &io::Error) -> Diagnostics {
    let one = Diagnostic::error(
        Class::Chart,
        format!("{name} can't be read as a .tgz: {}", fsio::reason(error)),
    );
    match error.kind() {
        io::ErrorKind::UnexpectedEof => one.note("the archive is cut short").into(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            one.note("it is damaged, or not gzip").into()
        }
        _ => one.into(),
    }
}
