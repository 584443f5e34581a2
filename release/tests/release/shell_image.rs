//! The image with a shell, unpacked: GitLab's component runs in it, in a root that holds nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{TARGET, VERSION, binaries, dist, root};

fn blob(layout: &Path, descriptor: &Value) -> PathBuf {
    let digest = descriptor["digest"].as_str().unwrap();
    layout.join("blobs").join(digest.replace(':', "/"))
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The layer of the tag's image.
fn layer(tag: &str) -> PathBuf {
    let layout = dist().join("images/solar-render");
    let top = read(&layout.join("index.json"));
    let named = |entry: &&Value| entry["annotations"]["org.opencontainers.image.ref.name"] == tag;
    let entry = top["manifests"].as_array().unwrap().iter().find(named).unwrap();
    let manifest = read(&blob(&layout, &read(&blob(&layout, entry))["manifests"][0]));
    blob(&layout, &manifest["layers"][0])
}

/// The scripts of the component's jobs, with its inputs.
fn scripts(inputs: &[(&str, &str)]) -> Vec<String> {
    let text = fs::read_to_string(root().join("templates/solar-render.yml")).unwrap();
    // The job's credentials went to whatever `target` named.
    assert!(text.contains("    REGISTRY_HOST: $CI_REGISTRY\n"), "{text}");
    let (_, before) = text.split_once("before_script:\n    - |\n").unwrap();
    let (before, _) = before.split_once("\n\n").unwrap();
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("    - solar-render "));
    let filled = lines.map(|line| {
        let with = |text: String, (name, value): &(&str, &str)| {
            text.replace(&format!("$[[ inputs.{name} ]]"), value)
        };
        let line = inputs.iter().fold(format!("{before}\nsolar-render {line}"), with);
        assert!(!line.contains("$[["), "{line}");
        line
    });
    filled.collect()
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_components_scripts_run_in_the_image_with_a_shell_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path();
    testbed::run(
        Command::new("tar")
            .arg("-xzf")
            .arg(layer(&format!("{VERSION}-shell")))
            .arg("-C")
            .arg(image),
    );
    assert!(image.join("usr/share/doc/busybox-static/copyright").is_file());
    assert!(image.join("etc/ssl/certs/ca-certificates.crt").is_file());
    // A debug build is linked dynamically.
    for library in testbed::libraries(&binaries().join(TARGET).join("solar-render")) {
        let to = image.join(library.strip_prefix("/").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&library, to).unwrap();
    }
    let chart = image.join("builds/charts/shop");
    fs::create_dir_all(&chart).unwrap();
    fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n- {name: blog, version: 1.0.0, repository: 'file://../../blog'}\n",
    )
    .unwrap();
    let blog = image.join("builds/blog");
    fs::create_dir_all(&blog).unwrap();
    fs::write(
        blog.join("Chart.yaml"),
        "apiVersion: v2\nname: blog\nversion: 1.0.0\n",
    )
    .unwrap();
    let inputs = [
        ("dependencies", "build"),
        ("charts", "charts"),
        ("target", "oci-layout:$CI_PROJECT_DIR/out"),
        ("arguments", ""),
    ];
    let scripts = scripts(&inputs);
    let [check, publish] = scripts.as_slice() else {
        panic!("{scripts:?}")
    };
    let run = |script: &str| {
        let mut enter = Command::new("chroot");
        enter.arg(image).args(["/bin/sh", "-ec"]);
        enter.arg(format!("cd /builds; {script}"));
        enter
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("CI_PROJECT_DIR", "/builds");
        crate::said(&enter.output().unwrap())
    };
    let (code, text) = run(check);
    assert_eq!(code, Some(0), "{text}");
    assert!(!image.join("builds/out").exists(), "nothing is pushed by a check");
    let (code, text) = run(publish);
    assert_eq!(code, Some(0), "{text}");
    let variables = fs::read_to_string(image.join("builds/charts.env")).unwrap();
    assert!(variables.contains("CHARTS_CHANGED=1\n"), "{variables}");
    assert!(image.join("builds/out/shop/index.json").is_file());
    // What GitLab's runner sends to the shell uses these.
    let (code, text) = run(
        "for tool in cat chmod cp env grep mkdir mktemp rm sed sha256sum tar touch; do command -v $tool; done",
    );
    assert_eq!(code, Some(0), "{text}");
}
