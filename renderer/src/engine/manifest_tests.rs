//! Manifests, recorded from `helm template` 4.3.1.

use std::sync::Arc;

use super::manifest::{Crd, ManifestFilter, Manifests, split};
use crate::chart::body::Body;
use crate::diag::Class;

fn texts(list: &[(&str, &str)]) -> Vec<(Arc<str>, String)> {
    let list = list.iter();
    list.map(|(name, text)| (Arc::from(*name), (*text).to_owned()))
        .collect()
}

fn pieces(text: &str) -> Vec<&str> {
    split(text).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn texts_are_split_as_in_helm() {
    let cases: &[(&str, &[&str])] = &[
        ("a: 1\n---\nb: 2\n", &["a: 1\n", "b: 2\n"]),
        ("\n\n---\n---  \n\na: 1\n---", &["a: 1\n"]),
        ("--- # x\na: 1", &["# x\na: 1"]),
        ("---a: 1\n------\n", &["a: 1\n", "---\n"]),
        ("a: |\n  x\n---y\n ---\n", &["a: |\n  x\n", "y\n ---\n"]),
        ("  a: 1\n", &["a: 1\n"]),
        ("---\ta: 1", &["a: 1"]),
        ("\u{a0}---\nx", &["x"]),
        ("", &[]),
        (" \n", &[]),
        ("---", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(pieces(text), *expected, "{text:?}");
    }
}

#[test]
fn manifests_come_in_install_order_and_hooks_behind_them() {
    let hook = |kind: &str, events: &str| {
        format!(
            "kind: {kind}\nmetadata: {{name: h, annotations: {{helm.sh/hook: \"{events}\", helm.sh/hook-weight: \"-5\"}}}}\n"
        )
    };
    let job = hook("Job", "Test, pre-install");
    let pod = hook("Pod", "test-success");
    let unknown = hook("Pod", "test,whenever");
    let list = texts(&[
        (
            "c/templates/z.yaml",
            "kind: Namespace\n---\nkind: Zed\n---\nkind: Able\n",
        ),
        (
            "c/templates/a.yaml",
            "# only a comment\n---\nkind: Service\nmetadata: {name: s}\n\n",
        ),
        ("c/templates/b.yaml", &job),
        ("c/templates/c.yaml", &pod),
        ("c/templates/d.yaml", &unknown),
        ("c/templates/_x.tpl", "kind: {"),
        ("c/templates/empty.yaml", " \n"),
        ("c/templates/NOTES.txt", "{ notes"),
        ("c/charts/d/templates/NOTES.txt", "others"),
    ]);
    let all = Manifests::new("c", list, false).unwrap();
    let kinds: Vec<&str> = all.manifests.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["Namespace", "Service", "", "Able", "Zed"]);
    let hooks: Vec<&str> = all.hooks.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(hooks, ["Pod", "Job"]);
    assert_eq!(all.notes.as_deref(), Some("{ notes"));
    let found = all.hooks[1].hook.clone().unwrap();
    assert_eq!((found.events, found.weight), (vec!["test", "pre-install"], -5));
    let expected = "---\n# Source: c/templates/z.yaml\nkind: Namespace\n\n---\n# Source: c/templates/a.yaml\nkind: \
                    Service\nmetadata: {name: s}\n\n\n---\n# Source: c/templates/a.yaml\n# only a comment\n\n---\n# \
                    Source: c/templates/z.yaml\nkind: Able\n\n---\n# Source: c/templates/z.yaml\nkind: Zed\n";
    let no_hooks = ManifestFilter {
        no_hooks: true,
        skip_tests: false,
    };
    assert_eq!(all.print(&[], no_hooks), expected);
    let skip_tests = ManifestFilter {
        no_hooks: false,
        skip_tests: true,
    };
    assert_eq!(all.print(&[], skip_tests), expected);
    let whole = all.print(&[], ManifestFilter::default());
    assert_eq!(
        whole,
        format!(
            "{expected}---\n# Source: c/templates/c.yaml\n{pod}\n---\n# Source: c/templates/b.yaml\n{job}\n"
        )
    );
}

#[test]
fn crds_come_first_and_nothing_is_a_line_break() {
    let crd = Crd {
        name: "c/crds/x.yaml".to_owned(),
        body: Body::new("kind: X\n\n".into()),
    };
    let all = Manifests::default();
    assert_eq!(
        all.print(&[crd], ManifestFilter::default()),
        "---\n# Source: c/crds/x.yaml\nkind: X\n"
    );
    assert_eq!(all.print(&[], ManifestFilter::default()), "\n");
}

#[test]
fn an_invalid_manifest_is_an_error_in_the_rendered_text() {
    let cases = [
        ("a: 1\n---\nb: [\n", 3, "YAML parse error on c/templates/a.yaml: "),
        (
            "a: 1\n---\nkind: [a]\n",
            3,
            "cannot unmarshal array into Go struct field SimpleHead.kind of type string",
        ),
        (
            "hello",
            1,
            "cannot unmarshal string into Go value of type util.SimpleHead",
        ),
        (
            "metadata: {annotations: {a: {}}}",
            1,
            "object into Go struct field .metadata.annotations of type string",
        ),
    ];
    for (text, line, words) in cases {
        let problem = Manifests::new("c", texts(&[("c/templates/a.yaml", text)]), false).unwrap_err();
        let one = problem.iter().next().unwrap();
        assert_eq!(one.class, Class::Template);
        assert!(one.message.contains(words), "{}", one.message);
        assert!(one.location.as_ref().unwrap().position().line >= line, "{text}");
    }
}

#[test]
fn a_head_is_decoded_as_in_go() {
    let text = "Kind: Upper\nkind: lower\nmetadata:\n  name: 1\n  annotations: {helm.sh/hook: test, a: true, b: 1.5, c: null}\n";
    let all = Manifests::new("c", texts(&[("c/templates/a.yaml", text)]), false).unwrap();
    let hook = &all.hooks[0];
    assert_eq!((hook.kind.as_str(), hook.name.as_str()), ("lower", "1"));
    assert_eq!(hook.object().as_map().map(crate::value::Map::len), Some(3));
}
