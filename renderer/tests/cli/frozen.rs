//! `template --frozen`: the same bytes in every run, and what that means for secrets.

use std::fs;

use crate::{Run, command};

const SECRETS: &str = "apiVersion: v1
kind: Secret
metadata: {name: a}
stringData:
  password: {{ randAlphaNum 16 }}
  line: {{ htpasswd \"user\" \"password\" }}
  site: {{ derivePassword 1 \"long\" \"password\" \"user\" \"example.com\" }}
  text: {{ encryptAES \"key\" \"text\" }}
  key: {{ genPrivateKey \"ecdsa\" | b64enc }}
  cert: {{ (genSelfSignedCertWithKey \"a\" nil nil 1 (genPrivateKey \"ed25519\")).Cert | b64enc }}
  id: {{ uuidv4 }}
  time: {{ now | quote }}
";
const PREDICTABLE: [&str; 6] = [
    "encryptAES",
    "genPrivateKey",
    "genSelfSignedCertWithKey",
    "htpasswd",
    "randAlphaNum",
    "uuidv4",
];

fn template(text: &str, arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let templates = folder.path().join("templates");
    fs::create_dir(&templates).unwrap();
    fs::write(
        folder.path().join("Chart.yaml"),
        "apiVersion: v2\nname: a\nversion: 1.0.0\n",
    )
    .unwrap();
    fs::write(templates.join("a.yaml"), text).unwrap();
    let run = Run::of(command().arg("template").arg(folder.path()).args(arguments));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

#[test]
fn frozen_secrets_are_the_same_in_every_run_and_reported_as_public() {
    let runs = [(); 2].map(|()| template(SECRETS, &["--frozen"]));
    assert_eq!(runs[0].stdout, runs[1].stdout);
    let expected = format!(
        "secrets from these functions are public: {}\n",
        PREDICTABLE.join(", ")
    );
    assert!(runs[0].stderr.contains(&expected), "{}", runs[0].stderr);
    assert!(runs[0].stderr.contains("never install it"), "{}", runs[0].stderr);
    let run = template(SECRETS, &["--frozen", "-o", "json"]);
    let json = run.json();
    assert_eq!(json["predictable"], serde_json::json!(PREDICTABLE));
    let impure = json["impure"].as_array().unwrap();
    assert!(impure.contains(&"now".into()) && PREDICTABLE.iter().all(|&name| impure.contains(&name.into())));
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
}

#[test]
fn nothing_is_public_without_frozen_or_without_secrets() {
    for (text, arguments) in [
        (SECRETS, &["-v"] as &[&str]),
        ("a: {{ now | quote }}", &["-v", "--frozen"]),
    ] {
        let run = template(text, arguments);
        assert!(
            run.stderr.contains("differ between runs") && !run.stderr.contains("public"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("--frozen"), "{}", run.stderr);
    }
    assert_eq!(
        template(SECRETS, &["-o", "json"]).json()["predictable"],
        serde_json::json!([])
    );
}
