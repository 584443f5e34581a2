//! `pull` from registries that send wrong content, close connections or redirect: refused with the reason, and no files
//! are left.

use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::Digest as _;
use testbed::{Answer, Request, Response, Server};

use crate::pull::pull;
use crate::{Run, command, tree};

/// An archive by hand.
fn archive_of(entries: &[(&str, tar::EntryType, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (path, kind, content) in entries {
        let mut header = tar::Header::new_ustar();
        // The library refuses to write such paths itself.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        let data = if kind.is_file() { content.as_bytes() } else { b"" };
        header.set_size(data.len() as u64);
        if !kind.is_file() {
            header.set_link_name(content).unwrap();
        }
        header.set_cksum();
        archive.append(&header, data).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    let hash = sha2::Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

const CONFIG: &str = r#"{"name":"demo","version":"1.0.0","apiVersion":"v2"}"#;

/// What a registry has: path of the request to bytes.
fn content(config: &str, layer: &[u8]) -> (Vec<u8>, Vec<(String, Vec<u8>)>) {
    let describe = |kind: &str, bytes: &[u8]| serde_json::json!({"mediaType": kind, "digest": sha256(bytes), "size": bytes.len()});
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "config": describe("application/vnd.cncf.helm.config.v1+json", config.as_bytes()),
        "layers": [describe("application/vnd.cncf.helm.chart.content.v1.tar+gzip", layer)],
    });
    let blobs = vec![
        (sha256(config.as_bytes()), config.into()),
        (sha256(layer), layer.to_vec()),
    ];
    (manifest.to_string().into_bytes(), blobs)
}

/// A registry with one chart; `lie` may answer instead; its second argument says whether the layer is requested.
fn serve(
    config: &str,
    layer: &[u8],
    lie: impl Fn(&Request, bool) -> Option<Answer> + Send + Sync + 'static,
) -> Server {
    let (manifest, blobs) = content(config, layer);
    let layer = sha256(layer);
    Server::start(move |request| {
        if let Some(answer) = lie(request, request.path().ends_with(&layer)) {
            return answer;
        }
        if request.path().contains("/manifests/") {
            return Response::status(200).body(manifest.clone()).into();
        }
        let found = blobs
            .iter()
            .find(|(digest, _)| request.path().ends_with(digest.as_str()));
        found
            .map_or(Response::status(404), |(_, bytes)| {
                Response::status(200).body(bytes.clone())
            })
            .into()
    })
}

fn good() -> Vec<u8> {
    let file = tar::EntryType::Regular;
    archive_of(&[(
        "demo/Chart.yaml",
        file,
        "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
    )])
}

/// Answers instead of the registry; the second argument says whether the layer is requested.
type Lie = Box<dyn Fn(&Request, bool) -> Option<Answer> + Send + Sync>;
/// A wrong answer, then the expected exit code, class and part of the message.
type Case = (Lie, i32, &'static str, &'static str);

fn lies_about_the_layer() -> Vec<Case> {
    let on_layer = |answer: fn(Vec<u8>) -> Answer| -> Lie {
        let bytes = good();
        Box::new(move |_, layer| layer.then(|| answer(bytes.clone())))
    };
    vec![
        (
            on_layer(|mut bytes| {
                bytes[20] ^= 1;
                Response::status(200).body(bytes).into()
            }),
            4,
            "protocol",
            "other bytes",
        ),
        (
            on_layer(|bytes| Response::status(200).body(&bytes[1..]).into()),
            4,
            "protocol",
            "bytes, the blob has",
        ),
        (
            on_layer(|bytes| Response::status(200).body([&bytes[..], b"x"].concat()).into()),
            4,
            "protocol",
            "bytes, the blob has",
        ),
        (
            on_layer(|_| {
                Answer::Raw(Box::new(|stream| {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                    while stream.write_all(b"4\r\nabcd\r\n").is_ok() {}
                }))
            }),
            4,
            "protocol",
            "sends more than",
        ),
        (
            on_layer(|bytes| {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
                Answer::bytes([head.as_bytes(), &bytes[..9]].concat())
            }),
            5,
            "network",
            "GET",
        ),
        (on_layer(|_| Response::status(404).into()), 4, "refused", "404"),
        (
            on_layer(|_| Response::status(302).header("Location", "ftp://x/y").into()),
            4,
            "protocol",
            "ftp",
        ),
    ]
}

fn lies_about_the_manifest() -> Vec<Case> {
    let on_manifest = |answer: fn() -> Answer| -> Lie {
        Box::new(move |request, _| request.path().contains("/manifests/").then(answer))
    };
    vec![
        (
            on_manifest(|| Response::status(200).body("{}").into()),
            1,
            "chart",
            "is not a chart",
        ),
        (
            on_manifest(|| Response::status(200).body("<html>").into()),
            1,
            "chart",
            "is not a chart",
        ),
        (
            on_manifest(|| {
                Response::status(200)
                    .body(r#"{"schemaVersion":2,"manifests":[]}"#)
                    .into()
            }),
            1,
            "chart",
            "an index",
        ),
        (
            on_manifest(|| {
                Response::status(200)
                    .header("Docker-Content-Digest", sha256(b"x"))
                    .body("{}")
                    .into()
            }),
            4,
            "protocol",
            "calls it",
        ),
        (
            on_manifest(|| Response::status(200).body(vec![b' '; 5 << 20]).into()),
            4,
            "protocol",
            "longer than",
        ),
        (on_manifest(|| Response::status(404).into()), 4, "refused", "404"),
        (
            on_manifest(|| Response::status(200).body(content("{}", b"x").0).into()),
            4,
            "refused",
            "404",
        ),
    ]
}

#[test]
fn tampered_answers_are_refused_with_the_reason_and_no_files_are_left() {
    let good = good();
    let size = good.len();
    let table = lies_about_the_layer()
        .into_iter()
        .chain(lies_about_the_manifest());
    for (number, (lie, code, class, words)) in table.enumerate() {
        let server = serve(CONFIG, &good, lie);
        let folder = tempfile::tempdir().unwrap();
        let reference = format!("oci://{}/demo:1.0.0", server.host());
        for rest in [vec![], vec!["--untar"]] {
            let run = pull(
                &reference,
                folder.path(),
                &[rest.as_slice(), &["-o", "json"]].concat(),
            );
            assert_eq!(
                (run.code, &run.json()["error"]["class"]),
                (code, &class.into()),
                "{number} of {size} bytes: {}",
                run.stderr
            );
            assert!(run.stderr.contains(words), "{number}: {}", run.stderr);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{number}");
        }
    }
}

#[test]
fn a_manifest_of_another_digest_than_the_expected_one_is_refused() {
    let server = serve(CONFIG, &good(), |_, _| None);
    let other = format!("oci://{}/demo@{}", server.host(), sha256(b"x"));
    let run = pull(&other, Path::new("/nonexistent"), &[]);
    assert!(
        run.code == 4 && run.stderr.contains("sent the manifest"),
        "{}",
        run.stderr
    );
    let tag = format!("oci://{}/demo:1.0.0", server.host());
    let run = pull(
        &tag,
        Path::new("/nonexistent"),
        &["--expect-digest", &sha256(b"x"), "-o", "json"],
    );
    assert_eq!((run.code, &run.json()["error"]["class"]), (3, &"digest".into()));
}

#[test]
fn names_and_archives_that_would_leave_the_folder_are_refused_and_nothing_is_left() {
    let (file, link) = (tar::EntryType::Regular, tar::EntryType::Symlink);
    let chart = (
        "demo/Chart.yaml",
        file,
        "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
    );
    let other = (
        "demo/Chart.yaml",
        file,
        "apiVersion: v2\nname: other\nversion: 1.0.0\n",
    );
    let table: Vec<(&str, Vec<_>, &str)> = vec![
        (
            CONFIG,
            vec![chart, ("demo/../../x", file, "x")],
            "leaves the chart",
        ),
        (CONFIG, vec![chart, ("/etc/x", file, "x")], "is absolute"),
        (CONFIG, vec![chart, ("demo/l", link, "/etc")], "is a link"),
        (
            CONFIG,
            vec![chart, ("demo/l", tar::EntryType::Link, "demo/Chart.yaml")],
            "is a link",
        ),
        (
            CONFIG,
            vec![chart, ("demo/a", file, "1"), ("demo/a", file, "2")],
            "twice",
        ),
        (
            CONFIG,
            vec![chart, ("demo/Chart.yaml/x", file, "1")],
            "is below a file",
        ),
        (CONFIG, vec![("demo/values.yaml", file, "a: 1")], "no Chart.yaml"),
        (CONFIG, vec![other], "its archive other"),
        (
            r#"{"name":"../demo","version":"1.0.0"}"#,
            vec![chart],
            "make no file name",
        ),
        (
            r#"{"name":"demo","version":"1/0"}"#,
            vec![chart],
            "make no file name",
        ),
        (r#"{"name":".","version":"1"}"#, vec![chart], "make no file name"),
        ("[]", vec![chart], "not a chart's"),
    ];
    for (config, entries, words) in table {
        let server = serve(config, &archive_of(&entries), |_, _| None);
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("into");
        let run = pull(
            &format!("oci://{}/demo:1.0.0", server.host()),
            &into,
            &["--untar"],
        );
        assert!(run.code == 1, "{words}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
        assert!(
            !into.exists() || std::fs::read_dir(&into).unwrap().count() == 0,
            "{words}"
        );
        assert_eq!(tree(folder.path()).len(), 0, "{words}");
    }
}

#[test]
fn a_blob_elsewhere_is_fetched_without_our_authorization_and_a_cut_one_again() {
    let good = good();
    let (elsewhere, tries) = (good.clone(), AtomicUsize::new(0));
    let store = Server::start(move |_| {
        if tries.fetch_add(1, Ordering::SeqCst) == 0 {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", elsewhere.len());
            return Answer::bytes([head.as_bytes(), &elsewhere[..9]].concat());
        }
        Response::status(200).body(elsewhere.clone()).into()
    });
    let location = format!("http://{}/bucket?signature=secret", store.host());
    let server = serve(CONFIG, &good, move |request, layer| {
        if request.header("authorization").is_none() {
            return Some(
                Response::status(401)
                    .header("WWW-Authenticate", "Basic realm=\"x\"")
                    .into(),
            );
        }
        layer.then(|| Response::status(307).header("Location", location.clone()).into())
    });
    let folder = tempfile::tempdir().unwrap();
    let mut pull = command();
    pull.args([
        "pull",
        &format!("oci://{}/demo:1.0.0", server.host()),
        "--plain-http",
        "-v",
    ]);
    pull.args([
        "--username",
        "me",
        "--password",
        "hunter2",
        "--retries",
        "2",
        "-d",
    ]);
    let run = Run::of(pull.arg(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(std::fs::read(folder.path().join("demo-1.0.0.tgz")).unwrap(), good);
    assert_eq!(store.requests().len(), 2);
    assert!(
        store
            .requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
    assert!(
        !run.stderr.contains("signature=secret") && !run.stderr.contains("hunter2"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_can_not_be_meant_is_said_before_any_network() {
    for (words, hint) in [
        (
            vec!["pull", "oci://127.0.0.1:1/demo", "--version", "^one"],
            "neither a version nor a range",
        ),
        (
            vec!["pull", "oci://127.0.0.1:1/demo:1.0.0", "--version", "1.0.1"],
            "--version says",
        ),
        (
            vec!["pull", "demo"],
            "does not name a chart in a registry or repository",
        ),
        (
            vec!["pull", "oci://127.0.0.1:1/demo@sha256:00"],
            "is not a digest",
        ),
        (
            vec!["pull", "oci://127.0.0.1:1/demo", "--verify"],
            "--keyring FILE",
        ),
    ] {
        let run = Run::of(command().args(&words).args(["-o", "json"]));
        assert_eq!(
            (run.code, &run.json()["error"]["class"]),
            (2, &"usage".into()),
            "{words:?}"
        );
        assert!(run.stderr.contains(hint), "{words:?}: {}", run.stderr);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let server = serve(CONFIG, &good(), |_, _| None);
    let run = pull(
        &format!("oci://{}/demo:1.0.0", server.host()),
        &folder.path().join("file"),
        &["-o", "json"],
    );
    assert_eq!((run.code, &run.json()["error"]["class"]), (5, &"io".into()));
}

#[test]
fn a_pull_that_is_terminated_leaves_nothing() {
    let good = good();
    let (sender, receiver) = std::sync::mpsc::channel();
    let server = serve(CONFIG, &good.clone(), move |_, layer| {
        let (sender, half) = (sender.clone(), good[..9].to_vec());
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", good.len());
        layer.then(|| {
            Answer::Raw(Box::new(move |stream| {
                let _ = stream.write_all(&[head.as_bytes(), &half].concat());
                let _ = sender.send(());
                // Until the other side is gone.
                let _ = std::io::copy(stream, &mut std::io::sink());
            }))
        })
    });
    for rest in [vec![], vec!["--untar"]] {
        let folder = tempfile::tempdir().unwrap();
        let mut pull = command();
        pull.args([
            "pull",
            &format!("oci://{}/demo:1.0.0", server.host()),
            "--plain-http",
            "-o",
            "json",
            "-d",
        ]);
        pull.arg(folder.path()).args(&rest);
        let child = pull
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        receiver.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        let mut kill = std::process::Command::new("kill");
        assert!(
            kill.args(["-TERM", &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(
            (run.code, &run.json()["error"]["class"]),
            (143, &"cancelled".into()),
            "{}",
            run.stderr
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{rest:?}");
    }
}
