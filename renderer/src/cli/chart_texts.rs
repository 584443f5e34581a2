//! A text that is made for each chart and kept in a file of its folder: printed, written, or compared with the file.

use std::path::{Component, Path, PathBuf};

use super::chart_search::{expanded, find_all};
use super::context::{CommandOutcome, CommandResult};
use super::line_diff::line_diff;
use crate::chart::folder::MAX_IGNORE_BYTES;
use crate::chart::ignore::Ignore;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;

/// What is made, and what happens to it.
pub(crate) struct ChartTexts<'a> {
    /// The charts' folders, patterns, or folders of charts.
    pub(crate) charts: &'a [PathBuf],
    /// A file with patterns of charts that are left out, unless they are named themselves.
    pub(crate) ignore_file: Option<&'a Path>,
    /// The file in a chart's folder.
    pub(crate) file: &'a Path,
    /// What it is in messages: `schema`.
    pub(crate) noun: &'a str,
    /// The command that makes it.
    pub(crate) command: &'a str,
    pub(crate) write: bool,
    pub(crate) check: bool,
    /// The maximum size of the file, in bytes.
    pub(crate) limit: usize,
}

/// The text of a chart.
pub(crate) struct ChartText {
    /// The chart's folder.
    pub(crate) chart: String,
    /// `printed`, `written`, `unchanged` or `stale`.
    pub(crate) outcome: &'static str,
    pub(crate) text: String,
}

impl ChartTexts<'_> {
    /// Makes the text of each chart; `document` is the JSON of them all.
    pub(crate) fn run(
        &self,
        make: impl Fn(&Path) -> Result<String>,
        document: impl FnOnce(Vec<ChartText>) -> String,
    ) -> CommandResult {
        match self.all(make) {
            Ok((entries, text, problem)) => CommandResult::Findings {
                json: document(entries),
                text,
                problem,
            },
            Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
        }
    }

    fn all(
        &self,
        make: impl Fn(&Path) -> Result<String>,
    ) -> Result<(Vec<ChartText>, String, Option<Diagnostics>)> {
        let mut charts = find_all(&expanded(self.charts)?)?;
        self.drop_ignored(&mut charts)?;
        if !self.write && !self.check && charts.len() > 1 {
            let message = format!(
                "{} charts, and only one {} can be printed",
                charts.len(),
                self.noun
            );
            let one = Diagnostic::error(Class::Usage, message);
            return Err(one.hint("give one chart, --write or --check").into());
        }
        let (mut entries, mut text, mut problems) = (Vec::new(), String::new(), Vec::new());
        for chart in &charts {
            match self.one(chart, &make, &mut text) {
                Ok(entry) => entries.push(entry),
                Err(problem) => problems.extend(problem.into_vec()),
            }
        }
        let stale = entries.iter().filter(|one| one.outcome == "stale");
        let stale: Vec<&str> = stale.map(|one| one.chart.as_str()).collect();
        if !stale.is_empty() {
            let message = format!("{} is stale in {}", self.file.display(), stale.join(", "));
            let one = Diagnostic::error(Class::Chart, message);
            problems.push(one.hint(format!("run `solar-render {} --write`", self.command)));
        }
        Ok((entries, text, Diagnostics::from_vec(problems)))
    }

    fn drop_ignored(&self, charts: &mut Vec<PathBuf>) -> Result<()> {
        let Some(file) = self.ignore_file.filter(|file| file.is_file()) else {
            return Ok(());
        };
        let ignore = Ignore::parse(&fsio::read_text(file, MAX_IGNORE_BYTES, Class::Usage)?)?;
        charts.retain(|chart| self.charts.contains(chart) || !is_ignored(&ignore, chart));
        Ok(())
    }

    fn one(
        &self,
        chart: &Path,
        make: impl Fn(&Path) -> Result<String>,
        text: &mut String,
    ) -> Result<ChartText> {
        if !chart.is_dir() {
            let message = format!("{} is not a chart's folder", chart.display());
            return Err(Diagnostic::error(Class::Usage, message).into());
        }
        let made = make(chart)?;
        let path = chart.join(self.file);
        let outcome = if !self.write && !self.check {
            text.push_str(&made);
            "printed"
        } else {
            self.kept(&path, &made, text)?
        };
        Ok(ChartText {
            chart: chart.display().to_string(),
            outcome,
            text: made,
        })
    }

    /// Compares the text with its file, and writes it if that is asked for.
    fn kept(&self, path: &Path, made: &str, text: &mut String) -> Result<&'static str> {
        let known = match path.exists() {
            true => Some(fsio::read_bytes(path, self.limit, Class::Chart)?),
            false => None,
        };
        if known.as_deref() == Some(made.as_bytes()) {
            return Ok("unchanged");
        }
        if self.write {
            fsio::write_over(path, made.as_bytes())
                .map_err(|error| fsio::cannot("write", path, &error, Class::Io))?;
            text.push_str(&format!("{}: written\n", path.display()));
            return Ok("written");
        }
        let known = String::from_utf8_lossy(known.as_deref().unwrap_or_default()).into_owned();
        let lines = match line_diff(&known, made) {
            // All that differs are characters at the ends of lines.
            lines if lines.iter().all(|line| !line.starts_with(['-', '+'])) => {
                "line breaks differ".to_owned()
            }
            lines => lines.join("\n"),
        };
        text.push_str(&format!("{}:\n{lines}\n", path.display()));
        Ok("stale")
    }
}

/// Whether a pattern fits a chart's folder, one that it is in, or its Chart.yaml.
fn is_ignored(ignore: &Ignore, chart: &Path) -> bool {
    let names = chart.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let mut path = String::new();
    for name in names {
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(name);
        if ignore.ignores(&path, true) {
            return true;
        }
    }
    ignore.ignores(&format!("{path}/Chart.yaml"), false)
}
