//! Findings in the formats of CI systems: SARIF, GitLab's code quality, GitHub's annotations, a finding in JUnit's XML.

use std::fmt::Write as _;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::annotation::annotation;
use super::args::global::OutputFormat;
use super::xml::{attribute, escaped};
use crate::diag::{Class, Diagnostic, Diagnostics, Severity};
use crate::draw::printable_but;

/// What can't be in the path of a relative URI. A `:` would end a scheme.
const NOT_IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A finding with a stable rule.
pub(crate) struct ReportedFinding {
    /// The rule's id.
    pub(crate) rule: &'static str,
    /// The rule in one line.
    pub(crate) rule_doc: &'static str,
    /// What is found, and where.
    pub(crate) diagnostic: Diagnostic,
    /// A file of the chart: where findings without a location are, and which chart it is about.
    pub(crate) chart_file: String,
}

impl ReportedFinding {
    fn file(&self) -> &str {
        let at = self.diagnostic.location.as_ref();
        at.map_or(&self.chart_file, |at| at.source.name())
    }

    /// The line and the column, from 1.
    fn position(&self) -> (usize, usize) {
        let at = self.diagnostic.location.as_ref().map(|at| at.position());
        at.map_or((1, 1), |at| (at.line, at.column))
    }

    /// The message with notes and hints.
    fn text(&self) -> String {
        let Diagnostic {
            message,
            notes,
            hints,
            ..
        } = &self.diagnostic;
        let lines = std::iter::once(message).chain(notes).chain(hints);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// The same in every run, wherever lines move to. A values file may be that of several charts.
    fn fingerprint(&self) -> String {
        let text = [self.rule, self.file(), &self.diagnostic.message, &self.chart_file].join("\0");
        let digest = Sha256::digest(text.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Findings in a format other than text and the command's own document; `None` for those. `junit` makes that of JUnit.
pub(crate) fn formatted(
    format: OutputFormat,
    findings: impl FnOnce() -> Vec<ReportedFinding>,
    junit: impl FnOnce() -> String,
) -> Option<String> {
    match format {
        OutputFormat::Text
        | OutputFormat::Json
        | OutputFormat::Yaml
        | OutputFormat::Markdown
        | OutputFormat::Html => None,
        OutputFormat::Junit => Some(junit()),
        OutputFormat::Sarif => Some(sarif(&findings())),
        OutputFormat::Github => Some(github(&findings())),
        OutputFormat::Gitlab => Some(gitlab(&findings())),
    }
}

/// The file of a chart that findings without a location are about.
pub(crate) fn chart_file(chart: &str) -> String {
    match Path::new(chart).is_dir() {
        true => format!("{}/Chart.yaml", chart.trim_end_matches('/')),
        false => chart.to_owned(),
    }
}

/// A chart's line of text; nothing for one without findings.
pub(crate) fn chart_line(chart: &str, (errors, warnings): (usize, usize), quiet: bool) -> String {
    if errors + warnings == 0 || quiet && errors == 0 {
        return String::new();
    }
    let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
    format!("{}: {errors}, {warnings}\n", printable_but(chart, &[]))
}

/// The class of charts that can't be checked: theirs if all have the same, so that a registry out of reach is no mistake
/// in a chart.
pub(crate) fn common_class(classes: &[Class], other: Class) -> Class {
    match classes {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => *first,
        _ => other,
    }
}

/// Why a check fails, if it does: errors, of which `what` says what they mean, or warnings that `strict` refuses.
pub(crate) fn failure(
    class: Class,
    what: &str,
    (errors, warnings): (usize, usize),
    strict: bool,
) -> Option<Diagnostics> {
    let message = match (errors, warnings) {
        (0, 0) => return None,
        (0, _) if !strict => return None,
        (0, warnings) => format!("{}, which --strict refuses", counted(warnings, "warning")),
        (errors, _) => format!("{what}: {}", counted(errors, "error")),
    };
    Some(Diagnostic::error(class, message).into())
}

/// SARIF 2.1.0, as GitHub's code scanning and others read it.
fn sarif(findings: &[ReportedFinding]) -> String {
    let mut rules: Vec<(&str, &str)> = findings.iter().map(|one| (one.rule, one.rule_doc)).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules = rules.iter().map(|(id, doc)| {
        json!({"id": id, "shortDescription": {"text": doc}, "defaultConfiguration": {"level": "error"}})
    });
    let results = findings.iter().map(|one| {
        let (line, column) = one.position();
        let level = match one.diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let uri = utf8_percent_encode(&one.file().replace('\\', "/"), NOT_IN_PATHS).to_string();
        json!({
            "ruleId": one.rule,
            "level": level,
            "message": {"text": one.text()},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": uri},
                "region": {"startLine": line, "startColumn": column},
            }}],
            "partialFingerprints": {"solarRender/v1": one.fingerprint()},
        })
    });
    let driver = json!({
        "name": "solar-render",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules.collect::<Vec<Value>>(),
    });
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results.collect::<Vec<Value>>()}],
    });
    format!("{document}\n")
}

