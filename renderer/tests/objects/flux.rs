//! The charts' objects in an API server that has Flux's CRDs: it takes every field of them. The controllers are not run.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;
use solar_render::value::Value;
use testbed::{Cluster, ClusterSetup, flux_crds};

use crate::{NAMESPACE, through_helm};

const KEY: &str = include_str!("../../../testdata/signing/cosign.pub");

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn an_api_server_with_fluxs_kinds_takes_every_field() {
    let cluster = Cluster::start(&ClusterSetup {
        crds: &flux_crds(),
        ..Default::default()
    });
    cluster.kubectl(&["create", "namespace", NAMESPACE]);
    let digest = format!("@sha256:{}", "0".repeat(64));
    let release = |rest: &str, tag: &str| {
        format!(
            "{{type: release, release: {{chart: {{name: c, version: 1.0.0}}, input: {{component: {{name: a}},
            resources: {{app: {{repository: h.example/p, tag: {tag:?}{rest}}}}},
            entrypoint: {{resourceName: app, type: helm}}}}}}}}"
        )
    };
    let verified = ", insecure: true, pullSecretName: pull, verify: {secretRef: {name: edge-cosign-pub}}";
    let bootstrap = format!(
        "{{type: bootstrap, bootstrap: {{chart: {{name: c, version: 1.0.0}}, input: {{
        releases: {{shop: {{repository: h.example/q, tag: '>=0.0.0', verify: {{secretRef: {{name: edge-cosign-pub}}}}}}}},
        verificationKeys: {{secretName: edge-cosign-pub, keys: {}}}}}}}}}",
        Value::Map([("cosign-1.pub", Value::from(KEY))].into_iter().collect()).to_json()
    );
    let charts = [
        (release("", "1.0.0"), "plain"),
        (release(verified, &digest), "verified"),
        (bootstrap, "bootstrap"),
    ];
    for (config, name) in &charts {
        for object in through_helm(config, name, &[]) {
            cluster.apply(&object.to_json());
        }
    }
    let get = |kind: &str, name: &str| -> Json {
        let text = cluster.kubectl(&["-n", NAMESPACE, "get", kind, name, "-o", "json"]);
        serde_json::from_str(&text).unwrap()
    };
    let verify = serde_json::json!({"provider": "cosign", "secretRef": {"name": "edge-cosign-pub"}});
    let table = BTreeMap::from([
        ("plain-a", (Json::Null, serde_json::json!({"tag": "1.0.0"}))),
        (
            "verified-a",
            (verify.clone(), serde_json::json!({"digest": &digest[1..]})),
        ),
        (
            "bootstrap-shop",
            (verify, serde_json::json!({"semver": ">=0.0.0"})),
        ),
    ]);
    for (name, (verify, reference)) in table {
        let spec = &get("ocirepository", name)["spec"];
        assert_eq!((&spec["verify"], &spec["ref"]), (&verify, &reference), "{name}");
        assert_eq!(spec["layerSelector"]["operation"], "copy");
    }
    let data = &get("secret", "edge-cosign-pub")["data"];
    assert_eq!(data.as_object().unwrap().len(), 1, "{data}");

    // It is their schema that is asked: what it doesn't know is refused.
    let objects: Vec<String> = through_helm(&charts[1].0, "other", &[])
        .iter()
        .map(Value::to_json)
        .collect();
    for (kind, from, to) in [
        ("OCIRepository", "\"cosign\"", "\"gpg\""),
        ("OCIRepository", "\"verify\"", "\"verifies\""),
        ("HelmRelease", "\"enabled\"", "\"on\""),
        ("HelmRelease", "\"driftDetection\"", "\"detectDrift\""),
    ] {
        let kind = format!("\"kind\":\"{kind}\",\"metadata\"");
        let object = objects.iter().find(|object| object.contains(&kind)).unwrap();
        assert!(object.contains(from), "{object}");
        let path = cluster.home().join("bad.json");
        fs::write(&path, object.replace(from, to)).unwrap();
        let path = path.to_str().unwrap();
        let mut apply = cluster.kubectl_command(&["apply", "--server-side", "-f", path]);
        let output = apply.output().unwrap();
        assert!(!output.status.success(), "{to}: {output:?}");
    }
}
