//! The calls that Argo CD makes.

use super::{Home, assert_same};
use crate::dependency::chart;

/// What Argo CD 3.6's repo-server calls, with its order of flags.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn argo_cds_calls_give_what_they_give_with_helm() {
    assert_same(&[
        "helm version --short",
        "helm repo add --username u --password p --insecure-skip-tls-verify --pass-credentials argo SERVER",
        "helm pull --destination . --version 0.1.0 --repo SERVER app && ls *.tgz",
        "helm pull --destination . --version 0.1.10 --username u --password p --insecure-skip-tls-verify --repo SERVER app --pass-credentials && ls *.tgz",
        "cd shop && helm dependency build",
        "cd shop && helm dependency build --insecure-skip-tls-verify --plain-http",
        "helm show values shop",
        "cd shop && helm show chart .",
        "cd shop && helm template . --name-template one",
        "cd shop && helm template . --name-template one --namespace ns --kube-version 1.34.1 --set greeting=a,hosts=null --set-string image.tag=2 --set-file notes=values.yaml --values values.yaml --api-versions v1 --api-versions monitoring.coreos.com/v1 --include-crds --skip-schema-validation --skip-tests",
        "cd shop && helm template . --name-template one --kube-version nonsense",
        "cd shop && helm template . --name-template one --values none.yaml",
        "helm registry logout 127.0.0.1:1",
    ]);
}

/// Argo CD builds dependencies when it reads these words.
#[test]
fn missing_dependencies_are_named_in_the_words_that_argo_cd_reads() {
    let home = Home::ours();
    let dependency = "{name: sub, version: 1.0.0, repository: 'https://h.example.com'}".to_owned();
    chart(&home.at("c"), "c", "1.0.0", &[dependency]);
    let run = home.sh("cd c && helm template . --name-template one");
    assert!(
        run.code == 1
            && run
                .stderr
                .contains("found in Chart.yaml, but missing in charts/ directory"),
        "{}",
        run.stderr
    );
}
