//! The cases that `compare` runs: each chart with its own values, and with each of its `ci/*-values.yaml`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::args::compare::CompareArgs;
use super::chart_location::ChartLocation;
use super::chart_runs::{ci_files, is_ci_file};
use super::chart_search::{expanded, find_all};
use super::context::Context;
use super::csv;
use super::fetch;
use super::wrong_kind::is_archive;
use crate::chart::load;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::fsio;

/// A chart with values.
#[derive(Debug)]
pub(crate) struct CompareCase {
    /// The chart, as it was given or found.
    pub(crate) name: String,
    /// The folder or archive of the chart.
    pub(crate) chart: PathBuf,
    /// The path in the chart: `ci/a-values.yaml`.
    pub(crate) values: Option<String>,
    /// Where that file is.
    pub(crate) values_file: Option<PathBuf>,
}

/// The cases in order, those of fetched charts last, and the folder with these charts and the values files of archives.
pub(crate) fn cases(args: &CompareArgs, context: &Context<'_>) -> Result<(Vec<CompareCase>, TempDir)> {
    let kept = tempfile::tempdir()
        .map_err(|error| fsio::cannot("make", Path::new("a temporary folder"), &error, Class::Io))?;
    let mut all = Vec::new();
    let mut problems = Vec::new();
    for (number, (name, chart)) in charts(args, kept.path(), context)?.into_iter().enumerate() {
        match values_files(&chart, &kept.path().join(number.to_string())) {
            Ok(files) => {
                let own = std::iter::once((None, None));
                let files = files.into_iter().map(|(name, path)| (Some(name), Some(path)));
                all.extend(own.chain(files).map(|(values, values_file)| CompareCase {
                    name: name.clone(),
                    chart: chart.clone(),
                    values,
                    values_file,
                }));
            }
            Err(problem) => problems.extend(problem.into_vec()),
        }
    }
    Diagnostics::or(problems, (all, kept))
}

/// The charts by their names; those that are not on disk are fetched into a folder.
fn charts(args: &CompareArgs, folder: &Path, context: &Context<'_>) -> Result<Vec<(String, PathBuf)>> {
    let (mut local, mut remote) = (Vec::new(), Vec::new());
    for chart in expanded(&args.charts)? {
        // A path that is not UTF-8 can only be a local one.
        match chart
            .to_str()
            .map(|name| ChartLocation::of(name, &args.fetch.repositories))
        {
            None | Some(Ok(ChartLocation::Disk)) => local.push(chart),
            Some(source) => remote.push((chart.display().to_string(), source?)),
        }
    }
    let local = find_all(&local)?.into_iter();
    let mut all: Vec<_> = local.map(|chart| (chart.display().to_string(), chart)).collect();
    if remote.is_empty() {
        return Ok(all);
    }
    let client = args.fetch.client(context)?;
    let keyring = args.fetch.provenance.keyring(context)?;
    let mut problems = Vec::new();
    for (number, (name, source)) in remote.into_iter().enumerate() {
        let folder = folder.join(format!("fetched-{number}"));
        let version = args.fetch.version.as_deref();
        let keyring = keyring.clone();
        match fetch::archive(&source, &args.fetch, version, keyring, &client, &folder, context) {
            Ok(path) => all.push((name, path)),
            Err(problem) => problems.extend(problem.into_vec()),
        }
    }
    Diagnostics::or(problems, all)
}

