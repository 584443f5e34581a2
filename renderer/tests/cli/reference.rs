//! The generated page of the command line.

use crate::{Run, command, testdata};

#[test]
fn the_reference_of_the_command_line_is_the_definitions() {
    let page = testdata().join("../docs/reference/cli.md");
    let run = Run::of(command().arg("reference"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let is_same = std::fs::read_to_string(page).is_ok_and(|page| page == run.stdout);
    assert!(is_same, "stale: solar-render reference > docs/reference/cli.md");
    for flag in [
        "## solar-render push\n",
        "`--if-exists <WHAT>`: ",
        "## solar-render dependency build\n",
    ] {
        assert!(run.stdout.contains(flag), "{flag}");
    }
}
