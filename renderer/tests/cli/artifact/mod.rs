//! `artifact`: from servers that stand for Hugging Face, chart repositories and registries.

mod copies;
mod hostile;
mod hub;
mod resume;
mod web;
mod workdir;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use sha2::Digest as _;
use testbed::{Answer, Request, Response, Server};

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
        let tree = format!("/api/models/acme/tiny/tree/{COMMIT}");
        if request.path() == tree {
            return Self::tree(request, large);
        }
        if request.path() == format!("{tree}/docs") {
            return Response::status(200).body(format!("[{}]", Self::hello()));
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

    fn hello() -> String {
        format!(
            r#"{{"type":"file","oid":"{}","size":6,"path":"docs/hello.md"}}"#,
            HELLO.1
        )
    }

    /// One entry a page.
    fn tree(request: &Request, large: &BTreeMap<String, Vec<u8>>) -> Response {
        let mut entries = vec![
            format!(
                r#"{{"type":"directory","oid":"{}","size":0,"path":"docs"}}"#,
                HELLO.1
            ),
            Self::hello(),
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
