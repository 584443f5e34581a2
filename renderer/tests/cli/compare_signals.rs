//! `compare` where it is interrupted, and where Helm hangs.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::compare::{script_at, shop};
use crate::{Run, binary};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_version_that_hangs_is_said_and_can_be_interrupted() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let helm = folder.path().join("helm");
    script_at(&helm, "#!/bin/sh\ntrap '' TERM INT\nsleep 600");
    let mut command = crate::command();
    command
        .args(["compare", shop.to_str().unwrap(), "--helm"])
        .arg(&helm);
    command.env("PATH", "/usr/bin:/bin");
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status();
    assert!(killed.unwrap().success());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(
        line.contains("waiting: ") && line.contains("60 s at most"),
        "{line}"
    );
    assert!(rest.contains("interrupted by a signal"), "{rest}");
}

/// All that was compared until then was once lost.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn what_was_compared_before_a_signal_is_printed() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let started = folder.path().join("started");
    // When the last case begins, some before it have ended, however many run at a time.
    let fast = std::thread::available_parallelism().unwrap().get() + 1;
    fs::create_dir_all(shop.join("ci")).unwrap();
    for number in 0..fast {
        fs::write(shop.join(format!("ci/a{number:03}-values.yaml")), "").unwrap();
    }
    fs::write(shop.join("ci/slow-values.yaml"), "").unwrap();
    let helm = folder.path().join("helm");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = version ]; then echo v4.3.1; exit; fi\n\
         case \"$*\" in *slow*) : > {}; exec sleep 600;; esac\nexec {} \"$@\"\n",
        started.display(),
        binary().display()
    );
    script_at(&helm, &script);
    let mut command = crate::command();
    command.args([
        "compare",
        shop.to_str().unwrap(),
        "--helm",
        helm.to_str().unwrap(),
    ]);
    let child = command
        .args(["-o", "json"])
        .env("PATH", "/usr/bin:/bin")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let limit = std::time::Duration::from_secs(60);
    testbed::eventually("Helm runs", limit, || started.exists().then_some(()));
    let kill = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 143, "{}", run.stderr);
    assert!(run.stderr.contains("the result is incomplete"), "{}", run.stderr);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let cases = json["cases"].as_array().unwrap();
    assert!(!cases.is_empty(), "{json}");
    assert!(cases.iter().all(|case| case["verdict"] == "same"), "{json}");
    assert_eq!(json["incomplete"], true);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn when_interrupted_it_ends_what_it_started_and_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    let shop = shop(folder.path());
    let (temporary, started) = (folder.path().join("tmp"), folder.path().join("started"));
    fs::create_dir(&temporary).unwrap();
    let helm = folder.path().join("helm");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = version ]; then echo v4.3.1; exit; fi\necho $$ > {0}.new; mv {0}.new {0}; sleep 600",
        started.display()
    );
    script_at(&helm, &script);
    let mut command = crate::command();
    command.args([
        "compare",
        shop.to_str().unwrap(),
        "--helm",
        helm.to_str().unwrap(),
    ]);
    let child = command
        .env("TMPDIR", &temporary)
        .env("PATH", "/usr/bin:/bin")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let limit = std::time::Duration::from_secs(60);
    let helms = testbed::eventually("Helm runs", limit, || fs::read_to_string(&started).ok());
    let kill = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, 143, "{}", run.stderr);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    let gone = Path::new("/proc").join(helms.trim());
    testbed::eventually("Helm has ended", limit, || (!gone.exists()).then_some(()));
}
