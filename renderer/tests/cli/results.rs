//! Results, exit codes, and what is on which stream.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use crate::{Run, command, testdata, tree};

#[test]
fn the_digest_is_the_same_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let config = testdata().join("release.yaml");
    let digest = Run::of(command().arg("digest").arg(&config)).stdout;
    assert!(
        digest.starts_with("sha256:") && digest.len() == 72,
        "the digest alone: {digest:?}"
    );
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    let pushed = Run::of(command().arg(&config).args(["-o", "json", "--url", &layout])).json();
    assert_eq!(pushed["digest"], digest.trim());
    assert_eq!(pushed["outcome"], "created");
    assert_eq!(pushed["schema"], 1);
    let archive = format!("file:{}", folder.path().join("files").display());
    Run::of(command().arg(&config).args(["--url", &archive]));
    let archive = folder.path().join("files/shop-frontend-1.4.2.tgz");
    assert_eq!(Run::of(command().arg("digest").arg(archive)).stdout, digest);
    let kept = folder.path().join("kept");
    let run = Run::of(
        command()
            .arg(&config)
            .arg("--skip-push")
            .arg("--output-dir")
            .arg(&kept),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(Run::of(command().arg("digest").arg(&kept)).stdout, digest);
    assert_eq!(
        run.stdout.lines().last().unwrap(),
        format!("Digest: {}", digest.trim())
    );
}

#[test]
fn a_config_comes_from_standard_input_as_well() {
    let config = std::fs::File::open(testdata().join("release.yaml")).unwrap();
    let run = Run::of(command().args(["digest", "-"]).stdin(Stdio::from(config)));
    assert_eq!(
        run.stdout,
        Run::of(command().arg("digest").arg(testdata().join("release.yaml"))).stdout
    );
}

#[test]
fn a_second_push_is_unchanged_and_another_content_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(testdata().join("release.yaml")).unwrap();
    let config = folder.path().join("config.yaml");
    let layout = format!("oci-layout:{}", folder.path().join("layout").display());
    let push = |text: &str, rest: &[&str]| {
        std::fs::write(&config, text).unwrap();
        Run::of(
            command()
                .arg(&config)
                .args(["-o", "json", "--url", &layout])
                .args(rest),
        )
    };
    let first = push(&text, &[]).json();
    assert_eq!(push(&text, &[]).json()["outcome"], "unchanged");
    let before = tree(folder.path());
    let other = text.replace("replicas: 3", "replicas: 4");
    let conflict = push(&other, &[]);
    assert_eq!(
        (conflict.code, &conflict.json()["error"]["class"]),
        (3, &"conflict".into()),
        "{}",
        conflict.stderr
    );
    assert_eq!(conflict.json()["existingDigest"], first["digest"]);
    assert_ne!(conflict.json()["digest"], first["digest"]);
    let mut after = tree(folder.path());
    after.insert(config.clone(), before[&config].clone());
    assert_eq!(before, after, "nothing moved");
    let skipped = push(&other, &["--if-exists", "skip"]).json();
    assert_eq!(
        (&skipped["outcome"], &skipped["existingDigest"]),
        (&"skipped".into(), &first["digest"])
    );
    let expected = push(
        &other,
        &[
            "--expect-digest",
            first["digest"].as_str().unwrap(),
            "--if-exists",
            "replace",
        ],
    );
    assert_eq!(
        (expected.code, &expected.json()["error"]["class"]),
        (3, &"digest".into())
    );
    let replaced = push(&other, &["--if-exists", "replace"]).json();
    assert_eq!(
        (&replaced["outcome"], &replaced["existingDigest"]),
        (&"replaced".into(), &first["digest"])
    );
}

#[test]
fn a_folder_of_archives_reports_the_digest_that_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(testdata().join("release.yaml")).unwrap();
    let config = folder.path().join("config.yaml");
    let target = format!("file:{}", folder.path().join("out").display());
    let push = |text: &str, rest: &[&str]| {
        std::fs::write(&config, text).unwrap();
        Run::of(
            command()
                .arg(&config)
                .args(["-o", "json", "--url", &target])
                .args(rest),
        )
        .json()
    };
    let first = push(&text, &[])["digest"].clone();
    assert!(push(&text, &[])["existingDigest"].is_null(), "unchanged");
    let other = text.replace("replicas: 3", "replicas: 4");
    for policy in ["fail", "skip", "replace"] {
        assert_eq!(
            push(&other, &["--if-exists", policy])["existingDigest"],
            first,
            "{policy}"
        );
    }
}

