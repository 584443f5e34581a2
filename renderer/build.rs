//! Puts the commit the binary is built from into `SOLAR_COMMIT` for `--version`, and how it is built into `SOLAR_BUILD`.
//!
//! A build without git (a source archive) or with `SOLAR_COMMIT` set beforehand (a container build) still works: the
//! variable wins, else "unknown". Only a release build follows the commits: in a debug build the name may be that of an
//! earlier one, or each commit would compile everything anew.
use std::path::Path;
use std::process::Command;

#[allow(clippy::disallowed_methods, reason = "a build script has no World")]
fn main() {
    println!("cargo::rerun-if-env-changed=SOLAR_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").as_deref() == Ok("release") {
        // Cargo runs the script again and again for the sake of a file that doesn't exist; in a worktree they are elsewhere.
        let files = ["HEAD", "logs/HEAD"].map(|file| git(&["rev-parse", "--git-path", file]));
        for file in files
            .into_iter()
            .flatten()
            .filter(|file| Path::new(file).exists())
        {
            println!("cargo::rerun-if-changed={file}");
        }
    }
    let given = std::env::var("SOLAR_COMMIT")
        .ok()
        .filter(|value| !value.is_empty());
    let commit = given.or_else(|| git(&["rev-parse", "--short=12", "HEAD"]));
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SOLAR_COMMIT={commit}");
    let [profile, target] = ["PROFILE", "TARGET"].map(|name| std::env::var(name).unwrap_or_default());
    println!("cargo::rustc-env=SOLAR_BUILD={profile}, {target}");
}

/// What git prints, if anything.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
