//! Inspects chart archives without unpacking them to disk, and unpacks them.
//!
//! Archives are untrusted: links and paths outside of the chart's folder are refused, and the unpacked size is limited,
//! whatever the headers claim.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, Read, Write as _};
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::MAX_VALUES_BYTES;
use super::metadata::{self, ChartRole, MAX_METADATA_BYTES, Metadata};
use super::{LoadBudget, MAX_CHART_BYTES, check_schema, check_values};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;

/// The result of inspecting an archive.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// The metadata of its Chart.yaml.
    pub metadata: Metadata,
}

/// Reads a whole `.tgz`: every path is checked, and the stream must be complete.
pub fn inspect(path: &Path) -> Result<Inspected> {
    let file = fsio::open(path).map_err(|error| fsio::cannot("read", path, &error, Class::Chart))?;
    inspect_reader(io::BufReader::new(file), &path.display().to_string())
}

/// As [`inspect`], of a chart in another one's `charts/`.
pub fn inspect_subchart(path: &Path) -> Result<Inspected> {
    let file = fsio::open(path).map_err(|error| fsio::cannot("read", path, &error, Class::Chart))?;
    let name = path.display().to_string();
    walk(
        io::BufReader::new(file),
        &name,
        ChartRole::Subchart,
        &mut |_, entry| skip(entry, &name),
    )
}

fn skip(entry: &mut dyn Read, name: &str) -> Result<()> {
    io::copy(entry, &mut io::sink()).map_err(|error| broken(name, &error))?;
    Ok(())
}

/// As [`inspect`], from any reader; `name` is for messages.
pub fn inspect_reader(reader: impl Read, name: &str) -> Result<Inspected> {
    walk(reader, name, ChartRole::Root, &mut |_, entry| skip(entry, name))
}

/// Unpacks an archive into the folder `into`, which must be empty and private: it gets the content of the archive's top
/// folder. On an error, files that were unpacked so far are kept.
pub fn unpack(reader: impl Read, name: &str, into: &Path) -> Result<Inspected> {
    walk(reader, name, ChartRole::Root, &mut |inside, entry| {
        let path = into.join(inside);
        let cannot = |error: io::Error| fsio::cannot("write", &path, &error, Class::Io);
        if let Err(error) = fs::create_dir_all(path.parent().unwrap_or(into)) {
            // The folder is private: a conflicting file came from the archive.
            return Err(match error.kind() {
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                    refused(name, &format!("{inside} is below a file, not a folder"))
                }
                _ => cannot(error),
            });
        }
        let mut file = match fs::File::create_new(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(refused(name, &format!("{inside} is in it twice")));
            }
            Err(error) => return Err(cannot(error)),
        };
        let mut buffer = [0; 16 * 1024];
        loop {
            // The message depends on whether reading or writing failed.
            let read = entry.read(&mut buffer).map_err(|error| broken(name, &error))?;
            if read == 0 {
                return Ok(());
            }
            file.write_all(buffer.get(..read).unwrap_or_default())
                .map_err(cannot)?;
        }
    })
}

/// A visitor of files: the path in the chart's folder, and the bytes.
type Visit<'v> = dyn FnMut(&str, &mut dyn Read) -> Result<()> + 'v;

/// Checks every entry, and passes each file to `visit`.
fn walk(reader: impl Read, name: &str, role: ChartRole, visit: &mut Visit<'_>) -> Result<Inspected> {
    let mut chart_yaml = None;
    let mut older = None;
    let mut budget = LoadBudget::default();
    each_file(
        reader,
        name,
        MAX_CHART_BYTES,
        &mut budget,
        &mut |inside, entry| {
            let (limit, class) = match inside {
                "Chart.yaml" | "requirements.yaml" => (MAX_METADATA_BYTES, Class::Chart),
                "values.yaml" | "values.schema.json" => (MAX_VALUES_BYTES, Class::Values),
                _ => return visit(inside, entry),
            };
            // A read error here is a broken archive, not an I/O error.
            let mut bytes = Vec::new();
            let whole = entry.take(limit as u64 + 1).read_to_end(&mut bytes);
            whole.map_err(|error| broken(name, &error))?;
            let text = fsio::read_text_from(bytes.as_slice(), &format!("{name}:{inside}"), limit, class)?;
            visit(inside, &mut text.text().as_bytes())?;
            match inside {
                "Chart.yaml" => chart_yaml = Some(text),
                "requirements.yaml" => older = Some(text),
                "values.yaml" => check_values(&text)?,
                _ => check_schema(&text)?,
            }
            Ok(())
        },
    )?;
    let chart_yaml = chart_yaml.ok_or_else(|| refused(name, "it has no Chart.yaml in its top folder"))?;
    Ok(Inspected {
        metadata: metadata::parse_with(&chart_yaml, older.as_ref(), role)?,
    })
}

