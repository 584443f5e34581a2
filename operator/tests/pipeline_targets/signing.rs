//! Targets that sign: key pairs, tasks that mount them, rotation, Secrets of others.

use super::*;

/// The JSON of an object in the Registry's namespace; null when there is none.
fn object(kind: &str, name: &str) -> Value {
    let arguments = [
        "-n",
        SYSTEM,
        "get",
        kind,
        name,
        "-o",
        "json",
        "--ignore-not-found",
    ];
    serde_json::from_str(&BED.0.cluster.kubectl(&arguments)).unwrap_or_default()
}

impl Space {
    fn signing_target(&self, is_enabled: bool, zone: &str) {
        let spec = json!({
            "renderRegistryRef": {"name": "charts", "namespace": SYSTEM}, "userdata": {"zone": zone},
            "signing": {"enabled": is_enabled},
        });
        apply(&BED.0, &self.own, "Target", "edge", &json!({}), &spec);
    }

    /// Tags that nobody uses are deleted.
    fn grant_artifacts(&self) {
        let name = format!("{}-artifacts", self.own);
        self.grant(SYSTEM, &name, ("RenderArtifact", &self.own), "Registry");
    }

    fn annotate(&self, annotation: &str) {
        self.kubectl(&["annotate", "--overwrite", "tgt", "edge", annotation]);
    }

    fn rotate(&self, value: &str) {
        self.annotate(&format!("{GROUP}/rotate-signing-key={value}"));
    }