#[test]
fn errors_are_results_too() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result.json");
    for (words, code, class) in [
        (vec!["no-such-file.yaml"], 1, "config"),
        (vec!["package", "no-such-folder"], 1, "chart"),
        (vec!["--no-such-flag"], 2, "usage"),
        (vec!["push"], 2, "usage"),
        (vec!["digest", "x", "--expect-digest", "sha256:12"], 2, "usage"),
    ] {
        let run = Run::of(
            command()
                .current_dir(folder.path())
                .args(&words)
                .args(["-o", "json"]),
        );
        assert_eq!(run.code, code, "{words:?} {}", run.stderr);
        assert_eq!(run.json()["error"]["class"], class, "{words:?}");
        assert_eq!(run.json()["error"]["transient"], false);
        assert!(!run.stderr.is_empty());
        let text = Run::of(command().current_dir(folder.path()).args(&words));
        assert_eq!((text.code, text.stdout.as_str()), (code, ""), "{words:?}");
    }
    let run = Run::of(
        command()
            .arg("no-such-file.yaml")
            .arg("--result-file")
            .arg(&result)
            .args(["-o", "json"]),
    );
    assert_eq!(std::fs::read_to_string(&result).unwrap(), run.stdout);
}

#[test]
fn an_unwritable_folder_is_an_io_error_and_leaves_nothing() {
    // The superuser can write anywhere but where nothing can be created.
    let run =
        Run::of(
            command()
                .arg(testdata().join("release.yaml"))
                .args(["-o", "json", "--url", "file:/proc/x"]),
        );
    assert_eq!(run.code, 5, "{}", run.stderr);
    let error = &run.json()["error"];
    assert_eq!(
        (&error["class"], &error["transient"]),
        (&"io".into(), &true.into())
    );
}

#[test]
fn a_full_standard_output_is_an_io_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    for words in [&["digest"][..], &["-o", "json", "digest"]] {
        let config = testdata().join("release.yaml");
        let run = Run::of(
            command()
                .args(words)
                .arg(config)
                .stdout(full.try_clone().unwrap()),
        );
        assert_eq!(run.code, 5, "{}", run.stderr);
        assert!(run.stderr.contains("standard output"), "{}", run.stderr);
    }
}

#[test]
fn a_result_file_is_written_into_when_it_is_no_regular_file() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    std::fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let run = |path: &std::path::Path| {
        let run = Run::of(
            command()
                .arg("digest")
                .arg(testdata().join("release.yaml"))
                .arg("--result-file")
                .arg(path),
        );
        (run.code, run.stderr)
    };
    assert_eq!(run(&link), (0, String::new()));
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .starts_with("{\"schema\":1")
    );
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(run(std::path::Path::new("/dev/null")), (0, String::new()));
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    assert_eq!(run(&folder.path().join("no/such/folder")).0, 5);
    // The line was wrong, and that is a result too.
    let usage = folder.path().join("usage.json");
    let wrong = Run::of(command().args(["digest", "--result-file"]).arg(&usage));
    assert_eq!(wrong.code, 2);
    assert!(std::fs::read_to_string(usage).unwrap().contains("\"usage\""));
}

#[test]
fn a_slip_in_a_commands_name_is_explained() {
    for (words, said) in [
        (&["rendr", "x"][..], "did you mean `render`?"),
        (&["pakage", "x"], "did you mean `package`?"),
        (&["zzzzzz"], "--help lists the commands"),
    ] {
        let run = Run::of(command().args(words));
        assert!(
            run.code == 2 && run.stderr.contains(said),
            "{words:?}: {}",
            run.stderr
        );
    }
    let joined = Run::of(
        command()
            .args(["-qo", "json", "digest"])
            .arg(testdata().join("release.yaml")),
    );
    assert_eq!(joined.json()["outcome"], "rendered", "{}", joined.stderr);
}