/// GitLab's code quality report.
fn gitlab(findings: &[ReportedFinding]) -> String {
    let entries = findings.iter().map(|one| {
        let severity = match one.diagnostic.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
        };
        json!({
            "description": one.diagnostic.message,
            "check_name": one.rule,
            "fingerprint": one.fingerprint(),
            "severity": severity,
            "location": {"path": one.file(), "lines": {"begin": one.position().0}},
        })
    });
    format!("{}\n", Value::Array(entries.collect()))
}

/// GitHub's annotations, one a line.
fn github(findings: &[ReportedFinding]) -> String {
    let lines = findings
        .iter()
        .map(|one| annotation(&one.diagnostic, Some(one.rule)));
    lines.collect()
}

/// JUnit's XML of a command with one test for each chart: its findings, and which of them fail it.
pub(crate) fn junit_of_charts(
    command: &str,
    class: &str,
    charts: &[(&str, Vec<(Diagnostic, bool)>)],
) -> String {
    let failed = charts
        .iter()
        .filter(|(_, found)| found.iter().any(|(_, fails)| *fails));
    let counts = format!("tests=\"{}\" failures=\"{}\"", charts.len(), failed.count());
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"solar-render {command}\" {counts}>\n  \
         <testsuite name=\"{command}\" {counts}>\n"
    );
    for (chart, found) in charts {
        let _ = write!(
            out,
            "    <testcase name={} classname=\"{class}\">",
            attribute(chart)
        );
        for (one, fails) in found {
            junit_entry(one, *fails, &mut out);
        }
        out.push_str("</testcase>\n");
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// A finding in a test case of JUnit's XML.
pub(crate) fn junit_entry(one: &Diagnostic, fails: bool, out: &mut String) {
    let at = one.location.as_ref().map(ToString::to_string);
    let lines = at.iter().chain(&one.notes).chain(&one.hints);
    let lines: Vec<&str> = lines.map(String::as_str).collect();
    let text = escaped(&lines.join("\n"));
    let message = &one.message;
    out.push_str(&match fails {
        true => format!("\n      <failure message={}>{text}</failure>", attribute(message)),
        false => format!("\n      <system-out>{}\n{text}</system-out>", escaped(message)),
    });
}

/// A number with what is counted.
pub(crate) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Location, Source, Span};

    fn findings() -> Vec<ReportedFinding> {
        let source = Source::new("my: chärt/templates/a.yaml", "x: 1\ny: 2\n");
        let of = |diagnostic| ReportedFinding {
            rule: "unknown-field",
            rule_doc: "a field that the kind does not have",
            diagnostic,
            chart_file: "my chart/Chart.yaml".to_owned(),
        };
        vec![
            of(Diagnostic::error(Class::Chart, "unknown field")
                .at(Location::new(&source, Span::new(5, 6)))
                .hint("did you mean `z`?")),
            of(Diagnostic::warning(Class::Chart, "a <warning>")),
        ]
    }

    #[test]
    fn each_format_has_file_line_and_rule() {
        insta::assert_snapshot!(github(&findings()), @r"
        ::error file=my%3A chärt/templates/a.yaml,line=2,col=1,title=unknown-field::unknown field%0Adid you mean `z`?
        ::warning title=unknown-field::a <warning>
        ");
        let sarif: Value = serde_json::from_str(&sarif(&findings())).unwrap();
        let result = &sarif["runs"][0]["results"][0];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(
            place["artifactLocation"]["uri"],
            "my%3A%20ch%C3%A4rt/templates/a.yaml"
        );
        assert_eq!(place["region"]["startLine"], 2);
        assert_eq!(
            sarif["runs"][0]["tool"]["driver"]["rules"]
                .as_array()
                .map(Vec::len),
            Some(1)
        );
        let gitlab: Value = serde_json::from_str(&gitlab(&findings())).unwrap();
        assert_eq!(gitlab[0]["location"]["lines"]["begin"], 2);
        assert_eq!(gitlab[1]["location"]["path"], "my chart/Chart.yaml");
        assert_ne!(gitlab[0]["fingerprint"], gitlab[1]["fingerprint"]);
    }
}
