//! What `compare` prints: each difference with the template's line, a table of the cases, and the same as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use super::compare_cases::CompareCase;
use super::helm_program::HelmProgram;
use crate::compare::{Difference, DifferenceKind, Verdict};
use crate::draw::printable_but;
use crate::report::comparison::{CaseEntry, CompareDocument, CompareTotal, DifferenceEntry, HelmEntry};
use crate::report::documents::Document as _;
use crate::source::Location;

/// The most differences of one case that are printed as text; JSON has all.
const SHOWN_DIFFERENCES: usize = 20;
/// The most lines of one side of a difference, or of a message, that are printed as text.
const SHOWN_LINES: usize = 10;

/// A case that was compared.
pub(crate) struct ComparedCase<'k> {
    pub(crate) case: &'k CompareCase,
    pub(crate) verdict: Verdict,
    pub(crate) masked: usize,
    pub(crate) differences: Vec<(Difference, Option<Located>)>,
    pub(crate) helm_runs: usize,
    pub(crate) helm_time: Duration,
    pub(crate) time: Duration,
    pub(crate) helm_error: Option<String>,
    pub(crate) error: Option<String>,
}

/// A line of a template, and the templates that were included on the way there.
pub(crate) struct Located {
    pub(crate) place: Location,
    pub(crate) trace: Vec<(String, Location)>,
}

impl ComparedCase<'_> {
    fn is_different(&self) -> bool {
        !matches!(self.verdict, Verdict::Same | Verdict::BothRefuse)
    }

    fn values(&self) -> &str {
        self.case.values.as_deref().unwrap_or("values.yaml")
    }
}

