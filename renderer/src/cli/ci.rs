//! The output for many charts: a table, and files for GitHub and GitLab.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::diag::{Class, Diagnostic};
use crate::fsio;
use crate::report::{Report, list_to_json};
use crate::world::World;

/// The row of one chart.
pub(crate) struct ChartRow {
    pub(crate) chart: String,
    pub(crate) version: String,
    pub(crate) outcome: String,
    pub(crate) digest: Option<String>,
    pub(crate) error: Option<String>,
}

impl ChartRow {
    /// Whether the registry has, or would have, a new version.
    fn is_changed(&self) -> bool {
        self.outcome.ends_with("created") || self.outcome.ends_with("replaced")
    }

    fn digest(&self) -> &str {
        self.digest.as_deref().unwrap_or("-")
    }
}

/// `changed`, `unchanged` and `failed` as counts.
fn counts(cells: &[ChartRow]) -> (usize, usize, usize) {
    let failed = cells.iter().filter(|one| one.error.is_some()).count();
    let changed = cells.iter().filter(|one| one.is_changed()).count();
    (changed, cells.len() - failed - changed, failed)
}

/// The table with a header, and a line for each chart.
pub(crate) fn table(cells: &[ChartRow]) -> String {
    let head = ["CHART", "VERSION", "OUTCOME", "DIGEST"];
    let rows: Vec<[&str; 4]> = std::iter::once(head)
        .chain(
            cells
                .iter()
                .map(|one| [&*one.chart, &*one.version, &*one.outcome, one.digest()]),
        )
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths = (width(0), width(1), width(2));
    let mut text = String::new();
    for [chart, version, outcome, digest] in &rows {
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "{chart:<0$}  {version:<1$}  {outcome:<2$}  {digest}",
            widths.0, widths.1, widths.2
        );
    }
    text
}

/// The maximum size of the output `results`, in bytes: what fits into a step's environment variable. Above it there is
/// only `results-file`.
const MAX_RESULTS: usize = 100_000;

/// GITHUB_OUTPUT and GITHUB_STEP_SUMMARY, where they are set; `given` is the result file. A failure is only a warning,
/// since the charts are published.
pub(crate) fn write_github_files(
    cells: &[ChartRow],
    reports: &[Report],
    given: Option<&Path>,
    world: &dyn World,
) -> Vec<Diagnostic> {
    let (changed, unchanged, failed) = counts(cells);
    let mut output = format!("changed={changed}\nunchanged={unchanged}\nfailed={failed}\n");
    let results = list_to_json(reports);
    let mut problems = Vec::new();
    if world.env("GITHUB_OUTPUT").is_some() {
        match results_file(given, &results, world) {
            Ok(Some(path)) => output.push_str(&format!("results-file={}\n", path.display())),
            Ok(None) => {}
            Err(problem) => problems.push(*problem),
        }
    }
    if results.len() <= MAX_RESULTS {
        output.push_str(&format!("results={results}\n"));
    }
    let written = [("GITHUB_OUTPUT", output), ("GITHUB_STEP_SUMMARY", summary(cells))]
        .into_iter()
        .filter_map(|(name, text)| {
            let path = world.env(name)?;
            let error = append(Path::new(&path), &text).err()?;
            let message = format!(
                "can't write to {path}, which {name} names: {}",
                fsio::reason(&error)
            );
            Some(Diagnostic::warning(Class::Io, message))
        });
    problems.extend(written);
    problems
}

/// The file with the results: that of `--result-file`, else a temporary file of the job.
fn results_file(
    given: Option<&Path>,
    results: &str,
    world: &dyn World,
) -> Result<Option<PathBuf>, Box<Diagnostic>> {
    if let Some(given) = given {
        return Ok(Some(
            std::path::absolute(given).unwrap_or_else(|_| given.to_owned()),
        ));
    }
    let Some(folder) = world.env("RUNNER_TEMP") else {
        return Ok(None);
    };
    let write = || {
        let mut file = tempfile::Builder::new()
            .prefix("solar-render-results-")
            .suffix(".json")
            .tempfile_in(&folder)?;
        file.write_all(format!("{results}\n").as_bytes())?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(path)
    };
    let written: io::Result<PathBuf> = write();
    written.map(Some).map_err(|error| {
        let message = format!(
            "can't write to {folder}, which RUNNER_TEMP names: {}",
            fsio::reason(&error)
        );
        Box::new(Diagnostic::warning(Class::Io, message))
    })
}

/// Appends lines to a file, after ending an incomplete last line of an earlier step.
fn append(path: &Path, lines: &str) -> io::Result<()> {
    let end = if is_open(path) { "\n" } else { "" };
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{end}{lines}").as_bytes())
}

/// Whether a file's last line has no line break. Other kinds of files, or unreadable ones, count as complete.
fn is_open(path: &Path) -> bool {
    let last = || {
        let mut last = [0];
        let mut file = File::open(path).ok()?;
        file.seek(SeekFrom::End(-1)).ok()?;
        file.read_exact(&mut last).ok().map(|()| last)
    };
    path.is_file() && last().is_some_and(|last| last != [b'\n'])
}

