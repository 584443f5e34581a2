//! Secrets that were sent: servers send back what they got, in the words that explain a failure, and those words
//! are shown.

use std::cell::RefCell;
use std::collections::BTreeSet;

use base64::Engine as _;
use http::HeaderValue;

/// Shorter ones would take common words out of a text: they are shown.
const SHORTEST: usize = 4;

/// All that were sent over the connections of one transport. It has no `Debug`.
#[derive(Default)]
pub(in crate::oci) struct Sent(RefCell<BTreeSet<String>>);

impl Sent {
    /// A secret.
    pub(in crate::oci) fn note(&self, secret: &str) {
        if secret.len() >= SHORTEST && !self.0.borrow().contains(secret) {
            self.0.borrow_mut().extend(forms(secret));
        }
    }

    /// An Authorization header: what follows the scheme and, of a user and a password, the password.
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

    /// A text without them.
    pub(in crate::oci) fn hide(&self, text: &str) -> String {
        let known = self.0.borrow();
        let mut within: Vec<&String> = known.iter().filter(|secret| text.contains(*secret)).collect();
        // One may be a part of another one.
        within.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        within
            .into_iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

/// A text as servers repeat it: as it is, in JSON, in a form's body, in a URL, in Base64.
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
    fn what_was_sent_is_hidden_in_each_of_its_forms() {
        let sent = Sent::default();
        // me:hunter2
        sent.note_header(&HeaderValue::from_static("Basic bWU6aHVudGVyMg=="));
        sent.note_header(&HeaderValue::from_static("Bearer hunter2.and.more"));
        sent.note("abc");
        let text = "me abc: Basic bWU6aHVudGVyMg==, hunter2 hunter2.and.more";
        assert_eq!(sent.hide(text), "me abc: Basic ***, *** ***");
    }

    #[test]
    fn what_a_server_has_encoded_is_hidden() {
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
