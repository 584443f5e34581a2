//! `artifact`: from servers that stand for Hugging Face and for chart repositories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use sha2::Digest as _;
use testbed::{Answer, Registry, Request, Response, Server, Tool};

use crate::{Run, command};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TOKEN: &str = "hf_s3cretT0ken";

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(sha2::Sha256::digest(bytes))
}

/// Git's object of a file, by Git itself nowhere: the well-known one of `hello\n`.
const HELLO: (&[u8], &str) = (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a");

/// A deterministic text of some size.
fn weights(size: usize) -> Vec<u8> {
    (0..size).map(|number| (number * 7 % 251) as u8).collect()
}

/// Answers with the whole body, or with the requested part of it.
fn ranged(request: &Request, body: &[u8]) -> Response {
    let Some(from) = range(request) else {
        return Response::status(200).body(body);
    };
    let total = body.len();
    Response::status(206)
        .header("Content-Range", format!("bytes {from}-{}/{total}", total - 1))
        .body(&body[from..])
}

/// The first byte that is asked for.
fn range(request: &Request) -> Option<usize> {
    let from = request
        .header("range")?
        .strip_prefix("bytes=")?
        .strip_suffix('-')?;
    from.parse().ok()
}

type Cdn = dyn Fn(&Request, &[u8]) -> Answer + Send + Sync;

/// A hub with one repository `acme/tiny`, whose large files are on another server.
struct Hub {
    api: Server,
    cdn: Server,
}

impl Hub {
    fn start(large: Vec<(&'static str, Vec<u8>)>) -> Self {
        Self::with(large, |request, body| ranged(request, body).into())
    }

    fn with(
        large: Vec<(&'static str, Vec<u8>)>,
        serve: impl Fn(&Request, &[u8]) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let files: Arc<BTreeMap<String, Vec<u8>>> = Arc::new(
            large
                .into_iter()
                .map(|(name, body)| (name.to_owned(), body))
                .collect(),
        );
        let on_cdn = Arc::clone(&files);
        let serve: Box<Cdn> = Box::new(serve);
        let cdn = Server::start(move |request| {
            let name = request.path().trim_start_matches("/blobs/");
            let body = on_cdn.values().find(|body| sha256(body) == name);
            body.map_or_else(|| Response::status(404).into(), |body| serve(request, body))
        });
        let host = cdn.host();
        let api = Server::start(move |request| Self::answer(request, &files, &host).into());
        Self { api, cdn }
    }

    fn answer(request: &Request, large: &BTreeMap<String, Vec<u8>>, cdn: &str) -> Response {
        let file = |name: &str| request.path() == format!("/acme/tiny/resolve/{COMMIT}/{name}");
        if request.path() == "/api/models/acme/tiny/revision/main" {
            let body = format!(r#"{{"id":"acme/tiny","sha":"{COMMIT}","siblings":[]}}"#);
            return Response::status(200).body(body);
        }
        if request.path() == format!("/api/models/acme/tiny/tree/{COMMIT}") {
            return Self::tree(request, large);
        }
        if file("docs/hello.md") {
            return Response::status(200).body(HELLO.0);
        }
        let found = large.iter().find(|(name, _)| file(name));
        match found {
            Some((_, body)) => Response::status(302)
                .header(
                    "Location",
                    format!("http://{cdn}/blobs/{}?signature=x", sha256(body)),
                )
                .header("X-Repo-Commit", COMMIT)
                .header("X-Linked-Size", body.len().to_string())
                .header("X-Linked-Etag", format!("\"{}\"", sha256(body))),
            None => Response::status(404),
        }
    }

    /// One entry a page.
    fn tree(request: &Request, large: &BTreeMap<String, Vec<u8>>) -> Response {
        let mut entries = vec![
            format!(
                r#"{{"type":"directory","oid":"{}","size":0,"path":"docs"}}"#,
                HELLO.1
            ),
            format!(
                r#"{{"type":"file","oid":"{}","size":6,"path":"docs/hello.md"}}"#,
                HELLO.1
            ),
        ];
        entries.extend(large.iter().map(|(name, body)| {
            let (size, oid) = (body.len(), sha256(body));
            format!(
                r#"{{"type":"file","oid":"{}","size":130,"path":"{name}","lfs":{{"oid":"{oid}","size":{size},"pointerSize":130}}}}"#,
                HELLO.1
            )
        }));
        let page = request
            .target
            .split("cursor=")
            .nth(1)
            .and_then(|text| text.parse().ok());
        let page: usize = page.unwrap_or(0);
        let response = Response::status(200).body(format!("[{}]", entries[page]));
        match page + 1 < entries.len() {
            true => response.header(
                "Link",
                format!(
                    "</api/models/acme/tiny/tree/{COMMIT}?recursive=true&cursor={}>; rel=\"next\"",
                    page + 1
                ),
            ),
            false => response,
        }
    }

    fn fetched(&self) -> Vec<String> {
        let of = |server: &Server| -> Vec<String> {
            let lines = server.lines();
            lines.into_iter().filter(|line| !line.contains("/api/")).collect()
        };
        [of(&self.api), of(&self.cdn)].concat()
    }

    fn import(&self, folder: &Path) -> Command {
        let mut command = import(folder, "hf://acme/tiny", "model-pack");
        command.env("HF_ENDPOINT", format!("http://{}", self.api.host()));
        command
    }
}

/// To a layout in the folder.
fn import(folder: &Path, from: &str, format: &str) -> Command {
    let mut command = command();
    let target = format!("oci-layout:{}:latest", folder.join("out").display());
    command.args([
        "artifact", "-o", "json", "--from", from, "--format", format, "--to", &target,
    ]);
    command.arg("--workdir").arg(folder.join("work"));
    command
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The manifest at `latest`, by the layout's index.
fn manifest(folder: &Path) -> serde_json::Value {
    let read = |path: PathBuf| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let out = folder.join("out");
    let index = read(out.join("index.json"));
    let digest = index["manifests"][0]["digest"].as_str().unwrap().to_owned();
    read(out.join("blobs").join(digest.replace(':', "/")))
}

fn title(layer: &serde_json::Value) -> &str {
    layer["annotations"]["org.opencontainers.image.title"]
        .as_str()
        .unwrap()
}

/// Two files of weights, the second in a folder.
fn two() -> Vec<(&'static str, Vec<u8>)> {
    let header = br#"{"w":{"dtype":"F32","shape":[1000,2000],"data_offsets":[0,8]}}"#;
    let mut tensors = (header.len() as u64).to_le_bytes().to_vec();
    tensors.extend_from_slice(header);
    tensors.extend_from_slice(&[0; 8]);
    vec![
        ("model.safetensors", tensors),
        ("onnx/model.onnx", weights(300_000)),
    ]
}

#[test]
fn a_model_is_imported_verified_and_packed_and_a_second_run_fetches_nothing() {
    let hub = Hub::start(two());
    let folder = folder();
    let first = Run::of(&mut hub.import(folder.path()));
    assert_eq!(first.code, 0, "{}", first.stderr);
    let report = first.json();
    assert_eq!(report["outcome"], "created");
    assert_eq!(report["revision"], COMMIT);
    assert_eq!(report["content"]["files"], 3);
    let manifest = manifest(folder.path());
    assert_eq!(
        manifest["artifactType"],
        "application/vnd.cncf.model.manifest.v1+json"
    );
    let layers = manifest["layers"].as_array().unwrap();
    let titles: Vec<&str> = layers.iter().map(title).collect();
    assert_eq!(titles, ["docs/hello.md", "model.safetensors", "onnx/model.onnx"]);
    for layer in layers {
        assert_eq!(layer["annotations"]["org.cncf.model.filepath"], title(layer));
    }
    let config = manifest["config"]["digest"].as_str().unwrap().replace(':', "/");
    let config = std::fs::read_to_string(folder.path().join("out/blobs").join(config)).unwrap();
    assert!(
        config.contains(r#""config":{"format":"safetensors","paramSize":"2M"}"#),
        "{config}"
    );
    let fetched = hub.fetched();
    let second = Run::of(&mut hub.import(folder.path()));
    assert_eq!(second.json()["outcome"], "unchanged", "{}", second.stderr);
    assert_eq!(second.json()["digest"], report["digest"]);
    assert_eq!(hub.fetched(), fetched, "nothing was fetched again");
}

#[test]
fn the_token_goes_to_the_hub_and_to_no_server_that_it_redirects_to() {
    let hub = Hub::start(two());
    let folder = folder();
    let run = Run::of(hub.import(folder.path()).env("HF_TOKEN", TOKEN).arg("-v"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = format!("Bearer {TOKEN}");
    for request in hub.api.requests() {
        assert_eq!(
            request.header("authorization"),
            Some(expected.as_str()),
            "{}",
            request.target
        );
    }
    assert_eq!(hub.cdn.count("GET"), 2);
    for request in hub.cdn.requests() {
        assert_eq!(request.header("authorization"), None, "{}", request.target);
    }
    assert!(!format!("{}{}", run.stdout, run.stderr).contains(TOKEN));
}

#[test]
fn patterns_select_files_and_the_digest_is_that_of_the_files() {
    let hub = Hub::start(two());
    let folder = folder();
    let run = Run::of(hub.import(folder.path()).args([
        "--include",
        "*.onnx",
        "--include",
        "docs/",
        "--exclude",
        "docs/*",
    ]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let one = manifest(folder.path());
    let titles: Vec<&str> = one["layers"].as_array().unwrap().iter().map(title).collect();
    assert_eq!(titles, ["onnx/model.onnx"]);
    // Another server with this file alone.
    let other = Hub::start(two()[1..].to_vec());
    let elsewhere = tempfile::tempdir().unwrap();
    let again = Run::of(other.import(elsewhere.path()).args(["--include", "*.onnx"]));
    assert_eq!(again.json()["digest"], run.json()["digest"]);
    let none = Run::of(hub.import(folder.path()).args(["--include", "nothing"]));
    assert_eq!(none.code, 4, "{}", none.stderr);
    assert!(
        none.stderr.contains("has no files that are selected"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_body_that_is_cut_is_continued_where_it_ended() {
    const SIZE: usize = 12 << 20;
    const CUT: usize = (1 << 20) + 1;
    let files = vec![("model.gguf", weights(SIZE))];
    // Far more often than a request is retried.
    let hub = Hub::with(files, |request, body| {
        let from = range(request).unwrap_or(0);
        let to = (from + CUT).min(body.len());
        let (status, total) = (if from > 0 { 206 } else { 200 }, body.len());
        let mut bytes = format!(
            "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nContent-Range: bytes {from}-{}/{total}\r\n\r\n",
            total - from,
            total - 1
        )
        .into_bytes();
        bytes.extend_from_slice(&body[from..to]);
        Answer::bytes(bytes)
    });
    let folder = folder();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let requests = hub.cdn.requests();
    let begins: Vec<usize> = requests
        .iter()
        .map(|request| range(request).unwrap_or(0))
        .collect();
    assert!(begins.len() >= SIZE / CUT, "{begins:?}");
    assert!(begins.is_sorted() && begins[1] > 0, "{begins:?}");
}

#[test]
fn a_killed_import_is_continued() {
    const HALF: usize = 1 << 20;
    let body = weights(2 * HALF);
    let files = vec![("model.gguf", body.clone())];
    let hub = Hub::with(files, |request, body| match range(request) {
        None => {
            let head = format!("HTTP/1.1 200 x\r\nContent-Length: {}\r\n\r\n", body.len());
            let bytes = [head.as_bytes(), &body[..HALF]].concat();
            Answer::Raw(Box::new(move |stream| {
                use std::io::{Read as _, Write as _};
                let _ = stream.write_all(&bytes);
                // Until the other side is gone.
                let _ = stream.read(&mut [0]);
            }))
        }
        Some(_) => ranged(request, body).into(),
    });
    let folder = folder();
    let mut child = hub.import(folder.path()).spawn().unwrap();
    let part = folder
        .path()
        .join(format!("work/solar-render-import/sha256-{}.part", sha256(&body)));
    let size = || std::fs::metadata(&part).map_or(0, |data| data.len());
    while size() < HALF as u64 {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let last = hub.cdn.requests().pop().unwrap();
    assert_eq!(range(&last), Some(HALF));
    assert_eq!(
        hub.fetched()
            .iter()
            .filter(|line| line.ends_with("hello.md"))
            .count(),
        1
    );
}

#[test]
fn a_part_of_another_file_is_not_kept() {
    let body = weights(100_000);
    let hub = Hub::start(vec![("model.gguf", body.clone())]);
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let name = format!("sha256-{}", sha256(&body));
    for (kind, bytes) in [("part", vec![9; 5000]), ("part", vec![9; 200_000])] {
        std::fs::write(work.join(&name).with_extension(kind), bytes).unwrap();
        let run = Run::of(&mut hub.import(folder.path()));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(std::fs::read(work.join(&name)).unwrap(), body);
        std::fs::remove_file(work.join(&name)).unwrap();
    }
    // A complete file that was damaged since is fetched again; one of another import is removed.
    std::fs::write(work.join(&name), b"damaged").unwrap();
    std::fs::write(work.join(format!("sha256-{}", sha256(b"old"))), b"old").unwrap();
    assert_eq!(Run::of(&mut hub.import(folder.path())).code, 0);
    assert_eq!(std::fs::read(work.join(&name)).unwrap(), body);
    assert!(!work.join(format!("sha256-{}", sha256(b"old"))).exists());
}

#[test]
fn too_many_requests_are_retried_when_the_server_allows_it() {
    let asked = Mutex::new(0);
    let hub = Hub::with(vec![("model.gguf", weights(1000))], move |request, body| {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        match *asked {
            1 => Response::status(429).header("Retry-After", "1").into(),
            _ => ranged(request, body).into(),
        }
    });
    let folder = folder();
    let run = Run::of(hub.import(folder.path()).arg("-v"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("again in 1s"), "{}", run.stderr);
    assert_eq!(hub.cdn.count("GET"), 2);
}

#[test]
fn a_server_without_ranges_sends_the_file_again() {
    let hub = Hub::with(vec![("model.gguf", weights(5000))], |request, body| {
        match range(request) {
            None if request.header("x-never").is_none() => Response::status(200).body(body).into(),
            _ => Response::status(200).body(body).into(),
        }
    });
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let part = format!("sha256-{}.part", sha256(&weights(5000)));
    std::fs::write(work.join(part), &weights(5000)[..2000]).unwrap();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(range(&hub.cdn.requests()[0]), Some(2000));
}

/// Serves `tree` as the list of files, and `body` as each of them.
fn hostile(tree: &str, body: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Server {
    let tree = tree.to_owned();
    Server::start(move |request| {
        if request.path().contains("/revision/") {
            return Response::status(200)
                .body(format!(r#"{{"sha":"{COMMIT}"}}"#))
                .into();
        }
        if request.path().contains("/tree/") {
            return Response::status(200).body(tree.clone()).into();
        }
        body(request)
    })
}

/// An entry of four bytes whose SHA-256 is that of `good`.
fn entry(path: &str) -> String {
    let oid = sha256(b"good");
    format!(
        r#"[{{"type":"file","path":"{path}","oid":"{}","size":1,"lfs":{{"oid":"{oid}","size":4}}}}]"#,
        HELLO.1
    )
}

fn run_hostile(server: &Server, folder: &Path) -> Run {
    let mut command = import(folder, "hf://acme/tiny", "raw");
    command.args(["--retries", "1"]);
    command.env("HF_ENDPOINT", format!("http://{}", server.host()));
    Run::of(command.env("HF_TOKEN", TOKEN))
}

#[test]
fn names_that_leave_the_folder_are_refused_before_anything_is_fetched() {
    for path in [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../b",
        "a\\\\b",
        "a\\u0000b",
        "",
    ] {
        let server = hostile(&entry(path), |_| Response::status(200).body("good").into());
        let folder = folder();
        let run = run_hostile(&server, folder.path());
        assert_eq!(run.code, 4, "{path}: {}", run.stderr);
        assert_eq!(run.json()["error"]["class"], "protocol", "{path}");
        assert!(run.stderr.contains("is refused"), "{path}: {}", run.stderr);
        assert_eq!(server.requests().len(), 2, "{path}");
    }
}

#[test]
fn bodies_that_are_not_the_file_are_refused() {
    let endless = |head: &'static str| {
        Answer::Raw(Box::new(move |stream| {
            use std::io::Write as _;
            let _ = stream.write_all(head.as_bytes());
            while stream.write_all(&[b'x'; 4096]).is_ok() {}
        }))
    };
    type Case = (
        &'static str,
        Box<dyn Fn(&Request) -> Answer + Send + Sync>,
        i32,
        &'static str,
    );
    let cases: Vec<Case> = vec![
        (
            "other bytes",
            Box::new(|_| Response::status(200).body("evil").into()),
            3,
            "expected was sha256:",
        ),
        (
            "endless",
            Box::new(move |_| endless("HTTP/1.1 200 x\r\n\r\n")),
            4,
            "sends more than 4 bytes",
        ),
        (
            "a wrong length",
            Box::new(|_| Response::status(200).body("goodgood").into()),
            4,
            "the server reports 8",
        ),
        (
            "a short body",
            Box::new(|_| Answer::bytes("HTTP/1.1 200 x\r\n\r\nabc")),
            5,
            "sent 3 of 4 bytes",
        ),
        (
            "a page",
            Box::new(|_| Response::status(204).into()),
            4,
            "answered 204, expected 200",
        ),
        (
            "redirects for ever",
            Box::new(|request| {
                let next = format!("{}x", request.target);
                Response::status(302).header("Location", next).into()
            }),
            4,
            "more than 5 redirects",
        ),
        (
            "a file of the machine",
            Box::new(|_| {
                Response::status(302)
                    .header("Location", "file:///etc/passwd")
                    .into()
            }),
            4,
            "scheme \"file\"",
        ),
    ];
    for (name, body, code, text) in cases {
        let server = hostile(&entry("model.bin"), body);
        let folder = folder();
        let run = run_hostile(&server, folder.path());
        assert_eq!(run.code, code, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{name}: {}", run.stderr);
        assert!(!folder.path().join("out").exists(), "{name}: nothing was pushed");
    }
}

#[test]
fn lists_that_lead_elsewhere_or_never_end_are_refused() {
    let elsewhere = Server::start(|_| Response::status(200).body("[]").into());
    let other = format!("<http://{}/x>; rel=\"next\"", elsewhere.host());
    let same = format!("</api/models/acme/tiny/tree/{COMMIT}?recursive=true&expand=false>; rel=\"next\"");
    for (link, text) in [(other, "on another server"), (same, "the next page is this one")] {
        let server = Server::start(move |request| {
            let body = match request.path().contains("/revision/") {
                true => format!(r#"{{"sha":"{COMMIT}"}}"#),
                false => "[]".to_owned(),
            };
            Response::status(200)
                .header("Link", link.clone())
                .body(body)
                .into()
        });
        let folder = folder();
        let run = run_hostile(&server, folder.path());
        assert_eq!(run.code, 4, "{}", run.stderr);
        assert!(run.stderr.contains(text), "{}", run.stderr);
    }
    assert_eq!(elsewhere.requests().len(), 0);
    let turn = Mutex::new(0);
    let server = Server::start(move |request| {
        let mut turn = turn.lock().unwrap();
        *turn += 1;
        let body = match request.path().contains("/revision/") {
            true => format!(r#"{{"sha":"{COMMIT}"}}"#),
            false => "[]".to_owned(),
        };
        let link = format!("</api/models/acme/tiny/tree/x?cursor={turn}>; rel=\"next\"");
        let response = Response::status(200).body(body);
        match request.path().contains("/tree/") {
            true => response.header("Link", link).into(),
            false => response.into(),
        }
    });
    let run = run_hostile(&server, folder().path());
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.stderr.contains("more than 200 pages"), "{}", run.stderr);
}

#[test]
fn a_gated_or_missing_repository_says_what_to_do() {
    for (status, code, text) in [
        (401, 4, "accept its terms"),
        (403, 4, "accept its terms"),
        (404, 4, "check the repository's name"),
        (500, 5, "500"),
    ] {
        let server = Server::start(move |_| Response::status(status).body(format!("no {TOKEN}")).into());
        let run = run_hostile(&server, folder().path());
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(text), "{status}: {}", run.stderr);
        assert!(!format!("{}{}", run.stdout, run.stderr).contains(TOKEN));
    }
    let server = Server::start(|_| Response::status(401).into());
    let folder = folder();
    let mut command = import(folder.path(), "hf://acme/tiny", "raw");
    let run = Run::of(command.env("HF_ENDPOINT", format!("http://{}", server.host())));
    assert!(run.stderr.contains("set HF_TOKEN"), "{}", run.stderr);
}

/// A server with one file, the headers it got, and a server that it redirects to.
fn web(body: Vec<u8>) -> (Server, Server) {
    let storage = Server::start(move |request| ranged(request, &body).into());
    let host = storage.host();
    let web = Server::start(move |request| {
        let target = format!("http://{host}{}", request.target);
        Response::status(302).header("Location", target).into()
    });
    (web, storage)
}

#[test]
fn a_chart_from_a_web_server_has_the_digest_that_its_push_has() {
    let folder = folder();
    let made = Run::of(command().current_dir(&folder).args(["create", "shop"]));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let package = Run::of(command().current_dir(&folder).args(["package", "shop"]));
    assert_eq!(package.code, 0, "{}", package.stderr);
    let archive = folder.path().join("shop-0.1.0.tgz");
    let expected = Run::of(command().arg("digest").arg(&archive));
    let name = archive.file_name().unwrap().to_str().unwrap().to_owned();
    let bytes = std::fs::read(&archive).unwrap();
    let sum = sha256(&bytes);
    let (web, storage) = web(bytes);
    let headers = folder.path().join("headers");
    std::fs::create_dir(&headers).unwrap();
    std::fs::write(headers.join("X-Api-Key"), "s3cretHeader\n").unwrap();
    std::fs::create_dir(headers.join("..data")).unwrap();
    let mut command = command();
    command.args([
        "artifact", "-o", "json", "-v", "--format", "chart", "--sha256", &sum,
    ]);
    command
        .arg("--from")
        .arg(format!("http://{}/charts/{name}", web.host()));
    command
        .arg("--to")
        .arg(format!("oci-layout:{}", folder.path().join("out").display()));
    command.arg("--workdir").arg(folder.path().join("work"));
    let run = Run::of(command.arg("--from-headers").arg(&headers));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json()["digest"], expected.stdout.trim());
    let own = web.requests();
    assert_eq!(own[0].header("x-api-key"), Some("s3cretHeader"));
    assert_eq!(storage.requests()[0].header("x-api-key"), None);
    assert!(!run.stderr.contains("s3cretHeader"));
}

#[test]
fn a_file_from_a_web_server_must_be_the_right_one_and_not_too_large() {
    let (web, _storage) = web(b"content".to_vec());
    let from = format!("http://{}/a/notes.txt?x=1", web.host());
    let good = sha256(b"content");
    let wrong = sha256(b"other");
    let table: [(&[&str], i32, &str); 4] = [
        (&["--sha256", &good, "--max-size", "6"], 4, "the limit is 6"),
        (&["--sha256", &wrong], 3, "expected was sha256:"),
        (&[], 2, "requires --sha256"),
        (&["--sha256", &good, "--include", "*"], 2, "--include requires"),
    ];
    for (flags, code, text) in table {
        let folder = folder();
        let run = Run::of(import(folder.path(), &from, "raw").args(flags));
        assert_eq!(run.code, code, "{flags:?}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{flags:?}: {}", run.stderr);
    }
    let folder = folder();
    let run = Run::of(import(folder.path(), &from, "raw").args(["--sha256", &good]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(title(&manifest(folder.path())["layers"][0]), "notes.txt");
    // Another file at the same tag.
    let (web, _storage) = self::web(b"other".to_vec());
    let from = format!("http://{}/a/notes.txt", web.host());
    let conflict = Run::of(import(folder.path(), &from, "raw").args(["--sha256", &wrong]));
    assert_eq!(conflict.code, 3, "{}", conflict.stderr);
    assert_eq!(conflict.json()["existingDigest"], run.json()["digest"]);
    assert!(
        conflict.stderr.contains("this artifact is"),
        "{}",
        conflict.stderr
    );
    let replaced = ["--sha256", &wrong, "--if-exists", "replace"];
    let replaced = Run::of(import(folder.path(), &from, "raw").args(replaced));
    assert_eq!(replaced.json()["outcome"], "replaced", "{}", replaced.stderr);
}

#[test]
fn headers_of_the_transfer_and_too_many_are_refused() {
    let folder = folder();
    let headers = folder.path().join("headers");
    let good = sha256(b"content");
    let run = |name: &str, content: &str| {
        let _ = std::fs::create_dir(&headers);
        std::fs::write(headers.join(name), content).unwrap();
        let mut command = import(folder.path(), "http://127.0.0.1:1/a", "raw");
        let run = Run::of(
            command
                .args(["--sha256", &good, "--retries", "0"])
                .arg("--from-headers")
                .arg(&headers),
        );
        std::fs::remove_dir_all(&headers).unwrap();
        run
    };
    for (name, content) in [
        ("Host", "x"),
        ("range", "x"),
        ("a b", "x"),
        ("x", "a\nb"),
        ("x", &"a".repeat(8193)),
    ] {
        let run = run(name, content);
        assert_eq!(run.code, 1, "{name}: {}", run.stderr);
        assert!(!run.stderr.contains(&"a".repeat(100)));
    }
    std::fs::create_dir(&headers).unwrap();
    for number in 0..16 {
        std::fs::write(headers.join(format!("x-{number}")), "y").unwrap();
    }
    assert_eq!(run("x-17", "y").code, 1);
}

#[test]
fn an_artifact_of_a_layout_is_copied_as_it_is_and_must_be_of_its_format() {
    let hub = Hub::start(two());
    let folder = folder();
    let first = Run::of(&mut hub.import(folder.path()));
    let from = format!("oci-layout:{}:latest", folder.path().join("out").display());
    let elsewhere = tempfile::tempdir().unwrap();
    let copied = Run::of(&mut import(elsewhere.path(), &from, "model-pack"));
    assert_eq!(copied.code, 0, "{}", copied.stderr);
    assert_eq!(copied.json()["digest"], first.json()["digest"]);
    assert_eq!(copied.json()["content"], first.json()["content"]);
    let chart = Run::of(&mut import(elsewhere.path(), &from, "chart"));
    assert_eq!(chart.code, 1, "{}", chart.stderr);
    // A file is no model.
    let (web, _storage) = web(b"content".to_vec());
    let third = tempfile::tempdir().unwrap();
    let url = format!("http://{}/a", web.host());
    assert_eq!(
        Run::of(import(third.path(), &url, "raw").args(["--sha256", &sha256(b"content")])).code,
        0
    );
    let from = format!("oci-layout:{}:latest", third.path().join("out").display());
    let run = Run::of(&mut import(elsewhere.path(), &from, "model-pack"));
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr.contains("expected was \"application/vnd.cncf.model"),
        "{}",
        run.stderr
    );
}

#[test]
fn two_imports_in_one_folder_exclude_each_other() {
    let folder = folder();
    let work = folder.path().join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    let lock = std::fs::File::create(work.join("lock")).unwrap();
    lock.lock().unwrap();
    let hub = Hub::start(two());
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.stderr.contains("in use by another import"), "{}", run.stderr);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_real_registry_takes_it_and_crane_reads_it_byte_for_byte() {
    let hub = Hub::start(two());
    let folder = folder();
    let registry = Registry::start();
    let target = format!("oci://{}/models/tiny:v1", registry.host());
    let run = |from: &str, to: &str| {
        let mut command = command();
        command.args(["artifact", "-o", "json", "--format", "model-pack", "--plain-http"]);
        command
            .args(["--from", from, "--to", to])
            .arg("--workdir")
            .arg(folder.path());
        Run::of(command.env("HF_ENDPOINT", format!("http://{}", hub.api.host())))
    };
    let pushed = run("hf://acme/tiny", &target);
    assert_eq!(pushed.json()["outcome"], "created", "{}", pushed.stderr);
    assert_eq!(run("hf://acme/tiny", &target).json()["outcome"], "unchanged");
    let reference = format!("{}/models/tiny:v1", registry.host());
    let crane = |words: &[&str]| {
        let output = Command::new(Tool::Crane.path()).args(words).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    };
    let digest = crane(&["digest", "--insecure", &reference]);
    assert_eq!(String::from_utf8(digest).unwrap().trim(), pushed.json()["digest"]);
    for (_, body) in two() {
        let blob = format!("{}/models/tiny@sha256:{}", registry.host(), sha256(&body));
        assert_eq!(crane(&["blob", "--insecure", &blob]), body);
    }
    // Within the registry and out of it.
    let copied = run(&target, &format!("oci://{}/other/tiny", registry.host()));
    assert_eq!(
        copied.json()["digest"],
        pushed.json()["digest"],
        "{}",
        copied.stderr
    );
    assert!(
        copied.json()["reference"]
            .as_str()
            .unwrap()
            .ends_with("/other/tiny:latest")
    );
    let out = format!("oci-layout:{}:v1", folder.path().join("out").display());
    assert_eq!(run(&target, &out).json()["digest"], pushed.json()["digest"]);
}
