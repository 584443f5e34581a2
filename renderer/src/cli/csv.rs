//! Parses flags with a list in one argument: CSV fields, as in Helm's command line.

use crate::diag::{Class, Diagnostic, Result};
use crate::source::{Location, Source, Span};

/// All values of a flag that may be repeated.
pub(crate) fn fields(flag: &str, given: &[String]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for text in given.iter().filter(|text| !text.is_empty()) {
        line(flag, text, &mut out)?;
    }
    Ok(out)
}

/// A text as one field.
pub(crate) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The fields of the first line.
fn line(flag: &str, text: &str, out: &mut Vec<String>) -> Result<()> {
    let wrong = |at: usize, why: &str| {
        let source = Source::new(flag, text);
        let place = Location::new(&source, Span::new(at, at + 1));
        let message = format!("invalid argument for {flag}: {why}");
        Err(Diagnostic::error(Class::Usage, message).at(place).into())
    };
    let mut at = text.len() - text.trim_start_matches(['\n', '\r']).len();
    loop {
        let rest = text.get(at..).unwrap_or("");
        if let Some(mut inner) = rest.strip_prefix('"') {
            let mut field = String::new();
            loop {
                let Some((piece, behind)) = inner.split_once('"') else {
                    return wrong(at, "extraneous or missing \" in quoted-field");
                };
                field.push_str(piece);
                match behind.strip_prefix('"') {
                    Some(next) => {
                        field.push('"');
                        inner = next;
                    }
                    None => {
                        at = text.len() - behind.len();
                        break;
                    }
                }
            }
            out.push(field);
        } else {
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            let field = rest.get(..end).unwrap_or("");
            if let Some(quote) = field.find('"') {
                return wrong(at + quote, "bare \" in non-quoted-field");
            }
            out.push(field.trim_end_matches('\r').to_owned());
            at += end;
        }
        match text.get(at..).and_then(|rest| rest.chars().next()) {
            Some(',') => at += 1,
            None | Some('\n' | '\r') => return Ok(()),
            Some(_) => return wrong(at, "extraneous or missing \" in quoted-field"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_csv() {
        let cases: &[(&str, &[&str])] = &[
            ("a", &["a"]),
            ("a,b", &["a", "b"]),
            ("a, b,", &["a", " b", ""]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("\"a\"\"b\"", &["a\"b"]),
            ("a\nb", &["a"]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(
                fields("-f", &[(*text).to_owned()]).unwrap(),
                *expected,
                "{text:?}"
            );
        }
        for bad in ["a\"", "\"a", "\"a\"b", "a,\"b"] {
            assert!(fields("-f", &[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
