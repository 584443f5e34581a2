//! `file:DIR`.

use solar_render::diag::Class;
use solar_render::oci::IfExists;
use solar_render::report::Outcome;
use testbed::{Tool, run};

use crate::support::*;

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_archive_is_created_unchanged_in_conflict_replaced_and_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/out");
    let target = format!("file:{}", out.display());
    let (first, second) = (chart("app", "1.0.0+b", "one"), chart("app", "1.0.0+b", "two"));
    let path = out.join("app-1.0.0+b.tgz");
    let there = || sha256(&std::fs::read(&path).unwrap());
    let digest =
        |artifact: &solar_render::package::artifact::Artifact| artifact.layer().unwrap().digest.clone();

    let created = send(&first, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(created.outcome, Outcome::Created);
    assert_eq!(created.reference, format!("file:{}", path.display()));
    assert_eq!(there(), digest(&first));
    let again = send(&first, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(again.outcome, Outcome::Unchanged);
    let conflict = send(&second, &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(
        (conflict.class(), conflict.existing_digest()),
        (Class::Conflict, None)
    );
    let skipped = send(&second, &target, IfExists::Skip, &plain()).unwrap();
    assert_eq!(skipped.outcome, Outcome::Skipped);
    assert_eq!(there(), digest(&first));
    let replaced = send(&second, &target, IfExists::Replace, &plain()).unwrap();
    assert_eq!(replaced.outcome, Outcome::Replaced);
    assert_eq!(there(), digest(&second));

    let names: Vec<_> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["app-1.0.0+b.tgz"], "nothing else is left behind");
    run(Tool::Helm
        .command(dir.path())
        .args(["show", "chart", path.to_str().unwrap()]));
}

#[test]
fn a_provenance_file_is_written_beside_the_archive() {
    let dir = tempfile::tempdir().unwrap();
    let target = format!("file:{}", dir.path().display());
    let artifact = with_layer("app", "1.0.0", "x", b"", Some("signed"));
    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    let text = std::fs::read_to_string(dir.path().join("app-1.0.0.tgz.prov")).unwrap();
    assert_eq!(text, "signed");
}

#[test]
fn a_folder_that_cannot_be_made_is_the_disks_fault() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("file"), "x");
    let target = format!("file:{}/file/below", dir.path().display());
    let failure = send(&chart("app", "1.0.0", "x"), &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(failure.class(), Class::Io, "{}", words(&failure));
}