/// The sums.
pub(crate) fn total(cases: &[ComparedCase<'_>]) -> CompareTotal {
    let count = |verdict: Verdict| cases.iter().filter(|one| one.verdict == verdict).count();
    CompareTotal {
        cases: cases.len(),
        same: count(Verdict::Same),
        both_refuse: count(Verdict::BothRefuse),
        different: cases.iter().filter(|one| one.is_different()).count(),
        helm_microseconds: cases.iter().map(|one| microseconds(one.helm_time)).sum(),
        microseconds: cases.iter().map(|one| microseconds(one.time)).sum(),
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// For people. Only what is not the same with `quiet`.
pub(crate) fn text(
    helm: &HelmProgram,
    total: &CompareTotal,
    cases: &[ComparedCase<'_>],
    quiet: bool,
) -> String {
    let mut out = String::new();
    for one in cases.iter().filter(|one| one.is_different()) {
        describe(one, &mut out);
    }
    let shown = cases.iter().filter(|one| !quiet || one.is_different());
    let rows: Vec<[String; 5]> = shown.map(row).collect();
    if !rows.is_empty() {
        let head = ["CHART", "VALUES", "RESULT", "HELM", "SOLAR-RENDER"].map(str::to_owned);
        table(&[&[head], rows.as_slice()].concat(), &mut out);
    }
    if !quiet {
        out.push_str(&last_line(helm, total));
    }
    // A terminal must not obey what a chart, its files' names or a program says.
    printable_but(&out, &['\n', '\t'])
}

fn row(one: &ComparedCase<'_>) -> [String; 5] {
    let result = match one.verdict {
        Verdict::Same if one.masked > 0 => format!("same, {} masked", lines(one.masked)),
        Verdict::Same => "same".to_owned(),
        Verdict::BothRefuse => "both refuse".to_owned(),
        Verdict::OnlyHelmRefuses => "only Helm refuses".to_owned(),
        Verdict::OnlyOursRefuses => "only solar-render refuses".to_owned(),
        Verdict::HelmDidNotEnd => "Helm did not end".to_owned(),
        Verdict::Different => match one.differences.len() {
            1 => "1 difference".to_owned(),
            count => format!("{count} differences"),
        },
    };
    let chart = one.case.name.clone();
    [
        chart,
        one.values().to_owned(),
        result,
        milliseconds(one.helm_time),
        milliseconds(one.time),
    ]
}

fn lines(count: usize) -> String {
    match count {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis().max(1))
}

/// Columns between two blanks; the times end below each other.
fn table(rows: &[[String; 5]], out: &mut String) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(width);
    for [chart, values, result, helm, ours] in rows {
        // Writing to a String can't fail.
        let _ = writeln!(
            out,
            "{chart:<a$}  {values:<b$}  {result:<c$}  {helm:>d$}  {ours:>e$}"
        );
    }
}

fn last_line(helm: &HelmProgram, total: &CompareTotal) -> String {
    let mut parts = vec![format!("{} the same", total.same)];
    if total.both_refuse > 0 {
        parts.push(format!("{} refused by both", total.both_refuse));
    }
    if total.different > 0 {
        parts.push(format!("{} not the same", total.different));
    }
    let cases = if total.cases == 1 { "case" } else { "cases" };
    let [theirs, own] = [total.helm_microseconds, total.microseconds].map(Duration::from_micros);
    let factor = theirs.as_secs_f64() / own.as_secs_f64().max(f64::EPSILON);
    format!(
        "{} {cases}: {}. Helm {}: {:.2} s; solar-render: {:.2} s ({factor:.1} times as fast)\n",
        total.cases,
        parts.join(", "),
        helm.version,
        theirs.as_secs_f64(),
        own.as_secs_f64()
    )
}

fn describe(one: &ComparedCase<'_>, out: &mut String) {
    // Writing to a String can't fail.
    let _ = writeln!(out, "==> {} ({})", one.case.name, one.values());
    if one.verdict != Verdict::Different {
        describe_messages(one, out);
        return;
    }
    for (difference, place) in one.differences.iter().take(SHOWN_DIFFERENCES) {
        describe_difference(difference, place.as_ref(), out);
    }
    if let Some(more) = one
        .differences
        .len()
        .checked_sub(SHOWN_DIFFERENCES)
        .filter(|more| *more > 0)
    {
        let _ = writeln!(out, "… and {more} more: -o json has all of them");
    }
    out.push('\n');
}

/// What each program does when they don't both render.
fn describe_messages(one: &ComparedCase<'_>, out: &mut String) {
    let helm = match one.verdict {
        Verdict::OnlyHelmRefuses => "refuses",
        Verdict::HelmDidNotEnd => "did not end",
        _ => "renders it",
    };
    let ours = one.error.as_ref().map_or("renders it", |_| "refuses");
    for (who, does, message) in [
        (
            "Helm",
            helm,
            one.helm_error.as_ref().filter(|_| helm != "renders it"),
        ),
        ("solar-render", ours, one.error.as_ref()),
    ] {
        let end = if message.is_some() { ':' } else { '.' };
        let _ = writeln!(out, "{who} {does}{end}");
        some_lines("  ", message.into_iter().flat_map(|message| message.lines()), out);
    }
    out.push('\n');
}

fn describe_difference(one: &Difference, place: Option<&Located>, out: &mut String) {
    let of = match one.object.as_str() {
        "" => one.source.clone(),
        object => format!("{object} of {}", one.source),
    };
    let what = match one.kind {
        DifferenceKind::Lines => of,
        DifferenceKind::OnlyHelm => format!("only Helm prints {of}"),
        DifferenceKind::OnlyOurs => format!("only solar-render prints {of}"),
        DifferenceKind::Order => format!("printed earlier than by Helm: {of}"),
        DifferenceKind::Blanks => format!("what is between documents, after {of}"),
    };
    let _ = writeln!(out, "{what}");
    match place {
        Some(Located { place, trace }) => {
            let _ = writeln!(out, "  --> {place}");
            for (name, place) in trace {
                let _ = writeln!(out, "      included as {name:?} at {place}");
            }
        }
        None => out.push_str("  --> the template's line is not known\n"),
    }
    some_lines("  - ", one.helm.iter().map(String::as_str), out);
    some_lines("  + ", one.ours.iter().map(String::as_str), out);
}

fn some_lines<'l>(mark: &str, lines: impl Iterator<Item = &'l str>, out: &mut String) {
    let lines: Vec<&str> = lines.collect();
    for line in lines.iter().take(SHOWN_LINES) {
        let _ = writeln!(out, "{mark}{line}");
    }
    if let Some(more) = lines.len().checked_sub(SHOWN_LINES).filter(|more| *more > 0) {
        let _ = writeln!(out, "{mark}… and {more} more lines");
    }
}

/// For machines.
pub(crate) fn document(
    helm: &HelmProgram,
    total: &CompareTotal,
    cases: &[ComparedCase<'_>],
    incomplete: bool,
) -> String {
    let document = CompareDocument {
        helm: HelmEntry {
            path: helm.path.display().to_string(),
            version: helm.version.clone(),
        },
        total: *total,
        incomplete,
        cases: cases.iter().map(entry).collect(),
    };
    document.to_json()
}

fn entry(one: &ComparedCase<'_>) -> CaseEntry {
    CaseEntry {
        chart: one.case.name.clone(),
        values: one.case.values.clone(),
        verdict: match one.verdict {
            Verdict::Same => "same",
            Verdict::Different => "different",
            Verdict::BothRefuse => "both-refuse",
            Verdict::OnlyHelmRefuses => "only-helm-refuses",
            Verdict::OnlyOursRefuses => "only-solar-render-refuses",
            Verdict::HelmDidNotEnd => "helm-did-not-end",
        },
        masked: one.masked,
        helm_runs: one.helm_runs,
        helm_microseconds: microseconds(one.helm_time),
        microseconds: microseconds(one.time),
        helm_error: one.helm_error.clone(),
        error: one.error.clone(),
        differences: one.differences.iter().map(difference).collect(),
    }
}

fn difference((one, place): &(Difference, Option<Located>)) -> DifferenceEntry {
    let place = place.as_ref().map(|located| &located.place);
    let position = place.map(Location::position);
    DifferenceEntry {
        kind: one.kind.as_str(),
        template: one.source.clone(),
        object: one.object.clone(),
        file: place.map(|place| place.source.name().to_owned()),
        line: position.map(|at| at.line),
        column: position.map(|at| at.column),
        helm: one.helm.clone(),
        ours: one.ours.clone(),
    }
}
