//! The limits of a rendering hold wherever templates run.

use std::fs;
use std::process::Command;

use crate::{Run, binary, command};

fn chart(template: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("app/templates")).unwrap();
    let text = "apiVersion: v2\nname: app\nversion: 1.0.0\n";
    fs::write(folder.path().join("app/Chart.yaml"), text).unwrap();
    fs::write(folder.path().join("app/templates/x.yaml"), template).unwrap();
    folder
}

const LARGE: &str = r#"{{ $x := repeat 3000000 "a" }}{{ len $x }}"#;

#[test]
fn images_and_names_from_templates_are_held_to_the_limits_that_are_given() {
    let (large, plain) = (chart(&format!("a: {LARGE}\n")), chart("a: 1\n"));
    let name = format!("--name-template={LARGE}");
    for (folder, words) in [
        (&large, vec!["template", "app"]),
        (&large, vec!["images", "app"]),
        (&plain, vec!["template", &name, "app"]),
        (&plain, vec!["images", &name, "app"]),
    ] {
        let limited = |limit: &str| {
            let mut command = command();
            command.current_dir(folder.path()).args(&words);
            Run::of(command.arg(format!("--max-memory={limit}")))
        };
        let run = limited("1MiB");
        assert_eq!(run.code, 1, "{words:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("bytes of memory"),
            "{words:?}: {}",
            run.stderr
        );
        assert_eq!(limited("64MiB").code, 0, "{words:?}");
    }
}

/// It once collected the characters, 24 bytes each, before it counted them.
#[test]
fn a_text_that_is_split_into_too_many_pieces_takes_no_memory_for_them() {
    let folder = chart("{{ $x := repeat 60000000 \"a\" }}{{ splitList \"\" $x }}\n");
    let script = "ulimit -v 1300000; exec \"$0\" template app";
    let mut limited = Command::new("sh");
    limited.env_clear().current_dir(folder.path());
    let run = Run::of(limited.arg("-c").arg(script).arg(binary()));
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("more than 1000000 items"), "{}", run.stderr);
}
