//! The playground in a real browser: the module that `playground/build` builds, and the page of `docs/playground`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that can't go on should stop, and pictures are asked for by a variable"
)]

mod devtools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use devtools::Browser;
use serde_json::json;
use solar_playground::{ChartFile, Rendering, Request, Response, respond};
use testbed::{Response as Reply, Server};

const WIDE: (u32, u32) = (1400, 850);
const NARROW: (u32, u32) = (420, 900);
const TAB: u32 = 9;
const ENTER: u32 = 13;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The page's folder, built once for all tests.
fn page() -> &'static Path {
    static PAGE: OnceLock<PathBuf> = OnceLock::new();
    PAGE.get_or_init(|| {
        let folder = repository().join("target/playground-page");
        let built = Command::new(repository().join("playground/build"))
            .arg(&folder)
            .output()
            .unwrap();
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        folder
    })
}

/// A server of the page's files.
fn server() -> Server {
    let folder = page();
    Server::start(move |request| {
        let name = request.path().trim_start_matches('/');
        let Ok(bytes) = fs::read(folder.join(name)) else {
            return Reply::status(404).into();
        };
        let kind = match name.rsplit('.').next() {
            Some("html") => "text/html",
            Some("css") => "text/css",
            Some("js") => "text/javascript",
            _ => "application/wasm",
        };
        Reply::status(200).header("content-type", kind).body(bytes).into()
    })
}

fn open(server: &Server) -> Browser {
    let url = format!("http://{}/index.html", server.host());
    Browser::open(&url, WIDE.0, WIDE.1)
}

/// The files of a folder.
fn files(folder: &Path) -> Vec<ChartFile> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            let bytes = fs::read(&path).unwrap();
            found.push(match String::from_utf8(bytes) {
                Ok(text) => ChartFile {
                    path: name,
                    text: Some(text),
                    bytes: None,
                },
                Err(error) => ChartFile {
                    path: name,
                    text: None,
                    bytes: Some(STANDARD.encode(error.as_bytes())),
                },
            });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn request(files: Vec<ChartFile>) -> Request {
    Request::Render(Rendering {
        files,
        values: String::new(),
        release: "shop".to_owned(),
        namespace: "prod".to_owned(),
        kube_version: "1.31".to_owned(),
        include_crds: true,
        now: 1_700_000_000_000,
        random: STANDARD.encode([7; 32]),
    })
}

fn one_template(text: &str) -> Vec<ChartFile> {
    let file = |path: &str, text: &str| ChartFile {
        path: path.to_owned(),
        text: Some(text.to_owned()),
        bytes: None,
    };
    vec![
        file("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}"),
        file("templates/a.yaml", text),
    ]
}

fn in_the_page(browser: &mut Browser, request: &Request) -> Response {
    let answer = browser.evaluate(&format!("ask({})", json!(request)));
    serde_json::from_value(answer).unwrap()
}

