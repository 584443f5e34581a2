//! Templates and what Helm 4.3.1 makes of them, recorded in `testdata/helm` (its README says
//! how): outputs to the byte, and errors to the word.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use solar_render::chart::load::{self, Loaded, Template};
use solar_render::engine::{ParsedChart, RenderRequest};
use solar_render::source::Source;
use solar_render::values::options::ValuesOptions;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/helm")
}

/// What came out, or Helm's words.
type Answer = Result<Vec<u8>, Vec<u8>>;

/// Where we differ, and mean to: templates, one a line; `#` begins a reason.
fn differences() -> BTreeSet<String> {
    let text = std::fs::read_to_string(folder().join("differences.txt")).unwrap();
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

struct Case {
    template: String,
    expected: Answer,
}

fn cases(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).unwrap();
    let list: Vec<BTreeMap<String, String>> = serde_json::from_str(&text).unwrap();
    let decode = |text: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.decode(text).unwrap()
    };
    list.into_iter()
        .map(|case| {
            let expected = match (case.get("output"), case.get("outputBase64"), case.get("error")) {
                (Some(text), ..) => Ok(text.clone().into_bytes()),
                (_, Some(text), _) => Ok(decode(text)),
                (.., Some(text)) => Err(text.clone().into_bytes()),
                _ => Err(decode(&case["errorBase64"])),
            };
            Case {
                template: case["template"].clone(),
                expected,
            }
        })
        .collect()
}

/// The chart around each case.
struct Stage {
    chart: Arc<Loaded>,
    request: RenderRequest,
}

impl Stage {
    fn new() -> Self {
        let sets = std::fs::read_to_string(folder().join("set.txt")).unwrap();
        let mut options = ValuesOptions::default();
        options.typed = sets.lines().map(str::to_owned).collect();
        let mut request = RenderRequest::new("rel");
        "ns".clone_into(&mut request.release.namespace);
        (request.values, request.places) = options.merge(&mut std::io::empty()).unwrap();
        request.seed = Some(1);
        let chart = load::load(&folder().join("data")).unwrap();
        Self { chart, request }
    }

    fn answer(&self, template: &str) -> Answer {
        let mut chart = (*self.chart).clone();
        let name = "templates/t.yaml".to_owned();
        let source = Source::new(name.clone(), template);
        chart.templates.push(Template { name, source });
        let (rendered, problems) = ParsedChart::new(Arc::new(chart))
            .run(&self.request, true)
            .unwrap();
        match problems.first() {
            Some(first) => Err(first.helm_text().into_bytes()),
            None => Ok(rendered.texts.into_iter().next().unwrap().1.into_bytes()),
        }
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Ok(text) => format!("output {:?}", String::from_utf8_lossy(text)),
        Err(text) => format!("error  {:?}", String::from_utf8_lossy(text)),
    }
}

/// Whether the answers agree; output that is not UTF-8 is an error here, in our words.
fn agree(expected: &Answer, found: &Answer) -> bool {
    match (expected, found) {
        (Ok(expected), Err(_)) => std::str::from_utf8(expected).is_err(),
        _ => expected == found,
    }
}

fn check(topic: &str) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join(topic))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".golden.json"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let wrong: Mutex<Vec<String>> = Mutex::default();
    let mut count = 0;
    std::thread::scope(|scope| {
        for file in &files {
            count += cases(file).len();
            scope.spawn(|| compare(file, &wrong));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn compare(file: &Path, wrong: &Mutex<Vec<String>>) {
    let (stage, differences) = (Stage::new(), differences());
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    for case in cases(file) {
        let found = stage.answer(&case.template);
        let differs = differences.contains(&case.template);
        if agree(&case.expected, &found) == differs {
            let (expected, found) = (shown(&case.expected), shown(&found));
            let line = format!("{name}: {}\n  helm: {expected}\n  here: {found}", case.template);
            wrong.lock().unwrap().push(line);
        }
    }
}

#[test]
fn the_language_does_what_helm_does() {
    check("language");
}

#[test]
fn functions_do_what_helm_does() {
    check("functions");
}
