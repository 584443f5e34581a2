//! Pods really run on a node.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::path::Path;

use testbed::{ClusterSetup, Image, Node, Registry, Setup, Tool};

const JOB: &str = r#"
apiVersion: batch/v1
kind: Job
metadata: {name: work, namespace: default}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: work
        image: localhost/work:1
        imagePullPolicy: Never
        args: [-c, 'echo "as $UID at $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT" >/dev/termination-log
          && exec 3<>/dev/tcp/$KUBERNETES_SERVICE_HOST/$KUBERNETES_SERVICE_PORT']
        securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"#;

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_pod_runs_reaches_the_api_and_says_something_in_the_end() {
    let image = Image::of_program("localhost/work:1", "bash", Path::new("/bin/bash"), "65532:65532");
    let node = Node::start(&ClusterSetup::default(), &[image]);
    let cluster = node.cluster();
    cluster.apply(JOB);
    cluster.kubectl(&["wait", "--for=condition=Complete", "job/work", "--timeout=120s"]);
    let message = "jsonpath={.items[0].status.containerStatuses[0].state.terminated.message}";
    let message = cluster.kubectl(&["get", "pods", "-l", "job-name=work", "-o", message]);
    assert_eq!(message, "as 65532 at 10.96.0.1:443\n");
    the_nodes_registry_goes_away_and_comes_back(&node);

    let folder = cluster.home().to_owned();
    let cgroups = std::fs::read_to_string(folder.join("cgroups")).unwrap();
    drop(node);
    assert!(!folder.exists());
    assert!(cgroups.lines().all(|path| !Path::new(path).exists()), "{cgroups}");
}

fn the_nodes_registry_goes_away_and_comes_back(node: &Node) {
    let mut registry = Registry::with(&Setup {
        network: Some(node.network()),
        ..Setup::default()
    });
    let host = registry.host().to_owned();
    assert!(host.starts_with("10.88.0.1:"), "{host}");
    let asks = || {
        let mut crane = node.command(&Tool::Crane.path());
        crane
            .args(["catalog", "--insecure", &host])
            .status()
            .unwrap()
            .success()
    };
    assert!(asks());
    registry.stop();
    assert!(!asks());
    registry.start_again();
    assert!(asks());
}
