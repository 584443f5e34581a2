//! The Link header (RFC 8288), for paginated lists.

/// The target of the first link with the relation `next`, among all headers, each of which may have several links. The
/// angle brackets may be missing, as with some registries.
pub(in crate::oci) fn next<'h>(headers: impl Iterator<Item = &'h str>) -> Option<String> {
    for header in headers {
        for link in split(header, ',') {
            let (target, parameters) = match link.trim().strip_prefix('<') {
                Some(rest) => rest.split_once('>').unwrap_or((rest, "")),
                None => link.trim().split_once(';').unwrap_or((link.trim(), "")),
            };
            if split(parameters, ';').into_iter().any(is_next) {
                return Some(target.trim().to_owned());
            }
        }
    }
    None
}

/// Whether a parameter is `rel="next"`; a relation may have several names.
fn is_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let value = value.trim().trim_matches('"');
    name.trim().eq_ignore_ascii_case("rel")
        && value
            .split_whitespace()
            .any(|relation| relation.eq_ignore_ascii_case("next"))
}

/// Splits outside of quotes and angle brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut quoted, mut bracketed) = (false, false);
    text.split(move |character| {
        match character {
            '"' if !bracketed => quoted = !quoted,
            '<' if !quoted => bracketed = true,
            '>' if !quoted => bracketed = false,
            _ => {}
        }
        character == separator && !quoted && !bracketed
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_all_links() {
        let table: [(&[&str], Option<&str>); 12] = [
            (&["</a?n=2&last=b>; rel=\"next\""], Some("/a?n=2&last=b")),
            (&["</a>; rel=next"], Some("/a")),
            (&["</a>; rel=\"first\", </b>; rel=\"next\""], Some("/b")),
            (
                &["</a>; rel=\"first\"", "</b>; title=\"a, b\"; REL=\"prev Next\""],
                Some("/b"),
            ),
            (&["</a,b;c>; rel=\"next\", </d>; rel=last"], Some("/a,b;c")),
            (&["/a?n=2; rel=\"next\""], Some("/a?n=2")),
            (
                &["http://h/a; rel=first, http://h/b; rel=next"],
                Some("http://h/b"),
            ),
            (&["</a>; title=\"rel=next\""], None),
            (&["</a>; rel=\"nextish\""], None),
            (&["</a>"], None),
            (&[""], None),
            (&["</a; rel=next"], None),
        ];
        for (headers, expected) in table {
            assert_eq!(next(headers.iter().copied()).as_deref(), expected, "{headers:?}");
        }
    }
}
