//! Certificates that templates make, compared with Helm's by OpenSSL.

use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testbed::Tool;

use crate::command;

const TEMPLATE: &str = "
{{- $ca := genCAWithKey \"my-ca\" 365 .Values.key }}
{{- $ca = buildCustomCert (b64enc $ca.Cert) (b64enc $ca.Key) }}
{{- $leaf := genSignedCertWithKey \"a.example\" (list \"10.0.0.1\" \"::1\") (list \"b.example\" \"*.c.example\") 9 $ca .Values.key }}
{{- $self := genSelfSignedCertWithKey \"é & 'x'\" nil (list \"d\") -3 .Values.key }}
{{- $nameless := genSignedCertWithKey \"\" (list \"10.0.0.1\") nil 20000 $ca .Values.key }}
ca: {{ $ca.Cert | b64enc }}
leaf: {{ $leaf.Cert | b64enc }}
self: {{ $self.Cert | b64enc }}
nameless: {{ $nameless.Cert | b64enc }}
";

fn openssl(folder: &Path, arguments: &[&str]) -> String {
    testbed::run(Command::new("openssl").current_dir(folder).args(arguments))
}

/// The certificates by name, as files in a folder.
fn write(output: &str, folder: &Path) {
    fs::create_dir(folder).unwrap();
    let lines = output.lines().filter(|line| !line.starts_with('#'));
    for (name, text) in lines.filter_map(|line| line.split_once(": ")) {
        fs::write(folder.join(name), STANDARD.decode(text).unwrap()).unwrap();
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn certificates_have_helms_fields_and_pass_strict_checks() {
    let kinds: [&[&str]; 5] = [
        &["-algorithm", "RSA"],
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
        &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
        &["-algorithm", "ED25519"],
    ];
    for kind in kinds {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let templates = at.join("chart/templates");
        fs::create_dir_all(&templates).unwrap();
        fs::write(
            at.join("chart/Chart.yaml"),
            "apiVersion: v2\nname: a\nversion: 1.0.0\n",
        )
        .unwrap();
        fs::write(templates.join("a.yaml"), TEMPLATE).unwrap();
        openssl(at, &[&["genpkey", "-out", "key.pem"], kind].concat());
        let arguments = ["template", "chart", "--set-file", "key=key.pem"];
        let ours = testbed::run(command().current_dir(at).args(arguments));
        let frozen = testbed::run(command().current_dir(at).args(arguments).arg("--frozen"));
        let helm = testbed::run(Tool::Helm.command(at).args(arguments));
        for (output, name) in [(ours, "ours"), (frozen, "frozen"), (helm, "helm")] {
            write(&output, &at.join(name));
        }
        let strict = ["verify", "-x509_strict", "-no_check_time", "-CAfile", "ca"];
        for name in ["ours", "frozen"] {
            for leaf in ["ca", "leaf", "nameless"] {
                openssl(&at.join(name), &[&strict[..], &[leaf]].concat());
            }
        }
        let differ = "no_serial,no_validity,no_sigdump";
        for name in ["ca", "leaf", "self", "nameless"] {
            let text = |maker: &str| {
                let arguments = [
                    "x509",
                    "-noout",
                    "-text",
                    "-nameopt",
                    "multiline,show_type",
                    "-certopt",
                    differ,
                    "-in",
                ];
                openssl(&at.join(maker), &[&arguments[..], &[name]].concat())
            };
            assert_eq!(text("ours"), text("helm"), "{kind:?} {name}");
            assert_eq!(text("frozen"), text("helm"), "{kind:?} {name}");
        }
    }
}
