//! URLs and email addresses, as `asaskevich/govalidator` of Helm 4.3.1 accepts them.

use std::sync::OnceLock;

use regex::Regex;

/// URLs must be shorter than this, in characters.
const MAX_URL: usize = 2083;
/// URLs must be longer than this, in bytes.
const MIN_URL: usize = 3;

const WIDE: &str = r"\x{00A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}";
/// govalidator's pattern.
const EMAIL_PATTERN: &str = r"^(((([a-zA-Z]|[0-9]|[!#\$%&'\*\+\-\/=\?\^_`{\|}~]|[WIDE])+(\.([a-zA-Z]|[0-9]|[!#\$%&'\*\+\-\/=\?\^_`{\|}~]|[WIDE])+)*)|((\x22)((((\x20|\x09)*(\x0d\x0a))?(\x20|\x09)+)?(([\x01-\x08\x0b\x0c\x0e-\x1f\x7f]|\x21|[\x23-\x5b]|[\x5d-\x7e]|[WIDE])|(\([\x01-\x09\x0b\x0c\x0d-\x7f]|[WIDE]))))*(((\x20|\x09)*(\x0d\x0a))?(\x20|\x09)+)?(\x22)))@((([a-zA-Z]|[0-9]|[WIDE])|(([a-zA-Z]|[0-9]|[WIDE])([a-zA-Z]|[0-9]|-|\.|_|~|[WIDE])*([a-zA-Z]|[0-9]|[WIDE])))\.)+(([a-zA-Z]|[WIDE])|(([a-zA-Z]|[WIDE])([a-zA-Z]|[0-9]|-|_|~|[WIDE])*([a-zA-Z]|[WIDE])))\.?$";
const SCHEMA: &str = r"((ftp|tcp|udp|wss?|https?):\/\/)";
const USER: &str = r"([^\t\n\f\r ]+(:[^\t\n\f\r ]*)?@)";
const PATH: &str = r"((\/|\?|#)[^\t\n\f\r ]*)";
const PORT: &str = r"(:([0-9]{1,5}))";
const IPV4: &str = r"([1-9][0-9]?|1[0-9][0-9]|2[01][0-9]|22[0-3]|24[0-9]|25[0-5])(\.([0-9]{1,2}|1[0-9][0-9]|2[0-4][0-9]|25[0-5])){2}(?:\.([0-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5]))";
const IPV6: &str = r"(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:)|fe80:(:[0-9a-fA-F]{0,4}){0,4}%[0-9a-zA-Z]{1,}|::(ffff(:0{1,4}){0,1}:){0,1}((25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])\.){3,3}(25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])|([0-9a-fA-F]{1,4}:){1,4}:((25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])\.){3,3}(25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9]))";
const SUBDOMAIN: &str = r"((www\.)|([a-zA-Z0-9]+([-_\.]?[a-zA-Z0-9])*[a-zA-Z0-9]\.[a-zA-Z0-9]+))";

/// Whether it is an email address.
pub(super) fn is_email(text: &str) -> bool {
    static EMAIL: OnceLock<Option<Regex>> = OnceLock::new();
    matches(&EMAIL, text, || EMAIL_PATTERN.replace("WIDE", WIDE))
}

/// Whether it is a URL, with or without a scheme.
pub(super) fn is_url(text: &str) -> bool {
    static URL: OnceLock<Option<Regex>> = OnceLock::new();
    let characters = text.chars().count();
    if text.is_empty() || characters >= MAX_URL || text.len() <= MIN_URL || text.starts_with('.') {
        return false;
    }
    let with_scheme = if text.contains(':') && !text.contains("://") {
        format!("http://{text}")
    } else {
        text.to_owned()
    };
    let (without_fragment, fragment) = with_scheme.split_once('#').unwrap_or((&with_scheme, ""));
    let Some(parts) = parse(without_fragment, false) else {
        return false;
    };
    if !escapes_are_valid(fragment) || parts.host.starts_with('.') {
        return false;
    }
    if parts.host.is_empty() && !parts.path.is_empty() && !parts.path.contains('.') {
        return false;
    }
    matches(&URL, text, || {
        let wide = r"a-zA-Z\x{00a1}-\x{ffff}";
        format!(
            r"^{SCHEMA}?{USER}?(({IPV4}|(\[{IPV6}\])|(([a-zA-Z0-9]([a-zA-Z0-9_-]+)?[a-zA-Z0-9]([-\.][a-zA-Z0-9]+)*)|({SUBDOMAIN}?))?(([{wide}0-9]+-?-?)*[{wide}0-9]+)(?:\.([{wide}]{{1,}}))?))\.?{PORT}?{PATH}?$"
        )
    })
}

