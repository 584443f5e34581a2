//! The pipeline on a node, as docs/pipeline.md has it: its objects become charts in a registry, which Flux installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use tempfile::TempDir;
use testbed::{Tool, run};

use super::bed::{Bed, PASSWORD, ROOT, USERNAME, bed};
use super::flux::NAMESPACE;

/// The page's blocks of a language, in their order, with the bed's registry and its user.
pub(super) fn blocks(language: &str, host: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/pipeline.md")).unwrap();
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    let replaced = |block: &str| {
        let plain = [
            ("hostname: registry.example.com", "  plainHTTP: true"),
            ("ref: {semver: \">=0.0.0\"}", "  insecure: true"),
        ];
        let mut text = block.to_owned();
        for (line, after) in plain {
            text = text.replace(line, &format!("{line}\n{after}"));
        }
        for tag in ["tag: 1.4.2}", "tag: 2.0.1}"] {
            text = text.replace(tag, &format!("{}, insecure: true}}", tag.trim_end_matches('}')));
        }
        text.replace("registry.example.com", host)
    };
    blocks.map(replaced).collect()
}

/// A shell as the page's reader has it: in a folder with the page's files, with kubectl.
pub(super) struct Shell {
    folder: TempDir,
    path: PathBuf,
}

impl Shell {
    pub(super) fn with_files(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let path = folder.path().join("bin");
        fs::create_dir(&path).unwrap();
        std::os::unix::fs::symlink(Tool::Kubectl.path(), path.join("kubectl")).unwrap();
        Self { folder, path }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a block of the page.
    pub(super) fn run(&self, bed: &Bed, script: &str) -> String {
        let quoted = |password: &str| format!("password='{}'", password.replace('\'', "'\\''"));
        let script = script
            .replace("username=pusher", &format!("username={USERNAME}"))
            .replace("username=puller", &format!("username={USERNAME}"))
            .replace("password=secret", &quoted(PASSWORD));
        let mut shell = bed.node.command(Path::new("bash"));
        shell
            .args(["-e", "-u", "-c", &script])
            .current_dir(self.folder.path());
        let path = std::env::var("PATH").unwrap_or_default();
        run(shell.env("PATH", format!("{}:{path}", self.path.display())))
    }
}

impl Bed {
    /// Pushes the chart of an application that docs/pipeline.md deploys.
    fn push_application(&self, folder: &Path, name: &str, version: &str) {
        let chart = folder.join(name);
        fs::create_dir_all(chart.join("templates")).unwrap();
        let metadata = format!("apiVersion: v2\nname: {name}\nversion: {version}\n");
        fs::write(chart.join("Chart.yaml"), metadata).unwrap();
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {replicas: {{ .Values.replicas | quote }}}\n";
        fs::write(chart.join("templates/app.yaml"), template).unwrap();
        let to = format!("oci://{}/charts", self.registry.host());
        self.solar_render(&["push", chart.to_str().unwrap(), &to, "--plain-http"]);
    }

    /// Installs the page's HelmRelease, and says which bootstrap chart that was: `<tag>@<digest>`.
    fn install_bootstrap(&self) -> String {
        self.install_with_flux(NAMESPACE, "edge");
        let source = self.until_fetched(NAMESPACE, "edge");
        source["status"]["artifact"]["revision"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// What the pipeline says it pushed last: `<tag>@<digest>`.
    fn bootstrap_of_target(&self) -> String {
        let text = self.kubectl(&["-n", "shop", "get", "target/edge", "-o", "json"]);
        let target: Value = serde_json::from_str(&text).unwrap();
        let status = |field: &str| target["status"][field].as_str().unwrap().to_owned();
        let url = status("bootstrapChartURL");
        format!(
            "{}@{}",
            url.rsplit_once(':').unwrap().1,
            status("bootstrapDigest")
        )
    }

    /// What an application's own object has, on the target cluster.
    fn replicas(&self, namespace: &str) -> String {
        let replicas = "jsonpath={.data.replicas}";
        self.kubectl(&["-n", namespace, "get", "configmap/app", "-o", replicas])
    }

    /// The tags of a repository; none of one that isn't there.
    fn tags(&self, repository: &str) -> String {
        let mut tags = self.node.command(&self.renderer);
        let repository = format!("oci://{}/{repository}", self.registry.host());
        tags.args(["tags", &repository, "--plain-http"]);
        tags.env("REGISTRY_USERNAME", USERNAME)
            .env("REGISTRY_PASSWORD", PASSWORD);
        String::from_utf8(tags.output().unwrap().stdout).unwrap()
    }
}

/// docs/pipeline.md from its first command to its last, with Flux's source-controller.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_pipelines_page_deploys_two_applications_changes_one_and_leaves_nothing() {
    let bed = bed();
    bed.flux();
    let files = blocks("yaml", bed.registry.host());
    let shell = Shell::with_files(&[("pipeline.yaml", &files[0]), ("flux.yaml", &files[1])]);
    for (name, version) in [("frontend", "1.4.2"), ("backend", "2.0.1")] {
        bed.push_application(shell.folder(), name, version);
    }
    let scripts = blocks("sh", bed.registry.host());
    let [make, follow, change, ask, delete] = &scripts[..5] else {
        panic!("{scripts:?}")
    };
    let begin = Instant::now();
    shell.run(bed, make);
    shell.run(bed, follow);
    assert_eq!(bed.install_bootstrap(), bed.bootstrap_of_target());
    assert_eq!([bed.replicas("frontend"), bed.replicas("backend")], ["2", "1"]);
    eprintln!(
        "from the first command to the applications: {:.1?}",
        begin.elapsed()
    );

    let begin = Instant::now();
    shell.run(bed, change);
    shell.run(bed, ask);
    let second = bed.install_bootstrap();
    assert!(second.starts_with("v0.0.2@"), "{second}");
    assert_eq!(second, bed.bootstrap_of_target());
    assert_eq!([bed.replicas("frontend"), bed.replicas("backend")], ["3", "1"]);
    eprintln!(
        "from the changed values to the application: {:.1?}",
        begin.elapsed()
    );

    let repositories = ["bootstrap-edge", "shop/release-frontend", "shop/release-backend"];
    for repository in repositories.map(|name| format!("shop/{name}")) {
        assert!(!bed.tags(&repository).is_empty(), "{repository}");
    }
    let begin = Instant::now();
    shell.run(bed, delete);
    eprintln!("until all is deleted: {:.1?}", begin.elapsed());
    for repository in repositories.map(|name| format!("shop/{name}")) {
        assert_eq!(bed.tags(&repository), "", "{repository}");
    }
    let kinds = "rendertasks,renderartifacts,renderbindings,jobs,secrets";
    let left = bed.kubectl(&["-n", "shop", "get", kinds, "-o", "name"]);
    assert_eq!(left.trim(), "secret/push");
}
