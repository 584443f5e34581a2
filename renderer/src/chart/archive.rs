//! What a chart archive says of itself, checked without unpacking it to disk; and unpacking it.
//!
//! Archives come from others: links are refused, so are paths that leave the chart's
//! folder, and the unpacked size is limited, whatever the headers claim.

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

/// What was found in an archive.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// What its Chart.yaml says.
    pub metadata: Metadata,
}

/// Reads a `.tgz` through: every path is checked, and the stream must be complete.
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

/// Unpacks an archive into the folder `into`, which must be empty and ours alone: what is in the
/// archive's top folder comes to lie in it. On an error what is there so far stays.
pub fn unpack(reader: impl Read, name: &str, into: &Path) -> Result<Inspected> {
    walk(reader, name, ChartRole::Root, &mut |inside, entry| {
        let path = into.join(inside);
        let cannot = |error: io::Error| fsio::cannot("write", &path, &error, Class::Io);
        if let Err(error) = fs::create_dir_all(path.parent().unwrap_or(into)) {
            // The folder is ours alone: what stands in the way came out of the archive.
            return Err(match error.kind() {
                io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                    refused(name, &format!("{inside} lies in a file, not in a folder"))
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
            // Whose error it is decides the message.
            let read = entry.read(&mut buffer).map_err(|error| broken(name, &error))?;
            if read == 0 {
                return Ok(());
            }
            file.write_all(buffer.get(..read).unwrap_or_default())
                .map_err(cannot)?;
        }
    })
}

/// What is done with a file: its path in the chart's folder, and its bytes.
type Visit<'v> = dyn FnMut(&str, &mut dyn Read) -> Result<()> + 'v;

/// Checks every entry, and shows each file to `visit`.
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
            // What can't be read here is a broken archive, not a broken disk.
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

/// Shows every file of a `.tgz` to `visit`, in the archive's order. Paths are relative to the
/// archive's top folder, whose name does not matter; each is checked, and no two are the same.
/// Files of more than `limit` bytes in all are refused.
pub(super) fn each_file(
    reader: impl Read,
    name: &str,
    limit: u64,
    budget: &mut LoadBudget,
    visit: &mut Visit<'_>,
) -> Result<()> {
    // One byte more than the limit, so that a chart of exactly that size still reads whole.
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
        // Which of two would count? Helm takes the last, others the first.
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
    // The end of the archive is not the end of the stream: its checksum comes last.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map_err(broken)?;
    Ok(())
}

/// How archives that charts may be in are made.
const PACKING: &str =
    "an archive holds the chart's folder: `tar -czf CHART.tgz CHART`, or `solar-render package CHART`";

/// Whether a file starts as a tar archive does.
fn is_tar(start: &[u8]) -> bool {
    start.get(257..262) == Some(b"ustar".as_slice())
}

/// What gzip's members hold, one after the other. As for Helm and gzip itself what follows the last one and is
/// none, as the zeros that some stores append, does not matter.
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
        /// How a member begins.
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
/// Class chart: it is no archive, or one that no chart may be.
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

/// Whether the entry is a file; fails for what no chart archive may hold.
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

/// A path below the archive's top folder, as Helm reads it: where there is a backslash in it (archives
/// from Windows), that is what separates folders, and the top folder of `./a/b` is `.`.
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

/// Whether it begins with a drive of Windows.
fn has_drive(path: &str) -> bool {
    path.starts_with(|first: char| first.is_ascii_alphabetic())
        && matches!(path.get(1..3), Some(":/" | ":\\"))
}

/// Without elements that say `.`; `None` where one is empty.
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
