//! The result of `diff` as a page: self-contained, without scripts, and everything from charts is escaped.

use std::fmt::Write as _;

use super::diff_lines::{
    LineKind, ShownLine, common_lines, object_details, object_lines, object_name, printable,
};
use super::diff_report::DiffReport;
use super::xml::escaped;

const STYLE: &str = "\
:root{color-scheme:light dark;--add:#dafbe1;--del:#ffebe9;--field:#ddf4ff;--remark:#fff8c5;--dim:#57606a}
@media(prefers-color-scheme:dark){:root{--add:#12361f;--del:#4a1a1e;--field:#0c2d4a;--remark:#3b2e00;--dim:#9198a1}}
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}
pre{font:13px/1.45 ui-monospace,monospace;margin:.5rem 0 1rem;overflow-x:auto}
pre span{display:block;min-height:1.45em;white-space:pre-wrap;overflow-wrap:anywhere}
.add{background:var(--add)}.del{background:var(--del)}.field{background:var(--field)}.remark{background:var(--remark)}
.dim{color:var(--dim);font-size:.85em}summary{cursor:pointer}table{margin:0 0 1rem}td{padding:0 1rem 0 0;overflow-wrap:anywhere}
";

/// The page.
pub(super) fn page(report: &DiffReport) -> String {
    let title = shown(&report.title());
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<h1>{title}</h1>\n<p class=\"dim\">{} → {}</p>\n<p><b>{}</b>, {} unchanged</p>\n",
        shown(&report.from.label),
        shown(&report.to.label),
        report.summary(),
        report.diff.unchanged
    );
    write_images(report, &mut out);
    for note in &report.notes {
        let _ = writeln!(out, "<p>{}</p>", shown(note));
    }
    let common = common_lines(report);
    if !common.is_empty() {
        out.push_str("<details open><summary>changed in many objects</summary>\n<pre>");
        common.iter().for_each(|line| write_line(line, &mut out));
        out.push_str("</pre>\n</details>\n");
    }
    for (one, lines) in report.with_own_changes() {
        let _ = writeln!(
            out,
            "<details open><summary>{} <b>{}</b> <span class=\"dim\">{}</span></summary>\n<pre>",
            one.change().as_str(),
            shown(&object_name(one, &report.namespace)),
            shown(&object_details(one))
        );
        for line in object_lines(one, lines) {
            write_line(&line, &mut out);
        }
        out.push_str("</pre>\n</details>\n");
    }
    let others = report.all_common();
    if !others.is_empty() {
        let count = others.len();
        let _ = writeln!(
            out,
            "<details><summary>{count} objects with no other changes</summary>\n<ul>"
        );
        for one in others {
            let _ = writeln!(out, "<li>{}</li>", shown(&object_name(one, &report.namespace)));
        }
        out.push_str("</ul>\n</details>\n");
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// A table of the images that differ.
fn write_images(report: &DiffReport, out: &mut String) {
    let images = report.images();
    if images.is_empty() {
        return;
    }
    out.push_str("<table>\n");
    for (from, to) in images {
        let code = |image: &str| format!("<code>{}</code>", shown(image));
        let (image, what) = match (from, to) {
            (Some(from), Some(to)) => (code(from), format!("→ {}", code(to))),
            (None, Some(to)) => (code(to), "new".to_owned()),
            (from, None) => (code(from.unwrap_or_default()), "no longer used".to_owned()),
        };
        // Writing to a String can't fail.
        let _ = writeln!(out, "<tr><td>{image}</td><td>{what}</td></tr>");
    }
    out.push_str("</table>\n");
}

fn shown(text: &str) -> String {
    escaped(&printable(text))
}

fn write_line(line: &ShownLine, out: &mut String) {
    let ShownLine { kind, text, at } = line;
    let class = match kind {
        LineKind::Field => "field",
        LineKind::Remark => "remark",
        LineKind::Removed => "del",
        LineKind::Added => "add",
        LineKind::Same => "same",
    };
    let sign = match kind {
        LineKind::Field | LineKind::Remark => "",
        kind => kind.sign(),
    };
    let at = at.as_ref().map(|at| {
        format!(
            " <span class=\"dim\" style=\"display:inline\">{}</span>",
            escaped(at)
        )
    });
    let _ = write!(
        out,
        "<span class=\"{class}\">{sign}{}{}</span>",
        escaped(text),
        at.unwrap_or_default()
    );
}
