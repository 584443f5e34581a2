//! Signed charts as docs/pipeline.md has them: a Target that signs, source-controller that verifies every chart of it, and a
//! rotation. Helm installs the bootstrap chart in helm-controller's place: its field manager is another, `helm`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use testbed::{Tool, eventually, run};

use super::bed::{Bed, LIMIT, ROOT, bed, condition};
use super::pipeline::{Shell, blocks};

/// The namespace of the Target.
const TENANT: &str = "signing-shop";
/// The namespace of Flux's objects.
const CLUSTER: &str = "signing-edge";
const BOOTSTRAP: &str = "bootstrap";
/// An annotation of a Flux object, which starts a reconcile.
const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";

/// The page's scripts, with the namespaces of this test.
struct Scripts {
    shell: Shell,
    make: String,
    /// The Secret that Flux pulls with.
    pull: String,
    /// The Secret with the first public key.
    trust: String,
    rotate: String,
}

impl Scripts {
    fn new(bed: &Bed) -> Self {
        let host = bed.registry.host();
        let [pipeline, _, target, bootstrap] = &blocks("yaml", host)[..4] else {
            panic!("four files on the page")
        };
        let others = pipeline
            .split("---\n")
            .filter(|text| !text.contains("kind: Target"));
        let objects: Vec<&str> = others.chain([target.as_str()]).collect();
        let shell = Shell::with_files(&[
            ("pipeline.yaml", &objects.join("---\n")),
            (
                "bootstrap.yaml",
                &bootstrap.replace("/shop/", &format!("/{TENANT}/")),
            ),
        ]);
        let scripts = blocks("sh", host);
        let names = [("shop", TENANT), ("apps", CLUSTER)];
        let find = |part: &str| {
            let found = scripts.iter().find(|script| script.contains(part));
            let found = found.unwrap_or_else(|| panic!("{part} is not on the page"));
            let replaced = |text: String, (name, own): (&str, &str)| {
                text.replace(&format!("-n {name}"), &format!("-n {own}"))
                    .replace(&format!("namespace {name}"), &format!("namespace {own}"))
            };
            names
                .into_iter()
                .fold(found.clone(), replaced)
                .replace("--field-manager=helm-controller", "--field-manager=helm")
                .replace("--context edge", &format!("-n {CLUSTER}"))
                .replace(
                    "release-namespace=default",
                    &format!("release-namespace={CLUSTER}"),
                )
        };
        let pull = find("docker-registry flux-pull");
        Self {
            shell,
            make: find("apply -n shop"),
            pull: pull.split("kubectl apply").next().unwrap().to_owned(),
            trust: find("cosign-1.pub"),
            rotate: find("rotate-signing-key"),
        }
    }
}

impl Bed {
    fn wait_for_bootstrap(&self, number: u32) {
        let number = format!("--for=jsonpath={{.status.bootstrapVersion}}={number}");
        for condition in [&number, "--for=condition=Ready"] {
            self.kubectl(&["-n", TENANT, "wait", "target/edge", condition, "--timeout=180s"]);
        }
    }

    /// Starts a reconcile of the bootstrap chart's OCIRepository.
    fn request(&self, value: &str) {
        let request = format!("{REQUESTED}={value}");
        let source = format!("ocirepository/{BOOTSTRAP}");
        self.kubectl(&["-n", CLUSTER, "annotate", "--overwrite", &source, &request]);
    }

    /// Follows the bootstrap chart: source-controller verifies it, Helm installs it, and source-controller verifies the
    /// Release's chart that it names. The tags of both.
    fn follow_verified(&self, number: u32) -> [String; 2] {
        self.wait_for_bootstrap(number);
        let value = number.to_string();
        self.request(&value);
        let handled = format!("--for=jsonpath={{.status.lastHandledReconcileAt}}={value}");
        let source = format!("ocirepository/{BOOTSTRAP}");
        self.kubectl(&["-n", CLUSTER, "wait", &source, &handled, "--timeout=180s"]);
        let source = self.until_verified(BOOTSTRAP);
        let mut helm = self.node.command(&Tool::Helm.path());
        helm.args(["upgrade", "--install", BOOTSTRAP, "-n", CLUSTER]);
        run(helm.arg(source["status"]["artifact"]["url"].as_str().unwrap()));
        let release = self.until_verified(&format!("{BOOTSTRAP}-backend"));
        [source, release].map(|source| {
            let revision = source["status"]["artifact"]["revision"].as_str().unwrap();
            revision.split('@').next().unwrap().to_owned()
        })
    }

