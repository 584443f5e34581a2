//! The Jobs and volumes of Artifacts.

use super::*;

fn built(spec: &Value, own: &ArtifactSettings) -> Value {
    let mut found = found(spec);
    found.status = status(ImportPhase::Pending, run(2, 1));
    let mut settings = settings();
    settings.args = vec!["--if-exists=skip".into(), "--retries=2".into()];
    serde_json::to_value(job(&found, &settings, own)).expect("JSON")
}

fn container(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]["containers"][0]
}

fn args(job: &Value) -> Vec<&str> {
    let args = container(job)["args"].as_array().expect("arguments");
    args.iter().filter_map(Value::as_str).collect()
}

#[test]
fn a_job_imports_a_model_with_secrets_that_the_kubelet_reads() {
    let job = built(
        &json!({
            "source": {"huggingFace": {
                "repository": "acme/tiny", "revision": "v1", "tokenSecretRef": {"name": "hub"},
                "include": ["*.json", "$(HF_TOKEN)"], "exclude": ["*.bin"],
            }},
            "target": {"registry": "h.example:5000", "repository": "/models/tiny", "tag": "v1",
                "credentialsSecretRef": {"name": "push"}, "insecure": true, "ifExists": "replace"},
            "ttlSecondsAfterFinished": 7,
        }),
        &own(),
    );
    let expected = [
        "artifact",
        "--from=hf://acme/tiny@v1",
        "--include=*.json",
        "--include=$$(HF_TOKEN)",
        "--exclude=*.bin",
        "--format=model-pack",
        "--to=oci://h.example:5000/models/tiny:v1",
        "--to-plain-http=true",
        "--if-exists=replace",
        "--workdir=/workspace",
        "--retries=2",
    ];
    assert_eq!(args(&job), expected);
    assert_eq!(job["metadata"]["name"], "tiny-g2-1");
    assert_eq!(job["spec"]["backoffLimit"], 0);
    assert_eq!(job["spec"]["ttlSecondsAfterFinished"], 7);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["fsGroup"], 65532);
    assert_eq!(pod["restartPolicy"], "Never");
    let env = container(&job)["env"].as_array().expect("env");
    let of = |name: &str| env.iter().find(|one| one["name"] == name).expect("it");
    assert_eq!(
        of("HF_TOKEN")["valueFrom"]["secretKeyRef"],
        json!({"name": "hub", "key": "token"})
    );
    assert_eq!(
        of("REGISTRY_PASSWORD")["valueFrom"]["secretKeyRef"]["name"],
        "push"
    );
    assert_eq!(of("REGISTRY_HOST")["value"], "h.example:5000");
    let mounts = container(&job)["volumeMounts"].to_string();
    assert!(
        mounts.contains(r#"{"mountPath":"/workspace","name":"workspace"}"#),
        "{mounts}"
    );
    let owner = &job["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"]),
        (&json!("Artifact"), &json!("uid-1"))
    );
}

#[test]
fn the_other_sources_have_their_flags_and_files() {
    let sha256 = "b".repeat(64);
    let web = built(
        &json!({"source": {"http": {"url": "https://h.example/c/shop-1.0.0.tgz", "sha256": sha256,
            "headersSecretRef": {"name": "headers"}}}, "format": "Chart"}),
        &own(),
    );
    let expected = [
        "artifact".to_owned(),
        "--from=https://h.example/c/shop-1.0.0.tgz".to_owned(),
        format!("--sha256={sha256}"),
        "--from-headers=/etc/renderer-headers".to_owned(),
        "--format=chart".to_owned(),
        "--to=oci://h.example/models/tiny".to_owned(),
        "--workdir=/workspace".to_owned(),
        "--retries=2".to_owned(),
    ];
    assert_eq!(args(&web), expected);
    let registry = built(
        &json!({"source": {"oci": {"reference": "other.example/a:1", "insecure": true,
            "pullSecretRef": {"name": "pull"}}}, "format": "Raw"}),
        &own(),
    );
    let expected = [
        "artifact",
        "--from=oci://other.example/a:1",
        "--from-plain-http=true",
        "--from-registry-config=/etc/renderer-source-registry/config.json",
        "--format=raw",
        "--to=oci://h.example/models/tiny:latest",
        "--workdir=/workspace",
        "--retries=2",
    ];
    assert_eq!(args(&registry), expected);
    let volumes = registry["spec"]["template"]["spec"]["volumes"].to_string();
    // Without its key, a pod once waited for hours.
    let secret =
        r#"{"items":[{"key":".dockerconfigjson","path":"config.json"}],"optional":true,"secretName":"pull"}"#;
    assert!(volumes.contains(secret), "{volumes}");
}

