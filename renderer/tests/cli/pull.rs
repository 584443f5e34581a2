//! `pull`: from real registries and layouts; tampered answers are tested in `pull_tampered`.

use std::path::{Path, PathBuf};

use testbed::{Auth, Authority, Registry, Setup, TokenServer, Tool, run};

use crate::{Run, command, tree};

const ARCHIVE: &str = "demo-1.2.3+b.4.tgz";

/// A chart folder, `demo`, packaged by Helm with a provenance file that isn't verified here.
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

pub(crate) fn pull(reference: &str, into: &Path, rest: &[&str]) -> Run {
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
#[ignore = "needs servers or peers: .ci/test runs it"]
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
#[ignore = "needs servers or peers: .ci/test runs it"]
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
#[ignore = "needs servers or peers: .ci/test runs it"]
fn every_kind_of_registry_gives_the_same_bytes() {
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
}

#[test]
fn a_layout_gives_the_same_bytes_and_says_what_it_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let archive = package(folder.path());
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
        (format!("{from}:9.9.9"), 4, "demo has no 9.9.9; there are "),
        (format!("{from}:9.9.9"), 4, "`solar-render tags oci-layout:"),
        (
            format!("{from}@sha256:{}", "0".repeat(64)),
            4,
            "the manifest sha256:000",
        ),
        (format!("{layout}/nothing"), 2, "does not exist"),
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