#[test]
fn a_password_in_a_target_is_not_shown() {
    let run = Run::of(command().arg(testdata().join("release.yaml")).args([
        "-o",
        "json",
        "--url",
        "oci://u:hunter2@h/a",
    ]));
    assert_eq!(run.code, 2);
    assert!(
        !run.stderr.contains("hunter2") && !run.stdout.contains("hunter2"),
        "{}{}",
        run.stdout,
        run.stderr
    );
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let mut child = command()
        .args(["completion", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn several_packages_give_one_document() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        let text = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
        std::fs::write(folder.path().join(name).join("Chart.yaml"), text).unwrap();
    }
    let run = Run::of(
        command()
            .current_dir(folder.path())
            .args(["package", "a", "nothing", "b", "-o", "json"]),
    );
    assert_eq!(run.code, 1, "the one that failed");
    let results = run.json()["results"].as_array().unwrap().clone();
    let outcomes: Vec<_> = results.iter().map(|one| one["outcome"].as_str()).collect();
    assert_eq!(outcomes, [Some("created"), None, Some("created")]);
    assert_eq!(results[1]["error"]["class"], "chart");
}

#[test]
fn an_archive_has_the_umasks_mode() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(
        folder.path().join("a/Chart.yaml"),
        "apiVersion: v2\nname: a\nversion: 1.0.0\n",
    )
    .unwrap();
    let script = format!("umask 027; exec {} package a", crate::binary().display());
    let run = Run::of(
        std::process::Command::new("sh")
            .arg("-c")
            .arg(script)
            .current_dir(folder.path()),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mode = std::fs::metadata(folder.path().join("a-1.0.0.tgz"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn help_version_completions_and_man_pages_come_from_the_definitions() {
    let help = Run::of(command().arg("--help"));
    assert_eq!(help.code, 0);
    for word in [
        "render",
        "package",
        "digest",
        "push",
        "publish",
        "pull",
        "copy",
        "tags",
        "login",
        "logout",
        "completion",
        "man",
        "Exit codes",
    ] {
        assert!(help.stdout.contains(word), "{word}");
    }
    let version = Run::of(command().arg("--version")).stdout;
    assert!(
        version.starts_with(concat!("solar-render ", env!("CARGO_PKG_VERSION"), " (commit ")),
        "{version}"
    );
    let details = Run::of(command().arg("version")).stdout;
    let lines: Vec<_> = details.lines().collect();
    assert_eq!(lines[0], version.trim_end());
    assert!(
        lines[1].starts_with("Build: debug, ") || lines[1].starts_with("Build: release, "),
        "{details}"
    );
    assert!(lines[1].contains(std::env::consts::ARCH), "{details}");
    // The operator's build in the same workspace adds one.
    let features = lines[2].replace("schema, ", "");
    assert_eq!(
        features,
        "Features: cli, crypto, oci, pipeline, render, signing-keys"
    );
    let json = Run::of(command().args(["version", "-o", "json"])).json();
    assert_eq!(format!("Build: {}", json["build"].as_str().unwrap()), lines[1]);
    let listed = json["features"].as_array().unwrap().iter();
    let listed: Vec<_> = listed.map(|name| name.as_str().unwrap()).collect();
    assert_eq!(format!("Features: {}", listed.join(", ")), lines[2]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Run::of(command().args(["completion", shell]));
        assert!(script.code == 0 && script.stdout.contains("if-exists"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let run = Run::of(command().arg("man").arg(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let pages = tree(folder.path());
    let page = &pages[&folder.path().join("solar-render-push.1")];
    let page = String::from_utf8_lossy(page);
    assert!(
        page.contains("[\\-\\-expect\\-digest DIGEST]") && page.contains("DIR|TGZ TARGET"),
        "{page}"
    );
}

#[test]
fn color_is_drawn_when_asked_for_and_never_into_a_file() {
    let colored = |args: &[&str]| {
        Run::of(command().arg("nothing.yaml").args(args))
            .stderr
            .contains('\u{1b}')
    };
    assert!(colored(&["--color", "always"]));
    assert!(!colored(&["--color", "never"]));
    assert!(!colored(&[]), "standard error is no terminal here");
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_to_do_is_in_the_json_too() {
    let registry = testbed::Registry::start();
    let reference = format!("oci://{}/a/b:1.0.0", registry.host());
    let run = Run::of(command().args(["pull", &reference, "-o", "json"]));
    let json = run.json();
    let hints = json["error"]["hints"].as_array().unwrap();
    assert!(
        hints
            .iter()
            .any(|hint| hint.as_str().unwrap().contains("--plain-http")),
        "{json}"
    );
}

/// It was found out only after the push.
#[test]
fn a_result_file_that_can_not_be_written_stops_before_anything_is_sent() {
    let server = testbed::Server::start(|_| testbed::Response::status(404).into());
    let folder = tempfile::tempdir().unwrap();
    let mut push = command();
    push.arg(testdata().join("release.yaml"));
    push.args([
        "--url",
        &format!("oci://{}/charts", server.host()),
        "--plain-http",
        "-o",
        "json",
    ]);
    let run = Run::of(
        push.arg("--result-file")
            .arg(folder.path().join("no/such/folder")),
    );
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_eq!(run.json()["error"]["class"], "io");
    assert_eq!(
        run.stderr.matches("can't write the result to").count(),
        1,
        "{}",
        run.stderr
    );
    assert_eq!(server.requests().len(), 0);
}
