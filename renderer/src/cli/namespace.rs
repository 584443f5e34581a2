//! The release's namespace, as Helm determines it: `--namespace`, HELM_NAMESPACE, the kubeconfig's context.
//!
//! The kubeconfig is only read for the namespace here.

use std::collections::BTreeSet;
use std::path::Path;

use super::args::namespace::NamespaceFlags;
use super::context::Context;
use crate::cluster::kubeconfig::{MAX_FILE, paths};
use crate::diag::{Class, Diagnostic, Result};
use crate::fsio;
use crate::source::Source;
use crate::value::Value;
use crate::world::World;
use crate::yaml;

/// The default namespace.
const DEFAULT: &str = "default";

/// The namespace of a release. An empty flag or variable counts as absent: `-n "$UNSET"`.
pub(crate) fn namespace(flags: &NamespaceFlags, context: &Context<'_>) -> String {
    let given = flags.namespace.clone().filter(|given| !given.is_empty());
    given
        .or_else(|| context.world.env("HELM_NAMESPACE"))
        .or_else(|| of_context(flags, context))
        .unwrap_or_else(|| DEFAULT.to_owned())
}

/// The namespace of the kubeconfig's context. As in Helm, an unreadable kubeconfig is not an error; unlike in Helm, it
/// is reported.
fn of_context(flags: &NamespaceFlags, context: &Context<'_>) -> Option<String> {
    match read_all(flags, context.world) {
        Ok(files) => chosen(&files, flags, context.world),
        Err(problem) => {
            for one in problem.into_vec() {
                let why = "no namespace is taken from the kubeconfig";
                let one = Diagnostic::warning(Class::Values, one.to_string());
                context.printer.warn(&one.note(why));
            }
            None
        }
    }
}

/// All existing files, in descending precedence.
fn read_all(flags: &NamespaceFlags, world: &dyn World) -> Result<Vec<Value>> {
    let paths = paths(flags.kubeconfig.as_deref(), world);
    let there = paths.iter().filter(|path| path.is_file());
    there.map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Value> {
    let source = fsio::read_text(path, MAX_FILE, Class::Values)?;
    check_contexts(&source, path)
}

/// Checks what kubectl would refuse: another kind, or two contexts with the same name.
fn check_contexts(source: &std::sync::Arc<Source>, path: &Path) -> Result<Value> {
    let config = yaml::parse(source, Class::Values, &yaml::Limits::default())?.into_value();
    let is = |key: &str, expected: &str| text(&config, key).is_none_or(|found| found == expected);
    let wrong = |what: String| {
        let message = format!("{}: {what}", path.display());
        Err(Diagnostic::error(Class::Values, message).into())
    };
    if !is("kind", "Config") || !is("apiVersion", "v1") {
        return wrong("not a kubeconfig: expected apiVersion v1, kind Config".to_owned());
    }
    let mut names = BTreeSet::new();
    for name in contexts(&config).iter().filter_map(|one| text(one, "name")) {
        if !names.insert(name) {
            return wrong(format!("two contexts are named {name:?}"));
        }
    }
    Ok(config)
}

fn contexts(config: &Value) -> &[Value] {
    match config.as_map().and_then(|map| map.get("contexts")) {
        Some(Value::List(contexts)) => contexts,
        _ => &[],
    }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    let found = value.as_map()?.get(key)?.as_str()?;
    Some(found).filter(|text| !text.is_empty())
}

/// The first file that has the context decides, even if its context has no namespace.
fn chosen(files: &[Value], flags: &NamespaceFlags, world: &dyn World) -> Option<String> {
    let name = flags.kube_context.clone().filter(|name| !name.is_empty());
    let current = || files.iter().find_map(|file| text(file, "current-context"));
    let name = name
        .or_else(|| world.env("HELM_KUBECONTEXT"))
        .or_else(|| current().map(str::to_owned))?;
    let mut named = files
        .iter()
        .flat_map(contexts)
        .filter(|one| text(one, "name") == Some(&name));
    let context = named.next()?.as_map()?.get("context")?;
    text(context, "namespace").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Fixed;

    /// Recorded from `helm template` 4.3.1.
    #[test]
    fn the_first_file_with_the_context_decides() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let one = write(
            "one",
            "current-context: a\ncontexts:\n- {name: a, context: {namespace: one-a}}\n- {name: n, context: {}}\n",
        );
        let two = write(
            "two",
            "current-context: b\ncontexts:\n- {name: a, context: {namespace: two-a}}\n- {name: b, context: {namespace: two-b}}\n- {name: n, context: {namespace: two-n}}\n",
        );
        let cases = [
            (one.clone(), "", Some("one-a")),
            (format!("{one}:{two}"), "", Some("one-a")),
            (format!("{two}:{one}"), "", Some("two-b")),
            (format!("/nowhere::{two}"), "", Some("two-b")),
            (format!("{one}:{two}"), "b", Some("two-b")),
            (format!("{one}:{two}"), "n", None),
            (one, "missing", None),
        ];
        for (kubeconfig, context, expected) in cases {
            let world = Fixed {
                env: [("KUBECONFIG".to_owned(), kubeconfig.clone())].into(),
                ..Fixed::default()
            };
            let flags = NamespaceFlags {
                kube_context: Some(context.to_owned()),
                ..NamespaceFlags::default()
            };
            let files = read_all(&flags, &world).unwrap();
            assert_eq!(
                chosen(&files, &flags, &world).as_deref(),
                expected,
                "{kubeconfig} {context}"
            );
        }
        let pod = write("pod", "kind: Pod\n");
        assert!(read(Path::new(&pod)).is_err());
        let twice = write(
            "twice",
            "current-context: a\ncontexts:\n- {name: a, context: {namespace: x}}\n- {name: a}\n",
        );
        assert!(read(Path::new(&twice)).is_err());
    }
}