fn here(request: &Request) -> Response {
    serde_json::from_str(&respond(&json!(request).to_string())).unwrap()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_module_renders_every_chart_as_the_whole_library_does() {
    let server = server();
    let mut browser = open(&server);
    let mut rendered = 0;
    let mut charts: Vec<PathBuf> = fs::read_dir(repository().join("testdata/helm/charts"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    charts.push(repository().join("charts/solar-operator"));
    charts.sort();
    for chart in charts {
        let request = request(files(&chart));
        let (expected, found) = (here(&request), in_the_page(&mut browser, &request));
        assert_eq!(found, expected, "{}", chart.display());
        rendered += usize::from(found.objects > 0);
    }
    assert!(rendered > 10, "only {rendered} charts gave objects");
    // Random bytes and the clock are the request's.
    let random = request(one_template(
        "a: {{ uuidv4 }} {{ now | unixEpoch }} {{ \"x\" | sha1sum }}",
    ));
    assert_eq!(in_the_page(&mut browser, &random), here(&random));

    let certificate = request(one_template("a: 1\nb: {{ (genCA \"x\" 1).Cert | b64enc }}"));
    assert!(here(&certificate).output.is_some());
    let [refused] = in_the_page(&mut browser, &certificate)
        .diagnostics
        .try_into()
        .unwrap();
    assert!(
        refused.message.contains("this build has no cryptography"),
        "{}",
        refused.message
    );
    assert_eq!(refused.at.unwrap().line, 2);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_is_typed_is_rendered_and_errors_are_shown_at_their_lines() {
    let server = server();
    let mut browser = open(&server);
    assert!(
        browser.text("#output").contains("replicas: 3"),
        "the values given win"
    );
    browser.evaluate("source.focus(), source.setSelectionRange(0, 0)");
    browser.type_text("# {{ .Values.image.tga.x }}\n");
    assert_eq!(browser.wait_for(&["failed"]), "failed");
    let problem = browser.text("#problems");
    assert!(problem.contains("nil pointer evaluating"), "{problem}");
    assert!(problem.contains("templates/deployment.yaml:1:"), "{problem}");
    assert_eq!(browser.text("#lines .error"), "1\n");
    assert!(browser.text("#marks .error b").contains("tga"));
    assert_eq!(browser.text("#file-list .error"), "templates/deployment.yaml");

    // By the keyboard: to the error's location, and there the words are selected.
    browser.evaluate("byId('copy').focus()");
    browser.press("Tab", TAB);
    browser.press("Enter", ENTER);
    let selected = browser.evaluate("source.value.slice(source.selectionStart, source.selectionEnd)");
    assert!(selected.as_str().unwrap().contains("image.tga"), "{selected}");
    browser.evaluate("source.setSelectionRange(0, source.value.indexOf('\\n') + 1)");
    browser.type_text("# mended\n");
    browser.wait_for(&["done"]);
    assert_eq!(browser.text("#problems"), "");
    assert!(browser.text("#status").starts_with("2 objects, "));

    // Values that are no YAML are marked where they are given.
    browser.evaluate("select(VALUES), source.focus(), source.select()");
    browser.type_text("replicas: 4\n- broken");
    browser.wait_for(&["failed"]);
    assert!(browser.text("#problems").contains("values given:"));
    assert_eq!(browser.text("#lines .error"), "2\n");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_never_ends_is_stopped_and_the_page_goes_on() {
    let server = server();
    let mut browser = open(&server);
    let endless = "{{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}";
    let stopped = browser.evaluate(&format!("ask({})", json!(request(one_template(endless)))));
    assert_eq!(
        stopped["broken"],
        json!("stopped: it takes longer than 5 seconds")
    );
    let short = request(one_template("a: 1"));
    assert_eq!(in_the_page(&mut browser, &short), here(&short));
    // Templates that include each other for ever end in a limit of the engine or of the browser's stack.
    let deep = "{{ define \"a\" }}{{ include \"b\" . }}{{ end }}{{ define \"b\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}";
    let answer = browser.evaluate(&format!("ask({})", json!(request(one_template(deep)))));
    let is_limit = answer.to_string().contains("nested reference name");
    let is_stack = answer["broken"] == json!("the templates nest more deeply than this browser's stack");
    assert!(is_limit || is_stack, "{answer}");
    assert_eq!(in_the_page(&mut browser, &short), here(&short));
}

/// The module ends there: its panics can't be caught.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_schema_over_its_step_limit_is_an_error_and_the_page_goes_on() {
    let server = server();
    let mut browser = open(&server);
    // Each level checks the one below it twice.
    let levels = (1..=24).map(|level| {
        let below = format!("{{\"$ref\": \"#/definitions/l{}\"}}", level - 1);
        format!("\"l{level}\": {{\"allOf\": [{below}, {below}]}}")
    });
    let levels: Vec<_> = levels.collect();
    let mut files = one_template("a: 1");
    files.push(ChartFile {
        path: "values.schema.json".to_owned(),
        text: Some(format!(
            "{{\"$ref\": \"#/definitions/l24\", \"definitions\": {{\"l0\": {{\"type\": \"object\"}}, {}}}}}",
            levels.join(", ")
        )),
        bytes: None,
    });
    let request = request(files);
    let limit = "values.schema.json takes more than 2000000 steps to check";
    assert!(respond(&json!(request).to_string()).contains(limit));
    let answer = browser.evaluate(&format!("ask({})", json!(request)));
    assert_eq!(answer["broken"], json!(limit), "{answer}");
    let short = self::request(one_template("a: 1"));
    assert_eq!(in_the_page(&mut browser, &short), here(&short));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn charts_are_opened_from_archives_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let chart = repository().join("testdata/helm/charts/hooks");
    let loaded = solar_render::chart::folder::load(&chart).unwrap();
    let archive = folder.path().join("hooks.tgz");
    let files = loaded.into_files().unwrap();
    write_archive(&archive, &files);
    let server = server();
    let mut browser = open(&server);
    browser.choose("#open-files", &[archive.to_str().unwrap()]);
    browser.wait_for(&["rendering"]);
    browser.wait_for(&["done"]);
    let list = browser.text("#file-list");
    assert!(
        list.contains("templates/tests/test.yaml") && !list.contains("service.yaml"),
        "{list}"
    );
    assert!(
        browser
            .text("#output")
            .contains("# Source: hooks/templates/hooks.yaml")
    );

    let broken = folder.path().join("broken.tgz");
    fs::write(&broken, "no archive").unwrap();
    browser.choose("#open-files", &[broken.to_str().unwrap()]);
    browser.wait_for(&["failed"]);
    assert!(
        browser
            .text("#problems")
            .contains("broken.tgz can't be read as a .tgz")
    );
}

/// Writes a `.tgz` with the program that everybody has.
fn write_archive(path: &Path, files: &[(String, Vec<u8>)]) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let file = folder.path().join("hooks").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    let mut tar = Command::new("tar");
    tar.arg("-czf")
        .arg(path)
        .arg("-C")
        .arg(folder.path())
        .arg("hooks");
    assert!(tar.status().unwrap().success());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn nothing_leaves_the_page() {
    let server = server();
    let mut browser = open(&server);
    let mut loaded: Vec<String> = server.requests().iter().map(|one| one.target.clone()).collect();
    loaded.sort();
    let own = [
        "/index.html",
        "/playground.css",
        "/playground.js",
        "/solar_playground.wasm",
        "/worker.js",
    ];
    assert_eq!(loaded, own);
    let attempt = "fetch(location.href + '?leak').then(() => 'sent', () => 'refused')";
    assert_eq!(browser.evaluate(attempt), json!("refused"));
    let image = "new Promise((resolve) => { const one = new Image(); one.onload = one.onerror = () => resolve('over'); one.src = '/leak.png'; })";
    assert_eq!(browser.evaluate(image), json!("over"));
    let url = format!("http://{}/index.html?leak", server.host());
    let worker = format!(
        "new Promise((resolve) => {{
            const script = `fetch('{url}').then(() => postMessage('sent'), () => postMessage('refused'))`;
            const worker = new Worker(URL.createObjectURL(new Blob([script])));
            worker.onmessage = (event) => resolve(event.data);
        }})"
    );
    assert_eq!(browser.evaluate(&worker), json!("refused"));
    assert_eq!(server.requests().len(), own.len(), "{:?}", server.requests());
}

/// `PLAYGROUND_PICTURES=FOLDER` keeps the pictures.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn it_fits_wide_and_narrow_windows_light_and_dark() {
    let server = server();
    let mut browser = open(&server);
    let pictures = std::env::var_os("PLAYGROUND_PICTURES").map(PathBuf::from);
    for state in ["done", "failed"] {
        if state == "failed" {
            browser.evaluate("source.focus(), source.setSelectionRange(0, 0)");
            browser.type_text("{{- $unknown := requierd \"no image\" .Values.image }}\n");
            browser.wait_for(&["failed"]);
        }
        for (shape, (width, height)) in [("wide", WIDE), ("narrow", NARROW)] {
            browser.size(width, height);
            let overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(browser.evaluate(overflow), json!(0), "{shape}");
            let mut drawn = Vec::new();
            for scheme in ["light", "dark"] {
                browser.scheme(scheme);
                let picture = browser.picture();
                if let Some(folder) = &pictures {
                    let name = format!("{state}-{shape}-{scheme}.png");
                    fs::write(folder.join(name), STANDARD.decode(&picture).unwrap()).unwrap();
                }
                drawn.push(browser.evaluate("getComputedStyle(document.body).backgroundColor"));
            }
            assert_ne!(drawn[0], drawn[1], "light and dark are the same");
        }
    }
}
