//! Called as `helm`: the same lines give what Helm gives, on standard output, in its files and as exit codes; all of
//! Helm's help is walked.

mod argo_cd;
mod charts;
mod create;
mod handed_on;
mod help;
mod registries;
mod repositories;
mod results;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testbed::Tool;

use crate::dependency::{chart, web};
use crate::{Run, binary};

/// A folder in which `helm` is one of the two.
pub(crate) struct Home {
    pub(crate) folder: tempfile::TempDir,
}

impl Home {
    pub(crate) fn of(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        symlink(program, folder.path().join("bin/helm")).unwrap();
        Self { folder }
    }

    pub(crate) fn helm() -> Self {
        Self::of(&Tool::Helm.path())
    }

    pub(crate) fn ours() -> Self {
        Self::of(binary())
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A command in the folder, in which `helm` is found.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// What a line of shell prints, with this folder as `HERE`.
    pub(crate) fn sh(&self, line: &str) -> Run {
        let run = Run::of(self.command("sh").args(["-c", line]));
        let here = self.folder.path().display().to_string();
        Run {
            stdout: run.stdout.replace(&here, "HERE"),
            ..run
        }
    }
}

/// What a server has: an index at its top, and archives that Helm packed.
fn served(helm: &Home) -> BTreeMap<String, Vec<u8>> {
    for version in ["0.1.0", "0.1.10", "0.2.0-rc.1"] {
        chart(&helm.at("src/app"), "app", version, &[]);
        let text = format!(
            "apiVersion: v2\nname: app\nversion: {version}\nappVersion: '1.16'\ndescription: A server of pages\nkeywords: [http]\n"
        );
        fs::write(helm.at("src/app/Chart.yaml"), text).unwrap();
        assert_eq!(helm.sh("helm package src/app -d served").code, 0);
    }
    assert_eq!(helm.sh("helm repo index served").code, 0);
    let files = fs::read_dir(helm.at("served")).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = format!("/{}", entry.file_name().to_string_lossy());
        (name, fs::read(entry.path()).unwrap())
    });
    let mut files: BTreeMap<String, Vec<u8>> = files.collect();
    files.insert("/values.yaml".to_owned(), b"greeting: from afar\n".to_vec());
    files
}

/// A chart folder with values, in both homes.
fn give_charts(homes: [&Home; 2]) {
    for home in homes {
        let folder = home.at("shop");
        chart(&folder, "shop", "1.0.0", &[]);
        fs::write(
            folder.join("values.yaml"),
            "greeting: hello\nimage: {repository: nginx, tag: ''}\nhosts: [{name: a, port: 1}, {name: b, port: 2}]\n",
        )
        .unwrap();
        fs::write(
            folder.join("templates/x.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: {{ .Release.Namespace }}}\ndata: {greeting: {{ .Values.greeting }}}\n",
        )
        .unwrap();
    }
}

/// Both run each line, in order; what is not the same, with both results.
fn differences(lines: &[&str], server: &str) -> Vec<String> {
    let (helm, ours) = (Home::helm(), Home::ours());
    give_charts([&helm, &ours]);
    let mut wrong = Vec::new();
    for line in lines {
        let line = line.replace("SERVER", server);
        let [theirs, own] = [&helm, &ours].map(|home| home.sh(&line));
        if (theirs.code, &theirs.stdout) != (own.code, &own.stdout) {
            wrong.push(format!(
                "{line}\nhelm {}: {}{}\nours {}: {}{}",
                theirs.code, theirs.stdout, theirs.stderr, own.code, own.stdout, own.stderr
            ));
        }
    }
    wrong
}

fn assert_same(lines: &[&str]) {
    let packer = Home::helm();
    let server = web(served(&packer), None);
    let wrong = differences(lines, &format!("http://{}", server.host()));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