    /// Of the Target's tasks: what is pushed, by which Secret it is signed, and the renderer's config; sorted.
    fn signed(&self) -> Vec<(String, String, Value)> {
        let selector = format!("{GROUP}/owner-namespace={}", self.own);
        let list = BED
            .0
            .cluster
            .kubectl(&["-n", SYSTEM, "get", "rt", "-l", &selector, "-o", "json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let mut tasks: Vec<(String, String, Value)> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| &task["spec"])
            .map(|spec| {
                let repository = text(&spec["repository"]);
                let chart = repository.rsplit('/').next().unwrap_or("").to_owned();
                let config = spec[text(&spec["type"])].clone();
                (chart, text(&spec["signKeySecretRef"]["name"]), config)
            })
            .collect();
        tasks.sort_by(|one, other| one.0.cmp(&other.0));
        tasks
    }

    /// Until earlier tasks are gone: by which Secrets the bootstrap chart and the Release's chart are signed.
    fn until_signers(&self) -> (String, String) {
        self.until_tasks(2);
        let tasks = self.signed();
        assert_eq!(
            (tasks[0].0.as_str(), tasks[1].0.as_str()),
            ("bootstrap-edge", "release-shop")
        );
        (tasks[0].1.clone(), tasks[1].1.clone())
    }

    /// The names of the public keys that the bootstrap chart brings.
    fn brought(&self) -> Vec<String> {
        let keys = self.signed()[0].2["input"]["verificationKeys"]["keys"].clone();
        let keys = keys.as_object().cloned().unwrap_or_default();
        keys.keys().cloned().collect()
    }

    fn until_secret_is_gone(&self, name: &str) {
        testbed::eventually(&format!("no Secret {name}"), Duration::from_secs(120), || {
            object("secret", name).is_null().then_some(())
        });
    }
}

fn secret_name(target: &Value, pair: &str) -> String {
    let name = &target["status"]["signing"][pair]["secretRef"]["name"];
    name.as_str().unwrap_or("").to_owned()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_signing_target_has_a_key_pair_and_signed_charts_under_other_tags() {
    let space = Space::new("signed");
    space.grant_artifacts();
    space.release(&space.own, "shop", &json!({}));
    space.signing_target(false, "a");
    let unsigned = space.until_ready(1);
    assert_eq!(unsigned["status"]["signing"], Value::Null);

    space.signing_target(true, "a");
    let signed = space.until_ready(2);
    let name = secret_name(&signed, "current");
    assert!(name.starts_with("edge-") && name.ends_with("-cosign"), "{name}");
    let secret = object("secret", &name);
    let held: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(held, ["cosign.key", "cosign.password", "cosign.pub"]);
    assert_eq!(secret["immutable"], true);
    let public = signed["status"]["signing"]["current"]["publicKey"]
        .as_str()
        .unwrap();
    assert!(public.starts_with("-----BEGIN PUBLIC KEY-----"), "{public}");
    assert_ne!(tag_of(&unsigned, "shop"), tag_of(&signed, "shop"));
    space.until_reason("SigningKeyReady", "Ready");
    assert_eq!(space.until_signers(), (name.clone(), name.clone()));
    let input = &space.signed()[0].2["input"];
    let verify = json!({"provider": "cosign", "secretRef": {"name": "edge-cosign-pub"}});
    assert_eq!(input["releases"]["shop"]["verify"], verify);
    let keys = json!({"secretName": "edge-cosign-pub", "keys": {"cosign-1.pub": public}});
    assert_eq!(input["verificationKeys"], keys);

    // Switched off, the pair stays: clusters know it.
    space.signing_target(false, "a");
    let off = space.until_ready(3);
    assert_eq!(tag_of(&off, "shop"), tag_of(&unsigned, "shop"));
    assert_eq!(space.until_signers(), (String::new(), String::new()));
    assert!(!message(&off, "SigningKeyReady").contains("signs"));
    space.signing_target(true, "a");
    let again = space.until_ready(4);
    assert_eq!(again["status"]["signing"], signed["status"]["signing"]);
    assert_eq!(tag_of(&again, "shop"), tag_of(&signed, "shop"));

    // A status that was never written is made up for by the Secret that was.
    let none = json!({"status": {"signing": null}}).to_string();
    space.kubectl(&[
        "patch",
        "tgt",
        "edge",
        "--subresource=status",
        "--type=merge",
        "-p",
        &none,
    ]);
    space.annotate("reconcile.fluxcd.io/requestedAt=1");
    space.until("{.status.signing.current.number}", "1");
    assert_eq!(space.get()["status"]["signing"], signed["status"]["signing"]);

    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    assert!(object("secret", &name).is_null());
}

/// What a cluster that follows the bootstrap chart sees: each one is signed by a key that the one before has brought.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_rotation_hands_over_and_then_deletes_the_old_key() {
    let space = Space::new("rotated");
    space.grant_artifacts();
    space.release(&space.own, "shop", &json!({}));
    space.signing_target(true, "a");
    let one = secret_name(&space.until_ready(1), "current");

    space.rotate("1");
    let target = space.until_ready(2);
    let two = secret_name(&target, "current");
    assert_eq!(two, format!("{one}-2"));
    assert_eq!(secret_name(&target, "previous"), one);
    space.until_reason("SigningKeyReady", "Rotating");
    assert_eq!(space.until_signers(), (one.clone(), two.clone()));
    assert_eq!(space.brought(), ["cosign-1.pub", "cosign-2.pub"]);
    assert!(!object("secret", &one).is_null());

    space.signing_target(true, "b");
    space.until_ready(3);
    assert_eq!(space.until_signers(), (two.clone(), two.clone()));
    assert_eq!(space.brought(), ["cosign-2.pub"]);
    space.until_secret_is_gone(&one);
    let target = space.until_reason("SigningKeyReady", "Ready");
    let signing = &target["status"]["signing"];
    assert_eq!(
        (&signing["previous"], &signing["handedOver"]),
        (&Value::Null, &Value::Null)
    );
    testbed::eventually("nothing is retired", Duration::from_secs(120), || {
        space.get()["status"]["signing"]["retired"]
            .is_null()
            .then_some(())
    });

    // Two rotations without other content: who fears for a key needn't wait for it.
    space.rotate("2");
    space.until_ready(4);
    space.rotate("3");
    let target = space.until_ready(5);
    let (four, three) = (format!("{one}-4"), format!("{one}-3"));
    assert_eq!(secret_name(&target, "current"), four);
    assert_eq!(space.until_signers(), (three.clone(), four.clone()));
    space.until_secret_is_gone(&two);

    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    assert!(object("secret", &three).is_null() && object("secret", &four).is_null());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_secret_of_somebody_else_is_neither_used_nor_deleted_and_a_lost_one_is_reported() {
    let space = Space::new("foreign-key");
    space.signing_target(true, "a");
    let name = secret_name(&space.until_reason("SigningKeyReady", "Ready"), "current");
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    let foreign =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": SYSTEM}});
    BED.0.cluster.apply(&foreign.to_string());
    space.release(&space.own, "shop", &json!({}));
    space.signing_target(true, "a");
    let target = space.until_reason("Ready", "NameConflict");
    assert!(
        message(&target, "Ready").contains(&name),
        "{}",
        message(&target, "Ready")
    );
    assert_eq!(space.tasks(), Vec::<String>::new());
    space.kubectl(&["delete", "tgt", "edge", "--timeout=120s"]);
    assert!(!object("secret", &name).is_null());

    let delete = ["-n", SYSTEM, "delete", "secret", &name];
    BED.0.cluster.kubectl(&delete);
    space.signing_target(true, "a");
    let first = space.until_ready(1);
    // What is signed already doesn't need the key.
    BED.0.cluster.kubectl(&delete);
    space.signing_target(true, "b");
    let target = space.until_reason("SigningKeyReady", "SignKeySecretNotFound");
    assert_eq!(
        target["status"]["bootstrapChartURL"],
        first["status"]["bootstrapChartURL"]
    );
    assert_eq!(space.until_tasks(2).len(), 2);
    // A lost key can't hand over. Number 2 was that of the chart that it was to sign.
    space.rotate("1");
    let target = space.until_ready(3);
    let second = format!("{name}-2");
    assert_eq!(secret_name(&target, "current"), second);
    assert_eq!(target["status"]["signing"]["previous"], Value::Null);
    assert_eq!(space.until_signers(), (second.clone(), second));
}
