//! What others may read of a process that holds secrets.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::{Run, binary};

/// Root reads everything.
const NOBODY: u32 = 65_534;

/// The pipe is the shell's, and so the user's who may open it.
fn template(folder: &Path, file: &str) -> Run {
    let line = format!("echo from standard input | ./solar-render template chart --set-file text={file}");
    let mut command = Command::new("sh");
    command.current_dir(folder).args(["-c", &line]);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY);
    }
    Run::of(&mut command)
}

/// The files of `/proc` that show memory belong to root then, so the process itself can't open them by name.
#[test]
fn the_memory_of_a_command_is_closed_to_its_user_and_its_own_files_are_open() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(binary(), folder.path().join("solar-render")).unwrap();
    let chart = folder.path().join("chart");
    fs::create_dir_all(chart.join("templates")).unwrap();
    fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: a\nversion: 1.0.0\n",
    )
    .unwrap();
    fs::write(
        chart.join("templates/a.yaml"),
        "text: {{ .Values.text | quote }}\n",
    )
    .unwrap();
    let closed = template(folder.path(), "/proc/self/environ");
    assert_ne!(closed.code, 0, "{}", closed.stdout);
    assert!(closed.stderr.contains("denied"), "{}", closed.stderr);
    for file in ["/dev/stdin", "/proc/self/fd/0"] {
        let open = template(folder.path(), file);
        assert!(open.stdout.contains("from standard input"), "{}", open.stderr);
    }
}