/// Whether it is a request URL: it has a scheme.
pub(super) fn is_request_url(text: &str) -> bool {
    parse(text, true).is_some_and(|parts| parts.has_scheme)
}

fn matches(cell: &OnceLock<Option<Regex>>, text: &str, pattern: impl FnOnce() -> String) -> bool {
    cell.get_or_init(|| Regex::new(&pattern()).ok())
        .as_ref()
        .is_some_and(|regex| regex.is_match(text))
}

struct UrlParts<'t> {
    has_scheme: bool,
    host: &'t str,
    path: &'t str,
}

/// Parses what Go's `url.Parse` and `url.ParseRequestURI` accept.
fn parse(text: &str, request: bool) -> Option<UrlParts<'_>> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) || (text.is_empty() && request) {
        return None;
    }
    let none = UrlParts {
        has_scheme: false,
        host: "",
        path: text,
    };
    if text == "*" {
        return Some(none);
    }
    let (has_scheme, rest) = scheme(text)?;
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    if !rest.starts_with('/') {
        if has_scheme {
            return Some(UrlParts {
                has_scheme,
                host: "",
                path: "",
            });
        }
        let first = rest.split('/').next().unwrap_or("");
        if request || first.contains(':') {
            return None;
        }
    }
    let authority = rest
        .strip_prefix("//")
        .filter(|rest| has_scheme || (!request && !rest.starts_with('/')));
    let Some(authority) = authority else {
        let path = rest;
        return escapes_are_valid(path).then_some(UrlParts {
            has_scheme,
            host: "",
            path,
        });
    };
    let end = authority.find('/').unwrap_or(authority.len());
    let (authority, path) = authority.split_at_checked(end)?;
    let host = host(authority)?;
    escapes_are_valid(path).then_some(UrlParts {
        has_scheme,
        host,
        path,
    })
}

/// Whether there is a scheme, and the rest; `None` if it is empty before the colon.
fn scheme(text: &str) -> Option<(bool, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return None,
            b':' => return Some((true, text.get(at + 1..).unwrap_or(""))),
            _ => return Some((false, text)),
        }
    }
    Some((false, text))
}

fn host(authority: &str) -> Option<&str> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let of_user = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !user.bytes().all(of_user) || !escapes_are_valid(user) {
        return None;
    }
    let (name, port) = match host.strip_prefix('[') {
        Some(inner) => inner.rsplit_once(']')?,
        None => match host.find(':') {
            Some(at) => host.split_at_checked(at)?,
            None => (host, ""),
        },
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let of_host =
        |byte: u8| byte >= 0x80 || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&byte);
    let valid_port =
        (port.is_empty() || port.starts_with(':')) && digits.bytes().all(|byte| byte.is_ascii_digit());
    (valid_port && name.bytes().all(of_host) && escapes_are_valid(name)).then_some(host)
}

/// Whether each percent sign has two hexadecimal digits.
fn escapes_are_valid(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let mut signs = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    signs.all(|(at, _)| is_hex(at + 1) && is_hex(at + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from govalidator, as the others are.
    #[test]
    fn email_addresses_are_validated_as_in_govalidator() {
        for good in ["a@b.co", "a.b+c@x-y.example.com", "é@x.org", "a@b.co."] {
            assert!(is_email(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "a@b",
            "a@b.c1",
            "\"a b\"@x.org",
            "a@@b.co",
            "a b@c.de",
            "a@b.1",
            ".a@b.co",
            "a@b..co",
            "<a@b.co>",
        ] {
            assert!(!is_email(bad), "{bad}");
        }
    }

    #[test]
    fn urls_are_told_apart() {
        for good in [
            "https://example.com/a",
            "example.com",
            "http://a.b:80/?q#f",
            "github.com/x",
            "http://1.2.3.4",
            "www.a.b",
            "http://[::1]:80/",
            "https://user:pw@host/x",
            "localhost",
            "http://foo_bar.com",
        ] {
            assert_eq!(is_url(good), good != "localhost", "{good}");
        }
        for bad in [
            "",
            "abc",
            "ht tp://x",
            ".a.b",
            "http://",
            "mailto:a@b.c",
            "http://a b",
            "http://%zz.com",
        ] {
            assert_eq!(is_url(bad), bad == "mailto:a@b.c", "{bad}");
        }
    }

    #[test]
    fn request_urls_have_a_scheme() {
        for good in [
            "https://example.com",
            "ftp://x/y",
            "a:b",
            "oci://h",
            "http://a/%20",
            "http:///x",
        ] {
            assert!(is_request_url(good), "{good}");
        }
        for bad in [
            "",
            "example.com",
            "/a",
            ":a",
            "not a url",
            "http://a b/",
            "http://a/%2",
            "http://a:b/",
            "1a:b",
        ] {
            assert!(!is_request_url(bad), "{bad}");
        }
    }
}