/// A digest was once found by a grep inside the image.
#[test]
fn kitops_imports_and_pushes_and_the_renderer_reports_the_digest() {
    let with_kit = ArtifactSettings {
        kit_image: Some("h.example/kit:1".into()),
        ..own()
    };
    let job = built(&json!({}), &with_kit);
    let pod = &job["spec"]["template"]["spec"];
    let inits = pod["initContainers"].as_array().expect("init containers");
    let shown: Vec<_> = inits
        .iter()
        .map(|one| (&one["image"], one["args"].to_string()))
        .collect();
    let target = "h.example/models/tiny:latest";
    assert_eq!(
        shown,
        [
            (
                &json!("h.example/kit:1"),
                format!(r#"["import","acme/tiny","--ref","main","--tag","{target}"]"#)
            ),
            (&json!("h.example/kit:1"), format!(r#"["push","{target}"]"#)),
        ]
    );
    assert_eq!(
        args(&job)[1..3],
        [format!("--from=oci://{target}"), format!("--to=oci://{target}")]
    );
    let with = |hub: Value, if_exists: &str| {
        let target = json!({"registry": "h.example", "repository": "a", "ifExists": if_exists});
        let spec = found(&json!({"source": {"huggingFace": hub}, "target": target})).spec;
        kit::refusal(&spec, &with_kit).unwrap_or_default()
    };
    let plain = || json!({"repository": "a/b"});
    assert_eq!(with(plain(), "replace"), "");
    // All three were once ignored, and what was at the tag was replaced.
    for ignored in ["fail", "skip"] {
        let refusal = with(plain(), ignored);
        assert!(refusal.contains("set target.ifExists to replace"), "{refusal}");
    }
    for patterns in ["include", "exclude"] {
        let refusal = with(json!({"repository": "a/b", patterns: ["*.bin"]}), "replace");
        assert!(refusal.contains("remove include and exclude"), "{refusal}");
    }
    assert_eq!(
        kit::refusal(&found(&json!({})).spec, &own()),
        None,
        "the renderer can"
    );
    let other = built(
        &json!({"source": {"oci": {"reference": "h.example/a:1"}}}),
        &with_kit,
    );
    assert_eq!(other["spec"]["template"]["spec"].get("initContainers"), None);
}

#[test]
fn a_volume_says_what_it_was_made_from() {
    let storage =
        json!({"storage": {"size": "20Gi", "storageClassName": "fast", "accessMode": "ReadWriteMany"}});
    let claim = serde_json::to_value(claim(&found(&storage))).expect("JSON");
    assert_eq!(claim["metadata"]["name"], "tiny-workspace");
    assert_eq!(
        claim["metadata"]["annotations"]["solar.opendefense.cloud/storage"],
        "20Gi ReadWriteMany fast"
    );
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "20Gi");
    assert_eq!(claim["spec"]["accessModes"], json!(["ReadWriteMany"]));
}

/// After an upgrade, Jobs in flight were once no longer seen.
#[test]
fn jobs_have_the_version_and_the_selector_has_not() {
    let job = built(&json!({}), &own());
    let labels = &job["metadata"]["labels"];
    assert_eq!(labels["app.kubernetes.io/version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(labels["app.kubernetes.io/component"], "artifact");
    let selector = crate::names::selector();
    assert!(
        selector.contains("artifact)") && !selector.contains("version"),
        "{selector}"
    );
}
