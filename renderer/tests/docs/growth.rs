//! What will grow is `#[non_exhaustive]`, as the statement on stability promises: a further variant or field breaks no
//! program that uses the library.

use std::path::Path;

/// Public types that are complete, with the reason.
const COMPLETE: [(&str, &str); 16] = [
    (
        "ArtifactStore",
        "a registry or a layout: what `Destination` has beyond them has no tags",
    ),
    (
        "At",
        "a tag or a digest, as the specification of registries has it",
    ),
    ("ChartKind", "part of the CRDs, whose versions decide"),
    ("ChartRole", "a chart is a root or a subchart"),
    ("Cause", "the table of the retry policy"),
    ("Check", "the table of lint rules"),
    ("Content", "bytes, or a file of the disk"),
    ("Decision", "the table of the retry policy"),
    ("HelmOptions", "part of the CRDs, whose versions decide"),
    ("IfExists", "the flag of this name"),
    ("Mode", "Helm's commands `build` and `update`"),
    ("Number", "JSON's numbers as Go reads them"),
    ("Sameness", "the same, or not"),
    ("Severity", "an error, a warning, or what Helm calls information"),
    ("Value", "JSON's data"),
    ("VerifyProvider", "part of the CRDs, whose versions decide"),
];

/// Ends of the names of structs that are options or results.
const GROWING: [&str; 7] = [
    "Options", "Limits", "Policy", "Report", "Request", "Output", "Finding",
];

/// The public enums and structs of a text that should be `#[non_exhaustive]`, and aren't.
fn closed(text: &str) -> Vec<String> {
    let mut before = "";
    let mut found = Vec::new();
    for line in text.lines() {
        let name = |rest: &str| -> String { rest.chars().take_while(|c| c.is_alphanumeric()).collect() };
        let grows = if let Some(rest) = line.strip_prefix("pub enum ") {
            let name = name(rest);
            Some(name)
        } else if let Some(rest) = line.strip_prefix("pub struct ") {
            let name = name(rest);
            (line.ends_with('{') && GROWING.iter().any(|end| name.ends_with(end))).then_some(name)
        } else {
            None
        };
        if let (Some(name), false) = (grows, before == "#[non_exhaustive]")
            && !COMPLETE.iter().any(|(known, _)| *known == name)
        {
            found.push(name);
        }
        before = line;
    }
    found
}

fn texts(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // The command line is no part of the API.
        if path.is_dir() && !path.ends_with("src/cli") {
            self::texts(&path, texts);
        } else if path.extension().is_some_and(|end| end == "rs") {
            texts.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn options_results_and_enums_can_grow() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    texts(&root.join("src"), &mut all);
    texts(&root.join("../crates/diagnostics/src"), &mut all);
    let closed: Vec<_> = all.iter().flat_map(|text| closed(text)).collect();
    assert!(closed.is_empty(), "not #[non_exhaustive]: {closed:?}");
    let text = all.concat();
    for (name, reason) in COMPLETE {
        let there = ["enum", "struct"].map(|kind| text.contains(&format!("\npub {kind} {name} {{")));
        assert!(there.contains(&true), "there is no {name}: {reason}");
    }
}

#[test]
fn an_enum_and_an_option_struct_without_the_attribute_are_found() {
    let text = "pub enum A {\n#[non_exhaustive]\npub enum B<'a> {\npub struct COptions {\npub struct D {\npub enum Mode {\n";
    assert_eq!(closed(text), ["A", "COptions"]);
}
