//! `pull`: from real registries and layouts, and from registries that lie.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::Digest as _;
use testbed::{Answer, Auth, Authority, Registry, Request, Response, Server, Setup, TokenServer, Tool, run};

use crate::{Run, command, tree};

const ARCHIVE: &str = "demo-1.2.3+b.4.tgz";

/// A chart folder, `demo`, packaged by Helm with a provenance file that nobody checks here.
fn package(folder: &Path) -> PathBuf {
    let chart = folder.join("demo");
    for (path, text) in [
        ("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.2.3+b.4\n"),
        ("values.yaml", "a: 1\n"),
        (
            "templates/a.yaml",
            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n",
        ),
        ("files/deep/er/x", "x\n"),
    ] {
        let path = chart.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    run(Tool::Helm.command(folder).args(["package", "demo"]));
    let archive = folder.join(ARCHIVE);
    let prov = format!("{}.prov", archive.display());
    std::fs::write(prov, "-----BEGIN PGP SIGNED MESSAGE-----\n").unwrap();
    archive
}

fn pull(reference: &str, into: &Path, rest: &[&str]) -> Run {
    let mut pull = command();
    pull.args(["pull", reference, "--retries", "0", "-d"])
        .arg(into)
        .args(rest);
    if !rest.contains(&"--ca-file") {
        pull.arg("--plain-http");
    }
    Run::of(&mut pull)
}

#[test]
fn what_helm_pushed_is_pulled_by_tag_version_digest_or_as_the_newest() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let archive = package(folder.path());
    let target = format!("oci://{}/charts", registry.host());
    let mut helm = Tool::Helm.command(folder.path());
    run(helm.arg("push").arg(&archive).args([&target, "--plain-http"]));
    let reference = format!("{target}/demo");
    let digest = registry.crane_digest("charts/demo:1.2.3_b.4");
    for (index, (name, rest)) in [
        (format!("{reference}:1.2.3_b.4"), vec![]),
        (reference.clone(), vec!["--version", "1.2.3+b.4"]),
        (format!("{reference}@{digest}"), vec![]),
        (
            format!("{reference}:other@{digest}"),
            vec!["--verify-digest", &digest],
        ),
        (reference.clone(), vec!["--prov", "--expect-digest", &digest]),
    ]
    .into_iter()
    .enumerate()
    {
        let into = folder.path().join(format!("out/{index}"));
        let run = pull(&name, &into, &[rest.as_slice(), &["-o", "json"]].concat());
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let (report, path) = (run.json(), into.join(ARCHIVE));
        assert_eq!(
            (&report["outcome"], &report["digest"]),
            (&"pulled".into(), &digest.as_str().into())
        );
        assert_eq!(report["file"], path.display().to_string());
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&archive).unwrap());
        assert_eq!(tree(&into).len(), if rest.contains(&"--prov") { 2 } else { 1 });
    }
    let run = pull(&reference, &folder.path().join("text"), &[]);
    let shown = format!("{}:1.2.3_b.4", reference.trim_start_matches("oci://"));
    assert!(
        run.stdout
            .starts_with(&format!("Pulled: {shown}\nDigest: {digest}\n")),
        "{}",
        run.stdout
    );
}

