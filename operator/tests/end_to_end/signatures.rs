//! Signatures that Flux verifies: in both forms, and by the right key alone.

use std::path::Path;

use serde_json::{Value, json};
use testbed::eventually;

use super::bed::{Bed, LIMIT, Order, PASSWORD, ROOT, USERNAME, bed, condition};
use super::tasks::make_key;

/// The namespace of the OCIRepositories here.
const NAMESPACE: &str = "verified";

impl Bed {
    /// Makes an OCIRepository of a chart that is verified with the public keys in a Secret.
    fn verify_with_flux(&self, name: &str, path: &str, secret: &str) {
        let source = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "OCIRepository",
            "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {
                "interval": "10m",
                "url": format!("oci://{}/charts/{path}", self.registry.host()),
                "insecure": true,
                "ref": {"tag": "1.4.2"},
                "secretRef": {"name": "pull"},
                "layerSelector": {
                    "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "operation": "copy",
                },
                "verify": {"provider": "cosign", "secretRef": {"name": secret}},
            },
        });
        self.node.cluster().apply(&source.to_string());
    }

    /// Until source-controller refuses what an OCIRepository names for its signature, and keeps the revision of its
    /// artifact; null: it has none.
    pub(super) fn until_refused(&self, namespace: &str, name: &str, revision: &Value) {
        let source = format!("ocirepository/{name}");
        eventually(&format!("{name} is refused"), LIMIT, || {
            let text = self.kubectl(&["-n", namespace, "get", &source, "-o", "json"]);
            let source: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(source["status"]["artifact"]["revision"], *revision, "{source:#}");
            let verified = condition(&source, "SourceVerified");
            let message = verified["message"].as_str().unwrap_or_default();
            (verified["status"] == "False" && message.contains("no matching signatures")).then_some(())
        });
    }

    /// Secrets of public keys, and the one to pull with.
    fn make_public_keys(&self, secrets: &[(&str, &[&Path])]) {
        self.kubectl(&["create", "namespace", NAMESPACE]);
        let create = ["-n", NAMESPACE, "create", "secret"];
        for (name, keys) in secrets {
            let files = keys.iter().enumerate();
            let files = files.map(|(index, key)| format!("--from-file=cosign-{index}.pub={}", key.display()));
            let files: Vec<String> = files.collect();
            let files = files.iter().map(String::as_str);
            let make: Vec<&str> = create.into_iter().chain(["generic", name]).chain(files).collect();
            self.kubectl(&make);
        }
        let (user, password) = (
            format!("--docker-username={USERNAME}"),
            format!("--docker-password={PASSWORD}"),
        );
        let server = format!("--docker-server={}", self.registry.host());
        let pull = ["docker-registry", "pull", &server, &user, &password];
        self.kubectl(&[&create[..], &pull[..]].concat());
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn flux_fetches_what_a_job_has_signed_and_refuses_it_with_another_key() {
    let bed = bed();
    bed.flux();
    let folder = tempfile::tempdir().unwrap();
    let right = make_key(bed, folder.path(), "flux-cosign");
    let wrong = Path::new(ROOT).join("testdata/signing/cosign.pub");
    bed.make_public_keys(&[
        ("right", &[&right]),
        ("wrong", &[&wrong]),
        ("both", &[&wrong, &right]),
    ]);

    // In the form of cosign 3 by its Job, in that of cosign 1 and 2 by the command line, and not at all.
    let order = Order {
        sign_key: Some("flux-cosign"),
        ..Order::release("flux-signed", bed, "bundle/shop-frontend")
    };
    bed.order(order);
    bed.wait(order, "Ready", "True", "JobSucceeded");
    let push = |path: &str, more: &[&str]| {
        let url = format!("oci://{}/charts/{path}:1.4.2", bed.registry.host());
        let push = ["testdata/release.yaml", "--url", &url, "--plain-http"];
        bed.solar_render(&[&push[..], more].concat());
    };
    let [key, password] = ["cosign.key", "cosign.password"].map(|file| folder.path().join(file));
    let [key, password] = [&key, &password].map(|path| path.to_str().unwrap());
    let sign = ["--sign-by", key, "--key-password-file", password];
    push(
        "simple/shop-frontend",
        &[&sign[..], &["--signature-form", "simple"]].concat(),
    );
    push("unsigned/shop-frontend", &[]);

    for (form, secret, is_fetched) in [
        ("bundle", "right", true),
        ("bundle", "both", true),
        ("bundle", "wrong", false),
        ("simple", "right", true),
        ("simple", "both", true),
        ("simple", "wrong", false),
        ("unsigned", "both", false),
    ] {
        let name = format!("{form}-{secret}");
        bed.verify_with_flux(&name, &format!("{form}/shop-frontend"), secret);
        if !is_fetched {
            bed.until_refused(NAMESPACE, &name, &Value::Null);
            continue;
        }
        let source = bed.until_fetched(NAMESPACE, &name);
        assert_eq!(condition(&source, "SourceVerified")["status"], "True", "{name}");
        let digest = bed.solar_render(&["digest", "testdata/release.yaml"]);
        let revision = format!("1.4.2@{}", digest.trim());
        assert_eq!(source["status"]["artifact"]["revision"], revision, "{name}");
    }
}
