//! `repo` and `search`, and values from servers.

use std::collections::BTreeMap;
use std::fs;

use super::assert_same;
use crate::dependency::{chart, web};
use crate::{Run, command};

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn repositories_are_kept_and_searched_as_helm_does() {
    assert_same(&[
        "helm repo list",
        "helm repo list -o json",
        "helm repo list -o yaml",
        "helm repo update",
        "helm search repo x",
        "helm repo remove x",
        "helm repo add mine SERVER",
        "helm repo add mine SERVER",
        "helm repo add mine SERVER/x",
        "helm repo add mine SERVER/ --force-update",
        "helm repo add bad SERVER/none",
        "helm repo add a/b SERVER",
        "helm repo add gone https://kubernetes-charts.storage.googleapis.com",
        "helm repo add x",
        "helm repo add two SERVER --username u --password p --pass-credentials",
        "cat .config/helm/repositories.yaml",
        "stat -c %a .config/helm/repositories.yaml .config/helm/repositories.lock",
        "find .cache/helm .config/helm -type f | sort",
        "cat .cache/helm/repository/mine-index.yaml .cache/helm/repository/mine-charts.txt",
        "helm repo list",
        "helm repo list --no-headers",
        "helm repo ls -o json",
        "helm repo list -o yaml",
        "helm repo update mine",
        "helm repo up nope",
        "helm search repo",
        "helm search repo app",
        "helm search repo PAGES",
        "helm search repo http -l",
        "helm search repo -l --devel",
        "helm search repo --version '>0.1.5'",
        "helm search repo --version '>9'",
        "helm search repo --version 'not a range'",
        "helm search repo -o json",
        "helm search repo -o yaml",
        "helm search repo -o table",
        "helm search repo zzz",
        "helm search repo zzz -o json",
        "helm search repo zzz --fail-on-no-result",
        "helm search repo -r '^app'",
        "helm search repo -r '('",
        "helm search repo app --max-col-width 10",
        "helm search repo -o json -l mine/",
        "helm show chart mine/app",
        "helm show values mine/app --version 0.1.0",
        "helm template x mine/app --version '>0.1.5'",
        "helm pull mine/app && ls *.tgz",
        "helm pull mine/none",
        "helm pull nope/app",
        "helm template x mine/app --version 9",
        "helm repo remove nope",
        "helm repo remove two nope",
        "helm repo rm two",
        "cat .config/helm/repositories.yaml",
        "find .cache/helm/repository -type f | sort",
        "HELM_REPOSITORY_CONFIG=$HOME/list helm repo add other SERVER && ls",
        "HELM_REPOSITORY_CACHE=$HOME/indexes helm repo update && ls indexes",
        "helm search hub x",
    ]);
}

/// Values were refused by URL once.
#[test]
fn values_come_from_urls_too_and_credentials_stay_with_their_server() {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    chart(&shop, "shop", "1.0.0", &[]);
    fs::write(shop.join("templates/x.yaml"), "v: {{ .Values.v }}\n").unwrap();
    // user:hunter2
    let files = BTreeMap::from([("/v.yaml".to_owned(), b"v: far\n".to_vec())]);
    let server = web(files, Some("Basic dXNlcjpodW50ZXIy"));
    let run = |url: &str| {
        Run::of(
            command()
                .args(["template", "r"])
                .arg(&shop)
                .args(["-f", url, "--retries", "0", "-v"]),
        )
    };
    let good = run(&format!("http://user:hunter2@{}/v.yaml", server.host()));
    assert!(
        good.code == 0 && good.stdout.ends_with("v: far\n"),
        "{}",
        good.stderr
    );
    assert!(!good.stderr.contains("hunter2"), "{}", good.stderr);
    let closed = run(&format!("http://{}/v.yaml", server.host()));
    assert_eq!(closed.code, 4, "{}", closed.stderr);
    let missing = run(&format!("http://user:hunter2@{}/none.yaml", server.host()));
    assert!(
        missing.code == 4 && !missing.stderr.contains("hunter2"),
        "{}",
        missing.stderr
    );
}
