//! Annotations: workflow commands that GitHub shows at a file and line of a change.

use crate::diag::{Diagnostic, Severity};

/// One line: `::error file=…,line=…,col=…,title=…::message`.
pub(crate) fn annotation(one: &Diagnostic, title: Option<&str>) -> String {
    let kind = match one.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut properties = Vec::new();
    if let Some(location) = &one.location {
        let position = location.position();
        properties.push(format!("file={}", escaped(location.source.name(), true)));
        properties.push(format!("line={}", position.line));
        properties.push(format!("col={}", position.column));
    }
    properties.extend(title.map(|title| format!("title={}", escaped(title, true))));
    let gap = if properties.is_empty() { "" } else { " " };
    let details = one.notes.iter().chain(&one.hints).map(String::as_str);
    let lines: Vec<&str> = std::iter::once(one.message.as_str()).chain(details).collect();
    let message = escaped(&lines.join("\n"), false);
    format!("::{kind}{gap}{}::{message}\n", properties.join(","))
}

/// Escapes text as the runner's workflow commands require.
fn escaped(text: &str, is_property: bool) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    if is_property {
        text.replace(':', "%3A").replace(',', "%2C")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Class;
    use crate::source::{Location, Source, Span};

    #[test]
    fn an_annotation_names_file_line_and_column() {
        let source = Source::new("charts/a,b.yaml", "x: 1\ny: 2\n");
        let one = Diagnostic::error(Class::Config, "50 % is wrong")
            .at(Location::new(&source, Span::new(8, 9)))
            .hint("take 1");
        assert_eq!(
            annotation(&one, Some("shop")),
            "::error file=charts/a%2Cb.yaml,line=2,col=4,title=shop::50 %25 is wrong%0Atake 1\n"
        );
        assert_eq!(
            annotation(&Diagnostic::warning(Class::Chart, "w"), None),
            "::warning::w\n"
        );
    }
}
