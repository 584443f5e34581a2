//! `artifact`: models of Hugging Face.

use std::sync::Mutex;

use testbed::{Response, Server};

use super::{COMMIT, Hub, TOKEN, folder, import, manifest, run_hostile, title, two};
use crate::Run;

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

#[test]
fn a_gated_file_says_what_to_do() {
    for (token, status, texts) in [
        (None, 401, ["set HF_TOKEN", "model.gguf of hf://acme/tiny"]),
        (
            Some(TOKEN),
            403,
            ["accept its terms", "model.gguf of hf://acme/tiny"],
        ),
        (
            Some(TOKEN),
            404,
            ["check the repository's name", "model.gguf of hf://acme/tiny"],
        ),
    ] {
        let server = super::hostile(&super::entry("model.gguf"), move |_| {
            Response::status(status).into()
        });
        let folder = folder();
        let mut command = import(folder.path(), "hf://acme/tiny", "raw");
        command.env("HF_ENDPOINT", format!("http://{}", server.host()));
        if let Some(token) = token {
            command.env("HF_TOKEN", token);
        }
        let run = Run::of(&mut command);
        assert_eq!(run.code, 4, "{}", run.stderr);
        for text in texts {
            assert!(run.stderr.contains(text), "{status}: {}", run.stderr);
        }
        for word in ["registry", "login", TOKEN] {
            assert!(!run.stderr.contains(word), "{status}: {}", run.stderr);
        }
    }
}

#[test]
fn a_refusal_of_the_storage_is_not_blamed_on_the_token() {
    let hub = Hub::with(two(), |_, _| Response::status(403).into());
    let folder = folder();
    let run = Run::of(hub.import(folder.path()).env("HF_TOKEN", TOKEN));
    // It once lasted: an import in a cluster was not tried again.
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_eq!(run.json()["error"]["class"], "registry");
    assert_eq!(hub.cdn.count("GET"), 3, "each with a fresh link");
    assert!(run.stderr.contains("the server answered 403"), "{}", run.stderr);
    assert!(run.stderr.contains("redirects to this server"), "{}", run.stderr);
    assert!(!run.stderr.contains("registry"), "{}", run.stderr);
}

#[test]
fn a_link_that_has_expired_is_asked_for_again() {
    let asked = Mutex::new(0);
    let hub = Hub::with(
        vec![("model.gguf", super::weights(1000))],
        move |request, body| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            match *asked {
                1 => Response::status(403).body("Request has expired").into(),
                _ => super::ranged(request, body).into(),
            }
        },
    );
    let folder = folder();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let links = hub.fetched();
    let links = links.iter().filter(|line| line.ends_with("model.gguf"));
    assert_eq!(links.count(), 2, "the hub made a fresh one");
}

#[test]
fn a_files_folder_alone_is_listed_when_patterns_name_it() {
    let hub = Hub::start(two());
    for (include, path, recursive) in [
        (&["docs/hello.md"][..], "/docs", false),
        (&["docs/"], "/docs", true),
        (&["model.safetensors"], "", false),
        (&["*.md"], "", true),
        (&["docs/deep/*.md", "docs/deep/x/?"], "/docs%2Fdeep", true),
    ] {
        let before = hub.api.requests().len();
        let folder = folder();
        let flags = include.iter().flat_map(|pattern| ["--include", pattern]);
        let run = Run::of(hub.import(folder.path()).args(flags));
        let requests = hub.api.requests().split_off(before);
        let mut targets = requests.iter().map(|request| &request.target);
        let list = targets.find(|target| target.contains("/tree/")).unwrap();
        let expected = format!("/tree/{COMMIT}{path}?recursive={recursive}&");
        assert!(list.contains(&expected), "{include:?}: {list}");
        match include[0].contains("deep") {
            // The folder doesn't exist.
            true => {
                assert_eq!(run.code, 4, "{}", run.stderr);
                assert!(
                    run.stderr.contains("no files that are selected"),
                    "{}",
                    run.stderr
                );
            }
            false => assert_eq!(run.code, 0, "{include:?}: {}", run.stderr),
        }
    }
}

#[test]
fn an_empty_token_is_none() {
    let hub = Hub::start(two());
    let folder = folder();
    let run = Run::of(hub.import(folder.path()).env("HF_TOKEN", " "));
    assert_eq!(run.code, 0, "{}", run.stderr);
    for request in hub.api.requests() {
        assert_eq!(request.header("authorization"), None, "{}", request.target);
    }
}
