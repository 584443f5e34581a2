//! The release's namespace: the flag, HELM_NAMESPACE, the kubeconfig's context. Each answer is that of `helm template`
//! 4.3.1 to the same call.

use std::path::Path;

use crate::{Run, command};

const KUBECONFIG: &str = "apiVersion: v1
kind: Config
current-context: a
contexts:
- name: a
  context: {cluster: x, user: u, namespace: from-a}
- name: b
  context: {cluster: x, user: u, namespace: from-b}
- name: none
  context: {cluster: x, user: u}
";

fn write_chart(folder: &Path) {
    std::fs::create_dir_all(folder.join("c/templates")).unwrap();
    std::fs::write(
        folder.join("c/Chart.yaml"),
        "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    )
    .unwrap();
    std::fs::write(
        folder.join("c/templates/a.yaml"),
        "ns: {{ .Release.Namespace }}\n",
    )
    .unwrap();
}

#[test]
fn the_namespace_is_the_flags_then_the_variables_then_the_contexts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_chart(folder);
    std::fs::write(folder.join("kc"), KUBECONFIG).unwrap();
    std::fs::write(folder.join("bad"), "a: [").unwrap();
    std::fs::create_dir(folder.join(".kube")).unwrap();
    std::fs::write(folder.join(".kube/config"), KUBECONFIG.replace("from-", "home-")).unwrap();
    let kc = ("KUBECONFIG", "kc");
    let cases: &[(&[(&str, &str)], &[&str], &str)] = &[
        (&[], &[], "default"),
        (&[("HELM_NAMESPACE", "env")], &[], "env"),
        (&[kc], &[], "from-a"),
        (&[kc, ("HELM_NAMESPACE", "env")], &[], "env"),
        (&[kc, ("HELM_NAMESPACE", "env")], &["-n", "flag"], "flag"),
        (&[kc], &["-n", ""], "from-a"),
        (&[kc], &["--kube-context", "b"], "from-b"),
        (&[kc, ("HELM_KUBECONTEXT", "b")], &[], "from-b"),
        (
            &[kc, ("HELM_KUBECONTEXT", "b")],
            &["--kube-context", "a"],
            "from-a",
        ),
        (&[kc], &["--kube-context", "none"], "default"),
        (&[kc], &["--kube-context", "missing"], "default"),
        (&[], &["--kubeconfig", "kc"], "from-a"),
        (&[("HOME", ".")], &["--kubeconfig", "nowhere"], "default"),
        (&[("HOME", ".")], &[], "home-a"),
        (&[("KUBECONFIG", "bad")], &[], "default"),
        (&[("KUBECONFIG", "nowhere:kc")], &[], "from-a"),
    ];
    for (env, flags, expected) in cases {
        let mut template = command();
        template.current_dir(folder).envs(env.iter().copied());
        let run = Run::of(template.args(["template", "c"]).args(*flags));
        assert_eq!(
            run.stdout,
            format!("---\n# Source: c/templates/a.yaml\nns: {expected}\n"),
            "{env:?} {flags:?} {}",
            run.stderr
        );
        assert_eq!(
            run.stderr.is_empty(),
            !env.contains(&("KUBECONFIG", "bad")),
            "{}",
            run.stderr
        );
    }
}
