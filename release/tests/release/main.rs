//! A release as `release/pack` makes it, and each way of installing it.
//!
//! The programs are those of SOLAR_RENDER_IMAGE and SOLAR_OPERATOR_IMAGE, which CI sets to what the images are made of;
//! without them, debug builds. All else is the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    clippy::disallowed_methods,
    reason = "a test that can't go on should stop and reads best as one story; where the programs are is in the environment"
)]

mod install;
mod install_hostile;
mod pack;
mod registry;
mod shell_image;
mod workflows;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use testbed::{Answer, Response, Server};

/// The version in Cargo.toml.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A URL that nothing is behind.
pub(crate) const HOME: &str = "https://example.com/solar";
/// The target of the programs that run here.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A folder that lasts as long as the tests.
fn kept() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Where both programs are, below a folder named as their target.
pub(crate) fn binaries() -> &'static Path {
    static BINARIES: OnceLock<PathBuf> = OnceLock::new();
    BINARIES.get_or_init(|| {
        let folder = kept().join("binaries");
        fs::create_dir_all(folder.join(TARGET)).unwrap();
        for (program, variable) in [
            ("solar-render", "SOLAR_RENDER_IMAGE"),
            ("solar-operator", "SOLAR_OPERATOR_IMAGE"),
        ] {
            let to = folder.join(TARGET).join(program);
            match std::env::var_os(variable) {
                Some(image) => drop(fs::copy(Path::new(&image).join(program), &to).unwrap()),
                // Without debug information, which compressing would take minutes for.
                None => drop(testbed::run(
                    Command::new("strip")
                        .arg("-o")
                        .arg(&to)
                        .arg(testbed::workspace_program(program, program)),
                )),
            }
        }
        // Debian's, which .ci/test installs.
        let busybox = folder.parent().unwrap().join("busybox/amd64");
        fs::create_dir_all(&busybox).unwrap();
        fs::copy("/bin/busybox", busybox.join("busybox"))
            .expect("busybox is needed: apt-get install busybox-static");
        fs::copy(
            "/usr/share/doc/busybox-static/copyright",
            busybox.join("copyright"),
        )
        .expect("the static busybox is needed: apt-get install busybox-static");
        folder
    })
}

/// `release/pack` into a folder.
pub(crate) fn pack(dist: &Path) -> Command {
    let mut pack = Command::new(root().join("release/pack"));
    pack.env("RELEASE_HOME", HOME)
        .env("RELEASE_BINARIES", binaries())
        .env("RELEASE_BUSYBOX", binaries().parent().unwrap().join("busybox"))
        .env("RELEASE_DIST", dist)
        .env("RELEASE_SBOM", "none")
        .env("RELEASE_KEY", root().join("testdata/signing/cosign.key"))
        .env("COSIGN_PASSWORD", "pw");
    pack
}

/// A packed release.
pub(crate) fn dist() -> &'static Path {
    static DIST: OnceLock<PathBuf> = OnceLock::new();
    DIST.get_or_init(|| {
        let dist = binaries().parent().unwrap().join("dist");
        testbed::run(&mut pack(&dist));
        dist
    })
}

/// Serves the release's files, changed by a function.
pub(crate) fn serve(
    change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> (Server, String) {
    let folder = dist().to_owned();
    let server = Server::start(move |request| {
        let name = request.path().trim_start_matches('/').to_owned();
        let found = fs::read(folder.join(&name)).ok();
        let response = found
            .and_then(|bytes| change(&name, bytes))
            .map_or(Response::status(404), |bytes| Response::status(200).body(bytes));
        Answer::from(response)
    });
    let url = format!("http://{}", server.host());
    (server, url)
}

/// What a run said, on both streams, and its exit code.
pub(crate) fn said(output: &Output) -> (Option<i32>, String) {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}
