//! The filters of blueprints, in addition to minijinja's own.

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value};

use super::convert::from_template;
use crate::value;
use crate::yaml;

/// The maximum indentation of a filter.
const MAX_INDENT: usize = 100;

/// Registers our filters.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_filter("literal", literal);
    environment.add_filter("indent", indent);
    environment.add_filter("toYaml", to_yaml);
    environment.add_filter("toJson", to_json);
}

/// `literal`: a value as one line of YAML (and JSON) that is safe inside a Helm template.
///
/// With `indent=N` the result follows a key's colon: a block on lines of its own, indented by N, or, for scalars and
/// empty maps and lists, a space and one line.
#[allow(clippy::needless_pass_by_value, reason = "minijinja's signature")]
fn literal(value: Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    options.assert_all_used()?;
    check_indent(indent)?;
    let value = from_template(&value)?;
    let is_block = match &value {
        value::Value::Map(map) => !map.is_empty(),
        value::Value::List(list) => !list.is_empty(),
        _ => false,
    };
    match indent {
        None => Ok(yaml::write_flow(&value, true)),
        Some(_) if !is_block => Ok(format!(" {}", yaml::write_flow(&value, true))),
        Some(indent) => {
            let text = yaml::write_with(
                &value,
                &yaml::Options {
                    template_safe: true,
                    indent,
                    ..yaml::Options::default()
                },
            );
            // One line break is the template's own; more may belong to a string.
            Ok(format!("\n{}", text.strip_suffix('\n').unwrap_or(&text)))
        }
    }
}

/// `indent(N)`: indents every line but the first and empty ones by N, as Jinja's; `indent(N, true)` also the first.
#[allow(clippy::needless_pass_by_value, reason = "minijinja's signature")]
fn indent(text: String, width: usize, first: Option<bool>) -> Result<String, Error> {
    check_indent(Some(width))?;
    let margin = " ".repeat(width);
    let lines = text.split('\n').enumerate().map(|(index, line)| {
        let indented = !line.is_empty() && (index > 0 || first == Some(true));
        format!("{}{line}", if indented { margin.as_str() } else { "" })
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

fn check_indent(indent: Option<usize>) -> Result<(), Error> {
    if indent.is_some_and(|indent| indent > MAX_INDENT) {
        let message = format!("an indentation above {MAX_INDENT} makes no sense");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    Ok(())
}

/// `toYaml`: as Helm's function prints it, for files that Helm does not template.
#[allow(clippy::needless_pass_by_value, reason = "minijinja's signature")]
fn to_yaml(value: Value) -> Result<String, Error> {
    let text = yaml::write(&from_template(&value)?);
    // One line break is the template's own; more may belong to a string.
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// `toJson`: as Helm's function prints it.
#[allow(clippy::needless_pass_by_value, reason = "minijinja's signature")]
fn to_json(value: Value) -> Result<String, Error> {
    Ok(from_template(&value)?.to_json())
}
