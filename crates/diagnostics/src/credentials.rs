//! Masks the credentials in URLs, for texts that people and logs get: `https://user:password@host` and `?token=…`.

use std::borrow::Cow;

/// Precedes a URL's authority.
const SCHEME: &str = "://";
/// A parameter of a query is a secret if its name has one of these in it, in any case.
const SECRET_PARAMETERS: [&str; 10] = [
    "token",
    "secret",
    "passw",
    "pwd",
    "sig",
    "key",
    "auth",
    "credential",
    "code",
    "session",
];

/// What follows the `@` of an image's digest, which is no host.
const DIGESTS: [&str; 2] = ["sha256:", "sha512:"];

/// A text whose URLs show no user, password and secret of a query: an asterisk for each byte, so that all else stays
/// at its offset. In doubt more is masked: a password may have any character that should have been percent-encoded.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    if !text.contains(SCHEME) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(SCHEME) {
        let (before, behind) = rest.split_at(at + SCHEME.len());
        out.push_str(before);
        let (secret, behind) = behind.split_at(end_of_user(behind));
        out.push_str(&mask(secret));
        let (url, behind) = behind.split_at(end_of_url(behind));
        push_url(&mut out, url);
        rest = behind;
    }
    out.push_str(rest);
    if out == text {
        return Cow::Borrowed(text);
    }
    Cow::Owned(out)
}

fn mask(secret: &str) -> String {
    "*".repeat(secret.len())
}

/// Where the `@` behind user and password is; 0 if there is none. Behind the end of the authority it counts only if
/// there is a colon before it: paths have an `@`, too.
fn end_of_user(text: &str) -> usize {
    let next = text.find(SCHEME).unwrap_or(text.len());
    let (text, _) = text.split_at(next);
    let ends = |one: char| one.is_whitespace() || "\"<>".contains(one);
    let (text, _) = text.split_at(text.find(ends).unwrap_or(text.len()));
    let authority = text.find(|one| "/?#',{}[]".contains(one)).unwrap_or(text.len());
    let Some(colon) = text.find(':') else {
        return text.split_at(authority).0.rfind('@').unwrap_or_default();
    };
    let mut all = text.rmatch_indices('@').map(|(at, _)| at);
    let last = all.find(|at| {
        let behind = text.get(at + 1..).unwrap_or_default();
        *at < authority || *at > colon && !DIGESTS.iter().any(|digest| behind.starts_with(digest))
    });
    last.unwrap_or_default()
}

/// Another URL may be in a query; it is masked by itself. Nothing behind it is searched: a text of many URLs takes
/// linear time.
fn end_of_url(text: &str) -> usize {
    let end = |one: char| one.is_whitespace() || "'\"`<>{}[]".contains(one);
    let next = text.find(SCHEME).unwrap_or(text.len());
    let (url, _) = text.split_at(next);
    url.find(end).unwrap_or(next)
}

fn push_url(out: &mut String, url: &str) {
    let Some((path, query)) = url.split_once('?') else {
        out.push_str(url);
        return;
    };
    let (query, fragment) = query.split_at(query.find('#').unwrap_or(query.len()));
    out.push_str(path);
    for (index, parameter) in query.split('&').enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((name, value)) if is_secret(name) => {
                out.push_str(name);
                out.push('=');
                // What a sentence goes on with is not of the URL.
                let secret = value.trim_end_matches([':', ',', ';', ')', '.']);
                out.push_str(&mask(secret));
                out.push_str(value.split_at(secret.len()).1);
            }
            _ => out.push_str(parameter),
        }
    }
    out.push_str(fragment);
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_PARAMETERS.iter().any(|one| name.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_urls_are_masked_and_all_else_stays_at_its_offset() {
        for (text, expected) in [
            (
                "a: https://u:pé@h/x y@z # me@h",
                "a: https://*****@h/x y@z # me@h",
            ),
            (
                "'oci://u:p@h/a' and oci://h/b@c",
                "'oci://***@h/a' and oci://h/b@c",
            ),
            ("oci://u:p@w@h", "oci://*****@h"),
            (
                "{a: 'oci://u@h', b: http://h/, c: ftp://x:y@@h}",
                "{a: 'oci://*@h', b: http://h/, c: ftp://****@h}",
            ),
            ("none ://", "none ://"),
            ("me@h?token=a", "me@h?token=a"),
            (
                "refers to https://h/x?v=1&access_token=ab&X-Amz-Signature=cd#/d: no",
                "refers to https://h/x?v=1&access_token=**&X-Amz-Signature=**#/d: no",
            ),
            ("GET https://h/x?token=é.f: no", "GET https://h/x?token=****: no"),
            (
                "\"https://h/?sig=ab\" and `https://h/?to=https://u@g/?key=c`",
                "\"https://h/?sig=**\" and `https://h/?to=https://*@g/?key=*`",
            ),
        ] {
            assert_eq!(without_credentials(text), expected);
            assert_eq!(expected.len(), text.len());
        }
    }

    /// Only the part up to the end of the authority was once searched.
    #[test]
    fn passwords_are_masked_whatever_characters_they_have() {
        let digest = "sha256:0123456789abcdef";
        for special in ["#", "?", "/", "'", ",", "{", "]", "@", ":", "?a=b&c=", "/@", "`"] {
            for behind in [
                "h.invalid/a-1.0.0.tgz: no",
                "h.invalid",
                &format!("h:5000/a:1.0@{digest}"),
            ] {
                let password = format!("user:pa{special}ss");
                let masked = "*".repeat(password.len());
                assert_eq!(
                    without_credentials(&format!("pull https://{password}@{behind}")),
                    format!("pull https://{masked}@{behind}")
                );
            }
        }
        // No credentials: a digest, and an address in another part of the text.
        for text in [
            format!("oci://localhost:5000/charts/a@{digest}"),
            format!("oci://localhost:5000/charts/a:1.0@{digest}: no"),
            "http://h:80/x by me@h".to_owned(),
            "[\"http://h:80/x\",\"me@h\"]".to_owned(),
            "<http://h:80/x>,me@h".to_owned(),
            "http://h:80/x,http://me/".to_owned(),
        ] {
            assert_eq!(without_credentials(&text), text);
        }
    }

    /// It once took quadratic time: minutes for this text.
    #[test]
    fn a_megabyte_of_urls_is_masked_in_linear_time() {
        let text = "a://u:p@h".repeat(120_000);
        assert_eq!(without_credentials(&text), "a://***@h".repeat(120_000));
        let text = format!("a://u:{}@h", "@sha256:".repeat(120_000));
        assert_eq!(without_credentials(&text).matches('@').count(), 1);
    }
}
