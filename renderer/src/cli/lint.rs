//! `lint`: Helm's lines on standard output, everything with excerpts on standard error.
//!
//! Helm's findings decide over the exit code: 1 when a chart fails, with `--strict` on
//! warnings. Our own, undefined values among them, are told on standard error and with
//! `-o json`; they fail nothing that Helm lets pass.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::args::lint::Lint;
use super::context::{Context, Done, Outcome};
use super::request::{merged, or_default};
use crate::chart::MAX_CHART_DEPTH;
use crate::diag::{Class, Diagnostic, Diagnostics, Result, Severity as Grave};
use crate::engine::capabilities::Capabilities;
use crate::lint::{self, Finding, Options, Report, Rule, rules};
use crate::report::SCHEMA;
use crate::value::{Map, Value};

/// `lint`
pub(crate) fn lint(args: &Lint, context: &Context<'_>) -> Done {
    if args.rules {
        return rule_table();
    }
    let options = match options(args) {
        Ok(options) => options,
        Err(problem) => return Done::One(Box::new(Outcome::failed(problem))),
    };
    let mut paths = args.paths.clone();
    if args.with_subcharts {
        for path in &args.paths {
            subcharts(&clean(&path.join("charts")), 0, &mut paths);
        }
    }
    let mut reports: Vec<Report> = paths
        .iter()
        .map(|path| lint::lint(path, &path.display().to_string(), &options))
        .collect();
    if args.skip_undefined {
        for report in &mut reports {
            report.findings.retain(|one| one.rule != &rules::UNDEFINED_VALUE);
        }
    }
    let (mut text, end) = lint::print(&reports, args.strict, context.printer.is_quiet());
    let (mut errors, mut told) = (Vec::new(), BTreeSet::new());
    for one in reports
        .iter()
        .flat_map(|report| &report.findings)
        .filter(|one| is_drawn(one))
    {
        let drawn = one.to_diagnostic();
        // Helm says of several files what is wrong with one.
        if let Some(place) = &drawn.location
            && !told.insert((place.to_string(), drawn.message.clone()))
        {
            continue;
        }
        match drawn.severity {
            Grave::Error => errors.push(drawn),
            Grave::Warning => context.printer.warn(&drawn),
        }
    }
    let json = document(&reports, args.strict);
    let failed = reports.iter().any(|one| one.fails(args.strict));
    if failed {
        errors.push(Diagnostic::error(Class::Chart, end));
    } else if !context.printer.is_quiet() || reports.iter().any(Report::has_warnings) {
        text.push_str(&format!("{end}\n"));
    }
    Done::Findings {
        json,
        text,
        problem: Diagnostics::from_vec(errors).filter(|_| failed),
    }
}

/// `lint --rules`
fn rule_table() -> Done {
    let mut text = String::new();
    let rules = rules::RULES.iter().map(|rule| {
        let Rule {
            id,
            severity,
            origin,
            check,
            doc,
        } = rule;
        let severity = severity.as_str();
        text.push_str(&format!("{id:<24} {severity:<8} {doc}\n"));
        let fields = [
            ("id", *id),
            ("severity", severity),
            ("reportedBy", origin.as_str()),
            ("check", check.as_str()),
            ("doc", *doc),
        ];
        Value::Map(
            fields
                .into_iter()
                .map(|(key, text)| (key, Value::from(text)))
                .collect(),
        )
    });
    let rules = Value::List(rules.collect());
    let fields = [("schema", Value::from(i64::from(SCHEMA))), ("rules", rules)];
    Done::Document {
        json: Value::Map(fields.into_iter().collect()).to_json(),
        text,
    }
}

/// What Helm's line does not say already.
fn is_drawn(one: &Finding) -> bool {
    !one.is_helms
        || one
            .diagnostic
            .as_ref()
            .is_some_and(|drawn| drawn.location.is_some())
}

fn options(args: &Lint) -> Result<Options> {
    let capabilities = Capabilities::with(Some(&args.kube_version), &[])?;
    let (values, places) = merged(&args.values)?;
    Ok(Options {
        values,
        places,
        namespace: or_default(&args.namespace),
        capabilities,
        skip_schema: args.skip_schema_validation,
        limits: args.limits.limits(),
    })
}

/// Charts in a folder, in the order of Go's `filepath.Walk`; links are not followed.
fn subcharts(folder: &Path, depth: usize, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut entries: Vec<_> = entries.filter_map(std::result::Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name == "Chart.yaml" {
            out.push(folder.to_owned());
        } else if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
            out.push(path.clone());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < MAX_CHART_DEPTH {
            subcharts(&path, depth + 1, out);
        }
    }
}

fn clean(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, std::path::Component::CurDir))
        .collect()
}

fn document(reports: &[Report], strict: bool) -> String {
    let texts = |pairs: &[(&'static str, &str)]| -> Vec<(&'static str, Value)> {
        pairs
            .iter()
            .map(|(key, text)| (*key, Value::from(*text)))
            .collect()
    };
    let charts = reports.iter().map(|report| {
        let mut fields = texts(&[("chart", &report.chart)]);
        fields.push(("failed", Value::Bool(report.fails(strict))));
        if let Some(problem) = &report.refused {
            fields.push(("error", Value::from(problem.as_str())));
        }
        Value::Map(fields.into_iter().collect())
    });
    let findings = reports.iter().flat_map(|report| {
        report.findings.iter().map(|one| {
            let mut fields = texts(&[
                ("chart", &report.chart),
                ("severity", one.severity.as_str()),
                ("path", &one.path),
                ("message", &one.message),
                ("rule", one.rule.id),
            ]);
            fields.push(("helm", Value::Bool(one.is_helms)));
            if let Some(place) = &one.location {
                let position = place.position();
                let number = |at: usize| Value::from(i64::try_from(at).unwrap_or(i64::MAX));
                fields.push(("file", Value::from(place.source.name())));
                fields.push(("line", number(position.line)));
                fields.push(("column", number(position.column)));
            }
            Value::Map(fields.into_iter().collect::<Map>())
        })
    });
    let fields = [
        ("schema", Value::from(i64::from(SCHEMA))),
        ("charts", Value::List(charts.collect())),
        ("findings", Value::List(findings.collect())),
    ];
    Value::Map(fields.into_iter().collect()).to_json()
}