    fn until_verified(&self, name: &str) -> Value {
        let source = self.until_fetched(CLUSTER, name);
        let secret = json!({"provider": "cosign", "secretRef": {"name": "edge-cosign-pub"}});
        assert_eq!(source["spec"]["verify"], secret);
        let verified = condition(&source, "SourceVerified");
        assert_eq!(verified["status"], "True", "{source:#}");
        assert_eq!(verified["observedGeneration"], source["metadata"]["generation"]);
        source
    }

    /// The public keys that the cluster trusts.
    fn trusted(&self) -> BTreeMap<String, Value> {
        let text = self.kubectl(&["-n", CLUSTER, "get", "secret/edge-cosign-pub", "-o", "json"]);
        let secret: Value = serde_json::from_str(&text).unwrap();
        serde_json::from_value(secret["data"].clone()).unwrap()
    }

    /// The messages of source-controller about charts whose signature it refused.
    fn refusals(&self) -> Vec<String> {
        let text = self.kubectl(&["-n", CLUSTER, "get", "events", "-o", "json"]);
        let events: Value = serde_json::from_str(&text).unwrap();
        let messages = events["items"].as_array().unwrap().iter();
        let messages = messages.filter_map(|event| event["message"].as_str());
        let refusals = messages.filter(|message| message.contains("failed to verify the signature"));
        refusals.map(str::to_owned).collect()
    }

    /// Pushes a chart with a higher version than all of the Target's, signed with another key.
    fn push_with_another_key(&self, folder: &Path) {
        let chart = folder.join("bootstrap-edge");
        fs::create_dir(&chart).unwrap();
        let metadata = "apiVersion: v2\nname: bootstrap-edge\nversion: v0.0.99\n";
        fs::write(chart.join("Chart.yaml"), metadata).unwrap();
        let key = Path::new(ROOT).join("testdata/signing/cosign.key");
        let password = folder.join("password");
        fs::write(&password, "pw").unwrap();
        let [chart, key, password] = [&chart, &key, &password].map(|path| path.to_str().unwrap());
        let to = format!("oci://{}/{TENANT}", self.registry.host());
        let sign = ["--sign-by", key, "--key-password-file", password];
        self.solar_render(&[&["push", chart, &to, "--plain-http"], &sign[..]].concat());
    }
}

/// docs/pipeline.md, "Signed charts": no chart of the Target is refused in a rotation, and one of another key is.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn flux_verifies_all_charts_of_a_target_through_a_rotation_and_refuses_those_of_another_key() {
    let bed = bed();
    bed.flux();
    let scripts = Scripts::new(bed);
    let begin = Instant::now();
    let run = |script: &str| scripts.shell.run(bed, script);
    run(&scripts.make);
    bed.wait_for_bootstrap(1);
    run(&scripts.pull);
    run(&scripts.trust);
    run(&format!(
        "kubectl apply -n {CLUSTER} --server-side -f bootstrap.yaml"
    ));
    let by_hand = bed.trusted();
    let [bootstrap, release] = bed.follow_verified(1);
    assert_eq!(bootstrap, "v0.0.1");
    assert_eq!(bed.trusted(), by_hand);

    // The old key signs the chart that brings both; the new key signs the Release's chart, which has another tag.
    run(&scripts.rotate);
    let [bootstrap, rotated] = bed.follow_verified(2);
    assert_eq!(bootstrap, "v0.0.2");
    assert_ne!(release, rotated);
    eprintln!("until a rotation: {:.1?}", begin.elapsed());
    let both = bed.trusted();
    assert_eq!(both.keys().collect::<Vec<_>>(), ["cosign-1.pub", "cosign-2.pub"]);
    assert_eq!(both["cosign-1.pub"], by_hand["cosign-1.pub"]);

    // The new key signs both, and the old one is no longer trusted: not even where it was put by hand.
    let values = r#"{"spec":{"values":{"replicas":3}}}"#;
    bed.kubectl(&[
        "-n",
        TENANT,
        "patch",
        "release",
        "backend",
        "--type=merge",
        "-p",
        values,
    ]);
    let [bootstrap, changed] = bed.follow_verified(3);
    assert_eq!(bootstrap, "v0.0.3");
    assert_ne!(rotated, changed);
    let new = bed.trusted();
    assert_eq!(new.keys().collect::<Vec<_>>(), ["cosign-2.pub"]);
    assert_eq!(bed.refusals(), Vec::<String>::new());
    eprintln!("until the new key alone signs: {:.1?}", begin.elapsed());

    let fetched = bed.until_verified(BOOTSTRAP);
    let revision = &fetched["status"]["artifact"]["revision"];
    bed.push_with_another_key(scripts.shell.folder());
    bed.request("99");
    bed.until_refused(CLUSTER, BOOTSTRAP, revision);
    eventually("an event about the refused chart", LIMIT, || {
        (!bed.refusals().is_empty()).then_some(())
    });
    eprintln!("until a chart of another key is refused: {:.1?}", begin.elapsed());
}