/// Passes every file of a `.tgz` to `visit`, in the archive's order. Paths are relative to the
/// archive's top folder, whose name does not matter; each is checked, and no two are the same.
/// Files of more than `limit` bytes in all are refused.
pub(super) fn each_file(
    reader: impl Read,
    name: &str,
    limit: u64,
    budget: &mut LoadBudget,
    visit: &mut Visit<'_>,
) -> Result<()> {
    // One byte more than the limit, so that a chart of exactly that size is still complete.
    let mut reader = io::BufReader::new(reader);
    if reader.fill_buf().is_ok_and(is_tar) {
        let one = refusal(name, "it is a tar archive that is not compressed");
        return Err(one
            .hint(format!("`gzip -n {name}` makes a {name}.gz of it"))
            .into());
    }
    let unpacked = Members::new(reader).take(MAX_CHART_BYTES + 1);
    let mut archive = tar::Archive::new(unpacked);
    let broken = |error: io::Error| broken(name, &error);
    let mut seen = BTreeSet::new();
    let mut total: u64 = 0;
    for entry in archive.entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if !check_entry(name, &path, entry.header().entry_type())? {
            continue;
        }
        budget.add(entry.size(), name)?;
        total = total.saturating_add(entry.size());
        if total > limit {
            return Err(refused(
                name,
                &format!("it holds more than {}", fsio::size(limit)),
            ));
        }
        let inside = inside(name, &path)?;
        // Duplicates are ambiguous: Helm uses the last one, other tools the first.
        if !seen.insert(inside.clone()) {
            return Err(refused(name, &format!("{inside} is in it twice")));
        }
        visit(&inside, &mut entry)?;
    }
    let deeper = |path: &&String| path.split_once('/').is_some_and(|(_, rest)| rest == "Chart.yaml");
    if !seen.contains("Chart.yaml")
        && let Some(path) = seen.iter().find(deeper)
    {
        let one = refusal(
            name,
            &format!("its Chart.yaml is one folder too deep, at {path} below the top folder"),
        );
        return Err(one
            .note("for Helm too, the top folder of the path `./chart/Chart.yaml` is `.`")
            .hint(PACKING)
            .into());
    }
    // The end of the archive is not the end of the stream, which ends with its checksum.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(broken)?;
    Ok(())
}

/// A hint on how to create a chart archive.
const PACKING: &str =
    "an archive holds the chart's folder: `tar -czf CHART.tgz CHART`, or `solar-render package CHART`";

/// Whether a file starts like a tar archive.
fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar".as_slice())
}

/// Decompresses all gzip members. As in Helm and gzip itself, trailing garbage, such as the zeros that some stores
/// append, is ignored.
struct Members<R> {
    open: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    fn new(reader: R) -> Self {
        Self {
            open: Some(GzDecoder::new(reader)),
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        /// The first byte of a member.
        const MAGIC: u8 = 0x1f;
        while let Some(member) = &mut self.open {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let rest = self.open.take().map(GzDecoder::into_inner);
            if let Some(mut rest) = rest
                && rest.fill_buf()?.first() == Some(&MAGIC)
            {
                self.open = Some(GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

/// Every file of a `.tgz`, with its path in the chart; `name` is for messages.
///
/// # Errors
/// Class chart: it is not an archive, or not a valid chart archive.
pub fn read_files(reader: impl Read, name: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut budget = LoadBudget::default();
    each_file(
        reader,
        name,
        super::HELM_CHART_BYTES,
        &mut budget,
        &mut |inside, entry| {
            let mut bytes = Vec::new();
            entry
                .read_to_end(&mut bytes)
                .map_err(|error| broken(name, &error))?;
            files.push((inside.to_owned(), bytes));
            Ok(())
        },
    )?;
    Ok(files)
}

/// Whether the entry is a file; an error for entries that no chart archive may hold.
fn check_entry(name: &str, path: &str, kind: tar::EntryType) -> Result<bool> {
    if kind.is_pax_global_extensions() {
        return Ok(false);
    }
    inside(name, path)?;
    if kind.is_symlink() || kind.is_hard_link() {
        return Err(refused(
            name,
            &format!("{path} is a link, which no chart archive may hold"),
        ));
    }
    if kind.is_dir() {
        return Ok(false);
    }
    if !kind.is_file() {
        return Err(refused(name, &format!("{path} is neither a file nor a folder")));
    }
    Ok(true)
}

/// A path below the archive's top folder, as Helm reads it: if it has a backslash (archives from Windows), backslashes
/// separate folders, and the top folder of `./a/b` is `.`.
fn inside(name: &str, path: &str) -> Result<String> {
    let separator = if path.contains('\\') { '\\' } else { '/' };
    let below = path
        .split_once(separator)
        .map(|(_, below)| below.replace('\\', "/"));
    let problem = if path.starts_with(['/', '\\']) || has_drive(path) {
        "is absolute"
    } else if path.split(['/', '\\']).any(|part| part == "..") {
        "leaves the chart"
    } else {
        match below {
            Some(below) if below.trim_end_matches('/').is_empty() => return Ok(String::new()),
            Some(below) => match clean(&below) {
                Some(below) if has_drive(&below) => "is absolute",
                Some(below) => return Ok(below),
                None => "has an empty element",
            },
            None if path.is_empty() => return Ok(String::new()),
            None => {
                let one = refusal(name, &format!("the path {path:?} is outside the chart's folder"));
                return Err(one.hint(PACKING).into());
            }
        }
    };
    Err(refused(name, &format!("the path {path:?} {problem}")))
}

/// Whether it begins with a Windows drive letter.
fn has_drive(path: &str) -> bool {
    path.starts_with(|first: char| first.is_ascii_alphabetic())
        && matches!(path.get(1..3), Some(":/" | ":\\"))
}

/// The path without `.` elements; `None` if an element is empty.
fn clean(path: &str) -> Option<String> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let parts: Vec<&str> = path.split('/').filter(|part| *part != ".").collect();
    parts.iter().all(|part| !part.is_empty()).then(|| parts.join("/"))
}

pub(super) fn refused(name: &str, problem: &str) -> Diagnostics {
    refusal(name, problem).into()
}

fn refusal(name: &str, problem: &str) -> Diagnostic {
    Diagnostic::error(Class::Chart, format!("{name} is not a chart archive: {problem}"))
}

pub(super) fn broken(name: &str, error: &io::Error) -> Diagnostics {
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
