//! The changes of `testdata/diff`: what each is shown as, and what is true of all of them.
//!
//! A file has cases, each behind a line `## NAME`: the older chart, a line `>>>`, the newer one. A chart is one template,
//! or files behind lines `# file: PATH`.

use std::sync::Arc;

use super::diff_lines::object_lines;
use super::diff_markdown::MAX_COMMENT;
use super::diff_report::DiffReport;
use super::diff_sides::LoadedSide;
use super::request::frozen_world;
use crate::chart::load::load_files;
use crate::diff::{ChangeKind, DiffOptions, ObjectChange, Rendering, diff, split_crds};
use crate::draw::Style;
use crate::engine::manifest::ManifestFilter;
use crate::engine::{ParsedChart, RenderRequest};

struct Case {
    name: String,
    from: String,
    to: String,
}

fn cases(text: &str) -> Vec<Case> {
    let cases = text.split("## ").skip(1).map(|case| {
        let (name, rest) = case.split_once('\n').unwrap();
        let (from, to) = rest.split_once(">>>\n").unwrap();
        let [name, from, to] = [name, from, to].map(str::to_owned);
        Case { name, from, to }
    });
    cases.collect()
}

fn files(text: &str, version: &str) -> Vec<(String, Vec<u8>)> {
    let chart = format!("apiVersion: v2\nname: shop\nversion: {version}\n");
    let mut files = vec![("Chart.yaml".to_owned(), chart.into_bytes())];
    match text.strip_prefix("# file: ") {
        None => files.push(("templates/a.yaml".to_owned(), text.as_bytes().to_vec())),
        Some(text) => files.extend(text.split("# file: ").map(|file| {
            let (path, text) = file.split_once('\n').unwrap();
            (path.to_owned(), text.as_bytes().to_vec())
        })),
    }
    files
}

struct RenderedSide {
    side: LoadedSide,
    chart: ParsedChart,
    request: RenderRequest,
}

impl RenderedSide {
    fn rendered(&self) -> Rendering {
        Rendering::of(&self.chart, &self.request, ManifestFilter::default()).unwrap()
    }
}

fn side(text: &str, version: &str) -> RenderedSide {
    let loaded = load_files(files(text, version)).unwrap();
    let chart = ParsedChart::new(Arc::clone(&loaded));
    let (world, seed) = frozen_world();
    let request = RenderRequest::new("release").world(world).seed(seed);
    RenderedSide {
        side: LoadedSide {
            loaded,
            label: format!("shop {version}"),
            root: None,
            exists: true,
        },
        chart,
        request,
    }
}

fn report_with(from: &RenderedSide, to: &RenderedSide, shows_secrets: bool) -> DiffReport {
    let (mut older, mut newer) = (from.rendered(), to.rendered());
    split_crds(&mut older, &mut newer);
    let options = DiffOptions {
        shows_secrets,
        ..DiffOptions::new("default")
    };
    let found = diff(&older.documents, &newer.documents, &options);
    DiffReport::new(
        found,
        (&from.side, &older, &from.chart, &from.request),
        (&to.side, &newer, &to.chart, &to.request),
    )
}

fn report(from: &str, to: &str) -> DiffReport {
    report_with(&side(from, "1.0.0"), &side(to, "1.1.0"), false)
}

fn text(report: &DiffReport) -> String {
    super::diff_text::text(report, Style::Plain)
}

/// How many fields were added and removed, and how many lines of texts.
fn counts(report: &DiffReport) -> [usize; 4] {
    let changes = report.diff.objects.iter().flat_map(|one| &one.changes);
    let mut counts = [
        report.diff.count(ObjectChange::Added),
        report.diff.count(ObjectChange::Removed),
        0,
        0,
    ];
    for change in changes {
        match &change.kind {
            ChangeKind::Added(_) => counts[2] += 1,
            ChangeKind::Removed(_) => counts[3] += 1,
            _ => {}
        }
    }
    counts
}