/// Those of a folder are where they are, those of an archive are unpacked into `folder`.
fn values_files(chart: &Path, folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    if chart.is_dir() {
        found.extend(ci_files(chart)?.into_iter().map(|path| {
            let path = PathBuf::from(path);
            let name = format!("ci/{}", path.file_name().unwrap_or_default().display());
            (name, path)
        }));
    } else if is_archive(chart) {
        // Why one can't be read, both programs say.
        let Ok(loaded) = load::load(chart) else {
            return Ok(found);
        };
        let files = loaded.files.iter().filter(|(name, _)| is_ci_file(name));
        for (name, body) in files {
            let path = folder.join(name);
            let cannot = |error: std::io::Error| fsio::cannot("write", &path, &error, Class::Io);
            fs::create_dir_all(folder.join("ci")).map_err(cannot)?;
            fs::write(&path, body.read()?).map_err(cannot)?;
            found.push((name.clone(), path));
        }
    } else {
        let message = format!(
            "{} is no chart: compare takes chart folders and archives",
            chart.display()
        );
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    found.sort();
    Ok(found)
}

impl CompareCase {
    /// The command line of `template` that both programs get.
    pub(crate) fn command_line(&self, args: &CompareArgs, namespace: &str) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["template".into(), "--include-crds".into()];
        let mut flag = |name: &str, value: &str| words.push(format!("{name}={value}").into());
        flag("--namespace", namespace);
        let cluster = &args.input.cluster;
        if !cluster.kube_version.is_empty() {
            flag("--kube-version", &cluster.kube_version);
        }
        let values = &args.input.values;
        for (name, list) in [
            ("--api-versions", &cluster.api_versions),
            ("--set", &values.set),
            ("--set-string", &values.set_string),
            ("--set-json", &values.set_json),
            ("--set-file", &values.set_file),
            ("--set-literal", &values.set_literal),
        ] {
            list.iter().for_each(|value| flag(name, value));
        }
        if args.input.release.is_upgrade {
            words.push("--is-upgrade".into());
        }
        if args.input.skip_schema_validation {
            words.push("--skip-schema-validation".into());
        }
        for file in self.values_flags(args) {
            words.extend(["--values".into(), file.into()]);
        }
        words.extend(["--".into(), args.name.clone().into(), self.chart.clone().into()]);
        words
    }

    /// The values files: what the user gives wins over the chart's own.
    pub(crate) fn values_flags(&self, args: &CompareArgs) -> Vec<String> {
        let own = self
            .values_file
            .as_ref()
            .map(|path| quoted(&path.display().to_string()));
        own.into_iter()
            .chain(args.input.values.values.iter().cloned())
            .collect()
    }
}

/// As one field: a flag's value is a list separated by commas.
fn quoted(path: &str) -> String {
    match path.contains([',', '"', '\n']) {
        true => format!("\"{}\"", path.replace('"', "\"\"")),
        false => path.to_owned(),
    }
}

/// Refuses values that can be read only once.
pub(crate) fn check_values(args: &CompareArgs) -> Result<()> {
    let files = csv::fields("--values", &args.input.values.values)?;
    if files.iter().any(|file| file == "-") {
        let one = Diagnostic::error(
            Class::Usage,
            "values on standard input can't be read by several runs",
        );
        return Err(one.hint("write them to a file").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn files(chart: &Path) -> std::result::Result<Vec<String>, String> {
        let found = values_files(chart, Path::new("/nonexistent"));
        let found = found.map_err(|problem| problem.to_string())?;
        Ok(found.into_iter().map(|(name, _)| name).collect())
    }

    /// A folder that can't be read once counted as an empty one.
    #[test]
    fn what_cannot_be_read_or_passed_on_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let ci = folder.path().join("ci");
        assert_eq!(files(folder.path()), Ok(Vec::new()));
        fs::write(&ci, "").unwrap();
        assert_eq!(files(folder.path()), Ok(Vec::new()));
        fs::remove_file(&ci).unwrap();
        symlink("ci", &ci).unwrap();
        let problem = files(folder.path()).unwrap_err();
        assert!(
            problem.contains("can't read") && problem.contains("/ci"),
            "{problem}"
        );
        fs::remove_file(&ci).unwrap();
        fs::create_dir(&ci).unwrap();
        fs::write(ci.join("a-values.yaml"), "").unwrap();
        fs::write(ci.join("b.yaml"), "").unwrap();
        assert_eq!(files(folder.path()), Ok(vec!["ci/a-values.yaml".to_owned()]));
        fs::write(ci.join(std::ffi::OsStr::from_bytes(b"\xff-values.yaml")), "").unwrap();
        let problem = files(folder.path()).unwrap_err();
        assert!(problem.contains("is not UTF-8"), "{problem}");
    }
}
