//! `.Release`: its name and namespace.

use std::sync::Arc;

use super::functions::functions;
use super::limits::Limits;
use super::stack::on_large_stack;
use super::template_error::TemplateError;
use crate::diag::{Class, Diagnostic, Result};
use crate::funcs::Context;
use crate::source::{Location, Source, Span};
use crate::template::{Run, Set, Val};
use crate::value::{Map, Value};
use crate::world::World;

/// The maximum length of a name, in bytes.
pub const MAX_NAME: usize = 53;

/// Helm's default release name.
pub const DEFAULT_NAME: &str = "release-name";

/// The release that templates see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its name, checked by [`check_name`].
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Whether it is an upgrade; otherwise it is an installation.
    pub is_upgrade: bool,
    /// The revision, from 1.
    pub revision: i64,
}

impl Release {
    /// `.Release`
    pub fn to_map(&self) -> Map {
        let entries = [
            ("Name", Value::from(self.name.as_str())),
            ("Namespace", Value::from(self.namespace.as_str())),
            ("IsUpgrade", Value::Bool(self.is_upgrade)),
            ("IsInstall", Value::Bool(!self.is_upgrade)),
            ("Revision", Value::from(self.revision)),
            ("Service", Value::from("Helm")),
        ];
        entries.into_iter().collect()
    }
}

/// A release's name must fit names of Kubernetes objects.
///
/// # Errors
/// Class usage, with Helm's message and the position in the name.
pub fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        let message = "release name check failed: release name \"\": no name provided";
        return Err(Diagnostic::error(Class::Usage, message).into());
    }
    let part = |part: &str| {
        let edge = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'-');
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let bytes = part.as_bytes();
        edge(bytes.first()) && edge(bytes.last()) && part.bytes().all(fits)
    };
    if name.len() <= MAX_NAME && name.split('.').all(part) {
        return Ok(());
    }
    let message = format!(
        "release name check failed: release name {}: {}",
        crate::template::print::quote(name),
        name_rule()
    );
    Err(Diagnostic::error(Class::Usage, message).into())
}

/// Helm's words for a name that can't be a release's.
pub fn name_rule() -> String {
    format!(
        "invalid release name, must match regex ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ \
         and the length must not be longer than {MAX_NAME}"
    )
}

/// The name that the template of `--name-template` renders.
///
/// # Errors
/// Class template.
pub fn name_from_template(
    text: &str,
    world: &Arc<dyn World>,
    seed: Option<u64>,
    limits: &Limits,
) -> Result<String> {
    text_from_template("--name-template", text, || Val::Nil, world, seed, limits)
}

/// The text that a flag's template renders for some data.
///
/// # Errors
/// Class template.
pub fn text_from_template(
    flag: &str,
    text: &str,
    data: fn() -> Val,
    world: &Arc<dyn World>,
    seed: Option<u64>,
    limits: &Limits,
) -> Result<String> {
    const NAME: &str = "flag";
    let run = || {
        let source = Source::new(flag, text);
        let trees = functions()
            .parse(&Arc::from(NAME), &source)
            .map_err(TemplateError::Parse)?;
        let mut set = Set::default();
        for tree in trees {
            set.add(tree);
        }
        let _limited = limits.hold();
        let context = Context::new(Arc::clone(world), seed, false);
        let mut run = limits.on(Run::new(functions(), &set, context));
        let Some(tree) = run.find(NAME) else {
            return Ok(String::new());
        };
        let bytes = run.execute(&tree, data()).map_err(|error| TemplateError::Run {
            error,
            names: run.template_names(),
        })?;
        String::from_utf8(bytes).map_err(|_| {
            let place = Location::new(&source, Span::new(0, text.len()));
            Diagnostic::error(Class::Template, "the result is not UTF-8")
                .at(place)
                .into()
        })
    };
    on_large_stack(run)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Fixed;

    #[test]
    fn names_must_fit_objects() {
        let long = "a".repeat(53);
        for good in ["a", "a-b", "a.b-c.0", "0", long.as_str()] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "a".repeat(54);
        for bad in [
            "",
            "A",
            "a_b",
            "-a",
            "a-",
            "a..b",
            ".a",
            "a.",
            "a.-b",
            "a\n",
            "é",
            long.as_str(),
        ] {
            let problem = check_name(bad).unwrap_err();
            assert_eq!(problem.class(), Class::Usage);
            assert!(
                problem.to_string().starts_with("release name check failed: "),
                "{problem}"
            );
        }
    }

    #[test]
    fn a_name_can_be_a_template() {
        let world: Arc<dyn World> = Arc::new(Fixed::default());
        let name = name_from_template(
            "x-{{ \"abc\" | printf \"%.2s\" }}",
            &world,
            Some(1),
            &Limits::default(),
        );
        assert_eq!(name.unwrap(), "x-ab");
        assert!(name_from_template("{{ nope }}", &world, None, &Limits::default()).is_err());
        assert!(name_from_template("{{ index 1 2 }}", &world, None, &Limits::default()).is_err());
    }
}
