//! The command line through its binary.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "a test that can't go on should stop, and reads best as one story"
)]

mod apply;
mod archives;
mod artifact;
mod as_helm;
mod bad_input;
mod cache;
mod certificates;
mod chart_error_locations;
mod chart_folders;
mod chart_repositories;
mod ci_formats;
mod ci_output;
mod compare;
mod compare_safety;
mod compare_signals;
mod copy;
mod copy_referrers;
mod credential_helpers;
mod delete;
mod dependency;
mod dependency_list;
mod dependency_tampered;
mod dependency_update_flag;
mod diff;
mod diff_peers;
mod duplicate_and_unread_values;
mod flags;
mod frozen;
mod helm_callers;
mod helm_charts;
mod helm_flags;
mod helm_registry;
mod kubernetes_job;
mod limits;
mod lint;
mod login;
mod lookup_files;
mod lookup_peer;
mod named_pipes;
mod namespaces;
mod not_found;
mod package;
mod package_sign;
mod provenance;
mod publish;
mod publish_failures;
mod publish_gate;
mod pull;
mod pull_tampered;
mod reference;
mod regressions;
mod results;
mod schema_location;
mod secrets;
mod show;
mod sigkill;
mod sign;
mod sign_files;
mod solar_renderer;
mod tag;
mod tags;
mod template;
mod unittest;
mod validate;
mod values_check;
mod values_docs;
mod values_from_input;
mod values_schema;
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testbed::{Auth, Registry, Setup, TokenServer};

/// The binary.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_solar-render"))
}

/// The binary in an environment without the user's settings.
pub(crate) fn command() -> Command {
    let mut command = Command::new(binary());
    command.env_clear();
    command
}

/// `testdata`
pub(crate) fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata")
        .canonicalize()
        .unwrap()
}

/// What a run did.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }

    /// Standard output as the one JSON document it must be.
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(
            self.stdout.lines().count(),
            1,
            "one document on one line: {:?} {}",
            self.stdout,
            self.stderr
        );
        serde_json::from_str(&self.stdout).unwrap()
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs a test against a registry with Basic authentication, and against one with a token server. It gets the flags
/// with the credentials.
pub(crate) fn with_each_authentication(test: impl Fn(&Registry, &[&str; 4])) {
    let tokens = TokenServer::start("me", "hunter2", "refresh", 300);
    let basic = Auth::Basic {
        username: "me",
        password: "hunter2",
    };
    for auth in [basic, Auth::Token(&tokens)] {
        let setup = Setup {
            auth,
            ..Setup::default()
        };
        test(
            &Registry::with(&setup),
            &["--username", "me", "--password", "hunter2"],
        );
    }
}

/// Every file below a folder, with its content.
pub(crate) fn tree(folder: &Path) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    files
}