#[test]
fn each_change_is_shown_as_a_reader_would_say_it() {
    let mut count = 0;
    insta::glob!("../../../testdata/diff", "*.txt", |path| {
        let given = std::fs::read_to_string(path).unwrap();
        let mut shown = String::new();
        for Case { name, from, to } in cases(&given) {
            let (older, newer) = (side(&from, "1.0.0"), side(&to, "1.1.0"));
            let found = report_with(&older, &newer, false);
            shown.push_str(&format!("## {name}\n{}\n", text(&found)));
            // What is true of every pair.
            for same in [&older, &newer] {
                let itself = report_with(same, same, false);
                assert!(itself.diff.is_empty() && itself.diff.images.is_empty(), "{name}");
            }
            let [added, removed, added_fields, removed_fields] = counts(&found);
            let back = report_with(&newer, &older, false);
            assert_eq!(
                counts(&back),
                [removed, added, removed_fields, added_fields],
                "{name}"
            );
            assert_eq!(back.diff.unchanged, found.diff.unchanged, "{name}");
            count += 1;
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(shown);
        });
    });
    assert!(count >= 60, "{count}");
}

#[test]
fn no_form_shows_what_a_secret_holds() {
    let given = include_str!("../../../testdata/diff/secrets.txt");
    for Case { name, from, to } in cases(given) {
        let (older, newer) = (side(&from, "1.0.0"), side(&to, "1.1.0"));
        let found = report_with(&older, &newer, false);
        assert!(!found.diff.is_empty(), "{name}");
        let forms = [
            text(&found),
            found.json(),
            super::diff_markdown::markdown(&found),
            super::diff_html::page(&found),
        ];
        for form in &forms {
            for secret in ["hunter2", "swordfish", "aHVudGVyMg", "c3dvcmRmaXNo", "42", "43"] {
                assert!(
                    !form.replace("sha256 ", "").contains(secret) || is_in_hash(form, secret),
                    "{name}: {form}"
                );
            }
            assert!(
                form.contains("hidden, sha256") || name.starts_with("from data"),
                "{name}: {form}"
            );
        }
        let open = text(&report_with(&older, &newer, true));
        assert!(
            ["swordfish", "c3dvcmRmaXNo", "hunter2"]
                .iter()
                .any(|secret| open.contains(secret)),
            "{name}: {open}"
        );
    }
}

/// Digits of a hash may be any.
fn is_in_hash(form: &str, secret: &str) -> bool {
    let without: Vec<&str> = form.split("sha256 ").collect();
    let rest = without.iter().enumerate().map(|(number, part)| {
        match number {
            0 => part,
            _ => part.split_once('…').map_or(*part, |(_, rest)| rest),
        }
        .to_owned()
    });
    !rest.collect::<String>().contains(secret)
}

#[test]
fn a_comment_stays_below_its_limit_whatever_differs() {
    let object = |number: usize, text: &str| {
        format!("---\nkind: ConfigMap\napiVersion: v1\nmetadata: {{name: a{number}}}\ndata: {{x: {text}}}\n")
    };
    let objects =
        |count: usize, text: &str| -> String { (0..count).map(|number| object(number, text)).collect() };
    let long = "x".repeat(300_000);
    let lines = format!("\"{}\"", "line\\n".repeat(50_000));
    let wide = format!("\"{}\"", "日本語\\n".repeat(20_000));
    let fences = format!("\"{}\\nb\"", "`".repeat(50_000));
    for (from, to, expects_rest) in [
        (objects(0, ""), objects(3_000, "a"), true),
        (objects(3_000, "a"), objects(3_000, "b"), true),
        (objects(1, "a"), objects(1, &long), false),
        (objects(1, "a"), objects(1, &lines), false),
        (objects(20, "a"), objects(20, &lines), true),
        (objects(1, "a"), objects(1, &wide), false),
        (objects(1, "\"a\\nb\""), objects(1, &fences), false),
    ] {
        let found = report(&from, &to);
        let comment = super::diff_markdown::markdown(&found);
        assert!(comment.len() < MAX_COMMENT, "{}", comment.len());
        assert_eq!(comment.contains("more objects differ"), expects_rest, "{comment}");
        assert_eq!(
            comment.matches("<details>").count(),
            comment.matches("</details>").count()
        );
        assert!(comment.contains("unchanged"), "{comment}");
    }
}

