//! Flux on the node: its source-controller fetches charts, and the test installs them in helm-controller's place: by our
//! engine, with kubectl.

use std::fs;

use serde_json::{Value, json};
use solar_render::diag::Class;
use solar_render::source::Source;
use solar_render::yaml;

use super::bed::Bed;

/// The namespace of the bootstrap's HelmRelease.
pub(super) const NAMESPACE: &str = "apps";

impl Bed {
    /// Installs the chart of a HelmRelease, and those of the HelmReleases that come out of it, down to the applications.
    pub(super) fn install_with_flux(&self, namespace: &str, name: &str) {
        let release = format!("helmrelease/{name}");
        let release = self.kubectl(&["-n", namespace, "get", &release, "-o", "json"]);
        let release: Value = serde_json::from_str(&release).unwrap();
        let spec = &release["spec"];
        let target = spec["targetNamespace"].as_str().unwrap_or(namespace);
        if spec["install"]["createNamespace"] == true {
            let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": target}});
            self.node.cluster().apply(&made.to_string());
        }
        let objects = self.render_with_flux(namespace, target, &release);
        let file = tempfile::NamedTempFile::new().unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        fs::write(file.path(), list.to_string()).unwrap();
        let path = file.path().to_str().unwrap();
        self.kubectl(&["-n", target, "apply", "--server-side", "-f", path]);
        for object in objects.iter().filter(|object| object["kind"] == "HelmRelease") {
            self.install_with_flux(target, object["metadata"]["name"].as_str().unwrap());
        }
    }

    /// The objects of the chart that a HelmRelease names, from source-controller's artifact.
    fn render_with_flux(&self, namespace: &str, target: &str, release: &Value) -> Vec<Value> {
        let spec = &release["spec"];
        assert_eq!(spec["chartRef"]["kind"], "OCIRepository");
        let source = self.until_fetched(namespace, spec["chartRef"]["name"].as_str().unwrap());
        let artifact = &source["status"]["artifact"];
        let [url, revision] = ["url", "revision"].map(|field| artifact[field].as_str().unwrap());
        let chart = objects(&self.solar_render(&["show", "chart", url]));
        // helm-controller refuses a chart whose version is not the tag that it was fetched by.
        let version = chart[0]["version"].as_str().unwrap().replace('+', "_");
        assert!(
            revision.starts_with(&format!("{version}@")),
            "{revision}, {chart:?}"
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        let values = spec.get("values").unwrap_or(&Value::Null);
        fs::write(file.path(), values.to_string()).unwrap();
        let values = file.path().to_str().unwrap();
        let metadata = release["metadata"]["name"].as_str();
        let name = spec["releaseName"].as_str().or(metadata).unwrap();
        objects(&self.solar_render(&["template", name, url, "--namespace", target, "-f", values]))
    }

    /// An OCIRepository, once source-controller has fetched what it names.
    pub(super) fn until_fetched(&self, namespace: &str, name: &str) -> Value {
        let source = format!("ocirepository/{name}");
        let wait = ["wait", &source, "--for=condition=Ready", "--timeout=180s"];
        let wait = [&["-n", namespace], &wait[..]].concat();
        let ready = self.node.cluster().kubectl_command(&wait).output().unwrap();
        let text = self.kubectl(&["-n", namespace, "get", &source, "-o", "json"]);
        let object = serde_json::from_str(&text).unwrap();
        assert!(ready.status.success(), "not fetched: {object:#}");
        object
    }
}

/// The documents of a text.
pub(super) fn objects(text: &str) -> Vec<Value> {
    let source = Source::new("objects", text);
    let nodes = yaml::parse_all(&source, Class::Template, &yaml::Limits::default());
    let nodes = nodes.unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    let values = nodes
        .iter()
        .map(|node| serde_json::from_str(&node.to_value().to_json()).unwrap());
    values.filter(|value: &Value| !value.is_null()).collect()
}
