//! `diff` beside dyff, over the cases of `testdata/diff`: which fields of which objects differ. Both compare what the same
//! program renders; where dyff means something else, the case is named with the reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use testbed::Tool;

use crate::{Run, command, testdata};

/// The cases in which other fields are named, and what dyff does there.
const OTHERWISE: &[(&str, &str)] = &[
    ("a file of the crds folder is not YAML", "refuses it"),
    ("a container has another name", "one entry removed and one added"),
    ("ports without names, by number and protocol", "the whole entries"),
    (
        "mounts by their paths, volumes by name",
        "the whole entries of mounts",
    ),
    ("a variable stands twice in a list", "the whole entries"),
    ("rules of an ingress by host, paths by path", "the whole entries"),
    ("alerts by name", "the whole entries"),
    (
        "the same kind in another group is another object",
        "the same object, renamed",
    ),
    (
        "a document without a name",
        "names documents without a name by their number",
    ),
    (
        "a name that is generated",
        "names documents without a name by their number",
    ),
    (
        "a document is no object",
        "names documents without a name by their number",
    ),
    ("the items of a List are objects", "the List is the object"),
    (
        "the items of a typed list omit their kind",
        "the list is the object",
    ),
    ("in a List, and in a SecretList", "the lists are the objects"),
    (
        "the name also stands in labels and texts",
        "no rename: too much differs",
    ),
    (
        "a renamed object has changed a little",
        "no rename: too much differs",
    ),
    (
        "another kind is no other name",
        "the same object, with another kind",
    ),
    (
        "in another object, and in a text of one",
        "objects in objects by kind and name",
    ),
    ("a text with characters that a terminal obeys", "prints them"),
    (
        "the same CRDs in a second subchart",
        "documents with the same identity are one",
    ),
    ("a number is written in another way", "80 and 80.0 differ"),
    (
        "keys with dots, slashes, blanks and quotes",
        "an empty key has no name",
    ),
];

/// A field of an object, in dyff's words; empty for the object itself.
type Fields = BTreeSet<(String, String)>;

fn chart(folder: &Path, text: &str, version: &str) -> PathBuf {
    let chart = folder.join(version);
    let head = format!("apiVersion: v2\nname: shop\nversion: {version}\n");
    let mut files = vec![("Chart.yaml", head.as_str())];
    match text.strip_prefix("# file: ") {
        None => files.push(("templates/a.yaml", text)),
        Some(text) => files.extend(text.split("# file: ").map(|file| file.split_once('\n').unwrap())),
    }
    for (path, text) in files {
        let path = chart.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    chart
}

/// What dyff says: a line `@@ PATH @@`, then `# OBJECT`, then what is different.
fn of_dyff(folder: &Path, from: &Path, to: &Path) -> Fields {
    let rendered = |chart: &Path| {
        let mut template = command();
        template
            .args(["template", "--frozen", "--include-crds"])
            .arg(chart);
        let run = Run::of(&mut template);
        let file = chart.with_extension("yaml");
        // Of single documents it does not look at apiVersion, kind and name.
        let same = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: same}\n";
        fs::write(&file, same.to_owned() + &run.stdout).unwrap();
        file
    };
    let mut dyff = Tool::Dyff.command(folder);
    dyff.args([
        "between",
        "--omit-header",
        "--color",
        "off",
        "--output",
        "github",
        "--format-strings=false",
    ])
    .args([rendered(from), rendered(to)]);
    let run = Run::of(&mut dyff);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let heads = lines.windows(2).filter_map(|pair| {
        let path = pair[0].strip_prefix("@@ ")?.strip_suffix(" @@")?;
        let object = pair[1].strip_prefix("# ").unwrap_or_default();
        let path = if path == "(root level)" { "" } else { path };
        // The order of documents has no meaning for objects.
        (path != "(file level)").then(|| (object.to_owned(), up_to_position(path)))
    });
    heads.collect()
}

/// Our changes in the form of dyff: it reports what was added, removed or moved for the map or list that holds it.
fn of_ours(from: &Path, to: &Path) -> Fields {
    let mut diff = command();
    diff.arg("diff")
        .args([from, to])
        .args(["-o", "json", "--show-secrets"]);
    let run = Run::of(&mut diff);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut fields = Fields::new();
    for one in run.json()["objects"].as_array().unwrap() {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let name = [text("apiVersion"), text("kind"), text("namespace"), text("name")];
        let name: Vec<&str> = name.into_iter().filter(|part| !part.is_empty()).collect();
        let object = name.join("/");
        if matches!(one["change"].as_str(), Some("added" | "removed")) {
            fields.insert((object, String::new()));
            continue;
        }
        for change in one["changes"].as_array().into_iter().flatten() {
            let mut steps = steps(change["path"].as_str().unwrap());
            if !matches!(change["change"].as_str(), Some("replaced" | "text")) {
                steps.pop();
            }
            fields.insert((object.clone(), up_to_position(&steps.join("."))));
        }
    }
    fields
}

/// An item that is identified by its position alone is reported for its list.
fn up_to_position(path: &str) -> String {
    let is_position = |step: &&str| !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    let steps: Vec<&str> = path.split('.').take_while(|step| !is_position(step)).collect();
    steps.join(".")
}

/// The steps of a path: `a.b[c]["d"]`.
fn steps(path: &str) -> Vec<String> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let (step, after) = quoted.split_once("\"]").unwrap();
            steps.push(step.replace('\\', ""));
            rest = after;
        } else if let Some(item) = rest.strip_prefix('[') {
            let (step, after) = item.split_once(']').unwrap();
            steps.push(step.split_once('=').map_or(step, |(_, value)| value).to_owned());
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            steps.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
    }
    steps
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_same_fields_differ_as_for_dyff() {
    let mut wrong = Vec::new();
    let (mut count, mut seen) = (0, BTreeSet::new());
    for entry in fs::read_dir(testdata().join("diff")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for case in text.split("## ").skip(1) {
            let (name, rest) = case.split_once('\n').unwrap();
            let (from, to) = rest.split_once(">>>\n").unwrap();
            let folder = tempfile::tempdir().unwrap();
            let [from, to] = [
                chart(folder.path(), from, "1.0.0"),
                chart(folder.path(), to, "1.1.0"),
            ];
            let (theirs, ours) = (of_dyff(folder.path(), &from, &to), of_ours(&from, &to));
            count += 1;
            let is_known = OTHERWISE.iter().any(|(known, _)| *known == name);
            if theirs != ours && !is_known {
                wrong.push(format!("{name}\n  dyff: {theirs:?}\n  ours: {ours:?}"));
            }
            if theirs != ours && is_known {
                seen.insert(name.to_owned());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let stale: Vec<_> = OTHERWISE
        .iter()
        .filter(|(name, _)| !seen.contains(*name))
        .collect();
    assert!(stale.is_empty(), "no longer different: {stale:?}");
    assert!(count >= 60, "{count}");
}