#[test]
fn untar_gives_the_folder_that_helm_gives() {
    let (registry, folder) = (Registry::start(), tempfile::tempdir().unwrap());
    let archive = package(folder.path());
    let target = format!("oci://{}/charts", registry.host());
    let mut helm = Tool::Helm.command(folder.path());
    run(helm.arg("push").arg(&archive).args([&target, "--plain-http"]));
    let (reference, theirs) = (format!("{target}/demo"), folder.path().join("theirs"));
    let mut helm = Tool::Helm.command(folder.path());
    helm.args([
        "pull",
        &reference,
        "--version",
        "1.2.3+b.4",
        "--plain-http",
        "--untar",
        "--untardir",
    ]);
    run(helm.arg(&theirs));
    let into = folder.path().join("ours");
    let first = pull(&reference, &into, &["--untar", "--untardir", "sub"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let files = |folder: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        let below = |path: &PathBuf| path.strip_prefix(folder).unwrap().to_owned();
        tree(folder)
            .iter()
            .map(|(path, bytes)| (below(path), bytes.clone()))
            .collect()
    };
    assert_eq!(files(&into.join("sub")), files(&theirs));
    assert_eq!(
        std::fs::read_dir(into.join("sub")).unwrap().count(),
        1,
        "nothing else is left"
    );
    let again = pull(&reference, &into, &["--untar", "--untardir", "sub", "-o", "json"]);
    assert_eq!(
        (again.code, &again.json()["error"]["class"]),
        (2, &"usage".into())
    );
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    assert_eq!(files(&into.join("sub")), files(&theirs));
}

#[test]
fn every_kind_of_registry_and_a_layout_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let archive = package(folder.path());
    let tokens = TokenServer::start("me", "hunter2", "refresh", 300);
    let authority = Authority::new();
    let basic = || Auth::Basic {
        username: "me",
        password: "hunter2",
    };
    let setups = [
        Setup {
            auth: basic(),
            ..Setup::default()
        },
        Setup {
            auth: Auth::Token(&tokens),
            ..Setup::default()
        },
        Setup {
            auth: basic(),
            tls: Some(&authority),
            ..Setup::default()
        },
        Setup {
            version_2: true,
            ..Setup::default()
        },
    ];
    let ca = authority.ca.display().to_string();
    for (index, setup) in setups.iter().enumerate() {
        let registry = Registry::with(setup);
        let target = format!("oci://{}/charts", registry.host());
        let transport = if setup.tls.is_some() {
            vec!["--ca-file", &ca]
        } else {
            vec!["--plain-http"]
        };
        let user = ["--username", "me", "--password", "hunter2"];
        let mut push = command();
        push.arg("push")
            .arg(&archive)
            .arg(&target)
            .args(user)
            .args(&transport);
        let pushed = Run::of(&mut push);
        assert_eq!(pushed.code, 0, "{}", pushed.stderr);
        let into = folder.path().join(index.to_string());
        let words = [&user, transport.as_slice()].concat();
        let words: Vec<&str> = words.into_iter().filter(|word| *word != "--plain-http").collect();
        let run = pull(&format!("{target}/demo"), &into, &words);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(
            std::fs::read(into.join(ARCHIVE)).unwrap(),
            std::fs::read(&archive).unwrap()
        );
        // The token server lets anyone read.
        if matches!(setup.auth, Auth::Basic { .. }) {
            let rest = if setup.tls.is_some() {
                vec!["--ca-file", &ca]
            } else {
                vec![]
            };
            assert_eq!(
                pull(&format!("{target}/demo"), &into, &rest).code,
                4,
                "without a user"
            );
        }
    }
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    assert_eq!(Run::of(command().arg("push").arg(&archive).arg(&layout)).code, 0);
    let (into, from) = (folder.path().join("from-layout"), format!("{layout}/demo"));
    let run = pull(&from, &into, &["--prov"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        std::fs::read(into.join(ARCHIVE)).unwrap(),
        std::fs::read(&archive).unwrap()
    );
    for (name, code, words) in [
        (format!("{from}:9.9.9"), 4, "the tag 9.9.9"),
        (
            format!("{from}@sha256:{}", "0".repeat(64)),
            4,
            "the manifest sha256:000",
        ),
        (format!("{layout}/nothing"), 4, "index.json"),
    ] {
        let run = pull(&name, &into, &[]);
        assert_eq!(run.code, code, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    let blobs = folder.path().join("layout/demo/blobs/sha256");
    for (path, bytes) in tree(&blobs)
        .into_iter()
        .filter(|(_, bytes)| bytes.starts_with(&[0x1f, 0x8b]))
    {
        std::fs::write(&path, [&bytes[..], b"x"].concat()).unwrap();
    }
    let run = pull(&from, &folder.path().join("torn"), &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(tree(&folder.path().join("torn")).is_empty());
}

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

/// A registry with one chart; `lie` may answer instead, and is told whether it is the layer.
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

#[test]
fn a_registry_that_lies_is_refused_with_its_lie_and_nothing_is_left() {
    type Lie = Box<dyn Fn(&Request, bool) -> Option<Answer> + Send + Sync>;
    let good = good();
    let size = good.len();
    let on_layer = |answer: fn(Vec<u8>) -> Answer| -> Lie {
        let bytes = self::good();
        Box::new(move |_, layer| layer.then(|| answer(bytes.clone())))
    };
    let on_manifest = |answer: fn() -> Answer| -> Lie {
        Box::new(move |request, _| request.path().contains("/manifests/").then(answer))
    };
    let table: Vec<(Lie, i32, &str, &str)> = vec![
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
    ];
    for (number, (lie, code, class, words)) in table.into_iter().enumerate() {
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
    // By digest the manifest itself is held to it.
    let server = serve(CONFIG, &good, |_, _| None);
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
            "can't write",
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
        assert!([1, 5].contains(&run.code), "{words}: {}", run.stderr);
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
            vec!["pull", "oci://127.0.0.1:1/demo", "--version", "^1.0"],
            "ranges",
        ),
        (
            vec!["pull", "oci://127.0.0.1:1/demo:1.0.0", "--version", "1.0.1"],
            "--version says",
        ),
        (vec!["pull", "repo/demo"], "names no chart"),
        (
            vec!["pull", "oci://127.0.0.1:1/demo@sha256:00"],
            "is not a digest",
        ),
        (vec!["pull", "oci://127.0.0.1:1/demo", "--verify"], "--prov"),
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
