//! The control plane is a real one, and leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::process::{Command, Stdio};
use std::time::Duration;

use testbed::{Cluster, ClusterSetup, eventually};

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.testbed.example.com}
spec:
  group: testbed.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
";

const OWNER: &str = "
apiVersion: testbed.example.com/v1
kind: Thing
metadata: {name: owner, namespace: default}
";

const JOB: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: work, namespace: default, ownerReferences: [{apiVersion: testbed.example.com/v1, kind: Thing, name: owner, uid: UID}]}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: work, image: none}]
";

const ENDED: &str = r#"{"status":{"phase":"Succeeded","containerStatuses":[{"name":"work","image":"x","imageID":"","ready":false,
"restartCount":0,"state":{"terminated":{"exitCode":0,"message":"done"}}}]}}"#;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn jobs_run_owners_take_what_they_own_along_and_rbac_holds() {
    let cluster = Cluster::start(&ClusterSetup {
        crds: CRD,
        audit: true,
    });
    cluster.apply(OWNER);
    let uid = cluster.kubectl(&["get", "thing", "owner", "-o", "jsonpath={.metadata.uid}"]);
    cluster.apply(&JOB.replace("UID", &uid));
    let pod = eventually("the Job's pod", LIMIT, || {
        let names = cluster.kubectl(&["get", "pods", "-l", "job-name=work", "-o", "name"]);
        Some(names.trim().to_owned()).filter(|name| !name.is_empty())
    });
    cluster.kubectl(&["patch", &pod, "--subresource=status", "--type=merge", "-p", ENDED]);
    cluster.kubectl(&["wait", "--for=condition=Complete", "job/work", "--timeout=60s"]);

    let restricted = cluster.service_account("default", "nobody");
    let mut list = cluster.kubectl_command(&["get", "secrets"]);
    let refused = list.env("KUBECONFIG", &restricted).output().unwrap();
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("cannot list resource \"secrets\""),
        "{refused:?}"
    );
    let asked = cluster.requests();
    assert!(asked.iter().any(
        |event| event["user"]["username"] == "system:serviceaccount:default:nobody"
            && event["objectRef"]["resource"] == "secrets"
            && event["responseStatus"]["code"] == 403
    ));

    cluster.kubectl(&["delete", "thing", "owner"]);
    cluster.kubectl(&["wait", "--for=delete", "job/work", "--timeout=60s"]);
    let folder = cluster.home().to_owned();
    assert!(folder.is_dir());
    drop(cluster);
    assert!(!folder.exists());
}

/// Set when the test below runs this test in a separate process, which it kills.
const IS_KILLED: &str = "TESTBED_IS_KILLED";

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn starts_a_cluster_and_waits_to_be_killed() {
    if std::env::var_os(IS_KILLED).is_none() {
        return;
    }
    let cluster = Cluster::start(&ClusterSetup::default());
    println!("folder {}", cluster.home().display());
    std::thread::sleep(LIMIT);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn nothing_is_left_when_the_test_is_killed() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "starts_a_cluster_and_waits_to_be_killed",
            "--nocapture",
        ])
        .env(IS_KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(child.stdout.take().unwrap());
    let folder = std::io::BufRead::lines(output)
        .map_while(Result::ok)
        .find_map(|line| line.split_once("folder ").map(|(_, path)| path.to_owned()))
        .unwrap();
    let using = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines
            .filter(|line| String::from_utf8_lossy(line).contains(&folder))
            .count()
    };
    // etcd, the API server, the controller-manager and the shell that watches over them.
    assert_eq!(using(), 4);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("nothing left", LIMIT, || {
        (using() == 0 && !std::path::Path::new(&folder).exists()).then_some(())
    });
}
