//! Pods really run on a node.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::path::Path;

use testbed::{ClusterSetup, Image, Node};

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
fn a_pod_runs_reaches_the_api_and_says_something_in_the_end() {
    let image = Image::of_program("localhost/work:1", "bash", Path::new("/bin/bash"), "65532:65532");
    let node = Node::start(&ClusterSetup::default(), &[image]);
    let cluster = node.cluster();
    cluster.apply(JOB);
    cluster.kubectl(&["wait", "--for=condition=Complete", "job/work", "--timeout=120s"]);
    let message = "jsonpath={.items[0].status.containerStatuses[0].state.terminated.message}";
    let message = cluster.kubectl(&["get", "pods", "-l", "job-name=work", "-o", message]);
    assert_eq!(message, "as 65532 at 10.96.0.1:443\n");
    let folder = cluster.home().to_owned();
    let cgroups = std::fs::read_to_string(folder.join("cgroups")).unwrap();
    drop(node);
    assert!(!folder.exists());
    assert!(cgroups.lines().all(|path| !Path::new(path).exists()), "{cgroups}");
}
