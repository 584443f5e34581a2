//! The pipeline on a node: the objects of docs/pipeline.md become charts in a registry.

use std::fs;
use std::path::Path;

use testbed::eventually;

use super::{Bed, LIMIT, PASSWORD, ROOT, USERNAME, bed};

impl Bed {
    /// Pushes the chart of the application that docs/pipeline.md deploys.
    fn push_application(&self, folder: &Path) {
        let chart = folder.join("frontend");
        fs::create_dir_all(chart.join("templates")).unwrap();
        fs::write(
            chart.join("Chart.yaml"),
            "apiVersion: v2\nname: frontend\nversion: 1.4.2\n",
        )
        .unwrap();
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {replicas: {{ .Values.replicas | quote }}}\n";
        fs::write(chart.join("templates/app.yaml"), template).unwrap();
        let to = format!("oci://{}/charts", self.registry.host());
        self.solar_render(&["push", chart.to_str().unwrap(), &to, "--plain-http"]);
    }

    /// Until the bootstrap chart of the Target `shop/edge` with a number is in the registry.
    fn until_bootstrap(&self, number: u64) {
        let url = format!("oci://{}/shop/bootstrap-edge:v0.0.{number}", self.registry.host());
        let condition = format!("--for=jsonpath={{.status.bootstrapChartURL}}={url}");
        let wait = ["-n", "shop", "wait", "target/edge", &condition, "--timeout=180s"];
        let output = self.node.cluster().kubectl_command(&wait).output().unwrap();
        if !output.status.success() {
            let target = self.kubectl(&["-n", "shop", "get", "target,release,rt,jobs,pods", "-o", "yaml"]);
            panic!("never {url}: {target}");
        }
    }

    /// The tags of a repository; none of one that isn't there.
    fn tags(&self, repository: &str) -> String {
        let mut tags = self.node.command(&self.renderer);
        tags.args(["tags", repository, "--plain-http"]);
        tags.env("REGISTRY_USERNAME", USERNAME)
            .env("REGISTRY_PASSWORD", PASSWORD);
        String::from_utf8(tags.output().unwrap().stdout).unwrap()
    }

    /// A line of the application's object: from the bootstrap chart through the Release's chart to the application's,
    /// each as Flux would install it.
    fn application(&self, number: u64) -> String {
        let host = self.registry.host();
        let bootstrap = format!("oci://{host}/shop/bootstrap-edge:v0.0.{number}");
        let template = |chart: &str, more: &[&str]| {
            self.solar_render(&[&["template", "app", chart, "--plain-http"], more].concat())
        };
        let release = source_of(&template(&bootstrap, &[]));
        let objects = template(&release, &[]);
        let application = source_of(&objects);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), values_of(&objects)).unwrap();
        let rendered = template(&application, &["-f", file.path().to_str().unwrap()]);
        let line = rendered.lines().find(|line| line.contains("replicas"));
        let line = line.unwrap_or_else(|| panic!("{rendered}"));
        line.trim()
            .trim_start_matches("data: {")
            .trim_end_matches('}')
            .to_owned()
    }
}

/// The script of docs/pipeline.md, with this registry: from a Profile and a Target to charts, whose objects are rendered
/// down to the application's own.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_pipelines_page_ends_with_charts_in_the_registry() {
    let bed = bed();
    let folder = tempfile::tempdir().unwrap();
    bed.push_application(folder.path());
    bed.kubectl(&["create", "namespace", "shop"]);
    bed.make_secret("shop", "push", PASSWORD);
    let manifests = folder.path().join("pipeline.yaml");
    fs::write(&manifests, page_manifests(bed.registry.host())).unwrap();
    bed.kubectl(&[
        "-n",
        "shop",
        "apply",
        "--server-side",
        "-f",
        manifests.to_str().unwrap(),
    ]);
    bed.until_bootstrap(1);
    assert_eq!(bed.application(1), "replicas: \"2\"");
    let patch = r#"{"spec":{"values":{"replicas":3}}}"#;
    bed.kubectl(&[
        "-n",
        "shop",
        "patch",
        "release",
        "frontend",
        "--type=merge",
        "-p",
        patch,
    ]);
    bed.until_bootstrap(2);
    assert_eq!(bed.application(2), "replicas: \"3\"");
    let [bootstrap, release] = ["shop/bootstrap-edge", "shop/shop/release-frontend"].map(|repository| {
        let repository = format!("oci://{}/{repository}", bed.registry.host());
        assert!(!bed.tags(&repository).is_empty(), "{repository}");
        repository
    });
    // Nothing of the tasks is left with the Target, and no tag; the Profile's binding is deleted with the Profile.
    bed.kubectl(&["-n", "shop", "delete", "target/edge", "--timeout=120s"]);
    eventually("no tasks, Jobs or config Secrets", LIMIT, || {
        let left = bed.kubectl(&["-n", "shop", "get", "rendertasks,jobs", "-o", "name"]);
        left.is_empty().then_some(())
    });
    eventually("no charts", LIMIT, || {
        let left = bed.kubectl(&[
            "-n",
            "shop",
            "get",
            "renderartifacts,renderbindings,jobs",
            "-o",
            "name",
        ]);
        left.is_empty().then_some(())
    });
    assert_eq!([bed.tags(&bootstrap), bed.tags(&release)], ["", ""]);
    assert_eq!(
        bed.kubectl(&["-n", "shop", "get", "secrets", "-o", "name"])
            .trim(),
        "secret/push"
    );
}

/// The manifests on docs/pipeline.md, for another registry.
fn page_manifests(host: &str) -> String {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/pipeline.md")).unwrap();
    let yaml = page
        .split("```yaml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let hostname = "hostname: registry.example.com";
    assert!(yaml.contains(hostname), "{yaml}");
    yaml.replace(hostname, &format!("{hostname}\n  plainHTTP: true"))
        .replace("tag: 1.4.2}", "tag: 1.4.2, insecure: true}")
        .replace("registry.example.com", host)
}

/// The chart that an OCIRepository among these objects names.
fn source_of(objects: &str) -> String {
    let field = |names: &[&str]| {
        let lines = objects.lines().map(str::trim);
        let mut values = lines.filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
        let value = values
            .next()
            .unwrap_or_else(|| panic!("none of {names:?}: {objects}"));
        value.trim_matches('"').to_owned()
    };
    format!("{}:{}", field(&["url: "]), field(&["tag: ", "semver: "]))
}

/// The values of the HelmRelease among these objects, which are at its end.
fn values_of(objects: &str) -> String {
    let (_, values) = objects.split_once("\n  values:").unwrap();
    let lines = values.lines().take_while(|line| !line.starts_with("---"));
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("    ").unwrap_or(line))
        .collect();
    lines.join("\n")
}
