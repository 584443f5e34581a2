//! `artifact`: the working folder.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Hub, folder, sha256, two, weights};
use crate::Run;

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

/// The folder in the working folder, as an earlier import left it.
fn left_over(folder: &Path) -> PathBuf {
    let work = folder.join("work/solar-render-import");
    std::fs::create_dir_all(&work).unwrap();
    work
}

#[test]
fn no_link_in_the_working_folder_is_followed() {
    let body = weights(5000);
    let hub = Hub::start(vec![("model.gguf", body.clone())]);
    let name = format!("sha256-{}", sha256(&body));
    type Link = fn(&Path, &Path) -> std::io::Result<()>;
    let hard: Link = |from, to| std::fs::hard_link(from, to);
    let soft: Link = |from, to| std::os::unix::fs::symlink(from, to);
    for (kind, link) in [("hard", hard), ("symbolic", soft)] {
        let folder = folder();
        let work = left_over(folder.path());
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        link(&victim, &work.join(format!("{name}.part"))).unwrap();
        let run = Run::of(&mut hub.import(folder.path()));
        assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious", "{kind}");
        assert_eq!(std::fs::read(work.join(&name)).unwrap(), body, "{kind}");
    }
    // A lock that points elsewhere, and a complete file: it is verified, but could be another one when it is pushed.
    let folder = folder();
    let work = left_over(folder.path());
    let elsewhere = folder.path().join("elsewhere");
    soft(&elsewhere, &work.join("lock")).unwrap();
    let other = folder.path().join("other");
    std::fs::write(&other, &body).unwrap();
    soft(&other, &work.join(&name)).unwrap();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!elsewhere.exists(), "the lock was not made there");
    assert!(std::fs::symlink_metadata(work.join(&name)).unwrap().is_file());
    assert_eq!(std::fs::read(&other).unwrap(), body);
}

#[test]
fn the_folder_is_private_and_no_link() {
    let hub = Hub::start(two());
    let folder = folder();
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let made = std::fs::metadata(left_over(folder.path())).unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
    let second = super::folder();
    let elsewhere = second.path().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::create_dir(second.path().join("work")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, second.path().join("work/solar-render-import")).unwrap();
    let run = Run::of(&mut hub.import(second.path()));
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("is not a folder"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_folder_with_the_name_of_a_file_is_removed() {
    let body = weights(5000);
    let hub = Hub::start(vec![("model.gguf", body.clone())]);
    let folder = folder();
    let work = left_over(folder.path());
    let ours = work.join(format!("sha256-{}", sha256(&body)));
    let theirs = work.join(format!("sha256-{}.part", sha256(b"old")));
    for path in [&ours, &ours.with_extension("part"), &theirs] {
        std::fs::create_dir(path).unwrap();
        std::fs::write(path.join("file"), "x").unwrap();
    }
    let run = Run::of(&mut hub.import(folder.path()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(std::fs::read(&ours).unwrap(), body);
    assert!(!theirs.exists());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_file_that_does_not_fit_is_named_by_its_path_on_the_disk() {
    let hub = Hub::start(vec![("model.gguf", weights(2 << 20))]);
    let folder = folder();
    let import = hub.import(folder.path());
    // At most 1 MiB a file; the signal for it would end the program.
    let script = "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("bash");
    command.env_clear().args(["-c", script]).arg(import.get_program());
    command.args(import.get_args());
    for (name, value) in import.get_envs() {
        command.env(name, value.unwrap());
    }
    let run = Run::of(&mut command);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let part = format!("sha256-{}.part", sha256(&weights(2 << 20)));
    assert!(run.stderr.contains(&part), "{}", run.stderr);
    assert!(run.stderr.contains("can't be written"), "{}", run.stderr);
}
