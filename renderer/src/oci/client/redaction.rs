//! Redacts secrets that were sent: servers repeat them in error messages, which are shown.

use std::cell::RefCell;
use std::collections::BTreeSet;

use base64::Engine as _;
use http::HeaderValue;

/// Shorter secrets are not redacted, since that would remove common words from messages.
const SHORTEST: usize = 4;

/// The secrets that were sent over the connections of one transport. It has no `Debug`.
#[derive(Default)]
pub(in crate::oci) struct Sent(RefCell<BTreeSet<String>>);

impl Sent {
    /// Records a secret.
    pub(in crate::oci) fn note(&self, secret: &str) {
        if secret.len() >= SHORTEST && !self.0.borrow().contains(secret) {
            self.0.borrow_mut().extend(forms(secret));
        }
    }

    /// Records an Authorization header: the part after the scheme and, for Basic, the password.
    pub(in crate::oci) fn note_header(&self, header: &HeaderValue) {
        let text = header.to_str().unwrap_or_default();
        let (scheme, secret) = text.split_once(' ').unwrap_or(("", text));
        if self.0.borrow().contains(secret) {
            return;
        }
        self.note(secret);
        if !scheme.eq_ignore_ascii_case("basic") {
            return;
        }
        let pair = base64::engine::general_purpose::STANDARD.decode(secret);
        let pair = pair.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
            self.note(password);
        }
    }

    /// The text with the secrets redacted.
    pub(in crate::oci) fn hide(&self, text: &str) -> String {
        let known = self.0.borrow();
        let mut within: Vec<&String> = known.iter().filter(|secret| text.contains(*secret)).collect();
        // A secret may be a part of another one.
        within.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        within
            .into_iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

/// The forms in which servers repeat a text: unchanged, in JSON, form-encoded, in a URL, in Base64.
fn forms(secret: &str) -> Vec<String> {
    let json = serde_json::Value::from(secret).to_string();
    let json = json.get(1..json.len() - 1).unwrap_or(secret).to_owned();
    let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let url = form.replace('+', "%20");
    let standard = base64::engine::general_purpose::STANDARD_NO_PAD.encode(secret);
    let for_urls = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(secret);
    vec![secret.to_owned(), json, form, url, standard, for_urls]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_secrets_are_redacted_in_each_form() {
        let sent = Sent::default();
        // me:hunter2
        sent.note_header(&HeaderValue::from_static("Basic bWU6aHVudGVyMg=="));
        sent.note_header(&HeaderValue::from_static("Bearer hunter2.and.more"));
        sent.note("abc");
        let text = "me abc: Basic bWU6aHVudGVyMg==, hunter2 hunter2.and.more";
        assert_eq!(sent.hide(text), "me abc: Basic ***, *** ***");
    }

    #[test]
    fn secrets_that_a_server_has_encoded_are_redacted() {
        let sent = Sent::default();
        sent.note("p@ss w/rd\"x+%");
        sent.note("ends in \"");
        assert_eq!(sent.hide(r#""ends in \"""#), r#""***""#);
        for form in [
            r#"p@ss w/rd\"x+%"#,
            "p%40ss+w%2Frd%22x%2B%25",
            "p%40ss%20w%2Frd%22x%2B%25",
            "cEBzcyB3L3JkIngrJQ",
        ] {
            assert_eq!(sent.hide(&format!("got {form}.")), "got ***.");
        }
    }
}
