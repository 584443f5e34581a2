//! Charts whose OCIRepositories verify signatures, and the keys that a bootstrap brings along.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use solar_render::value::Value;

use crate::expected::{self, Release, Resource, map};
use crate::{NAMESPACE, canonical, digest, render, sort_key, through_helm};

const KEY: &str = include_str!("../../../testdata/signing/cosign.pub");
const OTHER: &str = include_str!("../../../testdata/signing/other.pub");

fn release_config(verify: &str) -> String {
    format!(
        "type: release
release:
  chart: {{name: c, version: 1.0.0}}
  input:
    component: {{name: a}}
    resources: {{app: {{repository: h/p, tag: '1'{verify}}}, other: {{repository: h/q, tag: '1'}}}}
    entrypoint: {{resourceName: app, type: helm}}
"
    )
}

fn bootstrap_config(keys: &str, verify: &str) -> String {
    format!(
        "type: bootstrap
bootstrap:
  chart: {{name: c, version: 1.0.0}}
  input:
    releases: {{a: {{repository: h/p, tag: '1'{verify}}}, b: {{repository: h/q, tag: '1'}}}}
{keys}"
    )
}

fn resource(repository: &str, verify_secret: Option<&str>) -> Resource {
    Resource {
        repository: repository.into(),
        tag: "1".into(),
        verify_secret: verify_secret.map(str::to_owned),
        ..Resource::default()
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_release_verifies_its_entrypoint() {
    for (verify, secret) in [
        ("", None),
        (", verify: {secretRef: {name: edge.keys}}", Some("edge.keys")),
        (
            ", verify: {provider: cosign, secretRef: {name: keys}}",
            Some("keys"),
        ),
    ] {
        let meant = Release {
            component: "a".into(),
            entrypoint: resource("h/p", secret),
            target_namespace: String::new(),
            values: Value::empty_map(),
        };
        let got = through_helm(&release_config(verify), "rel", &[]);
        assert_eq!(got, expected::release(&meant, "rel"), "{verify}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_bootstrap_brings_the_keys_that_its_releases_are_verified_with() {
    let keys = Value::Map(
        [("cosign.pub", Value::from(KEY)), ("old.pub", Value::from(OTHER))]
            .into_iter()
            .collect(),
    );
    let block = format!(
        "    verificationKeys: {{secretName: edge-cosign-pub, keys: {}}}\n",
        keys.to_json()
    );
    let config = bootstrap_config(&block, ", verify: {secretRef: {name: edge-cosign-pub}}");
    let mut meant = expected::bootstrap(
        &[
            ("a".into(), resource("h/p", Some("edge-cosign-pub"))),
            ("b".into(), resource("h/q", None)),
        ],
        &Value::empty_map(),
        "rel",
    );
    let metadata = map([
        ("name", Value::from("edge-cosign-pub")),
        ("namespace", Value::from(NAMESPACE)),
    ]);
    let data = [("cosign.pub", KEY), ("old.pub", OTHER)]
        .map(|(file, key)| (file, Value::from(STANDARD.encode(key).as_str())));
    meant.push(canonical(map([
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("Secret")),
        ("metadata", metadata),
        ("type", Value::from("Opaque")),
        ("data", map(data)),
    ])));
    meant.sort_by_key(sort_key);
    assert_eq!(through_helm(&config, "rel", &[]), meant);
    // The keys are not part of the values: an installation can't replace them by accident.
    let values = ["--set", "verificationKeys.secretName=x"];
    assert_eq!(through_helm(&config, "rel", &values), meant);
}

/// Each chart there is would have another digest, and a tag that is taken.
#[test]
fn a_chart_that_verifies_nothing_has_no_template_for_it() {
    for config in [release_config(""), bootstrap_config("", "")] {
        for (path, text) in render(&config) {
            let text = String::from_utf8(text).unwrap();
            assert!(
                !text.contains("verif") && !text.contains("kind: Secret"),
                "{path}: {text}"
            );
        }
    }
    assert_eq!(
        digest(&release_config("")),
        digest(&release_config(", verify: null"))
    );
    assert_ne!(
        digest(&release_config("")),
        digest(&release_config(", verify: {secretRef: {name: keys}}"))
    );
}