fn summary(cells: &[ChartRow]) -> String {
    let (changed, unchanged, failed) = counts(cells);
    let mut text = format!(
        "### Charts: {changed} changed, {unchanged} unchanged, {failed} failed\n\n| chart | version | outcome | digest |\n|---|---|---|---|\n"
    );
    let plain = |text: &str| text.replace('|', "\\|").replace(['\n', '\r', '<', '`'], " ");
    for one in cells {
        let outcome = one.error.as_ref().map_or_else(
            || plain(&one.outcome),
            |error| format!("{}: {}", plain(&one.outcome), plain(error)),
        );
        let _ = writeln!(
            text,
            "| {} | {} | {outcome} | `{}` |",
            plain(&one.chart),
            plain(&one.version),
            one.digest()
        );
    }
    text
}

/// GitLab's maximum size of a dotenv report, in bytes.
const MAX_DOTENV: usize = 5 * 1024;

/// GitLab's dotenv report: counts, and `DIGEST_<CHART>` for each chart that has one, changed ones first.
/// GitLab refuses a report that is too long, so charts that don't fit are counted in `CHARTS_OMITTED` instead; returns
/// also their number.
pub(crate) fn dotenv(cells: &[ChartRow], variables: usize) -> (String, usize) {
    let (changed, unchanged, failed) = counts(cells);
    let mut text =
        format!("CHARTS_CHANGED={changed}\nCHARTS_UNCHANGED={unchanged}\nCHARTS_FAILED={failed}\n");
    let mut good: Vec<&ChartRow> = cells.iter().filter(|one| one.error.is_none()).collect();
    good.sort_by_key(|one| !one.is_changed());
    let lines: Vec<String> = good.into_iter().filter_map(digest_line).collect();
    let fits = |count: usize| {
        let omitted = usize::from(count < lines.len());
        let bytes: usize = lines.iter().take(count).map(String::len).sum();
        3 + count + omitted <= variables && text.len() + bytes + omitted * 32 <= MAX_DOTENV
    };
    let count = (0..=lines.len()).rev().find(|count| fits(*count)).unwrap_or(0);
    let omitted = lines.len() - count;
    text.extend(lines.into_iter().take(count));
    if omitted > 0 {
        let _ = writeln!(text, "CHARTS_OMITTED={omitted}");
    }
    (text, omitted)
}

/// Warnings about charts with the same variable, of which GitLab keeps the last.
pub(crate) fn ambiguous(cells: &[ChartRow]) -> Vec<Diagnostic> {
    let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for one in cells.iter().filter(|one| one.error.is_none()) {
        names.entry(variable(one)).or_default().insert(&one.chart);
    }
    let shared = names.into_iter().filter(|(_, charts)| charts.len() > 1);
    shared
        .map(|(name, charts)| {
            let charts: Vec<&str> = charts.into_iter().collect();
            let message = format!("{} share the variable {name}", charts.join(" and "));
            Diagnostic::warning(Class::Io, message).note("GitLab keeps the last of them")
        })
        .collect()
}

fn digest_line(one: &ChartRow) -> Option<String> {
    let digest = one.digest.as_ref()?;
    Some(format!("{}={digest}\n", variable(one)))
}

fn variable(one: &ChartRow) -> String {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() {
            character.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    let name: String = one.chart.chars().map(plain).collect();
    format!("DIGEST_{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(count: usize, name: &str) -> Vec<ChartRow> {
        (0..count)
            .map(|number| ChartRow {
                chart: format!("{name}-{number}"),
                version: "1.0.0".to_owned(),
                outcome: if number + 1 == count {
                    "created"
                } else {
                    "unchanged"
                }
                .to_owned(),
                digest: Some(format!("sha256:{}", "a".repeat(64))),
                error: None,
            })
            .collect()
    }

    #[test]
    fn an_incomplete_line_of_another_step_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        for (before, after) in [("", "a=1\n"), ("x=2\n", "x=2\na=1\n"), ("x=2", "x=2\na=1\n")] {
            std::fs::write(&path, before).unwrap();
            append(&path, "a=1\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }

    #[test]
    fn a_dotenv_report_stays_within_gitlabs_limits_and_keeps_what_changed() {
        let (all, none) = dotenv(&cells(17, "c"), 20);
        assert!(
            none == 0 && !all.contains("OMITTED") && all.lines().count() == 20,
            "{all}"
        );
        let (some, omitted) = dotenv(&cells(18, "c"), 20);
        assert_eq!((some.lines().count(), omitted), (20, 2));
        assert!(
            some.contains("DIGEST_C_17=") && some.ends_with("CHARTS_OMITTED=2\n"),
            "{some}"
        );
        let (long, omitted) = dotenv(&cells(100, &"x".repeat(60)), 1000);
        assert!(long.len() <= MAX_DOTENV && omitted > 0, "{} bytes", long.len());
    }
}
