//! Puts the commit the binary is built from into `SOLAR_COMMIT` for `--version`.
//!
//! A build without git (a source archive) or with `SOLAR_COMMIT` set beforehand
//! (a container build) still works: the variable wins, else "unknown".
use std::process::Command;

#[allow(clippy::disallowed_methods, reason = "a build script has no World")]
fn main() {
    println!("cargo::rerun-if-env-changed=SOLAR_COMMIT");
    println!("cargo::rerun-if-changed=../.git/HEAD");
    println!("cargo::rerun-if-changed=../.git/logs/HEAD");
    let given = std::env::var("SOLAR_COMMIT")
        .ok()
        .filter(|value| !value.is_empty());
    let commit = given.or_else(head).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=SOLAR_COMMIT={commit}");
}

fn head() -> Option<String> {
    let output = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let commit = text.trim();
    (output.status.success() && !commit.is_empty()).then(|| commit.to_owned())
}
