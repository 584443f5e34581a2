//! `artifact`: files of web servers, and the headers for them.

use testbed::{Response, Server};

use super::{folder, import, manifest, sha256, title, web};
use crate::{Run, command};

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
    let (web, _storage) = super::web(b"other".to_vec());
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
        (".dockerconfigjson", "x"),
        (".x", "x"),
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
fn the_secret_of_a_registry_is_no_folder_of_headers() {
    use std::os::unix::ffi::OsStrExt as _;
    let server = Server::start(|_| Response::status(200).body("content").into());
    let from = format!("http://{}/a", server.host());
    let folder = folder();
    let headers = folder.path().join("headers");
    for name in [".dockerconfigjson".as_bytes(), b"\xff"] {
        std::fs::create_dir(&headers).unwrap();
        std::fs::write(headers.join(std::ffi::OsStr::from_bytes(name)), "s3cret").unwrap();
        std::fs::write(headers.join("password"), "s3cret").unwrap();
        let mut command = import(folder.path(), &from, "raw");
        command.args(["--sha256", &sha256(b"content"), "--from-headers"]);
        let run = Run::of(command.arg(&headers));
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("is not a header's name"), "{}", run.stderr);
        assert!(!run.stderr.contains("s3cret"));
        std::fs::remove_dir_all(&headers).unwrap();
    }
    assert_eq!(server.lines(), Vec::<String>::new(), "nothing was sent");
}

/// All but `.dockerconfigjson` once were sent to the server, as headers.
#[test]
fn the_keys_of_other_secrets_are_no_headers() {
    let server = Server::start(|_| Response::status(200).body("content").into());
    let from = format!("http://{}/a", server.host());
    let folder = folder();
    let headers = folder.path().join("headers");
    for name in [
        "username",
        "password",
        "Password",
        "token",
        "token-secret",
        "ssh-privatekey",
        "identity",
        "tls.key",
        "tls.crt",
        "ca.crt",
        "config.json",
    ] {
        std::fs::create_dir(&headers).unwrap();
        std::fs::write(headers.join("Authorization"), "good").unwrap();
        std::fs::write(headers.join(name), "s3cret").unwrap();
        let mut command = import(folder.path(), &from, "raw");
        command.args(["--sha256", &sha256(b"content"), "--from-headers"]);
        let run = Run::of(command.arg(&headers));
        assert_eq!(run.code, 1, "{name}: {}", run.stderr);
        assert!(run.stderr.contains("is not a header's name"), "{}", run.stderr);
        assert!(!run.stderr.contains("s3cret"));
        std::fs::remove_dir_all(&headers).unwrap();
    }
    assert_eq!(server.lines(), Vec::<String>::new(), "nothing was sent");
}

#[test]
fn a_refusal_is_that_of_a_web_server() {
    for (status, text) in [
        (401, "`--from-headers`"),
        (403, "`--from-headers`"),
        (404, "`--from-headers`"),
    ] {
        let server = Server::start(move |_| Response::status(status).into());
        let folder = folder();
        let mut command = import(folder.path(), &format!("http://{}/a", server.host()), "raw");
        let run = Run::of(command.args(["--sha256", &sha256(b"content")]));
        assert_eq!(run.code, 4, "{}", run.stderr);
        let answered = format!("the server answered {status}");
        assert!(run.stderr.contains(&answered), "{}", run.stderr);
        assert!(run.stderr.contains(text), "{}", run.stderr);
        for word in ["registry", "login"] {
            assert!(!run.stderr.contains(word), "{status}: {}", run.stderr);
        }
    }
}