/// What stands between fences is text.
fn outside_of_fences(comment: &str) -> String {
    let (mut out, mut fence) = (String::new(), None);
    for line in comment.lines() {
        match (fence, line.strip_suffix("diff")) {
            (None, Some(ticks)) if ticks.len() > 2 && ticks.chars().all(|char| char == '`') => {
                fence = Some(ticks)
            }
            (None, _) => out.push_str(&format!("{line}\n")),
            (Some(ticks), _) if line == ticks => fence = None,
            _ => {}
        }
    }
    assert!(fence.is_none(), "{comment}");
    out
}

#[test]
fn markdown_and_html_take_nothing_from_charts_for_their_own() {
    let from = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n";
    let to = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata:\n  \"</details><script>x</script>@user|#1\": |\n    ```\n    </pre><script>alert(1)</script>\n    ````\n---\nkind: \"<b>@team *x*\"\napiVersion: v1\nmetadata: {name: \"</summary>`|#1\"}\n";
    let found = report(from, to);
    let html = super::diff_html::page(&found);
    assert!(
        !html.contains("<script") && !html.contains("</details><"),
        "{html}"
    );
    let comment = super::diff_markdown::markdown(&found);
    let outside = outside_of_fences(&comment);
    assert!(
        !outside.contains("@team") && !outside.contains("<script") && !outside.contains("|#1"),
        "{outside}"
    );
    assert!(
        !outside.contains("*x*") && outside.matches("</summary>").count() == 2,
        "{outside}"
    );
}

#[test]
fn thousands_of_objects_with_other_names_take_no_quadratic_time() {
    // Each is alike to every other, so that all pairs would have to be compared.
    let objects = |prefix: &str, count: usize, field: &str| -> String {
        let object = |number: usize| {
            format!(
                "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {{name: {prefix}{number}}}\n\
                 data: {{a: x, b: x, c: x, number: \"{number}{field}\"}}\n"
            )
        };
        (0..count).map(object).collect()
    };
    let counts = |from: &str, to: &str| {
        let found = report(from, to);
        [ObjectChange::Renamed, ObjectChange::Added, ObjectChange::Removed]
            .map(|change| found.diff.count(change))
    };
    let (few, others) = (objects("old", 20, ""), objects("new", 20, "x"));
    assert_eq!(counts(&few, &others), [20, 0, 0]);
    let (many, others) = (objects("old", 3_000, ""), objects("new", 3_000, "x"));
    assert_eq!(
        counts(&many, &others),
        [0, 3_000, 3_000],
        "beyond the limit they are not searched"
    );
    let others = objects("new", 3_000, "");
    assert_eq!(
        counts(&many, &others),
        [3_000, 0, 0],
        "but for their names they are the same"
    );
}

#[test]
fn lines_are_located_up_to_a_limit_and_long_ones_are_cut() {
    let object = |value: &str| -> String {
        let fields =
            (0..crate::diff::locate::MAX_LOCATED + 10).map(|number| format!("  k{number}: {value}\n"));
        format!(
            "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: a}}\ndata:\n{}",
            fields.collect::<String>()
        )
    };
    let found = report(&object("a"), &object("b"));
    let lines = &found.lines[0];
    assert!(lines.object.is_some() && lines.changes[0].is_some());
    assert!(lines.changes.last().unwrap().is_none());
    assert_eq!(
        lines.changes[0].as_ref().unwrap().shown(),
        "shop/templates/a.yaml:5"
    );
    let long = format!(
        "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: a}}\ndata: {{x: {}}}\n",
        "y".repeat(5_000)
    );
    let found = report(&object("a"), &long);
    let (one, lines) = found.objects().next().unwrap();
    let longest = object_lines(one, lines)
        .iter()
        .map(|line| line.text.chars().count())
        .max()
        .unwrap();
    assert!(
        (super::diff_lines::MAX_LINE..super::diff_lines::MAX_LINE + 40).contains(&longest),
        "{longest}"
    );
}
