//! `release/publish`: images and chart in a real registry, signed, as other programs see them.

use std::fs;
use std::process::Command;

use testbed::{Registry, Tool};

use crate::{VERSION, binaries, dist, root};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn images_and_chart_are_pushed_with_their_digests_and_signed() {
    let registry = Registry::start();
    let path = format!("{}/acme", registry.host());
    let mut publish = Command::new(root().join("release/publish"));
    let key = fs::read_to_string(root().join("testdata/signing/cosign.key")).unwrap();
    publish
        .arg(&path)
        .env("RELEASE_DIST", dist())
        .env("RELEASE_BINARIES", binaries())
        .env("PUBLISH_FLAGS", "--plain-http")
        .env("COSIGN_PRIVATE_KEY", key)
        .env("COSIGN_PASSWORD", "pw");
    testbed::run(&mut publish);
    let crane = |arguments: &[&str]| {
        let mut crane = Tool::Crane.command(registry.home());
        testbed::run(crane.arg("--insecure").args(arguments))
    };
    let signed = |reference: &str| {
        let mut cosign = Tool::Cosign.command(registry.home());
        cosign.args([
            "verify",
            "--insecure-ignore-tlog",
            "--allow-http-registry",
            "--key",
        ]);
        testbed::run(
            cosign
                .arg(root().join("testdata/signing/cosign.pub"))
                .arg(reference),
        );
    };
    for (name, image, tag, entry) in [
        (
            "solar-render",
            "solar-render",
            VERSION.to_owned(),
            "/solar-render",
        ),
        (
            "solar-render-shell",
            "solar-render",
            format!("{VERSION}-shell"),
            "",
        ),
        (
            "solar-operator",
            "solar-operator",
            VERSION.to_owned(),
            "/solar-operator",
        ),
    ] {
        let reference = format!("{path}/{image}:{tag}");
        let digest = fs::read_to_string(dist().join("images").join(format!("{name}.digest"))).unwrap();
        assert_eq!(crane(&["digest", &reference]).trim(), digest.trim());
        crane(&["validate", "--remote", &reference]);
        let config = crane(&["config", "--platform", "linux/amd64", &reference]);
        let config: serde_json::Value = serde_json::from_str(&config).unwrap();
        let found = config["config"]["Entrypoint"][0].as_str().unwrap_or_default();
        assert_eq!(found, entry);
        assert_eq!(
            config["config"]["Labels"]["org.opencontainers.image.version"],
            VERSION
        );
        signed(&reference);
    }
    signed(&format!("{path}/charts/solar-operator:{VERSION}"));

    let helm = |arguments: &[&str]| testbed::run(Tool::Helm.command(registry.home()).args(arguments));
    let chart = format!("oci://{path}/charts/solar-operator");
    let shown = helm(&["show", "chart", &chart, "--version", VERSION, "--plain-http"]);
    assert!(shown.contains(&format!("version: {VERSION}\n")), "{shown}");
    let program = binaries().join(crate::TARGET).join("solar-render");
    let layout = format!(
        "oci-layout:{}/solar-operator:{VERSION}",
        dist().join("charts").display()
    );
    let template = |from: &str, rest: &[&str]| {
        testbed::run(Command::new(&program).args(["template", "x", from]).args(rest))
    };
    assert_eq!(
        template(&layout, &[]),
        template(&format!("{chart}:{VERSION}"), &["--plain-http"])
    );
}
